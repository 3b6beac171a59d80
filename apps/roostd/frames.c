/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Frames between the clients. Hot: no allocation, log or lock per frame, and a
 * system call only to wake a client that sleeps.
 */
#include <string.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/dump.h"
#include "apps/roostd/port.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/dump/dump.h"
#include "pmd_glue/uplink.h"

/* Of a client in one round. */
#define BURST 32u
#define BURSTS_MAX 4u
/* A client that has sent nothing for so long rings before it is polled. */
#define STILL_NS 50000u
#define MESSAGES_MAX 16u
/* Clients are back within some ms, if they have a processor. */
#define HOLD_NS 100000000u
/* An uplink that is full is offered frames again. */
#define FULL_NS 50000u

/* ---- what the switch asks of us: of a lane ------------------------------- */

/* A hub has no world outside. */
static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	const struct roostd_lane *lane = arg;
	struct roost_uplink *uplink = lane->port->uplink;

	return uplink ? roost_uplink_copy(uplink, frame->head,
					  frame->head_len_bytes, frame->payload,
					  frame->len_bytes -
						  frame->head_len_bytes)
		      : NULL;
}

static bool send_kept(void *arg, void *kept)
{
	struct roostd_lane *lane = arg;

	if (!roost_uplink_send(lane->port->uplink, lane->number, kept))
		return false;
	lane->tx_frames++;
	return true;
}

static void discard(void *arg, void *kept)
{
	(void)arg;
	roost_uplink_discard(kept);
}

static bool is_ready(void *arg, uint16_t client)
{
	const struct roostd_lane *lane = arg;
	struct roostd_client *c = lane->port->by_slot[client];

	/* Nobody reads any more what it gets. */
	return !c || c->leaves_ns != 0 ||
	       roostd_client_is_ready(c, lane->now_ns);
}

static void ring_all(struct roostd_lane *lane);

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct roostd_lane *lane = arg;
	struct roostd_client *c = lane->port->by_slot[client];

	(void)looped;
	/* The port is being closed; the client may come back to the next
	 * daemon.
	 */
	if (!c || !roostd_client_deliver(c, frame))
		return false;
	if (!(c->rings & 1u << lane->number)) {
		c->rings |= 1u << lane->number;
		lane->to_ring[lane->nb_to_ring++] = c;
		if (lane->nb_to_ring == ROOSTD_TO_RING_MAX &&
		    lane->port->nb_lanes == 1)
			ring_all(lane);
	}
	lane->got = c;
	return true;
}

/* Its engine has it, and gives it to its host, as ever. */
static void host(void *arg, const struct roost_sw_frame *frame)
{
	struct roostd_lane *lane = arg;

	(void)frame;
	lane->is_hosts = true;
}

static void leave(void *arg, const struct roost_gid *group)
{
	const struct roostd_lane *first = arg;

	roostd_port_leave(first->port, group);
}

const struct roost_switch_ops roostd_port_switch_ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.is_ready = is_ready,
	.deliver = deliver,
	.host = host,
	.leave = leave,
};

/* ---- the same of several lanes: the client's lock ------------------------ */

static void tell_trouble(struct roostd_lane *lane)
{
	if (!atomic_exchange(&lane->has_trouble, true) && lane->number > 0)
		roostd_crew_kick(lane->port->lanes[0].thread);
}

static void unlock(struct roostd_lane *lane, struct roostd_client *c)
{
	const bool has_fault = c->out.fault != ROOST_SHM_OK;

	pthread_mutex_unlock(&c->lock);
	if (__builtin_expect(has_fault, 0))
		tell_trouble(lane);
}

static bool is_ready_locked(void *arg, uint16_t client)
{
	struct roostd_lane *lane = arg;
	struct roostd_client *c = lane->port->by_slot[client];
	bool ready;

	if (!c || c->leaves_ns != 0)
		return true;
	pthread_mutex_lock(&c->lock);
	ready = roostd_client_is_ready(c, lane->now_ns);
	unlock(lane, c);
	return ready;
}

static bool deliver_locked(void *arg, uint16_t client,
			   const struct roost_sw_frame *frame, bool looped)
{
	struct roostd_lane *lane = arg;
	struct roostd_client *c = lane->port->by_slot[client];
	bool done;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	done = deliver(arg, client, frame, looped);
	unlock(lane, c);
	/* No lock of a client is taken under that of another one. */
	if (lane->nb_to_ring == ROOSTD_TO_RING_MAX)
		ring_all(lane);
	return done;
}

const struct roost_switch_ops roostd_lanes_switch_ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.is_ready = is_ready_locked,
	.deliver = deliver_locked,
	.host = host,
	.leave = leave,
};

/* ---- frames -------------------------------------------------------------- */

