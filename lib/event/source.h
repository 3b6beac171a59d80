/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_SOURCE_H
#define ROOST_EVENT_SOURCE_H

/*
 * The side of a channel that raises events; roost/channel.h is the readers'.
 *
 * A channel is an rte_ring of events and an eventfd. A producer enqueues and
 * then adds one token; a reader takes one event, and the tokens with the last
 * one. So events that wait together are read without a system call for each.
 *
 * Invariant: while an event waits, a token is in the eventfd, or in the hands
 * of a thread that will look into the ring, and every reader that finds the
 * ring empty goes back to read(2). So no event is lost, and none is invented.
 * When no call is under way, the fd is readable if and only if an event waits.
 *
 * A source raises events for one object: a CQ, a QP, a port, ... Its owner
 * embeds one struct roost_event_source per kind of event in the object. The
 * source counts the events that wait, that were reported (read) and that were
 * acked. Destroying the object first removes the waiting events, tokens
 * included, then waits for the acks of the events that were read. The ring is
 * bounded and events are not: an event that finds the ring full is counted in
 * its source and enters the ring when a reader makes room.
 *
 * This code knows no verbs: the owner of a source gives type and arg their
 * meaning.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/channel.h>

/* An event's type is less. */
#define ROOST_EVENT_TYPES_MAX 20
/* Maximum of held events of one source; see roost_event_hold(). */
#define ROOST_EVENT_HELD_MAX 7

struct roost_event_source {
	struct roost_channel *channel; /* NULL: events go nowhere */
	void *owner;  /* given back to the reader, e.g. the ibv_qp */
	uint32_t arg; /* the same; 0, unless the owner sets it after init */
	/* All below, until held: under the channel's lock. */
	uint32_t overflow_count; /* sum of overflow[] */
	uint64_t reported;       /* events read */
	uint64_t acked;
	uint32_t overflow[ROOST_EVENT_TYPES_MAX]; /* wait for room, per type */
	TAILQ_ENTRY(roost_event_source) overflow_link; /* when count > 0 */
	bool finishing : 1;                            /* fini waits for acks */
	/* Types of the held events, oldest first. Writer: the owner of the
	 * batch.
	 */
	uint8_t held[ROOST_EVENT_HELD_MAX];
	uint8_t nb_held;
	uint8_t nb_due; /* of these: see roost_event_batch_close() */
	/* Events in the channel's ring, or about to be. Writer: any thread. */
	_Atomic uint32_t in_ring;
	TAILQ_ENTRY(roost_event_source) held_link; /* when nb_held > 0 */
};

/* Sources with events that readers may not see yet, in the order in which each
 * source's first event was held. Callers exclude each other: one thread at a
 * time uses a batch.
 */
TAILQ_HEAD(roost_event_batch, roost_event_source);

/* channel may be NULL: a source without a channel raises nothing. */
void roost_event_source_init(struct roost_event_source *source,
			     struct roost_channel *channel, void *owner);

/*
 * Raise one event. Never blocks on a reader, never fails, never loses.
 * Thread: any, worker included (one eventfd write).
 */
void roost_event_raise(struct roost_event_source *source, uint32_t type);

/* Does an event wait? Thread: any. */
bool roost_channel_has_event(const struct roost_channel *channel);

/*
 * The calling thread reads the channel next, whatever happens: the events that
 * it raises until then add no token, because this read sees to those that it
 * leaves.
 */
void roost_channel_read_next(struct roost_channel *channel);

/*
 * Hold one event back until its batch is raised. No allocation. A source has
 * its events in one batch at a time. If the source is in another batch already,
 * no thread may raise that batch during this call. When a source would exceed
 * ROOST_EVENT_HELD_MAX, its held events are raised early, so that none is lost.
 */
void roost_event_hold(struct roost_event_batch *batch,
		      struct roost_event_source *source, uint32_t type);
/* Raise all events of the batch; the batch is empty afterwards. */
void roost_event_batch_raise(struct roost_event_batch *batch);
/* The events that are in the batch now become due. mark, a source without
 * events, is in the batch behind them until they are raised; one at a time.
 */
void roost_event_batch_close(struct roost_event_batch *batch,
			     struct roost_event_source *mark);
/* Raise the due events of one source. Returns false, and takes the mark out,
 * when none is left. Events that were held later stay.
 */
bool roost_event_batch_raise_due(struct roost_event_batch *batch,
				 const struct roost_event_source *mark);

/*
 * The object that raises events here is gone. Waiting events can still be read.
 * After them every read returns -EIO, including reads that block already, and
 * poll(2) says POLLIN for good, with POLLERR if the kernel allows it
 * (lib/event/gone_fd.h). An event that is raised after this call can still be
 * read. The caller has made sure that no thread raises an event during the
 * call.
 */
void roost_channel_hang_up(struct roost_channel *channel);

/* ---- diagnostics -------------------------------------------------------- */

/* Number of events that wait to be read. Thread: any. */
unsigned int roost_channel_waiting(struct roost_channel *channel);

/* Counts of a source, as diagnostics show them: a destroy of the source's
 * object waits until unacked is 0.
 */
struct roost_event_counts {
	int fd;            /* of the source's channel; -1: none */
	uint64_t reported; /* events read, over all time */
	uint64_t unacked;  /* of the reported events */
	bool finishing;    /* the object is being destroyed, and waits */
};
/* Read the counts. The caller keeps the source alive. Thread: any. */
void roost_event_source_query(struct roost_event_source *source,
			      struct roost_event_counts *counts);

/* ---- the end of a source ------------------------------------------------ */

/* Count every event that was read so far as acked: no ack will come for it. */
void roost_event_source_abandon(struct roost_event_source *source);

/*
 * The object is being destroyed: remove its waiting events and their tokens,
 * then wait until all events that were read are acked. The caller has made sure
 * that no thread raises an event of this source any more, and that no batch
 * holds one. Returns the number of acks over all time. Thread: an application
 * thread; blocks.
 */
uint64_t roost_event_source_fini(struct roost_event_source *source);

#endif
