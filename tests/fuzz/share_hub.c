/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/fuzz/share_hub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/process/report.h"
#include "tests/fuzz/fuzz.h"

const struct roost_shm_shape share_shape = {
	.nb_slots = 16,
	.slot_bytes = 640,
	.nb_seats = 2,
	.ring_len = 8,
};
struct roostd_port share_port;
int share_listener;
uint64_t share_now_ns = 1000000000;

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static socklen_t addr_len;
static int epoll_fd;

/* Lines about clients that are cut off. */
void __wrap_roost_report(const char *format, ...);
void __wrap_roost_report(const char *format, ...)
{
	FUZZ_CHECK(format != NULL);
}

/* ---- the daemon's loop --------------------------------------------------- */

static void look(void)
{
	struct epoll_event events[16];
	int n = epoll_wait(epoll_fd, events, 16, 0);

	share_port.now_ns = share_now_ns;
	for (int i = 0; i < n; i++) {
		void *tag = events[i].data.ptr;

		if (tag == NULL)
			roostd_port_accept(&share_port);
		else
			roostd_port_tagged(tag);
	}
	roostd_port_reap(&share_port);
}

void share_pump(void)
{
	look();
	roostd_port_poll(&share_port, share_now_ns);
	look();
}

/* ---- clients ------------------------------------------------------------- */

int share_dial(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(connect(fd, (struct sockaddr *)&addr, addr_len) == 0);
	return fd;
}

static void note_block(struct share_end *e, uint64_t block)
{
	FUZZ_CHECK(e->nb_blocks < SHARE_BLOCKS_MAX);
	e->blocks[e->nb_blocks++] = (uint32_t)block;
}

/* As a client that has room for one peer. Its frames go through the hub. */
static void answer_peer(struct share_end *e, struct roost_share_packet *p)
{
	struct roost_share_msg msg = { .peer.mark = p->msg.peer.mark };
	struct roost_shm_memory memory;

	switch (p->msg.type) {
	case ROOST_SHARE_MEET:
		msg.type = ROOST_SHARE_SEAT;
		msg.peer.seat = e->has_peer ? ROOST_SHARE_NO_SEAT : 1;
		e->has_peer = true;
		break;
	case ROOST_SHARE_PEER:
		FUZZ_CHECK(e->has_peer && p->msg.peer.seat == 1);
		FUZZ_CHECK(roost_shm_memory_map(p->fds[0], &memory) == 0);
		FUZZ_CHECK(p->msg.peer.peer_seat < memory.shape.nb_seats);
		roost_shm_memory_close(&memory);
		return;
	case ROOST_SHARE_PART:
		msg.type = ROOST_SHARE_PARTED;
		msg.peer.how = p->msg.peer.how;
		if (msg.peer.how == ROOST_SHARE_PART_LEAVE)
			e->has_peer = false;
		break;
	default:
		return;
	}
	(void)!roost_share_send(e->socket, &msg, NULL, 0, NULL);
}

void share_hear(struct share_end *e)
{
	struct roost_share_packet p;
	int ret;

	while (e->socket >= 0 &&
	       (ret = roost_share_receive(e->socket, true, &p)) != -EAGAIN) {
		if (ret) {
			e->is_cut_off = true;
			return;
		}
		if (p.msg.type == ROOST_SHARE_ATTACHED && p.msg.status == 0) {
			FUZZ_CHECK(!e->attached);
			e->attached = true;
			e->granted = p.msg.attached;
			note_block(e, e->granted.qpn_block);
			FUZZ_CHECK(roost_shm_memory_map(p.fds[0], &e->theirs) ==
				   0);
			e->doorbell = p.fds[1];
			p.fds[1] = -1;
			roost_shm_in_open(&e->in, &e->ours, 0, &e->theirs,
					  e->granted.seat);
			roost_shm_out_open(&e->out, &e->ours, 0, &e->theirs,
					   e->granted.seat);
		}
		/* The tag of a request for QPNs is ours to choose. */
		if (p.msg.type == ROOST_SHARE_REPLY && p.msg.status == 0 &&
		    p.msg.tag == ROOST_SHARE_QPNS)
			note_block(e, p.msg.reply.value);
		answer_peer(e, &p);
		roost_share_packet_close(&p);
	}
}

void share_attach(struct share_end *e)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_ATTACH };

	e->socket = share_dial();
	FUZZ_CHECK(roost_share_send(e->socket, &msg, NULL, 0, &e->ours.fd) ==
		   0);
	share_pump();
	share_hear(e);
	FUZZ_CHECK(e->attached);
}

void share_hang_up(struct share_end *e)
{
	if (e->socket >= 0)
		close(e->socket);
	if (e->doorbell >= 0)
		close(e->doorbell);
	roost_shm_memory_close(&e->theirs);
	e->socket = e->doorbell = -1;
	e->attached = e->has_peer = false;
	e->rung = 0;
}

void share_publish(struct share_end *e, const uint8_t *frame, uint32_t len)
{
	const uint32_t n = e->out.published % share_shape.nb_slots;

	memcpy(roost_shm_slot(&e->ours, n) + ROOST_SHM_HEADROOM, frame, len);
	roost_shm_out_publish(&e->out, n, len);
	if (e->doorbell >= 0 &&
	    roost_shm_must_ring(roost_shm_sleeps(&e->theirs), &e->rung))
		(void)!send(e->doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

const uint8_t *share_take(struct share_end *e, uint32_t *len_bytes)
{
	struct roost_shm_entry entry;

	if (roost_shm_in_take(&e->in, &entry, 1) == 0)
		return NULL;
	*len_bytes = entry.len_bytes;
	e->in.given = e->in.taken;
	return roost_shm_slot(&e->theirs, entry.slot) + ROOST_SHM_HEADROOM;
}

/* ---- life ---------------------------------------------------------------- */

void share_open(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/fuzz-share/%d", (int)getpid());

	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)len);
	share_listener =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	FUZZ_CHECK(bind(share_listener, (struct sockaddr *)&addr, addr_len) ==
			   0 &&
		   listen(share_listener, 16) == 0 &&
		   epoll_ctl(epoll_fd, EPOLL_CTL_ADD, share_listener, &event) ==
			   0 &&
		   roostd_hub_open(&share_port, share_listener, epoll_fd, NULL,
				   0) == 0);
}

void share_end_init(struct share_end *e)
{
	*e = (struct share_end){ .socket = -1, .doorbell = -1 };
	FUZZ_CHECK(roost_shm_memory_make(&share_shape, &e->ours) == 0);
}
