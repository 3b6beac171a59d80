/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_SCHED_TAP_PRIV_H
#define ROOST_ENGINE_SCHED_TAP_PRIV_H

/*
 * For the scheduler, where a worker has a tap (lib/engine/core/tap.h).
 * Thread: the holder of the turn.
 */

#include <stdint.h>

#include <roost/drop.h>

struct rte_mbuf;
struct roost_worker;

/* As the functions of struct roost_transport, frame by frame. Takes them. */
void roost_tap_receive(struct roost_worker *w, unsigned int port_index,
		       struct rte_mbuf **pkts, unsigned int n);
void roost_tap_receive_each(struct roost_worker *w, struct rte_mbuf **pkts,
			    unsigned int n);
/* Received frames that are dropped before any worker looks at them. */
void roost_tap_lose(struct roost_worker *w, struct rte_mbuf **pkts,
		    unsigned int n, enum roost_drop drop);
/* Frames that the port is about to get. */
void roost_tap_send(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n);

#endif
