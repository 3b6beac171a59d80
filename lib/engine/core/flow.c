/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/engine/core/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/turn.h"
#include "lib/wire/bytes.h"

/* ---- the fields of a frame ---------------------------------------------- */

static void read_ports(struct roost_flow_key *key, uint8_t proto,
		       const uint8_t *l4, size_t len)
{
	key->ip_proto = proto;
	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || len < 4)
		return;
	key->l4 = proto;
	memcpy(key->src_port, l4, sizeof(key->src_port));
	memcpy(key->dst_port, l4 + 2, sizeof(key->dst_port));
}

static void read_ipv4(struct roost_flow_key *key, const uint8_t *l3, size_t len)
{
	const struct rte_ipv4_hdr *ip = (const void *)l3;
	uint16_t fragment;
	size_t ihl;

	if (len < sizeof(*ip) || ip->version_ihl >> 4 != 4)
		return;
	ihl = (size_t)(ip->version_ihl & 0xf) * 4;
	key->ip_version = 4;
	memcpy(key->src_ip, &ip->src_addr, sizeof(ip->src_addr));
	memcpy(key->dst_ip, &ip->dst_addr, sizeof(ip->dst_addr));
	key->tclass = ip->type_of_service;
	key->ttl = ip->time_to_live;
	fragment = roost_be16_get((const uint8_t *)&ip->fragment_offset);
	key->ip_flags = (uint8_t)(fragment >> 13);
	/* A later fragment has no ports. */
	if ((fragment & RTE_IPV4_HDR_OFFSET_MASK) != 0 || ihl < sizeof(*ip) ||
	    ihl > len)
		key->ip_proto = ip->next_proto_id;
	else
		read_ports(key, ip->next_proto_id, l3 + ihl, len - ihl);
}

static void read_ipv6(struct roost_flow_key *key, const uint8_t *l3, size_t len)
{
	const struct rte_ipv6_hdr *ip = (const void *)l3;
	uint32_t first;

	if (len < sizeof(*ip) || l3[0] >> 4 != 6)
		return;
	first = roost_be32_get(l3);
	key->ip_version = 6;
	memcpy(key->src_ip, l3 + offsetof(struct rte_ipv6_hdr, src_addr), 16);
	memcpy(key->dst_ip, l3 + offsetof(struct rte_ipv6_hdr, dst_addr), 16);
	roost_be32_put(key->flow_label, first & RTE_IPV6_HDR_FL_MASK);
	key->tclass = (uint8_t)(first >> 20);
	key->ttl = ip->hop_limits;
	read_ports(key, ip->proto, l3 + sizeof(*ip), len - sizeof(*ip));
}

static bool is_tag(uint16_t ether_type)
{
	return ether_type == RTE_ETHER_TYPE_VLAN ||
	       ether_type == RTE_ETHER_TYPE_QINQ;
}

void roost_flow_key_read(struct roost_flow_key *key, const uint8_t *data,
			 size_t len)
{
	size_t at = offsetof(struct rte_ether_hdr, ether_type);
	uint16_t ether_type;

	memset(key, 0, sizeof(*key));
	if (len < RTE_ETHER_HDR_LEN)
		return;
	memcpy(key->dst_mac, data, sizeof(key->dst_mac));
	memcpy(key->src_mac, data + 6, sizeof(key->src_mac));
	ether_type = roost_be16_get(data + at);
	while (is_tag(ether_type) && len >= at + 6) {
		if (key->is_tagged == 0)
			memcpy(key->vlan_tci, data + at + 2, 2);
		key->is_tagged = 0xff;
		at += 4;
		ether_type = roost_be16_get(data + at);
	}
	roost_be16_put(key->ether_type, ether_type);
	at += 2;
	if (ether_type == RTE_ETHER_TYPE_IPV4)
		read_ipv4(key, data + at, len - at);
	else if (ether_type == RTE_ETHER_TYPE_IPV6)
		read_ipv6(key, data + at, len - at);
}

/* ---- the rules of a port ------------------------------------------------ */

static uint32_t rank_of(const struct roost_flow_rule_init *init)
{
	return (uint32_t)init->type << 16 | init->priority;
}

/* May frames fit that a port would not receive, because they are not for its
 * MAC, and not for everybody?
 */
