/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot for many QPs: no allocation but from the worker's store, no system call,
 * log or lock.
 */

#include <rte_common.h>
#include <rte_jhash.h>

#include "lib/engine/core/worker_base.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/share_priv.h"

/* In flight before anything is known of the path: a quarter of a queue of 1,024
 * packets.
 */
#define FIRST_PKTS 256u
#define MAX_PKTS 32768u
/* Not less in flight, where a window that nothing has limited becomes one that
 * does.
 */
#define USED_MIN_PKTS 16u
/* A QP's window comes back to this after a probe, also while QPs wait. */
#define RESTORED_PKTS 16
/* Others may take so much room before the QP's next burst. */
#define NEAR_PKTS 32
/* A QP's turn to ask for answers is over with so many. */
#define READ_TURN_PKTS 16u
/* The longest part of a READ, but of those that may have one request only. */
#define READ_PART_MAX_PKTS 128u
/* A round. */
#define ROUND_RTTS 4u
#define ROUND_MIN_NS 1000000u
#define ROUND_UNKNOWN_NS 10000000u

/* The probe timeout of a QP that does not know its round-trip time, and the
 * least one while QPs wait: a queue may grow meanwhile.
 */
#define PTO_RTTS 5u
#define PTO_MIN_NS 1000000u
/* Slow start ends when the round-trip time is so often the shortest one. */
#define QUEUE_RTTS 4u

/* States of a QP that may have sent. */
#define SENDING (1u << ROOST_QPS_RTS | 1u << ROOST_QPS_SQD)

/* ---- members ---------------------------------------------------------- */

static unsigned int bucket_of(const struct roost_share *share)
{
	uint32_t words[4];

	memcpy(words, share->dgid.b, sizeof(words));
	return rte_jhash_32b(words, 4,
			     (uint32_t)share->port_index << 8 | share->dscp) %
	       ROOST_SHARE_BUCKETS;
}

static struct roost_share *find(struct roost_worker *w,
				const struct roost_share *like)
{
	struct roost_share *share;

	LIST_FOREACH(share, &w->shares[bucket_of(like)], link)
		if (roost_gid_eq(&share->dgid, &like->dgid) &&
		    share->kind == like->kind &&
		    share->port_index == like->port_index &&
		    share->dscp == like->dscp)
			return share;
	return NULL;
}

static struct roost_share *make(struct roost_worker *w,
				const struct roost_share *like)
{
	struct roost_share *share = roost_share_get(&w->store);

	if (!share)
		return NULL;
	share->dgid = like->dgid;
	share->kind = like->kind;
	share->port_index = like->port_index;
	share->dscp = like->dscp;
	share->timer.kind = ROOST_TIMER_SHARE;
	w->dev->cc->reset(&share->cwnd, FIRST_PKTS, MAX_PKTS);
	TAILQ_INIT(&share->waiting);
	LIST_INSERT_HEAD(&w->shares[bucket_of(like)], share, link);
	return share;
}

static void join(struct roost_worker *w, struct roost_qp *qp,
		 const struct roost_share *like)
{
	struct roost_share_member *member = &qp->shares[like->kind];

	member->share = find(w, like);
	if (!member->share)
		member->share = make(w, like);
	if (member->share)
		member->share->nb_qps++;
}

void roost_share_join(struct roost_worker *w, struct roost_qp *qp)
{
	struct roost_share like = {
		.kind = ROOST_SHARE_READS,
		.port_index = qp->path.port_index,
		.dscp = qp->attr.av.traffic_class >> 2,
	};

	if (qp->shares[ROOST_SHARE_SENDS].share || !qp->path.valid ||
	    qp->path.loopback || !roost_qp_is_reliable(qp) ||
	    qp->type == ROOST_QPT_XRC_TGT)
		return;
	join(w, qp, &like);
	like.kind = ROOST_SHARE_SENDS;
	like.dgid = qp->path.dgid;
	join(w, qp, &like);
}

/* Of a READ that is asked for at once, however long it is, no more than the
 * window, and than a part of others.
 */
