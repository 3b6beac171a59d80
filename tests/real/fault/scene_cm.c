/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "tests/real/fault/scenes.h"

#define WAIT_MS 1500
#define PORT 7481

static struct sockaddr_in sockaddr_of(const char *address)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(PORT) };

	inet_pton(AF_INET, address, &sin.sin_addr);
	return sin;
}

/* ---- rdma_cm ---------------------------------------------------------------
 */

struct scene {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive;
};

static bool create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &init) == 0;
}

static bool answer(struct scene *s, struct rdma_cm_id *id)
{
	s->passive = id;
	return create_qp(id) && rdma_accept(id, NULL) == 0;
}

/* What comes until this has come, and nothing that is bad. */
static bool await(struct scene *s, enum rdma_cm_event_type type,
		  const struct rdma_cm_id *id)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	bool bad, is_it;

	while (poll(&fd, 1, WAIT_MS) == 1) {
		enum rdma_cm_event_type came;
		struct rdma_cm_id *of;

		if (rdma_get_cm_event(s->channel, &event))
			return false;
		came = event->event;
		of = event->id;
		bad = event->status != 0;
		rdma_ack_cm_event(event);
		if (came == RDMA_CM_EVENT_CONNECT_REQUEST)
			bad |= !answer(s, of);
		is_it = came == type && of == id;
		if (bad || is_it)
			return is_it && !bad;
	}
	return false;
}

static bool connect_to(struct scene *s, const char *address)
{
	struct sockaddr_in sin = sockaddr_of(address);
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7 };

	s->channel = rdma_create_event_channel();
	return s->channel &&
	       rdma_create_id(s->channel, &s->listener, NULL, RDMA_PS_TCP) ==
		       0 &&
	       rdma_bind_addr(s->listener, (struct sockaddr *)&sin) == 0 &&
	       rdma_listen(s->listener, 1) == 0 &&
	       rdma_create_id(s->channel, &s->active, NULL, RDMA_PS_TCP) == 0 &&
	       rdma_resolve_addr(s->active, NULL, (struct sockaddr *)&sin,
				 1000) == 0 &&
	       await(s, RDMA_CM_EVENT_ADDR_RESOLVED, s->active) &&
	       rdma_resolve_route(s->active, 1000) == 0 &&
	       await(s, RDMA_CM_EVENT_ROUTE_RESOLVED, s->active) &&
	       create_qp(s->active) && rdma_connect(s->active, &param) == 0 &&
	       await(s, RDMA_CM_EVENT_ESTABLISHED, s->active) &&
	       rdma_disconnect(s->active) == 0;
}

static void destroy(struct rdma_cm_id *id)
{
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		rdma_destroy_id(id);
}

bool scene_cm(const char *address)
{
	struct scene s = { 0 };
	bool good = connect_to(&s, address);

	destroy(s.active);
	destroy(s.passive);
	destroy(s.listener);
	if (s.channel)
		rdma_destroy_event_channel(s.channel);
	return good;
}

/* ---- rsockets ---------------------------------------------------------------
 */

static bool ready(int fd, short events)
{
	struct pollfd rs = { .fd = fd, .events = events };

	return rpoll(&rs, 1, WAIT_MS) == 1 && (rs.revents & events);
}

static bool exchange(int listener, int active, int *passive,
		     const struct sockaddr_in *sin)
{
	const struct sockaddr *addr = (const struct sockaddr *)sin;
	char byte = 0;

	if (rbind(listener, addr, sizeof(*sin)) || rlisten(listener, 1) ||
	    rfcntl(active, F_SETFL, O_NONBLOCK))
		return false;
	rconnect(active, addr, sizeof(*sin));
	if (!ready(listener, POLLIN))
		return false;
	*passive = raccept(listener, NULL, NULL);
	return *passive >= 0 && ready(active, POLLOUT) &&
	       rsend(active, "x", 1, 0) == 1 && ready(*passive, POLLIN) &&
	       rrecv(*passive, &byte, 1, 0) == 1 && byte == 'x';
}

bool scene_rsocket(const char *address)
{
	struct sockaddr_in sin = sockaddr_of(address);
	int listener = rsocket(AF_INET, SOCK_STREAM, 0);
	int active = rsocket(AF_INET, SOCK_STREAM, 0);
	int passive = -1;
	bool good = listener >= 0 && active >= 0 &&
		    exchange(listener, active, &passive, &sin);

	if (active >= 0)
		rclose(active);
	if (passive >= 0)
		rclose(passive);
	if (listener >= 0)
		rclose(listener);
	return good;
}
