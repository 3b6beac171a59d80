/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: outgoing frames of a worker, to its ports or looped back. No allocation,
 * system call, log or lock.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/sched/tap_priv.h"
#include "lib/engine/sched/worker_priv.h"
#include "lib/event/ring.h"

#define RAW_RING_LEN 1024u

/* A frame from another thread, sent unchanged. */
struct raw_frame {
	struct rte_mbuf *mbuf;
	uint32_t port_index;
	bool roce; /* counted as one */
	bool loopback;
};

int roost_tx_open(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	int ret = roost_ring_create("roost_raw", sizeof(struct raw_frame),
				    RAW_RING_LEN, RING_F_SC_DEQ, &s->raw);

	if (ret)
		return ret;
	for (unsigned int p = 0; p < ROOST_DEV_PORTS_MAX; p++)
		w->txq[p].len = ROOST_TXQ_LEN;
	w->txq[ROOST_TX_LOOPBACK].len = ROOST_LOOPBACK_LEN;
	for (unsigned int i = 0; i < ROOST_TX_QUEUES; i++) {
		w->txq[i].frames = s->txq[i].frames;
		w->txq[i].unsealed = s->txq[i].unsealed;
	}
	return 0;
}

void roost_tx_close(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct raw_frame raw;

	while (rte_ring_sc_dequeue_elem(s->raw, &raw, sizeof(raw)) == 0)
		rte_pktmbuf_free(raw.mbuf);
	for (unsigned int i = 0; i < ROOST_TX_QUEUES; i++)
		rte_pktmbuf_free_bulk(s->txq[i].frames, w->txq[i].count);
	free(s->raw);
}

/* ---- frames of QPs ----------------------------------------------------- */

/* Seal all frames at once: their latencies overlap, and the headers of most
 * of them were written long ago (lib/wire/frame.h).
 */
static void seal(struct roost_frame_queue *q, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rte_mbuf *frame = q->frames[i];

		if (q->unsealed[i].l3_off_bytes == 0)
			continue;
		roost_frame_seal_late(&q->unsealed[i],
				      rte_pktmbuf_mtod(frame, uint8_t *),
				      frame->pkt_len - ROOST_ICRC_LEN);
		q->unsealed[i] = (struct roost_unsealed){ 0 };
	}
}

/* Frames that the port has not taken come here again. The owner of the queue
 * shows those of workers without one.
 */
static __rte_noinline void sniff(struct roost_worker *w,
				 unsigned int port_index)
{
	struct rte_mbuf **frames = roost_sched_of(w)->txq[port_index].frames;
	struct roost_tx_fill *fill = &w->txq[port_index];
	unsigned int first =
		fill->sniffed < fill->count ? fill->sniffed : fill->count;

	if (w->index < w->dev->ports[port_index].frame_io.nb_queues)
		w->transport->sniff(w, port_index, frames + first,
				    fill->count - first);
	fill->sniffed = fill->count;
}

void roost_tx_flush(struct roost_worker *w, unsigned int port_index)
{
	struct roost_frame_queue *q = &roost_sched_of(w)->txq[port_index];
	struct roost_frame_io *io = &w->dev->ports[port_index].frame_io;
	uint16_t count = w->txq[port_index].count, sent;

	if (count == 0)
		return;
	seal(q, count);
	if (unlikely(w->tap != NULL))
		roost_tap_send(w, port_index, q->frames, count);
	if (unlikely(w->dev->ports[port_index].has_sniffers))
		sniff(w, port_index);
	sent = w->index < io->nb_queues
		       ? io->tx_burst(io->ctx, (uint16_t)w->index, q->frames,
				      count)
		       : roost_steer_lend(w, port_index, q->frames, count);
	count = (uint16_t)(count - sent);
	w->txq[port_index].count = count;
	w->txq[port_index].sniffed = count;
	memmove(q->frames, q->frames + sent, count * sizeof(q->frames[0]));
	if (count == 0 && w->index == 0 && roost_sched_of(w)->steer)
		roost_steer_sent(w, port_index);
}

bool roost_tx_stays_full(struct roost_worker *w, unsigned int queue)
{
	if (queue != ROOST_TX_LOOPBACK)
		roost_tx_flush(w, queue);
	return w->txq[queue].count == w->txq[queue].len;
}

/* A loopback copy of a frame. The frame is sealed before it is copied. */
static __rte_noinline void deliver_loopback(struct roost_worker *w,
					    const struct roost_path *path,
					    struct rte_mbuf *frame, bool sealed)
{
	struct roost_tx_fill *loopback = &w->txq[ROOST_TX_LOOPBACK];