static bool is_promiscuous(const struct roost_port *port,
			   const struct roost_flow_rule_init *init)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const uint8_t *value = init->value.dst_mac;
	uint8_t own[6];

	if (init->type != ROOST_FLOW_NORMAL)
		return true;
	roost_port_mac_get(port, own);
	return memcmp(init->mask.dst_mac, all, 6) != 0
		       ? memcmp(init->mask.dst_mac, "\0\0\0\0\0\0", 6) != 0
		       : memcmp(value, own, 6) != 0 &&
				 memcmp(value, all, 6) != 0;
}

static int set_promiscuous(struct roost_port *port, bool on)
{
	const struct roost_frame_io *io = &port->frame_io;

	return io->promiscuous ? io->promiscuous(io->ctx, on) : 0;
}

/* Behind all of its rank. */
static void insert(struct roost_turn_link *at, struct roost_flow_rule *flow)
{
	struct roost_flow_rule *next;

	while ((next = roost_turn_list_next(at)) != NULL &&
	       next->rank <= flow->rank)
		at = &next->link;
	roost_turn_list_insert(at, &flow->link);
}

static struct roost_turn_link *list_of(struct roost_flow_table *table,
				       const struct roost_flow_rule *flow)
{
	return flow->init.type == ROOST_FLOW_SNIFFER ? &table->sniffers
						     : &table->rules;
}

static void note_rules(struct roost_port *port)
{
	bool sniffers = roost_turn_list_next(&port->flows.sniffers) != NULL;

	port->has_sniffers = sniffers;
	port->has_flows =
		sniffers || roost_turn_list_next(&port->flows.rules) != NULL;
}

/* Under flow_lock. */
static int hear_others(struct roost_port *port, struct roost_flow_rule *flow)
{
	int ret = 0;

	flow->is_promiscuous = is_promiscuous(port, &flow->init);
	if (!flow->is_promiscuous)
		return 0;
	if (port->flows.nb_promiscuous == 0)
		ret = set_promiscuous(port, true);
	if (ret == 0)
		port->flows.nb_promiscuous++;
	return ret;
}

int roost_flow_rule_create(struct roost_qp *qp,
			   const struct roost_flow_rule_init *init,
			   struct roost_flow_rule **flow)
{
	struct roost_dev *dev = qp->dev;
	struct roost_port *port = roost_port_of(dev, init->port_num);
	struct roost_flow_rule *f;
	int ret;

	if (qp->type != ROOST_QPT_RAW || !port)
		return -EINVAL;
	f = malloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct roost_flow_rule){
		.qp = qp,
		.init = *init,
		.rank = rank_of(init),
	};
	if (init->type == ROOST_FLOW_MCAST_DEFAULT) {
		f->init.value.dst_mac[0] |= 1;
		f->init.mask.dst_mac[0] |= 1;
	}
	pthread_mutex_lock(&dev->flow_lock);
	ret = hear_others(port, f);
	if (ret)
		goto unlock;
	insert(list_of(&port->flows, f), f);
	note_rules(port);
	qp->nb_flows++;
	roost_flow_place(port, f);
	if (init->counters)
		atomic_fetch_add(&init->counters->refs, 1);
	*flow = f;
unlock:
	pthread_mutex_unlock(&dev->flow_lock);
	if (ret)
		free(f);
	return ret;
}

void roost_flow_rule_destroy(struct roost_flow_rule *flow)
{
	struct roost_dev *dev = flow->qp->dev;
	struct roost_port *port = roost_port_of(dev, flow->init.port_num);

	pthread_mutex_lock(&dev->flow_lock);
	roost_flow_displace(port, flow);
	roost_turn_list_remove(list_of(&port->flows, flow), &flow->link);
	note_rules(port);
	roost_dev_turns_pass(dev);
	flow->qp->nb_flows--;
	roost_flow_place(port, flow);
	if (flow->is_promiscuous && --port->flows.nb_promiscuous == 0)
		set_promiscuous(port, false);
	pthread_mutex_unlock(&dev->flow_lock);
	if (flow->init.counters)
		atomic_fetch_sub(&flow->init.counters->refs, 1);
	free(flow);
}
