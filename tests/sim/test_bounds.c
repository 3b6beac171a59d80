/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What one iteration does, counted: however many QPs there are, and whatever
 * they wait for. And nobody starves by it: QPs that want the same get the same.
 * The world is that of tests/bench, which has thousands of QPs; the linker
 * leads what the engine does through here.
 */

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/cq_priv.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/sched/worker_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/wire/frame.h"
#include "tests/bench/ends.h"
#include "tests/cmocka.h"
#include "tests/unit/engine/busy.h"

#define NB_QPS 8192u
#define WIRE_LEN 4096u
#define TIMEOUT_NS 67108864ull /* of the QPs */
#define RETRIES 8u
#define CWND_PKTS 16u /* at first */

struct bench_wire {
	struct rte_mbuf *frames[WIRE_LEN];
	uint32_t head, tail;
	unsigned int take;      /* frames for each iteration */
	unsigned int take_left; /* of this one */
	bool lost;              /* they come to nothing */
	unsigned int nb_responses, nb_requests;
};

static struct bench_wire wires[2];
static uint64_t now_ns = 1000000000;
static unsigned int progress[NB_QPS]; /* completions */

/* ---- what an iteration does ------------------------------------------- */

static struct {
	unsigned int frames, visits, answers, timers, completions, looks;
} done, most;

unsigned int __real_roost_req_transmit(struct roost_worker *w,
				       struct roost_qp *qp, unsigned int burst);
unsigned int __wrap_roost_req_transmit(struct roost_worker *w,
				       struct roost_qp *qp, unsigned int burst);
bool __real_roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
			   unsigned int *burst);
bool __wrap_roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
			   unsigned int *burst);
void __real_roost_req_timer(struct roost_worker *w, struct roost_qp *qp);
void __wrap_roost_req_timer(struct roost_worker *w, struct roost_qp *qp);
void __real_roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp);
void __wrap_roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp);

unsigned int __wrap_roost_req_transmit(struct roost_worker *w,
				       struct roost_qp *qp, unsigned int burst)
{
	done.visits++;
	return __real_roost_req_transmit(w, qp, burst);
}

bool __wrap_roost_ack_send(struct roost_worker *w, struct roost_qp *qp,
			   unsigned int *burst)
{
	done.answers++;
	return __real_roost_ack_send(w, qp, burst);
}

void __wrap_roost_req_timer(struct roost_worker *w, struct roost_qp *qp)
{
	done.timers++;
	__real_roost_req_timer(w, qp);
}

/* Of the doorbells: each puts its QP in a list. */
void __wrap_roost_worker_want_send(struct roost_worker *w, struct roost_qp *qp)
{
	done.looks++;
	__real_roost_worker_want_send(w, qp);
}

#define KEEP_MOST(what) most.what = RTE_MAX(most.what, done.what)

static void turn(struct bench_end *end)
{
	uint64_t tx_pkts = end->worker->counters.tx_pkts;
	uint32_t produced = end->cqs[0]->produced;

	memset(&done, 0, sizeof(done));
	end->out->take_left = end->out->take;
	assert_true(roost_worker_turn_try(end->worker));
	roost_worker_iterate(end->worker, now_ns);
	done.completions = end->cqs[0]->produced - produced;
	done.frames = (unsigned int)(end->worker->counters.tx_pkts - tx_pkts);
	roost_worker_turn_release(end->worker);
	KEEP_MOST(frames);
	KEEP_MOST(visits);
	KEEP_MOST(answers);
	KEEP_MOST(timers);
	KEEP_MOST(completions);
	KEEP_MOST(looks);
}

/* Whatever there was to do. */
static void check_bounds(void)
{
	assert_in_range(most.frames, 0, ROOST_DATA_BUDGET + ROOST_ACK_BUDGET);
	assert_in_range(most.visits, 0, ROOST_STEP_BUDGET);
	assert_in_range(most.answers, 0, 2 * ROOST_STEP_BUDGET);
	assert_in_range(most.timers, 0, ROOST_TIMER_BUDGET);
	/* A doorbell, a frame, a timer or a burst leads to one each. */
	assert_in_range(most.looks, 0,
			ROOST_BELL_BUDGET + 2 * ROOST_RX_BURST +
				ROOST_TIMER_BUDGET + ROOST_STEP_BUDGET);
	assert_in_range(most.completions, 0,
			ROOST_FLUSH_BUDGET +
				ROOST_RX_BURST * ROOST_QP_BURST_PKTS);
}

