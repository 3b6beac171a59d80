/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_CHANNEL_H
#define ROOST_PMD_GLUE_CHANNEL_CHANNEL_H

/*
 * The frames of one party, to and from its peers: our memory (memory.h), pools
 * of mbufs (pool.h), and for each peer a pipe in each direction (pipe.h) and a
 * doorbell. How peers meet is the caller's affair (handshake.h).
 *
 * Sending. An mbuf of the channel's own pool has its data in a slot, and goes
 * to a peer without a copy; frames of other mbufs are copied into a slot. The
 * caller says which peer each frame goes to.
 *
 * A peer has at least its share of half the slots, and more as long as less
 * than half of them are taken. If it holds as many as it may, and reads, the
 * burst ends there and the caller offers the frame again (backpressure). If it
 * has not consumed ROOST_SHM_PROGRESS_PKTS frames within the channel's
 * patience, its frames are dropped and counted, so that it holds up nobody
 * else.
 *
 * Receiving. Small frames are copied. Of a RoCEv2 frame that is not for QP1 the
 * headers are copied and the rest stays in the peer's slot until the mbuf is
 * freed (lib/engine/core/in_place.h); such a frame is to be freed soon, or to
 * be copied by roost_shm_keep(). All other frames are copied.
 *
 * Order. One peer may be the default one, which passes frames on for others. A
 * peer that joins when there is a default one may have sent frames by it
 * before: from such a peer nothing is received until all has been received
 * that the default peer's ring had when the first frame came. So a sender that
 * changes over when the default peer has consumed all its frames (no frame is
 * pending) keeps their order.
 *
 * Sleeping. See roost_shm_sleep().
 *
 * The doorbell is a connected socket and not an eventfd. All who have an
 * eventfd share its file description: a hostile peer could take the tokens of
 * others, or make the descriptor blocking and fill it, and the next honest
 * write would hang. A send on a socket with MSG_DONTWAIT cannot.
 *
 * Thread: one at a time for each function with a channel, where nothing else is
 * said; in practice, the holder of the turn.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/channel/memory.h"
#include "pmd_glue/channel/pipe.h"

struct rte_mbuf;
struct rte_mempool;
struct roost_shm_channel;

/* A peer that consumes so many frames in the time of the channel's patience
 * reads, and a slower one does not.
 */
#define ROOST_SHM_PROGRESS_PKTS 32u

#define ROOST_SHM_NO_SEAT UINT32_MAX

struct roost_shm_params {
	struct roost_shm_shape shape;
	uint64_t patience_ns;
	uint16_t port; /* of received mbufs */
	/* Copies of received frames that are kept at the same time, besides
	 * those that the engine works on; 0: few.
	 */
	uint32_t nb_kept;
};

struct roost_shm_counters {
	uint64_t rx_pkts;
	uint64_t rx_bytes;
	uint64_t rx_in_place_pkts; /* of rx_pkts */
	uint64_t rx_no_mbuf_pkts;  /* dropped: no mbuf was free */
	uint64_t tx_pkts;
	uint64_t tx_bytes;
	uint64_t tx_copied_pkts;  /* of tx_pkts: were in no slot */
	uint64_t tx_unread_pkts;  /* dropped: the peer does not read */
	uint64_t tx_no_peer_pkts; /* dropped: for an empty seat */
	uint64_t rings;           /* doorbells rung */
};

/* A peer that was introduced. */
struct roost_shm_peer {
	struct roost_shm_memory memory; /* its memory */
	uint32_t seat;                  /* ours, in its memory */
	int doorbell;                   /* connected to the peer's one */
	bool is_default;
	uint32_t from;        /* see struct roost_in_place */
	uint64_t patience_ns; /* 0: the channel's */
};

/* Returns 0; -EINVAL, or an error of the memory, the pools or epoll. */
int roost_shm_channel_open(const struct roost_shm_params *params,
			   struct roost_shm_channel **ch);

/* Nothing is sent any more: what peers have not consumed when they are left
 * stays for them.
 */
void roost_shm_channel_end(struct roost_shm_channel *ch);
/* All mbufs were freed, and the peers' frames are not used any more. NULL:
 * nothing.
 */
void roost_shm_channel_close(struct roost_shm_channel *ch);

/* The pool for frames to be sent. */
struct rte_mempool *roost_shm_channel_pool(struct roost_shm_channel *ch);

const struct roost_shm_memory *
roost_shm_channel_memory(const struct roost_shm_channel *ch);

