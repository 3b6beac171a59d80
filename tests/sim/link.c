/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "tests/sim/link.h"

/* Time that a frame takes on the wire; what reordering counts in. */
#define SLOT_NS 100u

struct frame {
	uint64_t arrival_ns;
	uint64_t number; /* of two that arrive together, the lower is first */
	size_t len;
	uint8_t *data;
};

/* A binary heap, the next to arrive at the top. */
struct heap {
	struct frame *frames;
	size_t count, room;
};

struct sim_wire {
	struct heap queues[ROOST_DEV_WORKERS_MAX]; /* of the port it ends at */
	unsigned int nb_queues;
	uint32_t salt; /* of their choice */
	uint64_t nb_put;
	uint64_t nb_offered; /* frames that the end sent: drop_nth */
	uint64_t free_at_ns; /* the wire is taken until then */
};

/* ---- the heap ------------------------------------------------------- */

static bool before(const struct frame *a, const struct frame *b)
{
	if (a->arrival_ns != b->arrival_ns)
		return a->arrival_ns < b->arrival_ns;
	return a->number < b->number;
}

static void swap(struct frame *a, struct frame *b)
{
	struct frame t = *a;

	*a = *b;
	*b = t;
}

static void push(struct heap *heap, struct frame frame)
{
	size_t i = heap->count++;

	if (heap->count > heap->room) {
		heap->room = heap->room == 0 ? 64 : 2 * heap->room;
		heap->frames = realloc(heap->frames,
				       heap->room * sizeof(heap->frames[0]));
		assert_non_null(heap->frames);
	}
	heap->frames[i] = frame;
	for (; i > 0 && before(&heap->frames[i], &heap->frames[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&heap->frames[i], &heap->frames[(i - 1) / 2]);
}

static struct frame pop(struct heap *heap)
{
	struct frame top = heap->frames[0];
	size_t i = 0, child;

	heap->frames[0] = heap->frames[--heap->count];
	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    before(&heap->frames[child + 1], &heap->frames[child]))
			child++;
		if (!before(&heap->frames[child], &heap->frames[i]))
			break;
		swap(&heap->frames[i], &heap->frames[child]);
		i = child;
	}
	return top;
}

/* ---- what happens to a frame ---------------------------------------- */

/* As RSS does: by the UDP source port, which a flow keeps. */
static struct heap *queue_of(struct sim_wire *wire, const void *data,
			     size_t len)
{
	struct roost_frame frame;
	uint32_t mix = wire->salt;

	if (wire->nb_queues == 1 ||
	    roost_frame_parse(data, len, &frame) != ROOST_FRAME_ROCE)
		return &wire->queues[0];
	mix = (mix ^ frame.udp_src) * 0x9e3779b9u;
	return &wire->queues[(mix >> 16) % wire->nb_queues];
}

static void put_at(struct sim_wire *wire, uint64_t arrival_ns, const void *data,
		   size_t len)
{
	struct frame frame = {
		.arrival_ns = arrival_ns,
		.number = wire->nb_put++,
		.len = len,
		.data = malloc(len),
	};

	assert_non_null(frame.data);
	memcpy(frame.data, data, len);
	push(queue_of(wire, data, len), frame);
}

void sim_link_put(struct sim *sim, int side, const void *frame, size_t len)
{
	put_at(sim->link.wires[side], sim->now_ns, frame, len);
}

static uint64_t arrival(struct sim *sim, struct sim_link *link, int side)
{
	const struct sim_faults *f = &link->faults[side];
	struct sim_wire *wire = link->wires[side];
	bool late = f->late_nth != 0 && f->late_nth == wire->nb_offered;
	uint64_t leave_ns =
		sim->now_ns > wire->free_at_ns ? sim->now_ns : wire->free_at_ns;

	wire->free_at_ns = leave_ns + SLOT_NS;
	return wire->free_at_ns + f->delay_ns + (late ? f->late_ns : 0) +
	       sim_random_below(&sim->rng, f->jitter_ns + 1) +
	       sim_random_below(&sim->rng, f->reorder_pkts + 1ull) * SLOT_NS;
}

/* As a switch does whose queue is long. */
static void mark(struct sim_link *link, int side, uint8_t *data, size_t len)
{
	struct roost_frame frame;
	uint8_t *l3;
	uint16_t sum;

	if (roost_frame_parse(data, len, &frame) != ROOST_FRAME_ROCE ||
	    (frame.tclass & ROOST_ECN_MASK) != ROOST_ECN_ECT0)
		return;
	link->nb_marked[side]++;
	l3 = data + (frame.l3 - data);
	if (frame.ipv6) {
		l3[1] |= ROOST_ECN_CE << 4;
		return;
	}
	/* RFC 1624: the word at 0 grew by one. */
	l3[1] |= ROOST_ECN_CE;
	sum = (uint16_t)(l3[10] << 8 | l3[11]);
	sum = (uint16_t)(sum - 1 - (sum == 0));
	l3[10] = (uint8_t)(sum >> 8);
	l3[11] = (uint8_t)sum;
}

