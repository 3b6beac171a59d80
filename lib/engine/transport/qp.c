/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/pace_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/core/srq_priv.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/core/wq_priv.h"

/* A send WQE has at least this room in spill for inline data, a bind, or the
 * SGEs of an atomic.
 */
#define SPILL_MIN_BYTES 64u
static_assert(SPILL_MIN_BYTES >= sizeof(struct roost_mw_bind_wqe),
	      "a bind is spilled");

static int create_queues(struct roost_qp *qp, struct roost_xrcd *xrcd)
{
	const struct roost_qp_cap *cap = &qp->cap;
	int ret;

	/* SGEs and binds lie there too. */
	qp->spill_bytes = RTE_ALIGN_CEIL(cap->max_inline_bytes, 8u);
	if (qp->max_tso_header_bytes != 0)
		qp->spill_bytes = RTE_MAX(
			qp->spill_bytes,
			RTE_ALIGN_CEIL(
				cap->max_send_sge * (uint32_t)sizeof(
							    struct roost_sge) +
					qp->max_tso_header_bytes,
				8u));
	ret = roost_queue_create(&qp->sq, &qp->dev->arena,
				 RTE_MAX(cap->max_send_wr, 1u),
				 sizeof(struct roost_send_wqe), qp->send_cq);
	if (ret == 0)
		ret = roost_queue_create(
			&qp->rq, &qp->dev->arena, RTE_MAX(cap->max_recv_wr, 1u),
			roost_recv_wqe_bytes(cap->max_recv_sge), qp->recv_cq);
	if (ret != 0 || (!qp->srq && qp->type != ROOST_QPT_XRC_TGT))
		return ret;
	/* The copy has room for a WQE of any SRQ that the QP may take from. */
	qp->taken =
		malloc(offsetof(struct roost_taken, wqe) +
		       roost_recv_wqe_bytes(
			       qp->srq ? qp->srq->max_sge
				       : roost_dev_limits(qp->dev)->max_sge));
	if (!qp->taken)
		return -ENOMEM;
	qp->taken->qp = qp;
	qp->taken->xrcd = xrcd;
	return 0;
}

static int create_hash(struct roost_qp *qp, const struct roost_qp_init *init)
{
	if (!init->ind_table)
		return 0;
	qp->hash = malloc(sizeof(*qp->hash));
	if (!qp->hash)
		return -ENOMEM;
	*qp->hash = init->hash;
	return 0;
}

static void free_memory(struct roost_qp *qp)
{
	struct roost_arena *arena = &qp->dev->arena;

	if (qp->ind_table)
		free(qp->hash);
	free(qp->resp.rd_atomics);
	free(qp->taken);
	roost_arena_free(arena, qp->spill, roost_qp_spill_size(qp));
	roost_queue_destroy(&qp->rq, arena);
	roost_queue_destroy(&qp->sq, arena);
	roost_arena_free(arena, qp, sizeof(*qp));
}

/* Round the requested capacities up to the sizes that the queues have anyway.
 */
static int check_cap(const struct roost_dev_limits *limits,
		     struct roost_qp_cap *cap)
{
	if (cap->max_send_wr > limits->max_qp_wr ||
	    cap->max_recv_wr > limits->max_qp_wr ||
	    cap->max_send_sge > limits->max_sge ||
	    cap->max_recv_sge > limits->max_sge ||
	    cap->max_inline_bytes > limits->max_inline_bytes)
		return -EINVAL;
	if (cap->max_send_wr > 0)
		cap->max_send_wr = rte_align32pow2(cap->max_send_wr);
	if (cap->max_recv_wr > 0)
		cap->max_recv_wr = rte_align32pow2(cap->max_recv_wr);
	cap->max_inline_bytes =
		RTE_MAX(RTE_MAX(cap->max_inline_bytes, SPILL_MIN_BYTES),
			cap->max_send_sge * (uint32_t)sizeof(struct roost_sge));
	return 0;
}

