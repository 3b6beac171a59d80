/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Frames between the clients. Hot: no allocation, log or lock per frame, and a
 * system call only to wake a client that sleeps.
 */
#include <string.h>

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

/* ---- what the switch asks of us ------------------------------------------ */

/* A hub has no world outside. */
static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	struct roostd_port *port = arg;

	return port->uplink ? roost_uplink_copy(port->uplink, frame->head,
						frame->head_len_bytes,
						frame->payload,
						frame->len_bytes -
							frame->head_len_bytes)
			    : NULL;
}

static bool send_kept(void *arg, void *kept)
{
	struct roostd_port *port = arg;

	port->is_full = !roost_uplink_send(port->uplink, kept);
	return !port->is_full;
}

static void discard(void *arg, void *kept)
{
	(void)arg;
	roost_uplink_discard(kept);
}

static bool is_ready(void *arg, uint16_t client)
{
	struct roostd_port *port = arg;
	struct roostd_client *c = port->by_slot[client];

	/* Nobody reads any more what it gets. */
	return !c || c->leaves_ns != 0 ||
	       roostd_client_is_ready(c, port->now_ns);
}

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct roostd_port *port = arg;
	struct roostd_client *c = port->by_slot[client];

	(void)looped;
	/* The port is being closed; the client may come back to the next
	 * daemon.
	 */
	if (!c || !roostd_client_deliver(c, frame))
		return false;
	if (!c->rings)
		LIST_INSERT_HEAD(&port->to_ring, c, ring);
	c->rings = true;
	port->got = c;
	return true;
}

/* Its engine has it, and gives it to its host, as ever. */
static void host(void *arg, const struct roost_sw_frame *frame)
{
	struct roostd_port *port = arg;

	(void)frame;
	port->is_hosts = true;
}

static void leave(void *arg, const struct roost_gid *group)
{
	struct roostd_port *port = arg;

	roostd_port_leave(port, group);
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

/* ---- frames -------------------------------------------------------------- */

static __attribute__((noinline)) bool
show_and_switch(struct roostd_port *port, struct roostd_client *c,
		const struct roost_sw_frame *frame)
{
	struct roost_tap_mark mark;

	roostd_dump_begin(port, c->slot, frame, &mark);
	if (!roost_switch_from_client(port->sw, c->slot, frame, port->now_ns)) {
		roost_dump_cancel(&mark);
		return false;
	}
	roostd_dump_end(port, c->slot, &mark);
	return true;
}

static bool switch_frame(struct roostd_port *port, struct roostd_client *c,
			 const struct roost_sw_frame *frame)
{
	if (__builtin_expect(port->is_shown, 0))
		return show_and_switch(port, c, frame);
	return roost_switch_from_client(port->sw, c->slot, frame, port->now_ns);
}

/* Returns false: its receiver is full, the frame is to be offered again. */
static bool move(struct roostd_port *port, struct roostd_client *c,
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
	port->got = NULL;
	if (!switch_frame(port, c, &frame))
		return false;
	if (port->got)
		roostd_introduce_count(port, c, port->got);
	return true;
}

/* Frames that were not moved are taken once more. */
static unsigned int poll_burst(struct roostd_port *port,
			       struct roostd_client *c)
{
	struct roost_shm_entry entries[BURST];
	const struct roost_shm_in before = c->in;
	uint32_t n = roost_shm_in_take(&c->in, entries, BURST);
	uint32_t i = 0;

	while (i < n && move(port, c, &entries[i]))
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

static unsigned int poll_client(struct roostd_port *port,
				struct roostd_client *c)
{
	unsigned int moved = 0, n;

	for (unsigned int i = 0; i < BURSTS_MAX; i++) {
		n = poll_burst(port, c);
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

static void ring_all(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = LIST_FIRST(&port->to_ring))) {
		LIST_REMOVE(c, ring);
		c->rings = false;
		roostd_client_ring(c);
	}
}

static unsigned int poll_clients(struct roostd_port *port)
{
	const uint64_t now_ns = port->now_ns;
	struct roostd_client *c, *next;
	unsigned int moved = 0, n;

	for (c = TAILQ_FIRST(&port->awake); c; c = next) {
		next = TAILQ_NEXT(c, awake);
		n = poll_client(port, c);
		moved += n;
		if (c->leaves_ns != 0)
			roostd_port_go_on_leaving(port, c);
		else if (n > 0)
			c->active_ns = now_ns;
		else if (now_ns - c->active_ns >= STILL_NS &&
			 roostd_client_sleep(c)) {
			TAILQ_REMOVE(&port->awake, c, awake);
			c->asleep = true;
		}
		if (!c->gone)
			check_faults(port, c);
	}
	return moved;
}

/* After a restart, frames of clients that are back stay with them until the
 * others are back, too, or this time is over: nobody would get them.
 */
static bool are_held(const struct roostd_port *port)
{
	const struct roost_lease *lease = port->lease;

	return port->facts.is_recovering &&
	       port->now_ns + lease->conf.grace_ns <
		       lease->grace_at_ns + HOLD_NS;
}

unsigned int roostd_port_poll(struct roostd_port *port, uint64_t now_ns)
{
	unsigned int moved;

	port->now_ns = now_ns;
	roostd_port_resume(port);
	if (port->facts.is_recovering)
		roostd_port_recover(port);
	moved = are_held(port) ? 0 : poll_clients(port);
	port->due_ns = roost_switch_run(port->sw, now_ns, MESSAGES_MAX);
	port->is_full = false;
	if (port->uplink)
		moved += roost_uplink_run(port->uplink, now_ns);
	ring_all(port);
	roostd_introduce_run(port);
	if (!TAILQ_EMPTY(&port->neighs.asked))
		roostd_port_answer(port);
	if (moved > 0)
		port->moved_ns = now_ns;
	return moved;
}

/* ---- sleep --------------------------------------------------------------- */

bool roostd_port_is_still(const struct roostd_port *port, uint64_t now_ns)
{
	return TAILQ_EMPTY(&port->awake) &&
	       (!port->uplink || now_ns - port->moved_ns >= STILL_NS);
}

static void earlier(uint64_t *until_ns, uint64_t ns)
{
	if (ns < *until_ns)
		*until_ns = ns;
}

/* A frame that comes is delivered in the next round, before which nobody
 * sleeps.
 */
bool roostd_port_sleep(struct roostd_port *port, uint64_t now_ns,
		       uint64_t *until_ns)
{
	uint64_t uplink_ns = UINT64_MAX;
	bool may = true;

	earlier(until_ns, port->due_ns);
	/* A frame that was not sent in this round waits for its rate. */
	earlier(until_ns, roost_fair_ready_ns(&port->sw->fair));
	if (!TAILQ_EMPTY(&port->paused))
		earlier(until_ns, TAILQ_FIRST(&port->paused)->resume_ns);
	earlier(until_ns, roostd_neighs_due_ns(port));
	if (!LIST_EMPTY(&port->pairs.all))
		earlier(until_ns, port->pairs.look_ns);
	if (port->is_full)
		earlier(until_ns, now_ns + FULL_NS);
	if (port->uplink)
		may = roost_uplink_sleep(port->uplink, now_ns, port->moved_ns,
					 &uplink_ns);
	earlier(until_ns, uplink_ns);
	return may;
}

void roostd_port_awake(struct roostd_port *port)
{
	if (port->uplink)
		roost_uplink_awake(port->uplink);
}
