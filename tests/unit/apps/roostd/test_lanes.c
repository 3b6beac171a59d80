/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A port with three lanes, with the daemon's real loop: clients of all lanes
 * send to one another and to the network, which sends to them in three queues.
 * TSan runs it, too.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/loop.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/lanes_world.h"
#include "tests/unit/apps/roostd/nic_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define CLIENTS 6u
#define FRAMES 2000u
/* Of a stream; a receiver has room for those of all that send to it. */
#define IN_FLIGHT 8u
#define FRAME_MAX 512u
#define PATIENCE_NS 60000000000ull
#define SLEEP_US 400000u /* all threads of the daemon are asleep then */
#define NONE UINT32_MAX

static void is_sent(const uint8_t *frame, uint32_t len_bytes);

static int setup_lanes(void **state)
{
	(void)state;
	return open_lanes(is_sent);
}

/* ---- what is seen, while all stand still ----------------------------------
 */

struct seen {
	uint32_t nb_attached;
	uint32_t nb_clients[LANES];
	uint64_t nb_sent[LANES], nb_got[LANES]; /* by lane */
	struct roost_switch_counters all;
};

static int look_at(void *arg)
{
	struct seen *seen = arg;

	*seen = (struct seen){ .nb_attached = port.nb_attached };
	for (uint32_t i = 0; i < LANES; i++) {
		const struct roostd_lane *lane = &port.lanes[i];

		seen->nb_clients[i] = lane->nb_clients;
		for (uint32_t k = 0; k < ROOST_CLIENTS_MAX; k++) {
			seen->nb_sent[i] += lane->sw->counters[k].tx_frames;
			seen->nb_got[i] += lane->sw->counters[k].rx_frames;
		}
	}
	for (uint32_t k = 0; k <= ROOST_SWITCH_SELF; k++) {
		const struct roost_switch_counters one =
			roost_switch_counters(port.sw, k);

		roost_switch_counters_add(&seen->all, &one);
	}
	roost_switch_counters_add(&seen->all, &port.sw->gone);
	return 0;
}

static struct seen look(void)
{
	struct seen seen;

	assert_int_equal(roostd_handover(look_at, &seen), 0);
	return seen;
}

static void await_attached(uint32_t nb)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;

	while (look().nb_attached != nb) {
		assert_true(roost_now_ns() < until_ns);
		usleep(1000);
	}
}

/* ---- streams --------------------------------------------------------------
 * Each frame has the number of its stream and its own. Of each client one goes
 * to the next client, and one to the network; in each queue of the network one
 * comes to each client.
 */

enum kind {
	LOCAL,
	OUT,
	IN,
};

struct stream {
	enum kind kind;
	uint32_t from, to; /* clients; or the queue */
	struct roost_sw_frame frame;
	uint8_t bytes[FRAME_MAX];
	uint32_t sent;
	_Atomic uint32_t got; /* of OUT: writer the daemon */
};

static struct client clients[CLIENTS];
static struct stream streams[CLIENTS * (2 + LANES)];
static uint32_t nb_streams;
static atomic_uint nb_wrong; /* out of order, on the daemon's thread */

static struct maker made(const struct client *to, bool out)
{
	struct maker m = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = 0xffff,
		.payload_bytes = 64,
		.dest_qpn =
			to ? qpn_of(port.lease, to->granted.qpn_block, 3) : 77,
		.flow = { .hop_limit = 64, .udp_src = 0xc123 },
	};

	m.flow.sgid = out ? fake.facts.gids[1] : peer(2);
	m.flow.dgid = to ? fake.facts.gids[1] : peer(2);
	memcpy(m.flow.src_mac, out ? fake.facts.mac : peer_mac, 6);
	memcpy(m.flow.dst_mac, to ? fake.facts.mac : peer_mac, 6);
	return m;
}

static void own(struct roost_sw_frame *frame, uint8_t bytes[FRAME_MAX],
		const struct maker *m)
{
	*frame = make(m);
	assert_true(frame->len_bytes <= FRAME_MAX);
	memcpy(bytes, frame->head, frame->len_bytes);
	frame->head = bytes;
}

