/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * A program that maps other memory in the place of registered memory, while a
 * peer WRITEs and READs all of the region: the other memory is neither changed
 * nor read, and the rest of the region goes on. It tells "done" and stays until
 * it is killed.
 *
 * usage: remap [handler|blocked|unseen|shrunk [ROUNDS]]
 * handler: with a handler of SIGSEGV of its own, set later than the first
 * registration; blocked: in threads that block the signal, for which the kernel
 * would end the program at a fault; unseen: in such threads, and no other
 * memory, but none for a while, by system calls that no library sees; shrunk:
 * no other memory, but a file that is shorter for a while
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/real/user.h"

#define PAGE 4096ul
#define PAGES 16ul
#define BYTES (PAGES * PAGE)
/* The pages that others take the place of. */
#define FIRST 4ul
#define NB 7ul

#define ROUNDS 60u

enum {
	BEFORE = 0x11,  /* in the region when it is registered */
	WRITTEN = 0x77, /* by the peer */
	OTHER = 0x99,   /* mapped later */
};

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
};

/* Both are the peer's. */
static uint8_t source[BYTES], target[BYTES];
static struct ibv_mr *source_mr, *target_mr;

/* The region that the peer uses; NULL: none. */
static _Atomic(struct ibv_mr *) region;
static _Atomic unsigned int nb_done; /* WRITEs with the READs behind them */
static _Atomic bool is_idle;

static volatile sig_atomic_t nb_own;
static sigjmp_buf back;

