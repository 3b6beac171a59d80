/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Registered memory that the program unmaps, or whose file becomes shorter: the
 * peer's requests are executed as on pinned memory. What is written there is
 * discarded, what is read is zeros, and no handler of the program is called for
 * it, while the program's own faults come to its handler.
 */

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/engine/core/unmap.h"
#include "lib/wire/guard.h"
#include "lib/wire/icrc.h"
#include "tests/sim/raw.h"

#define PAGE 4096ul
#define PAGES 8ul
/* The page that is not there. */
#define HOLE (5 * PAGE)

/* Signals of accesses that packets made. */
static volatile sig_atomic_t nb_signals;

bool __real_roost_guard_fix(uintptr_t *pc);
bool __wrap_roost_guard_fix(uintptr_t *pc);
bool __wrap_roost_guard_fix(uintptr_t *pc)
{
	nb_signals++;
	return __real_roost_guard_fix(pc);
}

static struct roost_mr *reg(struct sim_qp *qp, uint8_t *p)
{
	struct roost_mr *mr;

	assert_int_equal(
		roost_mr_reg(qp->end->pd, p, PAGES * PAGE, (uintptr_t)p,
			     qp->conf.access | ROOST_ACCESS_LOCAL_WRITE, &mr),
		0);
	return mr;
}

/* Memory of bytes of this value. */
static uint8_t *map(uint8_t value)
{
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, value, PAGES * PAGE);
	return p;
}

/* A pair, and memory of one byte's value on each side. */
struct world {
	struct sim *sim;
	struct sim_qp *a, *b;
	uint8_t *here, *there;
	struct roost_mr *ours, *theirs;
};

static struct world begin(uint8_t here, uint8_t there)
{
	struct world w = { .sim = sim_new() };

	sim_pair(w.sim, NULL, &w.a, &w.b);
	w.sim->nobody_polls = true;
	w.here = map(here);
	w.there = map(there);
	w.ours = reg(w.a, w.here);
	w.theirs = reg(w.b, w.there);
	return w;
}

static void end(struct world *w)
{
	assert_int_equal(roost_qp_state(w->a->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_qp_state(w->b->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_mr_dereg(w->ours), 0);
	assert_int_equal(roost_mr_dereg(w->theirs), 0);
	munmap(w->here, PAGES * PAGE);
	munmap(w->there, PAGES * PAGE);
	sim_free(w->sim);
}

static void execute(struct world *w, struct roost_send_wr wr, size_t at,
		    uint32_t len_bytes)
{
	const struct roost_sge sge = { (uintptr_t)w->here + at, len_bytes,
				       roost_mr_lkey(w->ours) };

	wr.sges = &sge;
	wr.nb_sges = 1;
	wr.flags = ROOST_SEND_SIGNALED;
	wr.remote_addr = (uintptr_t)w->there + at;
	if (wr.rkey == 0)
		wr.rkey = roost_mr_rkey(w->theirs);
	roost_qp_send_begin(w->a->qp);
	assert_int_equal(roost_qp_send_add(w->a->qp, &wr), 0);
	roost_qp_send_end(w->a->qp);
	sim_run(w->sim);
	raw_expect(w->a->end->cq, wr.wr_id, ROOST_WC_SUCCESS);
}

static void expect_bytes(const uint8_t *p, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(p[i], value);
}

static void expect_gone(struct world *w, int side, bool read, bool written)
{
	const struct roost_dev_counters *c = sim_counters(w->sim, side);

	assert_int_equal(c->gone_reads != 0, read);
	assert_int_equal(c->gone_writes != 0, written);
}

static void unmap_hole(uint8_t *p)
{
	assert_int_equal(munmap(p + HOLE, PAGE), 0);
}

/* ---- one page of a message ------------------------------------------------
 */

/* All pages but the hole have the value. */
static void expect_all_but_hole(const uint8_t *p, uint8_t value)
{
	expect_bytes(p, HOLE, value);
	expect_bytes(p + HOLE + PAGE, (PAGES - 1) * PAGE - HOLE, value);
}

static void write_over_hole(void)
{
	struct world w = begin(0x77, 0x11);

	unmap_hole(w.there);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_WRITE }, 0,
		PAGES * PAGE);
	expect_all_but_hole(w.there, 0x77);
	expect_gone(&w, SIM_B, false, true);
	expect_gone(&w, SIM_A, false, false);
	end(&w);
}