static void deliver(struct sim *sim, struct sim_link *link, int side,
		    uint8_t *data, size_t len)
{
	const struct sim_faults *f = &link->faults[side];
	struct sim_wire *wire = link->wires[side];

	if (f->mark_ppm != 0 && sim_random_chance(&sim->rng, f->mark_ppm))
		mark(link, side, data, len);
	if (sim_random_chance(&sim->rng, f->corrupt_ppm)) {
		uint64_t bit = sim_random_below(&sim->rng, 8 * len);

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		link->nb_corrupt[side]++;
	}
	put_at(wire, arrival(sim, link, side), data, len);
	if (sim_random_chance(&sim->rng, f->dup_ppm) ||
	    (f->dup_nth != 0 && f->dup_nth == wire->nb_offered)) {
		link->nb_dup[side]++;
		put_at(wire, arrival(sim, link, side), data, len);
	}
}

static void note(struct sim *sim, struct sim_link *link, int side,
		 const struct roost_pkt *pkt)
{
	size_t n = link->nb_log[side]++;

	if (n == link->log_room[side]) {
		link->log_room[side] = n == 0 ? 256 : 2 * n;
		link->log[side] =
			realloc(link->log[side],
				link->log_room[side] * sizeof(link->log[0][0]));
		assert_non_null(link->log[side]);
	}
	link->log[side][n] = (struct sim_sent){
		.at_ns = sim->now_ns,
		.psn = pkt->psn,
		.opcode = pkt->opcode,
		.syndrome = pkt->info->op == ROOST_OP_ACK ? pkt->syndrome : 0,
	};
}

static bool is_lost(struct sim *sim, struct sim_link *link, int side,
		    const struct roost_pkt *pkt)
{
	const struct sim_faults *f = &link->faults[side];
	struct sim_wire *wire = link->wires[side];
	bool lost =
		f->drop_nth >= 0 && (uint64_t)f->drop_nth == wire->nb_offered;

	wire->nb_offered++;
	lost |= link->filter != NULL &&
		!link->filter(sim, side, pkt, link->filter_arg);
	lost |= f->carrier_off || sim_random_chance(&sim->rng, f->drop_ppm);
	if (lost)
		link->nb_lost[side]++;
	return lost;
}

static void send_frame(struct sim_port *port, struct rte_mbuf *mbuf)
{
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	struct sim *sim = port->end->sim;
	int side = port->end->side;
	struct roost_frame frame;
	struct roost_pkt pkt;

	assert_int_equal(mbuf->nb_segs, 1);
	assert_int_equal(mbuf->pkt_len, mbuf->data_len);
	sim_pcap_write(sim->now_ns, data, mbuf->data_len);
	if (port->end->sends_any &&
	    roost_frame_parse(data, mbuf->data_len, &frame) ==
		    ROOST_FRAME_OTHER) {
		deliver(sim, port->link, side, data, mbuf->data_len);
		rte_pktmbuf_free(mbuf);
		return;
	}
	sim_check_frame(port, data, mbuf->data_len, &pkt);
	note(sim, port->link, side, &pkt);
	if (!is_lost(sim, port->link, side, &pkt))
		deliver(sim, port->link, side, data, mbuf->data_len);
	rte_pktmbuf_free(mbuf);
}

/* ---- the port ------------------------------------------------------- */

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct sim_port *port = ctx;
	uint16_t max = port->link->faults[port->end->side].take_max;

	assert_true(queue < port->end->nb_queues);
	if (port->link->faults[port->end->side].takes_none)
		return 0;
	if (max != 0 && n > max)
		n = max;
	for (uint16_t i = 0; i < n; i++)
		send_frame(port, pkts[i]);
	return n;
}

/* Bytes of a frame that its receiver has for itself, if the frame is in place.
 */
#define COPY_BYTES 128u

/* What the ICRC does not cover of the frame itself: whoever reads a header
 * there and not in the copy sees something else.
 */
static void scramble(uint8_t *whole, const struct roost_frame *frame,
		     const uint8_t *copy)
{
	uint8_t *l3 = whole + (frame->l3 - copy);
	uint8_t *bth = whole + (frame->bth - copy);

	memset(whole, 0xee, (size_t)(l3 - whole));
	if (frame->ipv6) {
		memset(l3 + 1, 0xee, 3);
		l3[7] = 0xee;
	} else {
		l3[1] = l3[8] = l3[10] = l3[11] = 0xee;
	}
	bth[4] ^= 0xff;
}

/* Leave the frame in place, if a port may: with the copy in the mbuf, and the
 * whole behind it.
 */
