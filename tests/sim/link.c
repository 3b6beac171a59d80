/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

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
struct sim_wire {
	struct frame *frames;
	size_t count, room;
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

static void push(struct sim_wire *wire, struct frame frame)
{
	size_t i = wire->count++;

	if (wire->count > wire->room) {
		wire->room = wire->room == 0 ? 64 : 2 * wire->room;
		wire->frames = realloc(wire->frames,
				       wire->room * sizeof(wire->frames[0]));
		assert_non_null(wire->frames);
	}
	wire->frames[i] = frame;
	for (; i > 0 && before(&wire->frames[i], &wire->frames[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&wire->frames[i], &wire->frames[(i - 1) / 2]);
}

static struct frame pop(struct sim_wire *wire)
{
	struct frame top = wire->frames[0];
	size_t i = 0, child;

	wire->frames[0] = wire->frames[--wire->count];
	while ((child = 2 * i + 1) < wire->count) {
		if (child + 1 < wire->count &&
		    before(&wire->frames[child + 1], &wire->frames[child]))
			child++;
		if (!before(&wire->frames[child], &wire->frames[i]))
			break;
		swap(&wire->frames[i], &wire->frames[child]);
		i = child;
	}
	return top;
}

/* ---- what happens to a frame ---------------------------------------- */

static void put_at(struct sim *sim, int side, uint64_t arrival_ns,
		   const void *data, size_t len)
{
	struct sim_wire *wire = sim->link.wires[side];
	struct frame frame = {
		.arrival_ns = arrival_ns,
		.number = wire->nb_put++,
		.len = len,
		.data = malloc(len),
	};

	assert_non_null(frame.data);
	memcpy(frame.data, data, len);
	push(wire, frame);
}

void sim_link_put(struct sim *sim, int side, const void *frame, size_t len)
{
	put_at(sim, side, sim->now_ns, frame, len);
}

static uint64_t arrival(struct sim *sim, int side)
{
	const struct sim_faults *f = &sim->link.faults[side];
	struct sim_wire *wire = sim->link.wires[side];
	bool late = f->late_nth != 0 && f->late_nth == wire->nb_offered;
	uint64_t leave_ns =
		sim->now_ns > wire->free_at_ns ? sim->now_ns : wire->free_at_ns;

	wire->free_at_ns = leave_ns + SLOT_NS;
	return wire->free_at_ns + f->delay_ns + (late ? f->late_ns : 0) +
	       sim_random_below(&sim->rng, f->jitter_ns + 1) +
	       sim_random_below(&sim->rng, f->reorder_pkts + 1ull) * SLOT_NS;
}

static void deliver(struct sim *sim, int side, uint8_t *data, size_t len)
{
	const struct sim_faults *f = &sim->link.faults[side];

	if (sim_random_chance(&sim->rng, f->corrupt_ppm)) {
		uint64_t bit = sim_random_below(&sim->rng, 8 * len);

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		sim->link.nb_corrupt[side]++;
	}
	put_at(sim, side, arrival(sim, side), data, len);
	if (sim_random_chance(&sim->rng, f->dup_ppm) ||
	    (f->dup_nth != 0 &&
	     f->dup_nth == sim->link.wires[side]->nb_offered)) {
		sim->link.nb_dup[side]++;
		put_at(sim, side, arrival(sim, side), data, len);
	}
}

static void note(struct sim *sim, int side, const struct roost_pkt *pkt)
{
	struct sim_link *link = &sim->link;
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

static bool is_lost(struct sim *sim, int side, const struct roost_pkt *pkt)
{
	const struct sim_faults *f = &sim->link.faults[side];
	struct sim_wire *wire = sim->link.wires[side];
	bool lost =
		f->drop_nth >= 0 && (uint64_t)f->drop_nth == wire->nb_offered;

	wire->nb_offered++;
	lost |= sim->link.filter != NULL &&
		!sim->link.filter(sim, side, pkt, sim->link.filter_arg);
	lost |= f->carrier_off || sim_random_chance(&sim->rng, f->drop_ppm);
	if (lost)
		sim->link.nb_lost[side]++;
	return lost;
}

static void send_frame(struct sim_end *end, struct rte_mbuf *mbuf)
{
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	struct roost_pkt pkt;

	assert_int_equal(mbuf->nb_segs, 1);
	assert_int_equal(mbuf->pkt_len, mbuf->data_len);
	sim_pcap_write(end->sim->now_ns, data, mbuf->data_len);
	sim_check_frame(end->sim, end->side, data, mbuf->data_len, &pkt);
	note(end->sim, end->side, &pkt);
	if (!is_lost(end->sim, end->side, &pkt))
		deliver(end->sim, end->side, data, mbuf->data_len);
	rte_pktmbuf_free(mbuf);
}

/* ---- the port ------------------------------------------------------- */

static uint16_t tx_burst(void *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct sim_end *end = ctx;
	uint16_t max = end->sim->link.faults[end->side].take_max;

	if (max != 0 && n > max)
		n = max;
	for (uint16_t i = 0; i < n; i++)
		send_frame(end, pkts[i]);
	return n;
}

static uint16_t rx_burst(void *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct sim_end *end = ctx;
	struct sim_wire *wire = end->sim->link.wires[!end->side];
	uint16_t got = 0;

	while (got < n && wire->count > 0 &&
	       wire->frames[0].arrival_ns <= end->sim->now_ns) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(end->rx_pool);
		struct frame frame;

		if (mbuf == NULL)
			break;
		frame = pop(wire);
		memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame.len),
		       frame.data, frame.len);
		free(frame.data);
		pkts[got++] = mbuf;
	}
	return got;
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct sim_end *end = ctx;

	end->nb_punted++;
	rte_pktmbuf_free(pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct sim_end *end = ctx;

	(void)sgid;
	(void)dgid;
	end->neigh_refs++;
	*neigh = &end->neigh;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct sim_end *end = ctx;

	assert_ptr_equal(neigh, &end->neigh);
	end->neigh_refs--;
}

struct roost_port_io sim_link_port(struct sim_end *end)
{
	return (struct roost_port_io){
		.ctx = end,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.resolve = resolve,
		.neigh_put = neigh_put,
	};
}

uint64_t sim_link_next_ns(const struct sim *sim)
{
	uint64_t next = UINT64_MAX;

	for (int side = 0; side < 2; side++) {
		const struct sim_wire *wire = sim->link.wires[side];

		if (wire->count > 0 && wire->frames[0].arrival_ns < next)
			next = wire->frames[0].arrival_ns;
	}
	return next;
}

void sim_link_init(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		sim->link.faults[side].drop_nth = -1;
		sim->link.faults[side].delay_ns = 2 * SIM_US;
		sim->link.wires[side] = calloc(1, sizeof(struct sim_wire));
		assert_non_null(sim->link.wires[side]);
	}
}

void sim_link_fini(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		struct sim_wire *wire = sim->link.wires[side];

		while (wire->count > 0)
			free(pop(wire).data);
		free(wire->frames);
		free(wire);
		free(sim->link.log[side]);
	}
}
