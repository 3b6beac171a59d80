/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A hostile peer of a channel: every word of its memory, and its messages. The
 * input is a list of steps: write a word of the memory, let the victim send,
 * receive, keep, sleep; at the end a packet for the meeting.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "pmd_glue/channel/meet.h"
#include "tests/fuzz/fuzz.h"

#define SLOTS 16u
#define RING 8u
#define HELD 8u

static struct roost_shm_channel *victim;
static struct roost_shm_memory hostile;
static struct rte_mbuf *held[HELD];
static unsigned int nb_held;

static void open_world(void)
{
	const struct roost_shm_params params = {
		.shape = { SLOTS, ROOST_SHM_SLOT_BYTES, 2, RING },
		.patience_ns = 0,
	};

	FUZZ_CHECK(roost_shm_memory_make(&params.shape, &hostile) == 0);
	FUZZ_CHECK(roost_shm_channel_open(&params, &victim) == 0);
}

static void join(void)
{
	struct roost_shm_peer peer = { .is_default = true };
	int fds[2];

	FUZZ_CHECK(roost_shm_memory_map(hostile.fd, &peer.memory) == 0);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	close(fds[1]);
	peer.doorbell = fds[0];
	FUZZ_CHECK(roost_shm_seat_take(victim) == 0);
	FUZZ_CHECK(roost_shm_peer_join(victim, 0, &peer) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	open_world();
	return 0;
}

/* ---- the memory
 * -------------------------------------------------------------- */

static void free_held(void)
{
	rte_pktmbuf_free_bulk(held, nb_held);
	nb_held = 0;
}

static void take(struct fuzz_in *in)
{
	struct rte_mbuf *mbufs[HELD];
	uint16_t n =
		roost_shm_rx_burst(victim, mbufs, (uint16_t)(HELD - nb_held));

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		FUZZ_CHECK(mbuf->pkt_len >= 14 && mbuf->pkt_len <= 4224);
		FUZZ_CHECK(mbuf->data_len <= mbuf->pkt_len);
		if (fuzz_u8(in) & 1)
			mbuf = roost_shm_keep(victim, mbuf);
		FUZZ_CHECK(mbuf != NULL);
		held[nb_held++] = mbuf;
	}
}

static void give(struct fuzz_in *in)
{
	struct rte_mbuf *mbuf =
		rte_pktmbuf_alloc(roost_shm_channel_pool(victim));
	uint16_t len = (uint16_t)fuzz_below(in, 300);

	if (!mbuf)
		return;
	memset(rte_pktmbuf_append(mbuf, len), fuzz_u8(in), len);
	if (roost_shm_tx_burst(victim, NULL, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf);
}

/* A descriptor that is due, or nearly so. */
static void write_due(struct fuzz_in *in, uint32_t *at)
{
	uint64_t slot = fuzz_u8(in) % (SLOTS + 1), len = fuzz_u16(in) % 4300;
	uint32_t sequence = ++*at;

	atomic_store(roost_shm_ring(&hostile, 0) + (sequence - 1) % RING,
		     (uint64_t)sequence << 32 | slot << 16 | len);
}

static void write_slot(struct fuzz_in *in)
{
	uint8_t *slot = roost_shm_slot(&hostile, fuzz_below(in, SLOTS));
	struct fuzz_in piece = fuzz_piece(in);

	fuzz_take(&piece, slot + ROOST_SHM_HEADROOM,
		  ROOST_SHM_SLOT_BYTES - ROOST_SHM_HEADROOM);
}

static void doze(void)
{
	if (roost_shm_sleep(victim))
		roost_shm_awake(victim);
}

static void step(struct fuzz_in *in, uint32_t *at)
{
	enum roost_shm_fault fault = ROOST_SHM_OK;

	switch (fuzz_u8(in) % 10) {
	case 0:
		atomic_store(roost_shm_ring(&hostile, 0) + fuzz_u8(in) % RING,
			     fuzz_u64(in));
		break;
	case 1:
	case 2:
		write_due(in, at);
		break;
	case 3:
		atomic_store(roost_shm_count(&hostile, 0), fuzz_u8(in));
		break;
	case 4:
		atomic_store(roost_shm_count(&hostile, 0), fuzz_u32(in));
		break;
	case 5:
		atomic_store(roost_shm_sleeps(&hostile), fuzz_u64(in));
		break;
	case 6:
		write_slot(in);
		break;
	case 7:
		take(in);
		break;
	case 8:
		give(in);
		break;
	default:
		doze();
		free_held();
		if (roost_shm_next_broken(victim, &fault) == 0)
			FUZZ_CHECK(fault != ROOST_SHM_OK);
	}
}

static void fuzz_memory(struct fuzz_in *in)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < RING; i++)
		atomic_store(roost_shm_ring(&hostile, 0) + i, 0);
	atomic_store(roost_shm_count(&hostile, 0), 0);
	atomic_store(roost_shm_sleeps(&hostile), 0);
	join();
	while (in->left_bytes > 0)
		step(in, &at);
	roost_shm_peer_leave(victim, 0);
	free_held();
	FUZZ_CHECK(roost_shm_channel_reap(victim) == 0);
	FUZZ_CHECK(rte_mempool_avail_count(roost_shm_channel_pool(victim)) ==
		   SLOTS);
}

/* ---- messages
 * ------------------------------------------------------------------- */

static void send_packet(struct fuzz_in *in, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
	uint8_t bytes[64];
	unsigned int nb = fuzz_below(in, 4);
	struct fuzz_in piece = fuzz_piece(in);
	struct iovec part = { bytes, fuzz_take(&piece, bytes, sizeof(bytes)) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	int fds[3] = { hostile.fd, fd, hostile.fd };

	if (nb > 0) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(nb * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nb * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nb * sizeof(int));
	}
	(void)!sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void fuzz_meeting(struct fuzz_in *in)
{
	const struct roost_shm_self self = { .mtu_bytes = 1500 };
	struct roost_shm_meeting m;
	bool joined = false;
	int fds[2], ret = 0;

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
	FUZZ_CHECK(roost_shm_meet_begin(&m, victim, fds[0], fuzz_u8(in) & 1,
					&self, 0) == 0);
	while (in->left_bytes > 0 && ret >= 0) {
		send_packet(in, fds[1]);
		ret = roost_shm_meet_look(&m, 1);
		if (ret != 1)
			continue;
		FUZZ_CHECK(!joined);
		joined = roost_shm_peer_join(victim, m.seat, &m.peer) == 0;
	}
	roost_shm_meet_end(&m, victim);
	if (joined)
		roost_shm_peer_leave(victim, 0);
	FUZZ_CHECK(roost_shm_channel_reap(victim) == 0);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	if (fuzz_u8(&in) < 200)
		fuzz_memory(&in);
	else
		fuzz_meeting(&in);
	return 0;
}