static bool put_in_place(struct rte_mbuf *mbuf, const uint8_t *data, size_t len)
{
	struct roost_in_place *p = rte_mbuf_to_priv(mbuf);
	uint8_t *whole = (uint8_t *)mbuf->buf_addr + mbuf->buf_len - len;
	uint8_t *copy = rte_pktmbuf_mtod(mbuf, uint8_t *);
	struct roost_frame frame;

	if (mbuf->pool->pool_config != &roost_in_place_pools ||
	    len <= COPY_BYTES ||
	    roost_frame_parse(data, len, &frame) != ROOST_FRAME_ROCE ||
	    roost_frame_dest_qpn(&frame) <= 1)
		return false;
	memcpy(whole, data, len);
	memset(copy, 0xee, (size_t)(whole - copy));
	memcpy(copy, data, COPY_BYTES);
	scramble(whole, &frame, data);
	p->frame = whole;
	mbuf->data_len = COPY_BYTES;
	mbuf->pkt_len = (uint32_t)len;
	return true;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct sim_port *port = ctx;
	struct sim_end *end = port->end;
	struct heap *heap = &port->link->wires[!end->side]->queues[queue];
	uint16_t got = 0;

	assert_true(queue < end->nb_queues);
	while (got < n && heap->count > 0 &&
	       heap->frames[0].arrival_ns <= end->sim->now_ns) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(end->rx_pool);
		struct frame frame;

		if (mbuf == NULL)
			break;
		frame = pop(heap);
		if (!put_in_place(mbuf, frame.data, frame.len))
			memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame.len),
			       frame.data, frame.len);
		free(frame.data);
		pkts[got++] = mbuf;
	}
	return got;
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct sim_port *port = ctx;

	port->end->nb_punted++;
	rte_pktmbuf_free(pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct sim_port *port = ctx;

	(void)sgid;
	(void)dgid;
	port->end->neigh_refs++;
	*neigh = &port->neigh;
	return 0;
}

/* As resolve: it takes a reference, and waits for nothing. */
static int ask(void *ctx, const struct roost_gid *sgid,
	       const struct roost_gid *dgid, const uint8_t *from_mac,
	       struct roost_neigh **neigh)
{
	const struct sim_port *port = ctx;
	pthread_mutex_t *lock = port->end->not_under;

	(void)from_mac;
	if (lock != NULL) {
		assert_int_equal(pthread_mutex_trylock(lock), 0);
		pthread_mutex_unlock(lock);
	}
	return resolve(ctx, sgid, dgid, neigh);
}

static int meet(void *ctx, const struct roost_gid *sgid,
		const struct roost_gid *dgid, const uint8_t from_mac[6])
{
	struct sim_port *port = ctx;

	(void)sgid;
	(void)dgid;
	(void)from_mac;
	if (port->end->meet_error != 0)
		return port->end->meet_error;
	return atomic_load(&port->neigh.mac_gen) != 0 ? 0 : -EAGAIN;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct sim_port *port = ctx;

	assert_ptr_equal(neigh, &port->neigh);
	port->end->neigh_refs--;
}

static void wake(void *ctx)
{
	struct sim_port *port = ctx;

	port->end->services_due_ns = 0;
}

struct roost_frame_io sim_link_frame_io(struct sim_port *port)
{
	return (struct roost_frame_io){
		.ctx = port,
		.nb_queues = port->end->nb_queues,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
	};
}

struct roost_addr_io sim_link_addr_io(struct sim_port *port)
{
	return (struct roost_addr_io){
		.ctx = port,
		.resolve = resolve,
		.neigh_put = neigh_put,
		.ask = ask,
		.meet = meet,
		.wake = wake,
	};
}

static uint64_t next_ns(const struct sim_link *link)
{
	uint64_t next = UINT64_MAX;

	for (int side = 0; side < 2; side++) {
		const struct sim_wire *wire = link->wires[side];

		for (unsigned int i = 0; i < wire->nb_queues; i++) {
			const struct heap *heap = &wire->queues[i];

			if (heap->count > 0 &&
			    heap->frames[0].arrival_ns < next)
				next = heap->frames[0].arrival_ns;
		}
	}
	return next;
}

uint64_t sim_link_next_ns(const struct sim *sim)
{
	uint64_t one = next_ns(&sim->link), two = next_ns(&sim->link2);

	return one < two ? one : two;
}

static void init(struct sim *sim, struct sim_link *link)
{
	for (int side = 0; side < 2; side++) {
		link->faults[side].drop_nth = -1;
		link->faults[side].delay_ns = 2 * SIM_US;
		link->wires[side] = calloc(1, sizeof(struct sim_wire));
		assert_non_null(link->wires[side]);
		link->wires[side]->nb_queues = sim->ends[!side].nb_queues;
		if (link->wires[side]->nb_queues > 1)
			link->wires[side]->salt =
				(uint32_t)sim_random(&sim->rng);
	}
}

void sim_link_init(struct sim *sim)
{
	init(sim, &sim->link);
	init(sim, &sim->link2);
}

static void fini(struct sim_link *link)
{
	for (int side = 0; side < 2; side++) {
		struct sim_wire *wire = link->wires[side];

		for (unsigned int i = 0; i < wire->nb_queues; i++) {
			struct heap *heap = &wire->queues[i];

			while (heap->count > 0)
				free(pop(heap).data);
			free(heap->frames);
		}
		free(wire);
		free(link->log[side]);
	}
}

void sim_link_fini(struct sim *sim)
{
	fini(&sim->link);
	fini(&sim->link2);
}
