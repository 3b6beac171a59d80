/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 *   web PROCESSES MS [MESSAGES]
 *
 * Each of so many processes has an RC QP to each other one. The processes of a
 * pair send each other numbered messages in turn, and check every byte, until
 * so many have passed or the time is over. Prints "web: N messages", those of
 * the pair that had the fewest.
 */

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/real/user.h"

#define NB_MAX 32
#define DEPTH 4u /* messages of a pair on their way, each way */
#define BYTES 3000u

/* What all see. */
struct shared {
	_Atomic uint32_t qpns[NB_MAX][NB_MAX]; /* of [i], to [j] */
	_Atomic uint32_t passed[NB_MAX][NB_MAX];
	union ibv_gid gids[NB_MAX];
	_Atomic uint32_t ready, over;
};

struct pair {
	struct ibv_qp *qp;
	uint32_t sent, acked, got;
};

static struct shared *shared;
static unsigned int nb, me;
static uint32_t nb_messages;
static struct ibv_context *ctx;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct pair pairs[NB_MAX];
/* Of each pair: slots to send from, slots to receive to. */
static uint8_t memory[NB_MAX][2][DEPTH][BYTES];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint32_t len_of(uint32_t i)
{
	return i % 3 == 0 ? BYTES : 16 + i % 500;
}

static uint8_t byte_of(unsigned int from, uint32_t i, uint32_t at)
{
	return (uint8_t)(from * 37 + i * 11 + at * 3 + (at >> 8));
}

/* ---- messages ------------------------------------------------------------ */

static void post_receive(unsigned int to, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)memory[to][1][i % DEPTH], BYTES,
			       mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = to, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	user_check(ibv_post_recv(pairs[to].qp, &wr, &bad) == 0, "post_recv");
}

static void post_send(unsigned int to)
{
	struct pair *p = &pairs[to];
	const uint32_t i = p->sent++;
	uint8_t *bytes = memory[to][0][i % DEPTH];
	struct ibv_sge sge = { (uintptr_t)bytes, len_of(i), mr->lkey };
	struct ibv_send_wr wr = { .wr_id = to | 0x100,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	for (uint32_t at = 0; at < sge.length; at++)
		bytes[at] = byte_of(me, i, at);
	user_check(ibv_post_send(p->qp, &wr, &bad) == 0, "post_send");
}

static void receive(unsigned int from, uint32_t len)
{
	struct pair *p = &pairs[from];
	const uint32_t i = p->got++;
	const uint8_t *bytes = memory[from][1][i % DEPTH];
	bool good = len == len_of(i);

	for (uint32_t at = 0; good && at < len; at++)
		good = bytes[at] == byte_of(from, i, at);
	errno = 0;
	user_check(good, "a message is wrong");
	post_receive(from, i);
	atomic_store(&shared->passed[me][from], p->got);
}

/* A message may go when the answer to the one DEPTH before it came. */
static void send_some(bool more)
{
	for (unsigned int i = 0; i < nb; i++) {
		struct pair *p = &pairs[i];

		if (i != me && more && p->sent == p->acked &&
		    p->sent < p->got + DEPTH && p->sent < nb_messages)
			post_send(i);
	}
}

static bool is_done(void)
{
	for (unsigned int i = 0; i < nb; i++)
		if (i != me && (pairs[i].got < nb_messages ||
				pairs[i].acked < nb_messages))
			return false;
	return true;
}

static void talk(uint64_t until_ms)
{
	struct ibv_wc wcs[16];

	while (!is_done() && now_ms() < until_ms) {
		int n = ibv_poll_cq(cq, 16, wcs);

		for (int i = 0; i < n; i++) {
			errno = 0;
			user_check(wcs[i].status == IBV_WC_SUCCESS,
				   ibv_wc_status_str(wcs[i].status));
			if (wcs[i].opcode & IBV_WC_RECV)
				receive((unsigned int)wcs[i].wr_id,
					wcs[i].byte_len);
			else
				pairs[wcs[i].wr_id & 0xff].acked++;
		}
		send_some(true);
		if (n == 0)
			sched_yield();
	}
}

/* ---- processes ----------------------------------------------------------- */

static void await(_Atomic uint32_t *count, const char *what)
{
	const uint64_t until_ms = now_ms() + 60000;

	atomic_fetch_add(count, 1);
	while (atomic_load(count) < nb) {
		errno = ETIMEDOUT;
		user_check(now_ms() < until_ms, what);
		usleep(1000);
	}
}

static void connect_to(unsigned int i)
{
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = shared->gids[i],
			 .sgid_index = 1,
			 .hop_limit = 64 },
	};

	user_check(user_to_rtr(pairs[i].qp, atomic_load(&shared->qpns[i][me]),
			       &ah, 0) == 0,
		   "RTR");
	user_check(user_to_rts(pairs[i].qp, 0) == 0, "RTS");
}

static void make(struct ibv_pd *pd, unsigned int i)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	pairs[i].qp = ibv_create_qp(pd, &init);
	user_check(pairs[i].qp && user_to_init(pairs[i].qp, 0) == 0, "QP");
	for (uint32_t k = 0; k < DEPTH; k++)
		post_receive(i, k);
	atomic_store(&shared->qpns[me][i], pairs[i].qp->qp_num);
}

static void be_one(uint64_t ms)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_pd *pd;

	user_check(devices && devices[0], "no device");
	ctx = ibv_open_device(devices[0]);
	user_check(ctx != NULL, "open");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 4096, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE)
		: NULL;
	user_check(cq && mr, "objects");
	user_check(ibv_query_gid(ctx, 1, 1, &shared->gids[me]) == 0, "GID");
	for (unsigned int i = 0; i < nb; i++)
		if (i != me)
			make(pd, i);
	await(&shared->ready, "not all are ready");
	for (unsigned int i = 0; i < nb; i++)
		if (i != me)
			connect_to(i);
	talk(now_ms() + ms);
	/* The others may still wait for our acknowledgements. */
	atomic_fetch_add(&shared->over, 1);
	while (atomic_load(&shared->over) < nb) {
		struct ibv_wc wc;

		ibv_poll_cq(cq, 1, &wc);
		sched_yield();
	}
}

static uint32_t fewest(void)
{
	uint32_t least = UINT32_MAX;

	for (unsigned int i = 0; i < nb; i++)
		for (unsigned int j = 0; j < nb; j++)
			if (i != j && shared->passed[i][j] < least)
				least = shared->passed[i][j];
	return least;
}

int main(int argc, char **argv)
{
	int status, ret = 0;

	if (argc < 3)
		return 2;
	nb = (unsigned int)atoi(argv[1]);
	nb_messages = argc > 3 ? (uint32_t)atoi(argv[3]) : UINT32_MAX;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nb < 2 || nb > NB_MAX || shared == MAP_FAILED)
		return 2;
	for (me = 0; me < nb; me++) {
		if (fork() != 0)
			continue;
		be_one((uint64_t)atoi(argv[2]));
		_exit(0);
	}
	for (unsigned int i = 0; i < nb; i++) {
		wait(&status);
		if (status != 0 && ret == 0) {
			/* The others wait for it. */
			ret = 1;
			atomic_fetch_add(&shared->over, NB_MAX);
			atomic_fetch_add(&shared->ready, NB_MAX);
		}
	}
	printf("web: %u messages\n", fewest());
	return ret;
}
