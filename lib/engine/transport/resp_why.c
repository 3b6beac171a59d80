/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a request of the peer needs, and which check refused it. */

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/resp_priv.h"

/* The access right that a QP must have for each operation of its peer (IBTA
 * 11.2.4.2).
 */
static const uint8_t access_of[] = {
	[ROOST_OP_WRITE] = ROOST_ACCESS_REMOTE_WRITE,
	[ROOST_OP_READ_REQ] = ROOST_ACCESS_REMOTE_READ,
	[ROOST_OP_CMP_SWAP] = ROOST_ACCESS_REMOTE_ATOMIC,
	[ROOST_OP_FETCH_ADD] = ROOST_ACCESS_REMOTE_ATOMIC,
	[ROOST_OP_ATOMIC_WRITE] = ROOST_ACCESS_REMOTE_WRITE,
};

uint32_t roost_resp_access(const struct roost_pkt *pkt)
{
	if (pkt->info->op == ROOST_OP_FLUSH)
		return (pkt->flush_type & ROOST_FLUSH_GLOBAL
				? ROOST_ACCESS_FLUSH_GLOBAL
				: 0) |
		       (pkt->flush_type & ROOST_FLUSH_PERSISTENT
				? ROOST_ACCESS_FLUSH_PERSISTENT
				: 0);
	return pkt->info->op < sizeof(access_of) ? access_of[pkt->info->op] : 0;
}

static enum roost_why why_access(struct roost_qp *qp,
				 const struct roost_pkt *pkt)
{
	const struct roost_responder *resp = &qp->resp;
	uint64_t va = pkt->va, len = sizeof(uint64_t);
	uint32_t key = pkt->rkey;

	if (pkt->info->hdrs & ROOST_HDR_BIT(RETH)) {
		len = pkt->dma_len_bytes;
	} else if (pkt->info->op == ROOST_OP_WRITE) {
		key = resp->rkey;
		va = resp->va + resp->offset_bytes;
		len = pkt->payload_len_bytes;
	}
	return roost_key_why(qp->dev, resp->pd, qp->qpn, key, va, len,
			     roost_resp_access(pkt));
}

enum roost_why roost_resp_why(struct roost_qp *qp,
			      enum roost_qp_error_code code,
			      const struct roost_pkt *pkt)
{
	if (code == ROOST_QPE_REQUEST_LENGTH &&
	    !roost_packet_length_ok(qp, pkt))
		return ROOST_WHY_PATH_MTU;
	if (code == ROOST_QPE_REMOTE_KEY || code == ROOST_QPE_WRONG_KEYS)
		return why_access(qp, pkt);
	if (code == ROOST_QPE_INVALIDATE_KEY)
		return roost_key_why(qp->dev, qp->resp.pd, qp->qpn,
				     pkt->inv_rkey, 0, 0, 0);
	return ROOST_WHY_NONE;
}
