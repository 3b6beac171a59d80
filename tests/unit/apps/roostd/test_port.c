/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A hub with clients that are made of the parts of real ones. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/roostd/port.h"
#include "pmd_glue/channel/sleep.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define MS 1000000ull

static const struct roost_shm_shape shape = {
	.nb_slots = 64,
	.slot_bytes = ROOST_SHM_SLOT_BYTES,
	.nb_seats = 3,
	.ring_len = 64,
};
#define SEAT 2u

static struct roostd_port port;
static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static socklen_t addr_len;
static uint64_t now_ns;
static int listener, epoll_fd;

struct client {
	int socket, doorbell;
	struct roost_shm_memory ours, theirs;
	struct roost_shm_in in;
	struct roost_shm_out out;
	uint64_t rung;
	const struct roost_share_page *page;
	struct roost_share_attached granted;
	struct roost_share_packet packet; /* the last */
};

static struct client a, b;

/* ---- the daemon's loop --------------------------------------------------- */

static void look(void)
{
	struct epoll_event events[32];
	int n = epoll_wait(epoll_fd, events, 32, 0);

	port.now_ns = now_ns;
	for (int i = 0; i < n; i++) {
		void *tag = events[i].data.ptr;

		if (tag == NULL)
			roostd_port_accept(&port);
		else if ((uintptr_t)tag & 1)
			roostd_port_rung(&port, (void *)((char *)tag - 1));
		else
			roostd_port_session(&port, tag);
	}
	roostd_port_reap(&port);
}

static unsigned int pump(void)
{
	unsigned int moved;

	look();
	moved = roostd_port_poll(&port, now_ns);
	look();
	return moved;
}

static int setup(void **state)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/test-port/%d", (int)getpid());

	(void)state;
	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)len);
	listener = socket(AF_UNIX,
			  SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	now_ns = 1000 * MS;
	return bind(listener, (struct sockaddr *)&addr, addr_len) ||
	       listen(listener, 16) ||
	       epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) ||
	       roostd_hub_open(&port, listener, epoll_fd);
}

static int teardown(void **state)
{
	(void)state;
	roostd_port_close(&port);
	close(epoll_fd);
	close(listener);
	return 0;
}

/* ---- a client ------------------------------------------------------------ */

static void c_connect(struct client *c)
{
	*c = (struct client){ .doorbell = -1, .ours.fd = -1, .theirs.fd = -1 };
	c->socket = socket(AF_UNIX,
			   SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(connect(c->socket, (struct sockaddr *)&addr, addr_len),
			 0);
}

static void c_close(struct client *c)
{
	close(c->socket);
	if (c->doorbell >= 0)
		close(c->doorbell);
	if (c->page)
		roost_share_page_close(c->page);
	roost_shm_memory_close(&c->ours);
	roost_shm_memory_close(&c->theirs);
	pump();
}

static int c_receive(struct client *c)
{
	return roost_share_receive(c->socket, true, &c->packet);
}

static void c_attach(struct client *c)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = 1,
		.attach = { .command = "test", .seat = SEAT },
	};
	struct roost_share_packet *p = &c->packet;

	c_connect(c);
	assert_int_equal(roost_shm_memory_make(&shape, &c->ours), 0);
	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0,
					  &c->ours.fd),
			 0);
	pump();
	assert_int_equal(c_receive(c), 0);
	assert_int_equal(p->msg.type, ROOST_SHARE_ATTACHED);
	assert_int_equal(p->msg.status, 0);
	assert_true(p->msg.tail_bytes > 0);
	c->granted = p->msg.attached;
	assert_int_equal(roost_shm_memory_map(p->fds[0], &c->theirs), 0);
	assert_int_equal(roost_share_page_map(p->fds[2], &c->page), 0);
	c->doorbell = p->fds[1];
	p->fds[1] = -1;
	roost_share_packet_close(p);
	roost_shm_in_open(&c->in, &c->ours, SEAT, &c->theirs, c->granted.seat);
	roost_shm_out_open(&c->out, &c->ours, SEAT, &c->theirs,
			   c->granted.seat);
}

/* Ask, and return the status of the answer. */
static int c_ask(struct client *c, struct roost_share_msg msg)
{
	msg.tag = 99;
	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0, NULL), 0);
	pump();
	assert_int_equal(c_receive(c), 0);
	assert_int_equal(c->packet.msg.type, ROOST_SHARE_REPLY);
	assert_int_equal(c->packet.msg.tag, 99);
	return c->packet.msg.status;
}

