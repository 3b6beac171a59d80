/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What a message costs a program: verbs, locks, transport and port of both ends
 * in one thread, so that nobody waits for a second core. An ordinary verbs
 * program with two devices, the ends of one link:
 *
 *   roost run --link bench --link bench -- bench_verbs
 *
 * usage: bench_verbs [-n COUNT] [-s BYTES]
 *   -n  messages a round (default: 200000)
 *   -s  bytes of each, inline; 1 to 64 (default: 16)
 *
 * RC WRITEs, posted one at a time as perftest does: 128 outstanding, every
 * hundredth signalled. Prints "verbs ns N": CPU time a message, the best of
 * five rounds.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define ROUNDS 5u
#define OUTSTANDING 128u
#define SIGNAL_EVERY 100u
#define BYTES_MAX 64u
#define POLLED 16
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
/* The ports of a link are active when both are there. */
#define ACTIVE_TRIES 500u
#define ACTIVE_PAUSE_US 10000u

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	uint8_t buf[BYTES_MAX];
};

static struct end from, to;
static unsigned long count = 200000;
static unsigned int bytes = 16;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void open_end(struct end *end, struct ibv_device *device)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = OUTSTANDING,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = BYTES_MAX },
	};

	end->context = ibv_open_device(device);
	user_check(end->context, "ibv_open_device");
	end->pd = ibv_alloc_pd(end->context);
	user_check(end->pd, "ibv_alloc_pd");
	end->mr = ibv_reg_mr(end->pd, end->buf, sizeof(end->buf), ACCESS);
	user_check(end->mr, "ibv_reg_mr");
	end->cq = ibv_create_cq(end->context, (int)OUTSTANDING, NULL, NULL, 0);
	user_check(end->cq, "ibv_create_cq");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	user_check(end->qp, "ibv_create_qp");
	user_check(ibv_query_gid(end->context, 1, 0, &end->gid) == 0,
		   "ibv_query_gid");
}

static void wait_until_active(struct end *end)
{
	struct ibv_port_attr attr = { .state = IBV_PORT_DOWN };

	for (unsigned int i = 0; i < ACTIVE_TRIES; i++) {
		user_check(ibv_query_port(end->context, 1, &attr) == 0,
			   "ibv_query_port");
		if (attr.state == IBV_PORT_ACTIVE)
			return;
		usleep(ACTIVE_PAUSE_US);
	}
	user_check(false, "the port does not become active");
}

static void connect_to(struct end *end, const struct end *peer)
{
	const struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = peer->gid, .hop_limit = 64 },
	};

	user_check(user_to_init(end->qp, ACCESS) == 0, "to INIT");
	user_check(user_to_rtr(end->qp, peer->qp->qp_num, &ah, 0) == 0,
		   "to RTR");
	user_check(user_to_rts(end->qp, 0) == 0, "to RTS");
}

static void post(unsigned long number)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from.buf, .length = bytes };
	struct ibv_send_wr *bad, wr = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = (uintptr_t)to.buf,
			     .rkey = to.mr->rkey },
	};

	if (number % SIGNAL_EVERY == SIGNAL_EVERY - 1 || number == count - 1)
		wr.send_flags |= IBV_SEND_SIGNALED;
	user_check(ibv_post_send(from.qp, &wr, &bad) == 0, "ibv_post_send");
}

/* How many are complete, as far as the last signalled one says. */
static unsigned long poll_ends(unsigned long done)
{
	struct ibv_wc wc[POLLED];
	int n;

	/* No completion comes here; its polls turn the worker. */
	ibv_poll_cq(to.cq, POLLED, wc);
	n = ibv_poll_cq(from.cq, POLLED, wc);
	user_check(n >= 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		user_check(wc[i].status == IBV_WC_SUCCESS,
			   ibv_wc_status_str(wc[i].status));
		done = wc[i].wr_id + 1;
	}
	return done;
}

static double round_ns(void)
{
	unsigned long posted = 0, done = 0;
	double start_ns = cpu_ns();

	while (done < count) {
		while (posted < count && posted - done < OUTSTANDING)
			post(posted++);
		done = poll_ends(done);
	}
	return (cpu_ns() - start_ns) / (double)count;
}

int main(int argc, char **argv)
{
	struct ibv_device **list;
	double ns, best_ns = 0;
	int c, nb;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			count = strtoul(optarg, NULL, 10);
		else if (c == 's')
			bytes = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	errno = EINVAL;
	user_check(count > 0 && bytes > 0 && bytes <= BYTES_MAX,
		   "count or bytes");
	list = ibv_get_device_list(&nb);
	user_check(list && nb == 2, "not two devices");
	open_end(&from, list[0]);
	open_end(&to, list[1]);
	ibv_free_device_list(list);
	wait_until_active(&from);
	wait_until_active(&to);
	connect_to(&from, &to);
	connect_to(&to, &from);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		ns = round_ns();
		best_ns = i == 0 || ns < best_ns ? ns : best_ns;
	}
	printf("verbs ns %.1f\n", best_ns);
	return 0;
}
