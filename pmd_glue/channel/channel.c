/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A channel and its peers: all that is not done per frame (rx.c, tx.c). */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mempool.h>

#include "lib/engine/core/in_place.h"
#include "lib/event/high_fd.h"
#include "pmd_glue/channel/channel_priv.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/process/fork_guard.h"

#define EVENTS 16
/* More than an honest peer sends between two sleeps. */
#define TOKENS 64u

/* ---- the channel
 * ------------------------------------------------------------- */

static int open_parts(struct roost_shm_channel *ch,
		      const struct roost_shm_params *params)
{
	const uint32_t kept = params->nb_kept;
	int ret = roost_shm_memory_make(&params->shape, &ch->memory);

	if (ret)
		return ret;
	ret = roost_shm_pool_on_slots(&ch->memory, &ch->tx_pool);
	if (ret)
		return ret;
	ret = roost_shm_pool_private(RX_MBUFS + kept, COPY_BYTES, &ch->rx_pool);
	if (ret)
		return ret;
	ret = roost_shm_pool_private(RX_WHOLE_MBUFS +
					     RTE_MIN(kept, KEPT_WHOLE_MAX),
				     ROOST_SHM_SLOT_BYTES_MAX,
				     &ch->rx_whole_pool);
	if (ret)
		return ret;
	ch->epoll_fd = roost_high_fd(epoll_create1(EPOLL_CLOEXEC));
	return ch->epoll_fd < 0 ? -errno : 0;
}

static void set_shares(struct roost_shm_channel *ch)
{
	const uint32_t nb = (uint32_t)__builtin_popcountll(ch->open);

	ch->reserve = ch->memory.shape.nb_slots / 2;
	ch->share = ch->reserve / RTE_MAX(nb, 1u);
}

int roost_shm_channel_open(const struct roost_shm_params *params,
			   struct roost_shm_channel **ch)
{
	struct roost_shm_channel *new;
	int ret;

	new = aligned_alloc(RTE_CACHE_LINE_SIZE,
			    RTE_ALIGN_CEIL(sizeof(*new),
					   (size_t)RTE_CACHE_LINE_SIZE));
	if (!new)
		return -ENOMEM;
	*new = (struct roost_shm_channel){
		.memory.fd = -1,
		.epoll_fd = -1,
		.default_seat = ROOST_SHM_NO_SEAT,
		.patience_ns = params->patience_ns,
		.port = params->port,
	};
	ret = open_parts(new, params);
	if (ret) {
		roost_shm_channel_close(new);
		return ret;
	}
	set_shares(new);
	*ch = new;
	return 0;
}

void roost_shm_channel_end(struct roost_shm_channel *ch)
{
	ch->ends = true;
}

void roost_shm_channel_close(struct roost_shm_channel *ch)
{
	if (!ch)
		return;
	roost_shm_channel_end(ch);
	for (uint32_t i = 0; i < ch->memory.shape.nb_seats; i++)
		if (ch->seats[i].state == SEAT_OPEN)
			roost_shm_peer_leave(ch, i);
	roost_shm_channel_reap(ch);
	if (ch->epoll_fd >= 0)
		close(ch->epoll_fd);
	roost_shm_pool_destroy(ch->rx_whole_pool);
	roost_shm_pool_destroy(ch->rx_pool);
	roost_shm_pool_destroy(ch->tx_pool);
	roost_shm_memory_close(&ch->memory);
	free(ch);
}

struct rte_mempool *roost_shm_channel_pool(struct roost_shm_channel *ch)
{
	return roost_shm_pool_mempool(ch->tx_pool);
}

const struct roost_shm_memory *
roost_shm_channel_memory(const struct roost_shm_channel *ch)
{
	return &ch->memory;
}

const struct roost_shm_counters *
roost_shm_counters(const struct roost_shm_channel *ch, uint32_t seat)
{
	return seat == ROOST_SHM_NO_SEAT ? &ch->lost
					 : &ch->seats[seat].counters;
}

/* ---- seats
 * --------------------------------------------------------------------- */

int roost_shm_seat_take(struct roost_shm_channel *ch)
{
	for (uint32_t i = 0; i < ch->memory.shape.nb_seats; i++)
		if (ch->seats[i].state == SEAT_FREE) {
			ch->seats[i].state = SEAT_RESERVED;
			roost_shm_pipes_clear(&ch->memory, i);
			return (int)i;
		}
	return -ENOSPC;
}

