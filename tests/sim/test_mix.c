/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Random requests of every kind in both directions over a bad link; every byte
 * of both sides is compared, and atomics are counted.
 *
 * Ten seeds from the given one on. ROOST_SIM_MIX_OPS says how many requests all
 * of them have together.
 */

#include <stdlib.h>

#include "tests/sim/common.h"

#define NB_SEEDS 10u
#define OPS_DEFAULT 24000u
#define OPS_PER_WORLD 1500u
#define PAIRS_MAX 4u
#define RECV_BYTES 12000u

static struct sim_qp_conf random_conf(struct sim *sim)
{
	struct sim_qp_conf conf = sim_qp_conf_default;

	conf.mtu = ROOST_MTU_256 + sim_below(sim, 5);
	conf.sq_psn = sim_below(sim, 2)
			      ? -1
			      : 0xffff00 + (int64_t)sim_below(sim, 256);
	conf.timeout = (uint8_t)(10 + sim_below(sim, 5));
	conf.min_rnr_timer = (uint8_t)(1 + sim_below(sim, 14));
	conf.rd_atomic = (uint8_t)(1 + sim_below(sim, 16));
	conf.sig_all = sim_below(sim, 4) == 0;
	conf.ipv6 = sim_below(sim, 2);
	return conf;
}

static struct sim_msg random_msg(struct sim_qp *qp)
{
	static const enum roost_wr_opcode opcodes[] = {
		ROOST_WR_SEND,      ROOST_WR_SEND_IMM,     ROOST_WR_WRITE,
		ROOST_WR_WRITE_IMM, ROOST_WR_READ,         ROOST_WR_READ,
		ROOST_WR_CMP_SWAP,  ROOST_WR_FETCH_ADD,    ROOST_WR_FLUSH,
		ROOST_WR_WRITE,     ROOST_WR_ATOMIC_WRITE, ROOST_WR_FETCH_ADD,
	};
	static const uint32_t max_bytes[] = { 1, 64, 1000, 5000, RECV_BYTES };
	struct sim *sim = qp->sim;
	struct sim_msg msg = {
		.opcode = opcodes[sim_below(sim, 12)],
		.flags = (sim_below(sim, 2) ? ROOST_SEND_SIGNALED : 0) |
			 (sim_below(sim, 4) ? 0 : ROOST_SEND_FENCE),
		.imm_be = sim_below(sim, UINT32_MAX),
		.nb_sges = 1,
		.sge_len_bytes = { 8 },
		.swap_add = sim_random(&sim->rng),
		.compare = sim_below(sim, 2) ? qp->counted : 5,
		.flush_type = 1,
	};
	uint32_t left = max_bytes[sim_below(sim, 5)];

	if (msg.opcode == ROOST_WR_CMP_SWAP ||
	    msg.opcode == ROOST_WR_FETCH_ADD ||
	    msg.opcode == ROOST_WR_ATOMIC_WRITE)
		return msg;
	msg.nb_sges = msg.opcode == ROOST_WR_FLUSH
			      ? 0
			      : sim_below(sim, SIM_SGES_MAX + 1);
	for (uint32_t i = 0; i < msg.nb_sges; i++) {
		msg.sge_len_bytes[i] = sim_below(sim, left + 1);
		left -= msg.sge_len_bytes[i];
	}
	return msg;
}

static bool takes_receive(const struct sim_msg *msg)
{
	return msg->opcode == ROOST_WR_SEND ||
	       msg->opcode == ROOST_WR_SEND_IMM ||
	       msg->opcode == ROOST_WR_WRITE_IMM;
}

/* Returns whether there was room. The receive comes before, or too late. */
static bool post(struct sim_qp *qp)
{
	struct sim_msg msg = random_msg(qp);
	uint32_t len_bytes = 0;

	if (sim_try_send(qp, &msg) != 0)
		return false;
	if (!takes_receive(&msg))
		return true;
	if (sim_below(qp->sim, 20) == 0)
		sim_run_for(qp->sim, sim_below(qp->sim, 50000));
	for (uint32_t i = 0; i < msg.nb_sges; i++)
		len_bytes += msg.sge_len_bytes[i];
	sim_recv(qp->peer, len_bytes + sim_below(qp->sim, 40));
	return true;
}

static void run_world(uint64_t seed, uint32_t nb_ops)
{
	struct sim *sim = sim_new_seeded(seed);
	struct sim_faults faults = sim_random_faults(sim);
	struct sim_qp *qps[2 * PAIRS_MAX];
	unsigned int n = 2 * (1 + sim_below(sim, PAIRS_MAX));

	sim_set_faults(sim, &faults);
	sim->turn_ns = 1 + sim_below(sim, 5000);
	for (unsigned int i = 0; i < n; i += 2) {
		struct sim_qp_conf conf = random_conf(sim);

		sim_pair(sim, &conf, &qps[i], &qps[i + 1]);
	}
	while (nb_ops > 0) {
		if (post(qps[sim_below(sim, n)]))
			nb_ops--;
		else
			sim_run_for(sim, 50 * SIM_US);
		if (sim_below(sim, 4) == 0)
			sim_run_for(sim, sim_below(sim, 50000));
	}
	sim_run(sim);
	for (unsigned int i = 0; i < n; i += 2)
		sim_expect_all_good(qps[i], qps[i + 1]);
	for (unsigned int i = 0; i < n; i++)
		sim_check_counter(qps[i]);
	sim_free(sim);
}

static void mix__every_byte_arrives(void **state)
{
	const char *text = getenv("ROOST_SIM_MIX_OPS");
	uint64_t left = text != NULL ? strtoull(text, NULL, 0) : OPS_DEFAULT;
	uint64_t seed = sim_seed() * NB_SEEDS, world = 0;

	for (; left > 0; world++) {
		uint32_t nb =
			left < OPS_PER_WORLD ? (uint32_t)left : OPS_PER_WORLD;

		run_world(seed + world % NB_SEEDS +
				  (world / NB_SEEDS) * 0x100000000u,
			  nb);
		left -= nb;
	}
	print_message("%llu worlds\n", (unsigned long long)world);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(mix__every_byte_arrives),
};

SIM_MAIN("sim-mix", tests)
