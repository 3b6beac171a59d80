/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What programs say of flow rules, and what the engine is told. */

#include <arpa/inet.h>
#include <netinet/in.h>

#include "qp_world.h"

/* An attribute with specs behind it, as it stands in memory. */
static struct {
	struct ibv_flow_attr attr;
	uint8_t specs[256];
} rule;

static struct ibv_qp *qp;

static void begin(enum ibv_flow_attr_type type)
{
	memset(&rule, 0, sizeof(rule));
	rule.attr = (struct ibv_flow_attr){
		.type = type,
		.size = sizeof(rule.attr),
		.port = 1,
		.priority = 7,
	};
}

static void add(const void *spec, size_t len)
{
	memcpy((uint8_t *)&rule + rule.attr.size, spec, len);
	rule.attr.size = (uint16_t)(rule.attr.size + len);
	rule.attr.num_of_specs++;
}

/* Create it and destroy it; fake.flow_init is what the engine was told. */
static void taken(void)
{
	struct ibv_flow *flow = ibv_create_flow(qp, &rule.attr);

	assert_non_null(flow);
	assert_int_equal(fake.flows, 1);
	assert_ptr_equal(flow->context, c);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(fake.flows, 0);
}

static int setup_flow(void **state)
{
	struct ibv_qp_init_attr attr;

	setup(state);
	attr = rc_attr();
	attr.qp_type = IBV_QPT_RAW_PACKET;
	qp = ibv_create_qp(pd, &attr);
	if (!qp && errno == EPERM) {
		teardown(state);
		return 0;
	}
	assert_non_null(qp);
	assert_int_equal(fake.qp_init.type, ROOST_QPT_RAW);
	return 0;
}

static int teardown_flow(void **state)
{
	if (!qp)
		return 0;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return teardown(state);
}

/* Without CAP_NET_RAW there is no such QP, and nothing to test. */
#define NEEDS_QP()                                                             \
	do {                                                                   \
		if (!qp)                                                       \
			skip();                                                \
	} while (0)

static void create_qp__store_flags(void **state)
{
	const struct ibv_qp_init_attr rc = rc_attr();
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = rc.send_cq,
		.recv_cq = rc.recv_cq,
		.cap = rc.cap,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING,
	};
	struct ibv_qp *other;

	NEEDS_QP();
	other = ibv_create_qp_ex(c, &attr);
	assert_non_null(other);
	assert_int_equal(fake.qp_init.store_flags, ROOST_STORE_STRIP_CVLAN);
	assert_false(fake.qp_init.block_self_mcast);
	assert_int_equal(ibv_destroy_qp(other), 0);
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	other = ibv_create_qp_ex(c, &attr);
	assert_non_null(other);
	assert_int_equal(fake.qp_init.store_flags, ROOST_STORE_FCS);
	assert_int_equal(ibv_destroy_qp(other), 0);
	/* A table's WQs have flags of their own. */
	attr.comp_mask |= IBV_QP_INIT_ATTR_IND_TABLE;
	assert_null_errno(ibv_create_qp_ex(c, &attr), EOPNOTSUPP);
}

