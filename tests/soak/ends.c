/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The two ends of sessions: servers with a thread for each, and clients that
 * have one after the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/parts.h"

#define PORT 7471
#define RESOLVE_MS 5000
#define ROUNDS 20
#define ACK_TIMEOUT 18        /* 1 s, seven retries */
#define ACK_TIMEOUT_VICTIM 16 /* 268 ms */
/* A peer that never dies is found within this time. */
#define REFUSED_MS 60000
#define AGAIN_US 100000

uint64_t soak_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct rdma_conn_param param(const struct session *s)
{
	return (struct rdma_conn_param){
		.private_data = &s->mine,
		.private_data_len = sizeof(s->mine),
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.srq = 1,
	};
}

/* Returns the next event, or NULL where none came within ms. */
static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					int ms)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&pollfd, 1, ms) != 1)
		return NULL;
	if (rdma_get_cm_event(channel, &event) == 0)
		return event;
	if (errno != EAGAIN)
		soak_fail("rdma_get_cm_event");
	return NULL;
}

/* ---- the server ---------------------------------------------------------- */

struct serving {
	struct session session;
	struct part *part;
};

static void *serving_main(void *arg)
{
	struct serving *serving = arg;
	struct session *s = &serving->session;

	session_serve(s, &serving->part->tally, &soak_over);
	rdma_disconnect(s->id);
	if (s->fate == FATE_BAD)
		exit(1);
	session_close(s);
	free(serving);
	soak_serving--;
	return NULL;
}

/* The event's id is ours from here. Returns NULL where it was given up. */
static struct serving *prepare(struct part *part, struct rdma_cm_event *event)
{
	struct serving *serving = calloc(1, sizeof(*serving));
	struct session *s = &serving->session;
	struct rdma_conn_param answer;
	struct card card = { 0 };

	serving->part = part;
	s->id = event->id;
	s->id->context = s;
	s->name = part->name;
	s->is_server = true;
	/* Private data is not aligned. */
	if (event->param.conn.private_data_len >= sizeof(card))
		memcpy(&card, event->param.conn.private_data, sizeof(card));
	if (card.rkey_be != 0 && session_open(s, card.qpns_be[KIND_UC] == 0) &&
	    session_meet(s, &card, sizeof(card))) {
		answer = param(s);
		if (rdma_accept(s->id, &answer) == 0)
			return serving;
	}
	part->tally.refused++;
	return serving;
}

static void serve_request(struct part *part, struct rdma_cm_event *event)
{
	struct serving *serving = prepare(part, event);
	pthread_t thread;

	soak_serving++;
	if (pthread_create(&thread, NULL, serving_main, serving) != 0)
		soak_fail("pthread_create");
	pthread_detach(thread);
}

static void serve_event(struct part *part, struct rdma_cm_event *event)
{
	struct session *s = event->id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		serve_request(part, event);
	else if (s && event->event != RDMA_CM_EVENT_ESTABLISHED &&
		 event->event != RDMA_CM_EVENT_ADDR_CHANGE)
		s->disconnected = true;
	rdma_ack_cm_event(event);
}

void *serve_main(void *arg)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct part *part = arg;
	struct sockaddr_in at = soak_address(part->address, PORT);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	/* An event that was there is gone when another thread ends its id. */
	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0 ||
	    rdma_bind_addr(id, (struct sockaddr *)&at) != 0 ||
	    rdma_listen(id, 16) != 0)
		soak_fail("listen");
	while (!soak_over || soak_serving > 0) {
		event = next_event(channel, 100);
		if (event)
			serve_event(part, event);
	}
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return NULL;
}

/* ---- the client ---------------------------------------------------------- */

/* Wait for what is wanted, and keep what the peer said. */
static bool await(struct session *s, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event = next_event(s->id->channel, -1);
	const bool good = event->event == wanted;
	bool met = true;

	if (good && wanted == RDMA_CM_EVENT_ESTABLISHED)
		met = session_meet(s, event->param.conn.private_data,
				   event->param.conn.private_data_len);
	rdma_ack_cm_event(event);
	return good && met;
}

static bool resolve(struct session *s, const struct part *part)
{
	struct sockaddr_in to = soak_address(part->address, PORT);
	uint8_t timeout = part->may_break ? ACK_TIMEOUT_VICTIM : ACK_TIMEOUT;

	if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&to,
			      RESOLVE_MS) != 0 ||
	    !await(s, RDMA_CM_EVENT_ADDR_RESOLVED))
		return false;
	if (rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
			    &timeout, sizeof(timeout)) != 0)
		soak_fail("rdma_set_option");
	return rdma_resolve_route(s->id, RESOLVE_MS) == 0 &&
	       await(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static bool stands(struct session *s, const struct part *part)
{
	struct rdma_conn_param request;

	if (!resolve(s, part) || !session_open(s, false))
		return false;
	request = param(s);
	return rdma_connect(s->id, &request) == 0 &&
	       await(s, RDMA_CM_EVENT_ESTABLISHED);
}

static enum fate have_session(struct part *part)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct session s = { .name = part->name, .fate = FATE_REFUSED };

	if (!channel || rdma_create_id(channel, &s.id, NULL, RDMA_PS_TCP) != 0)
		soak_fail("rdma_create_id");
	if (stands(&s, part)) {
		s.fate = FATE_GOOD;
		for (int i = 0; i < ROUNDS && !soak_rest && !soak_clients_over;
		     i++)
			if (!session_round(&s, &part->tally))
				break;
		rdma_disconnect(s.id);
	}
	if (s.fate == FATE_BROKEN && !part->may_break)
		soak_fail(s.why);
	session_close(&s);
	rdma_destroy_event_channel(channel);
	return s.fate;
}

void *client_main(void *arg)
{
	uint64_t good_ms = soak_now_ms();
	struct part *part = arg;
	enum fate fate;

	while (soak_goes_on()) {
		fate = have_session(part);
		soak_has_done();
		part->tally.sessions += fate == FATE_GOOD;
		part->tally.broken += fate == FATE_BROKEN;
		part->tally.refused += fate == FATE_REFUSED;
		if (fate == FATE_GOOD)
			good_ms = soak_now_ms();
		else
			usleep(AGAIN_US);
		if (fate == FATE_BAD)
			exit(1);
		if (part->may_break)
			continue;
		if (soak_now_ms() - good_ms > REFUSED_MS)
			soak_fail("there is no session any more");
	}
	return NULL;
}
