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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roost_av;
struct roost_cq;
struct roost_ctx;
struct roost_event_source;
struct roost_mr;
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

/*
 * As roost_mr_reg(), under a key that an engine of another process gave to the
 * same memory. Returns also -EEXIST: a region has this key. (A region that is
 * registered later and gets the key by chance, one in 2^32, hides the guest.)
 */
int roost_mr_reg_as(struct roost_pd *pd, void *addr, size_t len_bytes,
		    uint64_t iova, uint32_t access, uint32_t key,
		    struct roost_mr **mr);

struct roost_mr_facts {
	void *host; /* the address of iova in this process */
	uint64_t iova;
	uint64_t len_bytes;
	uint32_t access;
	uint32_t key;
	bool has_memory; /* false: a null region */
};
/* What the region is now. Thread: any, while the region exists. */
struct roost_mr_facts roost_mr_facts(const struct roost_mr *mr);

/* The sources of a CQ's completion events and of its async events. */
struct roost_event_source *roost_cq_comp_source(struct roost_cq *cq);
struct roost_event_source *roost_cq_async_source(struct roost_cq *cq);
struct roost_event_source *roost_qp_async_source(struct roost_qp *qp);
struct roost_event_source *roost_srq_async_source(struct roost_srq *srq);
struct roost_event_source *roost_wq_async_source(struct roost_wq *wq);

/*
 * After roost_cq_arm(): raise its event at once if there are entries to poll of
 * which no event told: they were published while the CQ was not armed, or the
 * program has polled since the last event. ConnectX, which compares its own
 * place with that of the consumer when it arms, does so, too, and programs that
 * do not poll after arming count on it (UCX). Entries of which an event told
 * raise no second one: most programs arm first and poll then.
 * Thread: any.
 */
void roost_cq_remind(struct roost_cq *cq, bool solicited_only);

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
