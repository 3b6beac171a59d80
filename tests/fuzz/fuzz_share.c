/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A hub with two honest clients and a hostile one, which sends any packet with
 * any descriptors, writes any word of its memory at any time, rings, and goes.
 * Whatever it does: frames between the honest ones arrive as they were, it
 * receives frames to its own QPNs only, what it sends has the port's addresses
 * and its own QPNs, and the daemon keeps no descriptor of it. Input: steps;
 * each begins with a byte that says which.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/wire/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/share_hub.h"

#define STEPS_MAX 24
#define REST_NS 20000000000u
#define FRAME_MAX 512u
#define FDS_LOOKED_AT 64
#define FDS_OF_CLIENT 7u /* two here, five of the daemon */

static const struct roost_gid foreign = {
	.b = { [10] = 0xff, 0xff, 198, 18, 7, 2 }
};
static const struct roost_gid group = {
	.b = { [10] = 0xff, 0xff, 239, 1, 2, 3 }
};

static unsigned int nb_open; /* without a hostile client */
static struct share_end a, b, evil;
/* Its session or its words: the next input gets a new session. */
static bool touched;

/* What it may pass: its memory, one of none, no memory at all. */
enum {
	FD_MEMORY,
	FD_BARE,
	FD_NULL,
	FD_SOCKET,
	FD_PAGE,
	FDS
};
static int fds[FDS];

/* ---- frames -------------------------------------------------------------- */

static uint32_t qpn_of(const struct share_end *e, uint32_t i)
{
	const uint32_t block = e->nb_blocks ? e->blocks[0] : 0;

	return roost_idmap_permute(&share_port.lease->qpns,
				   block << ROOST_LEASE_BLOCK_SHIFT | i);
}

static bool owns(const struct share_end *e, uint32_t qpn)
{
	const uint32_t block =
		(roost_idmap_invert(&share_port.lease->qpns, qpn) & 0xfffff) >>
		ROOST_LEASE_BLOCK_SHIFT;

	for (unsigned int i = 0; i < e->nb_blocks; i++)
		if (e->blocks[i] == block)
			return true;
	return false;
}

static uint32_t build(const struct roost_flow *flow, uint32_t dest_qpn,
		      uint32_t src_qpn, bool ud, uint32_t payload, uint8_t *buf)
{
	const struct roost_bth bth = {
		.opcode = ud ? ROOST_OPCODE_UD_SEND_ONLY
			     : ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = 0xffff,
		.dest_qpn = dest_qpn,
	};
	struct roost_hdr_template t;
	size_t len;

	roost_hdr_template_init(&t, flow);
	len = roost_hdr_emit(&t, buf, &bth,
			     payload + (ud ? ROOST_DETH_LEN : 0));
	if (ud) {
		roost_deth_put(buf + len, dest_qpn == 1 ? 0x80010000 : 5,
			       src_qpn);
		len += ROOST_DETH_LEN;
	}
	memset(buf + len, (int)(payload + dest_qpn), payload);
	len += payload;
	roost_frame_seal(&t, buf, len);
	return (uint32_t)len + ROOST_ICRC_LEN;
}

static struct roost_flow flow_to(const struct roost_gid *sgid,
				 const struct roost_gid *dgid)
{
	struct roost_flow flow = {
		.hop_limit = 9,
		.udp_src = 0xc000,
		.sgid = *sgid,
		.dgid = *dgid,
	};

	memcpy(flow.src_mac, share_port.facts.mac, 6);
	memcpy(flow.dst_mac, share_port.facts.mac, 6);
	return flow;
}

static bool is_ours(const struct roost_gid *gid)
{
	return roost_gid_eq(gid, &share_port.facts.gids[0]) ||
	       roost_gid_eq(gid, &share_port.facts.gids[1]);
}

