/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The calls of libibverbs that librdmacm makes.
 */

#include "fake_world.h"

#include <stdlib.h>

static struct ibv_device devices[2] = {
	{ .name = "roost0", .transport_type = IBV_TRANSPORT_IB },
	{ .name = "roost1", .transport_type = IBV_TRANSPORT_IB },
};
static struct ibv_context contexts[2] = {
	{ .device = &devices[0] },
	{ .device = &devices[1] },
};

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(3, sizeof(struct ibv_device *));

	list[0] = &devices[0];
	list[1] = &devices[1];
	*num_devices = 2;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	errno = fake.open_error;
	return fake.open_error ? NULL : &contexts[device - devices];
}

int ibv_close_device(struct ibv_context *context)
{
	(void)context;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 15;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = context;
	fake.nb_pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	fake.nb_pds--;
	free(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = context;
	fake.nb_comp_channels++;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	fake.nb_comp_channels--;
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)comp_vector;
	cq->context = context;
	cq->cqe = cqe;
	cq->cq_context = cq_context;
	cq->channel = channel;
	fake.nb_cqs++;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	fake.nb_cqs--;
	free(cq);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = calloc(1, sizeof(*srq));

	srq->context = pd->context;
	srq->srq_context = attr->srq_context;
	fake.nb_srqs++;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	fake.nb_srqs--;
	free(srq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	qp->context = pd->context;
	qp->pd = pd;
	qp->qp_num = 0x777;
	qp->srq = attr->srq;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	fake.nb_qps++;
	return qp;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	*ece = (struct ibv_ece){ .vendor_id = 0x77 };
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	fake.nb_qps--;
	free(qp);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_true(mask & IBV_QP_STATE);
	if (fake.modify_error && attr->qp_state == fake.modify_error_state)
		return fake.modify_error;
	assert_true(fake.nb_modifies < FAKE_MODIFIES_MAX);
	fake.modifies[fake.nb_modifies].state = attr->qp_state;
	fake.modifies[fake.nb_modifies].attr = *attr;
	fake.modifies[fake.nb_modifies++].mask = mask;
	qp->state = attr->qp_state;
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	assert_non_null(qp);
	assert_int_equal(lid, 0);
	if (fake.attach_error)
		return fake.attach_error;
	fake.nb_attached++;
	fake.attached = *gid;
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	assert_non_null(qp);
	assert_int_equal(lid, 0);
	assert_memory_equal(gid, &fake.attached, sizeof(*gid));
	fake.nb_attached--;
	return 0;
}
