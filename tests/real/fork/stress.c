/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Forks while other threads are inside calls of every sort: neither the parent
 * nor a child may hang, whatever lock a thread had at that moment. roost0 is in
 * use all the time.
 *
 * usage: fork_stress open    roost1 is opened and closed
 *        fork_stress cm      ids are resolved
 *        fork_stress start   forks while the first device is being opened
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "tests/real/user.h"

#define RUN_S 8
#define CHILD_S 10
#define START_S 60
#define CHILDREN_MAX 24
/* Each thread must get on at least so far. */
#define ROUNDS_MIN 3u

static struct ibv_device *devices[2];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static union ibv_gid gid;
static uint8_t buf[2][4096];
static atomic_bool over;

/* ---- what threads do, again and again ------------------------------------ */

static struct ibv_qp *qps[2];
static struct ibv_mr *mr;

static void connect_qps(void)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 16, 16, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_ah_attr ah = {
		.grh = { .dgid = gid, .sgid_index = 1, .hop_limit = 1 },
		.is_global = 1,
		.port_num = 1
	};

	for (int i = 0; i < 2; i++) {
		qps[i] = ibv_create_qp(pd, &attr);
		user_check(qps[i], "create_qp");
	}
	for (int i = 0; i < 2; i++)
		user_check(user_to_init(qps[i], IBV_ACCESS_REMOTE_WRITE) == 0 &&
				   user_to_rtr(qps[i], qps[!i]->qp_num, &ah,
					       0) == 0 &&
				   user_to_rts(qps[i], 0) == 0,
			   "modify_qp");
}

/* A WRITE, awaited by polling or by an event, and looked at. */
static void transfer(unsigned int round)
{
	struct ibv_sge sge = { (uintptr_t)buf[0], sizeof(buf[0]), mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { (uintptr_t)buf[1], mr->rkey } };
	struct ibv_send_wr *bad;
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *ctx;
	int n = 0;

	memset(buf[0], (int)round, sizeof(buf[0]));
	user_check(ibv_req_notify_cq(cq, 0) == 0, "arm");
	user_check(ibv_post_send(qps[0], &wr, &bad) == 0, "post");
	if (round % 2) {
		user_check(ibv_get_cq_event(channel, &which, &ctx) == 0,
			   "event");
		ibv_ack_cq_events(cq, 1);
	}
	while (n == 0)
		n = ibv_poll_cq(cq, 1, &wc);
	user_check(n == 1 && wc.status == IBV_WC_SUCCESS, "write");
	user_check(memcmp(buf[0], buf[1], sizeof(buf[0])) == 0, "bytes");
	/* Of a round without one. */
	if (round % 2 == 0) {
		user_check(ibv_get_cq_event(channel, &which, &ctx) == 0,
			   "event");
		ibv_ack_cq_events(cq, 1);
	}
}

static void make_objects(unsigned int round)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(context);
	struct ibv_cq *c = ibv_create_cq(context, 16, NULL, ch, 0);
	struct ibv_qp_init_attr attr = { .send_cq = c,
					 .recv_cq = c,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_pd *p = ibv_alloc_pd(context);
	struct ibv_qp *qp = ibv_create_qp(p, &attr);
	struct ibv_mr *m = ibv_reg_mr(p, buf, sizeof(buf), 0);

	(void)round;
	user_check(ch && c && p && qp && m, "create");
	user_check(user_to_init(qp, 0) == 0, "init");
	user_check(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(c) == 0 &&
			   ibv_destroy_comp_channel(ch) == 0 &&
			   ibv_dereg_mr(m) == 0 && ibv_dealloc_pd(p) == 0,
		   "destroy");
}

static void open_device(unsigned int round)
{
	struct ibv_context *c = ibv_open_device(devices[round % 2]);

	user_check(c, "open");
	user_check(ibv_close_device(c) == 0, "close");
}

static void resolve(unsigned int round)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *event = NULL;
	struct rdma_cm_id *id = NULL;

	(void)round;
	memcpy(&to.sin_addr, gid.raw + 12, 4);
	user_check(ch && rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0, "id");
	user_check(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) ==
				   0 &&
			   rdma_get_cm_event(ch, &event) == 0,
		   "resolve");
	user_check(event->event == RDMA_CM_EVENT_ADDR_RESOLVED, "resolved");
	rdma_ack_cm_event(event);
	user_check(rdma_destroy_id(id) == 0, "destroy_id");
	rdma_destroy_event_channel(ch);
}

static struct job {
	const char *name;
	void (*round)(unsigned int number);
	unsigned int rounds;
	pthread_t thread;
} jobs[] = {
	{ .name = "transfer", .round = transfer },
	{ .name = "objects", .round = make_objects },
	{ .name = "objects again", .round = make_objects },
	{ .name = "open", .round = open_device }, /* or resolve */
};

#define NB_JOBS (sizeof(jobs) / sizeof(jobs[0]))

static void *job_main(void *arg)
{
	struct job *job = arg;

	while (!atomic_load(&over))
		job->round(job->rounds++);
	return NULL;
}