static struct end make_end(struct ibv_pd *pd)
{
	struct end end = {
		.cq = ibv_create_cq(pd->context, 4, NULL, NULL, 0),
	};
	struct ibv_qp_init_attr init = {
		.send_cq = end.cq,
		.recv_cq = end.cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	user_check(end.cq != NULL, "ibv_create_cq");
	end.qp = ibv_create_qp(pd, &init);
	user_check(end.qp != NULL, "ibv_create_qp");
	user_check(user_to_init(end.qp, IBV_ACCESS_REMOTE_WRITE |
						IBV_ACCESS_REMOTE_READ) == 0,
		   "INIT");
	return end;
}

/* ---- the peer -------------------------------------------------------------
 */

static void execute(const struct end *end, enum ibv_wr_opcode opcode,
		    const struct ibv_mr *ours, const struct ibv_mr *theirs)
{
	struct ibv_sge sge = { .addr = (uintptr_t)ours->addr,
			       .length = BYTES,
			       .lkey = ours->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)theirs->addr,
			     .rkey = theirs->rkey },
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	user_check(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
	while ((n = ibv_poll_cq(end->cq, 1, &wc)) == 0)
		;
	user_check(n == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

static void *be_peer(void *arg)
{
	const struct end *end = arg;
	struct ibv_mr *mr;

	for (;;) {
		mr = atomic_load(&region);
		if (!mr) {
			atomic_store(&is_idle, true);
			usleep(50);
			continue;
		}
		execute(end, IBV_WR_RDMA_WRITE, source_mr, mr);
		execute(end, IBV_WR_RDMA_READ, target_mr, mr);
		user_check(!memchr(target, OTHER, BYTES),
			   "the peer has read memory that was mapped later");
		atomic_fetch_add(&nb_done, 1);
	}
	return NULL;
}

/* The peer begins so many pairs of requests, and ends them. */
static void let_pass(unsigned int nb)
{
	unsigned int end = atomic_load(&nb_done) + nb + 1;

	while ((int)(atomic_load(&nb_done) - end) < 0)
		usleep(100);
}

static void give(struct ibv_mr *mr)
{
	atomic_store(&is_idle, false);
	atomic_store(&region, mr);
}

static void take_back(void)
{
	atomic_store(&region, NULL);
	while (!atomic_load(&is_idle))
		usleep(50);
}

/* ---- the program ----------------------------------------------------------
 */

static void own_handler(int sig)
{
	(void)sig;
	nb_own++;
	siglongjmp(back, 1);
}

static void expect_own(const volatile uint8_t *nothing)
{
	int before = nb_own;

	if (sigsetjmp(back, 1) == 0)
		(void)*nothing;
	user_check(nb_own == before + 1, "the program's own fault");
}

static void expect(const uint8_t *at, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != value) {
			fprintf(stderr, "byte %zu is 0x%02x, not 0x%02x\n", i,
				at[i], value);
			user_check(false, "memory");
		}
}

/* kind 0: MAP_FIXED over it; 1: unmapped before; 2: by mremap. */
static void map_other(uint8_t *at, unsigned int kind)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *to;

	if (kind == 1)
		user_check(munmap(at, NB * PAGE) == 0, "munmap");
	if (kind == 2) {
		to = mmap(NULL, NB * PAGE, PROT_READ | PROT_WRITE, flags, -1,
			  0);
		user_check(mremap(to, NB * PAGE, NB * PAGE,
				  MREMAP_MAYMOVE | MREMAP_FIXED, at) == at,
			   "mremap");
	} else {
		to = mmap(at, NB * PAGE, PROT_READ | PROT_WRITE,
			  flags | MAP_FIXED, -1, 0);
		user_check(to == at, "mmap");
	}
	memset(at, OTHER, NB * PAGE);
}

static void play(struct ibv_pd *pd, unsigned int round, bool has_handler)
{
	uint8_t *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *hole = at + FIRST * PAGE;
	struct ibv_mr *mr;
	int before;

	user_check(at != MAP_FAILED, "mmap");
	memset(at, BEFORE, BYTES);
	mr = ibv_reg_mr(pd, at, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	user_check(mr != NULL, "ibv_reg_mr");
	if (has_handler && round == 0)
		user_check(signal(SIGSEGV, own_handler) != SIG_ERR, "signal");
	before = nb_own;
	give(mr);
	let_pass(round % 2);
	map_other(hole, round % 3);
	let_pass(2);
	expect(hole, NB * PAGE, OTHER);
	/* It is gone altogether: no handler hears of the peer's packets. */
	user_check(munmap(hole + PAGE, PAGE) == 0, "munmap");
	let_pass(1);
	user_check(nb_own == before, "a packet came to the program's handler");
	if (has_handler)
		expect_own(hole + PAGE);
	take_back();
	expect(at, FIRST * PAGE, WRITTEN);
	expect(hole + NB * PAGE, (PAGES - FIRST - NB) * PAGE, WRITTEN);
	expect(hole, PAGE, OTHER);
	expect(hole + 2 * PAGE, (NB - 2) * PAGE, OTHER);
	user_check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	munmap(at, BYTES);
}

/* Its pages are hidden while the peer goes on, and are there again. */
static void play_unseen(struct ibv_pd *pd)
{
	uint8_t *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *hole = at + FIRST * PAGE;
	struct ibv_mr *mr;

	user_check(at != MAP_FAILED, "mmap");
	mr = ibv_reg_mr(pd, at, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	user_check(mr != NULL, "ibv_reg_mr");
	give(mr);
	let_pass(1);
	user_check(syscall(SYS_mprotect, hole, NB * PAGE, PROT_NONE) == 0,
		   "mprotect");
	let_pass(2);
	user_check(syscall(SYS_mprotect, hole, NB * PAGE,
			   PROT_READ | PROT_WRITE) == 0,
		   "mprotect");
	memset(hole, BEFORE, NB * PAGE);
	let_pass(1);
	take_back();
	expect(at, BYTES, WRITTEN);
	user_check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	munmap(at, BYTES);
}

/* The file under it is cut off while the peer goes on, and long again. */
static void play_shrunk(struct ibv_pd *pd)
{
	int fd = memfd_create("remap", MFD_CLOEXEC);
	struct ibv_mr *mr;
	uint8_t *at;

	user_check(fd >= 0 && ftruncate(fd, BYTES) == 0, "memfd_create");
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	user_check(at != MAP_FAILED, "mmap");
	mr = ibv_reg_mr(pd, at, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	user_check(mr != NULL, "ibv_reg_mr");
	give(mr);
	let_pass(1);
	user_check(ftruncate(fd, FIRST * PAGE) == 0, "ftruncate");
	let_pass(2);
	user_check(ftruncate(fd, BYTES) == 0, "ftruncate");
	let_pass(1);
	take_back();
	expect(at, BYTES, WRITTEN);
	user_check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
	munmap(at, BYTES);
	close(fd);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const char *how = argc > 1 ? argv[1] : "";
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS;
	bool has_handler = strcmp(how, "handler") == 0;
	bool is_unseen = strcmp(how, "unseen") == 0;
	bool is_shrunk = strcmp(how, "shrunk") == 0;
	sigset_t faults;
	struct ibv_context *context;
	struct end peer, ours;
	struct ibv_pd *pd;
	pthread_t thread;

	user_check(list != NULL && list[0] != NULL, "no device");
	context = ibv_open_device(list[0]);
	user_check(context != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	user_check(pd != NULL, "ibv_alloc_pd");
	memset(source, WRITTEN, sizeof(source));
	source_mr = ibv_reg_mr(pd, source, BYTES, 0);
	target_mr = ibv_reg_mr(pd, target, BYTES, IBV_ACCESS_LOCAL_WRITE);
	user_check(source_mr && target_mr, "ibv_reg_mr");
	peer = make_end(pd);
	ours = make_end(pd);
	user_join(peer.qp, ours.qp);
	user_join(ours.qp, peer.qp);
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	if (is_unseen || strcmp(how, "blocked") == 0)
		pthread_sigmask(SIG_BLOCK, &faults, NULL);
	user_check(pthread_create(&thread, NULL, be_peer, &peer) == 0,
		   "pthread_create");
	for (unsigned int round = 0; round < rounds; round++)
		if (is_unseen)
			play_unseen(pd);
		else if (is_shrunk)
			play_shrunk(pd);
		else
			play(pd, round, has_handler);
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
