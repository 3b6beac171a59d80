/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/real/fork/fork.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

/* A listener that has an event unread, an id with one read, an rsocket. */
static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id, *sync;
	struct rdma_cm_event *event;
	struct ibv_context **devices;
	struct sockaddr_in addr, wrong;
	int socket;
} o;

static union {
	struct ibv_qp_init_attr qp;
	struct ibv_qp_init_attr_ex qp_ex;
	struct ibv_srq_init_attr srq;
	struct ibv_srq_init_attr_ex srq_ex;
	struct ibv_qp_attr qp_attr;
	struct rdma_conn_param param;
	struct ibv_ece ece;
	struct rdma_cm_join_mc_attr_ex mc;
	struct pollfd pollfd;
	struct iovec iov;
	struct msghdr msg;
	uint8_t bytes[4096];
} a;
static struct rdma_cm_id *some_id;
static struct rdma_cm_event *some_event;
static int some_int;

static struct sockaddr *sa(struct sockaddr_in *in)
{
	return (struct sockaddr *)in;
}

static void make(void)
{
	o.addr = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&o.addr.sin_addr, tour.gid.raw + 12, 4);
	o.channel = rdma_create_event_channel();
	assert_non_null(o.channel);
	assert_int_equal(rdma_create_id(o.channel, &o.listener, NULL,
					RDMA_PS_TCP),
			 0);
	assert_int_equal(rdma_create_id(o.channel, &o.id, NULL, RDMA_PS_TCP),
			 0);
	assert_int_equal(rdma_create_id(NULL, &o.sync, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(o.listener, sa(&o.addr)), 0);
	assert_int_equal(rdma_listen(o.listener, 1), 0);
	o.addr.sin_port = rdma_get_src_port(o.listener);
	assert_int_equal(rdma_resolve_addr(o.id, NULL, sa(&o.addr), 2000), 0);
	assert_int_equal(rdma_get_cm_event(o.channel, &o.event), 0);
	assert_int_equal(o.event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(o.id, 2000), 0);
	o.devices = rdma_get_devices(NULL);
	assert_non_null(o.devices);
	o.socket = rsocket(AF_INET, SOCK_STREAM, 0);
	assert_true(o.socket >= 0);
}

/* The parent's event waits as it did. */
static void end(void)
{
	struct pollfd p = { .fd = o.channel->fd, .events = POLLIN };

	assert_int_equal(rdma_ack_cm_event(o.event), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(rdma_get_cm_event(o.channel, &o.event), 0);
	assert_int_equal(o.event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_ack_cm_event(o.event), 0);
	rclose(o.socket);
	rdma_free_devices(o.devices);
	assert_int_equal(rdma_destroy_id(o.sync), 0);
	assert_int_equal(rdma_destroy_id(o.id), 0);
	assert_int_equal(rdma_destroy_id(o.listener), 0);
	rdma_destroy_event_channel(o.channel);
}

#define CHECK(name, expression)                                                \
	static bool name##_(void)                                              \
	{                                                                      \
		return (expression);                                           \
	}
#define FAILS(name, call) CHECK(name, GIVES(call, -1))
#define ENDS(name, call) CHECK(name, (call) == 0)
#define RETURNS(name, call) CHECK(name, (call, true))
/* The parent's rsockets are no rsockets here. */
#define BAD_FD(name, call)                                                     \
	CHECK(name, (errno = 0, (call) == -1 && errno == EBADF))

/* What is new may be had, but for a device. */
static bool resolves_nothing(struct rdma_cm_id *id)
{
	errno = 0;
	return rdma_resolve_addr(id, NULL, sa(&o.addr), 2000) == -1 &&
	       errno == ENODEV && rdma_destroy_id(id) == 0;
}

static bool rdma_create_event_channel_(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel || rdma_create_id(channel, &some_id, NULL, RDMA_PS_TCP) ||
	    !resolves_nothing(some_id))
		return false;
	rdma_destroy_event_channel(channel);
	return true;
}

static bool rdma_create_id_(void)
{
	return GIVES(rdma_create_id(o.channel, &some_id, NULL, RDMA_PS_TCP),
		     -1) &&
	       rdma_create_id(NULL, &some_id, NULL, RDMA_PS_TCP) == 0 &&
	       resolves_nothing(some_id);
}

static bool rdma_create_ep_(void)
{
	struct rdma_addrinfo info = {
		.ai_flags = RAI_PASSIVE,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = sa(&o.addr),
		.ai_src_len = sizeof(o.addr),
	};

	errno = 0;
	return rdma_create_ep(&some_id, &info, NULL, NULL) == -1 &&
	       errno == ENODEV;
}

