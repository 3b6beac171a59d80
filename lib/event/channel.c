/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "lib/event/gone_fd.h"
#include "lib/event/ring.h"
#include "lib/event/source.h"
#include "lib/event/wakes.h"

_Atomic uint32_t roost_event_wakes;
/* The channel that the calling thread reads next; NULL: none. */
static _Thread_local struct roost_channel *read_next;

TAILQ_HEAD(source_list, roost_event_source);

/* An event in the ring: 16 bytes, which rte_ring copies at once. */
struct entry {
	struct roost_event_source *source;
	uint64_t type;
};

struct roost_channel {
	struct rte_ring *ring; /* of struct entry; enqueue: any thread, dequeue:
				* under lock */
	int fd;                /* eventfd; a read takes all of its tokens */
	pthread_mutex_t lock;
	pthread_cond_t acked; /* some source's acked reached its reported */
	/* Sources whose events wait for room; under lock. The count is also
	 * read without the lock: while it is not 0, new events queue behind.
	 */
	struct source_list overflow;
	_Atomic uint32_t nb_overflow;
	/* Tokens in the fd, and those that threads are about to add. Any
	 * thread.
	 */
	_Atomic uint64_t nb_tokens;
	/* Under lock. After hang_up, the channel has ended once the ring is
	 * empty; the fd then holds more tokens than readers can take.
	 */
	bool hung_up;
	bool ended;
};