/* Until no message is left. */
static unsigned int c_tickets(struct client *c)
{
	unsigned int nb = 0;

	while (c_receive(c) == 0)
		nb += c->packet.msg.type == ROOST_SHARE_TICKET;
	return nb;
}

static bool c_is_cut_off(struct client *c)
{
	int ret;

	pump();
	while ((ret = c_receive(c)) == 0)
		roost_share_packet_close(&c->packet);
	return ret == -ECONNRESET;
}

static void c_publish(struct client *c, const struct roost_sw_frame *frame)
{
	uint32_t n = c->out.published % shape.nb_slots;

	memcpy(roost_shm_slot(&c->ours, n) + ROOST_SHM_HEADROOM, frame->head,
	       frame->len_bytes);
	roost_shm_out_publish(&c->out, n, frame->len_bytes);
	if (roost_shm_must_ring(roost_shm_sleeps(&c->theirs), &c->rung))
		assert_int_equal(send(c->doorbell, "", 1, MSG_DONTWAIT), 1);
}

/* The next frame; NULL: none. It is given back with the next call. */
static const uint8_t *c_take(struct client *c, uint32_t *len_bytes)
{
	struct roost_shm_entry entry;

	roost_shm_in_give(&c->in, c->in.taken - c->in.given);
	if (roost_shm_in_take(&c->in, &entry, 1) == 0)
		return NULL;
	*len_bytes = entry.len_bytes;
	return roost_shm_slot(&c->theirs, entry.slot) + ROOST_SHM_HEADROOM;
}

static struct roost_sw_frame rc(const struct client *to, uint32_t payload)
{
	struct roost_share_facts facts;
	uint32_t generation;
	struct maker m = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = 0xffff,
		.payload_bytes = payload,
		.dest_qpn = qpn_of(port.lease, to->granted.qpn_block, 3),
	};

	assert_int_equal(roost_share_page_read(to->page, &facts, &generation),
			 0);
	m.flow = (struct roost_flow){
		.hop_limit = 64,
		.udp_src = 0xc123,
		.sgid = facts.gids[1],
		.dgid = facts.gids[1],
	};
	memcpy(m.flow.src_mac, facts.mac, 6);
	memcpy(m.flow.dst_mac, facts.mac, 6);
	return make(&m);
}

/* ---- tests --------------------------------------------------------------- */

static void port__clients_get_numbers_of_their_own(void **state)
{
	struct roost_share_facts facts;
	uint32_t generation;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	assert_true(a.granted.qpn_block != b.granted.qpn_block);
	assert_true(a.granted.comm_prefix != b.granted.comm_prefix);
	assert_memory_equal(a.granted.mac, b.granted.mac, 6);
	assert_int_equal(a.granted.node_guid, b.granted.node_guid);
	assert_int_equal(roost_share_page_read(b.page, &facts, &generation), 0);
	assert_int_equal(facts.is_active, 1);
	assert_memory_equal(facts.mac, b.granted.mac, 6);
	assert_int_equal(facts.gids[0].b[0], 0xfe);
	assert_int_equal(facts.gids[1].b[12], 198);
	assert_int_equal(atomic_load(&b.page->neighs[0]),
			 roost_neigh_mac_gen(facts.mac, 1));
	assert_int_equal(port.nb_attached, 2);
	c_close(&a);
	assert_int_equal(port.nb_attached, 1);
	c_close(&b);
	assert_int_equal(port.nb_clients, 0);
}

static void port__frames_arrive_as_they_were(void **state)
{
	const uint32_t lens[] = { 0, 1, 60, 63, 64, 65, 1000, 4096 };
	struct roost_sw_frame frame;
	const uint8_t *got;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	for (unsigned int round = 0; round < 200; round++) {
		frame = rc(&b, lens[round % 8]);
		c_publish(&a, &frame);
		pump();
		got = c_take(&b, &len);
		assert_non_null(got);
		assert_int_equal(len, frame.len_bytes);
		assert_memory_equal(got, frame.head, len);
		assert_null(c_take(&b, &len));
		assert_null(c_take(&a, &len));
		assert_int_equal(roost_shm_out_collect(&a.out), 1);
		roost_shm_out_free(&a.out, 1);
	}
	c_close(&a);
	c_close(&b);
}

