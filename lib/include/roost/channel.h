/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CHANNEL_H
#define ROOST_CHANNEL_H

/*
 * Channels: how a program reads events, async events and completion events.
 *
 * A channel is a ring of events and an eventfd that is readable while an event
 * waits. Blocking, O_NONBLOCK, EINTR, poll, select, epoll and io_uring
 * therefore are the kernel's own. Linux gives an eventfd no O_ASYNC: a program
 * that wants SIGIO has to poll in a thread of its own.
 *
 * No event is lost, and none is invented. The destroy of an object removes the
 * object's events that were not read; it then waits until those that were read
 * are acked (roost_event_ack).
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_channel;
struct roost_event_source;

struct roost_event {
	/* For roost_event_ack(). Valid until the event is acked; of a port's
	 * event, until the context is closed.
	 */
	struct roost_event_source *source;
	void *owner;   /* what the object was created with; of a port's event:
			* the struct roost_ctx */
	uint32_t type; /* of a CQ's completions: ROOST_EVENT_COMPLETION; on an
			* async channel: enum roost_async_event */
	uint32_t arg;  /* events of ports: the port's number; else 0 */
};

/*
 * Create a channel of completion events (roost_cq_create). An async channel
 * comes with its context (roost_ctx_async_channel).
 * capacity: size of the ring, a power of two; it holds one event less. Events
 * that find it full wait, and enter it when a reader makes room.
 * Returns 0, -EINVAL (capacity), -ENOMEM, -EMFILE/-ENFILE (no eventfd).
 * Thread: any.
 */
int roost_channel_create(unsigned int capacity, struct roost_channel **channel);

/* Destroy the channel. The caller has destroyed all CQs that use it, and no
 * thread reads it any more.
 */
void roost_channel_destroy(struct roost_channel *channel);

/* Returns the eventfd, which roost_channel_destroy() closes. The caller
 * may wait for POLLIN and set O_NONBLOCK; reading and writing are the
 * channel's.
 */
int roost_channel_fd(const struct roost_channel *channel);

/* Take one event; the flags of the fd say whether this call waits. Returns 0,
 * or -errno of read(2): -EAGAIN, -EINTR; -EIO: the device is gone and no event
 * is left. The event counts as reported from here on, until
 * roost_event_ack().
 * Thread: any number at once; each event goes to exactly one. This is a
 * cancellation point, and the only one in this file; a thread that is cancelled
 * here has taken no event.
 */
int roost_channel_read(struct roost_channel *channel,
		       struct roost_event *event);

/* Acknowledge n events of the source. Each event that was read is acked once,
 * before its object is destroyed: the destroy waits for it. Thread: any.
 */
void roost_event_ack(struct roost_event_source *source, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
