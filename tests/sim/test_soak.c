/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Worlds of random QPs, messages and faults, one after the other for a while
 * (ROOST_SIM_SOAK_S seconds for each test), each from its own seed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/sim/common.h"

#define SOAK_DEFAULT_S 5
#define PAIRS_MAX 8

static struct sim_qp_conf random_conf(struct sim *sim)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.mtu = ROOST_MTU_256 + sim_below(sim, 5);
	conf.max_inline_bytes = sim_below(sim, 1025);
	conf.sq_psn = sim_below(sim, 2)
			      ? -1
			      : 0xffff00 + (int64_t)sim_below(sim, 256);
	conf.timeout = (uint8_t)(10 + sim_below(sim, 5));
	conf.min_rnr_timer = (uint8_t)(1 + sim_below(sim, 14));
	conf.sig_all = sim_below(sim, 4) == 0;
	conf.ipv6 = sim_below(sim, 2);
	return conf;
}

static struct sim_msg random_msg(struct sim *sim,
				 const struct sim_qp_conf *conf)
{
	static const uint32_t max_bytes[] = { 1, 64, 1000, 5000, 20000 };
	bool inl = sim_below(sim, 4) == 0;
	struct sim_msg msg = {
		.opcode = sim_below(sim, 2) ? ROOST_WR_SEND : ROOST_WR_SEND_IMM,
		.flags = (sim_below(sim, 2) ? ROOST_SEND_SIGNALED : 0) |
			 (sim_below(sim, 3) ? 0 : ROOST_SEND_SOLICITED) |
			 (inl ? ROOST_SEND_INLINE : 0),
		.imm_be = sim_below(sim, UINT32_MAX),
		.nb_sges = sim_below(sim, SIM_SGES_MAX + 1),
	};
	uint32_t left =
		inl ? conf->max_inline_bytes : max_bytes[sim_below(sim, 5)];

	for (uint32_t i = 0; i < msg.nb_sges; i++) {
		msg.sge_len_bytes[i] = sim_below(sim, left + 1);
		left -= msg.sge_len_bytes[i];
	}
	return msg;
}

/* A receive that fits, cut elsewhere. */
static void post_recv_for(struct sim_qp *qp, const struct sim_msg *msg)
{
	struct sim_msg in = { .nb_sges = 1 + sim_below(qp->sim, SIM_SGES_MAX) };
	uint32_t need = 0;

	for (uint32_t i = 0; i < msg->nb_sges; i++)
		need += msg->sge_len_bytes[i];
	for (uint32_t i = 0; i < in.nb_sges; i++) {
		uint32_t part = i + 1 == in.nb_sges
					? need + sim_below(qp->sim, 100)
					: sim_below(qp->sim, need + 1);

		in.sge_len_bytes[i] = part;
		need -= part < need ? part : need;
	}
	sim_recv_msg(qp, &in);
}

struct pair {
	struct sim_qp *from;
	struct sim_msg late[300]; /* sent, and no receive posted yet */
	unsigned int nb_late;
};

/* One message now; its receive before, or some time later (RNR). */
static void talk(struct pair *p)
{
	struct sim_msg msg = random_msg(p->from->sim, &p->from->conf);

	if (sim_try_send(p->from, &msg) != 0)
		return;
	if (p->nb_late == 0 && sim_below(p->from->sim, 8) != 0) {
		post_recv_for(p->from->peer, &msg);
		return;
	}
	p->late[p->nb_late++] = msg;
}

static void catch_up(struct pair *p)
{
	for (unsigned int i = 0; i < p->nb_late; i++)
		post_recv_for(p->from->peer, &p->late[i]);
	p->nb_late = 0;
}

static unsigned int make_pairs(struct sim *sim, struct pair *pairs)
{
	unsigned int n = 2 * (1 + sim_below(sim, PAIRS_MAX));

	for (unsigned int i = 0; i < n; i += 2) {
		struct sim_qp_conf conf = random_conf(sim);
		int other = sim_below(sim, 4) == 0 ? SIM_A : SIM_B;
		struct sim_qp *a = sim_qp_new(sim, SIM_A, &conf);
		struct sim_qp *b = sim_qp_new(sim, other, &conf);

		sim_connect(a, b);
		pairs[i] = (struct pair){ .from = a };
		pairs[i + 1] = (struct pair){ .from = b };
	}
	return n;
}

static void set_up(struct sim *sim)
{
	struct sim_faults faults = sim_random_faults(sim);

	sim_set_faults(sim, &faults);
	sim->turn_ns = 1 + sim_below(sim, 5000);
}