static __attribute__((noinline)) bool
show_and_switch(struct roostd_lane *lane, struct roostd_client *c,
		const struct roost_sw_frame *frame)
{
	struct roost_tap_mark mark;

	roostd_dump_begin(lane, c->slot, frame, &mark);
	if (!roost_switch_from_client(lane->sw, c->slot, frame, lane->now_ns)) {
		roost_dump_cancel(&mark);
		return false;
	}
	roostd_dump_end(lane, c->slot, &mark);
	return true;
}

static bool switch_frame(struct roostd_lane *lane, struct roostd_client *c,
			 const struct roost_sw_frame *frame)
{
	if (__builtin_expect(lane->port->is_shown, 0))
		return show_and_switch(lane, c, frame);
	return roost_switch_from_client(lane->sw, c->slot, frame, lane->now_ns);
}

/* Returns false: its receiver is full, the frame is to be offered again. */
static bool move(struct roostd_lane *lane, struct roostd_client *c,
		 const struct roost_shm_entry *entry)
{
	const uint8_t *bytes =
		roost_shm_slot(&c->theirs, entry->slot) + ROOST_SHM_HEADROOM;
	uint8_t head[ROOST_SW_HEAD_MAX];
	struct roost_sw_frame frame = {
		.head = head,
		.head_len_bytes = entry->len_bytes,
		.len_bytes = entry->len_bytes,
	};

	if (frame.head_len_bytes > sizeof(head))
		frame.head_len_bytes = sizeof(head);
	memcpy(head, bytes, frame.head_len_bytes);
	frame.payload = bytes + frame.head_len_bytes;
	lane->got = NULL;
	if (!switch_frame(lane, c, &frame))
		return false;
	if (lane->got)
		roostd_introduce_count(lane->port, c, lane->got, lane->now_ns);
	return true;
}

/* Frames that were not moved are taken once more. */
static unsigned int poll_burst(struct roostd_lane *lane,
			       struct roostd_client *c)
{
	struct roost_shm_entry entries[BURST];
	const struct roost_shm_in before = c->in;
	uint32_t n = roost_shm_in_take(&c->in, entries, BURST);
	uint32_t i = 0;

	while (i < n && move(lane, c, &entries[i]))
		i++;
	if (i < n) {
		const uint8_t fault = c->in.fault;

		c->in = before;
		roost_shm_in_take(&c->in, entries, i);
		c->in.fault = fault;
	}
	if (i > 0)
		roost_shm_in_give(&c->in, i);
	return i;
}

static unsigned int poll_client(struct roostd_lane *lane,
				struct roostd_client *c)
{
	unsigned int moved = 0, n;

	for (unsigned int i = 0; i < BURSTS_MAX; i++) {
		n = poll_burst(lane, c);
		moved += n;
		if (n < BURST)
			break;
	}
	return moved;
}

static void check_faults(struct roostd_port *port, struct roostd_client *c)
{
	uint8_t fault =
		c->in.fault != ROOST_SHM_OK ? c->in.fault : c->out.fault;

	if (fault != ROOST_SHM_OK)
		roostd_port_drop(port, c, roost_shm_fault_text(fault));
}

/* Of several lanes, none alone looks at both ways. */
static void look_for_trouble(struct roostd_lane *lane, struct roostd_client *c)
{
	if (lane->port->nb_lanes == 1)
		check_faults(lane->port, c);
	else if (c->in.fault != ROOST_SHM_OK)
		tell_trouble(lane);
}

static void ring_all(struct roostd_lane *lane)
{
	const bool is_one = lane->port->nb_lanes == 1;

	for (uint32_t i = 0; i < lane->nb_to_ring; i++) {
		struct roostd_client *c = lane->to_ring[i];

		if (!is_one)
			pthread_mutex_lock(&c->lock);
		c->rings &= ~(1u << lane->number);
		roostd_client_ring(c);
		if (!is_one)
			pthread_mutex_unlock(&c->lock);
	}
	lane->nb_to_ring = 0;
}

static unsigned int poll_clients(struct roostd_lane *lane)
{
	const uint64_t now_ns = lane->now_ns;
	struct roostd_client *c, *next;
	unsigned int moved = 0, n;

	for (c = TAILQ_FIRST(&lane->awake); c; c = next) {
		next = TAILQ_NEXT(c, awake);
		n = poll_client(lane, c);
		moved += n;
		if (c->leaves_ns != 0)
			roostd_port_go_on_leaving(lane->port, c);
		else if (n > 0)
			c->active_ns = now_ns;
		else if (now_ns - c->active_ns >= STILL_NS &&
			 roostd_client_sleep(c)) {
			TAILQ_REMOVE(&lane->awake, c, awake);
			c->asleep = true;
		}
		if (!c->gone)
			look_for_trouble(lane, c);
	}
	return moved;
}

