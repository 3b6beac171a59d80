/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A server that ends by _exit() the moment it has its message, again and again:
 * its client's SEND completes well, each time. A leaver is a client that
 * disconnects from the server that has ended.
 *
 * usage: last_ack server OWN-ADDRESS ROUNDS |
 *                 client|leaver SERVER-ADDRESS ROUNDS
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PORT "7473"
#define TRIES 500 /* until the next server listens */
#define TRY_MS 10

static char message[16];

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

/* NULL: there is no way to the address now. */
static struct rdma_cm_id *end_at(const char *address, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags | RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr attr = {
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	need(rdma_getaddrinfo(address, PORT, &hints, &info) == 0, address);
	if (rdma_create_ep(&id, info, NULL, &attr) != 0)
		id = NULL;
	rdma_freeaddrinfo(info);
	return id;
}

static struct ibv_mr *registered(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, message, sizeof(message));

	need(mr != NULL, "rdma_reg_msgs");
	return mr;
}

/* In a process of its own. */
static void serve_one(const char *address)
{
	struct rdma_cm_id *listener = end_at(address, RAI_PASSIVE), *id;
	struct ibv_wc wc;
	int n;

	need(listener && rdma_listen(listener, 1) == 0, "rdma_listen");
	need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
	need(rdma_post_recv(id, NULL, message, sizeof(message),
			    registered(id)) == 0,
	     "rdma_post_recv");
	need(rdma_accept(id, NULL) == 0, "rdma_accept");
	do {
		n = ibv_poll_cq(id->recv_cq, 1, &wc);
	} while (n == 0);
	_exit(n == 1 && wc.status == IBV_WC_SUCCESS ? EXIT_SUCCESS
						    : EXIT_FAILURE);
}

static void serve(const char *address, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int status = 0;
		pid_t child = fork();

		need(child >= 0, "fork");
		if (child == 0)
			serve_one(address);
		need(waitpid(child, &status, 0) == child, "waitpid");
		need(status == 0, "a server");
	}
}

/* Connect to a server that listens soon. */
static struct rdma_cm_id *connected(const char *address)
{
	const struct timespec nap = { .tv_nsec = TRY_MS * 1000000 };
	struct rdma_conn_param param = { .retry_count = 2 };

	for (int i = 0; i < TRIES; i++) {
		struct rdma_cm_id *id = end_at(address, 0);

		if (id && rdma_connect(id, &param) == 0)
			return id;
		if (id)
			rdma_destroy_ep(id);
		nanosleep(&nap, NULL);
	}
	perror("rdma_connect");
	exit(EXIT_FAILURE);
}

/* Says how long it took. */
static void leave(struct rdma_cm_id *id)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	need(rdma_disconnect(id) == 0 || errno == ETIMEDOUT, "rdma_disconnect");
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("left after %ld ms\n",
	       (to.tv_sec - from.tv_sec) * 1000 +
		       (to.tv_nsec - from.tv_nsec) / 1000000);
}

static void send_one(const char *address, bool leaves)
{
	struct rdma_cm_id *id = connected(address);
	struct ibv_mr *mr = registered(id);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	int n;

	need(rdma_post_send(id, NULL, message, sizeof(message), mr, 0) == 0,
	     "rdma_post_send");
	do {
		n = ibv_poll_cq(id->send_cq, 1, &wc);
	} while (n == 0);
	if (n != 1 || wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "send: %s\n", ibv_wc_status_str(wc.status));
		exit(EXIT_FAILURE);
	}
	if (leaves)
		leave(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[3]) : 0;

	if (rounds <= 0)
		return EXIT_FAILURE;
	if (strcmp(argv[1], "server") == 0)
		serve(argv[2], rounds);
	else
		for (int i = 0; i < rounds; i++)
			send_one(argv[2], strcmp(argv[1], "leaver") == 0);
	return EXIT_SUCCESS;
}
