/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Every send opcode: all sizes over a good link, and each of its packets lost,
 * doubled or late.
 */

#include "tests/sim/common.h"

#define SIGNALED ROOST_SEND_SIGNALED
#define RANDOM_SIZES 20

static struct sim_msg op(enum roost_wr_opcode opcode, uint32_t len_bytes)
{
	return (struct sim_msg){
		.opcode = opcode,
		.flags = SIGNALED,
		.imm_be = 0x12345678,
		.nb_sges = 1,
		.sge_len_bytes = { len_bytes },
		.swap_add = 0x0123456789abcdefu,
		.flush_type = 1,
	};
}

static bool takes_receive(enum roost_wr_opcode opcode)
{
	return opcode == ROOST_WR_SEND || opcode == ROOST_WR_SEND_IMM ||
	       opcode == ROOST_WR_WRITE_IMM;
}

static void do_op(struct sim_qp *from, struct sim_qp *to,
		  enum roost_wr_opcode opcode, uint32_t len_bytes)
{
	struct sim_msg msg = op(opcode, len_bytes);

	if (takes_receive(opcode))
		sim_recv(to, opcode == ROOST_WR_WRITE_IMM ? 16 : len_bytes);
	/* Half of them find what they look for. */
	if (opcode == ROOST_WR_CMP_SWAP && from->sends.count % 2 == 0)
		msg.compare = from->counted;
	if (opcode == ROOST_WR_FLUSH)
		msg.nb_sges = 0;
	sim_send_msg(from, &msg);
}

/* ---- sizes --------------------------------------------------------------- */

static void every_size(enum roost_wr_opcode opcode, bool ipv6)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();

	conf.ipv6 = ipv6;
	conf.timeout = 18;
	for (conf.mtu = ROOST_MTU_256; conf.mtu <= ROOST_MTU_4096; conf.mtu++) {
		uint32_t mtu = roost_mtu_bytes(conf.mtu);
		const uint32_t sizes[] = {
			0,   1,       2,           3,       4,     mtu - 1,
			mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 10007, 1u << 20
		};
		struct sim_qp *a, *b;

		sim_pair(sim, &conf, &a, &b);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			do_op(a, b, opcode, sizes[i]);
			do_op(b, a, opcode, sizes[i]);
		}
		for (int i = 0; i < RANDOM_SIZES; i++)
			do_op(a, b, opcode,
			      (uint32_t)sim_random_below(&sim->rng, 30000));
		sim_run(sim);
		sim_expect_all_good(a, b);
	}
	sim_assert_clean(sim);
	sim_free(sim);
}

static void ops__write_sizes(void **state)
{
	every_size(ROOST_WR_WRITE, false);
	every_size(ROOST_WR_WRITE, true);
}

static void ops__write_imm_sizes(void **state)
{
	every_size(ROOST_WR_WRITE_IMM, false);
	every_size(ROOST_WR_WRITE_IMM, true);
}

static void ops__read_sizes(void **state)
{
	every_size(ROOST_WR_READ, false);
	every_size(ROOST_WR_READ, true);
}

/* Many at a time, more than may be in flight. */
static void ops__eight_bytes(void **state)
{
	static const enum roost_wr_opcode opcodes[] = { ROOST_WR_CMP_SWAP,
							ROOST_WR_FETCH_ADD,
							ROOST_WR_ATOMIC_WRITE,
							ROOST_WR_FLUSH };
	struct sim_qp_conf conf = sim_qp_conf_default;

	for (conf.rd_atomic = 1; conf.rd_atomic <= 16; conf.rd_atomic *= 2) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;

		sim_pair(sim, &conf, &a, &b);
		for (size_t i = 0; i < 100; i++) {
			do_op(a, b, opcodes[i % 4], 8);
			do_op(b, a, opcodes[i / 25], 8);
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		sim_check_counter(a);
		sim_check_counter(b);
		sim_assert_clean(sim);
		sim_free(sim);
	}
}