/* A table replaces the receive queue, and the send queue may be left out too.
 */
static int check_spread(struct roost_qp_init *init)
{
	const uint32_t known = init->type == ROOST_QPT_UD
				       ? ROOST_HASH_KNOWN & ~ROOST_HASH_TCP
				       : ROOST_HASH_KNOWN;

	if ((init->type != ROOST_QPT_UD && init->type != ROOST_QPT_RAW) ||
	    init->srq || init->recv_cq || init->cap.max_recv_wr != 0 ||
	    init->cap.max_recv_sge != 0 || init->hash.fields & ~known)
		return -EINVAL;
	return !init->send_cq && init->cap.max_send_wr != 0 ? -EINVAL : 0;
}

/* Which parts a QP of a type has. */
static int check_parts(struct roost_qp_init *init)
{
	bool target = init->type == ROOST_QPT_XRC_TGT;

	if ((unsigned int)init->type >= ROOST_QPT_COUNT)
		return -EOPNOTSUPP;
	if (target != (init->xrcd != NULL) ||
	    ((init->max_tso_header_bytes != 0 || init->store_flags != 0) &&
	     init->type != ROOST_QPT_RAW) ||
	    init->store_flags & ~ROOST_STORE_KNOWN ||
	    (init->store_flags != 0 && init->ind_table))
		return -EINVAL;
	if (init->ind_table)
		return check_spread(init);
	if (!target && !init->send_cq)
		return -EINVAL;
	if (init->type == ROOST_QPT_XRC_INI || target || init->srq) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
	}
	if (target) {
		init->cap.max_send_wr = 0;
		init->cap.max_send_sge = 0;
		return 0;
	}
	return !init->recv_cq && init->type != ROOST_QPT_XRC_INI ? -EINVAL : 0;
}

/* Check that every object belongs to the context of the QP. */
static int check_ctx(const struct roost_ctx *ctx, const struct roost_pd *pd,
		     const struct roost_qp_init *init)
{
	if ((pd && pd->ctx != ctx) ||
	    (init->send_cq && init->send_cq->ctx != ctx) ||
	    (init->recv_cq && init->recv_cq->ctx != ctx) ||
	    (init->srq && init->srq->pd->ctx != ctx) ||
	    (init->xrcd && init->xrcd->ctx != ctx) ||
	    (init->ind_table && init->ind_table->ctx != ctx))
		return -EINVAL;
	return 0;
}

static void hold(_Atomic uint32_t *refs)
{
	atomic_fetch_add(refs, 1);
}

static void put_ref(_Atomic uint32_t *refs)
{
	atomic_fetch_sub(refs, 1);
}

/* Add the QP to the users of its CQs, which an overrun needs. */
static void join_cqs(struct roost_qp *qp)
{
	struct roost_cq *cqs[] = { qp->send_cq, qp->recv_cq };

	pthread_mutex_lock(&qp->dev->users_lock);
	roost_worker_turn_take(qp->worker);
	if (qp->send_cq)
		LIST_INSERT_HEAD(&qp->send_cq->senders, qp, send_cq_link);
	if (qp->recv_cq)
		LIST_INSERT_HEAD(&qp->recv_cq->receivers, qp, recv_cq_link);
	roost_worker_turn_leave(qp->worker);
	for (unsigned int i = 0; i < RTE_DIM(cqs); i++) {
		if (!cqs[i])
			continue;
		hold(&cqs[i]->refs);
		roost_cq_join(cqs[i], qp->worker->index);
	}
	pthread_mutex_unlock(&qp->dev->users_lock);
}

/* Nothing completes any more. Under users_lock; holder of the turn. */
static void unlist_users(struct roost_qp *qp)
{
	if (qp->send_cq)
		LIST_REMOVE(qp, send_cq_link);
	if (qp->recv_cq)
		LIST_REMOVE(qp, recv_cq_link);
	qp->dying = true;
}

