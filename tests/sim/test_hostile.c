/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The catalogue of hostile packets, and what can be said of all of them: each
 * opcode to each type of QP, each truncation, each flipped bit.
 */

#include <string.h>

#include "lib/wire/icrc.h"
#include "tests/sim/hostile.h"

/* ---- before -------------------------------------------------------------- */

/* A packet that is as it should be; psns of it are used up then. */
static void good_packet(struct hostile_stage *s, uint8_t opcode, uint32_t len,
			uint16_t payload, uint32_t psns)
{
	const struct hostile_row row = { .opcode = opcode,
					 .len = len,
					 .payload = payload };
	struct hostile_packet p;

	hostile_make_packet(s, &row, &p);
	sim_forge(s->qp, &p.bth, p.after_bth, p.len);
	s->psn += psns;
}

static void request(struct hostile_stage *s, enum roost_wr_opcode opcode,
		    uint32_t len_bytes)
{
	s->sim->link.faults[SIM_B].carrier_off = true;
	s->local.len_bytes = len_bytes;
	raw_send(s->qp,
		 (struct roost_send_wr){
			 .wr_id = REQUEST_ID,
			 .opcode = opcode,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = 0x1000,
			 .rkey = 1,
			 .swap_add = 1,
		 },
		 s->local);
}

static void prepare(struct hostile_stage *s, enum hostile_before before)
{
	if (before != NO_RECEIVE && before != IMM_BEGUN && before < IN_RESET)
		hostile_post_receive(s);
	if (before >= SENT_SEND)
		s->psn = s->qp->sq_psn;
	switch (before) {
	case NOTHING:
	case NO_RECEIVE:
	case SENT_NOTHING:
		break;
	case SEND_BEGUN:
		good_packet(s, ROOST_OPCODE_RC_SEND_FIRST, 0, 1024, 1);
		break;
	case WRITE_BEGUN:
		good_packet(s, ROOST_OPCODE_RC_WRITE_FIRST, 3000, 1024, 1);
		break;
	case IMM_BEGUN:
		good_packet(s, ROOST_OPCODE_RC_WRITE_FIRST, 2000, 1024, 1);
		break;
	case READ_DONE:
		good_packet(s, ROOST_OPCODE_RC_READ_REQ, 3000, 0, 3);
		break;
	case ADD_DONE:
		good_packet(s, ROOST_OPCODE_RC_FETCH_ADD, 0, 0, 1);
		break;
	case WRITE_DONE:
		good_packet(s, ROOST_OPCODE_RC_WRITE_ONLY, 16, 16, 1);
		break;
	case GAP_NAKED:
		s->psn += 9;
		good_packet(s, ROOST_OPCODE_RC_SEND_ONLY, 0, 10, 0);
		s->psn -= 9;
		break;
	case IN_RESET:
		assert_int_equal(sim_qp_to(s->qp, ROOST_QPS_RESET), 0);
		break;
	case IN_INIT:
		assert_int_equal(sim_qp_to(s->qp, ROOST_QPS_RESET), 0);
		assert_int_equal(sim_qp_to_init(s->qp), 0);
		break;
	case IN_ERR:
		hostile_post_receive(s);
		assert_int_equal(sim_qp_to(s->qp, ROOST_QPS_ERR), 0);
		break;
	case TWO_READS:
		good_packet(s, ROOST_OPCODE_RC_READ_REQ, 16, 0, 1);
		good_packet(s, ROOST_OPCODE_RC_READ_REQ, 16, 0, 1);
		return;
	case SENT_SEND:
		request(s, ROOST_WR_SEND, 100);
		break;
	case SENT_READ:
		request(s, ROOST_WR_READ, 3000);
		break;
	case SENT_ADD:
		request(s, ROOST_WR_FETCH_ADD, 8);
		break;
	case SENT_WRITE:
		request(s, ROOST_WR_WRITE, 3000);
		break;
	}
	sim_turn(s->sim);
}

static void remember(struct hostile_stage *s)
{
	s->nb_sent = s->sim->link.nb_log[SIM_B];
	memcpy(s->drops, sim_counters(s->sim, SIM_B)->drops, sizeof(s->drops));
	s->state = roost_qp_state(s->qp->qp);
}

/* ---- after --------------------------------------------------------------- */