/* ---- the port --------------------------------------------------------- */

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->in;
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->tail != wire->head)
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN];
	return i;
}

static void count(struct bench_wire *wire, const struct rte_mbuf *mbuf)
{
	struct roost_frame frame;
	struct roost_pkt pkt;

	assert_int_equal(roost_frame_parse(rte_pktmbuf_mtod(mbuf, void *),
					   mbuf->data_len, &frame),
			 ROOST_FRAME_ROCE);
	assert_int_equal(roost_pkt_parse(&frame, &pkt), ROOST_DROP_NONE);
	wire->nb_responses += pkt.info->op == ROOST_OP_READ_RESP;
	wire->nb_requests += pkt.info->op == ROOST_OP_WRITE;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct bench_wire *wire = ((struct bench_end *)ctx)->out;
	uint16_t i = 0;

	(void)queue;
	while (i < n && wire->take_left > 0 &&
	       (wire->lost || wire->head - wire->tail < WIRE_LEN)) {
		wire->take_left--;
		count(wire, pkts[i]);
		if (wire->lost)
			rte_pktmbuf_free(pkts[i++]);
		else
			wire->frames[wire->head++ % WIRE_LEN] = pkts[i++];
	}
	return i;
}

static const struct bench_bursts bursts = { rx_burst, tx_burst };

/* ---- requests --------------------------------------------------------- */

/* n requests of len bytes from an end's QP, the last of them signalled. */
static void post(int side, unsigned int i, enum roost_wr_opcode opcode,
		 uint32_t len_bytes, unsigned int n)
{
	struct bench_end *end = &bench_ends[side], *peer = &bench_ends[!side];
	const struct roost_sge sge = { (uintptr_t)end->buf, len_bytes,
				       roost_mr_lkey(end->mr) };
	struct roost_send_wr wr = {
		.wr_id = i,
		.sges = &sge,
		.nb_sges = 1,
		.opcode = opcode,
		.remote_addr = (uintptr_t)peer->buf,
		.rkey = roost_mr_rkey(peer->mr),
	};

	roost_qp_send_begin(end->qps[i]);
	while (n-- > 0) {
		wr.flags = n == 0 ? ROOST_SEND_SIGNALED : 0;
		assert_int_equal(roost_qp_send_add(end->qps[i], &wr), 0);
	}
	roost_qp_send_end(end->qps[i]);
}

/* All completions of an end. again: the QP has n more of these requests. */
static unsigned int poll(int side, enum roost_wr_opcode opcode,
			 uint32_t len_bytes, unsigned int again)
{
	struct roost_cqe cqes[64];
	unsigned int total = 0;
	int n;

	while ((n = roost_cq_poll(bench_ends[side].cqs[0], 64, cqes)) > 0)
		for (int i = 0; i < n; i++, total++) {
			assert_int_equal(cqes[i].status, ROOST_WC_SUCCESS);
			progress[cqes[i].wr_id]++;
			if (again > 0)
				post(side, (unsigned int)cqes[i].wr_id, opcode,
				     len_bytes, again);
		}
	return total;
}

static int begin(void **state)
{
	memset(&most, 0, sizeof(most));
	memset(progress, 0, sizeof(progress));
	for (int side = 0; side < 2; side++) {
		wires[side].take = UINT32_MAX;
		wires[side].lost = false;
		wires[side].nb_requests = wires[side].nb_responses = 0;
	}
	return 0;
}

/* Both, and a microsecond goes by. */
static void turn_both(void)
{
	turn(&bench_ends[0]);
	turn(&bench_ends[1]);
	now_ns += 1000;
}

/* Until every QP has what it wanted. */
static void drain(int side, unsigned int left)
{
	for (unsigned int i = 0; left > 0; i++) {
		turn_both();
		left -= poll(side, ROOST_WR_WRITE, 0, 0);
		assert_true(i < 1000000);
	}
}

