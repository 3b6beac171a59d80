/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Frames, in any order, to QPs of every type, among requests of the program's
 * own. Input: a list of operations, each a byte and its arguments. A frame is
 * made of small choices (which QP, how far the PSN is off, which key, how long)
 * so that it gets past the checks of the numbers, and may then be spoilt
 * before or behind its ICRC.
 */

#include <string.h>

#include <roost/mcast.h>
#include "lib/engine/sched/worker.h"
#include "lib/engine/transport/qp_priv.h"
#include "lib/wire/icrc.h"
#include "tests/fuzz/engine.h"

#define OPS_MAX 48u

enum frame_flag {
	FRAME_ACKREQ = 1 << 0,
	FRAME_SOLICITED = 1 << 1,
	FRAME_NO_MIGREQ = 1 << 2,
	FRAME_SPOIL_IN = 1 << 3,  /* a byte, under a right ICRC */
	FRAME_SPOIL_OUT = 1 << 4, /* a byte, the ICRC included */
	FRAME_ANY_OPCODE = 1 << 5,
	FRAME_OTHER_PLACE = 1 << 6,
	FRAME_CUT = 1 << 7,
};

/* ---- frames ----------------------------------------------------------- */

static uint32_t qpn_of(struct fuzz_in *in, enum engine_qp i)
{
	static const uint32_t others[] = { 0, 1, 0xffffff, 0x123456 };
	uint8_t other = fuzz_u8(in);

	return other < 4 ? others[other] : engine.ends[i].qpn;
}

static uint32_t psn_of(struct fuzz_in *in, enum engine_qp i,
		       const struct roost_opcode_info *info)
{
	const struct roost_qp *qp = engine.ends[i].qp;
	int8_t off = (int8_t)fuzz_u8(in);
	struct roost_psn psn;

	if (off == INT8_MIN)
		return fuzz_u32(in) & ROOST_PSN_MASK;
	psn = info->flags & ROOST_OPF_RESPONSE ? qp->req.oldest_unacked_psn
					       : qp->resp.expected_psn;
	return off < 0 ? roost_psn_sub(psn, (uint32_t)-off).v
		       : roost_psn_add(psn, (uint32_t)off).v;
}

static uint64_t va_of(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	uint64_t base = (uintptr_t)engine.regions[how & 3];

	switch (how >> 2 & 7) {
	case 0:
		return base;
	case 1: /* to the end */
		return base + ENGINE_REGION_BYTES - fuzz_u8(in);
	case 2:
		return base - fuzz_u8(in);
	case 3:
		return fuzz_u64(in);
	default:
		return base + fuzz_u16(in);
	}
}

static uint32_t key_of(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	uint32_t key = engine_key(how % ENGINE_KEYS, 0x12345678);

	return how & 0x40 ? key + 1 : key;
}

static uint32_t len_of(struct fuzz_in *in)
{
	static const uint32_t some[] = { 0, 1, 8, 255, 256, 257, 512, 1024 };
	uint8_t how = fuzz_u8(in);

	if (how < 128)
		return some[how & 7];
	if (how < 250)
		return fuzz_u16(in);
	return fuzz_u32(in);
}

static void put_requests(struct fuzz_in *in, uint8_t *bth,
			 const struct roost_opcode_info *info)
{
#define AT(hdr) (bth + info->hdr_off[ROOST_HDR_##hdr])
	if (info->hdrs & ROOST_HDR_BIT(XRCETH))
		roost_xrceth_put(AT(XRCETH),
				 fuzz_u8(in) < 8
					 ? 0x123456
					 : roost_srq_num(engine.xrc_srq));
	if (info->hdrs & ROOST_HDR_BIT(DETH)) {
		uint8_t how = fuzz_u8(in);

		roost_deth_put(AT(DETH), how & 1 ? 0x80010000 : ENGINE_QKEY,
			       how & 2 ? 1 : ENGINE_PEER_QPN + ENGINE_UD);
	}
	if (info->hdrs & ROOST_HDR_BIT(FETH)) {
		uint8_t how = fuzz_u8(in);

		roost_feth_put(AT(FETH), how & 15, how >> 4 & 3);
	}
	if (info->hdrs & ROOST_HDR_BIT(RETH))
		roost_reth_put(AT(RETH), va_of(in), key_of(in), len_of(in));
	if (info->hdrs & ROOST_HDR_BIT(ATOMICETH))
		roost_atomiceth_put(AT(ATOMICETH), va_of(in), key_of(in),
				    fuzz_u16(in), fuzz_u16(in));
	if (info->hdrs & ROOST_HDR_BIT(IMMDT))
		roost_immdt_put(AT(IMMDT), fuzz_u8(in));
	if (info->hdrs & ROOST_HDR_BIT(IETH))
		roost_ieth_put(AT(IETH), key_of(in));
}

