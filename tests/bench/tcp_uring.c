/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A message that is given waits for the next call: a send and the receive
 * behind it take one system call. There is one send at a time. Linked ones
 * would keep their order, too, but the kernel leaves those to threads of its
 * own when the socket is full. The thread polls the completion ring in its own
 * memory, and enters the kernel when the ring says that there is something to
 * run.
 */

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/bench/tcp_io.h"

#define ENTRIES 8u

static struct io_uring ring;
static int socket_fd;
static bool is_given; /* and not completed */
static bool gone;
static const char taken; /* user data of a receive; of a send: its length */

static _Noreturn void die(const char *what, int rc)
{
	fprintf(stderr, "tcp: %s: %s\n", what, strerror(-rc));
	exit(EXIT_FAILURE);
}

void tcp_io_open(int fd)
{
	int rc;

	socket_fd = fd;
	rc = io_uring_queue_init(ENTRIES, &ring,
				 IORING_SETUP_SINGLE_ISSUER |
					 IORING_SETUP_DEFER_TASKRUN |
					 IORING_SETUP_TASKRUN_FLAG);
	if (rc == -EINVAL) /* before Linux 6.1 */
		rc = io_uring_queue_init(ENTRIES, &ring, 0);
	if (rc < 0)
		die("io_uring", rc);
}

static void submit(void)
{
	int rc = io_uring_submit(&ring);

	if (rc < 0)
		die("io_uring_submit", rc);
}

/* The next completion. Returns how many bytes were received; -1: it was that of
 * a send.
 */
static int reap(void)
{
	struct io_uring_cqe *cqe;
	const void *data;
	int res;

	while (io_uring_peek_cqe(&ring, &cqe) != 0)
		;
	data = io_uring_cqe_get_data(cqe);
	res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	if (data == &taken)
		return res < 0 ? 0 : res;
	is_given = false;
	gone = gone || res != (int)(intptr_t)data;
	return -1;
}

void tcp_io_flush(void)
{
	submit();
	while (is_given)
		reap();
}

bool tcp_io_give(const void *buf, size_t n)
{
	struct io_uring_sqe *sqe;

	if (is_given)
		tcp_io_flush();
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_send(sqe, socket_fd, buf, n, MSG_NOSIGNAL | MSG_WAITALL);
	io_uring_sqe_set_data(sqe, (void *)(intptr_t)n);
	is_given = true;
	return !gone;
}

size_t tcp_io_take(void *buf, size_t n)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	int got;

	io_uring_prep_recv(sqe, socket_fd, buf, n, 0);
	io_uring_sqe_set_data(sqe, (void *)(intptr_t)&taken);
	submit();
	while ((got = reap()) < 0)
		;
	return (size_t)got;
}
