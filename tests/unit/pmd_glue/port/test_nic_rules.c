/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A NIC that is made up: what it is told, and when. */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/port/nic_rules.h"
#include "tests/cmocka.h"

#define PORT 3u

/* The last rule that the NIC was asked for, by value. */
static struct {
	enum rte_flow_item_type types[5];
	struct rte_flow_item_eth eth[2]; /* value, mask */
	struct rte_flow_item_vlan vlan[2];
	struct rte_flow_item_ipv4 ipv4[2];
	struct rte_flow_item_ipv6 ipv6[2];
	struct rte_flow_item_udp udp[2];
	struct rte_flow_item_tcp tcp[2];
	enum rte_flow_action_type action;
	bool refuses, is_full;
	unsigned int nb_rules, nb_created;
} nic;

#define COPY(member)                                                           \
	do {                                                                   \
		memcpy(&nic.member[0], item->spec, sizeof(nic.member[0]));     \
		memcpy(&nic.member[1], item->mask, sizeof(nic.member[1]));     \
	} while (0)

static void note(const struct rte_flow_item *item)
{
	for (unsigned int i = 0; i < 5; i++, item++) {
		nic.types[i] = item->type;
		if (item->type == RTE_FLOW_ITEM_TYPE_END)
			return;
		if (item->type == RTE_FLOW_ITEM_TYPE_ETH)
			COPY(eth);
		else if (item->type == RTE_FLOW_ITEM_TYPE_VLAN)
			COPY(vlan);
		else if (item->type == RTE_FLOW_ITEM_TYPE_IPV4)
			COPY(ipv4);
		else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6)
			COPY(ipv6);
		else if (item->type == RTE_FLOW_ITEM_TYPE_UDP)
			COPY(udp);
		else if (item->type == RTE_FLOW_ITEM_TYPE_TCP)
			COPY(tcp);
		else
			fail();
	}
	fail();
}

static int validate(uint16_t port, const struct rte_flow_attr *attr,
		    const struct rte_flow_item *pattern,
		    const struct rte_flow_action *actions,
		    struct rte_flow_error *error)
{
	const struct rte_flow_action_queue *queue = actions[0].conf;

	(void)error;
	assert_int_equal(port, PORT);
	assert_true(attr->ingress);
	assert_int_equal(attr->priority, 0);
	note(pattern);
	nic.action = actions[0].type;
	if (nic.action == RTE_FLOW_ACTION_TYPE_QUEUE)
		assert_int_equal(queue->index, 0);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	return nic.refuses ? -ENOTSUP : 0;
}

static struct rte_flow *create(uint16_t port, const struct rte_flow_attr *attr,
			       const struct rte_flow_item *pattern,
			       const struct rte_flow_action *actions,
			       struct rte_flow_error *error)
{
	assert_int_equal(validate(port, attr, pattern, actions, error), 0);
	if (nic.is_full)
		return NULL;
	nic.nb_rules++;
	return (struct rte_flow *)(uintptr_t)++nic.nb_created;
}

static int destroy(uint16_t port, struct rte_flow *flow,
		   struct rte_flow_error *error)
{
	(void)error;
	assert_int_equal(port, PORT);
	assert_in_range((uintptr_t)flow, 1, nic.nb_created);
	nic.nb_rules--;
	return 0;
}

static const struct roost_queues_ops ops = {
	.validate = validate,
	.create = create,
	.destroy = destroy,
};

static int setup(void **state)
{
	memset(&nic, 0, sizeof(nic));
	return 0;
}

static void check(const struct roost_nic_rules *rules, unsigned int placed,
		  unsigned int refused)
{
	assert_int_equal(nic.nb_rules, placed);
	assert_int_equal(rules->nb_placed, placed);
	assert_int_equal(rules->nb_refused, refused);
}

/* Ask the NIC for one rule. */
static void ask(const struct roost_flow_rule_init *init)
{
	struct roost_nic_rules rules = { 0 };
	struct roost_nic_rule *rule;

	roost_nic_rules_start(&rules, PORT, true, &ops);
	rule = roost_nic_rules_add(&rules, init);
	check(&rules, 1, 0);
	roost_nic_rules_del(&rules, rule);
	check(&rules, 0, 0);
}

static void check_types(enum rte_flow_item_type second,
			enum rte_flow_item_type third,
			enum rte_flow_item_type fourth)
{
	assert_int_equal(nic.types[0], RTE_FLOW_ITEM_TYPE_ETH);
	assert_int_equal(nic.types[1], second);
	if (second != RTE_FLOW_ITEM_TYPE_END)
		assert_int_equal(nic.types[2], third);
	if (third != RTE_FLOW_ITEM_TYPE_END)
		assert_int_equal(nic.types[3], fourth);
}