static void port__forged_frames_reach_nobody(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	/* Another source address. */
	frame = rc(&b, 100);
	bytes_of(&frame)[29] ^= 1;
	mend(&frame);
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&b, &len));
	/* Another source MAC. */
	frame = rc(&b, 100);
	bytes_of(&frame)[11] ^= 1;
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&b, &len));
	assert_int_equal(roost_switch_counters(port.sw, a.granted.client)
				 ->drops[ROOST_SW_SRC_ADDR],
			 1);
	assert_int_equal(roost_switch_counters(port.sw, a.granted.client)
				 ->drops[ROOST_SW_SRC_MAC],
			 1);
	c_close(&a);
	c_close(&b);
}

/* A full receiver that reads makes the sender wait, and none is lost. */
static void port__full_receiver_that_reads(void **state)
{
	struct roost_sw_frame frame;
	unsigned int sent = 0, got = 0;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	while (got < 2000) {
		while (sent < 2000 &&
		       roost_shm_out_pending(&a.out) < shape.ring_len) {
			frame = rc(&b, 64);
			bytes_of(&frame)[60] = (uint8_t)sent++;
			c_publish(&a, &frame);
		}
		now_ns += 10000;
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		/* Slower than the sender. */
		for (unsigned int i = 0; i < 10; i++) {
			const uint8_t *bytes = c_take(&b, &len);

			if (!bytes)
				break;
			assert_int_equal(bytes[60], (uint8_t)got);
			got++;
		}
	}
	assert_int_equal(roost_switch_counters(port.sw, b.granted.client)
				 ->drops[ROOST_SW_CLIENT_FULL],
			 0);
	c_close(&a);
	c_close(&b);
}

/* One that does not read loses its frames, and holds up nobody for long. */
static void port__receiver_that_does_not_read(void **state)
{
	struct roost_sw_frame frame;
	struct client other;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	c_attach(&other);
	for (unsigned int i = 0; i < 300; i++) {
		frame = rc(&b, 64);
		c_publish(&a, &frame);
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		if (roost_shm_out_pending(&a.out) == 10)
			break;
	}
	assert_int_equal(roost_shm_out_pending(&a.out), 10);
	frame = rc(&other, 64);
	c_publish(&a, &frame);
	pump();
	assert_null(c_take(&other, &len));
	now_ns += 60 * MS;
	pump();
	assert_non_null(c_take(&other, &len));
	assert_true(roost_switch_counters(port.sw, b.granted.client)
			    ->drops[ROOST_SW_CLIENT_FULL] > 0);
	c_close(&a);
	c_close(&b);
	c_close(&other);
}

static void port__still_clients_sleep_and_ring(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	pump();
	now_ns += MS;
	pump();
	assert_true(TAILQ_EMPTY(&port.awake));
	frame = rc(&b, 64);
	c_publish(&a, &frame);
	assert_int_equal(roostd_port_poll(&port, now_ns), 0);
	pump();
	assert_non_null(c_take(&b, &len));
	c_close(&a);
	c_close(&b);
}

static void port__broken_words_cut_off_their_writer_alone(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	roost_shm_out_publish(&a.out, 4000, 100); /* no such slot */
	assert_true(c_is_cut_off(&a));
	frame = rc(&b, 64);
	c_publish(&b, &frame);
	pump();
	assert_non_null(c_take(&b, &len));
	/* A count of frames that were never sent. */
	atomic_store(roost_shm_count(&b.ours, SEAT), 1000);
	for (unsigned int i = 0; i < 300 && !port.gone.lh_first; i++) {
		frame = rc(&b, 64);
		c_publish(&b, &frame);
		roostd_port_poll(&port, now_ns += MS);
		roost_shm_out_free(&b.out, roost_shm_out_collect(&b.out));
	}
	assert_true(c_is_cut_off(&b));
	c_close(&a);
	c_close(&b);
}

