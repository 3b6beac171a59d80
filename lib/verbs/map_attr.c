/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The composite ones: QP attributes and capacities, port speed.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/verbs/map.h"

void roost_map_qp_cap(const struct ibv_qp_cap *cap, struct roost_qp_cap *out)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_bytes = cap->max_inline_data;
}

void roost_unmap_qp_cap(const struct roost_qp_cap *cap, struct ibv_qp_cap *out)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_data = cap->max_inline_bytes;
}

void roost_map_av(const struct ibv_ah_attr *attr, struct roost_av *av)
{
	memcpy(av->dgid.b, attr->grh.dgid.raw, sizeof(av->dgid.b));
	av->flow_label = attr->grh.flow_label;
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->is_global = attr->is_global;
	av->dlid = attr->dlid;
	av->sl = attr->sl;
	av->src_path_bits = attr->src_path_bits;
	av->static_rate = attr->static_rate;
	av->port_num = attr->port_num;
}

static void unmap_av(const struct roost_av *av, struct ibv_ah_attr *attr)
{
	memcpy(attr->grh.dgid.raw, av->dgid.b, sizeof(av->dgid.b));
	attr->grh.flow_label = av->flow_label;
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
	attr->is_global = av->is_global;
	attr->dlid = av->dlid;
	attr->sl = av->sl;
	attr->src_path_bits = av->src_path_bits;
	attr->static_rate = av->static_rate;
	attr->port_num = av->port_num;
}

/* Map the enums that attr_mask names; a program may leave the rest
 * uninitialised.
 */
static int map_attr_enums(const struct ibv_qp_attr *attr, int mask,
			  struct roost_qp_attr *out)
{
	if ((mask & IBV_QP_STATE) &&
	    roost_map_qp_state(attr->qp_state, &out->state))
		return -EINVAL;
	if ((mask & IBV_QP_CUR_STATE) &&
	    roost_map_qp_state(attr->cur_qp_state, &out->cur_state))
		return -EINVAL;
	if ((mask & IBV_QP_ACCESS_FLAGS) &&
	    roost_map_access(attr->qp_access_flags, &out->access))
		return -EINVAL;
	if (mask & IBV_QP_PATH_MTU) {
		if (attr->path_mtu < IBV_MTU_256 ||
		    attr->path_mtu > IBV_MTU_4096)
			return -EINVAL;
		out->path_mtu = (enum roost_mtu)attr->path_mtu;
	}
	if (mask & IBV_QP_PATH_MIG_STATE) {
		if ((unsigned int)attr->path_mig_state > IBV_MIG_ARMED)
			return -EINVAL;
		out->path_mig_state =
			(enum roost_mig_state)attr->path_mig_state;
	}
	return 0;
}

int roost_map_qp_attr(const struct ibv_qp_attr *attr, int mask,
		      struct roost_qp_attr *out, uint32_t *out_mask)
{
	int ret;

	memset(out, 0, sizeof(*out));
	ret = roost_map_qp_attr_mask(mask, out_mask);
	if (ret == 0)
		ret = map_attr_enums(attr, mask, out);
	if (ret)
		return ret;

	out->qkey = attr->qkey;
	out->rq_psn = attr->rq_psn;
	out->sq_psn = attr->sq_psn;
	out->dest_qpn = attr->dest_qp_num;
	roost_map_qp_cap(&attr->cap, &out->cap);
	roost_map_av(&attr->ah_attr, &out->av);
	roost_map_av(&attr->alt_ah_attr, &out->alt_av);
	out->pkey_index = attr->pkey_index;
	out->alt_pkey_index = attr->alt_pkey_index;
	out->en_sqd_async_notify = attr->en_sqd_async_notify;
	out->sq_draining = attr->sq_draining;
	out->max_rd_atomic = attr->max_rd_atomic;
	out->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	out->min_rnr_timer = attr->min_rnr_timer;
	out->port_num = attr->port_num;
	out->timeout = attr->timeout;
	out->retry_cnt = attr->retry_cnt;
	out->rnr_retry = attr->rnr_retry;
	out->alt_port_num = attr->alt_port_num;
	out->alt_timeout = attr->alt_timeout;
	out->rate_limit_kbps = attr->rate_limit;
	return 0;
}

