/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_RX_PRIV_H
#define ROOST_ENGINE_TRANSPORT_RX_PRIV_H

/*
 * Receiving frames; for lib/engine/transport only. Holder of the turn.
 */

struct rte_mbuf;
struct roost_worker;

/* The functions receive and receive_each of struct roost_transport. */
void roost_rx_burst(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n);
void roost_rx_each(struct roost_worker *w, struct rte_mbuf **pkts,
		   unsigned int n);

/* Receive one frame and check it in the order of doc/protocol.md. Takes the
 * frame. from: the port, and ROOST_LOOPED.
 */
void roost_rx_frame(struct roost_worker *w, unsigned int from,
		    struct rte_mbuf *mbuf);

/* ---- rx_ahead.c --- */

/* roost_rx_burst(), when roost_ahead_pays(). Returns false: the frames seem
 * to be for one QP, which was prefetched, and none of them was received.
 */
bool roost_rx_ahead(struct roost_worker *w, unsigned int port_index,
		    struct rte_mbuf **pkts, unsigned int n);

#endif