static void write_from_hole(void)
{
	struct world w = begin(0x77, 0x11);

	unmap_hole(w.here);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_WRITE }, 0,
		PAGES * PAGE);
	expect_all_but_hole(w.there, 0x77);
	expect_bytes(w.there + HOLE, PAGE, 0);
	expect_gone(&w, SIM_A, true, false);
	expect_gone(&w, SIM_B, false, false);
	end(&w);
}

static void read_over_hole(void)
{
	struct world w = begin(0x77, 0x11);

	unmap_hole(w.there);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_READ }, 0,
		PAGES * PAGE);
	expect_all_but_hole(w.here, 0x11);
	expect_bytes(w.here + HOLE, PAGE, 0);
	expect_gone(&w, SIM_B, true, false);
	expect_gone(&w, SIM_A, false, false);
	end(&w);
}

static void read_into_hole(void)
{
	struct world w = begin(0x77, 0x11);

	unmap_hole(w.here);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_READ }, 0,
		PAGES * PAGE);
	expect_all_but_hole(w.here, 0x11);
	expect_gone(&w, SIM_A, false, true);
	expect_gone(&w, SIM_B, false, false);
	end(&w);
}

static void receive_into_hole(void)
{
	struct world w = begin(0x77, 0x11);
	const struct roost_sge sge = { (uintptr_t)w.there, PAGES * PAGE,
				       roost_mr_lkey(w.theirs) };
	const struct roost_recv_wr wr = { 5, &sge, 1 };

	roost_qp_recv_begin(w.b->qp);
	assert_int_equal(roost_qp_recv_add(w.b->qp, &wr), 0);
	roost_qp_recv_end(w.b->qp);
	unmap_hole(w.there);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_SEND }, 0,
		PAGES * PAGE);
	raw_expect(w.b->end->cq, 5, ROOST_WC_SUCCESS);
	expect_all_but_hole(w.there, 0x77);
	expect_gone(&w, SIM_B, false, true);
	end(&w);
}

static void with_each_kernel(void (*check)(void))
{
	const struct roost_kernel *kernel = roost_kernel;

	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++) {
		if (!roost_kernels[i]->usable())
			continue;
		roost_kernel = roost_kernels[i];
		check();
	}
	roost_kernel = kernel;
}

static void gone__page_of_a_message(void **state)
{
	with_each_kernel(write_over_hole);
	with_each_kernel(write_from_hole);
	with_each_kernel(read_over_hole);
	with_each_kernel(read_into_hole);
	with_each_kernel(receive_into_hole);
}

/* ---- how many signals a peer can raise ------------------------------------
 */

/* The first packet of a region that meets a page that is gone may raise one for
 * each load or store; the next ones none, until the region is new.
 */
#define FIRST_PACKET_MAX (int)(PAGE / 16 + 2)

static void all_kinds(struct world *w)
{
	static const enum roost_wr_opcode opcodes[] = {
		ROOST_WR_WRITE,     ROOST_WR_READ,     ROOST_WR_SEND,
		ROOST_WR_FETCH_ADD, ROOST_WR_CMP_SWAP, ROOST_WR_ATOMIC_WRITE,
	};
	const struct roost_sge sge = { (uintptr_t)w->there, PAGES * PAGE,
				       roost_mr_lkey(w->theirs) };
	const struct roost_recv_wr wr = { 5, &sge, 1 };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		bool is_send = opcodes[i] == ROOST_WR_SEND;

		if (is_send) {
			roost_qp_recv_begin(w->b->qp);
			assert_int_equal(roost_qp_recv_add(w->b->qp, &wr), 0);
			roost_qp_recv_end(w->b->qp);
		}
		execute(w, (struct roost_send_wr){ .opcode = opcodes[i] },
			is_send || i < 2 ? 0 : HOLE + 64,
			is_send || i < 2 ? PAGES * PAGE : 8);
		if (is_send)
			raw_expect(w->b->end->cq, 5, ROOST_WC_SUCCESS);
	}
}

