/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_NEIGH_WORLD_H
#define ROOST_TESTS_UNIT_PMD_GLUE_NEIGH_WORLD_H

/*
 * What the tests of the neighbour cache share: a cache whose time is turned by
 * hand, and what it asked and told.
 */

#include <stdbool.h>

#include "pmd_glue/host/neigh.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define MS 1000000ull
#define S (1000 * MS)

/* What the cache asked. */
extern struct neigh_asked {
	unsigned int to_all;
	unsigned int to_one;
	struct roost_gid last_addr;
	uint8_t last_mac[6];
	unsigned int crowds_of_one; /* that it told of */
	unsigned int crowds_of_all;
} asked;

/* Of whose silence it told. */
extern struct neigh_told {
	unsigned int nb;
	struct roost_gid addr;
	uint64_t tried_ns;
} told;

struct fixture {
	struct roost_neigh_cache *cache;
	uint64_t now_ns; /* turned by hand */
};

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int setup(void **state);
int teardown(void **state);

/* With one more reference. */
struct roost_neigh *get(struct fixture *f, const char *text);

/*
 * Go on in time, through every deadline on the way. Returns true if some entry
 * failed.
 */
bool advance(struct fixture *f, uint64_t ns);

/* An answer, solicited or not, that overrides. */
struct roost_neigh_msg word(const char *text, const uint8_t mac[6],
			    bool solicited);
bool update(struct fixture *f, struct roost_neigh_msg w);

#endif
