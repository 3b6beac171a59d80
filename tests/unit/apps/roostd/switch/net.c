/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "tests/unit/apps/roostd/switch/net.h"

#include "tests/cmocka.h"

struct kept {
	uint32_t len_bytes;
	uint8_t bytes[FRAME_ROOM];
};

static void join(const struct roost_sw_frame *frame, uint8_t *bytes)
{
	const uint32_t head = frame->head_len_bytes < frame->len_bytes
				      ? frame->head_len_bytes
				      : frame->len_bytes;

	assert_true(frame->len_bytes <= FRAME_ROOM);
	memcpy(bytes, frame->head, head);
	if (frame->len_bytes > head)
		memcpy(bytes + head, frame->payload, frame->len_bytes - head);
}

static bool into(struct sink *sink, const struct roost_sw_frame *frame,
		 bool looped)
{
	if (sink->room == 0)
		return false;
	sink->room--;
	sink->nb++;
	sink->looped = looped;
	sink->len_bytes = frame->len_bytes;
	join(frame, sink->bytes);
	return true;
}

static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	struct kept *kept = malloc(sizeof(*kept));
	struct net *net = arg;

	assert_non_null(kept);
	kept->len_bytes = frame->len_bytes;
	join(frame, kept->bytes);
	net->nb_kept++;
	return kept;
}

static bool send_kept(void *arg, void *handle)
{
	struct kept *kept = handle;
	struct net *net = arg;
	const struct roost_sw_frame frame = {
		.head = kept->bytes,
		.head_len_bytes = kept->len_bytes,
		.len_bytes = kept->len_bytes,
	};

	if (!into(&net->port, &frame, false))
		return false;
	free(kept);
	return true;
}

static void discard(void *arg, void *kept)
{
	struct net *net = arg;

	net->nb_discarded++;
	free(kept);
}

static bool is_ready(void *arg, uint16_t client)
{
	const struct net *net = arg;

	(void)client;
	return !net->waits;
}

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct net *net = arg;

	for (unsigned int i = 0; i < NB_CLIENTS; i++)
		if (net->w.client[i] == client)
			return into(&net->client[i], frame, looped);
	fail();
	return false;
}

static void host(void *arg, const struct roost_sw_frame *frame)
{
	struct net *net = arg;

	into(&net->host, frame, false);
}

static void leave(void *arg, const struct roost_gid *group)
{
	struct net *net = arg;

	assert_true(roost_gid_is_multicast(group));
	net->nb_left++;
}

static const struct roost_switch_ops ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.is_ready = is_ready,
	.deliver = deliver,
	.host = host,
	.leave = leave,
};

void net_init(struct net *net)
{
	*net = (struct net){ .port.room = 1000, .host.room = 1000 };
	world_init(&net->w);
	assert_int_equal(roost_switch_create(&net->w.port, net->w.lease, &ops,
					     net, 0, &net->sw),
			 0);
	for (unsigned int i = 0; i < NB_CLIENTS; i++) {
		net->client[i].room = 1000;
		assert_int_equal(roost_switch_client_enter(net->sw,
							   net->w.client[i], 0),
				 0);
	}
}

void net_fini(struct net *net)
{
	roost_switch_destroy(net->sw);
	world_fini(&net->w);
}

bool net_from(struct net *net, unsigned int i, const struct maker *m,
	      uint64_t now_ns)
{
	const struct roost_sw_frame frame = make(m);

	return roost_switch_from_client(net->sw, net->w.client[i], &frame,
					now_ns);
}

void net_from_port(struct net *net, const struct maker *m)
{
	const struct roost_sw_frame frame = make(m);

	roost_switch_from_port(net->sw, &frame);
}

void net_send(struct net *net, uint64_t now_ns)
{
	while (roost_switch_send(net->sw, now_ns, 32) == 32)
		;
}

uint64_t net_drops(const struct net *net, uint32_t client,
		   enum roost_sw_drop reason)
{
	return roost_switch_counters(net->sw, client).drops[reason];
}

const struct roost_cm_msg *net_msg(const struct sink *sink)
{
	static struct roost_sw_mad room;
	struct roost_sw_pkt pkt;
	const struct roost_sw_frame frame = {
		.head = sink->bytes,
		.head_len_bytes = sink->len_bytes,
		.len_bytes = sink->len_bytes,
	};

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_non_null(pkt.mad);
	return &room.msg;
}
