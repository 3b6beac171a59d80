/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot file: runs once per frame. No allocation, system call, log or lock per
 * frame.
 */
#include "apps/roostd/switch/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/check.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/lanes.h"
#include "apps/roostd/switch/steer.h"

/* ---- life ---------------------------------------------------------------- */

int roost_switch_create(const struct roost_sw_port *port,
			struct roost_lease *lease,
			const struct roost_switch_ops *ops, void *arg,
			uint64_t now_ns, struct roost_switch **out)
{
	struct roost_switch *sw = calloc(1, sizeof(*sw));
	int ret;

	if (!sw)
		return -ENOMEM;
	sw->lease = lease;
	sw->ops = ops;
	sw->arg = arg;
	sw->first = sw;
	roost_seen_init(&sw->seen, lease, roost_lease_random(lease));
	roost_departed_init(&sw->departed, roost_lease_random(lease));
	sw->port = *port;
	ret = roost_lane_init(sw, now_ns);
	if (ret) {
		free(sw);
		return ret;
	}
	*out = sw;
	return 0;
}

void roost_switch_set_port(struct roost_switch *sw,
			   const struct roost_sw_port *port)
{
	sw->port = *port;
	sw->fair.most_kept = port->most_kept;
	for (uint32_t i = 0; sw->lanes && i < sw->lanes->nb; i++) {
		struct roost_switch *lane = sw->lanes->v[i];

		lane->port = *port;
		lane->fair.most_kept = port->most_kept;
	}
}

void roost_switch_destroy(struct roost_switch *sw)
{
	roost_lanes_free(sw->lanes);
	roost_lane_fini(sw);
	roost_departed_fini(&sw->departed);
	roost_seen_fini(&sw->seen);
	free(sw);
}

void roost_switch_counters_add(struct roost_switch_counters *sum,
			       const struct roost_switch_counters *some)
{
	sum->tx_frames += some->tx_frames;
	sum->tx_bytes += some->tx_bytes;
	sum->rx_frames += some->rx_frames;
	sum->rx_bytes += some->rx_bytes;
	for (unsigned int i = 0; i < ROOST_SW_DROPS; i++)
		sum->drops[i] += some->drops[i];
}

struct roost_switch_counters
roost_switch_counters(const struct roost_switch *sw, uint32_t client)
{
	struct roost_switch_counters sum = sw->counters[client];

	for (uint32_t i = 0; sw->lanes && i < sw->lanes->nb; i++)
		roost_switch_counters_add(&sum,
					  &sw->lanes->v[i]->counters[client]);
	return sum;
}

/* The next client in the slot begins with zeros. */
static void fold(struct roost_switch *sw, uint16_t client)
{
	const struct roost_switch_counters had =
		roost_switch_counters(sw, client);

	roost_switch_counters_add(&sw->gone, &had);
	sw->counters[client] = (struct roost_switch_counters){ 0 };
	if (!sw->lanes)
		return;
	for (uint32_t i = 0; i < sw->lanes->nb; i++)
		sw->lanes->v[i]->counters[client] = sw->counters[client];
}

int roost_switch_client_enter(struct roost_switch *lane, uint16_t client,
			      uint64_t now_ns)
{
	struct roost_switch *sw = lane->first;
	const struct roost_client_conf *conf = &sw->lease->clients[client].conf;

	fold(sw, client);
	roost_seen_set_time(&sw->seen, now_ns);
	roost_seen_client_add(&sw->seen, client, now_ns);
	return roost_fair_add(&lane->fair, client, conf->weight,
			      conf->rate_bytes_per_s, now_ns);
}

void roost_switch_client_limit(struct roost_switch *sw, uint16_t client,
			       const struct roost_client_conf *conf,
			       uint64_t now_ns)
{
	struct roost_client_conf *own = &sw->lease->clients[client].conf;
	const struct roost_client_conf before = *own;

	*own = *conf;
	own->uid = before.uid;
	own->nb_gids = before.nb_gids;
	memcpy(own->gids, before.gids, sizeof(own->gids));
	roost_fair_change(&roost_lane_of(sw, client)->fair, client,
			  conf->weight, conf->rate_bytes_per_s, now_ns);
}

static void left(void *arg, const struct roost_gid *group)
{
	struct roost_switch *sw = arg;

	sw->ops->leave(sw->arg, group);
}

