/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "lib/event/gone_fd.h"
#include "lib/event/source.h"
#include "lib/event/wakes.h"

_Thread_local uint32_t roost_event_wakes;

TAILQ_HEAD(source_list, roost_event_source);

/* An event in the ring: 16 bytes, which rte_ring copies at once. */
struct entry {
	struct roost_event_source *source;
	uint64_t type;
};

struct roost_channel {
	struct rte_ring *ring; /* of struct entry; enqueue: any thread, dequeue:
				* under lock */
	int fd;                /* eventfd, EFD_SEMAPHORE */
	pthread_mutex_t lock;
	pthread_cond_t acked; /* some source's acked reached its reported */
	/* Sources whose events wait for room; under lock. The count is also
	 * read without the lock: while it is not 0, new events queue behind.
	 */
	struct source_list overflow;
	_Atomic uint32_t nb_overflow;
	/* Tokens that should have been removed together with their events, but
	 * a reader held them. Writer: under lock; read without it.
	 */
	_Atomic uint32_t nb_surplus;
	/* Under lock. After hang_up, the channel has ended once the ring is
	 * empty; the fd then holds more tokens than readers can take.
	 */
	bool hung_up;
	bool ended;
};

int roost_channel_create(unsigned int capacity, struct roost_channel **channel)
{
	struct roost_channel *ch;
	ssize_t size;
	int ret;

	/* rte_ring leaves one entry free. */
	if (capacity < 2 || !rte_is_power_of_2(capacity))
		return -EINVAL;
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	size = rte_ring_get_memsize_elem(sizeof(struct entry), capacity);
	if (size < 0) {
		ret = -EINVAL;
		goto fail;
	}
	ch->ring = aligned_alloc(RTE_CACHE_LINE_SIZE,
				 RTE_ALIGN_CEIL((size_t)size,
						RTE_CACHE_LINE_SIZE));
	if (!ch->ring) {
		ret = -ENOMEM;
		goto fail;
	}
	ret = rte_ring_init(ch->ring, "roost_channel", capacity, RING_F_SC_DEQ);
	if (ret)
		goto fail;
	ch->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (ch->fd < 0) {
		ret = -errno;
		goto fail;
	}
	pthread_mutex_init(&ch->lock, NULL);
	pthread_cond_init(&ch->acked, NULL);
	TAILQ_INIT(&ch->overflow);
	*channel = ch;
	return 0;
fail:
	free(ch->ring);
	free(ch);
	return ret;
}

void roost_channel_destroy(struct roost_channel *channel)
{
	close(channel->fd);
	pthread_cond_destroy(&channel->acked);
	pthread_mutex_destroy(&channel->lock);
	free(channel->ring);
	free(channel);
}

int roost_channel_fd(const struct roost_channel *channel)
{
	return channel->fd;
}

/* in_ring is never less than what is there. */
static bool enqueue(struct roost_channel *ch, struct entry *entry)
{
	atomic_fetch_add(&entry->source->in_ring, 1);
	if (rte_ring_mp_enqueue_elem(ch->ring, entry, sizeof(*entry)) == 0)
		return true;
	atomic_fetch_sub(&entry->source->in_ring, 1);
	return false;
}

static bool dequeue(struct roost_channel *ch, struct entry *entry)
{
	if (rte_ring_sc_dequeue_elem(ch->ring, entry, sizeof(*entry)) != 0)
		return false;
	atomic_fetch_sub(&entry->source->in_ring, 1);
	return true;
}

static void token_add(struct roost_channel *ch)
{
	uint64_t one = 1;
	ssize_t n;

	/* Fails only when 2^64 - 2 tokens wait. */
	n = write(ch->fd, &one, sizeof(one));
	(void)n;
	roost_event_wakes++;
}

/*
 * Take a token without waiting. The flags of the fd, which belong to the
 * application, make no difference. Returns false when there is none.
 */
static bool token_remove(struct roost_channel *ch)
{
	uint64_t value;
	struct iovec iov = { .iov_base = &value, .iov_len = sizeof(value) };

	return preadv2(ch->fd, &iov, 1, -1, RWF_NOWAIT) == sizeof(value);
}

/* Under the lock. If the last event was read, and no other is expected, make
 * the fd readable for good. After hang_up, tokens are added under the lock
 * only, so the counter is low enough for the write to return.
 */
static bool end_if_empty(struct roost_channel *ch)
{
	if (!ch->hung_up || !rte_ring_empty(ch->ring))
		return false;
	if (!ch->ended) {
		while (token_remove(ch))
			;
		atomic_store(&ch->nb_surplus, 0);
		roost_gone_fd_fill(ch->fd);
		ch->ended = true;
	}
	return true;
}

/*
 * Under the lock. If the token of a removed event is not in the fd, a reader
 * holds it. That reader takes another event, whose token is then surplus, or it
 * finds the ring empty. Either way the fd must not stay readable because of
 * that token.
 */
