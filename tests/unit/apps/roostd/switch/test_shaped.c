/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Many clients over a port of 1 Gb/s, in virtual time: the switch as the daemon
 * runs it, with a loop that offers each client's frames in turn; by one lane,
 * and by several, each of which has a queue of the port. The port takes a frame
 * from each queue in turn, whatever its length.
 */

#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/switch.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define MAX 64u
#define NS_PER_BYTE 8u     /* 1 Gb/s */
#define STEP_NS 10000u     /* one turn of the daemon's loop */
#define QUEUE_BYTES 12500u /* what a queue of the port holds: 100 us */
#define QUEUE_BYTES_MAX 500000u
#define QUEUE_FRAMES 8192u
#define BURST 32u     /* frames of a client in one turn */
#define RING_LEN 512u /* of a client that reads */
#define LANES 3u

struct sender {
	uint16_t id;
	struct roost_switch *lane;
	uint32_t weight;
	uint32_t payload_bytes;
	uint64_t every_ns; /* 0: always has frames */
	uint64_t next_ns;  /* when its next frame is there */
	bool forges;       /* every second frame */
	bool reads;
	struct roost_sw_frame frame;
	struct roost_sw_frame forged;
	struct roost_sw_frame inbound; /* from the peer, to it */
	uint32_t qpn;
	uint32_t nb_offered;
	uint64_t wire_bytes; /* that left */
	uint32_t nb_left;
	uint64_t wait_ns; /* the longest of a frame that left */
	uint32_t in_ring;
	uint32_t nb_got;
};

struct kept {
	struct sender *from;
	uint64_t offered_ns;
	uint32_t len_bytes;
};

struct queue {
	struct shaped *s;
	uint32_t first, nb;
	uint64_t bytes;
	struct kept *v[QUEUE_FRAMES];
};

struct shaped {
	struct world w; /* its lease; its three clients are silent */
	struct roost_switch *sw;
	struct roost_switch *lanes[LANES]; /* the first: sw */
	struct queue queues[LANES];
	uint32_t nb_lanes;
	uint32_t next_queue;
	bool is_stuck; /* the last lane: its thread has no processor */
	bool is_apart; /* the first client has the first lane alone */
	uint32_t queue_bytes;
	struct sender *senders;
	uint32_t nb;
	uint64_t now_ns;
	uint64_t port_done_ns;
	uint64_t wire_bytes;
};

static struct sender *offering; /* the sender of the frame in work */

/* ---- the daemon's callbacks ---------------------------------------------- */

static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	struct kept *kept = malloc(sizeof(*kept));
	const struct shaped *s = ((const struct queue *)arg)->s;

	assert_non_null(kept);
	*kept = (struct kept){
		.from = offering,
		.offered_ns =
			offering->every_ns ? offering->next_ns : s->now_ns,
		.len_bytes = frame->len_bytes,
	};
	return kept;
}

static bool send_kept(void *arg, void *handle)
{
	struct queue *q = arg;
	struct kept *kept = handle;

	if (q->bytes >= q->s->queue_bytes || q->nb == QUEUE_FRAMES)
		return false;
	q->bytes += kept->len_bytes;
	q->v[(q->first + q->nb++) % QUEUE_FRAMES] = kept;
	return true;
}

static struct kept *pop(struct queue *q)
{
	struct kept *kept = q->v[q->first];

	q->first = (q->first + 1) % QUEUE_FRAMES;
	q->nb--;
	q->bytes -= kept->len_bytes;
	return kept;
}

static void leave(struct shaped *s, struct kept *kept)
{
	const uint64_t bytes = kept->len_bytes + ROOST_FAIR_WIRE_BYTES;

	s->port_done_ns += bytes * NS_PER_BYTE;
	s->wire_bytes += bytes;
	kept->from->wire_bytes += bytes;
	kept->from->nb_left++;
	if (s->now_ns - kept->offered_ns > kept->from->wait_ns)
		kept->from->wait_ns = s->now_ns - kept->offered_ns;
	free(kept);
}