static uint32_t flight_of(const struct roost_share *share,
			  const struct roost_qp *qp)
{
	const struct roost_requester *req = &qp->req;
	int32_t pkts = (int32_t)qp->asked_pkts;
	uint32_t most = RTE_MAX(req->cwnd.pkts, READ_PART_MAX_PKTS);

	if (share->kind == ROOST_SHARE_SENDS) {
		pkts = roost_req_flight_pkts(req) - pkts;
		most = req->cwnd.pkts;
	}
	return RTE_MIN((uint32_t)RTE_MAX(pkts, 0), most);
}

static struct roost_share_member *member_of(const struct roost_share *share,
					    struct roost_qp *qp)
{
	return &qp->shares[share->kind];
}

/* What the QP has sent, or asked for, since it was counted. */
static uint32_t uncounted_pkts(const struct roost_share *share,
			       const struct roost_qp *qp)
{
	return flight_of(share, qp) - qp->shares[share->kind].pkts;
}

/* A turn in which nothing was sent is not over. */
static void begin_waiting(struct roost_share *share, struct roost_qp *qp)
{
	qp->waits_for = share;
	if (share->turn == qp && uncounted_pkts(share, qp) == 0)
		TAILQ_INSERT_HEAD(&share->waiting, qp, share_link);
	else
		TAILQ_INSERT_TAIL(&share->waiting, qp, share_link);
}

void roost_share_rejoin(struct roost_worker *w, struct roost_qp *qp)
{
	if (!(SENDING & 1u << roost_qp_state_get(qp)))
		return;
	roost_share_join(w, qp);
	/* It may have waited. */
	roost_worker_want_send(w, qp);
}

static void stop_waiting(struct roost_share *share, struct roost_qp *qp)
{
	if (qp->waits_for != share)
		return;
	qp->waits_for = NULL;
	TAILQ_REMOVE(&share->waiting, qp, share_link);
}

static bool is_limited(const struct roost_share *share)
{
	return !TAILQ_EMPTY(&share->waiting);
}

/* The first one that waits has its turn, if there is room. */
static void let_next(struct roost_worker *w, struct roost_share *share)
{
	struct roost_qp *qp = TAILQ_FIRST(&share->waiting);

	if (!qp || share->turn || share->flight_pkts >= share->cwnd.pkts)
		return;
	stop_waiting(share, qp);
	share->turn = qp;
	roost_worker_want_send(w, qp);
}

static void count(struct roost_share *share, struct roost_share_member *member,
		  uint32_t flight_pkts)
{
	if (member->round != share->round) {
		if (member->round + 1 == share->round)
			share->old_pkts -= member->pkts;
		else
			share->flight_pkts += member->pkts;
		member->round = share->round;
	}
	share->flight_pkts += flight_pkts - member->pkts;
	member->pkts = (uint16_t)flight_pkts;
}

static void leave(struct roost_worker *w, struct roost_qp *qp,
		  struct roost_share_member *member)
{
	struct roost_share *share = member->share;
	struct roost_qp *next;

	if (!share)
		return;
	count(share, member, 0);
	stop_waiting(share, qp);
	if (share->turn == qp)
		share->turn = NULL;
	member->share = NULL;
	if (--share->nb_qps == 0) {
		roost_timer_remove(&w->timers, &share->timer);
		LIST_REMOVE(share, link);
		roost_share_put(&w->store, share);
		return;
	}
	if (share->nb_qps >= ROOST_SHARE_MIN_QPS) {
		let_next(w, share);
		return;
	}
	share->turn = NULL;
	/* What nobody counts any more is out of date. */
	share->flight_pkts = 0;
	share->old_pkts = 0;
	share->round += 2;
	while ((next = TAILQ_FIRST(&share->waiting)) != NULL) {
		stop_waiting(share, next);
		roost_worker_want_send(w, next);
	}
}

void roost_share_leave(struct roost_worker *w, struct roost_qp *qp)
{
	for (unsigned int kind = 0; kind < ROOST_SHARE_KINDS; kind++)
		leave(w, qp, &qp->shares[kind]);
}

/* ---- room ------------------------------------------------------------- */

