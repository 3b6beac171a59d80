/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_AH_H
#define ROOST_AH_H

/*
 * Address handles: where a datagram goes (IBTA 11.2.2).
 */

#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_ah;
struct roost_pd;

/*
 * Create an address handle. Resolves the neighbour and may block for the
 * network, unless the address is a multicast group. Returns 0, -EINVAL,
 * -EHOSTUNREACH, -ETIMEDOUT, -ENOMEM.
 */
int roost_ah_create(struct roost_pd *pd, const struct roost_av *av,
		    struct roost_ah **ah);
/* Requests that were posted with ah are still sent. Returns 0. */
int roost_ah_destroy(struct roost_ah *ah);

#ifdef __cplusplus
}
#endif

#endif