/* Until now. */
static void run_port(struct shaped *s)
{
	uint32_t nb_empty = 0;

	while (s->port_done_ns < s->now_ns && nb_empty < s->nb_lanes) {
		struct queue *q = &s->queues[s->next_queue++ % s->nb_lanes];

		nb_empty = q->nb > 0 ? 0 : nb_empty + 1;
		if (q->nb > 0)
			leave(s, pop(q));
	}
	if (s->port_done_ns < s->now_ns)
		s->port_done_ns = s->now_ns;
}

static void discard(void *arg, void *kept)
{
	(void)arg;
	free(kept);
}

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct shaped *s = ((struct queue *)arg)->s;

	(void)frame;
	(void)looped;
	for (uint32_t i = 0; i < s->nb; i++) {
		if (s->senders[i].id != client)
			continue;
		if (s->senders[i].in_ring == RING_LEN)
			return false;
		s->senders[i].in_ring++;
		s->senders[i].nb_got++;
	}
	return true;
}

static void host(void *arg, const struct roost_sw_frame *frame)
{
	(void)arg;
	(void)frame;
	fail();
}

static const struct roost_switch_ops ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.deliver = deliver,
	.host = host,
};

/* ---- a run --------------------------------------------------------------- */

static struct roost_sw_frame own_copy(const struct maker *m)
{
	struct roost_sw_frame frame = make(m);
	uint8_t *bytes = malloc(frame.len_bytes);

	assert_non_null(bytes);
	memcpy(bytes, frame.head, frame.len_bytes);
	frame.head = bytes;
	return frame;
}

static void add(struct shaped *s, struct sender *sender,
		struct roost_switch *lane)
{
	struct roost_client_conf conf = client_conf(2000);
	struct maker m;
	uint32_t block;

	conf.weight = sender->weight;
	assert_int_equal(roost_lease_client_add(s->w.lease, &conf, 0,
						&sender->id),
			 0);
	sender->lane = lane;
	assert_int_equal(roost_switch_client_enter(lane, sender->id, 0), 0);
	assert_int_equal(roost_lease_block(s->w.lease, sender->id, 0, &block),
			 0);
	sender->qpn = qpn_of(s->w.lease, block, 1);
	m = rc_of(&s->w, 0);
	m.payload_bytes = sender->payload_bytes;
	sender->frame = own_copy(&m);
	m.flow.sgid = gid_peer_v6;
	m.flow.dgid = gid_peer_v6;
	sender->forged = own_copy(&m);
	m = rc_to(&s->w, 0);
	m.dest_qpn = sender->qpn;
	sender->inbound = own_copy(&m);
}

static struct roost_switch *lane_of(const struct shaped *s, uint32_t i)
{
	if (!s->is_apart)
		return s->lanes[i % s->nb_lanes];
	return s->lanes[i == 0 ? 0 : 1 + i % (s->nb_lanes - 1)];
}

static void begin_with(struct shaped *s, struct sender *senders, uint32_t nb,
		       uint32_t nb_lanes)
{
	s->senders = senders;
	s->nb = nb;
	s->nb_lanes = nb_lanes;
	world_init(&s->w);
	for (uint32_t i = 0; i < LANES; i++)
		s->queues[i].s = s;
	assert_int_equal(roost_switch_create(&s->w.port, s->w.lease, &ops,
					     &s->queues[0], 0, &s->sw),
			 0);
	s->lanes[0] = s->sw;
	for (uint32_t i = 1; i < nb_lanes; i++)
		assert_int_equal(roost_switch_add_lane(s->sw, &s->queues[i],
						       &s->lanes[i]),
				 0);
	for (uint32_t i = 0; i < nb; i++)
		add(s, &senders[i], lane_of(s, i));
}

static void begin(struct shaped *s, struct sender *senders, uint32_t nb,
		  uint32_t nb_lanes)
{
	memset(s, 0, sizeof(*s));
	s->queue_bytes = QUEUE_BYTES;
	begin_with(s, senders, nb, nb_lanes);
}