/* ---- children ------------------------------------------------------------ */

/* A device of its own, on a link whose ends may both be taken. */
static bool opens_anew(void)
{
	struct ibv_context *c = ibv_open_device(devices[1]);
	struct ibv_port_attr port;

	if (!c)
		return errno == EBUSY;
	return ibv_query_port(c, 1, &port) == 0 && ibv_close_device(c) == 0;
}

/* Whatever the threads were at. Returns 0, or the number of what was wrong. */
static int be_child(void)
{
	struct ibv_port_attr port;
	struct rdma_cm_id *id;
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *ctx;

	close(STDERR_FILENO);
	if (!opens_anew())
		return 1;
	if (ibv_query_port(context, 1, &port) != EIO)
		return 2;
	if (ibv_poll_cq(cq, 1, &wc) >= 0 || ibv_alloc_pd(context))
		return 3;
	if (ibv_get_cq_event(channel, &which, &ctx) != -1)
		return 4;
	/* Its own, on devices of its own. */
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return 5;
	rdma_listen(id, 1);
	if (rdma_destroy_id(id))
		return 7;
	if (ibv_destroy_qp(qps[0]) || ibv_destroy_cq(cq) || ibv_dereg_mr(mr) ||
	    ibv_destroy_comp_channel(channel) || ibv_dealloc_pd(pd) ||
	    ibv_close_device(context))
		return 6;
	return 0;
}

static unsigned int fork_on(unsigned int seconds)
{
	const time_t until = time(NULL) + seconds;
	unsigned int nb = 0;
	int status;
	pid_t pid;

	for (; time(NULL) < until; nb++) {
		pid = fork();
		user_check(pid >= 0, "fork");
		if (pid == 0) {
			alarm(CHILD_S);
			exit(be_child());
		}
		user_check(waitpid(pid, &status, 0) == pid, "wait");
		if (status) {
			fprintf(stderr, "child %u: status %#x\n", nb, status);
			exit(1);
		}
	}
	return nb;
}

static void set_up(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	user_check(list && list[0] && list[1], "two devices");
	devices[0] = list[0];
	devices[1] = list[1];
	context = ibv_open_device(list[0]);
	user_check(context, "open");
	pd = ibv_alloc_pd(context);
	channel = ibv_create_comp_channel(context);
	cq = ibv_create_cq(context, 64, NULL, channel, 0);
	mr = ibv_reg_mr(pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	user_check(pd && channel && cq && mr, "objects");
	user_check(ibv_query_gid(context, 1, 1, &gid) == 0, "gid");
	connect_qps();
}

static void stress(void)
{
	unsigned int nb;

	set_up();
	for (size_t i = 0; i < NB_JOBS; i++)
		user_check(pthread_create(&jobs[i].thread, NULL, job_main,
					  &jobs[i]) == 0,
			   "thread");
	nb = fork_on(RUN_S);
	atomic_store(&over, true);
	for (size_t i = 0; i < NB_JOBS; i++) {
		pthread_join(jobs[i].thread, NULL);
		printf("%s %u, ", jobs[i].name, jobs[i].rounds);
		user_check(jobs[i].rounds >= ROUNDS_MIN, "too few rounds");
	}
	printf("%u children\n", nb);
}

/* ---- while DPDK starts --------------------------------------------------- */

static void *open_first(void *arg)
{
	context = ibv_open_device(devices[0]);
	user_check(context, "open");
	atomic_store(&over, true);
	return arg;
}

/* It was forked before, and opens the device; or it was not, and cannot. */
static int try_to_open(void)
{
	struct ibv_context *c;

	close(STDERR_FILENO);
	errno = 0;
	c = ibv_open_device(devices[1]);
	if (!c)
		return errno == 0;
	return ibv_close_device(c);
}

static void fork_at_start(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned int nb = 0, nb_bad = 0;
	pthread_t thread;
	int status;
	pid_t pid;

	user_check(list && list[0] && list[1], "two devices");
	devices[0] = list[0];
	devices[1] = list[1]; /* whose two ends children take */
	user_check(pthread_create(&thread, NULL, open_first, NULL) == 0,
		   "thread");
	for (; !atomic_load(&over) && nb < CHILDREN_MAX; nb++) {
		pid = fork();
		user_check(pid >= 0, "fork");
		if (pid == 0) {
			alarm(START_S);
			exit(try_to_open());
		}
		usleep(nb * 1000);
	}
	while (wait(&status) > 0)
		nb_bad += status != 0;
	pthread_join(thread, NULL);
	user_check(ibv_close_device(context) == 0, "close");
	printf("%u children, %u did not end well\n", nb, nb_bad);
	user_check(nb > 0 && nb_bad == 0, "children");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "start") == 0) {
		fork_at_start();
		return 0;
	}
	if (strcmp(argv[1], "cm") == 0)
		jobs[NB_JOBS - 1] =
			(struct job){ .name = "resolve", .round = resolve };
	stress();
	return 0;
}