/* What follows, without the turn. */
static void leave_cqs(struct roost_qp *qp)
{
	struct roost_cq *cqs[] = { qp->send_cq, qp->recv_cq };

	for (unsigned int i = 0; i < RTE_DIM(cqs); i++) {
		if (!cqs[i])
			continue;
		roost_cq_leave(cqs[i], qp->worker->index);
		put_ref(&cqs[i]->refs);
	}
}

/* Choose the worker with the fewest QPs, and count the QP there. Receive queues
 * of a table belong to the first worker, and so do the QPs that fill them, and
 * raw packet QPs.
 */
static struct roost_worker *join_worker(struct roost_dev *dev,
					const struct roost_qp *qp)
{
	unsigned int best = 0;

	pthread_mutex_lock(&dev->all.lock);
	if (!qp->ind_table && qp->type != ROOST_QPT_RAW)
		for (unsigned int i = 1; i < dev->nb_workers; i++)
			if (dev->all.nb_qps[i] < dev->all.nb_qps[best])
				best = i;
	dev->all.nb_qps[best]++;
	pthread_mutex_unlock(&dev->all.lock);
	return dev->workers[best];
}

/* Under all.lock. */
static void leave_worker(struct roost_qp *qp)
{
	qp->dev->all.nb_qps[qp->worker->index]--;
}

static struct roost_qp *qp_alloc(struct roost_dev *dev, struct roost_pd *pd,
				 const struct roost_qp_init *init)
{
	struct roost_qp *q = roost_arena_alloc(&dev->arena, sizeof(*q));

	if (!q)
		return NULL;
	*q = (struct roost_qp){
		.type = (uint8_t)init->type,
		.sq_sig_all = init->sq_sig_all,
		.block_self_mcast = init->block_self_mcast,
		.dev = dev,
		.pd = pd,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.ind_table = init->ind_table,
		.max_tso_header_bytes = init->max_tso_header_bytes,
		.store_flags = init->store_flags,
		.cap = init->cap,
	};
	if (create_queues(q, init->xrcd) != 0 || create_hash(q, init) != 0) {
		free_memory(q);
		return NULL;
	}
	return q;
}

int roost_qp_create(struct roost_ctx *ctx, struct roost_pd *pd,
		    struct roost_qp_init *init, struct roost_qp **qp)
{
	struct roost_dev *dev = ctx->dev;
	struct roost_qp *q;
	int ret;

	ret = check_parts(init);
	if (ret == 0)
		ret = check_ctx(ctx, pd, init);
	if (ret == 0)
		ret = check_cap(roost_dev_limits(dev), &init->cap);
	if (ret)
		return ret;
	if (!pd && init->type != ROOST_QPT_XRC_TGT)
		return -EINVAL;
	if (init->type == ROOST_QPT_RAW && dev->ports[0].frame_io.roce_only)
		return -EOPNOTSUPP;
	q = qp_alloc(dev, pd, init);
	if (!q)
		return -ENOMEM;
	roost_event_source_init(&q->async, ctx->async, init->owner);
	q->worker = join_worker(dev, q);
	join_cqs(q);
	if (roost_idmap_add(&dev->qps, q, &q->qpn) != 0) {
		pthread_mutex_lock(&dev->users_lock);
		roost_worker_turn_take(q->worker);
		unlist_users(q);
		roost_worker_turn_leave(q->worker);
		leave_cqs(q);
		pthread_mutex_unlock(&dev->users_lock);
		pthread_mutex_lock(&dev->all.lock);
		leave_worker(q);
		pthread_mutex_unlock(&dev->all.lock);
		free_memory(q);
		return -ENOMEM;
	}
	pthread_mutex_lock(&dev->all.lock);
	LIST_INSERT_HEAD(&dev->all.qps, q, all_link);
	pthread_mutex_unlock(&dev->all.lock);
	hold(&ctx->refs);
	if (pd)
		hold(&pd->refs);
	if (q->srq)
		hold(&q->srq->refs);
	if (init->xrcd)
		hold(&init->xrcd->refs);
	if (q->ind_table)
		hold(&q->ind_table->refs);
	*qp = q;
	return 0;
}

