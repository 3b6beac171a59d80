/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * On-demand regions: how much a packet faults in, and pages that are not there,
 * or go away between the check of a request and its execution. madvise() of the
 * engine is the one here: it counts, and it says ENOMEM, as for a page that is
 * not mapped, when it is told to.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/raw.h"

#define PAGE 4096ul
#define HUGE_BYTES (500u << 20)

static void *watched;       /* the page; the world's own is on demand, too */
static int calls_left = -1; /* for it until one fails; -1: none does */
/* Of all calls since they were set to 0. */
static size_t asked_bytes, asked_most_bytes;

int madvise(void *addr, size_t len, int advice)
{
	asked_bytes += len;
	if (len > asked_most_bytes)
		asked_most_bytes = len;
	if (addr == watched && calls_left == 0) {
		errno = ENOMEM;
		return -1;
	}
	if (addr == watched && calls_left > 0)
		calls_left--;
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/* What a request to a page that has gone does, at each of its looks. */
static void vanishes(enum roost_wr_opcode opcode, uint32_t len_bytes)
{
	bool good = false;

	for (int looks = 0; !good; looks++) {
		struct sim *sim = sim_new();
		struct sim_qp *a, *b;
		struct roost_mr *mr;
		uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct roost_cqe cqe;

		assert_ptr_not_equal(page, MAP_FAILED);
		sim_pair(sim, NULL, &a, &b);
		sim->nobody_polls = true;
		assert_int_equal(roost_mr_reg(b->end->pd, page, 4096,
					      (uintptr_t)page,
					      b->conf.access |
						      ROOST_ACCESS_ON_DEMAND,
					      &mr),
				 0);
		raw_send(a,
			 (struct roost_send_wr){
				 .opcode = opcode,
				 .flags = ROOST_SEND_SIGNALED,
				 .remote_addr = (uintptr_t)page,
				 .rkey = roost_mr_rkey(mr),
				 .swap_add = 1,
			 },
			 raw_random(sim, len_bytes));
		watched = page;
		calls_left = looks;
		sim_run(sim);
		good = calls_left > 0;
		calls_left = -1;
		assert_int_equal(roost_cq_poll(a->end->cq, 1, &cqe), 1);
		if (!good && cqe.status != ROOST_WC_SUCCESS) {
			assert_int_equal(cqe.status, ROOST_WC_REM_ACCESS_ERR);
			sim_poll(sim);
			assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_ERR);
			assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR],
					 1);
			assert_int_equal(*(volatile uint64_t *)page, 0);
		} else {
			assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
			assert_true(looks >= 1);
		}
		assert_int_equal(roost_mr_dereg(mr), 0);
		munmap(page, 4096);
		sim_free(sim);
	}
}

static void on_demand__atomics(void **state)
{
	vanishes(ROOST_WR_FETCH_ADD, 8);
	vanishes(ROOST_WR_CMP_SWAP, 8);
	vanishes(ROOST_WR_ATOMIC_WRITE, 8);
}

static void on_demand__write_and_read(void **state)
{
	vanishes(ROOST_WR_WRITE, 100);
	vanishes(ROOST_WR_READ, 100);
}

static struct roost_mr *reg(struct sim_qp *qp, uint8_t *p, size_t len)
{
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(qp->end->pd, p, len, (uintptr_t)p,
				      qp->conf.access |
					      ROOST_ACCESS_LOCAL_WRITE |
					      ROOST_ACCESS_ON_DEMAND,
				      &mr),
			 0);
	return mr;
}

static uint8_t *map(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* Post one request from len bytes of local memory, which mr is of. */
static void post(struct sim_qp *qp, struct roost_send_wr wr, uint8_t *local,
		 uint32_t len_bytes, const struct roost_mr *mr)
{
	const struct roost_sge sge = { (uintptr_t)local, len_bytes,
				       roost_mr_lkey(mr) };

	wr.sges = &sge;
	wr.nb_sges = 1;
	wr.flags = ROOST_SEND_SIGNALED;
	roost_qp_send_begin(qp->qp);
	assert_int_equal(roost_qp_send_add(qp->qp, &wr), 0);
	roost_qp_send_end(qp->qp);
}

/* Of a message of 500 MiB, each packet faults in its own bytes, here and there:
 * a READ request the first ones of its answer, too.
 */
static void touches_what_it_needs(enum roost_wr_opcode opcode)
{
	struct sim *sim = sim_new();
	struct roost_mr *mrs[2];
	uint8_t *memory[2];
	struct sim_qp *a, *b;
	uint64_t pkts;

	sim_pair(sim, NULL, &a, &b);
	sim->nobody_polls = true;
	memory[0] = map(HUGE_BYTES);
	memory[1] = map(HUGE_BYTES);
	mrs[0] = reg(a, memory[0], HUGE_BYTES);
	mrs[1] = reg(b, memory[1], HUGE_BYTES);
	sim_run(sim);
	pkts = sim_counters(sim, SIM_A)->tx_pkts +
	       sim_counters(sim, SIM_B)->tx_pkts;
	asked_bytes = asked_most_bytes = 0;
	post(a,
	     (struct roost_send_wr){
		     .opcode = opcode,
		     .remote_addr = (uintptr_t)memory[1],
		     .rkey = roost_mr_rkey(mrs[1]),
	     },
	     memory[0], HUGE_BYTES, mrs[0]);
	sim_run_for(sim, 10 * sim->turn_ns);
	pkts = sim_counters(sim, SIM_A)->tx_pkts +
	       sim_counters(sim, SIM_B)->tx_pkts - pkts;
	assert_true(pkts > 10);
	assert_true(asked_bytes >= pkts * PAGE / 4);
	/* What is aligned as these are touches a page more than it has. */
	assert_in_range(asked_most_bytes, 1, 2 * PAGE);
	assert_in_range(asked_bytes, 1, (2 * pkts + 1) * 2 * PAGE);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(roost_mr_dereg(mrs[i]), 0);
		munmap(memory[i], HUGE_BYTES);
	}
	sim_free(sim);
}