static void new_round(struct roost_worker *w, struct roost_share *share)
{
	uint64_t len_ns = ROUND_UNKNOWN_NS;

	if (share->srtt_ns != 0)
		len_ns = RTE_MAX(ROUND_RTTS * (uint64_t)share->srtt_ns,
				 (uint64_t)ROUND_MIN_NS);
	if (w->now_ns >= share->round_at_ns) {
		share->flight_pkts -= share->old_pkts;
		share->old_pkts = share->flight_pkts;
		share->round++;
		share->round_at_ns = w->now_ns + len_ns;
	}
}

/* Packets that the QP may send; not positive: none. */
static int32_t room_pkts(const struct roost_share *share,
			 const struct roost_qp *qp)
{
	return (int32_t)(share->cwnd.pkts - share->flight_pkts -
			 uncounted_pkts(share, qp));
}

uint32_t roost_share_room_of(const struct roost_qp *qp,
			     const struct roost_share *share)
{
	return (uint32_t)RTE_MAX(room_pkts(share, qp), 1);
}

bool roost_share_is_last(const struct roost_qp *qp,
			 const struct roost_share *share)
{
	return is_limited(share) || room_pkts(share, qp) <= NEAR_PKTS;
}

bool roost_share_reads_wait(const struct roost_qp *qp)
{
	const struct roost_share *share = roost_share_of(qp, ROOST_SHARE_READS);

	return share && is_limited(share);
}

/* A QP that has just begun, or waited for long, does not know how long answers
 * take now. Answers to READs come from other peers, too, which may be nearer.
 */
static void take_rtt(struct roost_requester *req,
		     const struct roost_share *share)
{
	if (req->pto_ns != 0 && is_limited(share))
		req->pto_ns = RTE_MAX(req->pto_ns, PTO_MIN_NS);
	if (share->srtt_ns == 0 || share->kind == ROOST_SHARE_READS ||
	    (req->pto_ns != 0 && share->srtt_ns <= req->srtt_ns))
		return;
	req->srtt_ns = share->srtt_ns;
	req->rttvar_ns = share->srtt_ns;
	req->rtt_last_ns = share->srtt_ns;
	req->rtt_min_ns = share->rtt_min_ns;
	req->pto_ns = RTE_MAX(PTO_RTTS * share->srtt_ns, PTO_MIN_NS);
}

static void give_rtt(struct roost_share *share,
		     const struct roost_requester *req)
{
	if (req->pto_ns == 0)
		return;
	if (share->srtt_ns == 0) {
		share->rtt_min_ns = req->rtt_min_ns;
		share->srtt_ns = req->srtt_ns;
		return;
	}
	share->rtt_min_ns = RTE_MIN(share->rtt_min_ns, req->rtt_min_ns);
	/* One slow program over there says little of the path. */
	share->srtt_ns = RTE_MIN(req->srtt_ns, 2 * share->srtt_ns);
}

/* A request of one packet may ask for many. */
static bool goes_on(const struct roost_share *share, const struct roost_qp *qp)
{
	return share->kind == ROOST_SHARE_SENDS ||
	       uncounted_pkts(share, qp) < READ_TURN_PKTS;
}

bool roost_share_wait(struct roost_worker *w, struct roost_qp *qp,
		      struct roost_share *share)
{
	take_rtt(&qp->req, share);
	if (!roost_psn_eq(qp->req.next_psn, qp->req.end_psn))
		return false;
	if (room_pkts(share, qp) > 0 &&
	    (!is_limited(share) || (share->turn == qp && goes_on(share, qp))))
		return false;
	new_round(w, share);
	if (!qp->waits_for)
		begin_waiting(share, qp);
	if (!roost_timer_is_set(&share->timer))
		roost_timer_set(&w->timers, &share->timer, share->round_at_ns);
	return true;
}

void roost_share_count_all(struct roost_worker *w, struct roost_qp *qp,
			   struct roost_share *share, bool done)
{
	count(share, member_of(share, qp), flight_of(share, qp));
	if (done && share->turn == qp)
		share->turn = NULL;
	let_next(w, share);
}

void roost_share_timer(struct roost_worker *w, struct roost_share *share)
{
	if (!is_limited(share))
		return;
	new_round(w, share);
	roost_timer_set(&w->timers, &share->timer, share->round_at_ns);
	let_next(w, share);
}

