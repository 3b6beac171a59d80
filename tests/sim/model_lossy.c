/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/sim/model.h"

/* A message has its number as its immediate, or as its first eight bytes. */
#define NUMBER_BYTES 8u

static bool has_imm(enum roost_wr_opcode opcode)
{
	return opcode == ROOST_WR_SEND_IMM || opcode == ROOST_WR_WRITE_IMM;
}

/* Replace what stands first by the number. */
static void put_number(struct model_qp *q, struct model_list *from)
{
	uint64_t number = q->nb_msgs;
	uint32_t at = q->nb_msgs % MODEL_MSGS * NUMBER_BYTES;

	if (from->nb == MODEL_SGES)
		from->len_bytes -= from->part[--from->nb].len_bytes;
	memmove(&from->part[1], &from->part[0],
		from->nb * sizeof(from->part[0]));
	from->part[0] =
		(struct sim_slice){ q->headers.data + at, NUMBER_BYTES };
	memcpy(from->part[0].data, &number, NUMBER_BYTES);
	from->nb++;
	from->len_bytes += NUMBER_BYTES;
}

static void post_datagram(struct model_qp *q)
{
	struct model *m = q->model;
	struct roost_send_wr post = {
		.opcode = model_below(m, 2) ? ROOST_WR_SEND_IMM : ROOST_WR_SEND,
		.imm_be = q->nb_msgs,
		.ah = q->ah,
		.dest_qpn = q->peer->qp->qpn,
		.qkey = q->peer->qp->conf.qkey,
	};
	uint32_t max = roost_mtu_bytes(q->qp->conf.mtu);
	struct model_list from;
	struct model_wr *wr = model_wr_next(q);

	if (m->recv_bytes < max)
		max = m->recv_bytes;
	from = model_gather(m, model_len(m, max - NUMBER_BYTES));
	if (!has_imm(post.opcode))
		put_number(q, &from);
	wr->signaled = model_below(m, 2) || q->nb_posted % 16 == 15;
	model_expect(q, &from, post.opcode);
	model_add(q, wr, &post, &from);
}

static void post_uc(struct model_qp *q)
{
	static const enum roost_wr_opcode opcodes[] = { ROOST_WR_SEND,
							ROOST_WR_SEND_IMM,
							ROOST_WR_WRITE,
							ROOST_WR_WRITE_IMM };
	struct model *m = q->model;
	uint32_t part_bytes = q->target.len_bytes / MODEL_UC_PARTS;
	struct roost_send_wr post = {
		.opcode = opcodes[model_below(m, 4)],
		.imm_be = q->nb_msgs,
		.rkey = roost_mr_rkey(q->mr),
	};
	bool write = post.opcode == ROOST_WR_WRITE ||
		     post.opcode == ROOST_WR_WRITE_IMM;
	uint32_t max = write ? part_bytes : m->recv_bytes - NUMBER_BYTES;
	struct model_list from = model_gather(m, model_len(m, max));
	uint32_t at = q->nb_parts * part_bytes;
	struct model_wr *wr = model_wr_next(q);

	if (write) {
		post.remote_addr = q->iova + at;
		q->part[q->nb_parts++] = from;
	} else if (post.opcode == ROOST_WR_SEND) {
		put_number(q, &from);
	}
	wr->signaled = model_below(m, 2) || q->nb_posted % 16 == 15;
	if (post.opcode != ROOST_WR_WRITE)
		model_expect(q, &from, post.opcode)->at_bytes = at;
	model_add(q, wr, &post, &from);
}

bool model_post_lossy(struct model_qp *q)
{
	if (q->qp->conf.type == ROOST_QPT_UD)
		post_datagram(q);
	else if (q->nb_parts < MODEL_UC_PARTS)
		post_uc(q);
	else
		return false;
	return true;
}

/* Which message it is; it must be one that was sent. Neither type knows a
 * message that the link doubled from a new one.
 */
static const struct model_msg *
message(struct model_qp *q, const struct roost_cqe *cqe, const uint8_t *data)
{
	uint32_t number = cqe->imm_be, sent = q->peer->nb_msgs;

	if (!(cqe->flags & ROOST_WC_WITH_IMM)) {
		assert_true(cqe->byte_len >= NUMBER_BYTES);
		memcpy(&number, data, sizeof(number));
	}
	assert_true(number < sent && sent - number <= MODEL_MSGS);
	return &q->msgs[number % MODEL_MSGS];
}

void model_received_lossy(struct model_qp *q, const struct roost_cqe *cqe,
			  struct sim_slice slot)
{
	bool ud = q->qp->conf.type == ROOST_QPT_UD;
	uint32_t head = ud ? MODEL_GRH_BYTES : 0, end;
	const struct model_msg *msg = message(q, cqe, slot.data + head);
	bool write = msg->opcode == ROOST_WR_WRITE_IMM;

	assert_int_equal(cqe->opcode,
			 write ? ROOST_WC_RECV_WRITE_IMM : ROOST_WC_RECV);
	assert_int_equal(cqe->flags,
			 (has_imm(msg->opcode) ? ROOST_WC_WITH_IMM : 0) |
				 (ud ? ROOST_WC_GRH : 0));
	assert_int_equal(cqe->src_qpn, q->peer->qp->qpn);
	assert_int_equal(cqe->byte_len, head + msg->from.len_bytes);
	if (write) {
		assert_true(model_is(&msg->from,
				     q->peer->target.data + msg->at_bytes));
		return;
	}
	assert_true(model_is(&msg->from, slot.data + head));
	end = head + msg->from.len_bytes;
	if (ud)
		assert_true(model_all(slot.data + end, slot.len_bytes - end,
				      SIM_BLANK_BYTE));
}

/* A packet wrote its bytes, or it did not: each byte is new or as before, and
 * what stands there is what it is from now on.
 */
void model_settle_lossy(struct model_qp *q)
{
	uint32_t part_bytes = q->target.len_bytes / MODEL_UC_PARTS;

	for (uint32_t i = 0; i < q->nb_parts; i++) {
		const struct model_list *from = &q->part[i];
		uint32_t at = i * part_bytes;

		for (uint32_t j = 0; j < from->nb; j++) {
			for (uint32_t k = 0; k < from->part[j].len_bytes; k++) {
				uint8_t there = q->target.data[at];

				if (there == from->part[j].data[k])
					q->shadow[at] = there;
				at++;
			}
		}
	}
	q->nb_parts = 0;
}