static void end(struct shaped *s)
{
	for (uint32_t i = 0; i < s->nb; i++) {
		free(bytes_of(&s->senders[i].frame));
		free(bytes_of(&s->senders[i].forged));
		free(bytes_of(&s->senders[i].inbound));
	}
	for (uint32_t i = 0; i < LANES; i++)
		while (s->queues[i].nb > 0)
			free(pop(&s->queues[i]));
	roost_switch_destroy(s->sw);
	world_fini(&s->w);
}

static void offer(struct shaped *s, struct sender *sender)
{
	offering = sender;
	for (uint32_t i = 0; i < BURST; i++) {
		if (sender->every_ns && sender->next_ns > s->now_ns)
			return;
		if (sender->forges && i % 2 == 1)
			roost_switch_from_client(sender->lane, sender->id,
						 &sender->forged, s->now_ns);
		else if (!roost_switch_from_client(sender->lane, sender->id,
						   &sender->frame, s->now_ns))
			return;
		sender->nb_offered++;
		sender->next_ns += sender->every_ns;
	}
}

static void turn(struct shaped *s, uint32_t first)
{
	for (uint32_t i = 0; i < s->nb; i++) {
		struct sender *sender = &s->senders[(first + i) % s->nb];

		offer(s, sender);
		if (sender->reads)
			sender->in_ring = 0;
	}
	for (uint32_t i = 0; i < s->nb_lanes - s->is_stuck; i++)
		while (roost_switch_send(s->lanes[i], s->now_ns, 32) == 32)
			;
	s->now_ns += STEP_NS;
	run_port(s);
}

static void run(struct shaped *s, uint64_t ns)
{
	for (uint32_t i = 0; s->now_ns < ns; i++)
		turn(s, i);
}

static double jain(const struct sender *senders, uint32_t nb)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < nb; i++) {
		double x = (double)senders[i].wire_bytes / senders[i].weight;

		sum += x;
		squares += x * x;
	}
	return sum * sum / (nb * squares);
}

/* ---- tests --------------------------------------------------------------- */

static void share_of_eight(uint32_t nb_lanes, bool is_apart,
			   uint32_t queue_bytes)
{
	struct sender alone = { .weight = 1, .payload_bytes = 1024 };
	struct sender eight[] = {
		{ .weight = 1, .payload_bytes = 16 },
		{ .weight = 1, .payload_bytes = 64 },
		{ .weight = 1, .payload_bytes = 256 },
		{ .weight = 1, .payload_bytes = 1024 },
		{ .weight = 2, .payload_bytes = 4096 },
		{ .weight = 2, .payload_bytes = 512 },
		{ .weight = 4, .payload_bytes = 2048 },
		{ .weight = 8, .payload_bytes = 4096 },
	};
	static struct shaped s;
	uint64_t one;
	double index;

	begin(&s, &alone, 1, nb_lanes);
	run(&s, SECOND);
	one = s.wire_bytes;
	end(&s);
	memset(&s, 0, sizeof(s));
	s.is_apart = is_apart;
	s.queue_bytes = queue_bytes;
	begin_with(&s, eight, 8, nb_lanes);
	run(&s, SECOND);
	index = jain(eight, 8);
	print_message("Jain's index %.4f, sum / one alone %.3f\n", index,
		      (double)s.wire_bytes / (double)one);
	assert_true(index >= 0.98);
	assert_true((double)s.wire_bytes >= 0.9 * (double)one);
	assert_true((double)one >= 0.99 * 125e6);
	/* In each tenth of a second, too. */
	for (unsigned int i = 0; i < 10; i++) {
		for (unsigned int j = 0; j < 8; j++)
			eight[j].wire_bytes = 0;
		run(&s, s.now_ns + SECOND / 10);
		assert_true(jain(eight, 8) >= 0.98);
	}
	end(&s);
}

static void eight__of_one_busy_port(void **state)
{
	(void)state;
	share_of_eight(1, false, QUEUE_BYTES);
}