/* Whatever the link does, every message arrives. */
static void run_good_world(uint64_t seed)
{
	struct sim *sim = sim_new_seeded(seed);
	struct pair pairs[2 * PAIRS_MAX];
	unsigned int n;

	set_up(sim);
	n = make_pairs(sim, pairs);
	for (int step = 0; step < 150; step++) {
		struct pair *p = &pairs[sim_below(sim, n)];

		talk(p);
		if (sim_below(sim, 4) == 0)
			catch_up(p);
		if (sim_below(sim, 3) == 0)
			sim_run_for(sim, sim_below(sim, 100000));
	}
	for (unsigned int i = 0; i < n; i++)
		catch_up(&pairs[i]);
	sim_run(sim);
	for (unsigned int i = 0; i < n; i += 2)
		sim_expect_all_good(pairs[i].from, pairs[i + 1].from);
	sim_free(sim);
}

/* QPs are moved, emptied and destroyed in the middle of it. What the world
 * watches for by itself must still hold.
 */
static void disturb(struct sim *sim, struct pair *p)
{
	struct roost_qp_attr sqd = { .state = ROOST_QPS_SQD,
				     .en_sqd_async_notify = true };
	struct sim_qp *qp = p->from;

	switch (sim_below(sim, 5)) {
	case 0:
		assert_int_equal(sim_qp_to(qp, ROOST_QPS_ERR), 0);
		break;
	case 1:
		sim_poll(sim);
		assert_int_equal(sim_qp_to(qp, ROOST_QPS_RESET), 0);
		qp->sends.completed = qp->sends.count;
		qp->recvs.completed = qp->recvs.count;
		break;
	case 2:
		/* Fails unless it is in RTS. */
		roost_qp_modify(qp->qp, &sqd,
				ROOST_QP_STATE | ROOST_QP_EN_SQD_ASYNC_NOTIFY);
		break;
	case 3:
		sim_qp_to(qp, ROOST_QPS_RTS);
		break;
	default:
		if (sim_below(sim, 4) != 0)
			break;
		sim_qp_destroy(qp);
		p->from = NULL;
		break;
	}
}

static bool can_talk(const struct pair *p)
{
	return p->from != NULL && p->from->peer != NULL &&
	       roost_qp_state(p->from->qp) != ROOST_QPS_RESET &&
	       roost_qp_state(p->from->peer->qp) != ROOST_QPS_RESET &&
	       p->nb_late < 200 && p->from->peer->recvs.count < 200;
}

static void run_disturbed_world(uint64_t seed)
{
	struct sim *sim = sim_new_seeded(seed);
	struct pair pairs[2 * PAIRS_MAX];
	unsigned int n;

	set_up(sim);
	n = make_pairs(sim, pairs);
	for (int step = 0; step < 150; step++) {
		struct pair *p = &pairs[sim_below(sim, n)];

		if (can_talk(p)) {
			talk(p);
			if (sim_below(sim, 2) == 0)
				catch_up(p);
		}
		if (sim_below(sim, 3) == 0)
			sim_run_for(sim, sim_below(sim, 50000));
		if (step > 50 && sim_below(sim, 20) == 0 && p->from != NULL)
			disturb(sim, p);
	}
	sim_run_for(sim, 100 * SIM_MS);
	sim_free(sim);
}

/* ---- for a while ---------------------------------------------------- */

static void soak(void (*run)(uint64_t seed))
{
	const char *seconds = getenv("ROOST_SIM_SOAK_S");
	time_t limit_s = seconds != NULL ? atol(seconds) : SOAK_DEFAULT_S;
	struct timespec start, now;
	uint64_t n = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		run(sim_seed() + n++);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < limit_s);
	print_message("%llu worlds\n", (unsigned long long)n);
}

static void soak__good_worlds(void **state)
{
	soak(run_good_world);
}

static void soak__disturbed_worlds(void **state)
{
	soak(run_disturbed_world);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(soak__good_worlds),
	cmocka_unit_test(soak__disturbed_worlds),
};

int main(int argc, char **argv)
{
	char now[32];

	/* Other worlds in every run, unless somebody asks for certain ones. */
	snprintf(now, sizeof(now), "%llu",
		 (unsigned long long)time(NULL) * 100000);
	setenv("ROOST_SIM_SEED", now, 0);
	return sim_main(argc, argv, "sim-soak", tests,
			sizeof(tests) / sizeof(tests[0]));
}