static void create_flow__every_field(void **state)
{
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val = { { 1, 2, 3, 4, 5, 6 },
			 { 7, 8, 9, 10, 11, 12 },
			 htons(0x86dd),
			 htons(0x6005) },
		.mask = { { 0xff, 0xff, 0xff, 0, 0, 0 },
			  { 0, 0, 0, 0xff, 0xff, 0xff },
			  0xffff,
			  htons(0x0fff) },
	};
	struct ibv_flow_spec_ipv6 ip = {
		.type = IBV_FLOW_SPEC_IPV6,
		.size = sizeof(ip),
		.val = { { 0xfd, [15] = 1 },
			 { 0xfe, [15] = 2 },
			 htonl(0x12345),
			 IPPROTO_TCP,
			 0x20,
			 9 },
	};
	struct ibv_flow_spec_tcp_udp tcp = {
		.type = IBV_FLOW_SPEC_TCP,
		.size = sizeof(tcp),
		.val = { htons(80), htons(1234) },
		.mask = { 0xffff, htons(0xff00) },
	};
	const struct roost_flow_key *v = &fake.flow_init.value;
	const struct roost_flow_key *m = &fake.flow_init.mask;
	/* Of a value, what its mask leaves. */
	const uint8_t dst_mac[6] = { 1, 2, 3 };
	const uint8_t src_mac[6] = { [3] = 10, 11, 12 };
	const uint8_t ether_type[2] = { 0x86, 0xdd }, vlan_tci[2] = { 0, 5 };
	const uint8_t dst_port[2] = { 0, 80 }, src_port[2] = { 4, 0 };

	NEEDS_QP();
	memset(&ip.mask, 0xff, sizeof(ip.mask));
	begin(IBV_FLOW_ATTR_NORMAL);
	add(&eth, sizeof(eth));
	add(&ip, sizeof(ip));
	add(&tcp, sizeof(tcp));
	taken();
	assert_int_equal(fake.flow_init.type, ROOST_FLOW_NORMAL);
	assert_int_equal(fake.flow_init.priority, 7);
	assert_int_equal(fake.flow_init.port_num, 1);
	assert_false(fake.flow_init.dont_trap);
	assert_memory_equal(v->dst_mac, dst_mac, 6);
	assert_memory_equal(v->src_mac, src_mac, 6);
	assert_memory_equal(v->ether_type, ether_type, 2);
	assert_memory_equal(v->vlan_tci, vlan_tci, 2);
	assert_int_equal(v->is_tagged & m->is_tagged, 0xff);
	assert_memory_equal(v->src_ip, ip.val.src_ip, 16);
	assert_memory_equal(v->dst_ip, ip.val.dst_ip, 16);
	assert_memory_equal(v->flow_label, &ip.val.flow_label, 4);
	assert_int_equal(v->ip_proto, IPPROTO_TCP);
	assert_int_equal(v->tclass, 0x20);
	assert_int_equal(v->ttl, 9);
	assert_int_equal(v->ip_version, 6);
	assert_int_equal(m->ip_version, 0xff);
	assert_int_equal(v->l4, IPPROTO_TCP);
	assert_int_equal(m->l4, 0xff);
	assert_memory_equal(v->dst_port, dst_port, 2);
	assert_memory_equal(v->src_port, src_port, 2);
	assert_int_equal(m->ip_flags, 0);
}

static void create_flow__ipv4(void **state)
{
	struct ibv_flow_spec_ipv4_ext ext = {
		.type = IBV_FLOW_SPEC_IPV4_EXT,
		.size = sizeof(ext),
		.val = { htonl(0x0a000001), htonl(0x0a000002), IPPROTO_UDP,
			 0x10, 5, 2 },
	};
	struct ibv_flow_spec_ipv4 ip = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(ip),
		.val = { htonl(0x0a000001), 0 },
		.mask = { 0xffffffff, 0 },
	};
	const struct roost_flow_key *v = &fake.flow_init.value;

	NEEDS_QP();
	memset(&ext.mask, 0xff, sizeof(ext.mask));
	begin(IBV_FLOW_ATTR_NORMAL);
	add(&ext, sizeof(ext));
	/* The same once more. */
	add(&ip, sizeof(ip));
	taken();
	assert_int_equal(v->ip_version, 4);
	assert_memory_equal(v->src_ip, &ext.val.src_ip, 4);
	assert_memory_equal(v->dst_ip, &ext.val.dst_ip, 4);
	assert_int_equal(v->ip_proto, IPPROTO_UDP);
	assert_int_equal(v->tclass, 0x10);
	assert_int_equal(v->ttl, 5);
	assert_int_equal(v->ip_flags, 2);
	/* Something else of the same field. */
	ip.val.src_ip = htonl(0x0a000009);
	begin(IBV_FLOW_ATTR_NORMAL);
	add(&ext, sizeof(ext));
	add(&ip, sizeof(ip));
	assert_null_errno(ibv_create_flow(qp, &rule.attr), EINVAL);
}

static void create_flow__actions(void **state)
{
	struct ibv_counters_init_attr none = { 0 };
	struct ibv_counters *counters;
	struct ibv_flow_spec_action_tag tag = {
		.type = IBV_FLOW_SPEC_ACTION_TAG,
		.size = sizeof(tag),
		.tag_id = 0xffffff,
	};
	struct ibv_flow_spec_action_drop drop = {
		.type = IBV_FLOW_SPEC_ACTION_DROP,
		.size = sizeof(drop),
	};
	struct ibv_flow_spec_counter_action count = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT,
		.size = sizeof(count),
	};
	struct ibv_flow *flow;

	NEEDS_QP();
	counters = ibv_create_counters(c, &none);
	assert_non_null(counters);
	count.counters = counters;
	begin(IBV_FLOW_ATTR_NORMAL);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	add(&tag, sizeof(tag));
	add(&drop, sizeof(drop));
	add(&count, sizeof(count));
	flow = ibv_create_flow(qp, &rule.attr);
	assert_non_null(flow);
	assert_int_equal(fake.flow_init.tag, 0xffffff);
	assert_true(fake.flow_init.drops);
	assert_true(fake.flow_init.dont_trap);
	assert_non_null(fake.flow_init.counters);
	assert_errno(ibv_destroy_counters(counters), EBUSY);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	/* Too large; twice. */
	tag.tag_id++;
	begin(IBV_FLOW_ATTR_NORMAL);
	add(&tag, sizeof(tag));
	assert_null_errno(ibv_create_flow(qp, &rule.attr), EINVAL);
	begin(IBV_FLOW_ATTR_NORMAL);
	count.counters = NULL;
	add(&count, sizeof(count));
	assert_null_errno(ibv_create_flow(qp, &rule.attr), EINVAL);
}