/* Clients of all lanes share the port as those of one, whichever they have, and
 * whatever the port's queues hold.
 */
static void eight__of_a_port_with_lanes(void **state)
{
	(void)state;
	share_of_eight(LANES, false, QUEUE_BYTES);
	share_of_eight(LANES, true, QUEUE_BYTES);
	share_of_eight(LANES, false, QUEUE_BYTES_MAX);
	share_of_eight(LANES, true, QUEUE_BYTES_MAX);
}

/* The thread of a lane stands still, and goes on: the others have the port
 * meanwhile, and it has no more than its share then.
 */
static void eight__a_lane_stands_still(void **state)
{
	struct sender eight[8];
	struct shaped s;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		eight[i] = (struct sender){ .weight = 1, .payload_bytes = 512 };
	begin(&s, eight, 8, LANES);
	run(&s, SECOND / 10);
	s.is_stuck = true;
	s.wire_bytes = 0;
	run(&s, 2 * SECOND / 10);
	/* All but the first millisecond. */
	assert_true(s.wire_bytes > 122 * (125000000 / 10) / 125);
	s.is_stuck = false;
	for (uint32_t j = 0; j < 8; j++)
		eight[j].wire_bytes = 0;
	run(&s, 3 * SECOND / 10);
	assert_true(jain(eight, 8) >= 0.98);
	end(&s);
}

/*
 * One that never reads, one that floods the port with small frames and forged
 * ones; 62 that send 10 Mb/s each and get as much.
 */
static void sixty_four(uint32_t nb_lanes)
{
	static struct sender all[MAX];
	uint32_t nb_in = 0;
	struct shaped s;

	for (uint32_t i = 0; i < MAX; i++)
		all[i] = (struct sender){ .weight = 1,
					  .payload_bytes = 1180,
					  .every_ns = 1000000,
					  .reads = true };
	all[0].reads = false;
	all[1].every_ns = 0;
	all[1].payload_bytes = 16;
	all[1].forges = true;
	begin(&s, all, MAX, nb_lanes);
	for (uint32_t i = 0; s.now_ns < SECOND; i++) {
		turn(&s, i);
		for (uint32_t j = 0; i % 100 == 0 && j < MAX; j++)
			roost_switch_from_port(s.lanes[j % nb_lanes],
					       &all[j].inbound);
		nb_in += i % 100 == 0;
	}
	for (uint32_t i = 2; i < MAX; i++) {
		assert_true(all[i].nb_left + 2 >= all[i].nb_offered);
		assert_in_range(all[i].nb_offered, 999, 1001);
		assert_true(all[i].wait_ns < 1000000);
		assert_int_equal(all[i].nb_got, nb_in);
	}
	/* The flood has what is left, and was counted. */
	assert_true(s.wire_bytes > 124000000);
	assert_in_range(
		roost_switch_counters(s.sw, all[1].id).drops[ROOST_SW_SRC_ADDR],
		all[1].nb_offered / 4, all[1].nb_offered);
	assert_int_equal(all[0].nb_got, RING_LEN);
	assert_int_equal(roost_switch_counters(s.sw, all[0].id)
				 .drops[ROOST_SW_CLIENT_FULL],
			 nb_in - RING_LEN);
	end(&s);
}

static void sixty_four__one_floods_one_sleeps(void **state)
{
	(void)state;
	sixty_four(1);
}

static void sixty_four__with_lanes(void **state)
{
	(void)state;
	sixty_four(LANES);
}

