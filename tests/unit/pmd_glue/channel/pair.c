/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/channel/pair.h"

#include <string.h>
#include <sys/socket.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "tests/cmocka.h"

uint64_t pair_patience_ns;

struct roost_shm_channel *pair_open(uint32_t nb_seats)
{
	const struct roost_shm_params params = {
		.shape = { 64, ROOST_SHM_SLOT_BYTES, nb_seats, 32 },
		.patience_ns =
			pair_patience_ns ? pair_patience_ns : PAIR_PATIENCE_NS,
		.port = 3,
	};
	struct roost_shm_channel *ch;

	assert_int_equal(roost_shm_channel_open(&params, &ch), 0);
	return ch;
}

void pair_join_end(struct roost_shm_channel *ch, uint32_t from, int memory_fd,
		   uint32_t their_seat, int fd, bool is_default)
{
	struct roost_shm_peer peer = {
		.seat = their_seat,
		.doorbell = fd,
		.from = from,
		.is_default = is_default,
	};
	int seat = roost_shm_seat_take(ch);

	assert_true(seat >= 0);
	assert_int_equal(roost_shm_memory_map(memory_fd, &peer.memory), 0);
	assert_int_equal(roost_shm_peer_join(ch, (uint32_t)seat, &peer), 0);
}

/* The seat that the next peer gets. */
static uint32_t next_seat(struct roost_shm_channel *ch)
{
	int seat = roost_shm_seat_take(ch);

	roost_shm_seat_leave(ch, (uint32_t)seat);
	return (uint32_t)seat;
}

void pair_join(struct roost_shm_channel *a, uint8_t a_party,
	       struct roost_shm_channel *b, uint8_t b_party)
{
	uint32_t a_seat = next_seat(a), b_seat = next_seat(b);
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			 0);
	pair_join_end(a, b_party, roost_shm_channel_memory(b)->fd, b_seat,
		      fds[0], false);
	pair_join_end(b, a_party, roost_shm_channel_memory(a)->fd, a_seat,
		      fds[1], false);
}

void pair_write_frame(uint8_t *frame, uint8_t from, uint8_t to, uint32_t qpn,
		      uint32_t len_bytes, uint32_t number)
{
	const struct roost_flow flow = {
		.src_mac = { 2, 0, 0, 0, 0, from },
		.dst_mac = { 2, 0, 0, 0, 0, to },
		.sgid = roost_gid_from_v4(
			(const uint8_t[]){ 198, 18, 0, from }),
		.dgid = roost_gid_from_v4((const uint8_t[]){ 198, 18, 0, to }),
		.hop_limit = 64,
		.udp_src = 0xc000,
	};
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_RC_SEND_ONLY,
		.dest_qpn = qpn,
		.psn = roost_psn(number & 0xffffff),
	};
	struct roost_hdr_template t;

	roost_hdr_template_init(&t, &flow);
	roost_hdr_emit(&t, frame, &bth,
		       len_bytes - PAIR_HEADERS_BYTES - ROOST_ICRC_LEN);
	for (uint32_t i = PAIR_HEADERS_BYTES; i < len_bytes; i++)
		frame[i] = pair_payload(number, i);
}

struct rte_mbuf *pair_frame(struct roost_shm_channel *ch, uint8_t from,
			    uint8_t to, uint32_t qpn, uint32_t len_bytes,
			    uint32_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(roost_shm_channel_pool(ch));

	if (!mbuf)
		return NULL;
	mbuf->data_len = (uint16_t)len_bytes;
	mbuf->pkt_len = len_bytes;
	pair_write_frame(rte_pktmbuf_mtod(mbuf, uint8_t *), from, to, qpn,
			 len_bytes, number);
	return mbuf;
}

uint16_t pair_send(struct roost_shm_channel *ch, uint32_t seat,
		   struct rte_mbuf **mbufs, uint16_t n)
{
	uint32_t seats[64];

	assert_true(n <= 64);
	for (uint16_t i = 0; i < n; i++)
		seats[i] = seat;
	return roost_shm_tx_burst(ch, seats, mbufs, n);
}

bool pair_is_frame(struct rte_mbuf *mbuf, uint8_t from, uint8_t to,
		   uint32_t qpn, uint32_t len_bytes, uint32_t number)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint8_t frame[ROOST_SHM_SLOT_BYTES_MAX];

	pair_write_frame(frame, from, to, qpn, len_bytes, number);
	if (mbuf->pkt_len != len_bytes || mbuf->nb_segs != 1 ||
	    memcmp(data, frame, mbuf->data_len) != 0)
		return false;
	if (mbuf->data_len == len_bytes)
		return true;
	return roost_is_in_place(mbuf) &&
	       memcmp(roost_in_place_frame(mbuf), frame, len_bytes) == 0;
}