static void few_signals(void)
{
	struct world w = begin(0x77, 0x11);
	int before;

	unmap_hole(w.there);
	unmap_hole(w.here);
	nb_signals = 0;
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_WRITE }, 0,
		PAGES * PAGE);
	/* One packet at each end. */
	assert_in_range(nb_signals, 2, 2 * FIRST_PACKET_MAX);
	before = nb_signals;
	for (unsigned int i = 0; i < 10; i++)
		all_kinds(&w);
	assert_int_equal(nb_signals, before);
	/* What is there still has the bytes of the other side. */
	expect_all_but_hole(w.there, 0x77);
	expect_all_but_hole(w.here, 0x77);
	/* Another registration: the first packet finds it out again. */
	assert_int_equal(roost_mr_dereg(w.theirs), 0);
	assert_ptr_equal(mmap(w.there + HOLE, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 w.there + HOLE);
	w.theirs = reg(w.b, w.there);
	all_kinds(&w);
	assert_int_equal(nb_signals, before);
	unmap_hole(w.there);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_READ }, HOLE, 8);
	assert_in_range(nb_signals, before + 1, before + 2);
	before = nb_signals;
	all_kinds(&w);
	assert_int_equal(nb_signals, before);
	end(&w);
}

static void gone__few_signals(void **state)
{
	with_each_kernel(few_signals);
}

/* By a window, whose region is the suspect. */
static void gone__few_signals_by_a_window(void **state)
{
	const uint32_t access = ROOST_ACCESS_LOCAL_WRITE |
				ROOST_ACCESS_REMOTE_WRITE |
				ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_MW_BIND;
	struct world w = begin(0x77, 0x11);
	struct roost_send_wr bind = {
		.wr_id = 9,
		.opcode = ROOST_WR_BIND_MW,
		.flags = ROOST_SEND_SIGNALED,
	};
	struct roost_mw *mw;

	assert_int_equal(roost_mr_dereg(w.theirs), 0);
	assert_int_equal(roost_mr_reg(w.b->end->pd, w.there, PAGES * PAGE,
				      (uintptr_t)w.there, access, &w.theirs),
			 0);
	assert_int_equal(roost_mw_alloc(w.b->end->pd, 1, &mw), 0);
	bind.bind = (struct roost_mw_bind){
		.mw = mw,
		.mr = w.theirs,
		.addr = (uintptr_t)w.there,
		.len_bytes = PAGES * PAGE,
		.access = access & ~(uint32_t)ROOST_ACCESS_MW_BIND,
		.rkey = roost_mw_rkey(mw) + 1,
	};
	raw_send(w.b, bind, (struct sim_slice){ 0 });
	sim_run(w.sim);
	raw_expect(w.b->end->cq, 9, ROOST_WC_SUCCESS);
	unmap_hole(w.there);
	execute(&w,
		(struct roost_send_wr){ .opcode = ROOST_WR_READ,
					.rkey = bind.bind.rkey },
		0, PAGES * PAGE);
	expect_all_but_hole(w.here, 0x11);
	nb_signals = 0;
	memset(w.here, 0x77, PAGES * PAGE);
	execute(&w,
		(struct roost_send_wr){ .opcode = ROOST_WR_WRITE,
					.rkey = bind.bind.rkey },
		0, PAGES * PAGE);
	expect_all_but_hole(w.there, 0x77);
	execute(&w,
		(struct roost_send_wr){ .opcode = ROOST_WR_READ,
					.rkey = bind.bind.rkey },
		0, PAGES * PAGE);
	expect_bytes(w.here + HOLE, PAGE, 0);
	expect_all_but_hole(w.here, 0x77);
	assert_int_equal(nb_signals, 0);
	assert_int_equal(roost_mw_dealloc(mw), 0);
	end(&w);
}