void roost_shm_seat_leave(struct roost_shm_channel *ch, uint32_t seat)
{
	ch->seats[seat].state = SEAT_FREE;
}

/* What a seat has of its peer. */
static void clear_seat(struct seat *s)
{
	roost_shm_memory_close(&s->peer.memory);
	free(s->done);
	s->done = NULL;
	s->state = SEAT_FREE;
}

static int add_doorbell(struct roost_shm_channel *ch, uint32_t seat)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET,
		.data.u32 = seat,
	};

	return epoll_ctl(ch->epoll_fd, EPOLL_CTL_ADD,
			 ch->seats[seat].peer.doorbell, &event) == 0
		       ? 0
		       : -errno;
}

static int open_seat(struct roost_shm_channel *ch, uint32_t seat)
{
	struct seat *s = &ch->seats[seat];
	const struct roost_shm_memory *theirs = &s->peer.memory;

	if (s->peer.seat >= theirs->shape.nb_seats)
		return -EPROTO;
	s->done = calloc(theirs->shape.ring_len, sizeof(*s->done));
	if (!s->done)
		return -ENOMEM;
	roost_shm_in_open(&s->in, &ch->memory, seat, theirs, s->peer.seat);
	roost_shm_out_open(&s->out, &ch->memory, seat, theirs, s->peer.seat);
	s->sleeps = roost_shm_sleeps(theirs);
	if (s->peer.patience_ns == 0)
		s->peer.patience_ns = ch->patience_ns;
	return add_doorbell(ch, seat);
}

int roost_shm_peer_join(struct roost_shm_channel *ch, uint32_t seat,
			const struct roost_shm_peer *peer)
{
	struct seat *s = &ch->seats[seat];
	int ret;

	*s = (struct seat){ .state = SEAT_RESERVED, .peer = *peer };
	s->peer.doorbell = roost_high_fd(s->peer.doorbell);
	ret = open_seat(ch, seat);
	if (ret) {
		close(s->peer.doorbell);
		clear_seat(s);
		return ret;
	}
	/* A child would hold the peer's doorbell after our death. */
	roost_fork_guard_add(s->peer.doorbell);
	s->state = SEAT_OPEN;
	ch->open |= seat_bit(seat);
	if (peer->is_default)
		ch->default_seat = seat;
	s->follows = !peer->is_default && ch->default_seat != ROOST_SHM_NO_SEAT;
	set_shares(ch);
	/* Pairs with the acquire in roost_shm_peer_listens(). */
	atomic_store_explicit(roost_shm_listens(&ch->memory, seat), 1,
			      memory_order_release);
	return 0;
}

/* No frame goes to the peer or comes from it any more. */
static void stop(struct roost_shm_channel *ch, uint32_t seat)
{
	ch->open &= ~seat_bit(seat);
	ch->rung &= ~seat_bit(seat);
	if (ch->default_seat == seat)
		ch->default_seat = ROOST_SHM_NO_SEAT;
	roost_shm_tx_discard(ch, seat);
	set_shares(ch);
}

bool roost_shm_has_broken(const struct roost_shm_channel *ch)
{
	return atomic_load_explicit(&ch->broken, memory_order_relaxed) != 0;
}

uint32_t roost_shm_next_broken(struct roost_shm_channel *ch,
			       enum roost_shm_fault *fault)
{
	const uint64_t broken = atomic_load(&ch->broken);
	const struct seat *s;
	uint32_t seat;

	if (broken == 0)
		return ROOST_SHM_NO_SEAT;
	seat = (uint32_t)__builtin_ctzll(broken);
	s = &ch->seats[seat];
	atomic_fetch_and(&ch->broken, ~seat_bit(seat));
	stop(ch, seat);
	*fault = s->in.fault != ROOST_SHM_OK ? s->in.fault : s->out.fault;
	return seat;
}

bool roost_shm_peer_listens(const struct roost_shm_channel *ch, uint32_t seat)
{
	const struct roost_shm_peer *peer = &ch->seats[seat].peer;

	return atomic_load_explicit(roost_shm_listens(&peer->memory,
						      peer->seat),
				    memory_order_acquire) == 1;
}