void roost_switch_client_remove(struct roost_switch *sw, uint16_t client,
				uint64_t now_ns)
{
	struct roost_switch *lane = roost_lane_of(sw, client);
	void *kept;

	roost_departed_add(&sw->departed, &sw->seen, client, now_ns);
	while (lane && (kept = roost_fair_flush(&lane->fair, client)) != NULL)
		sw->ops->discard(sw->arg, kept);
	roost_group_leave_all(sw->lease, client, left, sw);
	roost_lease_client_remove(sw->lease, client, now_ns);
	fold(sw, client);
}

/* ---- lanes --------------------------------------------------------------- */

static void take_turn(struct roost_switch *sw)
{
	if (sw->lanes)
		pthread_mutex_lock(&sw->lanes->turn);
}

static void give_turn(struct roost_switch *sw)
{
	if (sw->lanes)
		pthread_mutex_unlock(&sw->lanes->turn);
}

/* ---- out ----------------------------------------------------------------- */

static void drop(struct roost_switch *sw, uint32_t client,
		 enum roost_sw_drop reason)
{
	sw->counters[client].drops[reason]++;
	sw->last_drop = reason;
}

static void deliver(struct roost_switch *sw, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct roost_switch_counters *c = &sw->counters[client];

	if (!sw->ops->deliver(sw->arg, client, frame, looped)) {
		drop(sw, client, ROOST_SW_CLIENT_FULL);
		return;
	}
	c->rx_frames++;
	c->rx_bytes += frame->len_bytes;
}

/* To the members of the group but the sender, whose engine loops its datagrams
 * back itself.
 */
static void deliver_group(struct roost_switch *sw,
			  const struct roost_group *group, uint32_t sender,
			  const struct roost_sw_frame *frame)
{
	for (uint32_t i = 0; group && i < group->nb_members; i++)
		if (group->members[i] != sender)
			deliver(sw, group->members[i], frame,
				sender != ROOST_CLIENT_NONE);
}

/* There is room in the client's queue. */
static void keep(struct roost_switch *sw, uint32_t client,
		 const struct roost_sw_frame *frame)
{
	void *kept = sw->ops->keep(sw->arg, frame);

	if (kept)
		roost_fair_push(&sw->fair, client, kept, frame->len_bytes);
	else
		drop(sw, client, ROOST_SW_PORT_FULL);
}

/* Of a MAD, the copy that was checked is what goes on. */
static struct roost_sw_frame as_checked(const struct roost_sw_pkt *pkt,
					const struct roost_sw_frame *frame)
{
	struct roost_sw_frame checked = *frame;

	if (pkt->mad) {
		checked.head = pkt->mad->bytes;
		checked.head_len_bytes = checked.len_bytes;
		checked.payload = NULL;
	}
	return checked;
}

static void refuse_connection(struct roost_switch *sw, uint16_t client,
			      const struct roost_sw_pkt *pkt,
			      enum roost_sw_drop reason);

static void mad_to_client(struct roost_switch *sw, uint16_t client,
			  const struct roost_sw_pkt *pkt,
			  const struct roost_sw_frame *frame, bool looped)
{
	enum roost_sw_drop reason =
		roost_seen_in(&sw->first->seen, client, pkt);

	if (reason == ROOST_SW_OK)
		deliver(sw, client, frame, looped);
	else
		refuse_connection(sw, client, pkt, reason);
}

/* ---- messages of the daemon ---------------------------------------------- */

/* Send a frame that the daemon made, as clients' frames go. */
static void send_own(struct roost_switch *sw, const uint8_t *bytes,
		     uint32_t len_bytes)
{
	const struct roost_sw_frame frame = {
		.head = bytes,
		.head_len_bytes = len_bytes,
		.len_bytes = len_bytes,
	};
	struct roost_sw_pkt pkt;
	struct roost_steer way;

	if (roost_sw_parse(&frame, &sw->mad, &pkt) != ROOST_SW_OK)
		return;
	roost_steer_from_client(sw->lease, &sw->first->seen, &pkt, &way);
	if (way.to == ROOST_STEER_CLIENT)
		mad_to_client(sw, way.client, &pkt, &frame, true);
	else if (way.to != ROOST_STEER_PORT)
		drop(sw, ROOST_SWITCH_SELF, ROOST_SW_NO_CONN);
	else if (roost_fair_has_room(&sw->fair, ROOST_SWITCH_SELF))
		keep(sw, ROOST_SWITCH_SELF, &frame);
	else
		drop(sw, ROOST_SWITCH_SELF, ROOST_SW_PORT_FULL);
}

