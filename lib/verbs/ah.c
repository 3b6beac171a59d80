/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Address handles and multicast groups: where datagrams go to and come from.
 */

#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

#include "lib/verbs/map.h"
#include "lib/verbs/shim.h"

ROOST_VERBS_LATEST(ibv_create_ah, "IBVERBS_1.1");
struct ibv_ah *roost_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct roost_verbs_ah *ah;
	struct roost_av av;
	int ret;

	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return roost_verbs_null(-ENOMEM);
	roost_map_av(attr, &av);
	ret = roost_ah_create(roost_verbs_pd(pd)->pd, &av, &ah->ah);
	if (ret) {
		free(ah);
		return roost_verbs_null(ret);
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	roost_verbs_pd_hold(pd);
	roost_verbs_object_add(pd->context, ROOST_VERBS_AH, &ah->ibv,
			       &ah->object);
	return &ah->ibv;
}

ROOST_VERBS_LATEST(ibv_destroy_ah, "IBVERBS_1.1");
int roost_ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct roost_verbs_ah *ah = roost_verbs_ah(ibv);
	int ret;

	if (roost_verbs_is_dead(ibv->context))
		return roost_verbs_dead_destroy(ah);
	ret = roost_ah_destroy(ah->ah);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_pd_release(ibv->pd);
	roost_verbs_object_del(ibv->context, &ah->object);
	free(ah);
	return 0;
}

/* ---- the way back ------------------------------------------------------- */

/* Addresses and header fields of a received datagram, from the GRH room before
 * its data.
 */
struct route {
	struct roost_gid src;
	struct roost_gid dst;
	uint32_t flow_label;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

/* RoCEv2 puts the IP header there, IPv4 into the last 20 of the 40 bytes
 * (IBTA A17.4.5.2). Returns 0, -EPROTONOSUPPORT.
 */
static int read_route(const struct ibv_grh *grh, struct route *r)
{
	const struct iphdr *ip4 =
		(const void *)((const char *)grh + sizeof(*grh) - sizeof(*ip4));
	const uint32_t word = be32toh(grh->version_tclass_flow);

	if (word >> 28 == 6) {
		memcpy(r->src.b, grh->sgid.raw, sizeof(r->src.b));
		memcpy(r->dst.b, grh->dgid.raw, sizeof(r->dst.b));
		r->flow_label = word & 0xfffff;
		r->traffic_class = (uint8_t)(word >> 20);
		r->hop_limit = grh->hop_limit;
		return 0;
	}
	if (ip4->version != 4)
		return -EPROTONOSUPPORT;
	r->src = roost_gid_from_v4((const uint8_t *)&ip4->saddr);
	r->dst = roost_gid_from_v4((const uint8_t *)&ip4->daddr);
	r->flow_label = 0;
	r->traffic_class = ip4->tos;
	r->hop_limit = ip4->ttl;
	return 0;
}

/* True if the answer to r may be sent from this address. An answer to a
 * datagram to a group is sent from any address of the same kind, because a
 * group is not in the GID table.
 */
static bool answers_from(const struct route *r, const struct roost_gid *gid)
{
	if (!roost_gid_is_multicast(&r->dst))
		return roost_gid_eq(gid, &r->dst);
	return !roost_gid_is_zero(gid) &&
	       roost_gid_is_v4(gid) == roost_gid_is_v4(&r->dst) &&
	       roost_gid_is_link_local(gid) == roost_gid_is_link_local(&r->src);
}

static int find_sgid(struct roost_dev *dev, uint8_t port_num,
		     const struct route *r)
{
	struct roost_gid gid;

	for (int i = 0; i <= UINT8_MAX; i++) {
		if (roost_port_query_gid(dev, port_num, (unsigned int)i, &gid))
			break;
		if (answers_from(r, &gid))
			return i;
	}
	return -EINVAL;
}

/* Returns 0, or -1 and errno. */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
			struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	struct route r;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_minus_one(-EIO);
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;

	attr->is_global = 1;
	ret = read_route(grh, &r);
	if (ret)
		return roost_verbs_minus_one(ret);
	ret = find_sgid(roost_verbs_dev(context), port_num, &r);
	if (ret < 0)
		return roost_verbs_minus_one(ret);
	memcpy(attr->grh.dgid.raw, r.src.b, sizeof(attr->grh.dgid.raw));
	attr->grh.sgid_index = (uint8_t)ret;
	attr->grh.flow_label = r.flow_label;
	attr->grh.hop_limit = r.hop_limit;
	attr->grh.traffic_class = r.traffic_class;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
				     struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* Returns 0 or -errno. *vid: the VLAN of the port, 0xffff where it has none. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
				struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE],
				uint16_t *vid)
{
	struct roost_port_attr port;
	struct roost_av av;
	int ret;

	if (roost_verbs_is_dead(context))
		return -EIO;
	roost_map_av(attr, &av);
	av.is_global = true;
	ret = roost_av_resolve(roost_verbs_context(context)->ctx, &av, eth_mac);
	if (ret == 0 && vid) {
		roost_port_query(roost_verbs_dev(context), attr->port_num,
				 &port);
		*vid = port.vlan_id ? port.vlan_id : UINT16_MAX;
	}
	return ret;
}

/* ---- groups: the LID has no meaning on Ethernet ---------------------------
 */

static int change_group(struct ibv_qp *qp, const union ibv_gid *gid,
			int (*change)(struct roost_qp *qp,
				      const struct roost_gid *group))
{
	struct roost_gid group;

	if (roost_verbs_is_dead(qp->context))
		return roost_verbs_result(-EIO);
	memcpy(group.b, gid->raw, sizeof(group.b));
	return roost_verbs_result(change(roost_verbs_qp(qp)->qp, &group));
}

ROOST_VERBS_LATEST(ibv_attach_mcast, "IBVERBS_1.1");
int roost_ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			   uint16_t lid __attribute__((unused)))
{
	return change_group(qp, gid, roost_mcast_attach);
}

ROOST_VERBS_LATEST(ibv_detach_mcast, "IBVERBS_1.1");
int roost_ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			   uint16_t lid __attribute__((unused)))
{
	return change_group(qp, gid, roost_mcast_detach);
}