/* After a restart, frames of clients that are back stay with them until the
 * others are back, too, or this time is over: nobody would get them.
 */
static bool are_held(const struct roostd_lane *lane)
{
	const struct roost_lease *lease = lane->port->lease;

	return lane->port->facts.is_recovering &&
	       lane->now_ns + lease->conf.grace_ns <
		       lease->grace_at_ns + HOLD_NS;
}

/* The lanes have seen that something is wrong with a client. */
static void hear_lanes(struct roostd_port *port)
{
	struct roostd_client *c, *next;
	bool heard = false;

	for (uint32_t i = 0; i < port->nb_lanes; i++)
		heard |= atomic_load_explicit(&port->lanes[i].has_trouble,
					      memory_order_relaxed) &&
			 atomic_exchange(&port->lanes[i].has_trouble, false);
	if (!heard)
		return;
	roostd_port_hold(port);
	for (c = LIST_FIRST(&port->clients); c; c = next) {
		next = LIST_NEXT(c, all);
		if (c->slot != ROOST_CLIENT_NONE)
			check_faults(port, c);
		if (!c->gone && c->hung_up && c->leaves_ns == 0)
			roostd_port_drop(port, c, NULL);
	}
}

unsigned int roostd_port_poll(struct roostd_port *port, uint64_t now_ns)
{
	struct roostd_lane *lane = &port->lanes[0];
	unsigned int moved;

	port->now_ns = now_ns;
	port->nb_attaches = 0;
	lane->now_ns = now_ns;
	roostd_port_resume(port);
	if (port->facts.is_recovering)
		roostd_port_recover(port);
	if (port->nb_lanes > 1)
		hear_lanes(port);
	moved = are_held(lane) ? 0 : poll_clients(lane);
	port->due_ns = roost_switch_run(port->sw, now_ns, MESSAGES_MAX);
	if (port->uplink)
		moved += roost_uplink_run(port->uplink, 0, now_ns);
	ring_all(lane);
	roostd_introduce_run(port);
	if (!TAILQ_EMPTY(&port->neighs.asked))
		roostd_port_answer(port);
	if (moved > 0)
		lane->moved_ns = now_ns;
	roostd_port_let_go(port);
	return moved;
}

unsigned int roostd_lane_poll(struct roostd_lane *lane, uint64_t now_ns)
{
	struct roost_uplink *uplink = lane->port->uplink;
	unsigned int moved;

	lane->now_ns = now_ns;
	moved = are_held(lane) ? 0 : poll_clients(lane);
	if (uplink)
		moved += roost_uplink_run(uplink, lane->number, now_ns);
	ring_all(lane);
	if (moved > 0)
		lane->moved_ns = now_ns;
	return moved;
}

/* ---- sleep --------------------------------------------------------------- */

bool roostd_lane_is_still(const struct roostd_lane *lane, uint64_t now_ns)
{
	return TAILQ_EMPTY(&lane->awake) &&
	       (!lane->port->uplink || now_ns - lane->moved_ns >= STILL_NS);
}

static void earlier(uint64_t *until_ns, uint64_t ns)
{
	if (ns < *until_ns)
		*until_ns = ns;
}

/* A frame that comes is delivered in the next round, before which nobody
 * sleeps.
 */
bool roostd_lane_sleep(struct roostd_lane *lane, uint64_t now_ns,
		       uint64_t *until_ns)
{
	uint64_t uplink_ns = UINT64_MAX;
	bool may = true;

	if (lane->port->uplink)
		may = roost_uplink_sleep(lane->port->uplink, lane->number,
					 now_ns, lane->moved_ns, &uplink_ns);
	earlier(until_ns, uplink_ns);
	/* A frame that was not sent in this round waits for its rate. */
	earlier(until_ns, roost_fair_ready_ns(&lane->sw->fair));
	if (roost_switch_waits(lane->sw))
		earlier(until_ns, now_ns + FULL_NS);
	return may;
}

void roostd_lane_awake(struct roostd_lane *lane)
{
	if (lane->port->uplink)
		roost_uplink_awake(lane->port->uplink, lane->number);
}

bool roostd_port_sleep(struct roostd_port *port, uint64_t now_ns,
		       uint64_t *until_ns)
{
	earlier(until_ns, port->due_ns);
	if (!TAILQ_EMPTY(&port->paused))
		earlier(until_ns, TAILQ_FIRST(&port->paused)->resume_ns);
	earlier(until_ns, roostd_neighs_due_ns(port));
	if (!LIST_EMPTY(&port->pairs.all))
		earlier(until_ns, port->pairs.look_ns);
	return roostd_lane_sleep(&port->lanes[0], now_ns, until_ns);
}