/* Those of nb QPs that got most and least, of the same. */
static void check_fair(unsigned int nb)
{
	unsigned int least = UINT32_MAX, top = 0;

	for (unsigned int i = 0; i < nb; i++) {
		least = RTE_MIN(least, progress[i]);
		top = RTE_MAX(top, progress[i]);
	}
	assert_true(least > 4);
	assert_true(top <= least + 4);
}

/* ---- tests ------------------------------------------------------------ */

/* Each QP has requests at all times. */
static void busy(unsigned int nb, enum roost_wr_opcode opcode,
		 uint32_t len_bytes, unsigned int batch, unsigned int take)
{
	unsigned int frames = (len_bytes + 4095) / 4096 * batch;
	uint64_t wanted = (uint64_t)nb * 8, got = 0;

	begin(NULL);
	wires[0].take = wires[1].take = take;
	for (unsigned int i = 0; i < nb; i++)
		post(0, i, opcode, len_bytes, batch);
	for (uint64_t turns = 0; got < wanted; turns++) {
		turn_both();
		got += poll(0, opcode, len_bytes, batch);
		assert_true(turns <
			    200 + 64 * wanted * frames / RTE_MIN(take, 32u));
	}
	check_bounds();
	check_fair(nb);
	if (take < ROOST_TXQ_LEN)
		/* The port is full after those: nobody else is looked at. */
		assert_in_range(most.visits, 1, ROOST_TXQ_LEN + take);
	drain(0, nb);
}

static void bounds__one_qp(void **state)
{
	busy(1, ROOST_WR_WRITE, 16, 32, UINT32_MAX);
	busy(1, ROOST_WR_READ, 65536, 1, UINT32_MAX);
	busy(1, ROOST_WR_WRITE, 16, 32, 3);
}

static void bounds__many_qps(void **state)
{
	busy(1024, ROOST_WR_WRITE, 16, 8, UINT32_MAX);
	busy(1024, ROOST_WR_READ, 16384, 1, UINT32_MAX);
	busy(8192, ROOST_WR_WRITE, 16, 2, UINT32_MAX);
	busy(8192, ROOST_WR_READ, 16, 2, UINT32_MAX);
}

static void bounds__port_takes_few(void **state)
{
	busy(100, ROOST_WR_WRITE, 16, 8, 5);
	busy(100, ROOST_WR_READ, 16384, 1, 5);
	busy(1024, ROOST_WR_WRITE, 16, 2, 20);
}

/* A port that takes nothing: as many frames as its queue holds are made, once,
 * and then nobody is looked at.
 */
static void bounds__port_takes_nothing(void **state)
{
	wires[0].take = 0;
	for (unsigned int i = 0; i < NB_QPS; i++)
		post(0, i, ROOST_WR_WRITE, 16, 1);
	for (unsigned int i = 0; i < NB_QPS; i++)
		turn(&bench_ends[0]);
	check_bounds();
	memset(&most, 0, sizeof(most));
	turn(&bench_ends[0]);
	assert_int_equal(most.visits, 0);
	assert_int_equal(most.frames, 0);
	/* It is looked at again, and not at once. */
	assert_false(roost_worker_has_left(bench_ends[0].worker));
	assert_in_range(roost_worker_next_deadline_ns(bench_ends[0].worker),
			now_ns + 1, now_ns + ROOST_PORT_RETRY_NS);
	wires[0].take = UINT32_MAX;
	drain(0, NB_QPS);
	check_bounds();
}

/* What is left is told, until nothing is. */
static void bounds__what_is_left_is_told(void **state)
{
	struct roost_worker *w = bench_ends[0].worker;
	unsigned int turns = 0;

	for (unsigned int i = 0; i < 1000; i++)
		post(0, i, ROOST_WR_WRITE, 16, 1);
	turn(&bench_ends[0]);
	for (; roost_worker_has_left(w); turns++) {
		assert_true(worker_is_busy(w));
		assert_true(roost_worker_next_deadline_ns(w) <= now_ns);
		turn(&bench_ends[0]);
	}
	assert_in_range(turns, 1000 / 128, 1000 / 32);
	assert_int_equal(wires[0].nb_requests, 1000);
	drain(0, 1000);
}

/* Everything is lost, and all timers run out at the same time, until the
 * retries are used up and the queues are flushed.
 */