/* A frame that came from, or to, the hostile client. */
static void parse(const uint8_t *bytes, uint32_t len, struct roost_pkt *pkt)
{
	struct roost_frame frame;

	FUZZ_CHECK(roost_frame_parse(bytes, len, &frame) == ROOST_FRAME_ROCE);
	FUZZ_CHECK(roost_pkt_parse(&frame, pkt) == ROOST_DROP_NONE);
	FUZZ_CHECK(memcmp(frame.src_mac, share_port.facts.mac, 6) == 0);
	FUZZ_CHECK(is_ours(&frame.sgid));
	FUZZ_CHECK(is_ours(&frame.dgid) || roost_gid_eq(&frame.dgid, &group));
}

static bool is_datagram(const struct roost_pkt *pkt)
{
	return pkt->info->hdrs & ROOST_HDR_BIT(DETH) && pkt->dest_qpn != 1;
}

/* What is there for an honest client. Is one of them this frame, whole? */
static bool got(struct share_end *e, const uint8_t *frame, uint32_t frame_len)
{
	const uint8_t *bytes;
	struct roost_pkt pkt;
	bool found = false;
	uint32_t len;

	while ((bytes = share_take(e, &len))) {
		if (!found && len == frame_len &&
		    memcmp(bytes, frame, len) == 0) {
			found = true;
			continue;
		}
		parse(bytes, len, &pkt);
		FUZZ_CHECK(owns(e, pkt.dest_qpn) || pkt.dest_qpn == 1);
		if (is_datagram(&pkt))
			FUZZ_CHECK(owns(&evil, pkt.src_qpn));
	}
	roost_shm_in_give(&e->in, 0);
	return found;
}

static void honest(struct share_end *from, struct share_end *to,
		   uint32_t payload)
{
	const struct roost_flow flow =
		flow_to(&share_port.facts.gids[1], &share_port.facts.gids[1]);
	uint8_t frame[FRAME_MAX + 128];
	const uint32_t len =
		build(&flow, qpn_of(to, 3), 0, false, payload, frame);

	share_publish(from, frame, len);
	share_pump();
	FUZZ_CHECK(got(to, frame, len));
	roost_shm_out_free(&from->out, roost_shm_out_collect(&from->out));
	FUZZ_CHECK(roost_shm_out_pending(&from->out) == 0);
}

/* To a hostile client that may have no room: held up for 50 ms at most. */
static void honest_to_evil(uint32_t payload)
{
	const struct roost_flow flow =
		flow_to(&share_port.facts.gids[0], &share_port.facts.gids[0]);
	uint8_t frame[FRAME_MAX + 128];
	uint32_t len = build(&flow, qpn_of(&evil, 3), qpn_of(&a, 1), true,
			     payload, frame);

	share_publish(&a, frame, len);
	share_pump();
	for (unsigned int i = 0; i < 2; i++) {
		share_now_ns += 60000000;
		share_pump();
	}
	roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
	FUZZ_CHECK(roost_shm_out_pending(&a.out) == 0);
}

static void evil_reads(void)
{
	const uint8_t *bytes;
	struct roost_pkt pkt;
	uint32_t len;

	while (evil.attached && (bytes = share_take(&evil, &len))) {
		parse(bytes, len, &pkt);
		FUZZ_CHECK(owns(&evil, pkt.dest_qpn) || pkt.dest_qpn == 1 ||
			   pkt.dest_qpn == 0xffffff);
	}
}

/* ---- what the hostile one does ------------------------------------------- */

static const struct roost_gid *pick_gid(struct fuzz_in *in)
{
	const uint8_t which = fuzz_u8(in) % 8;

	return which == 7   ? &foreign
	       : which == 6 ? &group
			    : &share_port.facts.gids[which % 2];
}

static uint32_t pick_qpn(struct fuzz_in *in)
{
	const uint8_t which = fuzz_u8(in);
	const struct share_end *const ends[] = { &a, &b, &evil };

	if (which % 8 < 6)
		return qpn_of(ends[which % 3], which >> 3);
	return which % 8 == 6 ? 1 : which >= 128 ? 0xffffff : fuzz_u32(in);
}

