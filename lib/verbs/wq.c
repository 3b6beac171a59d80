/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Receive work queues, and the tables that spread the datagrams of a UD QP, or
 * the frames of a raw packet QP, over them.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

#define MODIFY_MASK                                                            \
	(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS)
#define IP4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IP6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)

static int post_wq_recv(struct ibv_wq *ibv, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct roost_wq *wq = roost_verbs_wq(ibv)->wq;
	int ret = 0;

	roost_wq_recv_begin(wq);
	for (; wr; wr = wr->next) {
		const struct roost_recv_wr r = {
			.wr_id = wr->wr_id,
			.sges = (const struct roost_sge *)wr->sg_list,
			.nb_sges = (uint32_t)wr->num_sge,
		};

		ret = roost_wq_recv_add(wq, &r);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	roost_wq_recv_end(wq);
	return roost_verbs_result(ret);
}

/* The others are for a bus, and for a queue in front of this one. */
static int map_flags(uint32_t flags, uint8_t *store_flags)
{
	*store_flags = 0;
	if (flags & IBV_WQ_FLAGS_CVLAN_STRIPPING)
		*store_flags |= ROOST_STORE_STRIP_CVLAN;
	if (flags & IBV_WQ_FLAGS_SCATTER_FCS)
		*store_flags |= ROOST_STORE_FCS;
	return flags & ~(uint32_t)(IBV_WQ_FLAGS_CVLAN_STRIPPING |
				   IBV_WQ_FLAGS_SCATTER_FCS)
		       ? -EOPNOTSUPP
		       : 0;
}

static int check_init(const struct ibv_context *context,
		      const struct ibv_wq_init_attr *attr)
{
	if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS)
		return -EOPNOTSUPP;
	if (attr->wq_type != IBV_WQT_RQ || !attr->pd ||
	    attr->pd->context != context || !attr->cq)
		return -EINVAL;
	return 0;
}

/* The caller, ibv_create_wq(), fills the rest of struct ibv_wq. */
struct ibv_wq *roost_verbs_create_wq(struct ibv_context *context,
				     struct ibv_wq_init_attr *attr)
{
	struct roost_wq_init init = {
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
	};
	struct roost_verbs_wq *wq;
	int ret;

	ret = check_init(context, attr);
	if (ret == 0 && attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS)
		ret = map_flags(attr->create_flags, &init.store_flags);
	if (ret)
		return roost_verbs_null(ret);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return roost_verbs_null(-ENOMEM);
	init.cq = roost_verbs_cq(attr->cq)->cq;
	init.owner = wq;
	ret = roost_wq_create(roost_verbs_pd(attr->pd)->pd, &init, &wq->wq);
	if (ret) {
		free(wq);
		return roost_verbs_null(ret);
	}
	wq->ibv.context = context;
	wq->ibv.pd = attr->pd;
	wq->ibv.cq = attr->cq;
	wq->ibv.wq_num = roost_wq_num(wq->wq);
	wq->ibv.handle = wq->ibv.wq_num;
	wq->ibv.state = IBV_WQS_RESET;
	wq->ibv.wq_type = IBV_WQT_RQ;
	wq->ibv.post_recv = post_wq_recv;
	attr->max_wr = init.max_wr;
	attr->max_sge = init.max_sge;
	roost_verbs_pd_hold(attr->pd);
	roost_verbs_object_add(context, ROOST_VERBS_WQ, &wq->ibv, &wq->object);
	return &wq->ibv;
}

/* As with mlx5, the tag alone can be changed. */
static int check_flags(const struct ibv_wq_attr *attr)
{
	if (!(attr->attr_mask & IBV_WQ_ATTR_FLAGS))
		return 0;
	return attr->flags_mask & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING
		       ? -EOPNOTSUPP
		       : 0;
}

static int change_flags(struct roost_wq *wq, const struct ibv_wq_attr *attr)
{
	uint8_t flags, mask;

	if (!(attr->attr_mask & IBV_WQ_ATTR_FLAGS))
		return 0;
	map_flags(attr->flags & attr->flags_mask, &flags);
	map_flags(attr->flags_mask, &mask);
	return roost_wq_set_store_flags(wq, flags, mask);
}

/* Without a state nothing changes. curr_wq_state is the state that the program
 * expects; if it is wrong, nothing changes.
 */
