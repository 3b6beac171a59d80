/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * As a daemon does, but late: a program with an open device closes descriptors
 * that it does not know, and opens files of its own under their numbers. They
 * must stay as they are while messages go on, and when the device is closed.
 * Both ends are such programs.
 *
 * usage: own_files [all]
 * It closes the first 256, and the messages do go on; or all, and the device is
 * lost.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define MESSAGES 100
#define PAUSE_US 5000
#define CLOSED 256
#define LOST_US 500000
#define SETS 20
#define LEN 64

struct end {
	struct user_end user;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t buf[2][LEN]; /* to send, to receive */
	int peer_fd;         /* the other process */
};

/* ---- the device ---------------------------------------------------------- */

static void open_end(struct end *e)
{
	user_open(&e->user, true);
	e->mr = ibv_reg_mr(e->user.pd, e->buf, sizeof(e->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	user_check(e->mr && ibv_query_gid(e->user.ctx, 1, 1, &e->gid) == 0,
		   "ibv_reg_mr");
}

static void swap(struct end *e, const void *mine, void *theirs, size_t len)
{
	user_check(write(e->peer_fd, mine, len) == (ssize_t)len &&
			   read(e->peer_fd, theirs, len) == (ssize_t)len,
		   "the other process");
}

static void connect_end(struct end *e)
{
	union ibv_gid gid;
	uint32_t qpn;

	swap(e, &e->user.qp->qp_num, &qpn, sizeof(qpn));
	swap(e, &e->gid, &gid, sizeof(gid));
	user_check(user_to_init(e->user.qp, 0) == 0, "INIT");
	user_connect_to(e->user.qp, &gid, qpn);
}

/* A message to the other end and one from there, asleep meanwhile. */
static void exchange(struct end *e)
{
	struct ibv_sge in = { (uintptr_t)e->buf[1], LEN, e->mr->lkey };
	struct ibv_sge out = { (uintptr_t)e->buf[0], LEN, e->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED,
				    .sg_list = &out,
				    .num_sge = 1 },
			   *bad_send;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	char ready;

	user_check(ibv_post_recv(e->user.qp, &recv, &bad_recv) == 0, "receive");
	swap(e, "r", &ready, 1);
	user_check(ibv_post_send(e->user.qp, &send, &bad_send) == 0, "send");
	for (int nb = 0; nb < 2;) {
		int n;

		user_check(ibv_req_notify_cq(e->user.cq, 0) == 0, "arm");
		while ((n = ibv_poll_cq(e->user.cq, 1, &wc)) > 0) {
			user_check(wc.status == IBV_WC_SUCCESS, "completion");
			nb++;
		}
		if (nb == 2)
			break;
		user_check(ibv_get_cq_event(e->user.channel, &cq, &context) ==
				   0,
			   "event");
		ibv_ack_cq_events(cq, 1);
	}
}

/* ---- the program's own files --------------------------------------------- */

static struct {
	int ends[2]; /* of a pipe, with LEN bytes in it */
	int file;    /* with LEN bytes, at the first one */
} own[SETS];

static void close_unknown(const struct end *e, int end)
{
	for (int fd = 3; fd < end; fd++)
		if (fd != e->peer_fd && fd != e->user.ctx->async_fd &&
		    fd != e->user.ctx->cmd_fd && fd != e->user.channel->fd)
			close(fd);
}

static void open_own(void)
{
	uint8_t bytes[LEN];

	for (int i = 0; i < SETS; i++) {
		memset(bytes, i + 1, LEN);
		own[i].file = memfd_create("own", 0);
		user_check(own[i].file >= 0 && own[i].file < CLOSED &&
				   pwrite(own[i].file, bytes, LEN, 0) == LEN,
			   "memfd_create");
		user_check(pipe(own[i].ends) == 0 &&
				   write(own[i].ends[1], bytes, LEN) == LEN,
			   "pipe");
	}
}

static void check_own(void)
{
	uint8_t want[LEN], got[LEN];
	struct stat st;
	int nb;

	for (int i = 0; i < SETS; i++) {
		memset(want, i + 1, LEN);
		user_check(ioctl(own[i].ends[0], FIONREAD, &nb) == 0 &&
				   nb == LEN &&
				   read(own[i].ends[0], got, LEN) == LEN &&
				   memcmp(got, want, LEN) == 0 &&
				   fcntl(own[i].ends[1], F_GETFD) == 0,
			   "the bytes of a pipe");
		user_check(fstat(own[i].file, &st) == 0 && st.st_size == LEN &&
				   lseek(own[i].file, 0, SEEK_CUR) == 0 &&
				   read(own[i].file, got, LEN) == LEN &&
				   memcmp(got, want, LEN) == 0,
			   "the bytes of a file");
	}
}

static void be_daemon(int peer_fd, bool all)
{
	static struct end e;

	e.peer_fd = peer_fd;
	open_end(&e);
	connect_end(&e);
	exchange(&e);
	close_unknown(&e, all ? (int)sysconf(_SC_OPEN_MAX) : CLOSED);
	open_own();
	for (int i = 0; !all && i < MESSAGES; i++) {
		usleep(PAUSE_US); /* all threads fall asleep */
		exchange(&e);
	}
	usleep(all ? LOST_US : 0);
	user_close(&e.user, e.mr);
	check_own();
}

int main(int argc, char **argv)
{
	const bool all = argc == 2 && strcmp(argv[1], "all") == 0;
	int ends[2], status;
	pid_t child;

	user_check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0,
		   "socketpair");
	child = fork();
	user_check(child >= 0, "fork");
	if (child == 0) {
		close(ends[0]);
		be_daemon(ends[1], all);
		_exit(0);
	}
	close(ends[1]);
	be_daemon(ends[0], all);
	user_check(waitpid(child, &status, 0) == child && status == 0, "child");
	return 0;
}