static void evil_frame(struct fuzz_in *in)
{
	const uint8_t kind = fuzz_u8(in);
	const struct roost_gid *sgid = pick_gid(in), *dgid = pick_gid(in);
	uint8_t frame[FRAME_MAX + 128];
	struct roost_flow flow;
	uint32_t dest, src, len;

	if (roost_gid_is_v4(sgid) != roost_gid_is_v4(dgid))
		dgid = sgid;
	flow = flow_to(sgid, dgid);
	dest = pick_qpn(in);
	src = pick_qpn(in);
	len = build(&flow, dest, src, kind & 1, (kind >> 1 & 31) * 4u, frame);
	for (uint32_t nb = kind >> 6; nb > 0; nb--)
		frame[fuzz_below(in, len)] = fuzz_u8(in);
	if (evil.attached)
		share_publish(&evil, frame, len);
}

static void evil_word(struct fuzz_in *in)
{
	_Atomic uint64_t *ring = roost_shm_ring(&evil.ours, 0);
	const uint8_t how = fuzz_u8(in);
	uint64_t word;

	touched = true;
	if (how & 1) {
		/* Nearly the one that is due. */
		word = (uint64_t)(evil.out.published + fuzz_u8(in) % 3) << 32 |
		       (uint64_t)fuzz_u8(in) % 20 << 16 | fuzz_u16(in) % 0x300u;
		atomic_store(&ring[evil.out.published % share_shape.ring_len],
			     word);
		evil.out.published++;
		return;
	}
	atomic_store(&ring[how >> 1 & 7], fuzz_u64(in));
}

static void evil_count(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);

	touched = true;
	atomic_store(roost_shm_count(&evil.ours, how >> 1 & 1),
		     how & 1 ? fuzz_u32(in) : evil.in.taken + (how >> 4) - 1);
}

/* A message with some of its fields right. */
static void evil_asks(struct fuzz_in *in)
{
	struct roost_share_msg msg = {
		.type = (uint16_t)fuzz_below(in, ROOST_SHARE_ATTACHED),
	};
	const int one = fds[fuzz_below(in, FDS)];
	uint8_t *part = (uint8_t *)&msg.attach;

	touched = true;
	msg.tag = msg.type;
	fuzz_take(in, part, sizeof(msg.claim));
	if (msg.type == ROOST_SHARE_JOIN || msg.type == ROOST_SHARE_LEAVE)
		msg.addr.dgid = group;
	if (evil.socket >= 0)
		(void)!roost_share_send(evil.socket, &msg, NULL, 0, &one);
}

/* Of a pair of its own, of others', of nobody. */
static void evil_says(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const struct share_end *const ends[] = { &a, &b, &evil };
	struct roost_share_msg msg = {
		.type = how & 1 ? ROOST_SHARE_SEAT : ROOST_SHARE_PARTED,
		.peer = { .mark = roost_lease_mark(
				  share_port.lease,
				  (uint16_t)ends[how % 3]->granted.client),
			  .seat = how >> 3 & 3,
			  .how = how >> 5 },
	};

	if (evil.attached)
		(void)!roost_share_send(evil.socket, &msg, NULL, 0, NULL);
}

/* The two honest ones are introduced, if they are not. */
static void talk(void)
{
	for (unsigned int i = 0; i < ROOSTD_BUSY_FRAMES; i++)
		honest(&a, &b, 4);
	share_hear(&a);
	share_hear(&b);
}

