/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>

#include "pd_world.h"

/* 198.18.0.1 is entry 2 of the fake's table, fe80::1 entry 0. */
static const uint8_t ours4[4] = { 198, 18, 0, 1 };
static const uint8_t peer4[4] = { 198, 18, 0, 2 };
static const uint8_t group4[4] = { 224, 0, 0, 9 };

static void create_ah__passes_the_address(void **state)
{
	struct ibv_ah_attr attr = {
		.grh = {
			.flow_label = 3,
			.sgid_index = 2,
			.hop_limit = 4,
			.traffic_class = 5,
		},
		.dlid = 6,
		.sl = 7,
		.src_path_bits = 8,
		.static_rate = 9,
		.is_global = 1,
		.port_num = 1,
	};
	struct ibv_ah *ah;

	attr.grh.dgid.raw[15] = 0xaa;
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_ptr_equal(ah->context, c);
	assert_ptr_equal(ah->pd, pd);
	assert_int_equal(fake.av.dgid.b[15], 0xaa);
	assert_int_equal(fake.av.flow_label, 3);
	assert_int_equal(fake.av.sgid_index, 2);
	assert_int_equal(fake.av.hop_limit, 4);
	assert_int_equal(fake.av.traffic_class, 5);
	assert_int_equal(fake.av.dlid, 6);
	assert_int_equal(fake.av.sl, 7);
	assert_int_equal(fake.av.src_path_bits, 8);
	assert_int_equal(fake.av.static_rate, 9);
	assert_true(fake.av.is_global);
	assert_int_equal(fake.av.port_num, 1);
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(fake.ahs, 0);
	fake.fail_call = "roost_ah_create";
	fake.fail_rc = -ETIMEDOUT;
	assert_null_errno(ibv_create_ah(pd, &attr), ETIMEDOUT);
}

static struct ibv_grh grh_v4(const uint8_t from[4], const uint8_t to[4])
{
	struct ibv_grh grh = { 0 };
	struct iphdr *ip = (void *)((char *)&grh + 20);

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = 0x68;
	ip->ttl = 33;
	memcpy(&ip->saddr, from, 4);
	memcpy(&ip->daddr, to, 4);
	return grh;
}

static void init_ah_from_wc__ipv4(void **state)
{
	struct ibv_wc wc = {
		.wc_flags = IBV_WC_GRH,
		.slid = 0x1202,
		.sl = ROOST_WC_SL_IPV4,
		.dlid_path_bits = 1,
	};
	struct ibv_grh grh = grh_v4(peer4, ours4);
	const struct roost_gid peer = roost_gid_from_v4(peer4);
	struct ibv_ah_attr attr;

	memset(&attr, 0xee, sizeof(attr));
	assert_int_equal(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_memory_equal(attr.grh.dgid.raw, peer.b, 16);
	assert_int_equal(attr.grh.sgid_index, 2);
	assert_int_equal(attr.grh.hop_limit, 33);
	assert_int_equal(attr.grh.traffic_class, 0x68);
	assert_int_equal(attr.grh.flow_label, 0);
	assert_int_equal(attr.dlid, 0x1202);
	/* The priority of the answer is in its traffic class. */
	assert_int_equal(attr.sl, 0);
	assert_int_equal(attr.src_path_bits, 1);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.static_rate, 0);
}

static void init_ah_from_wc__ipv6(void **state)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = {
		.version_tclass_flow =
			htobe32(6u << 28 | 0x12u << 20 | 0xabcde),
		.next_hdr = IPPROTO_UDP,
		.hop_limit = 44,
	};
	struct ibv_ah_attr attr;

	grh.sgid.raw[0] = 0xfe;
	grh.sgid.raw[1] = 0x80;
	grh.sgid.raw[15] = 2;
	memcpy(grh.dgid.raw, fake.gids[0].b, 16);
	assert_int_equal(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr), 0);
	assert_memory_equal(attr.grh.dgid.raw, grh.sgid.raw, 16);
	assert_int_equal(attr.grh.sgid_index, 0);
	assert_int_equal(attr.grh.hop_limit, 44);
	assert_int_equal(attr.grh.traffic_class, 0x12);
	assert_int_equal(attr.grh.flow_label, 0xabcde);
}

