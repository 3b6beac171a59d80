/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/nic_rules.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>

#include "lib/wire/bytes.h"

/* ---- patterns ------------------------------------------------------------ */

/* The values of a pattern, or its masks. */
struct headers {
	struct rte_flow_item_eth eth;
	struct rte_flow_item_vlan vlan;
	struct rte_flow_item_ipv4 ipv4;
	struct rte_flow_item_ipv6 ipv6;
	struct rte_flow_item_tcp tcp;
	struct rte_flow_item_udp udp;
};

static void fill_ip(struct headers *h, const struct roost_flow_key *key)
{
	uint32_t vtc_flow = (uint32_t)key->tclass << 20 |
			    (roost_be32_get(key->flow_label) & 0xfffff);

	memcpy(&h->ipv4.hdr.src_addr, key->src_ip, 4);
	memcpy(&h->ipv4.hdr.dst_addr, key->dst_ip, 4);
	h->ipv4.hdr.next_proto_id = key->ip_proto;
	h->ipv4.hdr.type_of_service = key->tclass;
	h->ipv4.hdr.time_to_live = key->ttl;
	h->ipv4.hdr.fragment_offset =
		rte_cpu_to_be_16((uint16_t)(key->ip_flags << 13));
	memcpy(&h->ipv6.hdr.src_addr, key->src_ip, 16);
	memcpy(&h->ipv6.hdr.dst_addr, key->dst_ip, 16);
	h->ipv6.hdr.vtc_flow = rte_cpu_to_be_32(vtc_flow);
	h->ipv6.hdr.proto = key->ip_proto;
	h->ipv6.hdr.hop_limits = key->ttl;
}

static void fill(struct headers *h, const struct roost_flow_key *key,
		 bool tagged)
{
	memset(h, 0, sizeof(*h));
	memcpy(&h->eth.hdr.dst_addr, key->dst_mac, 6);
	memcpy(&h->eth.hdr.src_addr, key->src_mac, 6);
	memcpy(tagged ? &h->vlan.hdr.eth_proto : &h->eth.hdr.ether_type,
	       key->ether_type, 2);
	memcpy(&h->vlan.hdr.vlan_tci, key->vlan_tci, 2);
	fill_ip(h, key);
	memcpy(&h->tcp.hdr.src_port, key->src_port, 2);
	memcpy(&h->tcp.hdr.dst_port, key->dst_port, 2);
	memcpy(&h->udp.hdr.src_port, key->src_port, 2);
	memcpy(&h->udp.hdr.dst_port, key->dst_port, 2);
}

#define ITEM(kind, member)                                                     \
	((struct rte_flow_item){ .type = RTE_FLOW_ITEM_TYPE_##kind,            \
				 .spec = &value->member,                       \
				 .mask = &mask->member })

/* A field of a header that the rule does not ask for is not compared. */
static void make_pattern(struct rte_flow_item pattern[5],
			 const struct roost_nic_rule *rule,
			 struct headers *value, struct headers *mask)
{
	const struct roost_flow_key *v = &rule->value, *m = &rule->mask;
	bool tagged = m->is_tagged != 0;
	unsigned int n = 0;

	fill(value, v, tagged);
	fill(mask, m, tagged);
	pattern[n++] = ITEM(ETH, eth);
	if (tagged)
		pattern[n++] = ITEM(VLAN, vlan);
	if (m->ip_version)
		pattern[n++] = v->ip_version == 4 ? ITEM(IPV4, ipv4)
						  : ITEM(IPV6, ipv6);
	if (m->l4)
		pattern[n++] =
			v->l4 == IPPROTO_TCP ? ITEM(TCP, tcp) : ITEM(UDP, udp);
	pattern[n] = (struct rte_flow_item){ .type = RTE_FLOW_ITEM_TYPE_END };
}

/* ---- rules --------------------------------------------------------------- */

/* Under lock. */
static void make(struct roost_nic_rules *rules, struct roost_nic_rule *rule)
{
	const struct rte_flow_attr attr = { .ingress = 1 };
	const struct rte_flow_action_queue first = { .index = 0 };
	const struct rte_flow_action actions[] = {
		{ .type = rule->drops ? RTE_FLOW_ACTION_TYPE_DROP
				      : RTE_FLOW_ACTION_TYPE_QUEUE,
		  .conf = rule->drops ? NULL : &first },
		{ .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct rte_flow_item pattern[5];
	struct rte_flow_error error;
	struct headers value, mask;

	if (!rules->ops || (!rules->spreads && !rule->drops))
		return;
	make_pattern(pattern, rule, &value, &mask);
	if (rules->ops->validate(rules->port, &attr, pattern, actions,
				 &error) == 0)
		rule->flow = rules->ops->create(rules->port, &attr, pattern,
						actions, &error);
	rule->refused = rule->flow == NULL;
	atomic_fetch_add(rule->refused ? &rules->nb_refused : &rules->nb_placed,
			 1);
}

static void end(struct roost_nic_rules *rules, struct roost_nic_rule *rule)
{
	struct rte_flow_error error;

	if (rule->flow) {
		rules->ops->destroy(rules->port, rule->flow, &error);
		atomic_fetch_sub(&rules->nb_placed, 1);
	} else if (rule->refused) {
		atomic_fetch_sub(&rules->nb_refused, 1);
	}
	rule->flow = NULL;
	rule->refused = false;
}

void roost_nic_rules_start(struct roost_nic_rules *rules, uint16_t port,
			   bool spreads, const struct roost_queues_ops *ops)
{
	struct roost_nic_rule *rule;

	pthread_mutex_lock(&rules->lock);
	rules->port = port;
	rules->spreads = spreads;
	rules->ops = ops;
	LIST_FOREACH(rule, &rules->list, link)
		make(rules, rule);
	pthread_mutex_unlock(&rules->lock);
}

void roost_nic_rules_stop(struct roost_nic_rules *rules)
{
	struct roost_nic_rule *rule;

	pthread_mutex_lock(&rules->lock);
	LIST_FOREACH(rule, &rules->list, link)
		end(rules, rule);
	rules->ops = NULL;
	pthread_mutex_unlock(&rules->lock);
}

struct roost_nic_rule *
roost_nic_rules_add(struct roost_nic_rules *rules,
		    const struct roost_flow_rule_init *init)
{
	struct roost_nic_rule *rule = malloc(sizeof(*rule));

	if (!rule)
		return NULL;
	*rule = (struct roost_nic_rule){
		.value = init->value,
		.mask = init->mask,
		.drops = init->drops,
	};
	pthread_mutex_lock(&rules->lock);
	make(rules, rule);
	LIST_INSERT_HEAD(&rules->list, rule, link);
	pthread_mutex_unlock(&rules->lock);
	return rule;
}

void roost_nic_rules_del(struct roost_nic_rules *rules,
			 struct roost_nic_rule *rule)
{
	pthread_mutex_lock(&rules->lock);
	end(rules, rule);
	LIST_REMOVE(rule, link);
	pthread_mutex_unlock(&rules->lock);
	free(rule);
}