/* Before the ICRC. */
static void put_number(struct stream *s)
{
	const uint32_t words[] = { (uint32_t)(s - streams), s->sent };

	memcpy(s->bytes + s->frame.len_bytes - 4 - sizeof(words), words,
	       sizeof(words));
}

static bool is_due(const uint8_t *frame, uint32_t len_bytes)
{
	uint32_t words[2];
	struct stream *s;

	memcpy(words, frame + len_bytes - 4 - sizeof(words), sizeof(words));
	if (words[0] >= sizeof(streams) / sizeof(streams[0]))
		return false;
	s = &streams[words[0]];
	return atomic_fetch_add(&s->got, 1) == words[1];
}

static bool is_numbered;

static void is_sent(const uint8_t *frame, uint32_t len_bytes)
{
	if (is_numbered && !is_due(frame, len_bytes))
		atomic_fetch_add(&nb_wrong, 1);
}

static void add(enum kind kind, uint32_t from, uint32_t to)
{
	struct stream *s = &streams[nb_streams++];
	struct maker m;

	s->kind = kind;
	s->from = from;
	s->to = to;
	s->sent = 0;
	atomic_store(&s->got, 0);
	m = made(kind == OUT ? NULL : &clients[to], kind != IN);
	own(&s->frame, s->bytes, &m);
}

static void open_streams(void)
{
	is_numbered = true;
	atomic_store(&nb_wrong, 0);
	nb_streams = 0;
	for (uint32_t i = 0; i < CLIENTS; i++)
		c_attach(&clients[i]);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		add(LOCAL, i, (i + 1) % CLIENTS);
		add(OUT, i, NONE);
		for (uint32_t q = 0; q < LANES; q++)
			add(IN, q, i);
	}
}

static void close_streams(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		c_close(&clients[i]);
	await_attached(0);
	is_numbered = false;
	assert_int_equal(atomic_load(&nb_wrong), 0);
}

static void send_some(struct stream *s, uint32_t nb)
{
	while (s->sent < nb && s->sent - atomic_load(&s->got) < IN_FLIGHT) {
		put_number(s);
		if (s->kind != IN)
			c_publish(&clients[s->from], &s->frame);
		else if (!fake_arrive(s->from, s->bytes, s->frame.len_bytes))
			return;
		s->sent++;
	}
}

static void take_some(struct client *c)
{
	const uint8_t *got;
	uint32_t len;

	while ((got = c_take(c, &len)) != NULL)
		assert_true(is_due(got, len));
}

static void run_streams(uint32_t nb)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	bool over;

	do {
		over = true;
		for (uint32_t i = 0; i < nb_streams; i++)
			send_some(&streams[i], nb);
		for (uint32_t i = 0; i < CLIENTS; i++)
			take_some(&clients[i]);
		for (uint32_t i = 0; i < nb_streams; i++)
			over = over && atomic_load(&streams[i].got) == nb;
		assert_true(roost_now_ns() < until_ns);
	} while (!over);
}

/* ---- tests ----------------------------------------------------------------
 */

static void lanes__every_frame_in_order(void **state)
{
	struct seen seen;
	uint64_t nb_sent = 0, nb_got = 0, nb_out = 0;

	(void)state;
	assert_int_equal(port.nb_lanes, LANES);
	assert_int_equal(roostd_crew_nb(), LANES);
	open_streams();
	seen = look();
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(seen.nb_clients[i], CLIENTS / LANES);
	run_streams(FRAMES);
	/* A client may have gone to another lane meanwhile. */
	seen = look();
	for (uint32_t i = 0; i < LANES; i++) {
		nb_out += fake.nb_sent_by[i];
		/* What its clients sent to the port, by its own queue. */
		assert_in_range(fake.nb_sent_by[i], seen.nb_sent[i] / 4,
				seen.nb_sent[i]);
		nb_sent += seen.nb_sent[i];
		nb_got += seen.nb_got[i];
		/* In its queue to all. */
		assert_in_range(seen.nb_got[i], FRAMES * CLIENTS, UINT32_MAX);
	}
	/* To clients and to the port. */
	assert_int_equal(nb_sent, 2 * FRAMES * CLIENTS);
	assert_int_equal(nb_out, FRAMES * CLIENTS);
	/* Of clients, and in all queues to all. */
	assert_int_equal(nb_got, FRAMES * CLIENTS * (1 + LANES));
	for (enum roost_sw_drop i = 0; i < ROOST_SW_DROPS; i++)
		assert_int_equal(seen.all.drops[i], 0);
	close_streams();
}