static void put_responses(struct fuzz_in *in, uint8_t *bth,
			  const struct roost_opcode_info *info)
{
	if (info->hdrs & ROOST_HDR_BIT(AETH)) {
		uint8_t syndrome = fuzz_u8(in);

		roost_aeth_put(AT(AETH), syndrome, fuzz_u8(in));
	}
	if (info->hdrs & ROOST_HDR_BIT(ATOMICACKETH))
		roost_atomicacketh_put(AT(ATOMICACKETH), fuzz_u16(in));
#undef AT
}

/* Of the service of the QP, unless any opcode is asked for. */
static uint8_t opcode_of(struct fuzz_in *in, enum engine_qp i, uint8_t flags)
{
	uint8_t opcode = fuzz_u8(in);

	return flags & FRAME_ANY_OPCODE
		       ? opcode
		       : roost_qp_opcode(engine.ends[i].qp, opcode);
}

static uint32_t payload_of(struct fuzz_in *in,
			   const struct roost_opcode_info *info)
{
	uint8_t how = fuzz_u8(in);

	if (how < 16)
		return fuzz_u16(in) % 4096;
	if (!(info->flags & ROOST_OPF_PAYLOAD))
		return 0;
	if (!(info->flags & ROOST_OPF_LAST) || how == 16)
		return roost_mtu_bytes(ENGINE_MTU);
	return how;
}

static struct roost_flow flow_of(struct fuzz_in *in, enum engine_qp i,
				 uint8_t flags)
{
	struct roost_flow flow = engine_flow(i);
	uint8_t how;

	if (!(flags & FRAME_OTHER_PLACE))
		return flow;
	how = fuzz_u8(in);
	if (how & 1)
		flow.sgid.b[15] = (uint8_t)(how >> 4);
	if (how & 2)
		flow.dgid.b[15] = (uint8_t)(how >> 4);
	if (how & 4)
		flow.dgid = roost_gid_from_v4((uint8_t[4]){ 239, 1, 1, 1 });
	if (how & 8) {
		flow.tagged = true;
		flow.vlan_tci = fuzz_u8(in);
	}
	return flow;
}

static void seal(const struct roost_hdr_template *t, uint8_t *frame,
		 size_t len_bytes)
{
	const uint8_t *l3 = frame + t->l3_off_bytes;
	uint32_t icrc = roost_icrc(l3, t->ipv6, len_bytes - t->l3_off_bytes);

	memcpy(frame + len_bytes, &icrc, sizeof(icrc));
}

static void spoil(struct fuzz_in *in, uint8_t *frame, size_t len_bytes)
{
	size_t at = fuzz_u16(in) % len_bytes;

	frame[at] ^= fuzz_u8(in);
}

/* A QPN that was spoilt may be another one's, and peers of this device speak
 * with each other.
 */
static void touch(enum engine_qp i, uint8_t flags, bool to_group)
{
	engine.ends[i].touched = true;
	engine.ends[ENGINE_UD].touched |= to_group;
	for (unsigned int k = 0; k < ENGINE_QPS; k++)
		if (flags & (FRAME_SPOIL_IN | FRAME_SPOIL_OUT) ||
		    (i >= ENGINE_LOOP && k >= ENGINE_LOOP))
			engine.ends[k].touched = true;
}