static void check_answer(struct hostile_stage *s, const struct hostile_row *row)
{
	const struct sim_sent *sent = &s->sim->link.log[SIM_B][s->nb_sent];
	size_t n = s->sim->link.nb_log[SIM_B] - s->nb_sent;

	/* Those of the stage come first. */
	for (; row->before == TWO_READS && n > 1; n--, sent++)
		assert_int_equal(roost_opcodes[sent->opcode].op,
				 ROOST_OP_READ_RESP);
	if (row->answer == SILENCE) {
		assert_int_equal(n, 0);
		return;
	}
	if (row->answer == ANSWER_DATA) {
		assert_in_range(n, 1, 3);
		for (size_t i = 0; i < n; i++)
			assert_int_not_equal(roost_opcodes[sent[i].opcode].op,
					     ROOST_OP_ACK);
		return;
	}
	assert_int_equal(n, 1);
	assert_int_equal(roost_opcodes[sent->opcode].op, ROOST_OP_ACK);
	if (row->answer == ANSWER_ACK)
		assert_int_equal(sent->syndrome & ROOST_AETH_TYPE_MASK,
				 ROOST_AETH_ACK);
	else
		assert_int_equal(sent->syndrome, row->syndrome);
	if (row->answer == ANSWER_NAK)
		assert_int_equal(sent->psn.v, s->psn & ROOST_PSN_MASK);
}

static void check_counters(struct hostile_stage *s, uint8_t drop)
{
	const struct roost_dev_counters *c = sim_counters(s->sim, SIM_B);

	for (unsigned int i = 0; i < ROOST_DROP_COUNT; i++)
		assert_int_equal(c->drops[i] - s->drops[i],
				 i != ROOST_DROP_NONE && i == drop);
}

/* One that the packet ended says so, in the words of its NAK. */
static void check_reason(struct hostile_stage *s, const struct hostile_row *row)
{
	const struct roost_qp_error e = raw_view(s->qp).error;
	const struct roost_qp_error_info *info = &roost_qp_error_infos[e.code];

	if (row->state != ROOST_QPS_ERR)
		return;
	assert_non_null(info->name);
	if (row->answer != ANSWER_NAK) {
		assert_int_not_equal(e.code, ROOST_QPE_MODIFIED);
		return;
	}
	assert_int_equal(info->found_by, ROOST_FOUND_BY_RESPONDER);
	assert_int_equal(e.opcode, row->opcode);
	assert_int_equal(e.syndrome, row->syndrome);
	if (row->wrong_srqn)
		assert_int_equal(e.code, ROOST_QPE_XRC_SRQ);
}

static void check_qp(struct hostile_stage *s, const struct hostile_row *row)
{
	check_reason(s, row);
	assert_int_equal(roost_qp_state(s->qp->qp),
			 row->state != 0 ? row->state : s->state);
	sim_poll(s->sim);
	for (int i = 0; i < SIM_ASYNC_TYPES; i++)
		assert_int_equal(s->qp->async[i],
				 row->event != 0 && i == row->event);
}

/* The receive, or the request in flight, is over as the row says; all else
 * that is over was flushed.
 */
static void check_completions(struct hostile_stage *s,
			      const struct hostile_row *row)
{
	uint64_t id = row->before >= SENT_SEND ? REQUEST_ID : RECEIVE_ID;
	bool none = row->before == NO_RECEIVE || row->before == IMM_BEGUN ||
		    row->before == SENT_NOTHING;
	unsigned int n = 0;
	struct roost_cqe cqe;

	while (roost_cq_poll(s->qp->end->cq, 1, &cqe) > 0) {
		if (cqe.wr_id == id) {
			assert_int_equal(cqe.status, row->status);
			n++;
		} else {
			assert_int_equal(cqe.status, ROOST_WC_WR_FLUSH_ERR);
		}
	}
	assert_int_equal(n, !none && (row->success || row->status != 0));
}

static void check_memory(struct hostile_stage *s, bool taken)
{
	raw_assert_blank(s->mem, taken ? s->mem.len_bytes : 0);
	raw_assert_blank(s->recv, taken ? s->recv.len_bytes : 0);
}