/* A group is no address to answer from: ours of the same kind is. */
static void init_ah_from_wc__multicast(void **state)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = grh_v4(peer4, group4);
	struct ibv_ah_attr attr;

	assert_int_equal(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 2);

	memset(&grh, 0, sizeof(grh));
	grh.version_tclass_flow = htobe32(6u << 28);
	grh.sgid.raw[0] = 0xfe;
	grh.sgid.raw[1] = 0x80;
	grh.dgid.raw[0] = 0xff;
	assert_int_equal(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 0);
	/* we have no global IPv6 address */
	grh.sgid.raw[0] = 0x20;
	assert_minus_one_errno(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr),
			       EINVAL);
}

static void init_ah_from_wc__without_grh_looks_at_none(void **state)
{
	struct ibv_wc wc = { .slid = 7 };
	struct ibv_ah_attr attr;

	assert_int_equal(ibv_init_ah_from_wc(c, 1, &wc, NULL, &attr), 0);
	assert_int_equal(attr.is_global, 0);
	assert_int_equal(attr.dlid, 7);
}

static void init_ah_from_wc__errors(void **state)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = grh_v4(peer4, peer4);
	struct ibv_grh none = { 0 };
	struct ibv_ah_attr attr;

	/* not to an address of ours, not on a port of ours, no IP at all */
	assert_minus_one_errno(ibv_init_ah_from_wc(c, 1, &wc, &grh, &attr),
			       EINVAL);
	grh = grh_v4(peer4, ours4);
	assert_minus_one_errno(ibv_init_ah_from_wc(c, 2, &wc, &grh, &attr),
			       EINVAL);
	assert_minus_one_errno(ibv_init_ah_from_wc(c, 1, &wc, &none, &attr),
			       EPROTONOSUPPORT);
	assert_null_errno(ibv_create_ah_from_wc(pd, &wc, &none, 1),
			  EPROTONOSUPPORT);
}

static void create_ah_from_wc__makes_one(void **state)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = grh_v4(peer4, ours4);
	const struct roost_gid peer = roost_gid_from_v4(peer4);
	struct ibv_ah *ah = ibv_create_ah_from_wc(pd, &wc, &grh, 1);

	assert_non_null(ah);
	assert_memory_equal(fake.av.dgid.b, peer.b, 16);
	ibv_destroy_ah(ah);
}

static void resolve_eth_l2__asks_the_neighbour(void **state)
{
	struct ibv_ah_attr attr = { .grh = { .sgid_index = 2 }, .port_num = 1 };
	uint8_t mac[6] = { 0 };
	uint16_t vid = 5;

	assert_int_equal(ibv_resolve_eth_l2_from_gid(c, &attr, mac, &vid), 0);
	assert_memory_equal(mac, "\x02\x03\x04\x05\x06\x07", 6);
	assert_int_equal(vid, 0xffff);
	assert_true(fake.av.is_global);
	fake.port.vlan_id = 100;
	assert_int_equal(ibv_resolve_eth_l2_from_gid(c, &attr, mac, &vid), 0);
	assert_int_equal(vid, 100);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(c, &attr, mac, NULL), 0);
	fake.fail_call = "roost_av_resolve";
	fake.fail_rc = -EHOSTUNREACH;
	vid = 5;
	assert_int_equal(ibv_resolve_eth_l2_from_gid(c, &attr, mac, &vid),
			 -EHOSTUNREACH);
	assert_int_equal(vid, 5);
}

static void mcast__attach_and_detach(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD };
	struct ibv_cq *cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	struct ibv_qp *qp;
	union ibv_gid group = { .raw = { 0xff, 0x0e } };

	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0xc000), 0);
	assert_int_equal(fake.group.b[0], 0xff);
	assert_int_equal(fake.group.b[1], 0x0e);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(fake.attaches, 1);
	assert_int_equal(fake.detaches, 1);
	fake.fail_call = "roost_mcast_attach";
	fake.fail_rc = -EINVAL;
	assert_errno(ibv_attach_mcast(qp, &group, 0), EINVAL);
	fake.fail_call = "roost_mcast_detach";
	assert_errno(ibv_detach_mcast(qp, &group, 0), EINVAL);
	/* attached */
	fake.fail_call = "roost_qp_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_qp(qp), EBUSY);
	fake.fail_call = NULL;
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_ah__passes_the_address),
		TEST(init_ah_from_wc__ipv4),
		TEST(init_ah_from_wc__ipv6),
		TEST(init_ah_from_wc__multicast),
		TEST(init_ah_from_wc__without_grh_looks_at_none),
		TEST(init_ah_from_wc__errors),
		TEST(create_ah_from_wc__makes_one),
		TEST(resolve_eth_l2__asks_the_neighbour),
		TEST(mcast__attach_and_detach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