static void put_frame(struct fuzz_in *in)
{
	const enum engine_qp i = fuzz_below(in, ENGINE_QPS);
	const uint8_t flags = fuzz_u8(in);
	const uint8_t opcode = opcode_of(in, i, flags);
	const struct roost_opcode_info *info = &roost_opcodes[opcode];
	const size_t hdrs = info->op == ROOST_OP_NONE
				    ? 16
				    : info->hdr_len_bytes - ROOST_BTH_LEN;
	struct roost_flow flow = flow_of(in, i, flags);
	uint32_t payload = payload_of(in, info);
	struct roost_bth bth = {
		.opcode = opcode,
		.pad_bytes = (uint8_t)(-payload & 3),
		.solicited = flags & FRAME_SOLICITED,
		.migreq = !(flags & FRAME_NO_MIGREQ),
		.ackreq = flags & FRAME_ACKREQ,
		.pkey = 0xffff,
		.dest_qpn = qpn_of(in, i),
		.psn = roost_psn(psn_of(in, i, info)),
	};
	static uint8_t frame[ENGINE_FRAME_BYTES];
	struct roost_hdr_template t;
	size_t at, end;

	if (bth.dest_qpn == 0xffffff && info->hdrs & ROOST_HDR_BIT(DETH))
		flow.dgid = roost_gid_from_v4((uint8_t[4]){ 239, 1, 1, 1 });
	roost_hdr_template_init(&t, &flow);
	at = roost_hdr_emit(&t, frame, &bth, hdrs + payload + bth.pad_bytes);
	memset(frame + at, 0, hdrs + payload + bth.pad_bytes);
	put_requests(in, frame + at - ROOST_BTH_LEN, info);
	put_responses(in, frame + at - ROOST_BTH_LEN, info);
	memset(frame + at + hdrs, fuzz_u8(in), payload);
	end = at + hdrs + payload + bth.pad_bytes;
	if (flags & FRAME_SPOIL_IN)
		spoil(in, frame, end);
	seal(&t, frame, end);
	end += ROOST_ICRC_LEN;
	if (flags & FRAME_SPOIL_OUT)
		spoil(in, frame, end);
	if (flags & FRAME_CUT)
		end -= fuzz_u16(in) % end;
	engine_put(frame, end);
	touch(i, flags, roost_gid_is_multicast(&flow.dgid));
}

/* ---- the program ------------------------------------------------------ */

static struct roost_sge sge_of(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);

	return (struct roost_sge){
		.addr = how & 0x80 ? va_of(in)
				   : (uintptr_t)engine.regions[how & 1] +
					     16u * (how & 0x7fu),
		.len_bytes = len_of(in),
		.lkey = how & 0x20 ? key_of(in)
				   : roost_mr_lkey(engine.mrs[how & 1]),
	};
}

static uint64_t wr_id(unsigned int i, bool is_recv, uint32_t number)
{
	return (uint64_t)i << 56 | (uint64_t)is_recv << 55 | number;
}

/* Inline data is the program's own to have right. */
static void fit_inline(struct roost_send_wr *wr, struct roost_sge *sges)
{
	if (!(wr->flags & ROOST_SEND_INLINE))
		return;
	for (uint32_t k = 0; k < wr->nb_sges; k++) {
		sges[k].addr = (uintptr_t)engine.regions[ENGINE_ALL];
		sges[k].len_bytes %= 128;
	}
}

static struct roost_mw_bind bind_of(struct fuzz_in *in)
{
	struct roost_mw_bind bind = {
		.mw = engine.mw,
		.mr = engine.mrs[ENGINE_ALL],
		.addr = (uintptr_t)engine.regions[ENGINE_ALL],
		.access = ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_READ |
			  ROOST_ACCESS_REMOTE_ATOMIC,
	};
	uint8_t how = fuzz_u8(in);

	bind.rkey = roost_mw_rkey(engine.mw) + (how & 3);
	bind.addr += fuzz_u16(in);
	bind.len_bytes = len_of(in);
	if (how & 4)
		bind.access |= ROOST_ACCESS_ZERO_BASED;
	return bind;
}

static void post_send(struct fuzz_in *in)
{
	const enum engine_qp i = fuzz_below(in, ENGINE_QPS);
	struct engine_end *end = &engine.ends[i];
	struct roost_sge sges[2];
	struct roost_send_wr wr = {
		.wr_id = wr_id(i, false, end->nb_sent),
		.sges = sges,
		.opcode = fuzz_below(in, ROOST_WR_OPCODE_COUNT),
		.flags = fuzz_u8(in) & 15,
		.nb_sges = fuzz_below(in, 3),
		.ah = engine.ah,
		.dest_qpn = ENGINE_PEER_QPN + (uint32_t)i,
		.qkey = ENGINE_QKEY,
	};
	int rc;

	/* The target has no send queue to post to. */
	if (i == ENGINE_XRC_TGT)
		return;
	for (uint32_t k = 0; k < wr.nb_sges; k++)
		sges[k] = sge_of(in);
	fit_inline(&wr, sges);
	wr.imm_be = wr.opcode == ROOST_WR_LOCAL_INV ||
				    wr.opcode == ROOST_WR_SEND_INV
			    ? key_of(in)
			    : fuzz_u8(in);
	wr.remote_addr = va_of(in);
	wr.rkey = key_of(in);
	wr.swap_add = fuzz_u8(in);
	wr.flush_type = fuzz_u8(in) & 3;
	wr.flush_len_bytes = wr.flush_type ? len_of(in) : 0;
	wr.xrc_srqn = roost_srq_num(engine.xrc_srq);
	if (wr.opcode == ROOST_WR_BIND_MW)
		wr.bind = bind_of(in);
	engine.window_touched |= wr.opcode == ROOST_WR_BIND_MW;
	roost_qp_send_begin(end->qp);
	rc = roost_qp_send_add(end->qp, &wr);
	roost_qp_send_end(end->qp);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM ||
		   rc == -EOPNOTSUPP);
	touch(i, 0, false);
	end->nb_sent += rc == 0;
}