static void pattern__ethernet(void **state)
{
	struct roost_flow_rule_init init = {
		.value = { .dst_mac = { 1, 2, 3, 4, 5, 6 },
			   .src_mac = { 7 },
			   .ether_type = { 0x88, 0xcc } },
		.mask = { .dst_mac = { 0xff, 0xff, 0xff },
			  .src_mac = { 0xfe },
			  .ether_type = { 0xff, 0xff } },
	};

	ask(&init);
	check_types(RTE_FLOW_ITEM_TYPE_END, 0, 0);
	assert_memory_equal(&nic.eth[0].hdr.dst_addr, init.value.dst_mac, 6);
	assert_memory_equal(&nic.eth[1].hdr.dst_addr, init.mask.dst_mac, 6);
	assert_memory_equal(&nic.eth[0].hdr.src_addr, init.value.src_mac, 6);
	assert_memory_equal(&nic.eth[1].hdr.src_addr, init.mask.src_mac, 6);
	assert_int_equal(nic.eth[0].hdr.ether_type, RTE_BE16(0x88cc));
	assert_int_equal(nic.eth[1].hdr.ether_type, 0xffff);
	assert_int_equal(nic.action, RTE_FLOW_ACTION_TYPE_QUEUE);
}

/* The Ethertype of a rule is that behind the tag. */
static void pattern__vlan_and_ipv4(void **state)
{
	struct roost_flow_rule_init init = {
		.value = { .ether_type = { 8, 0 },
			   .vlan_tci = { 0, 5 },
			   .is_tagged = 0xff,
			   .ip_version = 4,
			   .l4 = IPPROTO_UDP,
			   .src_ip = { 10, 0, 0, 1 },
			   .dst_ip = { 10, 0, 0, 2 },
			   .tclass = 0x12,
			   .ttl = 63,
			   .ip_flags = 2,
			   .ip_proto = IPPROTO_UDP,
			   .src_port = { 0x12, 0x34 },
			   .dst_port = { 0x1b, 0x58 } },
		.mask = { .ether_type = { 0xff, 0xff },
			  .vlan_tci = { 0x0f, 0xff },
			  .is_tagged = 0xff,
			  .ip_version = 0xff,
			  .l4 = 0xff,
			  .src_ip = { 0xff, 0xff },
			  .dst_port = { 0xff, 0xff } },
	};

	ask(&init);
	check_types(RTE_FLOW_ITEM_TYPE_VLAN, RTE_FLOW_ITEM_TYPE_IPV4,
		    RTE_FLOW_ITEM_TYPE_UDP);
	assert_int_equal(nic.types[4], RTE_FLOW_ITEM_TYPE_END);
	assert_int_equal(nic.eth[1].hdr.ether_type, 0);
	assert_int_equal(nic.vlan[0].hdr.eth_proto, RTE_BE16(0x0800));
	assert_int_equal(nic.vlan[1].hdr.eth_proto, 0xffff);
	assert_int_equal(nic.vlan[0].hdr.vlan_tci, RTE_BE16(5));
	assert_int_equal(nic.vlan[1].hdr.vlan_tci, RTE_BE16(0x0fff));
	assert_int_equal(nic.ipv4[0].hdr.src_addr, RTE_BE32(0x0a000001));
	assert_int_equal(nic.ipv4[1].hdr.src_addr, RTE_BE32(0xffff0000));
	assert_int_equal(nic.ipv4[0].hdr.dst_addr, RTE_BE32(0x0a000002));
	assert_int_equal(nic.ipv4[1].hdr.dst_addr, 0);
	assert_int_equal(nic.ipv4[0].hdr.type_of_service, 0x12);
	assert_int_equal(nic.ipv4[0].hdr.time_to_live, 63);
	assert_int_equal(nic.ipv4[0].hdr.next_proto_id, IPPROTO_UDP);
	assert_int_equal(nic.ipv4[0].hdr.fragment_offset, RTE_BE16(0x4000));
	assert_int_equal(nic.udp[0].hdr.src_port, RTE_BE16(0x1234));
	assert_int_equal(nic.udp[1].hdr.src_port, 0);
	assert_int_equal(nic.udp[0].hdr.dst_port, RTE_BE16(7000));
	assert_int_equal(nic.udp[1].hdr.dst_port, 0xffff);
}

