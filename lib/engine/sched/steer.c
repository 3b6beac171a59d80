/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot where there are several workers: no allocation, log or lock; a system
 * call only to wake a worker that sleeps.
 */

#include "lib/engine/sched/steer.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/mbuf.h"
#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/sched/tap_priv.h"
#include "lib/engine/sched/worker_priv.h"
#include "lib/event/ring.h"
#include "lib/wire/bytes.h"
#include "lib/wire/fields.h"

/* Frames that may wait for a worker that is off its processor for a while. */
#define FRAMES_LEN 2048u
#define LENT_LEN 1024u
/* From the BTH back to the destination port. */
#define UDP_DST_BEFORE_BTH 6u

struct roost_steer {
	/* For this worker's QPs, from the other workers. */
	struct rte_ring *frames;
	/* Frames of workers without a TX queue, and how many were ever lent and
	 * how many of them the port has; in the first worker only.
	 */
	struct rte_ring *lent[ROOST_DEV_PORTS_MAX];
	_Atomic uint32_t nb_lent[ROOST_DEV_PORTS_MAX];
	_Atomic uint32_t nb_sent[ROOST_DEV_PORTS_MAX];
	uint32_t nb_taken[ROOST_DEV_PORTS_MAX]; /* the first worker's own */
	/* nb_lent after this worker's last frame. */
	uint32_t last_lent[ROOST_DEV_PORTS_MAX];
	/* Frames by their worker, while a burst is sorted. */
	uint16_t nb_sorted[ROOST_DEV_WORKERS_MAX];
	struct rte_mbuf *sorted[ROOST_DEV_WORKERS_MAX][ROOST_RX_BURST];
};

/* ---- life ------------------------------------------------------------- */

static int ring_create(struct rte_ring **ring, unsigned int len)
{
	return roost_ring_create("roost_steer", sizeof(void *), len,
				 RING_F_SC_DEQ, ring);
}

