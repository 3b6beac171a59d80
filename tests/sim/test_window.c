/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* How many packets are on their way: fewer where they find no room. */

#include "tests/sim/sim.h"

#define MTU_BYTES 1024u
#define NB_QPS 16u
#define MSG_PKTS 256u
#define WINDOW_PKTS 256u
#define FIRST_WINDOW_PKTS 16u
/* A NIC's ring, and the time that its owner takes for a packet. */
#define RING_PKTS 64u
#define PACKET_NS (2 * SIM_US)
#define DELAY_NS (100 * SIM_US)

/* The port at B: frames wait in its ring, and where it is full, are lost. */
struct ring {
	uint64_t empty_ns; /* when it will be */
};

static bool ring_takes(struct sim *sim, int side, const struct roost_pkt *pkt,
		       void *arg)
{
	struct ring *ring = arg;

	(void)pkt;
	if (side != SIM_A)
		return true;
	if (ring->empty_ns < sim->now_ns)
		ring->empty_ns = sim->now_ns;
	if (ring->empty_ns - sim->now_ns >= RING_PKTS * PACKET_NS)
		return false;
	ring->empty_ns += PACKET_NS;
	return true;
}

/* Together they have 64 times in flight what fits. */
static void window__many_qps_share_a_small_ring(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a[NB_QPS], *b[NB_QPS];
	struct ring ring = { 0 };

	sim->link.filter = ring_takes;
	sim->link.filter_arg = &ring;
	for (unsigned int i = 0; i < NB_QPS; i++) {
		sim_pair(sim, NULL, &a[i], &b[i]);
		sim_recv(b[i], MSG_PKTS * MTU_BYTES);
		sim_recv(b[i], MSG_PKTS * MTU_BYTES);
		sim_send(a[i], MSG_PKTS * MTU_BYTES);
		sim_send(a[i], MSG_PKTS * MTU_BYTES);
	}
	sim_run(sim);
	for (unsigned int i = 0; i < NB_QPS; i++)
		sim_expect_all_good(a[i], b[i]);
	assert_true(sim->link.nb_lost[SIM_A] > 0);
	sim_free(sim);
}

/* Packets that a sends of a message before anything comes back. */
static size_t first_flight(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	size_t before = sim->link.nb_log[SIM_A], nb_pkts = 0;
	uint64_t begin_ns = sim->now_ns;

	sim_recv(b, 2 * WINDOW_PKTS * MTU_BYTES);
	sim_send(a, 2 * WINDOW_PKTS * MTU_BYTES);
	sim_run(sim);
	for (size_t i = before; i < sim->link.nb_log[SIM_A]; i++)
		nb_pkts +=
			sim->link.log[SIM_A][i].at_ns < begin_ns + 2 * DELAY_NS;
	return nb_pkts;
}

static struct sim *sim_far_conf(const struct sim_qp_conf *conf,
				struct sim_qp **a, struct sim_qp **b)
{
	struct sim_faults faults = { .delay_ns = DELAY_NS, .drop_nth = -1 };
	struct sim *sim = sim_new();

	sim_set_faults(sim, &faults);
	sim_pair(sim, conf, a, b);
	return sim;
}

static struct sim *sim_far(struct sim_qp **a, struct sim_qp **b)
{
	return sim_far_conf(NULL, a, b);
}

/* A message; the last of its packets but one is lost. */
static void send_with_a_gap(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	sim->link.faults[SIM_A].drop_nth =
		(int64_t)sim->link.nb_log[SIM_A] + MSG_PKTS - 2;
	sim_recv(b, MSG_PKTS * MTU_BYTES);
	sim_send(a, MSG_PKTS * MTU_BYTES);
	sim_run(sim);
}

static void window__a_gap_halves_it(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_far(&a, &b);

	assert_int_equal(first_flight(sim, a, b), WINDOW_PKTS);
	send_with_a_gap(sim, a, b);
	assert_int_equal(sim_counters(sim, SIM_A)->timeouts, 0);
	assert_int_equal(first_flight(sim, a, b), WINDOW_PKTS / 2);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* Loses some of what A sends: one in every so many, so often. */
struct loser {
	unsigned int every, nb_left;
	unsigned int nb_sent;
};

static bool loser_takes(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg)
{
	struct loser *loser = arg;

	(void)sim;
	(void)pkt;
	if (side != SIM_A || loser->nb_left == 0 ||
	    ++loser->nb_sent % loser->every != 0)
		return true;
	loser->nb_left--;
	return false;
}

/* What the first flight of a message is after these losses in a long one. */
static size_t flight_after(struct loser *loser)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_far(&a, &b);
	size_t nb_pkts;

	assert_int_equal(first_flight(sim, a, b), WINDOW_PKTS);
	sim->link.filter = loser_takes;
	sim->link.filter_arg = loser;
	sim_recv(b, 8 * MSG_PKTS * MTU_BYTES);
	sim_send(a, 8 * MSG_PKTS * MTU_BYTES);
	sim_run(sim);
	assert_int_equal(loser->nb_left, 0);
	sim->link.filter = NULL;
	nb_pkts = first_flight(sim, a, b);
	sim_expect_all_good(a, b);
	sim_free(sim);
	return nb_pkts;
}