/* The port is full, and what stays on this machine goes on. */
static void local__beside_a_full_port(void **state)
{
	static struct sender two[2];
	struct roost_sw_frame local;
	struct shaped s;
	struct maker m;
	uint32_t nb = 0;

	two[0] = two[1] = (struct sender){ .weight = 1,
					   .payload_bytes = 4096,
					   .reads = true };
	begin(&s, two, 2, 1);
	m = rc_of(&s.w, 0);
	m.flow.dgid = gid_v4;
	m.dest_qpn = two[1].qpn;
	local = own_copy(&m);
	for (uint32_t i = 0; i < 1000; i++) {
		turn(&s, i);
		/* The port's queue of 0 is full, and this is not for it. */
		nb += roost_switch_from_client(s.sw, two[0].id, &local,
					       s.now_ns);
	}
	assert_int_equal(nb, 1000);
	assert_int_equal(two[1].nb_got, 1000);
	free(bytes_of(&local));
	end(&s);
}

/* Copies of who goes are none any more, wherever they are, and who comes to its
 * place can send as many as anybody.
 */
static void lanes__copies_of_who_goes(void **state)
{
	struct sender two[2] = { { .weight = 1, .payload_bytes = 64 },
				 { .weight = 1, .payload_bytes = 64 } };
	struct roost_client_conf conf = client_conf(2000);
	struct shaped s;
	uint16_t id;

	(void)state;
	begin(&s, two, 2, 2);
	offer(&s, &two[0]);
	offer(&s, &two[1]);
	assert_int_equal(two[1].nb_offered, BURST);
	assert_true(roost_switch_keeps(s.sw, two[1].id));
	roost_switch_client_remove(s.sw, two[1].id, 0);
	assert_false(roost_switch_keeps(s.sw, two[1].id));
	assert_true(roost_switch_keeps(s.sw, two[0].id));
	two[1].every_ns = 1;
	two[1].next_ns = UINT64_MAX / 2; /* it offers nothing more */
	turn(&s, 0);
	assert_int_equal(two[1].nb_left, 0);
	assert_int_equal(s.sw->gone.tx_frames, BURST);
	s.now_ns += QUARANTINE_NS;
	assert_int_equal(roost_lease_client_add(s.w.lease, &conf, 0, &id), 0);
	assert_int_equal(id, two[1].id);
	assert_int_equal(roost_switch_client_enter(s.lanes[1], id, 0), 0);
	for (uint32_t i = 0; i < ROOST_FAIR_QUEUE_LEN; i++)
		assert_true(roost_switch_from_client(s.lanes[1], id,
						     &two[1].frame, s.now_ns));
	assert_false(roost_switch_from_client(s.lanes[1], id, &two[1].frame,
					      s.now_ns));
	end(&s);
}

/* A client goes to another lane with its frames, which leave behind those that
 * it has sent by the queue of the first one.
 */
static void lanes__who_goes_over_keeps_its_order(void **state)
{
	struct sender one = { .weight = 1, .payload_bytes = 64 };
	struct shaped s;

	(void)state;
	begin(&s, &one, 1, 2);
	offer(&s, &one);
	assert_int_equal(roost_switch_send(s.lanes[0], 0, 4), 4);
	roost_switch_client_move(s.lanes[1], one.id, 0);
	one.lane = s.lanes[1];
	offer(&s, &one);
	assert_int_equal(one.nb_offered, 2 * BURST);
	assert_int_equal(roost_switch_send(s.lanes[0], 0, 100), 0);
	assert_int_equal(roost_switch_send(s.lanes[1], 0, 100), 0);
	assert_int_equal(s.queues[0].nb, 4);
	assert_in_range(roost_fair_ready_ns(&s.lanes[1]->fair), 1, SECOND);
	assert_int_equal(
		roost_switch_send(s.lanes[1],
				  roost_fair_ready_ns(&s.lanes[1]->fair), 100),
		2 * BURST - 4);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight__of_one_busy_port),
		cmocka_unit_test(eight__of_a_port_with_lanes),
		cmocka_unit_test(eight__a_lane_stands_still),
		cmocka_unit_test(sixty_four__one_floods_one_sleeps),
		cmocka_unit_test(sixty_four__with_lanes),
		cmocka_unit_test(lanes__copies_of_who_goes),
		cmocka_unit_test(lanes__who_goes_over_keeps_its_order),
		cmocka_unit_test(local__beside_a_full_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
