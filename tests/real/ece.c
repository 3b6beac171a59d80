/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Extended connection establishment as a program does it that has QPs of its
 * own: the client asks for options, the server grants some of them, and each
 * sees what the other one said. There are no QPs, only a QPN for each end.
 *
 * usage: ece server OWN-ADDRESS | client SERVER-ADDRESS
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#define PORT 7471
#define TIMEOUT_MS 5000
#define VENDOR 0x15b3u
#define ASKED 0xf000000fu
#define GRANTED 0x20000005u

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

/* The next event; the id of a request takes the listener's place. */
static void expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	need(rdma_get_cm_event(channel, &ev) == 0, "rdma_get_cm_event");
	if (ev->event != type) {
		fprintf(stderr, "%s failed: %s\n", rdma_event_str(type),
			rdma_event_str(ev->event));
		exit(EXIT_FAILURE);
	}
	id = ev->id;
	need(rdma_ack_cm_event(ev) == 0, "rdma_ack_cm_event");
}

static void say(uint32_t options)
{
	struct ibv_ece ece = { .vendor_id = VENDOR, .options = options };

	need(rdma_set_local_ece(id, &ece) == 0, "rdma_set_local_ece");
}

static void hear(uint32_t options)
{
	struct ibv_ece ece = { ~0u, ~0u, ~0u };

	need(rdma_get_remote_ece(id, &ece) == 0, "rdma_get_remote_ece");
	printf("heard %#x %#x\n", ece.vendor_id, ece.options);
	if (ece.vendor_id == VENDOR && ece.options == options &&
	    ece.comp_mask == 0)
		return;
	fprintf(stderr, "mismatch: %#x expected\n", options);
	exit(EXIT_FAILURE);
}

static void serve(struct sockaddr *own)
{
	struct rdma_conn_param param = { .qp_num = 0x222 };
	struct rdma_cm_id *listener = id;

	need(rdma_bind_addr(id, own) == 0, "rdma_bind_addr");
	need(rdma_listen(id, 1) == 0, "rdma_listen");
	expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	hear(ASKED);
	say(GRANTED);
	need(rdma_accept(id, &param) == 0, "rdma_accept");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(id);
	need(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
}

static void ask(struct sockaddr *server)
{
	struct rdma_conn_param param = { .qp_num = 0x111, .retry_count = 7 };

	need(rdma_resolve_addr(id, NULL, server, TIMEOUT_MS) == 0,
	     "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, TIMEOUT_MS) == 0, "rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	say(ASKED);
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
	hear(GRANTED);
	need(rdma_establish(id) == 0, "rdma_establish");
	need(rdma_disconnect(id) == 0, "rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};

	if (argc != 3)
		return EXIT_FAILURE;
	need(inet_pton(AF_INET, argv[2], &addr.sin_addr) == 1, argv[2]);
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	need(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0,
	     "rdma_create_id");
	if (strcmp(argv[1], "server") == 0)
		serve((struct sockaddr *)&addr);
	else
		ask((struct sockaddr *)&addr);
	need(rdma_destroy_id(id) == 0, "rdma_destroy_id");
	rdma_destroy_event_channel(channel);
	return EXIT_SUCCESS;
}