static void run_row(const struct hostile_row *row)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct hostile_packet p;
	struct roost_flow flow;
	struct hostile_stage s;

	conf.type = row->type;
	conf.rd_atomic = 2;
	conf.timeout = 20;
	if (row->no_access)
		conf.access = 0;
	s = hostile_stage_open(&conf);
	prepare(&s, row->before);
	hostile_make_packet(&s, row, &p);
	flow = hostile_flow_of(&s, row->from);
	remember(&s);
	sim_forge_on(s.qp, &flow, &p.bth, p.after_bth, p.len);
	sim_turn(s.sim);
	check_answer(&s, row);
	check_counters(&s, row->drop);
	check_qp(&s, row);
	check_completions(&s, row);
	check_memory(&s, row->taken || row->success);
	if (row->before >= SENT_SEND && row->before != SENT_SEND &&
	    row->before != SENT_WRITE)
		raw_assert_blank((struct sim_slice){ s.local.data, 3000 }, 0);
	hostile_stage_close(&s);
}

static const struct hostile_row *current;

static int say_which(void **state)
{
	if (current != NULL)
		print_error("in row \"%s\"\n", current->name);
	return 0;
}

static void run_table(const struct hostile_table *table)
{
	for (size_t i = 0; i < table->nb_rows; i++) {
		current = &table->rows[i];
		run_row(current);
	}
	current = NULL;
}

static void hostile__access(void **state)
{
	run_table(&hostile_access);
}

static void hostile__shape(void **state)
{
	run_table(&hostile_shape);
}

static void hostile__psn(void **state)
{
	run_table(&hostile_psn);
}

static void hostile__place(void **state)
{
	run_table(&hostile_place);
}

static void hostile__answers(void **state)
{
	run_table(&hostile_answers);
}

static void hostile__types(void **state)
{
	run_table(&hostile_types);
}

/* ---- all of a kind ------------------------------------------------------- */

static uint8_t expected_drop(enum roost_qp_type type,
			     const struct roost_opcode_info *info)
{
	static const uint8_t services[ROOST_QPT_COUNT] = {
		[ROOST_QPT_RC] = ROOST_SERVICE_RC,
		[ROOST_QPT_UC] = ROOST_SERVICE_UC,
		[ROOST_QPT_UD] = ROOST_SERVICE_UD,
		[ROOST_QPT_XRC_INI] = ROOST_SERVICE_XRC,
		[ROOST_QPT_XRC_TGT] = ROOST_SERVICE_XRC,
	};

	if (info->op == ROOST_OP_NONE)
		return ROOST_DROP_OPCODE;
	/* Taken by every QP. */
	if (info->op == ROOST_OP_CNP)
		return ROOST_DROP_NONE;
	/* Taken by requesters, of what they have sent. */
	if (info->op == ROOST_OP_REPORT)
		return type == ROOST_QPT_RC || type == ROOST_QPT_XRC_INI
			       ? ROOST_DROP_UNEXPECTED_RESPONSE
			       : ROOST_DROP_QP_TYPE;
	if (info->service != services[type])
		return ROOST_DROP_QP_TYPE;
	if (type == ROOST_QPT_XRC_INI && info->flags & ROOST_OPF_REQUEST)
		return ROOST_DROP_QP_TYPE;
	if (type == ROOST_QPT_XRC_TGT && info->flags & ROOST_OPF_RESPONSE)
		return ROOST_DROP_QP_TYPE;
	return ROOST_DROP_NONE;
}

/* Headers of zeros, or of ones, with and without payload. */
static void one_opcode(enum roost_qp_type type, unsigned int opcode, int byte,
		       size_t payload)
{
	const struct roost_opcode_info *info = &roost_opcodes[opcode];
	struct sim_qp_conf conf = sim_qp_conf_default;
	uint8_t drop = expected_drop(type, info);
	uint8_t bytes[200];
	struct roost_bth bth = { .opcode = (uint8_t)opcode,
				 .ackreq = true,
				 .pkey = 0xffff };
	struct hostile_stage s;
	size_t n;

	memset(bytes, byte, sizeof(bytes));
	conf.type = type;
	s = hostile_stage_open(&conf);
	hostile_post_receive(&s);
	bth.dest_qpn = s.qp->qpn;
	bth.psn = roost_psn(s.psn);
	remember(&s);
	n = info->op == ROOST_OP_NONE ? 48
				      : info->hdr_len_bytes - ROOST_BTH_LEN;
	sim_forge(s.qp, &bth, bytes, n + payload);
	sim_turn(s.sim);
	if (drop != ROOST_DROP_NONE) {
		check_counters(&s, drop);
		assert_int_equal(s.sim->link.nb_log[SIM_B], s.nb_sent);
		assert_int_equal(roost_qp_state(s.qp->qp), s.state);
		raw_assert_blank(s.recv, 0);
	}
	assert_true(s.sim->link.nb_log[SIM_B] <= s.nb_sent + 1);
	raw_assert_blank(s.mem, 0);
	raw_assert_blank(s.recv, s.recv.len_bytes);
	hostile_stage_close(&s);
}

