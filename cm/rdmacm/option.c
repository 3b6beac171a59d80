/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Options of an id, and extended connection establishment (ECE).
 */

#include <string.h>

#include <infiniband/sa.h>

#include "cm/rdmacm/rdmacm.h"

struct option {
	int level;
	int name;
	size_t len; /* of the value; 0: any multiple of a path */
	int (*set)(struct roost_rdmacm_id *id, const void *value, size_t len);
};

static int set_tos(struct roost_rdmacm_id *id, const void *value, size_t len)
{
	(void)len;
	id->tos = *(const uint8_t *)value;
	id->tos_set = true;
	return 0;
}

static bool is_set(const void *value)
{
	int on;

	memcpy(&on, value, sizeof(on));
	return on;
}

static int set_reuseaddr(struct roost_rdmacm_id *id, const void *value,
			 size_t len)
{
	const bool on = is_set(value);
	const int ret =
		roost_rdmacm_state_allows(on ? ROOST_RDMACM_CALL_REUSE
					     : ROOST_RDMACM_CALL_NO_REUSE,
					  roost_rdmacm_id_state(id));

	(void)len;
	if (ret == 0)
		id->claim.reuseaddr = on;
	return ret;
}

static int set_afonly(struct roost_rdmacm_id *id, const void *value, size_t len)
{
	const int ret = roost_rdmacm_state_allows(ROOST_RDMACM_CALL_AFONLY,
						  roost_rdmacm_id_state(id));

	(void)len;
	if (ret)
		return ret;
	id->claim.afonly = is_set(value);
	id->afonly_set = true;
	return 0;
}

static int set_ack_timeout(struct roost_rdmacm_id *id, const void *value,
			   size_t len)
{
	(void)len;
	if (id->id.qp_type != IBV_QPT_RC && id->id.qp_type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	id->ack_timeout = *(const uint8_t *)value;
	id->ack_timeout_set = true;
	return 0;
}

static bool is_primary(const struct ibv_path_data *path)
{
	const uint32_t needed = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY;
	const uint32_t way = path->flags & (IBV_PATH_FLAG_BIDIRECTIONAL |
					    IBV_PATH_FLAG_OUTBOUND);

	return (path->flags & needed) == needed && way;
}

/*
 * Set a route from the program. The destination was resolved before; only the
 * properties of the path are taken from the route.
 */
static int set_path(struct roost_rdmacm_id *id, const void *value, size_t len)
{
	const struct ibv_path_data *paths = value;
	size_t nb = len / sizeof(*paths), i = 0;
	uint32_t flow_and_hops;
	int ret;

	if (len == 0 || len % sizeof(*paths))
		return -EINVAL;
	while (i < nb && !is_primary(&paths[i]))
		i++;
	if (i == nb || !id->device)
		return -EINVAL;
	ret = roost_rdmacm_state_allows(ROOST_RDMACM_CALL_SET_PATH,
					roost_rdmacm_id_state(id));
	if (ret)
		return ret;
	flow_and_hops = be32toh(paths[i].path.flowlabel_hoplimit);
	id->path.flow_label = flow_and_hops >> 8 & 0xfffff;
	id->path.hop_limit = (uint8_t)flow_and_hops;
	id->path.traffic_class = paths[i].path.tclass;
	id->path.sl = (uint8_t)(be16toh(paths[i].path.qosclass_sl) & 0xf);
	id->path.packet_lifetime = paths[i].path.packetlifetime & 0x3f;
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_ROUTE_RESOLVED);
	return roost_rdmacm_tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static const struct option options[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, sizeof(uint8_t), set_tos },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, sizeof(int),
	  set_reuseaddr },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, sizeof(int), set_afonly },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, sizeof(uint8_t),
	  set_ack_timeout },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 0, set_path },
};

static const struct option *find(int level, int name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].level == level && options[i].name == name)
			return &options[i];
	return NULL;
}

int rdma_set_option(struct rdma_cm_id *rdma, int level, int optname,
		    void *optval, size_t optlen)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	const struct option *option = find(level, optname);
	int ret;

	if (!option)
		return roost_rdmacm_result(-ENOSYS);
	if (option->len && optlen != option->len)
		return roost_rdmacm_result(-EINVAL);
	if (!optval)
		return roost_rdmacm_result(-EFAULT);
	ret = roost_rdmacm_enter(id);
	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave(id, option->set(id, optval, optlen));
}

/* ---- ECE ---------------------------------------------------------------- */

/* Both are for a QP that rdma_cm does not know: it negotiates for its own. */
static int may_name_ece(struct rdma_cm_id *id, const struct ibv_ece *ece)
{
	if (id && roost_rdmacm_is_dead(roost_rdmacm_id(id)->process))
		return -EIO;
	return id && !id->qp && ece ? 0 : -EINVAL;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	int ret = may_name_ece(id, ece);

	if (ret == 0 && (!ece->vendor_id || ece->comp_mask))
		ret = -EINVAL;
	if (ret)
		return roost_rdmacm_result(ret);
	roost_rdmacm_id(id)->local_ece = *ece;
	return 0;
}

/* All of ece is out. */
int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	int ret = may_name_ece(id, ece);

	if (ret)
		return roost_rdmacm_result(ret);
	*ece = roost_rdmacm_id(id)->remote_ece;
	return 0;
}
