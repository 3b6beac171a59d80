/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_SHIM_H
#define ROOST_ENGINE_CORE_SHIM_H

/*
 * What libibverbs needs of the engine's objects beside the public headers.
 *
 * A source lives as long as its object, and belongs to it. verbs.h acks events
 * by their object: roost_event_ack() takes the object's source then.
 */

#include <stdint.h>

struct roost_av;
struct roost_cq;
struct roost_ctx;
struct roost_event_source;
struct roost_pd;
struct roost_qp;
struct roost_srq;
struct roost_wq;

/*
 * For roost_mr_reg(), beside enum roost_access: the caller has mapped the
 * memory with the access that is wanted. It is neither checked nor faulted in,
 * which the kernel does not do for a driver's memory.
 */
#define ROOST_ACCESS_PRESENT (1u << 31)

/* The sources of a CQ's completion events and of its async events. */
struct roost_event_source *roost_cq_comp_source(struct roost_cq *cq);
struct roost_event_source *roost_cq_async_source(struct roost_cq *cq);
struct roost_event_source *roost_qp_async_source(struct roost_qp *qp);
struct roost_event_source *roost_srq_async_source(struct roost_srq *srq);
struct roost_event_source *roost_wq_async_source(struct roost_wq *wq);

/* A number that no other PD of the device has. */
uint32_t roost_pd_handle(const struct roost_pd *pd);

/*
 * The destination MAC of frames to this address: that of the next hop, of the
 * multicast group, or of the device's own port. May block for the network.
 * Returns 0, -EINVAL, -EHOSTUNREACH, -ETIMEDOUT.
 */
int roost_av_resolve(struct roost_ctx *ctx, const struct roost_av *av,
		     uint8_t mac[6]);

#endif