static void surplus_remove(struct roost_channel *ch)
{
	while (atomic_load(&ch->nb_surplus) > 0 && token_remove(ch))
		atomic_fetch_sub(&ch->nb_surplus, 1);
}

/* Under the lock: count one more event that waits outside the ring. */
static void overflow_add(struct roost_channel *ch, const struct entry *entry)
{
	struct roost_event_source *source = entry->source;

	source->overflow[entry->type]++;
	if (source->overflow_count++ == 0) {
		TAILQ_INSERT_TAIL(&ch->overflow, source, overflow_link);
		atomic_fetch_add(&ch->nb_overflow, 1);
	}
}

static void overflow_clear(struct roost_channel *ch,
			   struct roost_event_source *source)
{
	if (source->overflow_count == 0)
		return;
	source->overflow_count = 0;
	for (int i = 0; i < ROOST_EVENT_TYPES_MAX; i++)
		source->overflow[i] = 0;
	TAILQ_REMOVE(&ch->overflow, source, overflow_link);
	atomic_fetch_sub(&ch->nb_overflow, 1);
}

static uint32_t overflow_first_type(const struct roost_event_source *source)
{
	uint32_t type = 0;

	while (source->overflow[type] == 0)
		type++;
	return type;
}

/* Under the lock: move waiting events into the ring while there is room. */
static void refill(struct roost_channel *ch)
{
	struct roost_event_source *source;

	while ((source = TAILQ_FIRST(&ch->overflow)) != NULL) {
		uint32_t type = overflow_first_type(source);
		struct entry entry = {
			.source = source,
			.type = type,
		};

		if (!enqueue(ch, &entry))
			return;
		if (!ch->ended)
			token_add(ch);
		source->overflow[type]--;
		if (--source->overflow_count == 0) {
			TAILQ_REMOVE(&ch->overflow, source, overflow_link);
			atomic_fetch_sub(&ch->nb_overflow, 1);
		}
	}
}

struct taking {
	struct roost_channel *channel;
	uint64_t value; /* 0: no token was taken */
};

/* Cleanup of a reader that is cancelled, maybe after it took a token: libraries
 * differ in whether a read(2) that has succeeded can still be cancelled. The
 * token goes back, so that another reader gets its event.
 */
static void put_back(void *arg)
{
	struct taking *t = arg;
	struct roost_channel *ch = t->channel;

	if (t->value == 0)
		return;
	pthread_mutex_lock(&ch->lock);
	if (!ch->ended)
		token_add(ch);
	surplus_remove(ch);
	pthread_mutex_unlock(&ch->lock);
}

/* Take a token; the flags of the fd say whether to wait. The only cancellation
 * point in this file; readv(), because lib/uncancelled.c leaves that one as it
 * is.
 */
static int take_token(struct roost_channel *ch)
{
	struct taking t = { .channel = ch };
	struct iovec iov = { .iov_base = &t.value, .iov_len = sizeof(t.value) };
	int ret;

	pthread_cleanup_push(put_back, &t);
	ret = readv(ch->fd, &iov, 1) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);
	return ret;
}

int roost_channel_read(struct roost_channel *channel, struct roost_event *event)
{
	struct entry entry;
	bool got, ended;
	int ret;

	do {
		ret = take_token(channel);
		if (ret)
			return ret;
		pthread_mutex_lock(&channel->lock);
		got = dequeue(channel, &entry);
		if (got) {
			*event = (struct roost_event){
				.source = entry.source,
				.owner = entry.source->owner,
				.type = (uint32_t)entry.type,
				.arg = entry.source->arg,
			};
			entry.source->reported++;
			refill(channel);
			surplus_remove(channel);
		} else if (atomic_load(&channel->nb_surplus) > 0) {
			atomic_fetch_sub(&channel->nb_surplus, 1);
		}
		ended = end_if_empty(channel);
		pthread_mutex_unlock(&channel->lock);
		if (ended)
			roost_gone_fd_signal(channel->fd);
		/* Nothing in the ring: the event's object was destroyed. */
	} while (!got && !ended);
	return got ? 0 : -EIO;
}

void roost_channel_hang_up(struct roost_channel *channel)
{
	bool ended;

	pthread_mutex_lock(&channel->lock);
	if (!channel->hung_up) {
		channel->hung_up = true;
		/* From here on, raising an event takes the lock. */
		atomic_fetch_add(&channel->nb_overflow, 1);
	}
	ended = end_if_empty(channel);
	pthread_mutex_unlock(&channel->lock);
	if (ended)
		roost_gone_fd_signal(channel->fd);
}

