/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/resp_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"

#define ACCESS_KNOWN                                                           \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |               \
	 ROOST_ACCESS_MW_BIND | ROOST_ACCESS_ZERO_BASED |                      \
	 ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_FLUSH_GLOBAL |                  \
	 ROOST_ACCESS_FLUSH_PERSISTENT)

static bool check_pkey(struct roost_dev *dev, uint8_t port_num, uint16_t index)
{
	uint16_t pkey;

	return roost_port_query_pkey(dev, port_num, index, &pkey) == 0 &&
	       !roost_pkey_is_empty(pkey);
}

static bool check_mtu(struct roost_dev *dev, uint8_t port_num,
		      enum roost_mtu mtu)
{
	struct roost_port_attr port;

	return mtu >= ROOST_MTU_256 && mtu <= ROOST_MTU_4096 &&
	       roost_port_query(dev, port_num, &port) == 0 &&
	       mtu <= port.active_mtu;
}

/* The port that the QP will be on when this modify is done. */
static uint8_t port_after(const struct roost_qp *qp,
			  const struct roost_qp_attr *a, uint32_t mask)
{
	if (mask & ROOST_QP_AV)
		return a->av.port_num;
	return mask & ROOST_QP_PORT ? a->port_num : qp->attr.port_num;
}

/* True if the QP could use the alternate path as it is (IBTA 17.2.8). */
static bool alt_valid(const struct roost_qp *qp, const struct roost_qp_attr *a,
		      uint32_t mask)
{
	enum roost_mtu mtu = mask & ROOST_QP_PATH_MTU
				     ? a->path_mtu
				     : (enum roost_mtu)qp->attr.path_mtu;

	return a->alt_port_num == a->alt_av.port_num && a->alt_timeout <= 31 &&
	       check_pkey(qp->dev, a->alt_port_num, a->alt_pkey_index) &&
	       check_mtu(qp->dev, a->alt_port_num, mtu);
}

/* True if the port exists, all members name the same port, and the QP can be on
 * it: a P_Key index belongs to a port.
 */
static bool port_valid(const struct roost_qp *qp, const struct roost_qp_attr *a,
		       uint32_t mask)
{
	const uint32_t both = ROOST_QP_PORT | ROOST_QP_AV;
	uint8_t port_num = port_after(qp, a, mask);
	bool moves = mask & both && port_num != qp->attr.port_num;

	if (mask & both && (port_num < 1 || port_num > qp->dev->nb_ports))
		return false;
	if ((mask & both) == both && a->port_num != a->av.port_num)
		return false;
	if ((moves || mask & ROOST_QP_PKEY_INDEX) &&
	    !check_pkey(qp->dev, port_num,
			mask & ROOST_QP_PKEY_INDEX ? a->pkey_index
						   : qp->attr.pkey_index))
		return false;
	if (mask & ROOST_QP_PATH_MTU)
		return check_mtu(qp->dev, port_num, a->path_mtu);
	return !moves || qp->attr.path_mtu == 0 ||
	       check_mtu(qp->dev, port_num, (enum roost_mtu)qp->attr.path_mtu);
}

/* Values, each in its range (IBTA 11.2.4.2). Holder of the turn: a migration
 * changes the port.
 */
static bool values_valid(const struct roost_qp *qp,
			 const struct roost_qp_attr *a, uint32_t mask)
{
	const struct roost_dev_limits *limits = roost_dev_limits(qp->dev);

	if (!port_valid(qp, a, mask))
		return false;
	if (mask & ROOST_QP_ALT_PATH && !alt_valid(qp, a, mask))
		return false;
	if (mask & ROOST_QP_ACCESS_FLAGS &&
	    (a->access & ~(uint32_t)ACCESS_KNOWN))
		return false;
	if (mask & ROOST_QP_DEST_QPN && a->dest_qpn > 0xffffff)
		return false;
	if (mask & ROOST_QP_MAX_QP_RD_ATOMIC &&
	    a->max_rd_atomic > limits->max_qp_rd_atom)
		return false;
	if (mask & ROOST_QP_MAX_DEST_RD_ATOMIC &&
	    a->max_dest_rd_atomic > limits->max_qp_rd_atom)
		return false;
	return !(mask & ROOST_QP_TIMEOUT && a->timeout > 31) &&
	       !(mask & ROOST_QP_RETRY_CNT && a->retry_cnt > 7) &&
	       !(mask & ROOST_QP_RNR_RETRY && a->rnr_retry > 7) &&
	       !(mask & ROOST_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31);
}