static void answer(struct roost_switch *sw, const struct roost_sw_pkt *pkt,
		   const struct roost_cm_msg *msg)
{
	const struct roost_sw_route route = roost_sw_route_back(pkt);
	uint8_t frame[ROOST_SW_GSI_FRAME_MAX];

	roost_departed_in(&sw->first->departed, pkt);
	send_own(sw, frame, roost_sw_compose(&sw->port, &route, msg, frame));
}

/* Who has too many would ask again and again, and then think that nobody is
 * there. A SIDR_REQ needs no such answer: it is soon forgotten.
 */
static void refuse_connection(struct roost_switch *sw, uint16_t client,
			      const struct roost_sw_pkt *pkt,
			      enum roost_sw_drop reason)
{
	struct roost_cm_msg msg;

	drop(sw, client, reason);
	if (reason != ROOST_SW_MAD_CONNS || pkt->mad->msg.type != ROOST_CM_REQ)
		return;
	msg = roost_cm_msg_rej(&pkt->mad->msg, ROOST_CM_ABOUT_REQ,
			       ROOST_CM_REJ_NO_RESOURCES);
	answer(sw, pkt, &msg);
}

static void dropped_on_the_way(struct roost_switch *sw, uint32_t client,
			       const struct roost_sw_pkt *pkt,
			       const struct roost_steer *way)
{
	if (way->drop == ROOST_SW_NO_CONN)
		roost_departed_in(&sw->first->departed, pkt);
	drop(sw, client, way->drop);
}

uint64_t roost_switch_run(struct roost_switch *sw, uint64_t now_ns,
			  uint32_t budget)
{
	uint8_t frame[ROOST_SW_GSI_FRAME_MAX];
	uint64_t next_ns;
	uint32_t len;

	take_turn(sw);
	roost_seen_set_time(&sw->seen, now_ns);
	while (budget-- > 0 &&
	       roost_fair_has_room(&sw->fair, ROOST_SWITCH_SELF)) {
		len = roost_departed_next(&sw->departed, &sw->port, now_ns,
					  frame);
		if (len == 0)
			break;
		send_own(sw, frame, len);
	}
	next_ns = roost_departed_next_ns(&sw->departed);
	give_turn(sw);
	if (roost_fair_ready_ns(&sw->fair) < next_ns)
		next_ns = roost_fair_ready_ns(&sw->fair);
	return next_ns;
}

/* ---- frames -------------------------------------------------------------- */

static bool leaves(const struct roost_steer *way)
{
	return way->to == ROOST_STEER_PORT || way->to == ROOST_STEER_GROUP;
}

static inline __attribute__((always_inline)) void
pass(struct roost_switch *sw, uint16_t client, const struct roost_sw_pkt *pkt,
     const struct roost_steer *way, const struct roost_sw_frame *frame)
{
	const struct roost_sw_frame checked = as_checked(pkt, frame);

	sw->counters[client].tx_frames++;
	sw->counters[client].tx_bytes += frame->len_bytes;
	switch (way->to) {
	case ROOST_STEER_PORT:
		keep(sw, client, &checked);
		break;
	case ROOST_STEER_GROUP:
		deliver_group(sw, way->group, client, &checked);
		keep(sw, client, &checked);
		break;
	case ROOST_STEER_CLIENT:
		if (pkt->mad)
			mad_to_client(sw, way->client, pkt, &checked, true);
		else
			deliver(sw, way->client, &checked, true);
		break;
	case ROOST_STEER_ANSWER:
		answer(sw, pkt, &way->answer);
		break;
	case ROOST_STEER_DROP:
		dropped_on_the_way(sw, client, pkt, way);
		break;
	case ROOST_STEER_HOST:
	default:
		break;
	}
}

/* May it go on its way now? false: it is offered again. */
static inline __attribute__((always_inline)) bool
is_open(const struct roost_switch *sw, uint16_t client,
	const struct roost_steer *way)
{
	if (leaves(way) && !roost_fair_has_room(&sw->fair, client))
		return false;
	return way->to != ROOST_STEER_CLIENT || !sw->ops->is_ready ||
	       sw->ops->is_ready(sw->arg, way->client);
}