int roost_channel_create(unsigned int capacity, struct roost_channel **channel)
{
	struct roost_channel *ch;
	int ret;

	/* rte_ring leaves one entry free. */
	if (capacity < 2 || !rte_is_power_of_2(capacity))
		return -EINVAL;
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	ret = roost_ring_create("roost_channel", sizeof(struct entry), capacity,
				RING_F_SC_DEQ, &ch->ring);
	if (ret)
		goto fail;
	ch->fd = eventfd(0, EFD_CLOEXEC);
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

/* One that is counted already. */
static void token_write(struct roost_channel *ch)
{
	uint64_t one = 1;
	ssize_t n;

	/* Fails only when 2^64 - 2 tokens wait. */
	n = write(ch->fd, &one, sizeof(one));
	(void)n;
	roost_event_woke();
}

static void token_add(struct roost_channel *ch)
{
	atomic_fetch_add(&ch->nb_tokens, 1);
	token_write(ch);
}

/* A read of the fd has returned so many; to be called right after it. The fd of
 * a channel that has ended holds more than were counted.
 */
static void tokens_took(struct roost_channel *ch, uint64_t nb)
{
	uint64_t known = atomic_load(&ch->nb_tokens);

	while (!atomic_compare_exchange_weak(&ch->nb_tokens, &known,
					     known - RTE_MIN(nb, known)))
		;
}

/* Under the lock: take all tokens that are in the fd. The flags of the fd,
 * which belong to the application, make no difference.
 */
static bool tokens_remove(struct roost_channel *ch)
{
	uint64_t nb;
	struct iovec iov = { .iov_base = &nb, .iov_len = sizeof(nb) };

	if (preadv2(ch->fd, &iov, 1, -1, RWF_NOWAIT) != sizeof(nb))
		return false;
	tokens_took(ch, nb);
	return true;
}

/* Under the lock: the fd is readable for good. A reader takes all of the
 * counter; tokens are added under the lock only, so that what is written here
 * fits.
 */
static void fill_for_good(struct roost_channel *ch)
{
	uint64_t nb;
	struct iovec iov = { .iov_base = &nb, .iov_len = sizeof(nb) };
	ssize_t n = preadv2(ch->fd, &iov, 1, -1, RWF_NOWAIT);

	(void)n;
	roost_gone_fd_fill(ch->fd);
	roost_gone_fd_signal(ch->fd);
}

/* Under the lock, after a reader took nb_tokens. If the last event was read,
 * and no other is expected, the channel has ended.
 */
static bool end_if_empty(struct roost_channel *ch, uint64_t nb_tokens)
{
	if (!ch->hung_up || !roost_ring_is_empty(ch->ring))
		return false;
	if (!ch->ended || nb_tokens > 0)
		fill_for_good(ch);
	ch->ended = true;
	return true;
}

/* Under the lock, the ring is empty: no token stays in the fd, nor one that a
 * thread is about to add, or has read and not counted yet; such a thread waits
 * for nobody. Not for ever, some 0.2 s: after fork(2) none of them runs.
 */
static void tokens_clear(struct roost_channel *ch)
{
	const struct timespec nap = { .tv_nsec = 100000 };

	for (int i = 0; i < 1000 && atomic_load(&ch->nb_tokens) > 0; i++) {
		if (tokens_remove(ch))
			continue;
		if (i < 100)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

/* Under the lock, after events or tokens were taken: the fd is readable if an
 * event waits, and only then.
 */
static void settle(struct roost_channel *ch)
{
	/* Pairs with roost_event_raise(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (ch->ended)
		return;
	if (roost_ring_is_empty(ch->ring))
		tokens_clear(ch);
	/* An event may have come since, whose token was among them. */
	if (!roost_ring_is_empty(ch->ring) && atomic_load(&ch->nb_tokens) == 0)
		token_add(ch);
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
	uint64_t nb; /* tokens that were taken */
};

/* Cleanup of a reader that is cancelled, maybe after it took tokens: libraries
 * differ in whether a read(2) that has succeeded can still be cancelled. Then
 * another reader gets the event.
 */
static void put_back(void *arg)
{
	struct taking *t = arg;
	struct roost_channel *ch = t->channel;

	if (t->nb == 0)
		return;
	tokens_took(ch, t->nb);
	pthread_mutex_lock(&ch->lock);
	settle(ch);
	end_if_empty(ch, t->nb);
	pthread_mutex_unlock(&ch->lock);
}

/* Take all tokens; the flags of the fd say whether to wait. readv(), because
 * lib/uncancelled.c leaves that one as it is.
 */
static int take_tokens(struct roost_channel *ch, uint64_t *nb)
{
	struct taking t = { .channel = ch };
	struct iovec iov = { .iov_base = &t.nb, .iov_len = sizeof(t.nb) };
	int ret;

	pthread_cleanup_push(put_back, &t);
	ret = readv(ch->fd, &iov, 1) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);
	tokens_took(ch, t.nb);
	*nb = t.nb;
	return ret;
}

/* nb_tokens: that the caller has taken. Returns 0; -EAGAIN: no event; -EIO. */
static int take_event(struct roost_channel *ch, uint64_t nb_tokens,
		      struct roost_event *event)
{
	struct entry entry;
	bool got, ended;

	pthread_mutex_lock(&ch->lock);
	got = dequeue(ch, &entry);
	if (got) {
		*event = (struct roost_event){
			.source = entry.source,
			.owner = entry.source->owner,
			.type = (uint32_t)entry.type,
			.arg = entry.source->arg,
		};
		entry.source->reported++;
		refill(ch);
	}
	settle(ch);
	ended = end_if_empty(ch, nb_tokens);
	pthread_mutex_unlock(&ch->lock);
	if (got)
		return 0;
	return ended ? -EIO : -EAGAIN;
}

bool roost_channel_has_event(const struct roost_channel *channel)
{
	return !roost_ring_is_empty(channel->ring);
}

void roost_channel_read_next(struct roost_channel *channel)
{
	read_next = channel;
}

/* Cleanup of a thread that is cancelled before it reads: the events that it
 * raised have no token.
 */
static void leave_to_others(void *arg)
{
	struct roost_channel *ch = arg;

	pthread_mutex_lock(&ch->lock);
	settle(ch);
	pthread_mutex_unlock(&ch->lock);
}

static void be_cancelled(struct roost_channel *ch)
{
	pthread_cleanup_push(leave_to_others, ch);
	pthread_testcancel();
	pthread_cleanup_pop(0);
}

/* An event that waits costs no read of the fd, unless it is the last one. */
int roost_channel_read(struct roost_channel *channel, struct roost_event *event)
{
	int ret = -EAGAIN;
	uint64_t nb = 0;

	read_next = NULL;
	be_cancelled(channel);
	if (!roost_ring_is_empty(channel->ring))
		ret = take_event(channel, 0, event);
	/* Nothing in the ring: another reader was faster, or the event's object
	 * was destroyed.
	 */
	while (ret == -EAGAIN) {
		ret = take_tokens(channel, &nb);
		if (ret)
			return ret;
		ret = take_event(channel, nb, event);
	}
	return ret;
}

void roost_channel_hang_up(struct roost_channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	if (!channel->hung_up) {
		channel->hung_up = true;
		/* From here on, raising an event takes the lock. */
		atomic_fetch_add(&channel->nb_overflow, 1);
	}
	end_if_empty(channel, 0);
	pthread_mutex_unlock(&channel->lock);
}

unsigned int roost_channel_waiting(struct roost_channel *channel)
{
	const struct roost_event_source *source;
	unsigned int n;

	pthread_mutex_lock(&channel->lock);
	n = roost_ring_count(channel->ring);
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

/* An event was put into the ring; a reader that polls may have taken it. */
static void add_token_of_raised(struct roost_channel *ch)
{
	bool added;

	atomic_fetch_add(&ch->nb_tokens, 1);
	/* Pairs with settle(). */
	atomic_thread_fence(memory_order_seq_cst);
	added = !roost_ring_is_empty(ch->ring);
	if (added)
		token_write(ch);
	else
		tokens_took(ch, 1);
	/* Taken since, by a reader that may have waited in vain for the token;
	 * or there is another event, whose reader relies on this token.
	 */
	if (roost_ring_is_empty(ch->ring) != added)
		return;
	pthread_mutex_lock(&ch->lock);
	settle(ch);
	pthread_mutex_unlock(&ch->lock);
}

/*
 * Why no event is lost or told twice, whatever runs beside this:
 * - A token is added after an enqueue returned, and an enqueue returns when all
 *   entries before its own are visible, too. A reader that took tokens takes
 *   one event; if more wait, and no token is left, it adds one. So while an
 *   event waits, there is a token in the fd, or with a thread that comes here
 *   for the lock.
 * - No token is there without an event, where poll(2) would promise one to a
 *   program that has read the last: a thread counts its token, and looks then
 *   whether an event is there; a reader that took the last event looks then
 *   whether a token is counted, and waits until it can take it, or until the
 *   thread counts it no more. Both have a full barrier in between, so one of
 *   the two sees what the other did. A reader that was woken by the only token
 *   waits for nobody, also where it keeps the thread that wrote it from its
 *   processor.
 * - A reader that leaves an event behind may rely on a token that is counted.
 * If it is not added after all, its thread looks once more.
 * - An event that finds no room is counted under the lock, and the ring is
 *   filled up under the same lock by whoever counts one and by every reader.
 *   So events wait outside only while the ring is full, and the reader that
 *   makes it less than full fills it up.
 * - nb_overflow is read without the lock for the order of events alone: one
 *   that slips in before those that wait is early, and not lost.
 * - A thread that reads the channel next adds no token: its read does, if more
 *   events wait than the one that it takes.
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
		if (read_next == ch)
			return;
		add_token_of_raised(ch);
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
	unsigned int n = roost_ring_count(ch->ring);
	struct entry entry;

	overflow_clear(ch, source);
	/* Its events were read, as most are: the others stay where they are. */
	if (atomic_load(&source->in_ring) == 0)
		return;
	while (n-- > 0 && dequeue(ch, &entry))
		if (entry.source != source && !enqueue(ch, &entry))
			overflow_add(ch, &entry);
	refill(ch);
	settle(ch);
}

uint64_t roost_event_source_fini(struct roost_event_source *source)
{
	struct roost_channel *ch = source->channel;

	if (!ch)
		return 0;
	pthread_mutex_lock(&ch->lock);
	purge(ch, source);
	/* The last events may have been its own. */
	end_if_empty(ch, 0);
	source->finishing = true;
	while (source->acked < source->reported)
		pthread_cond_wait(&ch->acked, &ch->lock);
	source->channel = NULL;
	pthread_mutex_unlock(&ch->lock);
	return source->acked;
}