static void port__messages_out_of_order_end_the_session(void **state)
{
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	struct roost_share_msg attach = { .type = ROOST_SHARE_ATTACH };

	(void)state;
	c_connect(&a);
	pump();
	assert_int_equal(roost_share_send(a.socket, &qpns, NULL, 0, NULL), 0);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
	c_attach(&b);
	assert_int_equal(roost_share_send(b.socket, &attach, NULL, 0,
					  &b.ours.fd),
			 0);
	assert_true(c_is_cut_off(&b));
	c_close(&b);
	/* A memory that is none. */
	c_connect(&a);
	assert_int_equal(roost_share_send(a.socket, &attach, NULL, 0,
					  &a.socket),
			 0);
	pump();
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.status, -EPERM);
	assert_true(c_is_cut_off(&a));
	c_close(&a);
}

static void port__requests(void **state)
{
	struct roost_share_msg claim = {
		.type = ROOST_SHARE_CLAIM,
		.claim = { .service_id = 0x01060000 + 7471,
			   .family = ROOST_CM_FAMILY_IPV4,
			   .listens = 1 },
	};
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };
	uint64_t block;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&a, msg), 0);
	block = a.packet.msg.reply.value;
	assert_true(block != a.granted.qpn_block &&
		    block != b.granted.qpn_block);
	assert_int_equal(c_tickets(&a), 1);
	msg.type = ROOST_SHARE_PREFIX;
	assert_int_equal(c_ask(&a, msg), 0);
	assert_true(a.packet.msg.reply.value != a.granted.comm_prefix);
	assert_int_equal(c_tickets(&a), 1);
	/* One name space for all. */
	assert_int_equal(c_ask(&a, claim), 0);
	c_tickets(&a);
	assert_true(c_ask(&b, claim) < 0);
	claim.type = ROOST_SHARE_UNCLAIM;
	assert_int_equal(c_ask(&a, claim), 0);
	c_tickets(&a);
	claim.type = ROOST_SHARE_CLAIM;
	assert_int_equal(c_ask(&b, claim), 0);
	c_tickets(&b);
	/* The hub is all that there is. */
	msg = (struct roost_share_msg){ .type = ROOST_SHARE_RESOLVE };
	msg.addr.dgid = gid_peer_v4;
	assert_int_equal(c_ask(&a, msg), -EHOSTUNREACH);
	msg.addr.dgid = port.facts.gids[1];
	assert_int_equal(c_ask(&a, msg), 0);
	assert_int_equal(a.packet.msg.reply.value, 0);
	msg.type = ROOST_SHARE_SOURCE;
	assert_int_equal(c_ask(&a, msg), 0);
	assert_memory_equal(&a.packet.msg.reply.gid, &port.facts.gids[1], 16);
	c_close(&a);
	c_close(&b);
}

/* A program may end right after it has answered. */
static void port__last_frames_of_who_goes(void **state)
{
	struct roost_sw_frame frame;
	uint32_t len;

	(void)state;
	c_attach(&a);
	c_attach(&b);
	now_ns += MS;
	pump();
	for (unsigned int i = 0; i < 60; i++) {
		frame = rc(&b, 100);
		c_publish(&a, &frame);
	}
	/* The end of the session is seen before the doorbell. */
	close(a.doorbell);
	a.doorbell = -1;
	c_close(&a);
	for (unsigned int i = 0; i < 60; i++)
		assert_non_null(c_take(&b, &len));
	assert_null(c_take(&b, &len));
	c_close(&b);
}

/* Numbers of the dead are not given to the next one. */
static void port__numbers_rest(void **state)
{
	uint32_t block;

	(void)state;
	c_attach(&a);
	block = a.granted.qpn_block;
	c_close(&a);
	for (unsigned int i = 0; i < 10; i++) {
		c_attach(&a);
		assert_true(a.granted.qpn_block != block);
		c_close(&a);
	}
}

static unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nb = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nb++;
	closedir(dir);
	return nb;
}

static void port__nothing_stays_of_a_client(void **state)
{
	unsigned int before = open_fds();

	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		c_attach(&a);
		c_close(&a);
	}
	assert_int_equal(open_fds(), before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(port__clients_get_numbers_of_their_own),
		TEST(port__frames_arrive_as_they_were),
		TEST(port__forged_frames_reach_nobody),
		TEST(port__full_receiver_that_reads),
		TEST(port__receiver_that_does_not_read),
		TEST(port__still_clients_sleep_and_ring),
		TEST(port__broken_words_cut_off_their_writer_alone),
		TEST(port__messages_out_of_order_end_the_session),
		TEST(port__requests),
		TEST(port__last_frames_of_who_goes),
		TEST(port__numbers_rest),
		TEST(port__nothing_stays_of_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