/* Datagrams that were posted and never sent hold their AHs. */
void roost_qp_drop_ahs(struct roost_qp *qp)
{
	if (qp->type != ROOST_QPT_UD)
		return;
	for (uint32_t i = atomic_load(&qp->sq.tail);
	     i != atomic_load(&qp->sq.head); i++) {
		struct roost_send_wqe *wqe = roost_queue_at(&qp->sq, i);

		roost_ah_put(wqe->ud.ah);
	}
}

/* Groups and rules name the QP. */
static bool is_named(struct roost_qp *qp)
{
	struct roost_dev *dev = qp->dev;
	bool named = false;

	if (qp->type == ROOST_QPT_UD) {
		pthread_mutex_lock(&dev->mcast_lock);
		named = !LIST_EMPTY(&qp->mcasts);
		pthread_mutex_unlock(&dev->mcast_lock);
	} else if (qp->type == ROOST_QPT_RAW) {
		pthread_mutex_lock(&dev->flow_lock);
		named = qp->nb_flows != 0;
		pthread_mutex_unlock(&dev->flow_lock);
	}
	return named;
}

static struct roost_xrcd *xrcd_of(const struct roost_qp *qp)
{
	return qp->taken ? qp->taken->xrcd : NULL;
}

/* Take the QP out of the worker's hands. In RESET nothing completes any more,
 * and a doorbell that was rung has no effect.
 */
static void forget(struct roost_qp *qp)
{
	pthread_mutex_lock(&qp->dev->users_lock);
	roost_worker_turn_take(qp->worker);
	roost_worker_settle(qp->worker, qp);
	atomic_store(&qp->state, ROOST_QPS_RESET);
	roost_worker_forget_qp(qp->worker, qp);
	roost_slots_forget(&qp->worker->idle_slots, &qp->sq);
	roost_share_leave(qp->worker, qp);
	roost_resp_let_go(qp->worker, qp);
	roost_req_forget(qp->worker, qp);
	roost_req_let_go(qp->worker, qp);
	roost_recv_release(qp);
	roost_mig_reset(qp);
	unlist_users(qp);
	roost_qp_trouble_end(qp);
	roost_qp_pacer_end(qp);
	roost_worker_publish(qp->worker);
	roost_worker_turn_leave(qp->worker);
	pthread_mutex_unlock(&qp->dev->users_lock);
}

/* Take it out of all that finds it. */
static void unlink_qp(struct roost_qp *qp)
{
	unsigned int tries = ROOST_SPIN_PAUSES;
	struct roost_dev *dev = qp->dev;

	forget(qp);
	while (!roost_qp_clean_cqs(qp))
		roost_spin_wait(tries++);
	/* Its number is free when no completion has it any more. */
	roost_idmap_del(&dev->qps, qp->qpn);
	pthread_mutex_lock(&dev->users_lock);
	leave_cqs(qp);
	pthread_mutex_unlock(&dev->users_lock);
	/* Another worker may have looked it up to see whose a frame is. */
	roost_async_pass(dev);
}

