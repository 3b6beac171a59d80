/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Queries: attributes of a device and its ports.
 */

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/verbs/map.h"
#include "lib/verbs/private.h"
#include "lib/verbs/shim.h"

/* No OUI: vendor numbers make programs expect a vendor's hardware. */
#define VENDOR_ID 0xffffffu

/* 4.096 us * 2^15 = 134 ms: a peer process may not be running just then. */
#define LOCAL_CA_ACK_DELAY 15

/* PortPhysicalState of IBTA 14.2.5.6 */
enum {
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
};

static void fill_device_attr(struct ibv_context *context,
			     struct ibv_device_attr *attr)
{
	struct roost_dev *dev = roost_verbs_dev(context);
	const struct roost_dev_limits *max = roost_dev_limits(dev);
	const __be64 guid = ibv_get_device_guid(context->device);

	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", ROOST_VERSION);
	attr->node_guid = guid;
	attr->sys_image_guid = guid;
	attr->max_mr_size = max->max_mr_size;
	attr->page_size_cap = 0xfffff000u;
	attr->vendor_id = VENDOR_ID;
	attr->max_qp = (int)max->max_qp;
	attr->max_qp_wr = (int)max->max_qp_wr;
	attr->device_cap_flags =
		IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
		IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
		IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_XRC |
		IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_RAW_IP_CSUM |
		IBV_DEVICE_MANAGED_FLOW_STEERING;
	attr->max_sge = (int)max->max_sge;
	attr->max_sge_rd = (int)max->max_sge;
	attr->max_cq = (int)max->max_cq;
	attr->max_cqe = (int)max->max_cqe;
	attr->max_mr = (int)max->max_mr;
	attr->max_pd = (int)max->max_pd;
	attr->max_qp_rd_atom = (int)max->max_qp_rd_atom;
	attr->max_qp_init_rd_atom = (int)max->max_qp_rd_atom;
	attr->max_res_rd_atom = (int)(max->max_qp_rd_atom * max->max_qp);
	/* Most are the processor's own, which IBV_ATOMIC_GLOB would say. But
	 * UCX uses atomics of a device that says HCA, as most NICs do, and of
	 * no other; and in a region whose iova and memory are not aligned alike
	 * they are no more.
	 */
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_mw = (int)max->max_mw;
	attr->max_mcast_grp = (int)max->max_mcast_grp;
	attr->max_mcast_qp_attach = (int)max->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach =
		(int)(max->max_mcast_grp * max->max_mcast_qp_attach);
	attr->max_ah = (int)max->max_ah;
	attr->max_srq = (int)max->max_srq;
	attr->max_srq_wr = (int)max->max_qp_wr;
	attr->max_srq_sge = (int)max->max_sge;
	attr->max_pkeys = (uint16_t)max->max_pkeys;
	attr->local_ca_ack_delay = LOCAL_CA_ACK_DELAY;
	attr->phys_port_cnt = (uint8_t)roost_dev_nb_ports(dev);
}

ROOST_VERBS_LATEST(ibv_query_device, "IBVERBS_1.1");
int roost_ibv_query_device(struct ibv_context *context,
			   struct ibv_device_attr *attr)
{
	if (roost_verbs_is_dead(context))
		return roost_verbs_result(-EIO);
	fill_device_attr(context, attr);
	return 0;
}

/* On demand is how all memory is used here: every operation can. */
static void fill_odp(struct ibv_device_attr_ex *attr)
{
	const uint32_t datagram = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				  IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t unreliable = datagram | IBV_ODP_SUPPORT_WRITE;
	const uint32_t reliable =
		unreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;

	attr->odp_caps.general_caps =
		IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = reliable;
	attr->odp_caps.per_transport_caps.uc_odp_caps = unreliable;
	attr->odp_caps.per_transport_caps.ud_odp_caps = datagram;
	/* Its receives are an SRQ's. */
	attr->xrc_odp_caps = reliable & ~(uint32_t)IBV_ODP_SUPPORT_RECV;
}

/* attr_size is the size of the program's struct, which may be older or newer.
 */