/* Inline data is taken when it is posted, also where it is written to. */
static void ops__inline(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (uint32_t len = 0; len <= 256; len += 17) {
		struct sim_msg msg = op(ROOST_WR_WRITE, len);

		msg.flags |= ROOST_SEND_INLINE;
		msg.lkey = 0xbad;
		sim_send_msg(a, &msg);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Reads into, and writes from, lists that are cut anywhere. */
static void ops__scatter_gather(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 100; i++) {
		struct sim_msg msg =
			op(i % 2 ? ROOST_WR_READ : ROOST_WR_WRITE, 0);

		msg.nb_sges =
			1 + (uint32_t)sim_random_below(&sim->rng, SIM_SGES_MAX);
		for (uint32_t j = 0; j < msg.nb_sges; j++)
			msg.sge_len_bytes[j] =
				(uint32_t)sim_random_below(&sim->rng, 1500);
		sim_send_msg(a, &msg);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_assert_clean(sim);
	sim_free(sim);
}

/* ---- each packet --------------------------------------------------------- */

static const struct {
	enum roost_wr_opcode opcode;
	uint32_t len_bytes;
} script[] = {
	{ ROOST_WR_SEND, 2500 },   { ROOST_WR_WRITE, 3000 },
	{ ROOST_WR_READ, 3500 },   { ROOST_WR_CMP_SWAP, 8 },
	{ ROOST_WR_FETCH_ADD, 8 }, { ROOST_WR_WRITE_IMM, 2000 },
	{ ROOST_WR_READ, 100 },    { ROOST_WR_ATOMIC_WRITE, 8 },
	{ ROOST_WR_FLUSH, 0 },     { ROOST_WR_READ, 2048 },
	{ ROOST_WR_SEND_IMM, 10 }, { ROOST_WR_FETCH_ADD, 8 },
	{ ROOST_WR_READ, 0 },      { ROOST_WR_WRITE, 1 },
	{ ROOST_WR_CMP_SWAP, 8 },
};

struct sent {
	size_t a, b;
};

/* The script with one fault on the way from side. */
static struct sent run_script(const struct sim_qp_conf *conf, int side,
			      const struct sim_faults *fault)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	struct sent sent;

	if (fault != NULL)
		sim->link.faults[side] = *fault;
	sim_pair(sim, conf, &a, &b);
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++)
		do_op(a, b, script[i].opcode, script[i].len_bytes);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_check_counter(a);
	sim_check_guards(a);
	sent.a = sim->link.nb_log[SIM_A];
	sent.b = sim->link.nb_log[SIM_B];
	sim_free(sim);
	return sent;
}

static void each_packet(const struct sim_qp_conf *conf)
{
	struct sent good = run_script(conf, SIM_A, NULL);

	for (int fate = 0; fate < NB_FATES; fate++) {
		for (size_t k = 0; k < good.a; k++) {
			struct sim_faults f =
				sim_fate_faults((enum sim_fate)fate, k);

			run_script(conf, SIM_A, &f);
		}
		for (size_t k = 0; k < good.b; k++) {
			struct sim_faults f =
				sim_fate_faults((enum sim_fate)fate, k);

			run_script(conf, SIM_B, &f);
		}
	}
}

static void ops__each_packet_has_a_fate(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	each_packet(&conf);
	conf.rd_atomic = 1;
	each_packet(&conf);
}

static void ops__each_packet_around_psn_wrap(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.rd_atomic = 16;
	for (conf.sq_psn = 0xffffe0; conf.sq_psn <= 0xffffff; conf.sq_psn += 10)
		each_packet(&conf);
}

static void ops__ten_percent_lost(void **state)
{
	for (uint8_t rd = 1; rd <= 16; rd *= 2) {
		struct sim_qp_conf conf = sim_qp_conf_default;
		struct sim *sim = sim_new();
		struct sim_faults faults = {
			.drop_ppm = 100000,
			.drop_nth = -1,
			.delay_ns = 2 * SIM_US,
		};
		struct sim_qp *a, *b;

		conf.rd_atomic = rd;
		sim_set_faults(sim, &faults);
		sim_pair(sim, &conf, &a, &b);
		for (size_t n = 0; n < 8; n++) {
			for (size_t i = 0;
			     i < sizeof(script) / sizeof(script[0]); i++) {
				do_op(a, b, script[i].opcode,
				      script[i].len_bytes);
				do_op(b, a, script[i].opcode,
				      script[i].len_bytes);
			}
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		sim_check_counter(a);
		sim_check_counter(b);
		assert_true(sim->link.nb_lost[SIM_A] > 0);
		sim_free(sim);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ops__write_sizes),
	cmocka_unit_test(ops__write_imm_sizes),
	cmocka_unit_test(ops__read_sizes),
	cmocka_unit_test(ops__eight_bytes),
	cmocka_unit_test(ops__inline),
	cmocka_unit_test(ops__scatter_gather),
	cmocka_unit_test(ops__each_packet_has_a_fate),
	cmocka_unit_test(ops__each_packet_around_psn_wrap),
	cmocka_unit_test(ops__ten_percent_lost),
};

SIM_MAIN("sim-ops", tests)