static void ring_destroy(struct rte_ring *ring)
{
	void *mbuf = NULL;

	while (ring && rte_ring_sc_dequeue(ring, &mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	free(ring);
}

static int create(struct roost_worker *w)
{
	struct roost_sched *sched = roost_sched_of(w);
	const struct roost_dev *dev = w->dev;
	int ret;

	sched->steer = calloc(1, sizeof(*sched->steer));
	if (!sched->steer)
		return -ENOMEM;
	ret = ring_create(&sched->steer->frames, FRAMES_LEN);
	for (unsigned int p = 0; w->index == 0 && p < dev->nb_ports; p++)
		if (ret == 0 &&
		    dev->ports[p].frame_io.nb_queues < dev->nb_workers)
			ret = ring_create(&sched->steer->lent[p], LENT_LEN);
	return ret;
}

int roost_steer_create(struct roost_dev *dev)
{
	int ret = 0;

	for (unsigned int i = 0; ret == 0 && i < dev->nb_workers; i++)
		ret = create(dev->workers[i]);
	return ret;
}

void roost_steer_destroy(struct roost_worker *w)
{
	struct roost_sched *sched = roost_sched_of(w);

	if (!sched->steer)
		return;
	ring_destroy(sched->steer->frames);
	for (unsigned int p = 0; p < ROOST_DEV_PORTS_MAX; p++)
		ring_destroy(sched->steer->lent[p]);
	free(sched->steer);
	sched->steer = NULL;
}

static void kick(struct roost_dev *dev, unsigned int worker)
{
	const struct roost_frame_io *io = &dev->ports[0].frame_io;

	if (io->kick)
		io->kick(io->ctx, worker);
}

/* ---- sorting ---------------------------------------------------------- */

static uint32_t bit(const struct roost_worker *w)
{
	return 1u << w->index;
}

/* Workers with members of the group that the frame is for, as a bit set. */
static __rte_noinline uint32_t members(struct roost_dev *dev,
				       const struct rte_mbuf *mbuf)
{
	const uint32_t len_bytes =
		roost_is_in_place(mbuf) ? mbuf->pkt_len : mbuf->data_len;
	const struct roost_mcast_group *group;
	struct roost_frame frame;

	if (roost_frame_parse(rte_pktmbuf_mtod(mbuf, const void *), len_bytes,
			      &frame) != ROOST_FRAME_ROCE)
		return 0;
	group = roost_mcast_find(dev, mbuf->port & ROOST_PORT_MASK,
				 &frame.dgid);
	return !group ? 0 : group->workers;
}

/* Its destination QPN; 0: it is not RoCEv2. */
static uint32_t qpn_of(const struct rte_mbuf *mbuf)
{
	const uint8_t *bth =
		roost_frame_guess_bth(rte_pktmbuf_mtod(mbuf, const void *),
				      rte_pktmbuf_data_len(mbuf));

	if (!bth || roost_be16_get(bth - UDP_DST_BEFORE_BTH) != ROOST_UDP_PORT)
		return 0;
	return roost_bth_dest_qpn(bth);
}

/* Workers that the frame is for, as a bit set; none: this one. */
static uint32_t owners(struct roost_worker *w, uint32_t qpn,
		       const struct rte_mbuf *mbuf)
{
	const struct roost_qp *qp;
	uint32_t workers;

	if (unlikely(qpn == ROOST_MCAST_QPN)) {
		workers = members(w->dev, mbuf);
		return workers == 0 ? bit(w) : workers;
	}
	qp = roost_idmap_get(&w->dev->qps, qpn);
	return bit(!qp ? w : qp->worker);
}

/* Takes it. */
static void hand_over(struct roost_worker *w, uint32_t workers,
		      struct rte_mbuf *mbuf)
{
	struct roost_sched *sched = roost_sched_of(w);
	struct roost_steer *s = sched->steer;

	for (; workers != 0; workers &= workers - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(workers);

		s->sorted[i][s->nb_sorted[i]++] = mbuf;
	}
}

/* Frames that find a ring full are lost, as in an RX queue that overflows. */
static void send_over(struct roost_worker *w, uint32_t workers)
{
	struct roost_sched *sched = roost_sched_of(w);
	struct roost_steer *s = sched->steer;

	for (; workers != 0; workers &= workers - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(workers);
		unsigned int n = s->nb_sorted[i];
		unsigned int taken = rte_ring_mp_enqueue_burst(
			roost_sched_of(w->dev->workers[i])->steer->frames,
			(void *const *)s->sorted[i], n, NULL);

		w->counters.drops[ROOST_DROP_WORKER_BUSY] += n - taken;
		if (unlikely(w->tap != NULL))
			roost_tap_lose(w, s->sorted[i] + taken, n - taken,
				       ROOST_DROP_WORKER_BUSY);
		rte_pktmbuf_free_bulk(s->sorted[i] + taken, n - taken);
		s->nb_sorted[i] = 0;
		kick(w->dev, i);
	}
}

uint16_t roost_steer_burst(struct roost_worker *w, struct rte_mbuf **pkts,
			   uint16_t n)
{
	uint32_t own = bit(w), workers = own, all = 0, last_qpn = 0;
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint32_t qpn = qpn_of(pkts[i]);

		/* Frames of one QP mostly follow each other. */
		if (qpn != last_qpn || qpn == ROOST_MCAST_QPN)
			workers = owners(w, qpn, pkts[i]);
		last_qpn = qpn;
		if ((workers & (workers - 1)) != 0)
			rte_mbuf_refcnt_update(
				pkts[i],
				(int16_t)(__builtin_popcount(workers) - 1));
		hand_over(w, workers & ~own, pkts[i]);
		all |= workers & ~own;
		if (workers & own)
			pkts[kept++] = pkts[i];
	}
	send_over(w, all);
	return kept;
}

void roost_worker_pass(struct roost_worker *w, unsigned int to,
		       struct rte_mbuf *frame)
{
	struct roost_sched *s = roost_sched_of(w->dev->workers[to]);

	if (rte_ring_mp_enqueue(s->steer->frames, frame) != 0) {
		roost_worker_drop(w, ROOST_DROP_WORKER_BUSY);
		rte_pktmbuf_free(frame);
		return;
	}
	kick(w->dev, to);
}

static bool has_room(const struct roost_sched *s)
{
	const struct rte_ring *frames = s->steer->frames;

	return frames->capacity - roost_ring_count(frames) >= ROOST_RX_BURST;
}

bool roost_steer_has_room(const struct roost_worker *w)
{
	const struct roost_dev *dev = w->dev;

	for (unsigned int i = 0; i < dev->nb_workers; i++)
		if (i != w->index && !has_room(roost_sched_of(dev->workers[i])))
			return false;
	return true;
}

/* ---- taking ----------------------------------------------------------- */

static unsigned int take_lent(struct roost_worker *w, unsigned int port_index)
{
	struct roost_sched *sched = roost_sched_of(w);
	struct roost_frame_queue *q = &sched->txq[port_index];
	struct roost_tx_fill *fill = &w->txq[port_index];
	unsigned int n;

	if (!sched->steer->lent[port_index])
		return 0;
	n = rte_ring_sc_dequeue_burst(sched->steer->lent[port_index],
				      (void **)&q->frames[fill->count],
				      (unsigned int)(fill->len - fill->count),
				      NULL);
	fill->count = (uint16_t)(fill->count + n);
	sched->steer->nb_taken[port_index] += n;
	return n;
}

unsigned int roost_steer_receive(struct roost_worker *w)
{
	struct roost_sched *sched = roost_sched_of(w);
	struct rte_mbuf *pkts[ROOST_RX_BURST];
	unsigned int work, n;

	n = rte_ring_sc_dequeue_burst(sched->steer->frames, (void **)pkts,
				      ROOST_RX_BURST, NULL);
	work = n;
	if (unlikely(w->tap != NULL))
		roost_tap_receive_each(w, pkts, n);
	else
		w->transport->receive_each(w, pkts, n);
	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		work += take_lent(w, p);
	return work;
}

uint16_t roost_steer_lend(struct roost_worker *w, unsigned int port_index,
			  struct rte_mbuf **frames, uint16_t n)
{
	struct roost_steer *to = roost_sched_of(w->dev->workers[0])->steer;
	struct roost_steer *s = roost_sched_of(w)->steer;
	unsigned int taken;

	/* Before the frames are lent: nb_sent never overtakes it. */
	s->last_lent[port_index] =
		atomic_fetch_add(&to->nb_lent[port_index], n) + n;
	taken = rte_ring_mp_enqueue_burst(to->lent[port_index],
					  (void *const *)frames, n, NULL);
	if (taken < n)
		atomic_fetch_sub(&to->nb_lent[port_index], n - taken);
	kick(w->dev, 0);
	return (uint16_t)taken;
}

void roost_steer_sent(struct roost_worker *w, unsigned int port_index)
{
	struct roost_steer *s = roost_sched_of(w)->steer;

	atomic_store_explicit(&s->nb_sent[port_index], s->nb_taken[port_index],
			      memory_order_release);
}

bool roost_steer_is_lending(const struct roost_worker *w,
			    unsigned int port_index)
{
	const struct roost_sched *sched = roost_sched_of_const(w);
	const struct roost_steer *to =
		roost_sched_of(w->dev->workers[0])->steer;
	uint32_t sent = atomic_load_explicit(&to->nb_sent[port_index],
					     memory_order_acquire);

	/* The second: frames that found no room were counted, too. */
	return (int32_t)(sent - sched->steer->last_lent[port_index]) < 0 &&
	       sent != atomic_load(&to->nb_lent[port_index]);
}

bool roost_steer_has_work(const struct roost_worker *w)
{
	const struct roost_sched *sched = roost_sched_of_const(w);
	const struct roost_steer *s = sched->steer;

	for (unsigned int p = 0; p < w->dev->nb_ports; p++)
		if (s->lent[p] && !roost_ring_is_empty(s->lent[p]))
			return true;
	return !roost_ring_is_empty(s->frames);
}
