/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_CONFLICT_H
#define ROOST_PMD_GLUE_HOST_CONFLICT_H

/*
 * Another station claims an address of ours: what to do about it, and how
 * often. Addresses are given by the user or by a kernel and are never given up,
 * so that they are defended as RFC 5227, 2.4 (c) allows: by one announcement,
 * and by no other while it goes on, lest two that both defend fill the network.
 * IPv6 is defended alike.
 *
 * Pure: the time is an argument.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_conflict {
	struct roost_gid addr;
	uint64_t heard_at_ns; /* of last time */
	uint64_t told_at_ns;
};

/* Zero to begin with. */
struct roost_conflicts {
	unsigned int nb, oldest;
	struct roost_conflict v[ROOST_PORT_IPS_MAX + 1];
};

struct roost_conflict_advice {
	bool defend; /* announce the address */
	bool tell;   /* the user */
};

/* It is claimed. Returns what to do. */
struct roost_conflict_advice
roost_conflict_hear(struct roost_conflicts *conflicts,
		    const struct roost_gid *addr, uint64_t now_ns);

#endif