static void on_demand__packet_touches_what_it_needs(void **state)
{
	touches_what_it_needs(ROOST_WR_WRITE);
	touches_what_it_needs(ROOST_WR_READ);
}

/* The range is checked as a whole by the first packet: nothing is written, and
 * nothing is faulted in.
 */
static void on_demand__range_is_checked_first(void **state)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint8_t *p = map(16 * PAGE);
	struct roost_mr *mr;

	sim_pair(sim, NULL, &a, &b);
	sim->nobody_polls = true;
	mr = reg(b, p, 8 * PAGE);
	raw_send(a,
		 (struct roost_send_wr){
			 .opcode = ROOST_WR_WRITE,
			 .flags = ROOST_SEND_SIGNALED,
			 .remote_addr = (uintptr_t)p,
			 .rkey = roost_mr_rkey(mr),
		 },
		 raw_random(sim, 8 * PAGE + 1));
	sim_run(sim);
	raw_expect(a->end->cq, 0, ROOST_WC_REM_ACCESS_ERR);
	for (size_t i = 0; i < 16 * PAGE; i++)
		assert_int_equal(p[i], 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	munmap(p, 16 * PAGE);
	sim_free(sim);
}

#define HOLE (5 * PAGE)

/*
 * The sixth page of eight is not mapped: what is before it is there, and the
 * request before it, too. remote: it is missing at the responder; else in the
 * memory that the requester names.
 */
static void has_a_hole(enum roost_wr_opcode opcode, bool remote)
{
	struct sim *sim = sim_new();
	struct sim_qp *a, *b;
	uint8_t *there = map(8 * PAGE), *here = map(8 * PAGE);
	uint8_t *to = opcode == ROOST_WR_READ ? here : there;
	uint8_t *from = opcode == ROOST_WR_READ ? there : here;
	struct roost_mr *theirs, *ours;
	struct roost_send_wr wr = { .opcode = ROOST_WR_WRITE, .wr_id = 1 };
	enum roost_qp_state state;

	sim_pair(sim, NULL, &a, &b);
	sim->nobody_polls = true;
	memset(from, 0x77, 8 * PAGE);
	munmap((remote ? there : here) + HOLE, PAGE);
	theirs = reg(b, there, 8 * PAGE);
	ours = reg(a, here, 8 * PAGE);
	wr.remote_addr = (uintptr_t)there + 7 * PAGE;
	wr.rkey = roost_mr_rkey(theirs);
	post(a, wr, here + 7 * PAGE, 100, ours);
	wr.opcode = opcode;
	wr.wr_id = 2;
	wr.remote_addr = (uintptr_t)there;
	post(a, wr, here, 8 * PAGE, ours);
	wr.wr_id = 3;
	post(a, wr, here, 10, ours);
	sim_run(sim);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(a->end->cq, 2,
		   remote ? ROOST_WC_REM_ACCESS_ERR : ROOST_WC_LOC_PROT_ERR);
	raw_expect(a->end->cq, 3, ROOST_WC_WR_FLUSH_ERR);
	for (size_t i = 0; i < HOLE; i++)
		assert_int_equal(to[i], 0x77);
	assert_int_equal(to[HOLE + PAGE], 0);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_ERR);
	state = roost_qp_state(b->qp);
	assert_int_equal(state, remote ? ROOST_QPS_ERR : ROOST_QPS_RTS);
	sim_poll(sim);
	assert_int_equal(b->async[ROOST_EVENT_QP_ACCESS_ERR], remote);
	assert_int_equal(sim_qp_to(a, ROOST_QPS_RESET), 0);
	assert_int_equal(sim_qp_to(b, ROOST_QPS_RESET), 0);
	assert_int_equal(roost_mr_dereg(ours), 0);
	assert_int_equal(roost_mr_dereg(theirs), 0);
	munmap(there, 8 * PAGE);
	munmap(here, 8 * PAGE);
	sim_free(sim);
}

static void on_demand__hole_within_a_message(void **state)
{
	has_a_hole(ROOST_WR_WRITE, true);
	has_a_hole(ROOST_WR_WRITE, false);
	has_a_hole(ROOST_WR_READ, true);
	has_a_hole(ROOST_WR_READ, false);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(on_demand__packet_touches_what_it_needs),
	cmocka_unit_test(on_demand__range_is_checked_first),
	cmocka_unit_test(on_demand__hole_within_a_message),
	cmocka_unit_test(on_demand__atomics),
	cmocka_unit_test(on_demand__write_and_read),
};

SIM_MAIN("sim-on-demand", tests)