/* ---- short messages at the edges of the hole ------------------------------
 */

static void short_ones(enum roost_wr_opcode opcode)
{
	static const uint32_t lens[] = { 1,  2,  3,  5,   8,   13,
					 16, 31, 64, 300, 511, 700 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct world w = begin(0x77, 0x11);
		uint32_t len = lens[i], half = len / 2;
		bool is_read = opcode == ROOST_WR_READ;
		uint8_t *to = is_read ? w.here : w.there;
		uint8_t value = is_read ? 0x11 : 0x77;

		unmap_hole(w.there);
		/* Into it, in it, out of it. */
		execute(&w, (struct roost_send_wr){ .opcode = opcode },
			HOLE - half, len);
		execute(&w, (struct roost_send_wr){ .opcode = opcode },
			HOLE + 100, len);
		execute(&w, (struct roost_send_wr){ .opcode = opcode },
			HOLE + PAGE - half, len);
		expect_bytes(to + HOLE - half, half, value);
		expect_bytes(to + HOLE + PAGE, len - half, value);
		if (is_read) {
			expect_bytes(to + HOLE, len - half, 0);
			expect_bytes(to + HOLE + 100, len, 0);
			expect_bytes(to + HOLE + PAGE - half, half, 0);
		}
		expect_gone(&w, SIM_B, is_read, !is_read);
		end(&w);
	}
}

static void gone__at_the_edge(void **state)
{
	short_ones(ROOST_WR_WRITE);
	short_ones(ROOST_WR_READ);
}

/* ---- memory that is mapped later in the same place -------------------------
 */

/* As a program does behind `roost run`: the engine is told before. */
static void map_other(uint8_t *p, size_t len)
{
	roost_unmap_note((uintptr_t)p, len);
	assert_ptr_equal(mmap(p, len, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p);
	memset(p, 0x99, len);
}

static void other_in_hole(void)
{
	struct world w = begin(0x77, 0x11);

	nb_signals = 0;
	map_other(w.there + HOLE, PAGE);
	for (unsigned int i = 0; i < 3; i++)
		all_kinds(&w);
	expect_all_but_hole(w.there, 0x77);
	expect_bytes(w.there + HOLE, PAGE, 0x99);
	expect_bytes(w.here + HOLE + 8, PAGE - 8, 0);
	expect_gone(&w, SIM_B, true, true);
	/* Our end, too; what it sends from there is zeros. */
	memset(w.here, 0x77, PAGES * PAGE);
	map_other(w.here + HOLE, PAGE);
	assert_int_equal(roost_mr_dereg(w.theirs), 0);
	w.theirs = reg(w.b, w.there);
	all_kinds(&w);
	expect_all_but_hole(w.here, 0x77);
	expect_bytes(w.here + HOLE, PAGE, 0x99);
	/* All of it is the new region's; it has had an atomic word since. */
	expect_bytes(w.there + HOLE, 64, 0);
	expect_bytes(w.there + HOLE + 72, PAGE - 72, 0);
	expect_gone(&w, SIM_A, true, true);
	assert_int_equal(nb_signals, 0);
	end(&w);
}

static void gone__other_memory_in_its_place(void **state)
{
	with_each_kernel(other_in_hole);
}

/* ---- atomics --------------------------------------------------------------
 */

static void one_atomic(enum roost_wr_opcode opcode, size_t skew)
{
	struct world w = begin(0x77, 0x11);
	struct roost_mr *mr;
	uint64_t orig;

	/* skew: the address that the peer names is aligned, this one is not */
	assert_int_equal(roost_mr_reg(w.b->end->pd, w.there + skew, PAGE * 7,
				      4096, w.b->conf.access, &mr),
			 0);
	assert_int_equal(roost_mr_dereg(w.theirs), 0);
	w.theirs = mr;
	unmap_hole(w.there);
	{
		const struct roost_sge sge = { (uintptr_t)w.here, 8,
					       roost_mr_lkey(w.ours) };
		const struct roost_send_wr wr = {
			.opcode = opcode,
			.flags = ROOST_SEND_SIGNALED,
			.remote_addr = 4096 + HOLE + 64,
			.rkey = roost_mr_rkey(mr),
			.swap_add = 5,
			.sges = &sge,
			.nb_sges = 1,
		};

		roost_qp_send_begin(w.a->qp);
		assert_int_equal(roost_qp_send_add(w.a->qp, &wr), 0);
		roost_qp_send_end(w.a->qp);
	}
	sim_run(w.sim);
	raw_expect(w.a->end->cq, 0, ROOST_WC_SUCCESS);
	memcpy(&orig, w.here, sizeof(orig));
	if (opcode != ROOST_WR_ATOMIC_WRITE)
		assert_int_equal(orig, 0);
	expect_gone(&w, SIM_B, false, true);
	end(&w);
}

static void gone__atomics(void **state)
{
	for (size_t skew = 0; skew < 4; skew += 3) {
		one_atomic(ROOST_WR_FETCH_ADD, skew);
		one_atomic(ROOST_WR_CMP_SWAP, skew);
		one_atomic(ROOST_WR_ATOMIC_WRITE, skew);
	}
}

/* ---- files ----------------------------------------------------------------
 */

/* SIGBUS: the pages behind the end of a file. */
static void gone__file_became_shorter(void **state)
{
	struct world w = begin(0x77, 0x11);
	int fd = memfd_create("sim-gone", 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	assert_int_equal(roost_mr_dereg(w.theirs), 0);
	assert_ptr_equal(mmap(w.there, PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, 0),
			 w.there);
	w.theirs = reg(w.b, w.there);
	assert_int_equal(ftruncate(fd, HOLE), 0);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_WRITE }, 0,
		PAGES * PAGE);
	expect_bytes(w.there, HOLE, 0x77);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_READ }, 0,
		PAGES * PAGE);
	expect_bytes(w.here, HOLE, 0x77);
	expect_bytes(w.here + HOLE, PAGES * PAGE - HOLE, 0);
	expect_gone(&w, SIM_B, true, true);
	close(fd);
	end(&w);
}

