/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Posting lists of work requests. Hot: no allocation, system call, log or
 * lock besides the queue's own.
 *
 * A list is taken up to its first bad request; what came before stays posted,
 * *bad_wr tells where it stopped, and the errno value is returned.
 */

#include <assert.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

/* So that lists of elements need no copy. */
static_assert(sizeof(struct ibv_sge) == sizeof(struct roost_sge) &&
		      offsetof(struct ibv_sge, addr) ==
			      offsetof(struct roost_sge, addr) &&
		      offsetof(struct ibv_sge, length) ==
			      offsetof(struct roost_sge, len_bytes) &&
		      offsetof(struct ibv_sge, lkey) ==
			      offsetof(struct roost_sge, lkey),
	      "ibv_sge is roost_sge");

static int add_send(struct roost_qp *qp, const struct ibv_send_wr *wr)
{
	struct roost_send_wr r = {
		.wr_id = wr->wr_id,
		.sges = (const struct roost_sge *)wr->sg_list,
		.nb_sges = (uint32_t)wr->num_sge,
		.imm_be = wr->imm_data,
		.remote_addr = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
	};
	int rc;

	rc = roost_map_wr_opcode(wr->opcode, &r.opcode);
	if (rc == 0)
		rc = roost_map_send_flags(wr->send_flags, &r.flags);
	if (rc == 0)
		rc = roost_qp_send_add(qp, &r);
	return rc;
}

int roost_verbs_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr)
{
	struct roost_verbs_qp *qp = roost_verbs_qp(ibv);
	int rc = 0;

	roost_qp_send_begin(qp->qp);
	for (; wr; wr = wr->next) {
		rc = add_send(qp->qp, wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	roost_qp_send_end(qp->qp);
	roost_device_help(qp->device);
	return roost_verbs_result(rc);
}

int roost_verbs_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct roost_qp *qp = roost_verbs_qp(ibv)->qp;
	int rc = 0;

	roost_qp_recv_begin(qp);
	for (; wr; wr = wr->next) {
		const struct roost_recv_wr r = {
			.wr_id = wr->wr_id,
			.sges = (const struct roost_sge *)wr->sg_list,
			.nb_sges = (uint32_t)wr->num_sge,
		};

		rc = roost_qp_recv_add(qp, &r);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	roost_qp_recv_end(qp);
	return roost_verbs_result(rc);
}