int roost_verbs_query_device_ex(struct ibv_context *context,
				const struct ibv_query_device_ex_input *input,
				struct ibv_device_attr_ex *attr,
				size_t attr_size)
{
	const struct roost_dev *dev = roost_verbs_dev(context);
	struct ibv_device_attr_ex all = { 0 };

	if ((input && input->comp_mask) || attr_size < sizeof(all.orig_attr))
		return roost_verbs_result(-EINVAL);

	fill_device_attr(context, &all.orig_attr);
	/* Completions carry the worker's clock, which counts nanoseconds. */
	all.completion_timestamp_mask = UINT64_MAX;
	all.hca_core_clock = 1000000; /* kHz */
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags |
				  IBV_DEVICE_RAW_SCATTER_FCS |
				  ROOST_VERBS_DEVICE_FLUSH_GLOBAL |
				  ROOST_VERBS_DEVICE_ATOMIC_WRITE;
	fill_odp(&all);
	all.cq_mod_caps.max_cq_count = UINT16_MAX;
	all.cq_mod_caps.max_cq_period = UINT16_MAX;
	all.rss_caps = (struct ibv_rss_caps){
		.supported_qpts = 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET,
		.max_rwq_indirection_tables = roost_dev_limits(dev)->max_qp,
		.max_rwq_indirection_table_size = 1u << ROOST_IND_TABLE_LOG_MAX,
		.rx_hash_fields_mask = ROOST_HASH_KNOWN,
		.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
	};
	all.max_wq_type_rq = roost_dev_limits(dev)->max_qp;
	all.packet_pacing_caps.qp_rate_limit_min = 1;
	all.packet_pacing_caps.qp_rate_limit_max = UINT32_MAX;
	all.packet_pacing_caps.supported_qpts =
		1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
		1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_RAW_PACKET;
	all.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM |
			      IBV_RAW_PACKET_CAP_CVLAN_STRIPPING |
			      IBV_RAW_PACKET_CAP_SCATTER_FCS;
	all.tso_caps = (struct ibv_tso_caps){
		.max_tso = ROOST_TSO_MAX_BYTES,
		.supported_qpts = 1u << IBV_QPT_RAW_PACKET,
	};
	all.max_dm_size = ROOST_VERBS_DM_MAX_BYTES;
	all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;

	if (attr_size > sizeof(all)) {
		memset((char *)attr + sizeof(all), 0, attr_size - sizeof(all));
		attr_size = sizeof(all);
	}
	memcpy(attr, &all, attr_size);
	return 0;
}

/* The clock of completions. As in other providers, tv_nsec has the whole value:
 * a count of hca_core_clock's ticks, not a time.
 */
int roost_verbs_query_rt_values(struct ibv_context *context,
				struct ibv_values_ex *values)
{
	struct timespec t;

