/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Selective repeat through a long queue. */

#include "lib/engine/core/qp_priv.h"
#include "tests/sim/sim.h"

static const struct sim_msg write_msg = {
	.opcode = ROOST_WR_WRITE,
	.flags = ROOST_SEND_SIGNALED,
	.nb_sges = 1,
	.sge_len_bytes = { 65536 },
};

struct queue {
	uint32_t lost_psns[2];
	unsigned int nb_sent[2];
};

/* Two packets are lost once; when they are sent again, the second one arrives
 * long after the first.
 */
static bool stand_in_queue(struct sim *sim, int side,
			   const struct roost_pkt *pkt, void *arg)
{
	struct queue *queue = arg;

	sim->link.faults[SIM_A].delay_ns = 2 * SIM_US;
	for (int i = 0; side == SIM_A && i < 2; i++) {
		if (pkt->psn.v != queue->lost_psns[i])
			continue;
		if (queue->nb_sent[i]++ == 0)
			return false;
		if (i == 1)
			sim->link.faults[SIM_A].delay_ns = 50 * SIM_US;
	}
	return true;
}

/* Packets that were sent again together, with no new one between them: that one
 * has arrived does not say that the others are lost.
 */
static void repeat_queue__sent_again_together(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim;
	struct queue queue = { 0 };

	(void)state;
	sim_set_selective(true, true);
	sim = sim_new();
	sim_pair(sim, NULL, &a, &b);
	/* An answer: A knows what B can do. */
	sim_recv(b, 8);
	sim_send(a, 8);
	sim_run(sim);
	queue.lost_psns[0] = roost_psn(a->sq_psn + 1 + 10).v;
	queue.lost_psns[1] = roost_psn(a->sq_psn + 1 + 20).v;
	sim->link.filter = stand_in_queue;
	sim->link.filter_arg = &queue;
	sim_send_msg(a, &write_msg);
	sim_run(sim);
	sim_expect_all_good(a, b);
	assert_int_equal(queue.nb_sent[0], 2);
	assert_int_equal(queue.nb_sent[1], 2);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(repeat_queue__sent_again_together),
};

SIM_MAIN("sim-repeat_queue", tests)