/* Under the turn. */
static bool message_from_client(struct roost_switch *sw, uint16_t client,
				const struct roost_sw_pkt *pkt,
				const struct roost_sw_frame *frame,
				uint64_t now_ns)
{
	struct roost_seen_table *seen = &sw->first->seen;
	enum roost_sw_drop reason =
		roost_check_mad(sw->lease, seen, client, pkt);
	struct roost_steer way;

	roost_seen_set_time(seen, now_ns);
	if (reason != ROOST_SW_OK) {
		drop(sw, client, reason);
		return true;
	}
	roost_steer_from_client(sw->lease, seen, pkt, &way);
	if (!is_open(sw, client, &way))
		return false;
	reason = roost_seen_admit(seen, client, &pkt->mad->msg, seen->now_ns);
	if (reason != ROOST_SW_OK) {
		refuse_connection(sw, client, pkt, reason);
		return true;
	}
	roost_seen_out(seen, client, pkt, frame->head);
	pass(sw, client, pkt, &way, frame);
	return true;
}

static __attribute__((noinline)) bool
mad_from_client(struct roost_switch *sw, uint16_t client,
		const struct roost_sw_pkt *pkt,
		const struct roost_sw_frame *frame, uint64_t now_ns)
{
	bool done;

	take_turn(sw);
	done = message_from_client(sw, client, pkt, frame, now_ns);
	give_turn(sw);
	return done;
}

bool roost_switch_from_client(struct roost_switch *sw, uint16_t client,
			      const struct roost_sw_frame *frame,
			      uint64_t now_ns)
{
	struct roost_sw_pkt pkt;
	struct roost_steer way;
	const enum roost_sw_drop reason =
		roost_check(sw->lease, &sw->port, client, frame, &sw->mad,
			    &pkt);

	if (reason != ROOST_SW_OK) {
		drop(sw, client, reason);
		return true;
	}
	if (__builtin_expect(pkt.mad != NULL, 0))
		return mad_from_client(sw, client, &pkt, frame, now_ns);
	roost_steer_from_client(sw->lease, &sw->first->seen, &pkt, &way);
	if (!is_open(sw, client, &way))
		return false;
	pass(sw, client, &pkt, &way, frame);
	return true;
}

static void deal(struct roost_switch *sw, const struct roost_sw_pkt *pkt,
		 enum roost_sw_drop parsed, const struct roost_sw_frame *frame)
{
	struct roost_steer way;

	roost_steer_from_port(sw->lease, &sw->port, &sw->first->seen, pkt,
			      parsed, &way);
	switch (way.to) {
	case ROOST_STEER_CLIENT:
		if (pkt->mad)
			mad_to_client(sw, way.client, pkt, frame, false);
		else
			deliver(sw, way.client, frame, false);
		break;
	case ROOST_STEER_GROUP:
		deliver_group(sw, way.group, ROOST_CLIENT_NONE, frame);
		break;
	case ROOST_STEER_HOST:
		sw->ops->host(sw->arg, frame);
		break;
	case ROOST_STEER_ANSWER:
		answer(sw, pkt, &way.answer);
		break;
	case ROOST_STEER_DROP:
		dropped_on_the_way(sw, ROOST_SWITCH_SELF, pkt, &way);
		break;
	case ROOST_STEER_PORT:
	default:
		break;
	}
}

void roost_switch_from_port(struct roost_switch *sw,
			    const struct roost_sw_frame *frame)
{
	struct roost_sw_pkt pkt;
	const enum roost_sw_drop parsed = roost_sw_parse(frame, &sw->mad, &pkt);
	const bool needs_turn = sw->lanes && pkt.mad;

	if (__builtin_expect(needs_turn, 0))
		take_turn(sw);
	deal(sw, &pkt, parsed, frame);
	if (__builtin_expect(needs_turn, 0))
		give_turn(sw);
}

uint32_t roost_switch_send(struct roost_switch *lane, uint64_t now_ns,
			   uint32_t budget)
{
	struct roost_step *step = lane->lanes ? &lane->fair.step : NULL;
	uint32_t client, len, nb = 0;
	void *kept = NULL;

	if (step && lane->fair.nb_kept > 0)
		roost_step_begin(step);
	for (; nb < budget; nb++) {
		kept = roost_fair_head(&lane->fair, now_ns, &client, &len);
		if (!kept || !lane->ops->send(lane->arg, kept))
			break;
		roost_fair_pop(&lane->fair);
	}
	lane->waits = kept && nb < budget;
	if (step)
		lane->waits |= roost_step_end(step, lane->waits,
					      !TAILQ_EMPTY(&lane->fair.active));
	return nb;
}
