/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * On-demand regions whose pages go away between the check of a request and its
 * execution. madvise() of the engine is the one here: it says ENOMEM, as for a
 * page that is not mapped, when it is told to.
 */

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/raw.h"

static void *watched;       /* the page; the world's own is on demand, too */
static int calls_left = -1; /* for it until one fails; -1: none does */

int madvise(void *addr, size_t len, int advice)
{
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
			assert_true(looks >= 2);
		}
		assert_int_equal(roost_mr_dereg(mr), 0);
		munmap(page, 4096);
		sim_free(sim);
	}
}

static void on_demand__atomics(void **state)
{
	(void)state;
	vanishes(ROOST_WR_FETCH_ADD, 8);
	vanishes(ROOST_WR_CMP_SWAP, 8);
	vanishes(ROOST_WR_ATOMIC_WRITE, 8);
}

static void on_demand__write_and_read(void **state)
{
	(void)state;
	vanishes(ROOST_WR_WRITE, 100);
	vanishes(ROOST_WR_READ, 100);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(on_demand__atomics),
	cmocka_unit_test(on_demand__write_and_read),
};

SIM_MAIN("sim-on-demand", tests)
