/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: picking and completing. No allocation, system call (but for an event),
 * log or lock.
 */

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_thash.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"
#include "lib/wire/bytes.h"

/* Two IPv6 addresses and two ports, in words of 32 bits. */
#define HASH_WORDS_MAX 9u

#define FROM(state) (1u << ROOST_WQS_##state)

static const uint8_t allowed_from[ROOST_WQS_COUNT] = {
	[ROOST_WQS_RESET] = FROM(RESET) | FROM(RDY) | FROM(ERR),
	[ROOST_WQS_RDY] = FROM(RESET) | FROM(RDY),
	[ROOST_WQS_ERR] = FROM(RESET) | FROM(RDY) | FROM(ERR),
};

/* As for a QP: its completions are removed when it makes none any more. */
static void clean(struct roost_wq *wq)
{
	unsigned int tries = ROOST_SPIN_PAUSES;

	/* The thread that polls may do it meanwhile. */
	while (atomic_load(&wq->unclean))
		if (roost_wq_clean_cq(wq))
			atomic_store(&wq->unclean, false);
		else
			roost_spin_wait(tries++);
}

/* ---- life ------------------------------------------------------------- */

int roost_wq_create(struct roost_pd *pd, struct roost_wq_init *init,
		    struct roost_wq **wq)
{
	struct roost_dev *dev = pd->ctx->dev;
	const struct roost_dev_limits *limits = roost_dev_limits(dev);
	struct roost_wq *q;

	if (!init->cq || init->cq->ctx != pd->ctx || init->max_wr == 0 ||
	    init->max_wr > limits->max_qp_wr ||
	    init->max_sge > limits->max_sge ||
	    init->store_flags & ~ROOST_STORE_KNOWN)
		return -EINVAL;
	q = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*q), 64u));
	if (!q)
		return -ENOMEM;
	init->max_wr = rte_align32pow2(init->max_wr);
	*q = (struct roost_wq){
		.pd = pd,
		.worker = dev->workers[0],
		.cq = init->cq,
		.max_wr = init->max_wr,
		.max_sge = init->max_sge,
		.store_flags = init->store_flags,
	};
	if (roost_queue_create(&q->queue, NULL, q->max_wr,
			       roost_recv_wqe_bytes(q->max_sge), q->cq) != 0 ||
	    roost_idmap_add(&dev->wqs, q, &q->num) != 0) {
		roost_queue_destroy(&q->queue, NULL);
		free(q);
		return -ENOMEM;
	}
	roost_event_source_init(&q->async, pd->ctx->async, init->owner);
	atomic_fetch_add(&pd->refs, 1);
	atomic_fetch_add(&q->cq->refs, 1);
	pthread_mutex_lock(&dev->users_lock);
	roost_worker_turn_take(q->worker);
	LIST_INSERT_HEAD(&q->cq->wqs, q, cq_link);
	roost_worker_turn_leave(q->worker);
	roost_cq_join(q->cq, q->worker->index);
	pthread_mutex_unlock(&dev->users_lock);
	*wq = q;
	return 0;
}

int roost_wq_destroy(struct roost_wq *wq, uint64_t *async_acked)
{
	struct roost_dev *dev = wq->pd->ctx->dev;
	uint64_t acked;

	if (atomic_load(&wq->refs) != 0)
		return -EBUSY;
	pthread_mutex_lock(&dev->users_lock);
	roost_worker_turn_take(wq->worker);
	atomic_store(&wq->unclean, true);
	atomic_store(&wq->state, ROOST_WQS_RESET);
	LIST_REMOVE(wq, cq_link);
	roost_worker_publish(wq->worker);
	roost_worker_turn_leave(wq->worker);
	pthread_mutex_unlock(&dev->users_lock);
	clean(wq);
	pthread_mutex_lock(&dev->users_lock);
	roost_cq_leave(wq->cq, wq->worker->index);
	pthread_mutex_unlock(&dev->users_lock);
	atomic_fetch_sub(&wq->cq->refs, 1);
	roost_async_pass(dev);
	acked = roost_event_source_fini(&wq->async);
	if (async_acked)
		*async_acked = acked;
	roost_idmap_del(&dev->wqs, wq->num);
	atomic_fetch_sub(&wq->pd->refs, 1);
	roost_queue_destroy(&wq->queue, NULL);
	free(wq);
	return 0;
}

