/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A hostile client of a shared port. It attaches as every client does, and then
 * writes what it likes into its memory, its session and its doorbell, as fast
 * as it can. It comes back whenever the daemon has cut it off.
 *
 * usage: hostile SERVICE WRITES SEED
 *
 * It ends after so many writes, with a line on stdout that counts, or with
 * status 1 when the daemon has not let it in for five seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/engine/core/idmap.h"
#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/channel/pipe.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/share/attach.h"

#define PATIENCE_S 5
/* Writes of a session, at the most. */
#define SESSION_WRITES 200000u
/* Between looks at what the daemon sends. */
#define LOOK_EVERY 64u
#define PAYLOAD_MAX 2000u
#define SILENT 20

static const struct roost_shm_shape shape = {
	.nb_slots = 512,
	.slot_bytes = ROOST_SHM_SLOT_BYTES,
	.nb_seats = 3,
	.ring_len = 256,
};

static struct {
	const char *service;
	int socket, doorbell;
	struct roost_shm_memory ours, theirs;
	struct roost_shm_in in;
	struct roost_shm_out out;
	uint64_t rung;
	struct roost_share_attached granted;
	struct roost_share_facts facts;
	struct roost_idmap qpns;
	bool has_qpns;
	bool cut_off;
} me = { .socket = -1, .doorbell = -1 };

static struct {
	uint64_t writes, sessions, cut_off, frames;
} count;

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)((draw() >> 32) * limit >> 32);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

static void fail(const char *what)
{
	fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- a session ----------------------------------------------------------- */

static int dial(void)
{
	int fd;

	if (roost_share_connect(me.service, "hostile", &fd) != 0)
		fail("connect");
	return fd;
}

static void drop(int fd)
{
	roost_fork_guard_remove(fd);
	close(fd);
}

static bool attach_once(void)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_ATTACH };
	struct pollfd watch = { .events = POLLIN };
	struct roost_share_grant grant;
	struct roost_share_packet packet;
	uint32_t generation;
	const char *what;
	bool good;

	me.socket = dial();
	watch.fd = me.socket;
	snprintf(msg.attach.command, sizeof(msg.attach.command), "hostile");
	good = roost_share_send(me.socket, &msg, NULL, 0, &me.ours.fd) == 0 &&
	       poll(&watch, 1, PATIENCE_S * 1000) == 1 &&
	       roost_share_receive(me.socket, true, &packet) == 0 &&
	       roost_share_grant_take(&packet, &grant, &what) == 0;
	if (!good) {
		drop(me.socket);
		return false;
	}
	me.granted = grant.attached;
	me.theirs = grant.memory;
	me.doorbell = grant.doorbell;
	roost_share_page_read(grant.page, &me.facts, &generation);
	roost_share_page_close(grant.page);
	return true;
}

static void attach(void)
{
	const struct timespec wait = { .tv_nsec = 10000000 };
	const time_t until = time(NULL) + PATIENCE_S;

	if (roost_shm_memory_make(&shape, &me.ours) != 0)
		fail("memory");
	while (!attach_once()) {
		if (time(NULL) > until)
			fail("attach");
		nanosleep(&wait, NULL);
	}
	roost_shm_in_open(&me.in, &me.ours, 0, &me.theirs, me.granted.seat);
	roost_shm_out_open(&me.out, &me.ours, 0, &me.theirs, me.granted.seat);
	if (!me.has_qpns &&
	    roost_idmap_init(&me.qpns, 24, me.granted.qpn_index_bits,
			     me.granted.qpn_seed, NULL) != 0)
		fail("idmap");
	me.has_qpns = true;
	me.rung = 0;
	me.cut_off = false;
	count.sessions++;
}

static void hang_up(void)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_BYE };

	if (one_in(2))
		(void)!roost_share_send(me.socket, &msg, NULL, 0, NULL);
	drop(me.socket);
	close(me.doorbell);
	roost_shm_memory_close(&me.theirs);
	roost_shm_memory_close(&me.ours);
	count.cut_off += me.cut_off;
}