/* ---- windows ---------------------------------------------------------- */

/* For the common window, a QP that began when a queue stood before the port
 * learns from the others how long a round trip is without; see take_rtt().
 */
static uint32_t shortest_rtt_ns(const struct roost_share *share,
				const struct roost_requester *req)
{
	return share->srtt_ns == 0
		       ? req->rtt_min_ns
		       : RTE_MIN(req->rtt_min_ns, share->rtt_min_ns);
}

void roost_share_acked(struct roost_qp *qp, struct roost_share *share,
		       uint32_t acked_pkts)
{
	const struct roost_cc *cc = qp->dev->cc;
	struct roost_requester *req = &qp->req;
	uint32_t own_min_ns = req->rtt_min_ns;
	bool limited = is_limited(share);

	give_rtt(share, req);
	/* A queue stands on the path. */
	if (share->srtt_ns > QUEUE_RTTS * (uint64_t)share->rtt_min_ns &&
	    share->cwnd.pkts < share->cwnd.ssthresh_pkts)
		share->cwnd.ssthresh_pkts = share->cwnd.pkts;
	if (share->cwnd.pkts < MAX_PKTS) {
		req->rtt_min_ns = shortest_rtt_ns(share, req);
		cc->on_acked(&share->cwnd, req, acked_pkts, limited);
		req->rtt_min_ns = own_min_ns;
	}
	/* What a probe left comes back all the same. */
	if (req->cwnd.pkts < ROOST_CWND_MAX_PKTS)
		cc->on_acked(&req->cwnd, req, acked_pkts,
			     !limited ||
				     req->cwnd.pkts <
					     RTE_MIN(RESTORED_PKTS,
						     req->cwnd.ssthresh_pkts));
}

/* The share whose window a loss or mark of the QP reduces, or NULL. */
static struct roost_share *reduced_with(const struct roost_qp *qp,
					enum roost_share_kind kind)
{
	struct roost_share *share = roost_share_of(qp, kind);

	return share && (is_limited(share) ||
			 qp->req.cwnd.pkts <= ROOST_CWND_MIN_PKTS)
		       ? share
		       : NULL;
}

/* A window that nothing has limited becomes this before it is reduced: what is
 * used of it.
 */
static uint16_t used_pkts(const struct roost_share *share)
{
	uint32_t pkts = RTE_MAX(share->flight_pkts, USED_MIN_PKTS);

	if (is_limited(share))
		return share->cwnd.pkts;
	return (uint16_t)RTE_MIN(pkts, (uint32_t)share->cwnd.pkts);
}

void roost_window_lost(struct roost_qp *qp, enum roost_share_kind kind)
{
	const struct roost_cc *cc = qp->dev->cc;
	struct roost_requester *req = &qp->req;
	struct roost_share *share = reduced_with(qp, kind);
	uint32_t own_min_ns = req->rtt_min_ns;

	/* Once for all that were in flight: each QP notes its own losses. */
	if (share && share->cwnd.since_loss_pkts >= share->reduced_pkts) {
		share->reduced_pkts =
			RTE_MIN(share->flight_pkts, (uint32_t)UINT16_MAX);
		share->cwnd.pkts = used_pkts(share);
		req->rtt_min_ns = shortest_rtt_ns(share, req);
		cc->on_lost(&share->cwnd, req, share->flight_pkts);
		req->rtt_min_ns = own_min_ns;
	}
	cc->on_lost(&req->cwnd, req,
		    (uint32_t)roost_psn_diff(req->next_psn,
					     req->oldest_unacked_psn));
}

void roost_window_marked(struct roost_qp *qp, enum roost_share_kind kind)
{
	const struct roost_cc *cc = qp->dev->cc;
	struct roost_share *share = reduced_with(qp, kind);

	/* Not for each mark of the same packets: on_marked() asks again. */
	if (share && share->cwnd.since_mark_pkts >= used_pkts(share)) {
		share->cwnd.pkts = used_pkts(share);
		cc->on_marked(&share->cwnd);
	}
	cc->on_marked(&qp->req.cwnd);
}