static void bounds__all_time_out(void **state)
{
	struct bench_end *end = &bench_ends[0];
	struct roost_dev_counters before, after;
	unsigned int nb_failed = 0, nb_flushed = 0;
	struct roost_cqe cqes[64];
	int n;

	wires[0].lost = true;
	roost_dev_counters(end->dev, &before);
	for (unsigned int i = 0; i < NB_QPS; i++)
		post(0, i, ROOST_WR_WRITE, 16, 64);
	for (unsigned int round = 0; round <= RETRIES + 1; round++) {
		do {
			turn(end);
			while ((n = roost_cq_poll(end->cqs[0], 64, cqes)) > 0)
				for (int i = 0; i < n; i++)
					if (cqes[i].status ==
					    ROOST_WC_WR_FLUSH_ERR)
						nb_flushed++;
					else
						nb_failed++;
		} while (roost_worker_has_left(end->worker));
		now_ns += TIMEOUT_NS;
	}
	roost_dev_counters(end->dev, &after);
	assert_int_equal(after.timeouts - before.timeouts,
			 (uint64_t)NB_QPS * RETRIES);
	assert_int_equal(nb_failed, NB_QPS);
	assert_int_equal(nb_flushed, NB_QPS * 63);
	assert_int_equal(most.timers, ROOST_TIMER_BUDGET);
	assert_in_range(most.completions, 64,
			ROOST_FLUSH_BUDGET + ROOST_TIMER_BUDGET);
	check_bounds();
}

/* An end that is asked for data without end has requests of its own, and a slow
 * port: both go on, and what comes is acknowledged.
 */
static void bounds__responses_and_requests_share(void **state)
{
	static const unsigned int takes[] = { 1, 7, 40, UINT32_MAX };
	struct bench_wire *wire = &wires[1];

	for (unsigned int t = 0; t < RTE_DIM(takes); t++) {
		unsigned int nb_acked = 0, frames;

		begin(state);
		wire->take = takes[t];
		for (unsigned int i = 0; i < 64; i++) {
			/* Some QPs do both. */
			post(0, i, ROOST_WR_READ, 65536, 2);
			post(1, i + 32, ROOST_WR_WRITE, 65536, 2);
			post(0, i + 128, ROOST_WR_WRITE, 16, 1);
		}
		for (unsigned int i = 0; i < 3000; i++) {
			struct roost_cqe cqe;

			turn_both();
			while (roost_cq_poll(bench_ends[0].cqs[0], 1, &cqe) > 0)
				if (cqe.wr_id < 64)
					post(0, (unsigned int)cqe.wr_id,
					     ROOST_WR_READ, 65536, 2);
				else
					nb_acked++;
			poll(1, ROOST_WR_WRITE, 65536, 2);
		}
		frames = wire->nb_requests + wire->nb_responses;
		assert_int_equal(nb_acked, 64);
		assert_true(frames > 2000);
		assert_true(wire->nb_requests >= frames / 4);
		assert_true(wire->nb_responses >= frames / 4);
		check_bounds();
		wire->take = UINT32_MAX;
		drain(0, 64);
		for (unsigned int i = 0; i < 1000; i++) {
			turn_both();
			poll(1, ROOST_WR_WRITE, 0, 0);
		}
	}
}

static int start(void **state)
{
	bench_ends_open(&bursts,
			(struct bench_wire *[]){ &wires[0], &wires[1] },
			NB_QPS);
	/* All may send at once. */
	for (int side = 0; side < 2; side++)
		for (unsigned int i = 0; i < NB_QPS; i++) {
			struct roost_qp *qp = bench_ends[side].qps[i];

			qp->req.cwnd.pkts = CWND_PKTS;
			roost_share_leave(bench_ends[side].worker, qp);
		}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bounds__one_qp, begin),
		cmocka_unit_test_setup(bounds__many_qps, begin),
		cmocka_unit_test_setup(bounds__port_takes_few, begin),
		cmocka_unit_test_setup(bounds__port_takes_nothing, begin),
		cmocka_unit_test_setup(bounds__what_is_left_is_told, begin),
		cmocka_unit_test_setup(bounds__responses_and_requests_share,
				       begin),
		/* The QPs are of no use any more. */
		cmocka_unit_test_setup(bounds__all_time_out, begin),
	};

	return cmocka_run_group_tests_name("sim-bounds", tests, start, NULL);
}
