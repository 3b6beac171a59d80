/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Messages of every shape over a good link. */

#include <string.h>

#include "tests/sim/common.h"

static void all_sizes(bool ipv6)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();

	conf.ipv6 = ipv6;
	conf.timeout = 16;
	for (conf.mtu = ROOST_MTU_256; conf.mtu <= ROOST_MTU_4096; conf.mtu++) {
		uint32_t mtu = roost_mtu_bytes(conf.mtu);
		const uint32_t sizes[] = {
			0,   1,       2,           3,       4,     mtu - 1,
			mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 10007, 1u << 20
		};
		size_t pkts = 0, before = sim->link.nb_log[SIM_A];
		struct sim_qp *a, *b;

		sim_pair(sim, &conf, &a, &b);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			sim_recv(b, sizes[i]);
			sim_recv(b, sizes[i] + 1000);
			sim_send(a, sizes[i]);
			sim_send(a, sizes[i]);
			pkts += 2 * (sizes[i] == 0
					     ? 1
					     : (sizes[i] + mtu - 1) / mtu);
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
		assert_int_equal(sim->link.nb_log[SIM_A] - before, pkts);
	}
	sim_assert_clean(sim);
	sim_free(sim);
}

static void shape__sizes_and_mtus_ipv4(void **state)
{
	all_sizes(false);
}

static void shape__sizes_and_mtus_ipv6(void **state)
{
	all_sizes(true);
}

static struct sim_msg random_split(struct sim *sim, uint32_t max_sge_bytes)
{
	struct sim_msg msg = {
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
		.nb_sges =
			1 + (uint32_t)sim_random_below(&sim->rng, SIM_SGES_MAX),
	};

	for (uint32_t i = 0; i < msg.nb_sges; i++)
		msg.sge_len_bytes[i] =
			(uint32_t)sim_random_below(&sim->rng, max_sge_bytes);
	return msg;
}

static uint32_t msg_bytes(const struct sim_msg *msg)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < msg->nb_sges; i++)
		sum += msg->sge_len_bytes[i];
	return sum;
}