/* Any packet with up to four descriptors. */
static void evil_packet(struct fuzz_in *in)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 4)];
	} control = { 0 };
	const unsigned int nb = fuzz_u8(in) % 5;
	struct fuzz_in piece = fuzz_piece(in);
	struct roost_share_msg msg = { 0 };
	struct iovec part = { &msg, fuzz_take(&piece, &msg, sizeof(msg)) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	touched = true;
	msg.tag = msg.type;
	if (nb > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * nb);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nb);
		for (unsigned int i = 0; i < nb; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int),
			       &fds[fuzz_below(in, FDS)], sizeof(int));
	}
	if (evil.socket >= 0)
		(void)!sendmsg(evil.socket, &header,
			       MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* It rings, hangs up, or comes back without a word. */
static void evil_line(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);

	if (how % 4 < 2 && evil.doorbell >= 0) {
		for (unsigned int i = how >> 2; i > 0; i--)
			(void)!send(evil.doorbell, "ring", how % 5,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	touched = true;
	if (how % 4 == 3 && evil.doorbell >= 0) {
		close(evil.doorbell);
		evil.doorbell = -1;
		return;
	}
	share_hang_up(&evil);
	if (how & 4)
		evil.socket = share_dial();
}

static void step(struct fuzz_in *in)
{
	static const uint32_t units_ns[] = { 1, 1000, 100000, 10000000 };
	uint8_t by;

	switch (fuzz_u8(in) % 12) {
	case 0:
		evil_asks(in);
		break;
	case 1:
		evil_packet(in);
		break;
	case 2:
	case 3:
		evil_frame(in);
		break;
	case 4:
		evil_word(in);
		break;
	case 5:
		evil_count(in);
		break;
	case 6:
		atomic_store(roost_shm_sleeps(&evil.ours), fuzz_u64(in));
		break;
	case 7:
		by = fuzz_u8(in);
		share_now_ns += (uint64_t)units_ns[by & 3] * by;
		break;
	case 8:
		evil_line(in);
		break;
	case 9:
		honest_to_evil(fuzz_u8(in) % 64 * 4u);
		break;
	case 10:
		evil_says(in);
		break;
	default:
		if (fuzz_u8(in) == 0)
			talk();
		else
			honest(&a, &b, fuzz_u8(in) % 64 * 4u);
	}
}

/* ---- the world ----------------------------------------------------------- */

static int bare_memfd(void)
{
	int fd = memfd_create("bare", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 65536) == 0);
	return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct rlimit limit = { FDS_LOOKED_AT, FDS_LOOKED_AT };

	FUZZ_CHECK(argc != NULL && argv != NULL);
	/* All that is opened is among those that open_fds() looks at. */
	FUZZ_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	share_open();
	share_end_init(&a);
	share_end_init(&b);
	share_end_init(&evil);
	share_attach(&a);
	share_attach(&b);
	fds[FD_MEMORY] = evil.ours.fd;
	fds[FD_BARE] = bare_memfd();
	fds[FD_NULL] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[FD_SOCKET] = share_listener;
	fds[FD_PAGE] = share_port.page_fd;
	return 0;
}

static unsigned int open_fds(void)
{
	unsigned int nb = 0;

	for (int fd = 0; fd < FDS_LOOKED_AT; fd++)
		nb += fcntl(fd, F_GETFD) >= 0;
	return nb;
}

static void begin(void)
{
	nb_open = open_fds() - (evil.attached ? FDS_OF_CLIENT : 0);
	if (evil.attached)
		return;
	evil.nb_blocks = 0;
	evil.is_cut_off = false;
	memset(evil.ours.sleeps, 0,
	       (size_t)(evil.ours.slots - evil.ours.sleeps));
	share_attach(&evil);
}

/* Nothing of it is left: no descriptor, client or lease. */
static void end(void)
{
	share_now_ns += REST_NS;
	if (!touched && !evil.is_cut_off) {
		roost_shm_in_give(&evil.in, 0);
		roost_shm_out_free(&evil.out, roost_shm_out_collect(&evil.out));
		atomic_store(roost_shm_sleeps(&evil.ours), 0);
		share_pump();
		return;
	}
	share_hang_up(&evil);
	share_pump();
	share_hear(&a);
	share_hear(&b);
	/* The daemon moves what it has left, for a second at most. */
	share_now_ns += 1100000000u;
	share_pump();
	FUZZ_CHECK(share_port.nb_clients == 2 && share_port.nb_attached == 2);
	FUZZ_CHECK(open_fds() == nb_open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	touched = false;
	begin();
	for (int i = 0; i < STEPS_MAX && in.left_bytes > 0; i++) {
		step(&in);
		share_pump();
		share_hear(&evil);
		share_hear(&a);
		share_hear(&b);
		evil_reads();
	}
	honest(&a, &b, 100);
	honest(&b, &a, 101);
	end();
	return 0;
}