static bool rdma_getaddrinfo_(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;

	if (rdma_getaddrinfo("198.18.0.1", "7", &hints, &info))
		return false;
	rdma_freeaddrinfo(info);
	return true;
}

static bool rdma_join_multicast_ex_(void)
{
	a.mc.comp_mask =
		RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	a.mc.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	a.mc.addr = sa(&o.addr);
	return GIVES(rdma_join_multicast_ex(o.id, &a.mc, NULL), -1);
}

/* It can have rsockets of its own, and no device for them. */
static bool rsocket_(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	errno = 0;
	return fd >= 0 && rbind(fd, sa(&o.addr), sizeof(o.addr)) == -1 &&
	       errno == ENODEV && rclose(fd) == 0;
}

static bool rpoll_(void)
{
	a.pollfd.fd = o.socket;
	a.pollfd.events = POLLIN;
	return rpoll(&a.pollfd, 1, 1000) == 1 && a.pollfd.revents == POLLNVAL;
}

static bool rselect_(void)
{
	struct timeval wait = { .tv_sec = 1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(o.socket, &set);
	errno = 0;
	return rselect(o.socket + 1, &set, NULL, NULL, &wait) == -1 &&
	       errno == EBADF;
}

FAILS(rdma_accept, rdma_accept(o.id, &a.param))
ENDS(rdma_ack_cm_event, rdma_ack_cm_event(o.event))
FAILS(rdma_bind_addr, rdma_bind_addr(o.sync, sa(&o.addr)))
FAILS(rdma_connect, rdma_connect(o.id, &a.param))
FAILS(rdma_create_qp, rdma_create_qp(o.id, NULL, &a.qp))
FAILS(rdma_create_qp_ex, rdma_create_qp_ex(o.id, &a.qp_ex))
FAILS(rdma_create_srq, rdma_create_srq(o.id, NULL, &a.srq))
FAILS(rdma_create_srq_ex, rdma_create_srq_ex(o.id, &a.srq_ex))
RETURNS(rdma_destroy_ep, rdma_destroy_ep(o.sync))
RETURNS(rdma_destroy_event_channel, rdma_destroy_event_channel(o.channel))
ENDS(rdma_destroy_id, rdma_destroy_id(o.id) || rdma_destroy_id(o.sync) ||
			      rdma_destroy_id(o.listener))
CHECK(rdma_destroy_qp, (rdma_destroy_qp(o.id), o.id->qp == NULL))
CHECK(rdma_destroy_srq, (rdma_destroy_srq(o.id), o.id->srq == NULL))
FAILS(rdma_disconnect, rdma_disconnect(o.id))
FAILS(rdma_establish, rdma_establish(o.sync))
CHECK(rdma_event_str, rdma_event_str(RDMA_CM_EVENT_REJECTED) != NULL)
RETURNS(rdma_free_devices, rdma_free_devices(o.devices))
FAILS(rdma_get_cm_event, rdma_get_cm_event(o.channel, &some_event))
CHECK(rdma_get_devices,
      (errno = 0, rdma_get_devices(NULL) == NULL && errno == ENODEV))
CHECK(rdma_get_dst_port, rdma_get_dst_port(o.id) == o.addr.sin_port)
FAILS(rdma_get_remote_ece, rdma_get_remote_ece(o.id, &a.ece))
FAILS(rdma_get_request, rdma_get_request(o.sync, &some_id))
CHECK(rdma_get_src_port, rdma_get_src_port(o.listener) == o.addr.sin_port)
FAILS(rdma_init_qp_attr, rdma_init_qp_attr(o.id, &a.qp_attr, &some_int))
FAILS(rdma_join_multicast, rdma_join_multicast(o.id, sa(&o.addr), NULL))
FAILS(rdma_leave_multicast, rdma_leave_multicast(o.id, sa(&o.addr)))
FAILS(rdma_listen, rdma_listen(o.listener, 1))
FAILS(rdma_migrate_id, rdma_migrate_id(o.id, NULL))
FAILS(rdma_notify, rdma_notify(o.id, IBV_EVENT_COMM_EST))
FAILS(rdma_reject, rdma_reject(o.id, NULL, 0))
FAILS(rdma_reject_ece, rdma_reject_ece(o.id, NULL, 0))
FAILS(rdma_resolve_addr, rdma_resolve_addr(o.sync, NULL, sa(&o.addr), 2000))
FAILS(rdma_resolve_route, rdma_resolve_route(o.id, 2000))
FAILS(rdma_set_local_ece, rdma_set_local_ece(o.id, &a.ece))
FAILS(rdma_set_option,
      rdma_set_option(o.id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &some_int,
		      sizeof(some_int)))

CHECK(rdma_freeaddrinfo, rdma_getaddrinfo_())

BAD_FD(raccept, raccept(o.socket, NULL, NULL))
BAD_FD(rbind, rbind(o.socket, sa(&o.addr), sizeof(o.addr)))
BAD_FD(rclose, rclose(o.socket))
BAD_FD(rconnect, rconnect(o.socket, sa(&o.addr), sizeof(o.addr)))
BAD_FD(rfcntl, rfcntl(o.socket, F_GETFL))
BAD_FD(rgetpeername, rgetpeername(o.socket, NULL, NULL))
BAD_FD(rgetsockname, rgetsockname(o.socket, NULL, NULL))
BAD_FD(rgetsockopt, rgetsockopt(o.socket, SOL_SOCKET, SO_ERROR, a.bytes,
				(socklen_t *)&some_int))
BAD_FD(riomap, (int)riomap(o.socket, a.bytes, 8, PROT_WRITE, 0, 0))
BAD_FD(riounmap, riounmap(o.socket, a.bytes, 8))
BAD_FD(riowrite, (int)riowrite(o.socket, a.bytes, 8, 0, 0))
BAD_FD(rlisten, rlisten(o.socket, 1))
BAD_FD(rread, rread(o.socket, a.bytes, 8))
BAD_FD(rreadv, rreadv(o.socket, &a.iov, 1))
BAD_FD(rrecv, rrecv(o.socket, a.bytes, 8, 0))
BAD_FD(rrecvfrom, rrecvfrom(o.socket, a.bytes, 8, 0, NULL, NULL))
BAD_FD(rrecvmsg, rrecvmsg(o.socket, &a.msg, 0))
BAD_FD(rsend, rsend(o.socket, a.bytes, 8, 0))
BAD_FD(rsendmsg, rsendmsg(o.socket, &a.msg, 0))
BAD_FD(rsendto, rsendto(o.socket, a.bytes, 8, 0, NULL, 0))
BAD_FD(rsetsockopt, rsetsockopt(o.socket, SOL_SOCKET, SO_ERROR, a.bytes, 4))
BAD_FD(rshutdown, rshutdown(o.socket, SHUT_RDWR))
BAD_FD(rwrite, rwrite(o.socket, a.bytes, 8))
BAD_FD(rwritev, rwritev(o.socket, &a.iov, 1))

/* No header of rdma-core 44 declares these. */
#define FIND(call, name) (*(void **)&call = dlsym(RTLD_DEFAULT, #name))

static bool rdma_query_addrinfo_(void)
{
	int (*call)(struct rdma_cm_id *, struct rdma_addrinfo **);
	struct rdma_addrinfo *info;

	return FIND(call, rdma_query_addrinfo) && GIVES(call(o.id, &info), -1);
}

static bool rdma_resolve_addrinfo_(void)
{
	int (*call)(struct rdma_cm_id *, const char *, const char *,
		    const struct rdma_addrinfo *);

	return FIND(call, rdma_resolve_addrinfo) &&
	       GIVES(call(o.id, "198.18.0.1", "7", NULL), -1);
}

static bool rdma_write_cm_event_(void)
{
	int (*call)(struct rdma_cm_id *, int, int, uint64_t);

	return FIND(call, rdma_write_cm_event) &&
	       GIVES(call(o.id, 18, 0, 0), -1);
}

#define ROW(name)                                                              \
	{                                                                      \
#name, name##_                                                 \
	}

static const struct fork_row rows[] = {
#include "tests/real/fork/rdmacm_rows.inc"
	{ NULL, NULL },
};

void fork__rdmacm_answers(void **state)
{
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
	};
	struct ibv_srq_init_attr srq = { .attr = { 4, 1, 0 } };

	(void)state;
	make();
	assert_int_equal(rdma_create_srq(o.id, NULL, &srq), 0);
	assert_int_equal(rdma_create_qp(o.id, NULL, &qp), 0);
	fork_calls(fork_rdmacm_map, rows, RTLD_DEFAULT);
	rdma_destroy_qp(o.id);
	rdma_destroy_srq(o.id);
	end();
}
