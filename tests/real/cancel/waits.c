/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What waits, and what does not, of rdma_cm and rsockets. */

#include <arpa/inet.h>
#include <poll.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "tests/real/cancel/cancel.h"

static struct sockaddr_in our_address(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	cancel_check(inet_pton(AF_INET, cancel_address, &sin.sin_addr) == 1,
		     "ADDRESS");
	return sin;
}

void cancel_use_rdma_cm(void)
{
	struct sockaddr_in sin = our_address();
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *info, hints = { .ai_flags = RAI_PASSIVE,
					      .ai_port_space = RDMA_PS_TCP };
	struct rdma_cm_id *id;

	cancel_check(channel, "rdma_create_event_channel");
	cancel_check(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0,
		     "rdma_create_id");
	cancel_check(rdma_bind_addr(id, (struct sockaddr *)&sin) == 0,
		     "rdma_bind_addr");
	cancel_check(rdma_listen(id, 1) == 0, "rdma_listen");
	cancel_check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
	cancel_check(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) == 0,
		     "rdma_create_id");
	cancel_check(rdma_resolve_addr(id, NULL, (struct sockaddr *)&sin,
				       1000) == 0,
		     "rdma_resolve_addr");
	cancel_check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
	rdma_destroy_event_channel(channel);
	cancel_check(rdma_getaddrinfo(cancel_address, "7471", &hints, &info) ==
			     0,
		     "rdma_getaddrinfo");
	cancel_check(rdma_create_ep(&id, info, NULL, NULL) == 0,
		     "rdma_create_ep");
	rdma_freeaddrinfo(info);
	rdma_destroy_ep(id);
}

static int listening(void)
{
	struct sockaddr_in sin = our_address();
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	cancel_check(fd >= 0, "rsocket");
	cancel_check(rbind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0,
		     "rbind");
	cancel_check(rlisten(fd, 1) == 0, "rlisten");
	return fd;
}

static int bound_datagram(void)
{
	struct sockaddr_in sin = our_address();
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	cancel_check(fd >= 0, "rsocket");
	cancel_check(rbind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0,
		     "rbind");
	return fd;
}

void cancel_use_rsockets(void)
{
	struct pollfd fd = { .fd = listening(), .events = POLLIN };

	cancel_check(rpoll(&fd, 1, 0) == 0, "rpoll");
	cancel_check(rclose(fd.fd) == 0, "rclose");
	fd.fd = bound_datagram();
	cancel_check(rclose(fd.fd) == 0, "rclose");
}

/* ---- calls that wait can be cancelled, and leave all in order -------------
 */

static int socket_fd;

static void *in_async(void *arg)
{
	struct ibv_async_event event;

	/* Some wait there, of what the port went through. */
	while (ibv_get_async_event(cancel_ends[0].context, &event) == 0)
		ibv_ack_async_event(&event);
	return arg;
}

static void *in_cm(void *arg)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(arg, &event);
	return arg;
}

static void *in_rpoll(void *arg)
{
	struct pollfd fd = { .fd = socket_fd, .events = POLLIN };

	rpoll(&fd, 1, -1);
	return arg;
}

static void *in_rselect(void *arg)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(socket_fd, &set);
	rselect(socket_fd + 1, &set, NULL, NULL, NULL);
	return arg;
}

static void *in_raccept(void *arg)
{
	raccept(socket_fd, NULL, NULL);
	return arg;
}

static void *in_rrecv(void *arg)
{
	char byte;

	rrecv(socket_fd, &byte, 1, 0);
	return arg;
}

static void cancel_in(const char *name, void *(*call)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	cancel_at = name;
	cancel_check(pthread_create(&thread, NULL, call, arg) == 0,
		     "pthread_create");
	cancel_nap_us(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	cancel_check(result == PTHREAD_CANCELED, "no cancellation point");
}

void cancel_in_waits(void)
{
	struct rdma_event_channel *channel;

	cancel_in("ibv_get_async_event", in_async, NULL);
	if (!cancel_address)
		return;
	channel = rdma_create_event_channel();
	cancel_in("rdma_get_cm_event", in_cm, channel);
	rdma_destroy_event_channel(channel);
	/* Twice: the first one left no lock behind. */
	socket_fd = listening();
	for (int i = 0; i < 2; i++) {
		cancel_in("rpoll", in_rpoll, NULL);
		cancel_in("rselect", in_rselect, NULL);
		cancel_in("raccept", in_raccept, NULL);
	}
	cancel_check(rclose(socket_fd) == 0, "rclose");
	socket_fd = bound_datagram();
	for (int i = 0; i < 2; i++)
		cancel_in("rrecv", in_rrecv, NULL);
	cancel_check(rclose(socket_fd) == 0, "rclose");
}
