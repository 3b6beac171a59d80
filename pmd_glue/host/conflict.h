/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_CONFLICT_H
#define ROOST_PMD_GLUE_HOST_CONFLICT_H

/*
 * Address conflicts: another station claims an address of ours. Our addresses
 * come from the user or from the kernel, and Roost never gives them up. It
 * defends them as RFC 5227, 2.4 (c) allows: by one announcement, and by no
 * further one while the conflict goes on, because two stations that both defend
 * an address would fill the network. IPv6 addresses are defended in the same
 * way.
 *
 * Pure: the time is an argument.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_conflict {
	struct roost_gid addr;
	uint64_t heard_at_ns; /* time of the last claim */
	uint64_t told_at_ns;  /* time of the last report */
};

/* The conflicts of one port. Zero-filled at first. */
struct roost_conflicts {
	unsigned int nb, oldest;
	struct roost_conflict v[ROOST_PORT_IPS_MAX + 1];
};

struct roost_conflict_advice {
	bool defend; /* announce the address */
	bool tell;   /* report it to the user */
};

/* Another station has claimed addr. Returns what to do. */
struct roost_conflict_advice
roost_conflict_add_claim(struct roost_conflicts *conflicts,
			 const struct roost_gid *addr, uint64_t now_ns);

#endif
