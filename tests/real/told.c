/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * How soon one end of a connection is told that the process with the other one
 * was killed: a child connects to its parent, which kills it.
 *
 * usage: told ADDRESS TIMES [orphan]
 *
 * orphan: the killed process has a child that was not made by fork(3), and so
 * has its session with the daemon still.
 *
 * Says on stdout: told us MEDIAN MOST
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "tests/real/user.h"

#define PORT "7474"
#define TIMES_MAX 1000
#define REST_US 20000 /* until both ends rest */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct rdma_cm_id *make(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags,
				       .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	user_check(rdma_getaddrinfo(address, PORT, &hints, &info) == 0,
		   "rdma_getaddrinfo");
	user_check(rdma_create_ep(&id, info, NULL, &attr) == 0,
		   "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

/* Until the other end of the pipe is closed. */
static void leave_orphan(const int *hold)
{
	const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	char c;

	user_check(child >= 0, "clone");
	if (child == 0) {
		close(hold[1]);
		_exit(read(hold[0], &c, 1) != 0);
	}
}

/* Until it is killed. hold: of an orphan; NULL: none. */
static _Noreturn void be_client(const char *address, const int *hold)
{
	struct rdma_cm_id *id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	id = make(address, 0);
	if (hold)
		leave_orphan(hold);
	user_check(rdma_connect(id, NULL) == 0, "rdma_connect");
	for (;;)
		pause();
}

static void put(int fd, uint64_t value)
{
	user_check(write(fd, &value, sizeof(value)) == sizeof(value), "write");
}

static uint64_t get(int fd)
{
	uint64_t value;

	user_check(read(fd, &value, sizeof(value)) == sizeof(value), "read");
	return value;
}

/* Says when it listens, for each connection that it has one, and when it was
 * told of the end.
 */
static _Noreturn void be_server(const char *address, int times, int fd)
{
	struct rdma_cm_id *listener = make(address, RAI_PASSIVE), *id;
	struct rdma_cm_event *event;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	user_check(rdma_listen(listener, 1) == 0, "rdma_listen");
	put(fd, 0);
	for (int i = 0; i < times; i++) {
		user_check(rdma_get_request(listener, &id) == 0 &&
				   rdma_accept(id, NULL) == 0,
			   "rdma_accept");
		put(fd, 0);
		user_check(rdma_get_cm_event(id->channel, &event) == 0,
			   "rdma_get_cm_event");
		put(fd, now_ns());
		user_check(event->event == RDMA_CM_EVENT_DISCONNECTED,
			   "DISCONNECTED");
		rdma_ack_cm_event(event);
		rdma_destroy_ep(id);
	}
	rdma_destroy_ep(listener);
	exit(0);
}

static uint64_t kill_one(const char *address, bool orphan, int fd)
{
	uint64_t killed_ns, told_ns;
	int hold[2];
	pid_t child;

	user_check(pipe(hold) == 0, "pipe");
	child = fork();
	user_check(child >= 0, "fork");
	if (child == 0)
		be_client(address, orphan ? hold : NULL);
	get(fd);
	usleep(REST_US);
	killed_ns = now_ns();
	user_check(kill(child, SIGKILL) == 0, "kill");
	told_ns = get(fd);
	user_check(waitpid(child, NULL, 0) == child, "waitpid");
	close(hold[0]);
	close(hold[1]);
	return told_ns - killed_ns;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	const bool orphan = argc == 4 && strcmp(argv[3], "orphan") == 0;
	const int times = argc == 3 || orphan ? atoi(argv[2]) : 0;
	static uint64_t ns[TIMES_MAX];
	pid_t server;
	int line[2], status;

	if (times < 1 || times > TIMES_MAX) {
		fprintf(stderr, "usage: told ADDRESS TIMES [orphan]\n");
		return 2;
	}
	user_check(pipe(line) == 0, "pipe");
	server = fork();
	user_check(server >= 0, "fork");
	if (server == 0)
		be_server(argv[1], times, line[1]);
	close(line[1]);
	get(line[0]);
	for (int i = 0; i < times; i++)
		ns[i] = kill_one(argv[1], orphan, line[0]);
	user_check(waitpid(server, &status, 0) == server && status == 0,
		   "server");
	qsort(ns, (size_t)times, sizeof(ns[0]), compare);
	printf("told us %u %u\n", (unsigned int)(ns[times / 2] / 1000),
	       (unsigned int)(ns[times - 1] / 1000));
	return 0;
}