	if (!sealed)
		roost_frame_seal(&path->template,
				 rte_pktmbuf_mtod(frame, uint8_t *),
				 frame->pkt_len - ROOST_ICRC_LEN);
	if (path->loopback) {
		w->counters.loopback_pkts++;
		frame->port = path->to_index;
	}
	/* QPs of this device that are in the group receive a copy, too. */
	if (path->multicast && loopback->count < loopback->len &&
	    roost_mcast_find(w->dev, path->port_index, &path->dgid)) {
		struct rte_mbuf *copy =
			rte_pktmbuf_copy(frame, w->dev->pool, 0, UINT32_MAX);

		if (copy) {
			copy->port = path->port_index;
			roost_sched_of(w)
				->txq[ROOST_TX_LOOPBACK]
				.frames[loopback->count++] = copy;
		}
	}
}

void roost_tx_queue(struct roost_worker *w, const struct roost_path *path,
		    struct rte_mbuf *frame, bool sealed)
{
	unsigned int queue = roost_path_queue(path);
	struct roost_frame_queue *q = &roost_sched_of(w)->txq[queue];
	struct roost_tx_fill *fill = &w->txq[queue];

	w->tx_left -= 1 + (frame->pkt_len >= ROOST_TX_LARGE_BYTES);
	w->counters.tx_pkts++;
	w->counters.tx_bytes += frame->pkt_len;
	frame->port = path->port_index;
	if (unlikely(path->loopback || path->multicast))
		deliver_loopback(w, path, frame, sealed);
	else if (!sealed)
		q->unsealed[fill->count] =
			roost_frame_unsealed(&path->template);
	q->frames[fill->count++] = frame;
}

/* ---- raw frames --------------------------------------------------------- */

static int enqueue_raw(struct roost_worker *w, struct raw_frame *raw)
{
	struct roost_sched *s = roost_sched_of(w);

	if (rte_ring_mp_enqueue_elem(s->raw, raw, sizeof(*raw)) == 0)
		return 0;
	rte_pktmbuf_free(raw->mbuf);
	return -ENOBUFS;
}

int roost_worker_send_frame(struct roost_worker *w, uint8_t port_num,
			    struct rte_mbuf *frame)
{
	struct raw_frame raw = {
		.mbuf = frame,
		.port_index = port_num - 1u,
	};

	return enqueue_raw(w, &raw);
}

unsigned int roost_worker_frames_waiting(const struct roost_worker *w)
{
	const struct roost_sched *s = roost_sched_of_const(w);

	return roost_ring_count(s->raw);
}

int roost_worker_send_roce(struct roost_worker *w, uint8_t port_num,
			   struct rte_mbuf *frame, bool loopback)
{
	struct raw_frame raw = {
		.mbuf = frame,
		.port_index = port_num - 1u,
		.roce = true,
		.loopback = loopback,
	};
	const struct roost_frame_io *io =
		&w->dev->ports[raw.port_index].frame_io;
	int ret = enqueue_raw(w, &raw);

	if (io->push)
		io->push(io->ctx, w->index);
	else if (io->kick)
		io->kick(io->ctx, w->index);
	return ret;
}

/* True if every queue has room for a frame. Otherwise frames wait in the ring;
 * when the ring is full, threads that add to it get -ENOBUFS.
 */
static bool raw_room(struct roost_worker *w)
{
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (!roost_tx_has_room(w, p))
			return false;
	return roost_tx_has_room(w, ROOST_TX_LOOPBACK);
}

static void queue_raw(struct roost_worker *w, const struct raw_frame *raw)
{
	unsigned int queue =
		raw->loopback ? ROOST_TX_LOOPBACK : raw->port_index;

	if (raw->roce) {
		w->counters.tx_pkts++;
		w->counters.tx_bytes += raw->mbuf->pkt_len;
		w->counters.loopback_pkts += raw->loopback;
	}
	raw->mbuf->port = (uint16_t)raw->port_index;
	roost_sched_of(w)->txq[queue].frames[w->txq[queue].count++] = raw->mbuf;
}

/* True if raw frames wait in this iteration. If a port did not take all frames
 * of the last iteration, frames come faster than it sends: then every other
 * iteration leaves the room to QPs.
 */
static bool stands_back(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	bool behind = false;

	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		behind |= w->txq[p].count != 0;
	s->raw_stood_back = behind && !s->raw_stood_back;
	return s->raw_stood_back;
}

unsigned int roost_tx_raw_frames(struct roost_worker *w)
{
	struct roost_sched *s = roost_sched_of(w);
	struct raw_frame raw;
	unsigned int n = 0;

	if (stands_back(w))
		return 0;
	while (n < ROOST_RAW_BUDGET && !roost_ring_is_empty(s->raw) &&
	       raw_room(w)) {
		if (rte_ring_sc_dequeue_elem(s->raw, &raw, sizeof(raw)) != 0)
			break;
		queue_raw(w, &raw);
		n++;
	}
	return n;
}
