/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CQ_H
#define ROOST_CQ_H

/*
 * Completion queues (IBTA 10.8, 11.4.2).
 *
 * The worker produces, application threads consume. An armed CQ puts one
 * event on its channel when a completion that fits the arming is added; a
 * completion that was there before the arming raises none.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_channel;
struct roost_cq;
struct roost_ctx;

/* Type of the events that a CQ raises on its completion channel. */
#define ROOST_EVENT_COMPLETION 0u

/* What ConnectX has as the SL of a datagram over RoCE: bit 3 says UDP, the
 * lower bits are the type of the L3 header. UCX reads these.
 */
#define ROOST_WC_SL_IPV6 (8u | 1u)
#define ROOST_WC_SL_IPV4 (8u | 2u)

struct roost_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* now_ns of the iteration that made it */
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t byte_len;
	uint32_t imm_be; /* WITH_IMM: as on the wire; WITH_INV: the rkey; of a
			  * RAW receive: the tag of the flow rule */
	uint32_t vendor_err;
	uint8_t status; /* enum roost_wc_status */
	uint8_t opcode; /* enum roost_wc_opcode */
	uint8_t flags;  /* enum roost_wc_flags */
	uint8_t sl;     /* of a datagram: see ROOST_WC_SL_IPV6 */
	uint16_t slid;
	uint16_t pkey_index;
	bool solicited;    /* counts for arming for solicited only */
	bool of_wq;        /* qpn is the number of a receive WQ */
	uint16_t vlan_tci; /* of the frame that completes a receive; 0: none */
};

/*
 * Create a CQ. cqe: the minimum number of entries; roost_cq_entries() returns
 * the real number. channel: the channel for completion events; NULL: none.
 * owner: readers of the events get it in roost_event.owner. Returns 0, -EINVAL
 * (0 or too many), -ENOMEM.
 */
int roost_cq_create(struct roost_ctx *ctx, uint32_t cqe,
		    struct roost_channel *channel, void *owner,
		    struct roost_cq **cq);
/* From now on, completions that find the CQ full are lost without an error: no
 * CQ_ERR, and no QP fails. To be called before the first QP uses the CQ.
 */
void roost_cq_ignore_overrun(struct roost_cq *cq);
/* Destroy the CQ. Returns 0, or -EBUSY while a QP uses it. Waits for the acks
 * of its events (completion and async); *comp_acked and *async_acked, if not
 * NULL, get their numbers over all time.
 */
int roost_cq_destroy(struct roost_cq *cq, uint64_t *comp_acked,
		     uint64_t *async_acked);
/* The number of completions that fit into the CQ. */
uint32_t roost_cq_entries(const struct roost_cq *cq);

/*
 * Change the size, keeping the entries in it. Returns 0, -EINVAL (too many,
 * or fewer than there are entries), -ENOMEM.
 */
int roost_cq_resize(struct roost_cq *cq, uint32_t cqe);

/* Take up to n completions. Returns the number taken; after an overrun, -EIO
 * once the entries from before it are taken. Thread: any.
 */
int roost_cq_poll(struct roost_cq *cq, unsigned int n, struct roost_cqe *cqes);

/* Poll entry by entry, without a copy. begin locks the consumer side and shows
 * the first entry; next shows the following one; end gives all shown entries
 * back to the CQ and unlocks.
 * Returns (begin) 0, or -ENOENT (empty), -EIO: the lock is not held then.
 * Returns (next) 0, or -ENOENT.
 * Between begin and end, the polling thread may reset and destroy QPs and WQs
 * that complete to this CQ: the entries that it was shown stay valid. Other
 * threads that reset or destroy such objects wait for end.
 */
int roost_cq_poll_begin(struct roost_cq *cq, const struct roost_cqe **cqe);
int roost_cq_poll_next(struct roost_cq *cq, const struct roost_cqe **cqe);
void roost_cq_poll_end(struct roost_cq *cq);

/* Arm for the next completion, or for the next solicited one. One-shot. A later
 * arming for solicited only does not replace an arming for all.
 */
void roost_cq_arm(struct roost_cq *cq, bool solicited_only);

#ifdef __cplusplus
}
#endif

#endif