/* The queues of the port are full all the time, and the lanes go in step. */
static void lanes__of_a_full_port(void **state)
{
	(void)state;
	atomic_store(&fake.most_in_round, 1);
	open_streams();
	run_streams(FRAMES);
	close_streams();
}

/* A descriptor with a length that no frame has. */
static void break_rules(struct client *c)
{
	roost_shm_out_publish(&c->out, 0, 3);
	if (c->doorbell >= 0)
		(void)!send(c->doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void await_end(struct client *c)
{
	int ret;

	while ((ret = c_receive(c)) == 0)
		roost_share_packet_close(&c->packet);
	assert_int_equal(ret, -ECONNRESET);
}

/* Which lane each client has. */
static int look_where(void *arg)
{
	uint32_t *lane_of = arg;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const uint32_t block = clients[i].granted.qpn_block;

		lane_of[i] = port.by_slot[port.lease->blocks.owner[block]]
				     ->lane->number;
	}
	return 0;
}

/* Clients 0 and 3 came to the first lane, and are the only ones that send: one
 * of them goes to another lane, and no frame is out of order.
 */
static void lanes__who_sends_much_goes_apart(void **state)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	uint32_t lane_of[CLIENTS] = { 0 };
	uint32_t nb = 0;

	(void)state;
	open_streams();
	nb_streams = 0;
	add(OUT, 0, NONE);
	add(OUT, 3, NONE);
	assert_int_equal(roostd_handover(look_where, lane_of), 0);
	assert_int_equal(lane_of[0], lane_of[3]);
	do {
		assert_true(roost_now_ns() < until_ns);
		run_streams(nb += 1000);
		assert_int_equal(roostd_handover(look_where, lane_of), 0);
	} while (lane_of[0] == lane_of[3]);
	run_streams(nb + FRAMES);
	close_streams();
}

/* Clients come to all lanes and end in every way, ask, and the port changes,
 * while frames move.
 */
static void lanes__clients_come_and_go(void **state)
{
	const struct roost_gid added = peer(100);
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	struct roost_share_msg join = { .type = ROOST_SHARE_JOIN };
	struct roost_share_msg leave = { .type = ROOST_SHARE_LEAVE };
	struct roost_share_facts with = { 0 };
	struct client some[LANES];

	(void)state;
	join.addr.dgid = leave.addr.dgid = gid_group;
	open_streams();
	for (uint32_t n = 1; n <= 12; n++) {
		for (uint32_t i = 0; i < LANES; i++)
			c_attach(&some[i]);
		run_streams(n * 50);
		for (uint32_t i = 0; i < LANES; i++) {
			assert_int_equal(c_ask(&some[i], qpns), 0);
			assert_int_equal(c_ask(&some[i], join), 0);
			if (n % 2)
				assert_int_equal(c_ask(&some[i], leave), 0);
		}
		if (n == 6) {
			with = fake.facts;
			with.gids[2] = added;
			with.gid_len_bits[2] = 24;
			fake.facts = with;
			fake_news();
		}
		for (uint32_t i = 0; i < LANES; i++) {
			if (n % 3 == 0)
				break_rules(&some[i]);
			else if (n % 3 == 1)
				shutdown(some[i].doorbell, SHUT_RDWR);
			else
				shutdown(some[i].socket, SHUT_RDWR);
		}
		for (uint32_t i = 0; i < LANES; i++) {
			if (n % 3 != 2)
				await_end(&some[i]);
			c_close(&some[i]);
		}
		await_attached(CLIENTS);
	}
	close_streams();
}