int roost_verbs_modify_wq(struct ibv_wq *ibv, struct ibv_wq_attr *attr)
{
	struct roost_wq *wq = roost_verbs_wq(ibv)->wq;
	enum ibv_wq_state now = roost_unmap_wq_state(roost_wq_state(wq));
	enum roost_wq_state to;
	int ret;

	ret = check_flags(attr);
	if (ret)
		return roost_verbs_result(ret);
	if (!attr->attr_mask || attr->attr_mask & ~(uint32_t)MODIFY_MASK)
		return roost_verbs_result(-EINVAL);
	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE &&
	    attr->curr_wq_state != now)
		return roost_verbs_result(-EINVAL);
	if (attr->attr_mask & IBV_WQ_ATTR_STATE) {
		ret = roost_map_wq_state(attr->wq_state, &to);
		if (ret == 0)
			ret = roost_wq_modify(wq, to);
		if (ret)
			return roost_verbs_result(ret);
		now = attr->wq_state;
	}
	ibv->state = now;
	return roost_verbs_result(change_flags(wq, attr));
}

int roost_verbs_destroy_wq(struct ibv_wq *ibv)
{
	struct roost_verbs_wq *wq = roost_verbs_wq(ibv);
	int ret;

	ret = roost_wq_destroy(wq->wq, NULL);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_pd_release(ibv->pd);
	roost_verbs_object_del(ibv->context, &wq->object);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(wq);
	return 0;
}

/* ---- tables -----------------------------------------------------------------
 */

static int make_table(struct roost_ctx *ctx,
		      const struct ibv_rwq_ind_table_init_attr *attr,
		      struct roost_ind_table **table)
{
	struct roost_wq **wqs;
	size_t size;
	int ret;

	if (attr->comp_mask)
		return -EOPNOTSUPP;
	if (attr->log_ind_tbl_size > ROOST_IND_TABLE_LOG_MAX)
		return -EINVAL;
	size = (size_t)1 << attr->log_ind_tbl_size;
	wqs = calloc(size, sizeof(wqs[0]));
	if (!wqs)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		wqs[i] = roost_verbs_wq(attr->ind_tbl[i])->wq;
	ret = roost_ind_table_create(ctx, wqs, attr->log_ind_tbl_size, table);
	free(wqs);
	return ret;
}

struct ibv_rwq_ind_table *
roost_verbs_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	struct roost_verbs_ind_table *table;
	int ret;

	table = calloc(1, sizeof(*table));
	if (!table)
		return roost_verbs_null(-ENOMEM);
	ret = make_table(c->ctx, attr, &table->table);
	if (ret) {
		free(table);
		return roost_verbs_null(ret);
	}
	table->ibv.context = context;
	table->ibv.ind_tbl_num = (int)atomic_fetch_add(&c->nb_ind_tables, 1);
	table->ibv.ind_tbl_handle = table->ibv.ind_tbl_num;
	roost_verbs_object_add(context, ROOST_VERBS_IND_TABLE, &table->ibv,
			       &table->object);
	return &table->ibv;
}

int roost_verbs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *ibv)
{
	struct roost_verbs_ind_table *table = roost_verbs_ind_table(ibv);
	int ret;

	ret = roost_ind_table_destroy(table->table);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &table->object);
	free(table);
	return 0;
}

/*
 * The rules of mlx5 for a hash: Toeplitz with a key of 40 bytes, not both
 * versions of IP, not ports of both TCP and UDP. Without fields, function and
 * key are not checked.
 */
int roost_verbs_map_hash(const struct ibv_rx_hash_conf *conf,
			 struct roost_hash *hash)
{
	const uint64_t fields = conf->rx_hash_fields_mask;

	*hash = (struct roost_hash){ .fields = (uint32_t)fields };
	if (fields & ~(uint64_t)ROOST_HASH_KNOWN)
		return -EOPNOTSUPP;
	if (fields == 0)
		return 0;
	if (conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (conf->rx_hash_key_len != sizeof(hash->key) || !conf->rx_hash_key ||
	    (fields & IP4 && fields & IP6) ||
	    (fields & ROOST_HASH_TCP && fields & ROOST_HASH_UDP))
		return -EINVAL;
	memcpy(hash->key, conf->rx_hash_key, sizeof(hash->key));
	return 0;
}
