/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Connections of rdma_cm that stay in each of their states, for roost explain.
 * The server listens and does with requests what it is told (ignore: it reads
 * no event); the client waits for the file FOLDER/connect before it asks, and
 * for FOLDER/disconnect before it ends the connection. Each prints its events,
 * destroys no id, and goes on until it is killed.
 *
 * usage: cm_story server PORT accept|reject|ignore FOLDER
 *        cm_story client PORT ADDRESS FOLDER
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define TIMEOUT_MS 5000
#define BACKLOG 3
#define LOOK_MS 50

static struct rdma_event_channel *channel;
static const char *wish = "accept", *folder;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static void give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	need(rdma_create_qp(id, NULL, &attr) == 0, "rdma_create_qp");
}

static void answer(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	if (strcmp(wish, "reject") == 0) {
		need(rdma_reject(id, NULL, 0) == 0, "rdma_reject");
	} else {
		give_qp(id);
		need(rdma_accept(id, &param) == 0, "rdma_accept");
	}
}

static void take(const struct rdma_cm_event *ev)
{
	switch ((int)ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		give_qp(ev->id);
		need(rdma_resolve_route(ev->id, TIMEOUT_MS) == 0,
		     "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(ev->id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(ev->id);
		break;
	default:
		break;
	}
	if (ev->id->qp)
		printf("qp 0x%x\n", ev->id->qp->qp_num);
	printf("%s\n", rdma_event_str(ev->event));
	fflush(stdout);
}

static bool is_there(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* Events and files, for ever. */
static void go_on(struct rdma_cm_id *id)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_conn_param param = { .retry_count = 7 };
	bool asked = false, ended = false;
	struct rdma_cm_event *ev;

	for (;;) {
		if (poll(&fd, 1, LOOK_MS) == 1) {
			need(rdma_get_cm_event(channel, &ev) == 0,
			     "rdma_get_cm_event");
			take(ev);
			rdma_ack_cm_event(ev);
		}
		if (!asked && is_there("connect")) {
			asked = true;
			need(rdma_connect(id, &param) == 0, "rdma_connect");
		}
		if (!ended && is_there("disconnect")) {
			ended = true;
			need(rdma_disconnect(id) == 0, "rdma_disconnect");
		}
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (argc != 5)
		return EXIT_FAILURE;
	folder = argv[4];
	addr.sin_port = htons((uint16_t)atoi(argv[2]));
	channel = rdma_create_event_channel();
	need(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP),
	     "rdma_create_id");
	if (strcmp(argv[1], "server") == 0) {
		wish = argv[3];
		folder = "/nowhere";
		need(!rdma_bind_addr(id, (struct sockaddr *)&addr) &&
			     !rdma_listen(id, BACKLOG),
		     "rdma_listen");
		puts("listening");
		fflush(stdout);
		while (strcmp(wish, "ignore") == 0)
			pause();
	} else {
		need(inet_pton(AF_INET, argv[3], &addr.sin_addr) == 1, argv[3]);
		need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr,
					TIMEOUT_MS),
		     "rdma_resolve_addr");
	}
	go_on(id);
}