static void pattern__ipv6(void **state)
{
	struct roost_flow_rule_init init = {
		.drops = true,
		.value = { .ip_version = 6,
			   .l4 = IPPROTO_TCP,
			   .src_ip = { 0xfd },
			   .dst_ip = { [15] = 9 },
			   .flow_label = { 0, 0xc, 0xde, 0xf0 },
			   .tclass = 0xab,
			   .ttl = 64,
			   .src_port = { 0, 80 } },
		.mask = { .ip_version = 0xff,
			  .l4 = 0xff,
			  .tclass = 0xff,
			  .src_port = { 0xff, 0xff } },
	};

	ask(&init);
	check_types(RTE_FLOW_ITEM_TYPE_IPV6, RTE_FLOW_ITEM_TYPE_TCP,
		    RTE_FLOW_ITEM_TYPE_END);
	assert_memory_equal(&nic.ipv6[0].hdr.src_addr, init.value.src_ip, 16);
	assert_memory_equal(&nic.ipv6[0].hdr.dst_addr, init.value.dst_ip, 16);
	assert_int_equal(nic.ipv6[0].hdr.vtc_flow, RTE_BE32(0x0abcdef0));
	assert_int_equal(nic.ipv6[1].hdr.vtc_flow, RTE_BE32(0x0ff00000));
	assert_int_equal(nic.ipv6[0].hdr.hop_limits, 64);
	assert_int_equal(nic.tcp[0].hdr.src_port, RTE_BE16(80));
	assert_int_equal(nic.tcp[1].hdr.src_port, 0xffff);
	assert_int_equal(nic.action, RTE_FLOW_ACTION_TYPE_DROP);
}

/* Where one queue gets all frames, the NIC only drops. */
static void rules__only_where_of_use(void **state)
{
	struct roost_flow_rule_init init = { 0 };
	struct roost_nic_rules rules = { 0 };
	struct roost_nic_rule *moves, *drops;

	roost_nic_rules_start(&rules, PORT, false, &ops);
	moves = roost_nic_rules_add(&rules, &init);
	check(&rules, 0, 0);
	init.drops = true;
	drops = roost_nic_rules_add(&rules, &init);
	check(&rules, 1, 0);
	roost_nic_rules_del(&rules, moves);
	check(&rules, 1, 0);
	roost_nic_rules_del(&rules, drops);
	check(&rules, 0, 0);
}

static void rules__refused_are_counted(void **state)
{
	const struct roost_flow_rule_init init = { 0 };
	struct roost_nic_rules rules = { 0 };
	struct roost_nic_rule *a, *b;

	roost_nic_rules_start(&rules, PORT, true, &ops);
	nic.refuses = true;
	a = roost_nic_rules_add(&rules, &init);
	check(&rules, 0, 1);
	nic.refuses = false;
	nic.is_full = true;
	b = roost_nic_rules_add(&rules, &init);
	check(&rules, 0, 2);
	roost_nic_rules_del(&rules, a);
	roost_nic_rules_del(&rules, b);
	check(&rules, 0, 0);
}

/* A reset of the port: no rule stays behind, and all come back, one that was
 * made meanwhile, too.
 */
static void rules__come_back(void **state)
{
	const struct roost_flow_rule_init init = { 0 };
	struct roost_nic_rules rules = { 0 };
	struct roost_nic_rule *v[3];

	v[0] = roost_nic_rules_add(&rules, &init);
	check(&rules, 0, 0);
	roost_nic_rules_start(&rules, PORT, true, &ops);
	v[1] = roost_nic_rules_add(&rules, &init);
	check(&rules, 2, 0);
	roost_nic_rules_stop(&rules);
	check(&rules, 0, 0);
	v[2] = roost_nic_rules_add(&rules, &init);
	roost_nic_rules_start(&rules, PORT, true, &ops);
	check(&rules, 3, 0);
	/* Without a device there is nothing to ask. */
	roost_nic_rules_stop(&rules);
	for (unsigned int i = 0; i < 3; i++)
		roost_nic_rules_del(&rules, v[i]);
	check(&rules, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pattern__ethernet, setup),
		cmocka_unit_test_setup(pattern__vlan_and_ipv4, setup),
		cmocka_unit_test_setup(pattern__ipv6, setup),
		cmocka_unit_test_setup(rules__only_where_of_use, setup),
		cmocka_unit_test_setup(rules__refused_are_counted, setup),
		cmocka_unit_test_setup(rules__come_back, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