	(void)context;
	if (!(values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return roost_verbs_result(-EINVAL);
	clock_gettime(CLOCK_MONOTONIC, &t);
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = t.tv_sec * 1000000000 + t.tv_nsec;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

static int fill_port_attr(struct ibv_context *context, uint8_t port_num,
			  struct ibv_port_attr *attr)
{
	struct roost_dev *dev = roost_verbs_dev(context);
	struct roost_port_attr port;
	int ret;

	ret = roost_port_query(dev, port_num, &port);
	if (ret)
		return ret;

	memset(attr, 0, sizeof(*attr));
	attr->state = roost_unmap_port_state(port.state);
	attr->max_mtu = roost_unmap_mtu(port.max_mtu);
	attr->active_mtu = roost_unmap_mtu(port.active_mtu);
	attr->gid_tbl_len = (int)port.gid_len;
	attr->port_cap_flags = IBV_PORT_IP_BASED_GIDS;
	attr->max_msg_sz = roost_dev_limits(dev)->max_msg_bytes;
	attr->bad_pkey_cntr = port.bad_pkey_count;
	attr->qkey_viol_cntr = port.qkey_viol_count;
	attr->pkey_tbl_len = (uint16_t)port.pkey_len;
	attr->lid = port.lid;
	attr->sm_lid = port.sm_lid;
	attr->max_vl_num = 1;
	roost_unmap_speed(port.speed_mbps, &attr->active_width,
			  &attr->active_speed);
	attr->phys_state =
		port.state == ROOST_PORT_ACTIVE ? PHYS_LINK_UP : PHYS_DISABLED;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	/* Set as on every RoCE port, for programs that check it; an address
	 * vector without GRH works, too, see roost_port_attr.lid.
	 */
	attr->flags = IBV_QPF_GRH_REQUIRED;
	return 0;
}

int roost_verbs_query_port(struct ibv_context *context, uint8_t port_num,
			   struct ibv_port_attr *attr, size_t attr_size)
{
	struct ibv_port_attr all;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_result(-EIO);
	ret = fill_port_attr(context, port_num, &all);
	if (ret)
		return roost_verbs_result(ret);
	if (attr_size > sizeof(all)) {
		memset((char *)attr + sizeof(all), 0, attr_size - sizeof(all));
		attr_size = sizeof(all);
	}
	memcpy(attr, &all, attr_size);
	return 0;
}

/* The struct of this entry point ends before port_cap_flags2. */
ROOST_VERBS_LATEST(ibv_query_port, "IBVERBS_1.1");
int roost_ibv_query_port(struct ibv_context *context, uint8_t port_num,
			 struct _compat_ibv_port_attr *attr)
{
	return roost_verbs_query_port(context, port_num,
				      (struct ibv_port_attr *)attr,
				      offsetof(struct ibv_port_attr,
					       port_cap_flags2));
}

/* ---- GIDs and P_Keys: -1 and errno, where nothing else is said ---------- */

ROOST_VERBS_LATEST(ibv_query_gid, "IBVERBS_1.1");
int roost_ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			int index, union ibv_gid *gid)
{
	struct roost_gid g;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_minus_one(-EIO);
	ret = roost_port_query_gid(roost_verbs_dev(context), port_num,
				   (unsigned int)index, &g);
	if (ret) {
		errno = -ret;
		return -1;
	}
	memcpy(gid->raw, g.b, sizeof(gid->raw));
	return 0;
}

/* Returns 0, -EINVAL (no such place) or -ENODATA (nothing there). */
static int gid_entry(struct roost_dev *dev, uint32_t port_num, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	struct roost_gid g;
	int ret;

	if (port_num > UINT8_MAX)
		return -EINVAL;
	ret = roost_port_query_gid(dev, (uint8_t)port_num, index, &g);
	if (ret)
		return ret;
	if (roost_gid_is_zero(&g))
		return -ENODATA;

	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid.raw, g.b, sizeof(entry->gid.raw));
	entry->gid_index = index;
	entry->port_num = port_num;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static void copy_entry(void *to, size_t size, const struct ibv_gid_entry *entry)
{
	memset(to, 0, size);
	memcpy(to, entry, size < sizeof(*entry) ? size : sizeof(*entry));
}

/* Returns an errno value. */
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
		      uint32_t gid_index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry e;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_result(-EIO);
	if (flags)
		return roost_verbs_result(-EINVAL);
	ret = gid_entry(roost_verbs_dev(context), port_num, gid_index, &e);
	if (ret)
		return roost_verbs_result(ret);
	copy_entry(entry, entry_size, &e);
	return 0;
}

/* Returns the number of entries, or -errno. */
ssize_t _ibv_query_gid_table(struct ibv_context *context,
			     struct ibv_gid_entry *entries, size_t max_entries,
			     uint32_t flags, size_t entry_size)
{
	struct roost_dev *dev = roost_verbs_dev(context);
	size_t nb = 0;

	if (roost_verbs_is_dead(context))
		return -EIO;
	if (flags || entry_size == 0)
		return -EINVAL;
	for (uint32_t port = 1; port <= roost_dev_nb_ports(dev); port++) {
		struct ibv_gid_entry e;
		int ret = 0;

		for (uint32_t i = 0; ret != -EINVAL; i++) {
			ret = gid_entry(dev, port, i, &e);
			if (ret)
				continue;
			if (nb == max_entries)
				return -EINVAL;
			copy_entry((char *)entries + nb * entry_size,
				   entry_size, &e);
			nb++;
		}
	}
	return (ssize_t)nb;
}

ROOST_VERBS_LATEST(ibv_query_gid_type, "IBVERBS_PRIVATE_34");
int roost_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
			     unsigned int index, unsigned int *type)
{
	union ibv_gid gid;

	if (ibv_query_gid(context, port_num, (int)index, &gid))
		return -1;
	*type = ROOST_SYSFS_GID_ROCE_V2;
	return 0;
}

ROOST_VERBS_PRIVATE(ibv_query_gid_type)

ROOST_VERBS_LATEST(ibv_query_pkey, "IBVERBS_1.1");
int roost_ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			 int index, __be16 *pkey)
{
	uint16_t host;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_minus_one(-EIO);
	ret = roost_port_query_pkey(roost_verbs_dev(context), port_num,
				    (unsigned int)index, &host);
	if (ret) {
		errno = -ret;
		return -1;
	}
	*pkey = htobe16(host);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
		       __be16 pkey)
{
	__be16 entry;

	for (int i = 0; ibv_query_pkey(context, port_num, i, &entry) == 0; i++)
		if (entry == pkey)
			return i;
	return -1;
}