/* ---- peers ----------------------------------------------------------------
 */

/* Reserve a seat for a peer that is to be told its number. Returns the seat, or
 * -ENOSPC.
 */
int roost_shm_seat_take(struct roost_shm_channel *ch);

/* The peer did not come: the seat is free. */
void roost_shm_seat_leave(struct roost_shm_channel *ch, uint32_t seat);

/* Begin with the peer in a reserved seat. Owns: *peer, its memory and its
 * doorbell, from now on, also on error. Returns 0; -EPROTO (its memory has no
 * such seat), -errno of epoll_ctl; then the seat is free.
 */
int roost_shm_peer_join(struct roost_shm_channel *ch, uint32_t seat,
			const struct roost_shm_peer *peer);

/* End with a peer, at once: what was published for it is ours again. Its memory
 * stays mapped and the seat taken until its last frame in place is freed, see
 * roost_shm_channel_reap().
 */
void roost_shm_peer_leave(struct roost_shm_channel *ch, uint32_t seat);

/* Have another patience with a peer. */
void roost_shm_peer_wait(struct roost_shm_channel *ch, uint32_t seat,
			 uint64_t patience_ns);

/* The peer in a seat is replaced by the one in another: what was published for
 * the first and not consumed is published for the second, in order. Then the
 * first one leaves.
 */
void roost_shm_peer_replace(struct roost_shm_channel *ch, uint32_t seat,
			    uint32_t by);

/* Unmap the memories of peers that have left and whose frames are freed.
 * Returns how many still wait.
 */
unsigned int roost_shm_channel_reap(struct roost_shm_channel *ch);

/* Is there a peer for roost_shm_next_broken()? Thread: any. */
bool roost_shm_has_broken(const struct roost_shm_channel *ch);

/* A peer whose words broke the rules: its pipes are stopped, what was published
 * for it is ours again, and the caller reports it and ends with it. Each is
 * returned once. *fault: which rule.
 * Returns its seat, or ROOST_SHM_NO_SEAT.
 */
uint32_t roost_shm_next_broken(struct roost_shm_channel *ch,
			       enum roost_shm_fault *fault);

/* What passed with the peer in a seat; drops of frames for no peer are counted
 * for no seat. Valid until the next peer joins in it.
 */
const struct roost_shm_counters *
roost_shm_counters(const struct roost_shm_channel *ch, uint32_t seat);

/* ---- a peer that was joined ------------------------------------------------
 */

/* Does it receive from us? Once true, it stays so. */
bool roost_shm_peer_listens(const struct roost_shm_channel *ch, uint32_t seat);

/* Frames that it has not consumed. Takes back the slots of the others. */
uint32_t roost_shm_tx_pending(struct roost_shm_channel *ch, uint32_t seat);

/* Has it sent frames that were not received? */
bool roost_shm_rx_is_due(const struct roost_shm_channel *ch, uint32_t seat);

/* ---- frames: hot -----------------------------------------------------------
 */

/* As the functions of struct roost_frame_io. Receiving also takes back the
 * slots that peers have consumed. Sending makes a system call only to wake a
 * peer that sleeps. seats: where each frame goes; NULL: all to the default
 * peer.
 */
uint16_t roost_shm_rx_burst(struct roost_shm_channel *ch,
			    struct rte_mbuf **pkts, uint16_t n);
uint16_t roost_shm_tx_burst(struct roost_shm_channel *ch, const uint32_t *seats,
			    struct rte_mbuf **pkts, uint16_t n);

/* A received frame that is to be kept for longer. Takes the mbuf. Returns one
 * that holds no slot and has the whole frame, or NULL: none is free, and the
 * frame is lost. Thread: any.
 */
struct rte_mbuf *roost_shm_keep(struct roost_shm_channel *ch,
				struct rte_mbuf *mbuf);

/* ---- sleep ------------------------------------------------------------------
 */

/* Readable when a peer has rung, after roost_shm_sleep(). Edge-triggered
 * inside.
 */
int roost_shm_channel_fd(const struct roost_shm_channel *ch);

/* Tell the peers to ring. Returns true: wait at roost_shm_channel_fd(), then
 * call roost_shm_awake(). False: there are frames, and nobody will ring. Frames
 * that a peer could not take yet make no peer ring: who has such frames waits
 * no longer than the channel's patience.
 */
bool roost_shm_sleep(struct roost_shm_channel *ch);
void roost_shm_awake(struct roost_shm_channel *ch);

#endif
