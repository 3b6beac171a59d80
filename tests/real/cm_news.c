/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Prints what its ids hear, one line "event WHO" each, until the device of all
 * of them is gone; then destroys them and says so. The server has a listener
 * at its address, and the connection; the client has a connection, and an id
 * that is only bound.
 *
 * usage: cm_news server OWN-ADDRESS | client OWN-ADDRESS SERVER-ADDRESS
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

#define PORT 7471
#define TIMEOUT_MS 5000

static struct rdma_event_channel *channel;
static struct rdma_cm_id *at, *connection; /* listens, or is just bound */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	need(inet_pton(AF_INET, ip, &addr.sin_addr) == 1, ip);
	return addr;
}

static void print(enum rdma_cm_event_type event, const struct rdma_cm_id *id)
{
	printf("%s %s\n", rdma_event_str(event),
	       id == at ? "at" : "connection");
	fflush(stdout);
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

/* The device is gone when so many ids have heard it. */
static void take(int nb_ids)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_event *ev;

	while (nb_ids > 0) {
		need(rdma_get_cm_event(channel, &ev) == 0, "rdma_get_cm_event");
		print(ev->event, ev->id);
		switch ((int)ev->event) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
			give_qp(connection);
			need(!rdma_resolve_route(connection, TIMEOUT_MS),
			     "rdma_resolve_route");
			break;
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
			need(!rdma_connect(connection, &param), "rdma_connect");
			break;
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			connection = ev->id;
			give_qp(connection);
			need(!rdma_accept(connection, &param), "rdma_accept");
			break;
		case RDMA_CM_EVENT_DEVICE_REMOVAL:
			nb_ids--;
			break;
		default:
			break;
		}
		rdma_ack_cm_event(ev);
	}
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void leave(void)
{
	const double began_s = now_s();

	need(rdma_disconnect(connection) == -1, "rdma_disconnect succeeded");
	rdma_destroy_qp(connection);
	need(rdma_destroy_id(connection) == 0, "rdma_destroy_id");
	need(rdma_destroy_id(at) == 0, "rdma_destroy_id");
	rdma_destroy_event_channel(channel);
	printf("destroyed in %.3f s\n", now_s() - began_s);
}

int main(int argc, char **argv)
{
	struct sockaddr_in own, server;

	if (argc < 3)
		return EXIT_FAILURE;
	channel = rdma_create_event_channel();
	need(channel != NULL, "rdma_create_event_channel");
	own = address(argv[2], argc == 3 ? PORT : 0);
	need(!rdma_create_id(channel, &at, NULL, RDMA_PS_TCP) &&
		     !rdma_bind_addr(at, (struct sockaddr *)&own),
	     "rdma_bind_addr");
	if (argc == 3) {
		need(!rdma_listen(at, 1), "rdma_listen");
		puts("listening");
		fflush(stdout);
	} else {
		server = address(argv[3], PORT);
		need(!rdma_create_id(channel, &connection, NULL, RDMA_PS_TCP) &&
			     !rdma_resolve_addr(connection, NULL,
						(struct sockaddr *)&server,
						TIMEOUT_MS),
		     "rdma_resolve_addr");
	}
	take(2);
	leave();
	return EXIT_SUCCESS;
}
