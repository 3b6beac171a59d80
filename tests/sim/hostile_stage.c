/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "tests/sim/hostile.h"

#define ALL_ACCESS                                                             \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |               \
	 ROOST_ACCESS_FLUSH_GLOBAL | ROOST_ACCESS_MW_BIND)

static struct roost_mr *reg(struct hostile_stage *s, struct roost_pd *pd,
			    uint32_t access)
{
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(pd, s->mem.data, s->mem.len_bytes,
				      (uintptr_t)s->mem.data, access, &mr),
			 0);
	return mr;
}

static void make_regions(struct hostile_stage *s)
{
	struct sim_end *end = s->qp->end;
	struct roost_mr *dead;

	s->sim->arena_used = (s->sim->arena_used + 63) & ~63ul;
	s->mem = raw_blank(s->sim, HOSTILE_MEM_BYTES);
	s->recv = raw_blank(s->sim, HOSTILE_RECV_BYTES);
	s->local = raw_blank(s->sim, 3000);
	assert_int_equal(roost_pd_alloc(end->ctx, &s->pd), 0);
	s->mr = reg(s, end->pd, ALL_ACCESS);
	s->read_only = reg(s, end->pd,
			   ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_READ);
	s->no_access = reg(s, end->pd, ROOST_ACCESS_LOCAL_WRITE);
	s->other_pd = reg(s, s->pd, ALL_ACCESS);
	dead = reg(s, end->pd, ALL_ACCESS);
	s->dead_key = roost_mr_rkey(dead);
	assert_int_equal(roost_mr_dereg(dead), 0);
}

static void make_qps(struct hostile_stage *s, const struct sim_qp_conf *from)
{
	struct sim_qp_conf conf = *from;
	struct sim_end *end = &s->sim->ends[SIM_B];

	if (conf.type == ROOST_QPT_XRC_TGT) {
		struct roost_srq_init init = {
			.max_wr = 4, .max_sge = 1, .cq = end->cq, .owner = end
		};

		assert_int_equal(roost_xrcd_open(end->ctx, &s->xrcd), 0);
		init.xrcd = s->xrcd;
		assert_int_equal(roost_srq_create(end->pd, &init, &s->srq), 0);
		conf.xrcd = s->xrcd;
	}
	s->qp = sim_qp_new(s->sim, SIM_B, &conf);
	conf.xrcd = NULL;
	if (conf.type == ROOST_QPT_XRC_TGT)
		conf.type = ROOST_QPT_XRC_INI;
	s->peer = sim_qp_new(s->sim, SIM_A, &conf);
	sim_connect(s->peer, s->qp);
	s->psn = s->peer->sq_psn;
	/* Windows of another QP. */
	conf.type = ROOST_QPT_RC;
	s->other = sim_qp_new(s->sim, SIM_B, &conf);
	sim_connect(sim_qp_new(s->sim, SIM_A, &conf), s->other);
}

void hostile_post_receive(struct hostile_stage *s)
{
	if (s->srq != NULL)
		raw_srq_recv(s->qp->end, s->srq, RECEIVE_ID, s->recv);
	else if (s->qp->conf.type != ROOST_QPT_XRC_INI)
		raw_recv(s->qp, RECEIVE_ID, s->recv);
}

struct hostile_stage hostile_stage_open(const struct sim_qp_conf *conf)
{
	struct hostile_stage s = { .sim = sim_new() };

	s.sim->nobody_polls = true;
	make_qps(&s, conf);
	make_regions(&s);
	return s;
}

void hostile_stage_close(struct hostile_stage *s)
{
	struct roost_cqe cqe;

	while (roost_cq_poll(s->qp->end->cq, 1, &cqe) > 0)
		;
	if (s->mw != NULL)
		assert_int_equal(roost_mw_dealloc(s->mw), 0);
	assert_int_equal(roost_mr_dereg(s->mr), 0);
	assert_int_equal(roost_mr_dereg(s->read_only), 0);
	assert_int_equal(roost_mr_dereg(s->no_access), 0);
	assert_int_equal(roost_mr_dereg(s->other_pd), 0);
	assert_int_equal(roost_pd_dealloc(s->pd), 0);
	if (s->srq != NULL) {
		assert_int_equal(roost_srq_destroy(s->srq, NULL), 0);
		sim_qp_destroy(s->qp);
		assert_int_equal(roost_xrcd_close(s->xrcd), 0);
	}
	sim_free(s->sim);
}

/* ---- keys ---------------------------------------------------------------- */

static void local(struct sim_qp *qp, struct roost_send_wr wr)
{
	wr.flags = ROOST_SEND_SIGNALED;
	raw_send(qp, wr, (struct sim_slice){ 0 });
	sim_turn(qp->sim);
	raw_expect(qp->end->cq, 0, ROOST_WC_SUCCESS);
}