static void look(void)
{
	struct roost_shm_entry entries[32];
	char bytes[4096];
	ssize_t len;

	while ((len = recv(me.socket, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		continue;
	me.cut_off |= len == 0 || errno != EAGAIN;
	roost_shm_in_take(&me.in, entries, 32);
	roost_shm_out_free(&me.out, roost_shm_out_collect(&me.out));
}

/* ---- frames -------------------------------------------------------------- */

/* Of any client: the keys are known. */
static uint32_t any_qpn(void)
{
	static const uint32_t known[] = { 0, 1, 2, 0xffffff };
	const uint32_t block = one_in(2) ? me.granted.qpn_block : below(64);

	if (one_in(8))
		return known[below(4)];
	return roost_idmap_permute(&me.qpns,
				   block << me.granted.qpn_block_shift |
					   below(64));
}

static uint32_t random_qpn(void)
{
	return 2 + below(0xfffff0);
}

/*
 * From an address of the port. RC packets to QPs of others are left out: from a
 * shared address anybody can send these, also with a NIC, and one in 2^24 has
 * the right PSN.
 */
static uint32_t build(uint8_t *buf)
{
	struct roost_flow flow = { .hop_limit = 9, .udp_src = 0xc000 };
	const bool ud = one_in(2);
	const uint32_t payload = below(PAYLOAD_MAX / 4) * 4;
	const struct roost_bth bth = {
		.opcode = ud ? ROOST_OPCODE_UD_SEND_ONLY
			     : (uint8_t)below(ROOST_OPCODE_UD_SEND_ONLY),
		.pkey = 0xffff,
		.dest_qpn = ud ? any_qpn() : random_qpn(),
		.psn = { below(1 << 24) },
	};
	struct roost_hdr_template t;
	size_t len;

	flow.sgid = me.facts.gids[below(2)];
	flow.dgid = flow.sgid;
	memcpy(flow.src_mac, me.facts.mac, 6);
	memcpy(flow.dst_mac, me.facts.mac, 6);
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, buf, &bth,
			     payload + (ud ? ROOST_DETH_LEN : 0));
	if (ud) {
		roost_deth_put(buf + len, one_in(2) ? 0x80010000u : below(16),
			       any_qpn());
		len += ROOST_DETH_LEN;
	}
	memset(buf + len, (int)below(256), payload);
	len += payload;
	roost_frame_seal(&t, buf, len);
	return (uint32_t)len + ROOST_ICRC_LEN;
}

static void ring_if_due(void)
{
	if (roost_shm_must_ring(roost_shm_sleeps(&me.theirs), &me.rung))
		(void)!send(me.doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Its bytes change while, and after, the daemon reads them. */
static void write_frame(void)
{
	const uint32_t slot = me.out.published % shape.nb_slots;
	uint8_t *bytes = roost_shm_slot(&me.ours, slot) + ROOST_SHM_HEADROOM;
	uint32_t len;

	if (roost_shm_out_pending(&me.out) >= shape.ring_len - 1) {
		look();
		return;
	}
	len = build(bytes);
	for (uint32_t nb = below(3); nb > 0; nb--)
		bytes[below(one_in(2) ? 64 : len)] = (uint8_t)draw();
	roost_shm_out_publish(&me.out, slot, len);
	ring_if_due();
	for (uint32_t nb = below(64); nb > 0; nb--) {
		bytes[below(len)] = (uint8_t)draw();
		count.writes++;
	}
	count.frames++;
	count.writes++;
}

/* ---- words --------------------------------------------------------------- */

static void write_ring(void)
{
	_Atomic uint64_t *ring = roost_shm_ring(&me.ours, 0);
	uint64_t word = draw();

	if (!one_in(8))
		word = (uint64_t)(me.out.published + below(4)) << 32 |
		       (uint64_t)below(shape.nb_slots + 2) << 16 |
		       below(shape.slot_bytes + 8);
	atomic_store(&ring[one_in(4) ? below(shape.ring_len)
				     : me.out.published % shape.ring_len],
		     word);
	me.out.published++;
	ring_if_due();
	count.writes++;
}

static void write_count(void)
{
	atomic_store(roost_shm_count(&me.ours, below(shape.nb_seats)),
		     one_in(8) ? (uint32_t)draw() : me.in.taken - 2 + below(5));
	count.writes++;
}

static void write_sleeps(void)
{
	atomic_store(roost_shm_sleeps(&me.ours), one_in(4) ? draw() : below(4));
	count.writes++;
}

/* Any word, also of the header that the daemon has read. */
static void write_any(void)
{
	const uint64_t word = draw();
	const size_t at = below((uint32_t)me.ours.size_bytes / 8) * 8;

	memcpy(me.ours.base + at, &word, sizeof(word));
	count.writes++;
}

static void write_doorbell(void)
{
	static const char bytes[256];

	(void)!send(me.doorbell, bytes, below(256),
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	count.writes++;
}

/* ---- the session --------------------------------------------------------- */

/* A message with a known type, and the rest as it comes. */
static void write_message(void)
{
	const int fd = one_in(2) ? me.ours.fd : STDERR_FILENO;
	struct roost_share_msg msg;

	for (size_t i = 0; i < sizeof(msg); i += 8) {
		const uint64_t word = one_in(3) ? 0 : draw();

		memcpy((uint8_t *)&msg + i, &word,
		       sizeof(msg) - i < 8 ? sizeof(msg) - i : 8);
	}
	msg.type = (uint16_t)below(ROOST_SHARE_ATTACHED);
	(void)!roost_share_send(me.socket, &msg, NULL, 0, &fd);
	count.writes++;
}

/* Any packet, with a descriptor now and then. */
static void write_packet(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	uint64_t words[64];
	struct iovec part = { words, below(sizeof(words)) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	for (size_t i = 0; i < 64; i++)
		words[i] = draw();
	if (one_in(2)) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &me.ours.fd, sizeof(int));
	}
	(void)!sendmsg(me.socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	count.writes++;
}

/* Sessions that say nothing, or nothing that is right. */
static void write_sessions(void)
{
	int fds[SILENT];

	for (int i = 0; i < SILENT; i++) {
		fds[i] = dial();
		if (one_in(2))
			(void)!send(fds[i], &state, sizeof(state),
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		count.writes++;
	}
	for (int i = 0; i < SILENT; i++)
		drop(fds[i]);
}

/* ---- all of it ----------------------------------------------------------- */

static void anything(void);

static const struct {
	void (*act)(void);
	uint32_t most; /* of a session */
} habits[] = {
	{ write_frame, SESSION_WRITES },
	{ write_frame, SESSION_WRITES },
	{ write_frame, SESSION_WRITES },
	{ write_any, SESSION_WRITES },
	{ write_ring, SESSION_WRITES },
	{ write_count, SESSION_WRITES },
	{ write_sleeps, SESSION_WRITES },
	{ write_doorbell, 20000 },
	{ write_message, 20000 },
	{ write_packet, 100 },
	{ write_sessions, 5 },
	{ anything, SESSION_WRITES },
};
#define HABITS (sizeof(habits) / sizeof(habits[0]))

static void anything(void)
{
	habits[one_in(256) ? below(HABITS - 1) : below(7)].act();
}

static void session(uint64_t until)
{
	const uint32_t habit = below(HABITS);
	const uint32_t nb = below(habits[habit].most);

	attach();
	for (uint32_t i = 0; i < nb && count.writes < until; i++) {
		habits[habit].act();
		if (i % LOOK_EVERY == 0)
			look();
		if (me.cut_off)
			break;
	}
	hang_up();
}

int main(int argc, char **argv)
{
	uint64_t until;

	if (argc != 4) {
		fprintf(stderr, "usage: hostile SERVICE WRITES SEED\n");
		return 2;
	}
	me.service = argv[1];
	until = strtoull(argv[2], NULL, 0);
	state = strtoull(argv[3], NULL, 0) * 2 + 0x9e3779b97f4a7c15u;
	while (count.writes < until)
		session(until);
	printf("writes %llu sessions %llu cut off %llu frames %llu\n",
	       (unsigned long long)count.writes,
	       (unsigned long long)count.sessions,
	       (unsigned long long)count.cut_off,
	       (unsigned long long)count.frames);
	return 0;
}