uint32_t roost_wq_num(const struct roost_wq *wq)
{
	return wq->num;
}

enum roost_wq_state roost_wq_state(const struct roost_wq *wq)
{
	return (enum roost_wq_state)atomic_load(&wq->state);
}

struct roost_event_source *roost_wq_async_source(struct roost_wq *wq)
{
	return &wq->async;
}

/* ---- states ----------------------------------------------------------- */

static uint32_t tail_of(const struct roost_wq *wq)
{
	return atomic_load_explicit(&wq->queue.tail, memory_order_relaxed);
}

static void flush(struct roost_worker *w, struct roost_wq *wq)
{
	uint32_t head =
		atomic_load_explicit(&wq->queue.head, memory_order_acquire);

	while (tail_of(wq) != head) {
		struct roost_cqe cqe = {
			.status = ROOST_WC_WR_FLUSH_ERR,
			.vendor_err = wq->error,
			.solicited = true,
		};

		roost_wq_complete(w, wq, &cqe);
	}
}

static void to_err(struct roost_worker *w, struct roost_wq *wq,
		   enum roost_qp_error_code code)
{
	wq->error = (uint8_t)code;
	atomic_store(&wq->state, ROOST_WQS_ERR);
	/* For roost_wq_recv_end(). */
	roost_queue_wait(&wq->queue);
	flush(w, wq);
}

void roost_wq_fail(struct roost_worker *w, struct roost_wq *wq,
		   enum roost_qp_error_code code)
{
	if (roost_wq_state(wq) == ROOST_WQS_ERR)
		return;
	to_err(w, wq, code);
	roost_async_raise(w, &wq->async, ROOST_EVENT_WQ_FATAL);
}

static void to_reset(struct roost_wq *wq)
{
	atomic_store(&wq->unclean, true);
	atomic_store(&wq->state, ROOST_WQS_RESET);
	roost_queue_clear(&wq->queue);
}

int roost_wq_modify(struct roost_wq *wq, enum roost_wq_state to)
{
	struct roost_worker *w = wq->worker;
	int ret = 0;

	if ((unsigned int)to >= ROOST_WQS_COUNT)
		return -EINVAL;
	clean(wq);
	roost_worker_turn_take(w);
	if (!(allowed_from[to] & 1u << roost_wq_state(wq)))
		ret = -EINVAL;
	else if (to == ROOST_WQS_RESET)
		to_reset(wq);
	else if (to == ROOST_WQS_ERR)
		to_err(w, wq, ROOST_QPE_MODIFIED);
	else
		atomic_store(&wq->state, to);
	roost_worker_publish(w);
	roost_worker_turn_leave(w);
	clean(wq);
	return ret;
}

int roost_wq_set_store_flags(struct roost_wq *wq, uint8_t flags, uint8_t mask)
{
	if ((flags | mask) & ~ROOST_STORE_KNOWN)
		return -EINVAL;
	roost_worker_turn_take(wq->worker);
	wq->store_flags = (uint8_t)((wq->store_flags & ~mask) | (flags & mask));
	roost_worker_turn_leave(wq->worker);
	return 0;
}

/* ---- posting ---------------------------------------------------------- */

void roost_wq_recv_begin(struct roost_wq *wq)
{
	roost_queue_begin(&wq->queue);
}

int roost_wq_recv_add(struct roost_wq *wq, const struct roost_recv_wr *wr)
{
	if (roost_wq_state(wq) == ROOST_WQS_RESET)
		return -EINVAL;
	return roost_queue_add_recv(&wq->queue, wq->max_wr, wq->max_sge, wr);
}

void roost_wq_recv_end(struct roost_wq *wq)
{
	struct roost_worker *w = wq->worker;
	/* Read while the queue is locked: either the flush of to_err() sees the
	 * new requests, or this thread sees state ERR.
	 */
	bool in_err = roost_wq_state(wq) == ROOST_WQS_ERR;

	roost_queue_end(&wq->queue);
	if (!in_err)
		return;
	roost_worker_turn_take(w);
	if (roost_wq_state(wq) == ROOST_WQS_ERR)
		flush(w, wq);
	roost_worker_publish(w);
	roost_worker_turn_leave(w);
}

/* ---- receiving -------------------------------------------------------- */

