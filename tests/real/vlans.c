/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary program on several devices at once: a thread for each address,
 * and in each a connection over which messages go both ways and are compared.
 *
 * usage: vlans [-e] server|client ADDR...
 *
 * Both ends name the server's addresses. -e: sleep in the completion channel
 * instead of polling. Exit status 0: every thread moved all its messages.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define TCP_PORT "7471"
#define ADDRS_MAX 8
#define MSG_BYTES 8192u
#define ITERS 2000u
/* The server may not listen yet. */
#define TRIES 100
#define TRY_US 100000u

struct lane {
	pthread_t thread;
	const char *addr;
	struct rdma_cm_id *listener; /* the server's */
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t out[MSG_BYTES];
	uint8_t in[MSG_BYTES];
	struct ibv_mr *in_mr;
};

static bool by_events, is_server;
static struct lane lanes[ADDRS_MAX];

static void die(const struct lane *lane, const char *what)
{
	fprintf(stderr, "vlans: %s: %s: %s\n", lane->addr, what,
		strerror(errno));
	exit(EXIT_FAILURE);
}

/* ---- connections ----------------------------------------------------------
 */

static int create_ep(struct lane *lane, struct rdma_cm_id **id)
{
	struct rdma_addrinfo hints = {
		.ai_flags = is_server ? RAI_PASSIVE : 0,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info;
	int ret;

	if (rdma_getaddrinfo(lane->addr, TCP_PORT, &hints, &info))
		die(lane, "rdma_getaddrinfo");
	ret = rdma_create_ep(id, info, NULL, &init);
	rdma_freeaddrinfo(info);
	return ret;
}

static void prepare(struct lane *lane)
{
	lane->mr = rdma_reg_msgs(lane->id, lane->out, MSG_BYTES);
	lane->in_mr = rdma_reg_msgs(lane->id, lane->in, MSG_BYTES);
	if (!lane->mr || !lane->in_mr)
		die(lane, "rdma_reg_msgs");
	if (rdma_post_recv(lane->id, NULL, lane->in, MSG_BYTES, lane->in_mr))
		die(lane, "rdma_post_recv");
}

static void be_called(struct lane *lane)
{
	if (create_ep(lane, &lane->listener) || rdma_listen(lane->listener, 1))
		die(lane, "rdma_listen");
	if (rdma_get_request(lane->listener, &lane->id))
		die(lane, "rdma_get_request");
	prepare(lane);
	if (rdma_accept(lane->id, NULL))
		die(lane, "rdma_accept");
}

static void call(struct lane *lane)
{
	for (int i = 0; i < TRIES; i++) {
		if (create_ep(lane, &lane->id) == 0) {
			prepare(lane);
			if (rdma_connect(lane->id, NULL) == 0)
				return;
			rdma_dereg_mr(lane->mr);
			rdma_dereg_mr(lane->in_mr);
			rdma_destroy_ep(lane->id);
		}
		usleep(TRY_US);
	}
	die(lane, "rdma_connect");
}

/* ---- messages -------------------------------------------------------------
 */

static void fill(struct lane *lane, uint32_t number)
{
	uint32_t x = number * 2654435761u;

	for (const char *c = lane->addr; *c; c++)
		x = x * 31 + (uint8_t)*c;
	for (unsigned int i = 0; i < MSG_BYTES; i++) {
		x = x * 1664525u + 1013904223u;
		lane->out[i] = (uint8_t)(x >> 24);
	}
}

static void await(struct lane *lane, bool send)
{
	struct ibv_cq *cq = send ? lane->id->send_cq : lane->id->recv_cq;
	struct ibv_wc wc;
	int n;

	if (by_events)
		n = send ? rdma_get_send_comp(lane->id, &wc)
			 : rdma_get_recv_comp(lane->id, &wc);
	else
		do {
			n = ibv_poll_cq(cq, 1, &wc);
		} while (n == 0);
	if (n != 1)
		die(lane, "no completion");
	if (wc.status != IBV_WC_SUCCESS) {
		errno = EIO;
		die(lane, ibv_wc_status_str(wc.status));
	}
}

static void send_message(struct lane *lane)
{
	if (rdma_post_send(lane->id, NULL, lane->out, MSG_BYTES, lane->mr, 0))
		die(lane, "rdma_post_send");
	await(lane, true);
}

static void take_message(struct lane *lane)
{
	await(lane, false);
	if (memcmp(lane->in, lane->out, MSG_BYTES) != 0) {
		errno = EBADMSG;
		die(lane, "data differ");
	}
	if (rdma_post_recv(lane->id, NULL, lane->in, MSG_BYTES, lane->in_mr))
		die(lane, "rdma_post_recv");
}

static void *lane_main(void *arg)
{
	struct lane *lane = arg;

	if (is_server)
		be_called(lane);
	else
		call(lane);
	for (uint32_t i = 0; i < ITERS; i++) {
		fill(lane, i);
		if (is_server) {
			take_message(lane);
			send_message(lane);
		} else {
			send_message(lane);
			take_message(lane);
		}
	}
	printf("%s over %s: %u messages\n", lane->addr,
	       lane->id->verbs->device->name, ITERS);
	return NULL;
}

int main(int argc, char **argv)
{
	int nb;

	if (argc > 1 && strcmp(argv[1], "-e") == 0) {
		by_events = true;
		argc--;
		argv++;
	}
	nb = argc - 2;
	if (nb < 1 || nb > ADDRS_MAX)
		return 2;
	is_server = strcmp(argv[1], "server") == 0;
	for (int i = 0; i < nb; i++) {
		lanes[i].addr = argv[2 + i];
		errno = pthread_create(&lanes[i].thread, NULL, lane_main,
				       &lanes[i]);
		if (errno)
			die(&lanes[i], "pthread_create");
	}
	for (int i = 0; i < nb; i++)
		pthread_join(lanes[i].thread, NULL);
	return 0;
}
