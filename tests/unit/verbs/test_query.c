/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <endian.h>
#include <time.h>

#include "lib/verbs/private.h"
#include "verbs_test.h"

static void query_device__is_the_engines_limits(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_device_attr a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal(ibv_query_device(c, &a), 0);
	assert_int_equal(a.max_qp, 100);
	assert_int_equal(a.max_qp_wr, 200);
	assert_int_equal(a.max_sge, 4);
	assert_int_equal(a.max_cq, 300);
	assert_int_equal(a.max_cqe, 400);
	assert_int_equal(a.max_mr, 500);
	assert_int_equal(a.max_pd, 600);
	assert_true(a.max_mr_size == UINT64_C(1) << 40);
	assert_int_equal(a.max_qp_rd_atom, 16);
	assert_int_equal(a.max_pkeys, 2);
	assert_int_equal(a.phys_port_cnt, 1);
	assert_true(a.node_guid == ibv_get_device_guid(c->device));
	assert_true(a.sys_image_guid == a.node_guid);
	assert_int_equal(a.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(a.max_mw, 501);
	assert_int_equal(a.max_srq, 502);
	assert_int_equal(a.max_srq_wr, 200);
	assert_int_equal(a.max_srq_sge, 4);
	assert_int_equal(a.max_ah, 503);
	assert_int_equal(a.max_mcast_grp, 50);
	assert_int_equal(a.max_mcast_qp_attach, 51);
	assert_int_equal(a.max_total_mcast_qp_attach, 50 * 51);
	assert_int_equal(a.max_raw_ethy_qp, 0);
	assert_int_equal(a.device_cap_flags,
			 IBV_DEVICE_CURR_QP_STATE_MOD |
				 IBV_DEVICE_SYS_IMAGE_GUID |
				 IBV_DEVICE_RC_RNR_NAK_GEN |
				 IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
				 IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				 IBV_DEVICE_MEM_MGT_EXTENSIONS |
				 IBV_DEVICE_XRC | IBV_DEVICE_AUTO_PATH_MIG |
				 IBV_DEVICE_RAW_IP_CSUM |
				 IBV_DEVICE_MANAGED_FLOW_STEERING);
	assert_true(strnlen(a.fw_ver, sizeof(a.fw_ver)) < sizeof(a.fw_ver));
	close_roost0(c);
}

static void query_device_ex__fits_the_programs_struct(void **state)
{
	struct ibv_context *c = open_roost0();
	struct verbs_context *v = verbs_get_ctx(c);
	struct {
		struct ibv_device_attr_ex attr;
		uint8_t beyond[16];
	} a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal(ibv_query_device_ex(c, NULL, &a.attr), 0);
	assert_int_equal(a.attr.orig_attr.max_qp, 100);
	assert_true(a.attr.completion_timestamp_mask == UINT64_MAX);
	assert_true(a.attr.hca_core_clock == 1000000);
	assert_int_equal(a.attr.phys_port_cnt_ex, 1);
	assert_int_equal(a.attr.odp_caps.general_caps,
			 IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(a.attr.odp_caps.per_transport_caps.rc_odp_caps, 0x3f);
	assert_int_equal(a.attr.odp_caps.per_transport_caps.uc_odp_caps, 0x27);
	assert_int_equal(a.attr.odp_caps.per_transport_caps.ud_odp_caps, 0x23);
	assert_int_equal(a.attr.xrc_odp_caps, 0x3d);
	assert_true(a.attr.device_cap_flags_ex ==
		    (a.attr.orig_attr.device_cap_flags | UINT64_C(1) << 34 |
		     UINT64_C(1) << 38 | UINT64_C(1) << 40));
	assert_int_equal(a.attr.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(a.attr.cq_mod_caps.max_cq_period, UINT16_MAX);
	assert_int_equal(a.attr.max_dm_size, 256 << 20);
	assert_int_equal(a.attr.packet_pacing_caps.qp_rate_limit_min, 1);
	assert_int_equal(a.attr.packet_pacing_caps.qp_rate_limit_max,
			 UINT32_MAX);
	assert_int_equal(a.attr.packet_pacing_caps.supported_qpts,
			 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD |
				 1 << IBV_QPT_XRC_SEND |
				 1 << IBV_QPT_RAW_PACKET);
	assert_int_equal(a.attr.tm_caps.max_num_tags, 0);
	assert_int_equal(a.attr.rss_caps.supported_qpts,
			 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET);
	assert_int_equal(a.attr.tso_caps.supported_qpts,
			 1u << IBV_QPT_RAW_PACKET);
	assert_int_equal(a.attr.rss_caps.rx_hash_function,
			 IBV_RX_HASH_FUNC_TOEPLITZ);
	assert_int_equal(a.attr.max_wq_type_rq, a.attr.orig_attr.max_qp);
	assert_int_equal(a.attr.raw_packet_caps,
			 IBV_RAW_PACKET_CAP_IP_CSUM |
				 IBV_RAW_PACKET_CAP_CVLAN_STRIPPING |
				 IBV_RAW_PACKET_CAP_SCATTER_FCS);
	assert_int_equal(a.beyond[0], 0xff);

	/* an older program's */
	memset(&a, 0xff, sizeof(a));
	assert_int_equal(v->query_device_ex(c, NULL, &a.attr,
					    sizeof(struct ibv_device_attr)),
			 0);
	assert_int_equal(a.attr.orig_attr.max_qp, 100);
	assert_int_equal(a.attr.comp_mask, UINT32_MAX);

	/* a newer program's */
	memset(&a, 0xff, sizeof(a));
	assert_int_equal(v->query_device_ex(c, NULL, &a.attr, sizeof(a)), 0);
	assert_int_equal(a.beyond[15], 0);
	close_roost0(c);
}

static void query_device_ex__refuses_what_it_does_not_know(void **state)
{
	struct ibv_context *c = open_roost0();
	struct verbs_context *v = verbs_get_ctx(c);
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex a;

	assert_int_equal(ibv_query_device_ex(c, &input, &a), EINVAL);
	assert_errno(v->query_device_ex(c, NULL, &a, 8), EINVAL);
	close_roost0(c);
}

/* The clock of completions, in ticks of hca_core_clock. */
static void query_rt_values__raw_clock(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK |
						IBV_VALUES_MASK_RESERVED };
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(ibv_query_rt_values_ex(c, &v), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(v.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(v.raw_clock.tv_sec, 0);
	assert_true(v.raw_clock.tv_nsec >=
		    before.tv_sec * 1000000000 + before.tv_nsec);
	assert_true(v.raw_clock.tv_nsec <=
		    after.tv_sec * 1000000000 + after.tv_nsec);
	v.comp_mask = 0;
	assert_errno(ibv_query_rt_values_ex(c, &v), EINVAL);
	close_roost0(c);
}

static void query_port__is_an_ethernet_port(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_port_attr a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal(ibv_query_port(c, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);
	assert_int_equal(a.max_mtu, IBV_MTU_4096);
	assert_int_equal(a.active_mtu, IBV_MTU_1024);
	assert_int_equal(a.gid_tbl_len, 4);
	assert_int_equal(a.pkey_tbl_len, 2);
	assert_int_equal(a.lid, 0x1201);
	assert_int_equal(a.sm_lid, 7);
	assert_int_equal(a.bad_pkey_cntr, 8);
	assert_int_equal(a.qkey_viol_cntr, 9);
	assert_int_equal(a.max_msg_sz, 1u << 31);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(a.phys_state, 5);
	assert_int_equal(a.flags, IBV_QPF_GRH_REQUIRED);
	assert_int_equal(a.port_cap_flags2, 0);

	fake.port.state = ROOST_PORT_DOWN;
	assert_int_equal(ibv_query_port(c, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_DOWN);
	assert_int_equal(a.phys_state, 3);
	assert_errno(ibv_query_port(c, 0, &a), EINVAL);
	assert_errno(ibv_query_port(c, 2, &a), EINVAL);
	close_roost0(c);
}

/* The exported function is older than the last member of the struct. */
static void query_port__old_entry_point_writes_the_old_struct(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_port_attr a;

	memset(&a, 0xff, sizeof(a));
	assert_int_equal((ibv_query_port)(c, 1,
					  (struct _compat_ibv_port_attr *)&a),
			 0);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(a.port_cap_flags2, UINT16_MAX);
	memset(&a, 0xff, sizeof(a));
	assert_int_equal(c->ops._compat_query_port(
				 c, 1, (struct _compat_ibv_port_attr *)&a),
			 0);
	assert_int_equal(a.port_cap_flags2, UINT16_MAX);
	close_roost0(c);
}

static void query_gid__reads_the_table(void **state)
{
	struct ibv_context *c = open_roost0();
	unsigned int type = 99;
	union ibv_gid gid;

	assert_int_equal(ibv_query_gid(c, 1, 2, &gid), 0);
	assert_memory_equal(gid.raw, fake.gids[2].b, 16);
	assert_minus_one_errno(ibv_query_gid(c, 1, 4, &gid), EINVAL);
	assert_minus_one_errno(ibv_query_gid(c, 1, -1, &gid), EINVAL);
	assert_minus_one_errno(ibv_query_gid(c, 9, 0, &gid), EINVAL);
	assert_int_equal(ibv_query_gid_type(c, 1, 0, &type), 0);
	assert_int_equal(type, ROOST_SYSFS_GID_ROCE_V2);
	assert_minus_one_errno(ibv_query_gid_type(c, 1, 4, &type), EINVAL);
	close_roost0(c);
}

static void query_gid_ex__tells_empty_from_outside(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_gid_entry e;

	assert_int_equal(ibv_query_gid_ex(c, 1, 2, &e, 0), 0);
	assert_memory_equal(e.gid.raw, fake.gids[2].b, 16);
	assert_int_equal(e.gid_index, 2);
	assert_int_equal(e.port_num, 1);
	assert_int_equal(e.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(e.ndev_ifindex, 0);
	assert_errno(ibv_query_gid_ex(c, 1, 1, &e, 0), ENODATA);
	assert_errno(ibv_query_gid_ex(c, 1, 4, &e, 0), EINVAL);
	assert_errno(ibv_query_gid_ex(c, 257, 0, &e, 0), EINVAL);
	assert_errno(ibv_query_gid_ex(c, 1, 2, &e, 1), EINVAL);
	close_roost0(c);
}

static void query_gid_table__lists_what_is_there(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_gid_entry e[8];

	assert_int_equal(ibv_query_gid_table(c, e, 8, 0), 2);
	assert_int_equal(e[0].gid_index, 0);
	assert_int_equal(e[1].gid_index, 2);
	assert_memory_equal(e[1].gid.raw, fake.gids[2].b, 16);
	assert_int_equal(ibv_query_gid_table(c, e, 2, 0), 2);
	assert_int_equal(ibv_query_gid_table(c, e, 1, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(c, e, 8, 1), -EINVAL);
	/* a program whose entries are larger, or smaller */
	assert_int_equal(_ibv_query_gid_table(c, e, 2, 0, 2 * sizeof(e[0])), 2);
	assert_int_equal(e[2].gid_index, 2);
	assert_int_equal(_ibv_query_gid_table(c, e, 2, 0, 20), 2);
	assert_int_equal(*(uint32_t *)((char *)e + 20 + 16), 2);
	close_roost0(c);
}

static void query_pkey__is_in_network_order(void **state)
{
	struct ibv_context *c = open_roost0();
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(c, 1, 1, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0x8001);
	assert_minus_one_errno(ibv_query_pkey(c, 1, 2, &pkey), EINVAL);
	assert_int_equal(ibv_get_pkey_index(c, 1, htobe16(0xffff)), 0);
	assert_int_equal(ibv_get_pkey_index(c, 1, htobe16(0x8001)), 1);
	assert_int_equal(ibv_get_pkey_index(c, 1, htobe16(0x1234)), -1);
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_device__is_the_engines_limits),
		cmocka_unit_test(query_device_ex__fits_the_programs_struct),
		cmocka_unit_test(
			query_device_ex__refuses_what_it_does_not_know),
		cmocka_unit_test(query_rt_values__raw_clock),
		cmocka_unit_test(query_port__is_an_ethernet_port),
		cmocka_unit_test(
			query_port__old_entry_point_writes_the_old_struct),
		cmocka_unit_test(query_gid__reads_the_table),
		cmocka_unit_test(query_gid_ex__tells_empty_from_outside),
		cmocka_unit_test(query_gid_table__lists_what_is_there),
		cmocka_unit_test(query_pkey__is_in_network_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