const struct roost_recv_wqe *roost_wq_wqe(const struct roost_wq *wq)
{
	uint32_t head =
		atomic_load_explicit(&wq->queue.head, memory_order_acquire);

	if (roost_wq_state(wq) != ROOST_WQS_RDY || tail_of(wq) == head)
		return NULL;
	return roost_queue_at(&wq->queue, tail_of(wq));
}

void roost_wq_complete(struct roost_worker *w, struct roost_wq *wq,
		       struct roost_cqe *cqe)
{
	const struct roost_recv_wqe *wqe =
		roost_queue_at(&wq->queue, tail_of(wq));

	cqe->wr_id = wqe->wr_id;
	cqe->qpn = wq->num;
	cqe->of_wq = true;
	cqe->opcode = ROOST_WC_RECV;
	roost_queue_done(&wq->queue, tail_of(wq),
			 roost_cq_push(w, wq->cq, cqe));
	atomic_store_explicit(&wq->queue.tail, tail_of(wq) + 1,
			      memory_order_release);
}

/* ---- tables ----------------------------------------------------------- */

int roost_ind_table_create(struct roost_ctx *ctx, struct roost_wq *const *wqs,
			   uint32_t log_size, struct roost_ind_table **table)
{
	struct roost_ind_table *t;
	uint32_t size;

	if (log_size > ROOST_IND_TABLE_LOG_MAX)
		return -EINVAL;
	size = 1u << log_size;
	for (uint32_t i = 0; i < size; i++)
		if (wqs[i]->pd->ctx != ctx)
			return -EINVAL;
	t = calloc(1, sizeof(*t) + size * sizeof(t->wqs[0]));
	if (!t)
		return -ENOMEM;
	t->ctx = ctx;
	t->mask = size - 1;
	for (uint32_t i = 0; i < size; i++) {
		t->wqs[i] = wqs[i];
		atomic_fetch_add(&wqs[i]->refs, 1);
	}
	atomic_fetch_add(&ctx->refs, 1);
	*table = t;
	return 0;
}

int roost_ind_table_destroy(struct roost_ind_table *table)
{
	if (atomic_load(&table->refs) != 0)
		return -EBUSY;
	for (uint32_t i = 0; i <= table->mask; i++)
		atomic_fetch_sub(&table->wqs[i]->refs, 1);
	atomic_fetch_sub(&table->ctx->refs, 1);
	free(table);
	return 0;
}

static unsigned int add_address(uint32_t *words, const uint8_t *ip,
				uint8_t ip_version)
{
	const unsigned int n = ip_version == 6 ? 4 : 1;

	for (unsigned int i = 0; i < n; i++)
		words[i] = roost_be32_get(ip + 4 * i);
	return n;
}

/* For a frame of another IP version than the hashed fields no address is
 * hashed, and no port for another protocol. A single port is the upper half of
 * the last word; the bits behind it are zeros, which do not change the hash.
 */
struct roost_wq *roost_ind_table_pick(const struct roost_ind_table *table,
				      const struct roost_hash *hash,
				      const struct roost_hashed *hashed)
{
	const uint8_t version = hashed->ip_version;
	const uint32_t fields = hash->fields;
	uint32_t src = 0, dst = 0, src_port = 0, dst_port = 0;
	uint32_t words[HASH_WORDS_MAX];
	unsigned int n = 0;

	if (version != 0) {
		src = version == 6 ? ROOST_HASH_SRC_IPV6 : ROOST_HASH_SRC_IPV4;
		dst = version == 6 ? ROOST_HASH_DST_IPV6 : ROOST_HASH_DST_IPV4;
	}
	if (hashed->l4 != 0) {
		src_port = hashed->l4 == IPPROTO_TCP ? ROOST_HASH_SRC_PORT_TCP
						     : ROOST_HASH_SRC_PORT_UDP;
		dst_port = hashed->l4 == IPPROTO_TCP ? ROOST_HASH_DST_PORT_TCP
						     : ROOST_HASH_DST_PORT_UDP;
	}
	if (fields & src)
		n += add_address(words + n, hashed->src_ip, version);
	if (fields & dst)
		n += add_address(words + n, hashed->dst_ip, version);
	if (fields & src_port && fields & dst_port)
		words[n++] =
			(uint32_t)hashed->src_port << 16 | hashed->dst_port;
	else if (fields & (src_port | dst_port))
		words[n++] = (uint32_t)(fields & src_port ? hashed->src_port
							  : hashed->dst_port)
			     << 16;
	return table->wqs[rte_softrss(words, n, hash->key) & table->mask];
}
