/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_CHANNEL_PAIR_H
#define ROOST_TESTS_UNIT_CHANNEL_PAIR_H

/*
 * Channels of one process or of several, joined without a handshake, and frames
 * to send by them. Frames of party i have the MAC 02:00:00:00:00:i.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/channel/channel.h"

struct rte_mbuf;

/* The patience of these channels: longer than a test may be preempted. */
#define PAIR_PATIENCE_NS 50000000u

/* What the next channels get instead; 0: that. */
extern uint64_t pair_patience_ns;

/* A channel with 64 slots and up to nb_seats peers. */
struct roost_shm_channel *pair_open(uint32_t nb_seats);

/* Join one end: the peer's frames are from `from`, its memory is memory_fd, in
 * which we have their_seat; fd is our end of the doorbell. In seat 0, 1 ... as
 * they come.
 */
void pair_join_end(struct roost_shm_channel *ch, uint32_t from, int memory_fd,
		   uint32_t their_seat, int fd, bool is_default);

/* Join two channels of this process, parties a_party and b_party. */
void pair_join(struct roost_shm_channel *a, uint8_t a_party,
	       struct roost_shm_channel *b, uint8_t b_party);

/* A RoCEv2 frame of len_bytes (at least 58) from one party to another one, to
 * QPN qpn, whose payload follows from number. Its ICRC is not filled in.
 */
void pair_write_frame(uint8_t *frame, uint8_t from, uint8_t to, uint32_t qpn,
		      uint32_t len_bytes, uint32_t number);

#define PAIR_HEADERS_BYTES 54u

/* The byte of the payload at that offset of the frame. */
static inline uint8_t pair_payload(uint32_t number, uint32_t offset)
{
	return (uint8_t)(number * 31 + offset * 7 + (offset >> 8));
}

/* The same in an mbuf of the channel's pool; NULL: it is empty. */
struct rte_mbuf *pair_frame(struct roost_shm_channel *ch, uint8_t from,
			    uint8_t to, uint32_t qpn, uint32_t len_bytes,
			    uint32_t number);

/* A burst to the peer in a seat. */
uint16_t pair_send(struct roost_shm_channel *ch, uint32_t seat,
		   struct rte_mbuf **mbufs, uint16_t n);

/* Is mbuf this frame, all of it? In place or not. */
bool pair_is_frame(struct rte_mbuf *mbuf, uint8_t from, uint8_t to,
		   uint32_t qpn, uint32_t len_bytes, uint32_t number);

#endif