static void every_opcode(enum roost_qp_type type)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		one_opcode(type, opcode, 0x00, 0);
		if (expected_drop(type, &roost_opcodes[opcode]) !=
		    ROOST_DROP_NONE)
			continue;
		one_opcode(type, opcode, 0xff, 0);
		one_opcode(type, opcode, 0x00, 100);
		one_opcode(type, opcode, 0xff, 100);
	}
}

static void hostile__every_opcode_to_rc(void **state)
{
	every_opcode(ROOST_QPT_RC);
}

static void hostile__every_opcode_to_uc(void **state)
{
	every_opcode(ROOST_QPT_UC);
}

static void hostile__every_opcode_to_ud(void **state)
{
	every_opcode(ROOST_QPT_UD);
}

static void hostile__every_opcode_to_xrc(void **state)
{
	every_opcode(ROOST_QPT_XRC_INI);
	every_opcode(ROOST_QPT_XRC_TGT);
}

/* Each header cut at each byte, in a frame that is whole otherwise. */
static void hostile__every_truncated_header(void **state)
{
	static const uint8_t zeros[64];
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct hostile_stage s = hostile_stage_open(&conf);

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct roost_opcode_info *info = &roost_opcodes[opcode];
		struct roost_bth bth = { .opcode = (uint8_t)opcode,
					 .pkey = 0xffff,
					 .dest_qpn = s.qp->qpn,
					 .psn = roost_psn(s.psn) };

		for (size_t n = 0; n + ROOST_BTH_LEN < info->hdr_len_bytes;
		     n++) {
			remember(&s);
			sim_forge(s.qp, &bth, zeros, n);
			sim_turn(s.sim);
			check_counters(&s, ROOST_DROP_HDR_LEN);
		}
	}
	assert_int_equal(s.sim->link.nb_log[SIM_B], 0);
	assert_int_equal(roost_qp_state(s.qp->qp), ROOST_QPS_RTS);
	hostile_stage_close(&s);
}

/* A good WRITE, as a frame. */
static size_t good_frame(struct hostile_stage *s, uint8_t *frame)
{
	const struct hostile_row row = { .opcode = ROOST_OPCODE_RC_WRITE_ONLY,
					 .len = 10,
					 .payload = 10 };
	struct roost_flow flow = sim_flow_to(s->qp);
	struct roost_hdr_template template;
	struct hostile_packet p;
	size_t len;

	hostile_make_packet(s, &row, &p);
	roost_hdr_template_init(&template, &flow);
	len = roost_hdr_emit(&template, frame, &p.bth, p.len);
	memcpy(frame + len, p.after_bth, p.len);
	len += p.len;
	roost_frame_seal(&template, frame, len);
	return len + ROOST_ICRC_LEN;
}

static void hostile__every_truncated_frame(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	uint8_t frame[256];
	struct hostile_stage s;
	size_t len;

	for (int v6 = 0; v6 < 2; v6++) {
		conf.ipv6 = v6;
		s = hostile_stage_open(&conf);
		len = good_frame(&s, frame);
		for (size_t cut = 1; cut < len; cut++)
			sim_link_put(s.sim, SIM_A, frame, cut);
		sim_turn(s.sim);
		raw_assert_blank(s.mem, 0);
		assert_int_equal(s.sim->link.nb_log[SIM_B], 0);
		sim_link_put(s.sim, SIM_A, frame, len);
		sim_turn(s.sim);
		assert_int_equal(s.mem.data[0], HOSTILE_BYTE);
		hostile_stage_close(&s);
	}
}