bool roost_shm_rx_is_due(const struct roost_shm_channel *ch, uint32_t seat)
{
	return (ch->open & seat_bit(seat)) &&
	       roost_shm_in_is_due(&ch->seats[seat].in);
}

void roost_shm_peer_leave(struct roost_shm_channel *ch, uint32_t seat)
{
	struct seat *s = &ch->seats[seat];

	stop(ch, seat);
	atomic_fetch_and(&ch->broken, ~seat_bit(seat));
	/* A forked child may hold the descriptor, too. */
	epoll_ctl(ch->epoll_fd, EPOLL_CTL_DEL, s->peer.doorbell, NULL);
	roost_fork_guard_remove(s->peer.doorbell);
	close(s->peer.doorbell);
	s->state = SEAT_LEFT;
}

void roost_shm_peer_replace(struct roost_shm_channel *ch, uint32_t seat,
			    uint32_t by)
{
	struct roost_shm_out *from = &ch->seats[seat].out;
	struct roost_shm_out *to = &ch->seats[by].out;
	uint32_t nb;

	roost_shm_tx_collect(ch, seat);
	nb = roost_shm_out_pending(from);
	for (uint32_t i = 0; i < nb; i++)
		roost_shm_out_publish(to, roost_shm_out_slot(from, i),
				      roost_shm_out_len_bytes(from, i));
	roost_shm_out_free(from, nb);
	roost_shm_peer_leave(ch, seat);
	/* The ring that peers are behind is gone. */
	for (uint32_t i = 0; i < ch->memory.shape.nb_seats; i++)
		ch->seats[i].follows = false;
	if (nb > 0) {
		ch->pending |= seat_bit(by);
		ch->rung |= seat_bit(by);
		roost_shm_tx_burst(ch, NULL, NULL, 0); /* rings */
	}
}

void roost_shm_peer_wait(struct roost_shm_channel *ch, uint32_t seat,
			 uint64_t patience_ns)
{
	ch->seats[seat].peer.patience_ns = patience_ns;
}

unsigned int roost_shm_channel_reap(struct roost_shm_channel *ch)
{
	unsigned int nb = 0;

	for (uint32_t i = 0; i < ch->memory.shape.nb_seats; i++) {
		struct seat *s = &ch->seats[i];

		if (s->state != SEAT_LEFT)
			continue;
		roost_shm_rx_give(s);
		if (s->in.taken == s->in.given)
			clear_seat(s);
		else
			nb++;
	}
	return nb;
}

/* ---- sleep
 * ---------------------------------------------------------------------- */

int roost_shm_channel_fd(const struct roost_shm_channel *ch)
{
	return ch->epoll_fd;
}

/* Would the next burst receive something, or find a fault? */
static bool has_frames(const struct seat *s)
{
	struct roost_shm_in look = s->in;
	struct roost_shm_entry entry;

	return roost_shm_in_take(&look, &entry, 1) > 0 ||
	       look.fault != ROOST_SHM_OK;
}

bool roost_shm_sleep(struct roost_shm_channel *ch)
{
	bool found = false;

	roost_shm_sleep_begin(roost_shm_sleeps(&ch->memory));
	for (uint64_t seats = ch->open; seats != 0; seats &= seats - 1) {
		struct seat *s = &ch->seats[__builtin_ctzll(seats)];

		/* Slots that their senders may wait for. */
		roost_shm_rx_give(s);
		found |= has_frames(s);
	}
	if (found)
		roost_shm_sleep_end(roost_shm_sleeps(&ch->memory));
	return !found;
}

/* One read takes all that an honest peer has sent; more is the peer's loss. */
static void hear(struct roost_shm_channel *ch, uint32_t seat)
{
	char tokens[TOKENS];

	if (ch->seats[seat].state == SEAT_OPEN)
		(void)!recv(ch->seats[seat].peer.doorbell, tokens,
			    sizeof(tokens), MSG_DONTWAIT);
}

void roost_shm_awake(struct roost_shm_channel *ch)
{
	struct epoll_event events[EVENTS];
	int n;

	roost_shm_sleep_end(roost_shm_sleeps(&ch->memory));
	do {
		n = epoll_wait(ch->epoll_fd, events, EVENTS, 0);
		for (int i = 0; i < n; i++)
			hear(ch, events[i].data.u32);
	} while (n == EVENTS);
}