static uint32_t window_key(struct hostile_stage *s, enum hostile_key key)
{
	struct sim_qp *qp = key == KEY_MW_OTHER ? s->other : s->qp;
	uint32_t rkey;

	assert_int_equal(roost_mw_alloc(qp->end->pd, 2, &s->mw), 0);
	rkey = roost_mw_rkey(s->mw) | 5;
	local(qp, (struct roost_send_wr){
			  .opcode = ROOST_WR_BIND_MW,
			  .bind = {
				  .mw = s->mw,
				  .mr = s->mr,
				  .addr = (uintptr_t)s->mem.data,
				  .len_bytes = s->mem.len_bytes,
				  .access = ALL_ACCESS & ~ROOST_ACCESS_MW_BIND,
				  .rkey = rkey,
			  },
		  });
	if (key == KEY_MW_UNBOUND)
		local(qp, (struct roost_send_wr){
				  .opcode = ROOST_WR_LOCAL_INV,
				  .imm_be = rkey,
			  });
	return key == KEY_MW_OLD_TAG ? rkey - 1 : rkey;
}

static uint32_t key_of(struct hostile_stage *s, enum hostile_key key)
{
	switch (key) {
	case KEY_GOOD:
		return roost_mr_rkey(s->mr);
	case KEY_RANDOM:
		return (uint32_t)sim_random(&s->sim->rng);
	case KEY_ZERO:
		return 0;
	case KEY_OTHER_PD:
		return roost_mr_rkey(s->other_pd);
	case KEY_DEAD:
		return s->dead_key;
	case KEY_READ_ONLY:
		return roost_mr_rkey(s->read_only);
	case KEY_NO_ACCESS:
		return roost_mr_rkey(s->no_access);
	case KEY_MW:
	case KEY_MW_OTHER:
	case KEY_MW_UNBOUND:
	case KEY_MW_OLD_TAG:
		return window_key(s, key);
	}
	return 0;
}

/* ---- packets ------------------------------------------------------------- */

static void put_headers(struct hostile_stage *s, const struct hostile_row *row,
			uint64_t va, uint32_t rkey, uint8_t *p)
{
	const struct roost_opcode_info *info = &roost_opcodes[row->opcode];
	uint8_t *bth = p - ROOST_BTH_LEN;

#define AT(hdr) (bth + info->hdr_off[ROOST_HDR_##hdr])
	if (info->hdrs & ROOST_HDR_BIT(XRCETH))
		roost_xrceth_put(AT(XRCETH), row->wrong_srqn
						     ? 0x123456
						     : roost_srq_num(s->srq));
	if (info->hdrs & ROOST_HDR_BIT(DETH))
		roost_deth_put(AT(DETH),
			       row->qkey != 0 ? row->qkey : s->qp->conf.qkey,
			       s->peer->qpn);
	if (info->hdrs & ROOST_HDR_BIT(FETH))
		roost_feth_put(AT(FETH), row->flush_type, row->flush_level);
	if (info->hdrs & ROOST_HDR_BIT(RETH))
		roost_reth_put(AT(RETH), va, rkey, row->len);
	if (info->hdrs & ROOST_HDR_BIT(ATOMICETH))
		roost_atomiceth_put(AT(ATOMICETH), va, rkey, 1, 0);
	if (info->hdrs & ROOST_HDR_BIT(AETH))
		roost_aeth_put(AT(AETH), row->syndrome_in, 1);
	if (info->hdrs & ROOST_HDR_BIT(ATOMICACKETH))
		roost_atomicacketh_put(AT(ATOMICACKETH), 1);
	if (info->hdrs & ROOST_HDR_BIT(IETH))
		roost_ieth_put(AT(IETH), rkey);
#undef AT
}

void hostile_make_packet(struct hostile_stage *s, const struct hostile_row *row,
			 struct hostile_packet *p)
{
	const struct roost_opcode_info *info = &roost_opcodes[row->opcode];
	size_t hdrs = info->hdr_len_bytes - ROOST_BTH_LEN;
	uint8_t pad = row->pad_given ? row->pad : (uint8_t)(-row->payload & 3);
	uint64_t base = row->va_absolute ? 0 : (uintptr_t)s->mem.data;

	*p = (struct hostile_packet){
		.bth = {
			.opcode = row->opcode,
			.pad_bytes = pad,
			.migreq = true,
			.ackreq = true,
			.pkey = row->pkey != 0 ? row->pkey : 0xffff,
			.dest_qpn = row->qpn != 0 ? row->qpn : s->qp->qpn,
			.psn = roost_psn(s->psn + (uint32_t)row->psn),
		},
	};
	put_headers(s, row, base + (uint64_t)row->va, key_of(s, row->key),
		    p->after_bth);
	memset(p->after_bth + hdrs, HOSTILE_BYTE, row->payload);
	p->len = hdrs + row->payload - row->cut;
	if (!row->pad_given)
		p->len += pad;
}

struct roost_flow hostile_flow_of(struct hostile_stage *s,
				  enum hostile_from from)
{
	struct roost_flow flow = sim_flow_to(s->qp);
	const uint8_t group[4] = { 239, 9, 9, 9 };

	switch (from) {
	case FROM_PEER:
		break;
	case FROM_STRANGER:
		flow.sgid.b[15] = 77;
		break;
	case FROM_OTHER_ADDRESS:
		flow.sgid = s->peer->end->gid6;
		flow.dgid = s->qp->end->gid6;
		break;
	case TO_STRANGER:
		flow.dgid.b[15] = 77;
		break;
	case TO_GROUP:
		flow.dgid = roost_gid_from_v4(group);
		break;
	case TO_ALL_STATIONS:
		memset(flow.dst_mac, 0xff, sizeof(flow.dst_mac));
		break;
	}
	return flow;
}
