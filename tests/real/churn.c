/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Processes that connect in pairs by rdma_cm and exchange messages, each byte
 * looked at. All the time one of them, any, is killed wherever it is, and
 * another one takes its place.
 *
 * usage: churn ADDRESS SECONDS EVERY_MS
 *
 * Says on stdout: killed N connected N messages N
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#include "tests/real/user.h"

#define PAIRS 4
#define PORT_FIRST 7500
#define LEN 3000u
/* The other one may have been killed just now. */
#define AGAIN_US 2000

static struct {
	atomic_uint connected, messages;
} * count; /* of all */

static const char *address;

/* ---- a member ------------------------------------------------------------ */

/* Returns false: there is none now. */
static bool make(int pair, int flags, struct rdma_cm_id **id)
{
	struct rdma_addrinfo hints = { .ai_flags = flags,
				       .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_addrinfo *info;
	char port[12];
	bool made;

	snprintf(port, sizeof(port), "%d", PORT_FIRST + pair);
	user_check(rdma_getaddrinfo(address, port, &hints, &info) == 0,
		   "rdma_getaddrinfo");
	made = rdma_create_ep(id, info, NULL, &attr) == 0;
	rdma_freeaddrinfo(info);
	/* The last one's port number is free when its end was seen. */
	user_check(made || errno == EADDRINUSE, "rdma_create_ep");
	return made;
}

/* Returns false: the connection has ended. */
static bool wait_one(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct pollfd ended = { .fd = id->channel->fd, .events = POLLIN };
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		if (poll(&ended, 1, 1) != 0)
			return false;
	user_check(n == 1, "ibv_poll_cq");
	return wc.status == IBV_WC_SUCCESS;
}

static bool say(struct rdma_cm_id *id, struct ibv_mr *mr, uint8_t *buf,
		uint8_t number)
{
	for (uint32_t i = 0; i < LEN; i++)
		buf[i] = (uint8_t)(number + i);
	return rdma_post_send(id, NULL, buf, LEN, mr, IBV_SEND_SIGNALED) == 0 &&
	       wait_one(id, id->send_cq);
}

static bool hear(struct rdma_cm_id *id, struct ibv_mr *mr, uint8_t *buf,
		 uint8_t number)
{
	if (!wait_one(id, id->recv_cq))
		return false;
	for (uint32_t i = 0; i < LEN; i++)
		user_check(buf[i] == (uint8_t)(number + i), "bytes");
	atomic_fetch_add(&count->messages, 1);
	return rdma_post_recv(id, NULL, buf, LEN, mr) == 0;
}

/* Until the other one is killed. */
static void talk(struct rdma_cm_id *id, bool is_first)
{
	static uint8_t out[LEN], in[LEN];
	struct ibv_mr *out_mr = rdma_reg_msgs(id, out, LEN);
	struct ibv_mr *in_mr = rdma_reg_msgs(id, in, LEN);
	uint8_t number = 0;
	bool good;

	user_check(out_mr && in_mr, "rdma_reg_msgs");
	user_check(rdma_post_recv(id, NULL, in, LEN, in_mr) == 0,
		   "rdma_post_recv");
	good = (is_first ? rdma_connect(id, NULL) : rdma_accept(id, NULL)) == 0;
	if (good)
		atomic_fetch_add(&count->connected, 1);
	for (; good; number++)
		good = (!is_first || say(id, out_mr, out, number)) &&
		       hear(id, in_mr, in, number) &&
		       (is_first || say(id, out_mr, out, number));
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
}

static _Noreturn void serve(int pair)
{
	struct rdma_cm_id *listener, *id;

	while (!make(pair, RAI_PASSIVE, &listener))
		usleep(AGAIN_US);
	user_check(rdma_listen(listener, 4) == 0, "rdma_listen");
	for (;;) {
		user_check(rdma_get_request(listener, &id) == 0,
			   "rdma_get_request");
		talk(id, false);
		rdma_destroy_ep(id);
	}
}

static _Noreturn void ask(int pair)
{
	struct rdma_cm_id *id;

	for (;; usleep(AGAIN_US)) {
		user_check(make(pair, 0, &id), "rdma_create_ep");
		talk(id, true);
		rdma_destroy_ep(id);
	}
}

static pid_t start(int member)
{
	const pid_t pid = fork();

	user_check(pid >= 0, "fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (member % 2 == 0)
		serve(member / 2);
	ask(member / 2);
}

/* ---- all ----------------------------------------------------------------- */

/* Those that have ended: none by itself. options: of waitpid(2). */
static void bury(int options)
{
	int status;

	while (waitpid(-1, &status, options) > 0)
		user_check(WIFSIGNALED(status),
			   "a member that ended by itself");
}

static void add_ms(struct timespec *at, long ms)
{
	at->tv_nsec += ms * 1000000;
	at->tv_sec += at->tv_nsec / 1000000000;
	at->tv_nsec %= 1000000000;
}

int main(int argc, char **argv)
{
	const long every_ms = argc == 4 ? atol(argv[3]) : 0;
	pid_t members[2 * PAIRS];
	struct timespec due;
	long nb;

	if (every_ms < 1) {
		fprintf(stderr, "usage: churn ADDRESS SECONDS EVERY_MS\n");
		return 2;
	}
	address = argv[1];
	nb = atol(argv[2]) * 1000 / every_ms;
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	user_check(count != MAP_FAILED, "mmap");
	srandom((unsigned int)getpid());
	for (int i = 0; i < 2 * PAIRS; i++)
		members[i] = start(i);
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (long i = 0; i < nb; i++) {
		const long which = random() % (2 * PAIRS);

		add_ms(&due, every_ms);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		user_check(kill(members[which], SIGKILL) == 0, "kill");
		bury(WNOHANG);
		members[which] = start((int)which);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		kill(members[i], SIGKILL);
	bury(0);
	printf("killed %ld connected %u messages %u\n", nb,
	       atomic_load(&count->connected), atomic_load(&count->messages));
	return 0;
}