/* Answers take no longer than they ever did: it was no queue that lost it. */
static void window__one_gap_without_a_queue_keeps_it(void **state)
{
	struct loser loser = { .every = 7 * MSG_PKTS, .nb_left = 1 };

	assert_in_range(flight_after(&loser), WINDOW_PKTS - 1, WINDOW_PKTS);
}

/* Without a queue as well: a buffer may be too small to be felt. */
static void window__gaps_close_to_one_another_shrink_it(void **state)
{
	struct loser loser = { .every = 7 * MSG_PKTS / 16, .nb_left = 16 };

	assert_in_range(flight_after(&loser), 4, WINDOW_PKTS / 2);
}

/* The first flight after a loss and four windows that are acknowledged, with
 * this delay there from the loss on.
 */
static size_t flight_with(uint64_t delay_ns)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_far(&a, &b);
	size_t nb_pkts;

	assert_int_equal(first_flight(sim, a, b), WINDOW_PKTS);
	send_with_a_gap(sim, a, b);
	sim->link.faults[SIM_A].delay_ns = delay_ns;
	sim_recv(b, 2 * MSG_PKTS * MTU_BYTES);
	sim_send(a, 2 * MSG_PKTS * MTU_BYTES);
	sim_run(sim);
	nb_pkts = first_flight(sim, a, b);
	sim_expect_all_good(a, b);
	sim_free(sim);
	return nb_pkts;
}

static void window__grows_slowly_into_a_queue(void **state)
{
	size_t fast_pkts = flight_with(DELAY_NS);
	size_t slow_pkts = flight_with(5 * DELAY_NS);

	assert_in_range(fast_pkts, WINDOW_PKTS / 2 + 16, WINDOW_PKTS - 1);
	assert_in_range(slow_pkts, WINDOW_PKTS / 2,
			WINDOW_PKTS / 2 + (fast_pkts - WINDOW_PKTS / 2) / 2);
}

/* How many ACKs a message of two whole windows brings. */
static uint64_t acks_of(struct sim *sim, struct sim_qp *a, struct sim_qp *b)
{
	uint64_t before = sim_counters(sim, SIM_B)->acks_sent;

	first_flight(sim, a, b);
	return sim_counters(sim, SIM_B)->acks_sent - before;
}

/* The parts that are acknowledged are small beside the window. */
static void window__acks_keep_step_with_it(void **state)
{
	struct loser loser = { .every = 7 * MSG_PKTS / 16, .nb_left = 16 };
	struct sim_qp *a, *b;
	struct sim *sim = sim_far(&a, &b);

	assert_in_range(acks_of(sim, a, b), 16, 18);
	sim->link.filter = loser_takes;
	sim->link.filter_arg = &loser;
	sim_recv(b, 8 * MSG_PKTS * MTU_BYTES);
	sim_send(a, 8 * MSG_PKTS * MTU_BYTES);
	sim_run(sim);
	sim->link.filter = NULL;
	assert_true(acks_of(sim, a, b) >= 32);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static void window__silence_shuts_it_and_progress_opens_it(void **state)
{
	struct sim_qp *a, *b;
	struct sim *sim = sim_far(&a, &b);
	size_t nb_pkts = 0;

	sim->link.faults[SIM_A].carrier_off = true;
	sim_recv(b, 1);
	sim_send(a, 1);
	sim_run_for(sim, SIM_MS);
	sim->link.faults[SIM_A].carrier_off = false;
	sim_run(sim);
	assert_in_range(sim_counters(sim, SIM_A)->timeouts, 1, 7);
	/* One, and the one that has come through. */
	assert_int_equal(first_flight(sim, a, b), 2);
	for (int i = 0; i < 64 && nb_pkts < WINDOW_PKTS; i++)
		nb_pkts = first_flight(sim, a, b);
	assert_int_equal(nb_pkts, WINDOW_PKTS);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

/* A new path: slow start, which no loss is needed to begin or to end. */
static void window__begins_small(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim_qp *a, *b;
	struct sim *sim;

	(void)state;
	conf.first_window = true;
	sim = sim_far_conf(&conf, &a, &b);
	assert_int_equal(first_flight(sim, a, b), FIRST_WINDOW_PKTS);
	assert_int_equal(first_flight(sim, a, b), WINDOW_PKTS);
	sim_expect_all_good(a, b);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(window__begins_small),
	cmocka_unit_test(window__many_qps_share_a_small_ring),
	cmocka_unit_test(window__a_gap_halves_it),
	cmocka_unit_test(window__one_gap_without_a_queue_keeps_it),
	cmocka_unit_test(window__gaps_close_to_one_another_shrink_it),
	cmocka_unit_test(window__grows_slowly_into_a_queue),
	cmocka_unit_test(window__acks_keep_step_with_it),
	cmocka_unit_test(window__silence_shuts_it_and_progress_opens_it),
};

SIM_MAIN("sim-window", tests)
