/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The children of fork_pair: each kind does one thing that must not hurt its
 * parent, and ends with 0 if it was answered as doc/compat.md says.
 */
#include "tests/real/fork/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#define CHILD_S 10
#define POLLS 20000

extern char **environ;

/* ---- in the child: 0 if all is as it should be --------------------------- */

static int polls(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < POLLS; i++)
		if (ibv_poll_cq(end.id->recv_cq, 1, &wc) >= 0 ||
		    ibv_poll_cq(end.id->send_cq, 1, &wc) >= 0)
			return 1;
	return 0;
}

static int posts(void)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, 4096, end.mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;

	return ibv_post_send(end.id->qp, &wr, &bad) != EIO || bad != &wr ||
	       ibv_post_recv(end.id->qp, &recv, &bad_recv) != EIO ||
	       ibv_req_notify_cq(end.id->recv_cq, 0) != EIO;
}

/* Each would block, or take what is the parent's. */
static int reads_events(void)
{
	struct ibv_async_event async;
	struct rdma_cm_event *event;
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(end.id->recv_cq_channel, &cq, &context) != -1 ||
	    errno != EIO || ibv_get_async_event(end.id->verbs, &async) != -1 ||
	    errno != EIO)
		return 1;
	return rdma_get_cm_event(end.id->channel, &event) != -1 || errno != EIO;
}

static int tries_data_verbs(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	for (int i = 0; i < POLLS; i++) {
		(void)ibv_poll_cq(end.id->recv_cq, 1, &wc);
		(void)ibv_poll_cq(end.id->send_cq, 1, &wc);
		if (i % 100 == 0)
			(void)ibv_post_send(end.id->qp, &wr, &bad);
	}
	return 0;
}

/* At a hub it is a client of its own. */
static int opens(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	int rc;

	close(STDERR_FILENO);
	context = list ? ibv_open_device(list[0]) : NULL;
	if (end.is_at_hub)
		rc = !context || ibv_close_device(context);
	else
		rc = context || errno != EBUSY;
	ibv_free_device_list(list);
	return rc;
}

static int ends_all(void)
{
	struct ibv_context *context = end.id->verbs;

	if (rdma_disconnect(end.id) != -1 || errno != EIO ||
	    rdma_dereg_mr(end.mr) != 0)
		return 1;
	rdma_destroy_ep(end.id);
	if (end.other)
		rdma_destroy_ep(end.other);
	return ibv_close_device(context);
}

static int has_children(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		exit(polls() || opens() || ends_all());
	return waitpid(pid, &status, 0) != pid || status;
}

static void *poll_main(void *arg)
{
	return polls() ? arg : NULL;
}

static int has_threads(void)
{
	pthread_t threads[4];
	void *failed, *any = NULL;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, poll_main, &any))
			return 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		any = failed ? failed : any;
	}
	return any != NULL;
}

static int executes(void)
{
	execl("/bin/true", "true", NULL);
	return 1;
}

static int is_killed(void)
{
	(void)polls();
	raise(SIGKILL);
	return 1;
}

static int does_nothing(void)
{
	return 0;
}

/* ---- in the parent ------------------------------------------------------- */

static pid_t by_fork(int (*in_child)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(CHILD_S);
		exit(in_child());
	}
	return pid;
}

/* No handler of fork(3) runs: neither stdio nor malloc may be used. */
static pid_t by_system_call(int (*in_child)(void))
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		struct ibv_port_attr attr;

		if (ibv_query_port(end.id->verbs, 1, &attr) != EIO)
			_exit(1);
		_exit(in_child());
	}
	return pid;
}

/* Data verbs, before anything has told that this is a child. They may find a
 * lock that is held for ever; what counts is that the parent gets its frames.
 */
static pid_t by_system_call_at_once(int (*in_child)(void))
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		alarm(1);
		(void)in_child();
		raise(SIGALRM);
	}
	return pid;
}

static pid_t by_vfork(int (*in_child)(void))
{
	pid_t pid = vfork();

	(void)in_child;
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return pid;
}

static pid_t by_spawn(int (*in_child)(void))
{
	static char name[] = "true";
	char *argv[] = { name, NULL };
	pid_t pid;

	(void)in_child;
	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ? -1
									 : pid;
}

/* As daemon(3) does: the child stays behind, and the parent is gone. */
static pid_t by_shell(int (*in_child)(void))
{
	FILE *file = popen("exit 0", "r");

	if (!file || pclose(file) != 0 || system("exit 0") != 0)
		return -1;
	return by_fork(in_child);
}

static const struct kind {
	pid_t (*make)(int (*in_child)(void));
	int (*in_child)(void);
	int status; /* that wait(2) gives */
} kinds[] = {
	{ by_fork, polls, 0 },
	{ by_fork, posts, 0 },
	{ by_fork, reads_events, 0 },
	{ by_fork, opens, 0 },
	{ by_fork, ends_all, 0 },
	{ by_fork, has_children, 0 },
	{ by_fork, has_threads, 0 },
	{ by_fork, executes, 0 },
	{ by_fork, is_killed, SIGKILL },
	{ by_fork, does_nothing, 0 },
	{ by_vfork, NULL, 0 },
	{ by_spawn, NULL, 0 },
	{ by_shell, does_nothing, 0 },
	{ by_system_call, polls, 0 },
	{ by_system_call_at_once, tries_data_verbs, SIGALRM },

};

bool pair_child(unsigned int number)
{
	const unsigned int kind = number % (sizeof(kinds) / sizeof(kinds[0]));
	const pid_t pid = kinds[kind].make(kinds[kind].in_child);
	int status;

	if (pid > 0 && waitpid(pid, &status, 0) == pid &&
	    status == kinds[kind].status)
		return true;
	fprintf(stderr, "child %u, kind %u: status %#x\n", number, kind,
		pid > 0 ? (unsigned int)status : 0xffff);
	return false;
}