/* As with rdma-core, which counts the specs; pyverbs gives the attribute's own
 * size.
 */
static void create_flow__size_is_not_read(void **state)
{
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val = { .ether_type = htobe16(0x88b5) },
		.mask = { .ether_type = 0xffff },
	};

	NEEDS_QP();
	begin(IBV_FLOW_ATTR_NORMAL);
	add(&eth, sizeof(eth));
	rule.attr.size = sizeof(rule.attr);
	taken();
	assert_int_equal(fake.flow_init.value.ether_type[1], 0xb5);
	rule.attr.size = 0;
	taken();
}

static void create_flow__types(void **state)
{
	static const struct {
		int type;
		int error;
		enum roost_flow_type engine;
	} rows[] = {
		{ IBV_FLOW_ATTR_NORMAL, 0, ROOST_FLOW_NORMAL },
		{ IBV_FLOW_ATTR_ALL_DEFAULT, 0, ROOST_FLOW_ALL_DEFAULT },
		{ IBV_FLOW_ATTR_MC_DEFAULT, 0, ROOST_FLOW_MCAST_DEFAULT },
		{ IBV_FLOW_ATTR_SNIFFER, 0, ROOST_FLOW_SNIFFER },
		{ 4, EINVAL, 0 },
		{ -1, EINVAL, 0 },
	};

	NEEDS_QP();
	for (size_t i = 0; i < NB(rows); i++) {
		begin((enum ibv_flow_attr_type)rows[i].type);
		if (rows[i].error) {
			assert_null_errno(ibv_create_flow(qp, &rule.attr),
					  rows[i].error);
			continue;
		}
		taken();
		assert_int_equal(fake.flow_init.type, rows[i].engine);
	}
	/* The engine's word. */
	begin(IBV_FLOW_ATTR_NORMAL);
	fake.fail_call = "roost_flow_rule_create";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_create_flow(qp, &rule.attr), ENOMEM);
}

static void counters__places(void **state)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr attach = {
		.counter_desc = IBV_COUNTER_BYTES,
		.index = 15,
	};
	struct ibv_flow flow = { .context = c };
	struct ibv_counters *counters;
	const uint32_t cached = IBV_READ_COUNTERS_ATTR_PREFER_CACHED;
	uint64_t values[20];

	counters = ibv_create_counters(c, &init);
	assert_non_null(counters);
	init.comp_mask = 1;
	assert_null_errno(ibv_create_counters(c, &init), EINVAL);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &attach,
							NULL),
			 0);
	assert_errno(ibv_attach_counters_point_flow(counters, &attach, &flow),
		     EOPNOTSUPP);
	attach.index = 16;
	assert_errno(ibv_attach_counters_point_flow(counters, &attach, NULL),
		     EINVAL);
	attach.index = 0;
	attach.counter_desc = (enum ibv_counter_description)2;
	assert_errno(ibv_attach_counters_point_flow(counters, &attach, NULL),
		     EINVAL);
	memset(values, 0xff, sizeof(values));
	assert_int_equal(ibv_read_counters(counters, values, 20, cached), 0);
	for (size_t i = 0; i < NB(values); i++)
		assert_int_equal(values[i], 0);
	assert_errno(ibv_read_counters(counters, values, 20, 2), EINVAL);
	assert_int_equal(ibv_destroy_counters(counters), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(create_qp__store_flags,
						setup_flow, teardown_flow),
		cmocka_unit_test_setup_teardown(create_flow__every_field,
						setup_flow, teardown_flow),
		cmocka_unit_test_setup_teardown(create_flow__ipv4, setup_flow,
						teardown_flow),
		cmocka_unit_test_setup_teardown(create_flow__actions,
						setup_flow, teardown_flow),
		cmocka_unit_test_setup_teardown(create_flow__size_is_not_read,
						setup_flow, teardown_flow),
		cmocka_unit_test_setup_teardown(create_flow__types, setup_flow,
						teardown_flow),
		cmocka_unit_test_setup_teardown(counters__places, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