static void take_address(struct roost_qp_kept *to,
			 const struct roost_qp_attr *a, uint32_t mask)
{
	if (mask & ROOST_QP_PORT)
		to->port_num = a->port_num;
	if (mask & ROOST_QP_AV) {
		to->av = a->av;
		to->port_num = a->av.port_num;
	}
	if (mask & ROOST_QP_ALT_PATH) {
		to->alt_port_num = a->alt_port_num;
		to->alt_pkey_index = a->alt_pkey_index;
		to->alt_timeout = a->alt_timeout;
	}
}

static void take_limits(struct roost_qp_kept *to, const struct roost_qp_attr *a,
			uint32_t mask)
{
	if (mask & ROOST_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & ROOST_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & ROOST_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & ROOST_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & ROOST_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & ROOST_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
}

static void take_attributes(struct roost_qp *qp, const struct roost_qp_attr *a,
			    uint32_t mask)
{
	struct roost_qp_kept *to = &qp->attr;

	take_address(to, a, mask);
	take_limits(to, a, mask);
	if (mask & ROOST_QP_TIMEOUT)
		qp->req.timeout_ns = roost_req_timeout_ns(to->timeout);
	if (mask & ROOST_QP_RETRY_CNT)
		qp->req.retry_left = to->retry_cnt;
	if (mask & ROOST_QP_RNR_RETRY)
		qp->req.rnr_left = to->rnr_retry;
	if (mask & ROOST_QP_ACCESS_FLAGS)
		to->access = a->access;
	if (mask & ROOST_QP_QKEY)
		to->qkey = a->qkey;
	if (mask & ROOST_QP_RATE_LIMIT)
		to->rate_limit_kbps = a->rate_limit_kbps;
	if (mask & ROOST_QP_PKEY_INDEX)
		to->pkey_index = a->pkey_index;
	if (mask & (ROOST_QP_PKEY_INDEX | ROOST_QP_PORT | ROOST_QP_AV))
		qp->pkey =
			qp->dev->ports[to->port_num - 1].pkeys[to->pkey_index];
	if (mask & ROOST_QP_PATH_MTU) {
		to->path_mtu = (uint8_t)a->path_mtu;
		qp->mtu_bytes = roost_mtu_bytes(a->path_mtu);
	}
	if (mask & ROOST_QP_DEST_QPN)
		qp->dest_qpn = a->dest_qpn;
	roost_pace_set(qp);
}

/* Empty a queue without completing anything; what has completed is removed
 * afterwards.
 */
static void enter_reset(struct roost_worker *w, struct roost_qp *qp)
{
	qp->unclean = true;
	roost_worker_settle(w, qp);
	atomic_store(&qp->state, ROOST_QPS_RESET);
	roost_worker_unlink_qp(w, qp);
	roost_share_leave(w, qp);
	roost_qp_drop_ahs(qp);
	roost_queue_clear(&qp->sq);
	roost_queue_clear(&qp->rq);
	qp->drain_asked = false;
	qp->attr = (struct roost_qp_kept){ 0 };
	qp->dest_qpn = 0;
	roost_mig_reset(qp);
	roost_req_reset(qp, roost_psn(0));
	roost_resp_reset(qp, roost_psn(0));
}

/* The modify that starts draining decides whether SQ_DRAINED is raised. */
static void ask_for_drained(struct roost_qp *qp, const struct roost_qp_attr *a,
			    uint32_t mask)
{
	qp->drain_asked =
		mask & ROOST_QP_EN_SQD_ASYNC_NOTIFY && a->en_sqd_async_notify;
	qp->attr.en_sqd_async_notify = qp->drain_asked;
}

/* Actions on entering the new state. Holder of the turn. */
static void enter_state(struct roost_worker *w, struct roost_qp *qp,
			enum roost_qp_state from, enum roost_qp_state to,
			const struct roost_qp_attr *a, uint32_t mask)
{
	switch (to) {
	case ROOST_QPS_RESET:
		enter_reset(w, qp);
		if (from != to)
			roost_flight_state(qp, ROOST_QPE_MODIFIED);
		return;
	case ROOST_QPS_ERR:
		/* From now on the peer gets no data of this QP's memory. */
		if (roost_qp_state_get(qp) != ROOST_QPS_ERR) {
			roost_worker_settle(w, qp);
			roost_resp_silence(w, qp);
		}
		roost_qp_end(qp, ROOST_QPE_MODIFIED, -1);
		return;
	case ROOST_QPS_RTR:
		roost_qp_renew_mtu(qp);
		if (qp->type == ROOST_QPT_RAW)
			qp->path.port_index = (uint8_t)(qp->attr.port_num - 1);
		roost_resp_reset(qp, roost_psn(a->rq_psn));
		break;
	case ROOST_QPS_RTS:
		if (from == ROOST_QPS_RTR) {
			qp->attr.sq_psn = a->sq_psn;
			roost_req_reset(qp, roost_psn(a->sq_psn));
			roost_share_join(w, qp);
		}
		/* Requests that were posted in SQE are flushed, not executed in
		 * the new state.
		 */
		if (qp->flushing)
			roost_qp_flush(w, qp);
		qp->drain_asked = false;
		break;
	case ROOST_QPS_SQD:
		/* A modify from SQD to SQD does not withdraw the event. */
		if (from == ROOST_QPS_RTS)
			ask_for_drained(qp, a, mask);
		break;
	case ROOST_QPS_INIT:
	case ROOST_QPS_SQE:
	case ROOST_QPS_COUNT:
		break;
	}
	atomic_store_explicit(&qp->state, to, memory_order_release);
	if (from != to)
		roost_flight_state(qp, ROOST_QPE_MODIFIED);
	if (to == ROOST_QPS_RTS)
		roost_worker_want_send(w, qp);
	if (to == ROOST_QPS_SQD)
		roost_req_check_drained(w, qp);
}

/* True if the change is allowed in the present state. Holder of the turn. */
static bool is_allowed(const struct roost_qp *qp, enum roost_qp_state from,
		       enum roost_qp_state to, const struct roost_qp_attr *attr,
		       uint32_t mask)
{
	if (mask & ROOST_QP_CUR_STATE && attr->cur_state != from)
		return false;
	return roost_qp_modify_allowed(qp->type, from, to, mask) &&
	       values_valid(qp, attr, mask) &&
	       roost_mig_allowed(qp, to, attr, mask);
}

/* In SQD, a new port without an address vector: use the QP's present address
 * vector on that port. Returns the extended mask. Holder of the turn.
 */
static uint32_t add_av(const struct roost_qp *qp, enum roost_qp_state from,
		       struct roost_qp_attr *a, uint32_t mask)
{
	if (from != ROOST_QPS_SQD ||
	    (mask & (ROOST_QP_PORT | ROOST_QP_AV)) != ROOST_QP_PORT ||
	    a->port_num == qp->attr.port_num)
		return mask;
	a->av = qp->attr.av;
	a->av.port_num = a->port_num;
	return mask | ROOST_QP_AV;
}

/* Resources for the modify; after apply(), the QP's old ones, to be released.
 */
struct gear {
	struct roost_path primary;  /* if valid */
	struct roost_alt_path *alt; /* NULL: none */
	/* NULL: the present ring is large enough. */
	struct roost_resp_rd_atomic *rd_atomics;
};

static void release_gear(struct roost_dev *dev, struct gear *gear)
{
	if (gear->primary.valid)
		roost_path_release(dev, &gear->primary);
	roost_qp_alt_free(dev, gear->alt);
	free(gear->rd_atomics);
}

/* The AV as packets need it: with `ect`, switches may mark packets of QPs that
 * a CNP can slow down, unless the program says something of its own.
 */
static struct roost_av capable(const struct roost_qp *qp,
			       const struct roost_av *given)
{
	struct roost_av av = *given;
	struct roost_ecn ecn;

	if (qp->type != ROOST_QPT_UD && av.is_global &&
	    (av.traffic_class & ROOST_ECN_MASK) == 0 &&
	    roost_port_query_ecn(qp->dev, av.port_num, &ecn) == 0 &&
	    ecn.ect != 0)
		av.traffic_class |= ROOST_ECN_ECT0;
	return av;
}

/* May block. */
static int get_gear(const struct roost_qp *qp, const struct roost_qp_attr *attr,
		    uint32_t mask, struct gear *gear)
{
	uint32_t dest_qpn =
		mask & ROOST_QP_DEST_QPN ? attr->dest_qpn : qp->dest_qpn;
	struct roost_av av = capable(qp, &attr->av);
	int ret = 0;

	if (mask & ROOST_QP_AV)
		ret = roost_path_resolve(qp->dev, &av, qp->qpn, dest_qpn,
					 &gear->primary);
	av = capable(qp, &attr->alt_av);
	if (ret == 0 && mask & ROOST_QP_ALT_PATH) {
		gear->alt = calloc(1, sizeof(*gear->alt));
		ret = gear->alt ? roost_path_resolve(qp->dev, &av, qp->qpn,
						     dest_qpn, &gear->alt->path)
				: -ENOMEM;
	}
	if (ret == 0 && mask & ROOST_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > qp->resp.rd_atomic_room) {
		gear->rd_atomics = calloc(attr->max_dest_rd_atomic,
					  sizeof(gear->rd_atomics[0]));
		if (!gear->rd_atomics)
			ret = -ENOMEM;
	}
	if (ret)
		release_gear(qp->dev, gear);
	return ret;
}

/* The primary path is another one. */
static void move(struct roost_worker *w, struct roost_qp *qp, struct gear *gear)
{
	struct roost_path old = qp->path;

	roost_share_leave(w, qp);
	qp->path = gear->primary;
	gear->primary = old;
	roost_share_rejoin(w, qp);
}

/* Apply the change. The QP's old resources are left in *gear. Holder of the
 * turn.
 */
static void apply(struct roost_worker *w, struct roost_qp *qp,
		  enum roost_qp_state from, enum roost_qp_state to,
		  const struct roost_qp_attr *attr, uint32_t mask,
		  struct gear *gear)
{
	take_attributes(qp, attr, mask);
	if (gear->primary.valid)
		move(w, qp, gear);
	if (gear->alt) {
		struct roost_alt_path *old = qp->alt;

		gear->alt->av = attr->alt_av;
		qp->alt = gear->alt;
		gear->alt = old;
		roost_mig_loaded(qp);
	}
	enter_state(w, qp, from, to, attr, mask);
	if (mask & ROOST_QP_MAX_DEST_RD_ATOMIC)
		gear->rd_atomics =
			roost_rd_atomic_resize(qp, gear->rd_atomics,
					       attr->max_dest_rd_atomic);
	if (mask & ROOST_QP_PATH_MIG_STATE)
		roost_mig_request(w, qp, attr->path_mig_state);
	roost_worker_publish(w);
}

/*
 * After RESET no completion of the QP is left in its CQs. While another thread
 * is between poll_begin and poll_end of such a CQ, this function waits. It
 * releases modify_lock meanwhile, because that thread may be changing this QP
 * itself; then that one cleans the CQ that it polls. Under modify_lock.
 */
static void end_reset(struct roost_qp *qp)
{
	unsigned int tries = ROOST_SPIN_PAUSES;

	while (qp->unclean) {
		qp->unclean = !roost_qp_clean_cqs(qp);
		if (!qp->unclean)
			return;
		roost_spin_unlock(&qp->modify_lock);
		roost_spin_wait(tries++);
		roost_spin_lock(&qp->modify_lock);
	}
}

/* The device is gone: nothing can be brought to life. */
static bool is_lost(const struct roost_qp *qp, enum roost_qp_state to)
{
	return atomic_load(&qp->dev->failed) && to != ROOST_QPS_ERR &&
	       to != ROOST_QPS_RESET;
}

int roost_qp_modify(struct roost_qp *qp, const struct roost_qp_attr *given,
		    uint32_t mask)
{
	struct roost_qp_attr full = *given;
	const struct roost_qp_attr *attr = &full;
	struct roost_worker *w = qp->worker;
	struct gear gear = { .primary = { .valid = false } };
	enum roost_qp_state from, to, now;
	int ret = -EINVAL;
	bool allowed;

	roost_spin_lock(&qp->modify_lock);
	end_reset(qp);
	from = roost_qp_state_get(qp);
	to = mask & ROOST_QP_STATE ? attr->state : from;
	roost_worker_turn_take(w);
	mask = add_av(qp, from, &full, mask);
	allowed = is_allowed(qp, from, to, attr, mask);
	roost_worker_turn_leave(w);
	if (!allowed)
		goto unlock;
	ret = -EIO;
	if (is_lost(qp, to))
		goto unlock;
	ret = get_gear(qp, attr, mask, &gear);
	if (ret)
		goto unlock;
	roost_worker_turn_take(w);
	/* The worker may have moved it to ERR meanwhile, or to another path. */
	now = roost_qp_state_get(qp);
	if (is_lost(qp, to))
		ret = -EIO;
	else if ((now != from || !is_allowed(qp, from, to, attr, mask)) &&
		 to != ROOST_QPS_ERR && to != ROOST_QPS_RESET)
		ret = -EINVAL;
	else if (mask & ROOST_QP_RATE_LIMIT && attr->rate_limit_kbps != 0 &&
		 !roost_qp_pacer(qp))
		ret = -ENOMEM;
	else
		apply(w, qp, from, to, attr, mask, &gear);
	roost_worker_turn_leave(w);
	release_gear(qp->dev, &gear);
	end_reset(qp);
unlock:
	roost_spin_unlock(&qp->modify_lock);
	return ret;
}
