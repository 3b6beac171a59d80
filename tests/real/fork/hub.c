/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A child that opens the device of its parent, at a hub: it is a client of its
 * own, and the two exchange messages. So is its child, whose parents have gone
 * on meanwhile. Or a child that opens the other end of its parent's link.
 *
 * usage: fork_hub [link]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define GID_INDEX 1
#define MESSAGES 200
#define LEN 2000u

static bool is_link; /* of two ends: the child has no child */

struct end {
	struct user_end user;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t buf[2][LEN]; /* to send, to receive */
};

static void open_end(struct end *e)
{
	user_open(&e->user, false);
	e->mr = ibv_reg_mr(e->user.pd, e->buf, sizeof(e->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	user_check(e->mr && ibv_query_gid(e->user.ctx, 1, GID_INDEX, &e->gid) ==
				    0,
		   "ibv_reg_mr");
}

static void post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf[1], LEN, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	user_check(ibv_post_recv(e->user.qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void post_send(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf[0], LEN, e->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	user_check(ibv_post_send(e->user.qp, &wr, &bad) == 0, "ibv_post_send");
}

/* A message and its answer: two completions at each end. */
static void wait_two(struct end *e)
{
	struct ibv_wc wc;

	for (int nb = 0; nb < 2;) {
		int n = ibv_poll_cq(e->user.cq, 1, &wc);

		user_check(n >= 0 && (n == 0 || wc.status == IBV_WC_SUCCESS),
			   "completion");
		nb += n;
	}
}

static void swap(int out, int in, const void *mine, void *theirs, size_t len)
{
	user_check(write(out, mine, len) == (ssize_t)len &&
			   read(in, theirs, len) == (ssize_t)len,
		   "pipe");
}

static void talk(struct end *e, int out, int in, uint8_t mine, uint8_t theirs)
{
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = GID_INDEX, .hop_limit = 1 },
	};
	uint32_t qpn;
	char ready;

	swap(out, in, &e->user.qp->qp_num, &qpn, sizeof(qpn));
	swap(out, in, &e->gid, &ah.grh.dgid, sizeof(e->gid));
	user_check(is_link || qpn != e->user.qp->qp_num, "QPNs differ");
	user_check(user_to_init(e->user.qp, 0) == 0, "INIT");
	post_recv(e);
	user_check(user_to_rtr(e->user.qp, qpn, &ah, 1) == 0, "RTR");
	user_check(user_to_rts(e->user.qp, 1) == 0, "RTS");
	swap(out, in, "r", &ready, 1);
	memset(e->buf[0], mine, LEN);
	for (int i = 0; i < MESSAGES; i++) {
		memset(e->buf[1], 0, LEN);
		/* Nobody sends before both have a buffer. */
		swap(out, in, "s", &ready, 1);
		post_send(e);
		wait_two(e);
		for (size_t k = 0; k < LEN; k++)
			user_check(e->buf[1][k] == theirs, "bytes");
		if (i + 1 < MESSAGES)
			post_recv(e);
	}
}

/* The child of generation number; its parent's objects stay as they are. */
static void generation(struct end *parent, unsigned int number)
{
	static struct end ends[2];
	int down[2], up[2], status;
	pid_t child;

	user_check(pipe(down) == 0 && pipe(up) == 0, "pipe");
	child = fork();
	user_check(child >= 0, "fork");
	if (child == 0) {
		struct end *e = &ends[number];

		open_end(e);
		talk(e, up[1], down[0], 'c', 'p');
		if (number == 0 && !is_link)
			generation(parent, 1);
		user_close(&e->user, e->mr);
		_exit(0);
	}
	if (number == 0) {
		talk(parent, down[1], up[0], 'p', 'c');
	} else {
		/* A new end, at the device that this process has open. */
		static struct end again;

		open_end(&again);
		talk(&again, down[1], up[0], 'p', 'c');
		user_close(&again.user, again.mr);
	}
	user_check(waitpid(child, &status, 0) == child && status == 0, "child");
}

int main(int argc, char **argv)
{
	static struct end parent;

	is_link = argc == 2 && strcmp(argv[1], "link") == 0;
	open_end(&parent);
	generation(&parent, 0);
	user_close(&parent.user, parent.mr);
	puts("done");
	return 0;
}
