/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/apps/roostd/port_world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/roostd/nic.h"
#include "pmd_glue/channel/sleep.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/fake_uplink.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define ANSWER_MS 10000

const struct roost_shm_shape client_shape = {
	.nb_slots = 64,
	.slot_bytes = ROOST_SHM_SLOT_BYTES,
	.nb_seats = 3,
	.ring_len = 64,
};
struct roostd_port port;
struct roostd_port *of_clients = &port;
bool runs_itself;
static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static socklen_t addr_len;
uint64_t now_ns;
const char *state_path;
static int listener, epoll_fd;

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
		else if (tag == &port)
			roostd_nic_ready(&port);
		else
			roostd_port_tagged(tag);
	}
	roostd_port_reap(&port);
}

unsigned int pump(void)
{
	unsigned int moved;

	if (runs_itself)
		return 0;
	look();
	moved = roostd_port_poll(&port, now_ns);
	look();
	return moved;
}

int listen_for_clients(int *fd)
{
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/test-port/%d", (int)getpid());

	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)len);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return bind(*fd, (struct sockaddr *)&addr, addr_len) || listen(*fd, 16);
}

static int watch_clients(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	now_ns = 100000 * MS;
	return listen_for_clients(&listener) ||
	       epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event);
}

int setup(void **state)
{
	return watch_clients() ||
	       roostd_hub_open(&port, listener, epoll_fd, state_path, now_ns);
}

int open_nic_at(int set, int socket_fd)
{
	static const struct roost_config config;
	static struct roostd_service service;

	roostd_service_init(&service);
	port = (struct roostd_port){
		.first = &port,
		.nb_ports = 1,
		.listener = socket_fd,
		.epoll_fd = set,
		.now_ns = now_ns,
		.service = &service,
	};
	roostd_port_init(&port);
	return roostd_nic_open(&port, &config, 0, state_path);
}

int reopen_nic(void)
{
	return open_nic_at(epoll_fd, listener);
}

int setup_nic(void **state)
{
	fake_reset();
	return watch_clients() || reopen_nic();
}

void restart(void)
{
	roostd_port_close(&port);
	assert_int_equal(roostd_hub_open(&port, listener, epoll_fd, state_path,
					 now_ns),
			 0);
}

int teardown(void **state)
{
	roostd_port_close(&port);
	close(epoll_fd);
	close(listener);
	return 0;
}

/* ---- a client ------------------------------------------------------------ */

void c_connect(struct client *c)
{
	*c = (struct client){ .doorbell = -1, .ours.fd = -1, .theirs.fd = -1 };
	c->socket = socket(AF_UNIX,
			   SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(connect(c->socket, (struct sockaddr *)&addr, addr_len),
			 0);
}

void c_close(struct client *c)
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

int c_receive(struct client *c)
{
	struct pollfd fd = { .fd = c->socket, .events = POLLIN };
	int ret;

	if (runs_itself)
		poll(&fd, 1, ANSWER_MS);
	ret = roost_share_receive(c->socket, true, &c->packet);
	if (!ret && c->packet.msg.tail_bytes > 0) {
		c->ticket_bytes = c->packet.msg.tail_bytes;
		memcpy(c->ticket, c->packet.tail, c->ticket_bytes);
	}
	return ret;
}

/* Returns the status; what was granted is in packet. */
void c_send_attach(struct client *c, const struct client *ticket_of)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = 1,
		.attach = { .command = "test",
			    .seat = SEAT,
			    .port = (uint32_t)(of_clients -
					       of_clients->first) },
	};
	uint8_t ticket[ROOST_SHARE_TAIL_MAX];
	size_t len = ticket_of ? ticket_of->ticket_bytes : 0;

	if (len > 0)
		memcpy(ticket, ticket_of->ticket, len);
	assert_int_equal(roost_shm_memory_make(&client_shape, &c->ours), 0);
	assert_int_equal(roost_share_send(c->socket, &msg, ticket, len,
					  &c->ours.fd),
			 0);
}

static int ask_attach(struct client *c, const struct client *ticket_of)
{
	/* It may be the same. */
	static struct client before;

	if (ticket_of)
		before = *ticket_of;
	c_connect(c);
	c_send_attach(c, ticket_of ? &before : NULL);
	pump();
	assert_int_equal(c_receive(c), 0);
	assert_int_equal(c->packet.msg.type, ROOST_SHARE_ATTACHED);
	return c->packet.msg.status;
}

static void take_granted(struct client *c)
{
	struct roost_share_packet *p = &c->packet;
	int type = 0;
	socklen_t len = sizeof(type);

	assert_int_equal(p->msg.tail_bytes > 0, state_path != NULL);
	/* A stream: a client takes many tokens with one read. */
	assert_int_equal(getsockopt(p->fds[1], SOL_SOCKET, SO_TYPE, &type,
				    &len),
			 0);
	assert_int_equal(type, SOCK_STREAM);
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

void c_attach(struct client *c)
{
	assert_int_equal(ask_attach(c, NULL), 0);
	take_granted(c);
}

int c_try_ticket(struct client *c, const struct client *ticket_of)
{
	int ret = ask_attach(c, ticket_of);

	if (!ret)
		take_granted(c);
	return ret;
}

int c_present(struct client *c, const struct client *ticket_of)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_BACK };
	int ret = c_try_ticket(c, ticket_of);

	if (ret)
		return ret;
	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0, NULL), 0);
	pump();
	return 0;
}

/* Ask, and return the status of the answer. */
int c_ask(struct client *c, struct roost_share_msg msg)
{
	msg.tag = 99;
	assert_int_equal(roost_share_send(c->socket, &msg, NULL, 0, NULL), 0);
	pump();
	do
		assert_int_equal(c_receive(c), 0);
	while (c->packet.msg.type == ROOST_SHARE_CHANGED);
	assert_int_equal(c->packet.msg.type, ROOST_SHARE_REPLY);
	assert_int_equal(c->packet.msg.tag, 99);
	return c->packet.msg.status;
}

bool c_is_cut_off(struct client *c)
{
	int ret;

	pump();
	while ((ret = c_receive(c)) == 0)
		roost_share_packet_close(&c->packet);
	return ret == -ECONNRESET;
}

void c_publish(struct client *c, const struct roost_sw_frame *frame)
{
	uint32_t n = c->out.published % client_shape.nb_slots;

	memcpy(roost_shm_slot(&c->ours, n) + ROOST_SHM_HEADROOM, frame->head,
	       frame->len_bytes);
	roost_shm_out_publish(&c->out, n, frame->len_bytes);
	if (roost_shm_must_ring(roost_shm_sleeps(&c->theirs), &c->rung))
		assert_int_equal(send(c->doorbell, "", 1, MSG_DONTWAIT), 1);
}

/* The next frame; NULL: none. It is given back with the next call. */
const uint8_t *c_take(struct client *c, uint32_t *len_bytes)
{
	struct roost_shm_entry entry;

	roost_shm_in_give(&c->in, c->in.taken - c->in.given);
	if (roost_shm_in_take(&c->in, &entry, 1) == 0)
		return NULL;
	*len_bytes = entry.len_bytes;
	return roost_shm_slot(&c->theirs, entry.slot) + ROOST_SHM_HEADROOM;
}

struct roost_sw_frame rc(const struct client *to, uint32_t payload)
{
	struct roost_share_facts facts;
	uint32_t generation;
	struct maker m = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = 0xffff,
		.payload_bytes = payload,
		.dest_qpn = qpn_of(of_clients->lease, to->granted.qpn_block, 3),
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