/* What a client has sent before it ended goes out, whatever its lane. */
static void lanes__last_frames_of_who_goes(void **state)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	uint64_t nb = 0;

	(void)state;
	for (uint32_t n = 0; n < 20; n++) {
		nb_streams = 0;
		is_numbered = true;
		for (uint32_t i = 0; i < LANES; i++) {
			c_attach(&clients[i]);
			add(OUT, i, NONE);
		}
		for (uint32_t i = 0; i < LANES; i++) {
			send_some(&streams[i], IN_FLIGHT);
			c_close(&clients[i]);
		}
		await_attached(0);
		for (uint32_t i = 0; i < LANES; i++)
			while (atomic_load(&streams[i].got) < IN_FLIGHT)
				assert_true(roost_now_ns() < until_ns);
		nb += LANES * IN_FLIGHT;
		is_numbered = false;
	}
	assert_int_equal(look().all.tx_frames, nb);
	assert_int_equal(atomic_load(&nb_wrong), 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* All sleep, and a frame of any client or queue wakes who is needed: the lane,
 * and the first one for the port.
 */
static void lanes__sleep_and_are_woken(void **state)
{
	uint64_t began_ns, used_ns;

	(void)state;
	open_streams();
	for (uint32_t i = 0; i < nb_streams; i++) {
		usleep(i == 0 ? SLEEP_US : 2000);
		began_ns = roost_now_ns();
		send_some(&streams[i], 1);
		while (atomic_load(&streams[i].got) == 0) {
			for (uint32_t k = 0; k < CLIENTS; k++)
				take_some(&clients[k]);
			assert_true(roost_now_ns() - began_ns < PATIENCE_NS);
		}
		/* Before the tick of the loop, which would also do. */
		assert_true(roost_now_ns() - began_ns < 150 * MS);
	}
	usleep(SLEEP_US);
	used_ns = cpu_ns();
	usleep(SLEEP_US);
	used_ns = cpu_ns() - used_ns;
	assert_true(used_ns < SLEEP_US * 1000ull / 20);
	close_streams();
}

/* Messages of the CM of clients of all lanes, answered from the network in all
 * queues, at once.
 */
static void lanes__messages_of_the_cm(void **state)
{
	struct roost_sw_frame frame;
	uint8_t bytes[FRAME_MAX];
	struct world w = { .lease = port.lease };
	struct maker m;

	(void)state;
	for (uint32_t i = 0; i < CLIENTS; i++)
		c_attach(&clients[i]);
	for (uint32_t n = 1; n <= 50; n++) {
		for (uint32_t i = 0; i < CLIENTS; i++) {
			const struct client *c = &clients[i];

			w.qpn[0] = qpn_of(port.lease, c->granted.qpn_block, 3);
			w.comm[0] =
				comm_of(port.lease, c->granted.comm_prefix, n);
			m = mad_of(&w, 0, ROOST_CM_REQ);
			m.msg.tid = n;
			m.flow.sgid = m.msg.primary.local_gid =
				m.msg.alternate.local_gid = fake.facts.gids[1];
			memcpy(m.flow.src_mac, fake.facts.mac, 6);
			own(&frame, bytes, &m);
			c_publish(&clients[i], &frame);
			m = mad_to(&w, 0, ROOST_CM_REJ);
			m.flow.dgid = fake.facts.gids[1];
			memcpy(m.flow.dst_mac, fake.facts.mac, 6);
			own(&frame, bytes, &m);
			while (!fake_arrive(n % LANES, bytes, frame.len_bytes))
				usleep(100);
		}
	}
	usleep(SLEEP_US);
	assert_int_equal(look().all.tx_frames, 50 * CLIENTS);
	assert_int_equal(look().all.rx_frames, 50 * CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		c_close(&clients[i]);
	await_attached(0);
}

#define LANES_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, setup_lanes, teardown_lanes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LANES_TEST(lanes__every_frame_in_order),
		LANES_TEST(lanes__of_a_full_port),
		LANES_TEST(lanes__who_sends_much_goes_apart),
		LANES_TEST(lanes__clients_come_and_go),
		LANES_TEST(lanes__last_frames_of_who_goes),
		LANES_TEST(lanes__sleep_and_are_woken),
		LANES_TEST(lanes__messages_of_the_cm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