static void post_srq(struct roost_srq *srq, const struct roost_recv_wr *from)
{
	struct roost_recv_wr wr = *from;

	if (engine.nb_srq_posted == 64)
		return;
	wr.wr_id = wr_id(ENGINE_QPS, true, engine.nb_srq_posted);
	roost_srq_recv_begin(srq);
	if (roost_srq_recv_add(srq, &wr) == 0)
		engine.srq_posted |= 1ull << engine.nb_srq_posted++;
	roost_srq_recv_end(srq);
}

static void post_recv(struct fuzz_in *in)
{
	const enum engine_qp i = fuzz_below(in, ENGINE_QPS);
	struct engine_end *end = &engine.ends[i];
	struct roost_sge sges[2];
	struct roost_recv_wr wr = {
		.wr_id = wr_id(i, true, end->nb_received),
		.sges = sges,
		.nb_sges = fuzz_below(in, 3),
	};

	for (uint32_t k = 0; k < wr.nb_sges; k++)
		sges[k] = sge_of(in);
	if (i == ENGINE_RC_SRQ || i == ENGINE_XRC_TGT) {
		post_srq(i == ENGINE_RC_SRQ ? engine.srq : engine.xrc_srq, &wr);
		return;
	}
	if (i == ENGINE_XRC_INI)
		return;
	roost_qp_recv_begin(end->qp);
	if (roost_qp_recv_add(end->qp, &wr) == 0)
		end->nb_received++;
	roost_qp_recv_end(end->qp);
	end->touched = true;
}

static void change_state(struct fuzz_in *in)
{
	const enum engine_qp i = fuzz_below(in, ENGINE_QPS);
	const uint8_t how = fuzz_u8(in);
	struct engine_end *end = &engine.ends[i];
	struct roost_qp_attr attr = { .state = how % ROOST_QPS_COUNT };
	uint32_t mask = ROOST_QP_STATE;

	if (attr.state == ROOST_QPS_SQD && how & 0x80) {
		attr.en_sqd_async_notify = true;
		mask |= ROOST_QP_EN_SQD_ASYNC_NOTIFY;
	}
	engine_poll();
	if (roost_qp_modify(end->qp, &attr, mask) != 0)
		return;
	end->touched = true;
	if (attr.state != ROOST_QPS_RESET)
		return;
	engine.reset_qpn = end->qpn;
	engine_poll();
	engine.reset_qpn = 0;
	end->send_done = end->nb_sent;
	end->recv_done = end->nb_received;
	engine_connect(i, how >> 4 & 3);
}

static void turn(struct fuzz_in *in)
{
	static const uint64_t ns[] = { 0,       1000,    100000,
				       2000000, 8000000, 1000000000 };

	engine_turn(ns[fuzz_below(in, sizeof(ns) / sizeof(ns[0]))]);
}

static void join(struct fuzz_in *in)
{
	const struct roost_gid group =
		roost_gid_from_v4((uint8_t[4]){ 239, 1, 1, 1 });
	struct roost_qp *qp = engine.ends[ENGINE_UD].qp;

	if (fuzz_u8(in) & 1)
		roost_mcast_attach(qp, &group);
	else
		roost_mcast_detach_all(qp);
}

static void take_op(struct fuzz_in *in)
{
	switch (fuzz_u8(in) & 15) {
	case 7:
	case 8:
		post_send(in);
		break;
	case 9:
		post_recv(in);
		break;
	case 10:
		turn(in);
		break;
	case 11:
		change_state(in);
		break;
	case 12:
		engine.tx_room = fuzz_u8(in) & 7;
		break;
	case 13:
		roost_cq_arm(engine.cq, fuzz_u8(in) & 1);
		break;
	case 14:
		engine_poll();
		break;
	case 15:
		join(in);
		break;
	default:
		put_frame(in);
		break;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	engine_open();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	for (unsigned int n = 0; n < OPS_MAX && in.left_bytes > 0; n++)
		take_op(&in);
	roost_mcast_detach_all(engine.ends[ENGINE_UD].qp);
	engine_reset();
	return 0;
}