/* Lists that are cut at other places on the two sides, empty parts too. */
static void shape__odd_scatter_gather(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (int i = 0; i < 200; i++) {
		uint32_t max = i % 2 == 0 ? 40 : 3000;
		struct sim_msg out = random_split(sim, max);
		struct sim_msg in = random_split(sim, max);

		/* The last part takes what the others leave. */
		if (msg_bytes(&in) < msg_bytes(&out))
			in.sge_len_bytes[in.nb_sges - 1] +=
				msg_bytes(&out) - msg_bytes(&in);
		sim_recv_msg(b, &in);
		sim_send_msg(a, &out);
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_assert_clean(sim);
	sim_free(sim);
}

/* No SGE at all is an empty message. */
static void shape__no_sge(void **state)
{
	const struct sim_msg empty = {
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
	};
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim_recv_msg(b, &empty);
	sim_recv(b, 10);
	sim_send_msg(a, &empty);
	sim_send_msg(a, &empty);
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Inline data may be changed as soon as the post returns. */
static void shape__inline(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.mtu = ROOST_MTU_256;
	conf.max_inline_bytes = 1024;
	sim_pair(sim, &conf, &a, &b);
	for (uint32_t len = 0; len <= 1024; len += 31) {
		const struct sim_msg msg = {
			.opcode = len % 2 == 0 ? ROOST_WR_SEND
					       : ROOST_WR_SEND_IMM,
			.flags = ROOST_SEND_SIGNALED | ROOST_SEND_INLINE,
			.imm_be = len,
			.nb_sges = 3,
			.sge_len_bytes = { len / 3, len / 3,
					   len - 2 * (len / 3) },
			/* No key is needed. */
			.lkey = 0xbad,
			.bad_sge = 1,
		};
		uint8_t copy[1024];
		struct sim_slice *slice;
		uint32_t i;

		sim_recv(b, 1024);
		i = sim_send_msg(a, &msg);
		slice = &a->sends.wr[i].slices[0];
		memcpy(copy, slice->data, slice->len_bytes);
		memset(slice->data, 0, slice->len_bytes);
		/* The packets are made now; then the check needs it again. */
		sim_turn(sim);
		memcpy(slice->data, copy, slice->len_bytes);
		sim_run(sim);
	}
	sim_expect_all_good(a, b);
	sim_assert_clean(sim);
	sim_free(sim);
}

static void shape__immediate_and_solicited(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 1023, 1024, 1025, 5000 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t kind = 0; kind < 4; kind++) {
			sim_recv(b, 5000);
			sim_send_msg(
				a,
				&(struct sim_msg){
					.opcode = kind & 1 ? ROOST_WR_SEND_IMM
							   : ROOST_WR_SEND,
					.flags =
						ROOST_SEND_SIGNALED |
						(kind & 2 ? ROOST_SEND_SOLICITED
							  : 0),
					.imm_be =
						(uint32_t)sim_random(&sim->rng),
					.nb_sges = 1,
					.sge_len_bytes = { sizes[i] },
				});
		}
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_assert_clean(sim);
	sim_free(sim);
}

/* Unsignalled requests complete in silence and give their slots back. */
static void shape__signalled_and_unsignalled(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint32_t signalled = 0;

	sim_pair(sim, NULL, &a, &b);
	for (int round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 200; i++) {
			bool signal = sim_random_chance(&sim->rng, 300000) ||
				      i == 199;

			sim_recv(b, 100);
			sim_send_msg(
				a, &(struct sim_msg){
					   .opcode = ROOST_WR_SEND,
					   .flags = signal ? ROOST_SEND_SIGNALED
							   : 0,
					   .nb_sges = 1,
					   .sge_len_bytes = { 50 },
				   });
			signalled += signal;
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
	}
	for (uint32_t i = 0; i < a->sends.count; i++)
		signalled -= a->sends.wr[i].nb_completions;
	assert_int_equal(signalled, 0);
	sim_free(sim);
}

static void shape__sq_sig_all(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	conf.sig_all = true;
	sim_pair(sim, &conf, &a, &b);
	for (int i = 0; i < 100; i++) {
		sim_recv(b, 10);
		sim_send_msg(a, &(struct sim_msg){
					.opcode = ROOST_WR_SEND,
					.nb_sges = 1,
					.sge_len_bytes = { 10 },
				});
	}
	sim_run(sim);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Full queues in both directions on many QPs at once. */
static void shape__many_qps(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a[48], *b[48];
	struct sim *sim = sim_new();

	conf.max_send_wr = 16;
	conf.max_recv_wr = 16;
	conf.timeout = 16;
	for (int i = 0; i < 48; i++) {
		conf.ipv6 = i % 2;
		conf.mtu = ROOST_MTU_256 + (unsigned int)i % 5;
		sim_pair(sim, &conf, &a[i], &b[i]);
	}
	for (int n = 0; n < 16; n++) {
		for (int i = 0; i < 48; i++) {
			uint32_t len =
				(uint32_t)sim_random_below(&sim->rng, 6000);

			sim_recv(b[i], len);
			sim_recv(a[i], len);
			sim_send(a[i], len);
			sim_send(b[i], len);
		}
	}
	sim_run(sim);
	for (int i = 0; i < 48; i++)
		sim_expect_all_good(a[i], b[i]);
	sim_assert_clean(sim);
	sim_free(sim);
}

static bool note_msn(struct sim *sim, int side, const struct roost_pkt *pkt,
		     void *arg)
{
	uint32_t *msn = arg;

	(void)sim;
	if (side == SIM_B && pkt->info->op == ROOST_OP_ACK)
		*msn = pkt->msn;
	return true;
}

/* An ACK says how many messages were completed; other makes of requesters
 * look at it.
 */
static void shape__acks_count_messages(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint32_t msn = 0;

	sim_pair(sim, NULL, &a, &b);
	sim->link.filter = note_msn;
	sim->link.filter_arg = &msn;
	for (uint32_t i = 1; i <= 20; i++) {
		sim_recv(b, 3000);
		sim_send(a, 150 * i);
		sim_run(sim);
		assert_int_equal(msn, i);
	}
	sim_free(sim);
}

struct runs {
	unsigned int now, longest;
};

static bool measure_runs(struct sim *sim, int side, const struct roost_pkt *pkt,
			 void *arg)
{
	struct runs *runs = arg;

	(void)sim;
	if (side == SIM_A && ++runs->now > runs->longest)
		runs->longest = runs->now;
	if (side == SIM_A && pkt->ackreq)
		runs->now = 0;
	return true;
}

/* So that the window opens again before it is used up. */
static void shape__long_message_asks_for_acks(void **state)
{
	struct runs runs = { 0, 0 };
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;

	sim_pair(sim, NULL, &a, &b);
	sim->link.filter = measure_runs;
	sim->link.filter_arg = &runs;
	sim_recv(b, 1u << 20);
	sim_send(a, 1u << 20);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(sim->link.nb_log[SIM_A], 1024);
	assert_in_range(runs.longest, 1, 64);
	sim_free(sim);
}

/* Messages that lie across the end of the PSN space, and end at it. */
static void shape__psn_wrap(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();

	conf.mtu = ROOST_MTU_256;
	for (int64_t psn = 0xffffff - 20; psn <= 0xffffff; psn += 5) {
		struct sim_qp *a, *b;

		conf.sq_psn = psn;
		sim_pair(sim, &conf, &a, &b);
		for (uint32_t len = 1; len < 3000; len += 256) {
			sim_recv(b, len);
			sim_recv(a, len);
			sim_send(a, len);
			sim_send(b, len);
		}
		sim_run(sim);
		sim_expect_all_good(a, b);
	}
	sim_assert_clean(sim);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(shape__sizes_and_mtus_ipv4),
	cmocka_unit_test(shape__sizes_and_mtus_ipv6),
	cmocka_unit_test(shape__odd_scatter_gather),
	cmocka_unit_test(shape__no_sge),
	cmocka_unit_test(shape__inline),
	cmocka_unit_test(shape__immediate_and_solicited),
	cmocka_unit_test(shape__signalled_and_unsignalled),
	cmocka_unit_test(shape__sq_sig_all),
	cmocka_unit_test(shape__many_qps),
	cmocka_unit_test(shape__acks_count_messages),
	cmocka_unit_test(shape__long_message_asks_for_acks),
	cmocka_unit_test(shape__psn_wrap),
};

SIM_MAIN("sim-shape", tests)
