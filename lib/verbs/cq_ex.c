/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Extended completion queues: the program walks over the completions in place
 * and reads what it wants of each. Hot: everything but create_cq_ex.
 */

#include <string.h>
#include <time.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

#define WC_FLAGS                                                               \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |         \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |                       \
	 IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG)
#define CQ_FLAGS                                                               \
	(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

static struct roost_verbs_cq *cq_of(struct ibv_cq_ex *ibv)
{
	return (struct roost_verbs_cq *)ibv;
}

static void show(struct roost_verbs_cq *cq)
{
	cq->ibv.wr_id = cq->current->wr_id;
	cq->ibv.status = roost_unmap_wc_status(cq->current->status);
}

/* Returns an errno value, ENOENT when there is nothing. */
static int start_poll(struct ibv_cq_ex *ibv, struct ibv_poll_cq_attr *attr)
{
	struct roost_verbs_cq *cq = cq_of(ibv);
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	ret = roost_cq_poll_begin(cq->cq, &cq->current);
	if (ret == 0)
		roost_device_send_batched(cq->device);
	else if (ret == -ENOENT && roost_device_help_cq(cq->device, cq->cq))
		ret = roost_cq_poll_begin(cq->cq, &cq->current);
	if (ret)
		return -ret;
	show(cq);
	return 0;
}

static int next_poll(struct ibv_cq_ex *ibv)
{
	struct roost_verbs_cq *cq = cq_of(ibv);
	int ret;

	ret = roost_cq_poll_next(cq->cq, &cq->current);
	if (ret)
		return -ret;
	show(cq);
	return 0;
}

static void end_poll(struct ibv_cq_ex *ibv)
{
	roost_cq_poll_end(cq_of(ibv)->cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibv)
{
	return roost_unmap_wc_opcode(cq_of(ibv)->current->opcode);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->byte_len;
}

/* The invalidated rkey, too. */
static __be32 read_imm_data(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->imm_be;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibv)
{
	return roost_unmap_wc_flags(cq_of(ibv)->current->flags);
}

static uint32_t read_slid(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ibv)
{
	(void)ibv;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->timestamp_ns;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Completions carry the monotonic clock: as long ago by the other. */
static uint64_t read_wallclock_ns(struct ibv_cq_ex *ibv)
{
	const int64_t offset_ns =
		clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);

	return cq_of(ibv)->current->timestamp_ns + (uint64_t)offset_ns;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ibv)
{
	return cq_of(ibv)->current->vlan_tci;
}

/* In the place of immediate data, which a frame does not have. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ibv)
{
	const struct roost_cqe *cqe = cq_of(ibv)->current;

	/* NULL: a call that is not allowed, but harmless elsewhere. */
	return !cqe || cqe->flags & (ROOST_WC_WITH_IMM | ROOST_WC_WITH_INV)
		       ? 0
		       : cqe->imm_be;
}

/* No CQ can be created with this: present so that a call does not crash. */
static void read_tm_info(struct ibv_cq_ex *ibv, struct ibv_wc_tm_info *info)
{
	(void)ibv;
	memset(info, 0, sizeof(*info));
}

/* Single-threaded is a hint: an uncontended lock costs little. */
static int check(const struct ibv_context *context,
		 const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t known =
		IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

	if (attr->cqe < 1)
		return -EINVAL;
	if (attr->comp_mask & ~known || attr->wc_flags & ~(uint64_t)WC_FLAGS)
		return -EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)CQ_FLAGS)
		return -EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || attr->parent_domain->context != context ||
	     !roost_verbs_pd(attr->parent_domain)->parent))
		return -EINVAL;
	return 0;
}

static void apply_masked(struct roost_verbs_cq *cq,
			 const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		roost_cq_ignore_overrun(cq->cq);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent_domain = roost_verbs_pd(attr->parent_domain);
		roost_verbs_pd_hold(attr->parent_domain);
	}
}

struct ibv_cq_ex *roost_verbs_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct roost_verbs_cq *cq;
	int ret;

	ret = check(context, attr);
	if (ret)
		return roost_verbs_null(ret);
	cq = roost_verbs_cq_new(context, attr);
	if (!cq)
		return NULL;
	apply_masked(cq, attr);
	cq->ibv.start_poll = start_poll;
	cq->ibv.next_poll = next_poll;
	cq->ibv.end_poll = end_poll;
	cq->ibv.read_opcode = read_opcode;
	cq->ibv.read_vendor_err = read_vendor_err;
	cq->ibv.read_byte_len = read_byte_len;
	cq->ibv.read_imm_data = read_imm_data;
	cq->ibv.read_qp_num = read_qp_num;
	cq->ibv.read_src_qp = read_src_qp;
	cq->ibv.read_wc_flags = read_wc_flags;
	cq->ibv.read_slid = read_slid;
	cq->ibv.read_sl = read_sl;
	cq->ibv.read_dlid_path_bits = read_dlid_path_bits;
	cq->ibv.read_completion_ts = read_completion_ts;
	cq->ibv.read_cvlan = read_cvlan;
	cq->ibv.read_flow_tag = read_flow_tag;
	cq->ibv.read_tm_info = read_tm_info;
	cq->ibv.read_completion_wallclock_ns = read_wallclock_ns;
	return &cq->ibv;
}