unsigned int roost_channel_waiting(struct roost_channel *channel)
{
	const struct roost_event_source *source;
	unsigned int n;

	pthread_mutex_lock(&channel->lock);
	n = rte_ring_count(channel->ring);
	TAILQ_FOREACH(source, &channel->overflow, overflow_link)
		n += source->overflow_count;
	pthread_mutex_unlock(&channel->lock);
	return n;
}

void roost_event_source_init(struct roost_event_source *source,
			     struct roost_channel *channel, void *owner)
{
	*source = (struct roost_event_source){
		.channel = channel,
		.owner = owner,
	};
}

/*
 * Why no event is lost or told twice, whatever runs beside this:
 * - A reader dequeues after it took a token, and a token is added after an
 *   enqueue returned; read(2) and write(2) of one fd are ordered by the kernel.
 *   An enqueue returns when all entries before its own are visible, too. So a
 *   reader that took a token finds an entry, unless purge removed one.
 * - An event that finds no room is counted under the lock, and the ring is
 *   filled up under the same lock by whoever counts one and by every reader.
 *   So events wait outside only while the ring is full, and the reader that
 *   makes it less than full fills it up.
 * - nb_overflow is read without the lock for the order of events alone: one
 *   that slips in before those that wait is early, and not lost.
 * - Purge counts a surplus token before it looks for it; here a token is added
 *   before nb_surplus is read; all four are sequentially consistent. So one of
 *   the two sees what the other did, and the surplus token goes.
 */
void roost_event_raise(struct roost_event_source *source, uint32_t type)
{
	struct roost_channel *ch = source->channel;
	struct entry entry = {
		.source = source,
		.type = type,
	};

	if (!ch)
		return;
	if (atomic_load(&ch->nb_overflow) == 0 && enqueue(ch, &entry)) {
		token_add(ch);
		/* Pairs with purge, which counts before it looks. */
		if (atomic_load(&ch->nb_surplus) == 0)
			return;
		pthread_mutex_lock(&ch->lock);
		surplus_remove(ch);
		pthread_mutex_unlock(&ch->lock);
		return;
	}
	/* A reader may have emptied the ring since: so refill here too. */
	pthread_mutex_lock(&ch->lock);
	overflow_add(ch, &entry);
	refill(ch);
	pthread_mutex_unlock(&ch->lock);
}

void roost_event_ack(struct roost_event_source *source, uint64_t n)
{
	struct roost_channel *ch = source->channel;

	if (!ch)
		return;
	pthread_mutex_lock(&ch->lock);
	source->acked += n;
	if (source->acked >= source->reported)
		pthread_cond_broadcast(&ch->acked);
	pthread_mutex_unlock(&ch->lock);
}

void roost_event_source_query(struct roost_event_source *source,
			      struct roost_event_counts *counts)
{
	struct roost_channel *ch =
		__atomic_load_n(&source->channel, __ATOMIC_RELAXED);

	*counts = (struct roost_event_counts){ .fd = -1 };
	if (!ch)
		return;
	pthread_mutex_lock(&ch->lock);
	counts->fd = ch->fd;
	counts->reported = source->reported;
	counts->unacked = source->reported - source->acked;
	counts->finishing = source->finishing;
	pthread_mutex_unlock(&ch->lock);
}

void roost_event_source_abandon(struct roost_event_source *source)
{
	struct roost_channel *ch = source->channel;

	if (!ch)
		return;
	pthread_mutex_lock(&ch->lock);
	source->acked = source->reported;
	pthread_cond_broadcast(&ch->acked);
	pthread_mutex_unlock(&ch->lock);
}

/* Under the lock: take the source's entries out, keep the others in order. */
static void purge(struct roost_channel *ch, struct roost_event_source *source)
{
	unsigned int n = rte_ring_count(ch->ring);
	struct entry entry;

	overflow_clear(ch, source);
	/* Its events were read, as most are: the others stay where they are. */
	if (atomic_load(&source->in_ring) == 0)
		return;
	while (n-- > 0 && dequeue(ch, &entry)) {
		if (entry.source == source) {
			atomic_fetch_add(&ch->nb_surplus, 1);
		} else if (!enqueue(ch, &entry)) {
			atomic_fetch_add(&ch->nb_surplus, 1);
			overflow_add(ch, &entry);
		}
	}
	if (ch->ended)
		atomic_store(&ch->nb_surplus, 0);
	surplus_remove(ch);
	refill(ch);
}

uint64_t roost_event_source_fini(struct roost_event_source *source)
{
	struct roost_channel *ch = source->channel;

	if (!ch)
		return 0;
	pthread_mutex_lock(&ch->lock);
	purge(ch, source);
	/* The last events may have been its own. */
	if (!ch->ended && end_if_empty(ch))
		roost_gone_fd_signal(ch->fd);
	source->finishing = true;
	while (source->acked < source->reported)
		pthread_cond_wait(&ch->acked, &ch->lock);
	source->channel = NULL;
	pthread_mutex_unlock(&ch->lock);
	return source->acked;
}