/* ---- the program's own faults ---------------------------------------------
 */

static sigjmp_buf back;
static volatile sig_atomic_t nb_own;
static void *volatile own_addr;

static void own_handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	nb_own++;
	own_addr = info->si_addr;
	siglongjmp(back, 1);
}

static void touch_hole(const struct world *w)
{
	nb_own = 0;
	if (sigsetjmp(back, 1) == 0)
		(void)*(volatile uint8_t *)(w->there + HOLE);
	assert_int_equal(nb_own, 1);
	assert_ptr_equal(own_addr, w->there + HOLE);
}

/* The program's handler is there before the registration, or comes between two:
 * faults of its own are its own, and those of packets are not.
 */
static void gone__own_faults_stay_own(void **state)
{
	const struct sigaction act = { .sa_sigaction = own_handler,
				       .sa_flags = SA_SIGINFO };
	struct sigaction before;
	struct world w;

	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	w = begin(0x77, 0x11);
	unmap_hole(w.there);
	touch_hole(&w);
	nb_own = 0;
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_WRITE }, HOLE,
		100);
	execute(&w, (struct roost_send_wr){ .opcode = ROOST_WR_READ }, HOLE,
		PAGE);
	assert_int_equal(nb_own, 0);
	touch_hole(&w);
	end(&w);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(gone__page_of_a_message),
	cmocka_unit_test(gone__few_signals),
	cmocka_unit_test(gone__few_signals_by_a_window),
	cmocka_unit_test(gone__at_the_edge),
	cmocka_unit_test(gone__other_memory_in_its_place),
	cmocka_unit_test(gone__atomics),
	cmocka_unit_test(gone__file_became_shorter),
	cmocka_unit_test(gone__own_faults_stay_own),
};

SIM_MAIN("sim-gone", tests)
