/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * End points: an id and its QP in one, in synchronous mode.
 */

#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "cm/rdmacm/rdmacm.h"

#define RESOLVE_TIMEOUT_MS 2000

static void *copy(const void *from, size_t len)
{
	void *to = malloc(len);

	if (to)
		memcpy(to, from, len);
	return to;
}

/* Bound; its requests get a QP made as qp_init_attr says. */
static int passive(struct rdma_cm_id *rdma, struct rdma_addrinfo *res,
		   struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);

	if (rdma_bind_addr(rdma, res->ai_src_addr))
		return -1;
	if (pd)
		rdma->pd = pd;
	if (!qp_init_attr)
		return 0;
	id->qp_init_attr = copy(qp_init_attr, sizeof(*qp_init_attr));
	if (!id->qp_init_attr)
		return roost_rdmacm_result(-ENOMEM);
	id->qp_init_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return 0;
}

static int set_route(struct rdma_cm_id *rdma, struct rdma_addrinfo *res)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret;

	if (!res->ai_route_len)
		return rdma_resolve_route(rdma, RESOLVE_TIMEOUT_MS);
	if (rdma_set_option(rdma, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
			    res->ai_route, res->ai_route_len))
		return -1;
	ret = roost_rdmacm_enter(id);
	return ret ? roost_rdmacm_result(ret)
		   : roost_rdmacm_leave_complete(id, 0);
}

/* Resolved, with a QP. */
static int active(struct rdma_cm_id *rdma, struct rdma_addrinfo *res,
		  struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);

	if (rdma_resolve_addr(rdma, res->ai_src_addr, res->ai_dst_addr,
			      RESOLVE_TIMEOUT_MS) ||
	    set_route(rdma, res))
		return -1;
	if (qp_init_attr) {
		qp_init_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (rdma_create_qp(rdma, pd, qp_init_attr))
			return -1;
	}
	if (!res->ai_connect_len)
		return 0;
	id->connect_data = copy(res->ai_connect, res->ai_connect_len);
	if (!id->connect_data)
		return roost_rdmacm_result(-ENOMEM);
	id->connect_len_bytes = res->ai_connect_len;
	return 0;
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res,
		   struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct rdma_cm_id *id;
	int error, state;
	int ret =
		roost_rdmacm_id_create(NULL, &id, NULL,
				       (enum rdma_port_space)res->ai_port_space,
				       (enum ibv_qp_type)res->ai_qp_type);

	if (ret)
		return roost_rdmacm_result(ret);
	/* The calls inside wait for their events. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = res->ai_flags & RAI_PASSIVE ? passive(id, res, pd, qp_init_attr)
					  : active(id, res, pd, qp_init_attr);
	pthread_setcancelstate(state, NULL);
	if (ret) {
		error = errno;
		rdma_destroy_ep(id);
		errno = error;
		return -1;
	}
	*out = id;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* Create the QP of a request with the attributes of the listening end point. */
static int give_qp(struct rdma_cm_id *listen, struct rdma_cm_id *id)
{
	const struct ibv_qp_init_attr *wanted =
		roost_rdmacm_id(listen)->qp_init_attr;
	struct ibv_qp_init_attr attr;

	if (!wanted)
		return 0;
	attr = *wanted;
	return rdma_create_qp(id, listen->pd, &attr);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	int ret;

	if (!roost_rdmacm_id(listen)->sync)
		return roost_rdmacm_result(-EINVAL);
	if (roost_rdmacm_next_event(roost_rdmacm_id(listen), &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		ret = roost_rdmacm_result(event->status ? -abs(event->status)
							: -EINVAL);
	else
		ret = give_qp(listen, event->id);
	if (ret) {
		listen->event = event;
		return ret;
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}
