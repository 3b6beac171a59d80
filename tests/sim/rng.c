/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/sim/sim.h"

/* splitmix64 */
uint64_t sim_random(struct sim_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t sim_random_below(struct sim_rng *rng, uint64_t limit)
{
	return limit == 0 ? 0 : sim_random(rng) % limit;
}

bool sim_random_chance(struct sim_rng *rng, uint32_t ppm)
{
	return ppm != 0 && sim_random_below(rng, 1000000) < ppm;
}

void sim_random_fill(struct sim_rng *rng, uint8_t *p, size_t len)
{
	uint64_t v;

	for (; len >= sizeof(v); len -= sizeof(v), p += sizeof(v)) {
		v = sim_random(rng);
		memcpy(p, &v, sizeof(v));
	}
	v = sim_random(rng);
	memcpy(p, &v, len);
}