void roost_unmap_qp_attr(const struct roost_qp_attr *attr,
			 struct ibv_qp_attr *out)
{
	memset(out, 0, sizeof(*out));
	out->qp_state = roost_unmap_qp_state(attr->state);
	out->cur_qp_state = roost_unmap_qp_state(attr->cur_state);
	out->path_mtu = roost_unmap_mtu(attr->path_mtu);
	out->path_mig_state = (enum ibv_mig_state)attr->path_mig_state;
	out->qkey = attr->qkey;
	out->rq_psn = attr->rq_psn;
	out->sq_psn = attr->sq_psn;
	out->dest_qp_num = attr->dest_qpn;
	out->qp_access_flags = roost_unmap_access(attr->access);
	roost_unmap_qp_cap(&attr->cap, &out->cap);
	unmap_av(&attr->av, &out->ah_attr);
	unmap_av(&attr->alt_av, &out->alt_ah_attr);
	out->pkey_index = attr->pkey_index;
	out->alt_pkey_index = attr->alt_pkey_index;
	out->en_sqd_async_notify = attr->en_sqd_async_notify;
	out->sq_draining = attr->sq_draining;
	out->max_rd_atomic = attr->max_rd_atomic;
	out->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	out->min_rnr_timer = attr->min_rnr_timer;
	out->port_num = attr->port_num;
	out->timeout = attr->timeout;
	out->retry_cnt = attr->retry_cnt;
	out->rnr_retry = attr->rnr_retry;
	out->alt_port_num = attr->alt_port_num;
	out->alt_timeout = attr->alt_timeout;
	out->rate_limit = attr->rate_limit_kbps;
}

static_assert((int)IBV_MTU_256 == (int)ROOST_MTU_256 &&
		      (int)IBV_MTU_4096 == (int)ROOST_MTU_4096,
	      "MTU codes");
static_assert((int)IBV_MIG_MIGRATED == (int)ROOST_MIG_MIGRATED &&
		      (int)IBV_MIG_REARM == (int)ROOST_MIG_REARM &&
		      (int)IBV_MIG_ARMED == (int)ROOST_MIG_ARMED,
	      "migration states");

/* Codes of IBTA 14.2.5.6, PortInfo. */
enum {
	WIDTH_1X = 1,
	WIDTH_4X = 2,
};

enum {
	SPEED_SDR = 1,
	SPEED_DDR = 2,
	SPEED_FDR10 = 8,
	SPEED_EDR = 32,
	SPEED_HDR = 64,
	SPEED_NDR = 128,
};

/* As the Linux RDMA core reports an Ethernet port of up to that speed. */
void roost_unmap_speed(uint32_t mbps, uint8_t *width, uint8_t *speed)
{
	static const struct {
		uint32_t mbps;
		uint8_t width;
		uint8_t speed;
	} rows[] = {
		{ 1000, WIDTH_1X, SPEED_SDR },
		{ 10000, WIDTH_1X, SPEED_FDR10 },
		{ 20000, WIDTH_4X, SPEED_DDR },
		{ 25000, WIDTH_1X, SPEED_EDR },
		{ 40000, WIDTH_4X, SPEED_FDR10 },
		{ 50000, WIDTH_1X, SPEED_HDR },
		{ 100000, WIDTH_4X, SPEED_EDR },
		{ 200000, WIDTH_4X, SPEED_HDR },
		{ UINT32_MAX, WIDTH_4X, SPEED_NDR },
	};
	size_t i = 0;

	while (mbps > rows[i].mbps)
		i++;
	*width = rows[i].width;
	*speed = rows[i].speed;
}