int roost_qp_destroy(struct roost_qp *qp, uint64_t *async_acked)
{
	struct roost_xrcd *xrcd = xrcd_of(qp);
	struct roost_ctx *ctx = xrcd ? xrcd->ctx : qp->pd->ctx;
	struct roost_dev *dev = qp->dev;
	uint64_t acked;

	if (is_named(qp))
		return -EBUSY;
	unlink_qp(qp);
	acked = roost_event_source_fini(&qp->async);
	pthread_mutex_lock(&dev->all.lock);
	LIST_REMOVE(qp, all_link);
	leave_worker(qp);
	pthread_mutex_unlock(&dev->all.lock);
	if (async_acked)
		*async_acked = acked;
	roost_qp_drop_ahs(qp);
	roost_path_release(dev, &qp->path);
	roost_qp_alt_free(dev, qp->alt);
	if (qp->srq)
		put_ref(&qp->srq->refs);
	if (xrcd)
		put_ref(&xrcd->refs);
	if (qp->ind_table)
		put_ref(&qp->ind_table->refs);
	if (qp->pd)
		put_ref(&qp->pd->refs);
	if (!roost_queue_slots(&qp->sq))
		roost_slots_take(&qp->worker->idle_slots, &qp->sq);
	free_memory(qp);
	/* Last: another thread may close the context then, and the device,
	 * whose the memory was.
	 */
	put_ref(&ctx->refs);
	return 0;
}

uint32_t roost_qp_num(const struct roost_qp *qp)
{
	return qp->qpn;
}

unsigned int roost_qp_worker(const struct roost_qp *qp)
{
	return qp->worker->index;
}

enum roost_qp_state roost_qp_state(const struct roost_qp *qp)
{
	return roost_qp_state_get(qp);
}

struct roost_event_source *roost_qp_async_source(struct roost_qp *qp)
{
	return &qp->async;
}

/* Holder of the turn. */
static void attr_of(const struct roost_qp *qp, struct roost_qp_attr *attr)
{
	const struct roost_qp_kept *kept = &qp->attr;
	const enum roost_qp_state state = roost_qp_state_get(qp);

	*attr = (struct roost_qp_attr){
		.access = kept->access,
		.rate_limit_kbps = kept->rate_limit_kbps,
		.qkey = kept->qkey,
		.max_rd_atomic = kept->max_rd_atomic,
		.max_dest_rd_atomic = kept->max_dest_rd_atomic,
		.min_rnr_timer = kept->min_rnr_timer,
		.port_num = kept->port_num,
		.timeout = kept->timeout,
		.retry_cnt = kept->retry_cnt,
		.rnr_retry = kept->rnr_retry,
		.en_sqd_async_notify = kept->en_sqd_async_notify,
		.sq_draining =
			state == ROOST_QPS_SQD && roost_req_is_draining(qp),
		.alt_port_num = kept->alt_port_num,
		.alt_timeout = kept->alt_timeout,
		.state = state,
		.cur_state = state,
		.path_mtu = (enum roost_mtu)kept->path_mtu,
		.path_mig_state = (enum roost_mig_state)qp->mig.state,
		.rq_psn = qp->resp.expected_psn.v,
		.sq_psn = qp->req.next_psn.v,
		.dest_qpn = qp->dest_qpn,
		.cap = qp->cap,
		.av = kept->av,
		.pkey_index = kept->pkey_index,
		.alt_pkey_index = kept->alt_pkey_index,
	};
	if (qp->mig.alt == ROOST_ALT_LOADED)
		attr->alt_av = qp->alt->av;
}

void roost_qp_query(struct roost_qp *qp, struct roost_qp_attr *attr,
		    struct roost_qp_init *init)
{
	roost_spin_lock(&qp->modify_lock);
	roost_worker_turn_take(qp->worker);
	attr_of(qp, attr);
	roost_worker_turn_leave(qp->worker);
	roost_spin_unlock(&qp->modify_lock);
	*init = (struct roost_qp_init){
		.type = (enum roost_qp_type)qp->type,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.xrcd = xrcd_of(qp),
		.ind_table = qp->ind_table,
		.hash = qp->ind_table ? *qp->hash : (struct roost_hash){ 0 },
		.cap = qp->cap,
		.sq_sig_all = qp->sq_sig_all,
		.block_self_mcast = qp->block_self_mcast,
		.max_tso_header_bytes = qp->max_tso_header_bytes,
		.store_flags = qp->store_flags,
		.owner = qp->async.owner,
	};
}