/* Only fields that the ICRC leaves to routers may change. */
static void hostile__every_flipped_bit(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct hostile_stage s = hostile_stage_open(&conf);
	uint8_t frame[256], flipped[256];
	size_t len = good_frame(&s, frame);

	for (size_t bit = 8 * ROOST_ETH_LEN; bit < 8 * len; bit++) {
		size_t at = bit / 8 - ROOST_ETH_LEN;

		/* UDP checksum, and FECN, BECN and the bits after them. */
		if (at == 26 || at == 27 || at == 32)
			continue;
		memcpy(flipped, frame, len);
		flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
		sim_link_put(s.sim, SIM_A, flipped, len);
		/* The checksum of IPv4 covers the rest of its header. */
		sim_turn(s.sim);
		if (at != 20 && at != 21)
			raw_assert_blank(s.mem, 0);
		memset(s.mem.data, SIM_BLANK_BYTE, 16);
	}
	assert_int_equal(roost_qp_state(s.qp->qp), ROOST_QPS_RTS);
	hostile_stage_close(&s);
}

/* Bits that this version does not know, in a frame whose ICRC is right. */
static void hostile__transport_version(void **state)
{
	const size_t l3 = ROOST_ETH_LEN;
	const size_t tver = l3 + ROOST_IPV4_LEN + ROOST_UDP_LEN + 1;
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct hostile_stage s = hostile_stage_open(&conf);
	uint8_t frame[256];
	size_t len = good_frame(&s, frame);

	for (uint8_t v = 1; v < 16; v++) {
		uint32_t icrc;

		frame[tver] = (uint8_t)((frame[tver] & 0xf0) | v);
		icrc = roost_icrc(frame + l3, false, len - ROOST_ICRC_LEN - l3);
		memcpy(frame + len - ROOST_ICRC_LEN, &icrc, sizeof(icrc));
		remember(&s);
		sim_link_put(s.sim, SIM_A, frame, len);
		sim_turn(s.sim);
		check_counters(&s, ROOST_DROP_TVER);
	}
	raw_assert_blank(s.mem, 0);
	hostile_stage_close(&s);
}

/* Pad against length, byte by byte. */
static void hostile__every_pad(void **state)
{
	static const uint8_t bytes[64];

	for (size_t n = 0; n < 10; n++) {
		for (uint8_t pad = 0; pad < 4; pad++) {
			struct sim_qp_conf conf = sim_qp_conf_default;
			struct hostile_stage s = hostile_stage_open(&conf);
			struct roost_bth bth = {
				.opcode = ROOST_OPCODE_RC_SEND_ONLY,
				.pad_bytes = pad,
				.pkey = 0xffff,
				.dest_qpn = s.qp->qpn,
				.psn = roost_psn(s.psn),
			};

			hostile_post_receive(&s);
			remember(&s);
			sim_forge(s.qp, &bth, bytes, n);
			sim_turn(s.sim);
			if (n < pad) {
				check_counters(&s, ROOST_DROP_HDR_LEN);
				raw_expect_nothing(s.qp->end->cq);
			} else {
				struct roost_cqe cqe =
					raw_expect(s.qp->end->cq, RECEIVE_ID,
						   ROOST_WC_SUCCESS);

				assert_int_equal(cqe.byte_len, n - pad);
				raw_assert_blank(s.recv, (uint32_t)n - pad);
			}
			hostile_stage_close(&s);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_teardown(hostile__access, say_which),
	cmocka_unit_test_teardown(hostile__shape, say_which),
	cmocka_unit_test_teardown(hostile__psn, say_which),
	cmocka_unit_test_teardown(hostile__place, say_which),
	cmocka_unit_test_teardown(hostile__answers, say_which),
	cmocka_unit_test_teardown(hostile__types, say_which),
	cmocka_unit_test(hostile__every_opcode_to_rc),
	cmocka_unit_test(hostile__every_opcode_to_uc),
	cmocka_unit_test(hostile__every_opcode_to_ud),
	cmocka_unit_test(hostile__every_opcode_to_xrc),
	cmocka_unit_test(hostile__every_truncated_header),
	cmocka_unit_test(hostile__every_truncated_frame),
	cmocka_unit_test(hostile__every_flipped_bit),
	cmocka_unit_test(hostile__transport_version),
	cmocka_unit_test(hostile__every_pad),
};

SIM_MAIN("sim-hostile", tests)
