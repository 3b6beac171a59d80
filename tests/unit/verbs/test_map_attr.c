/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/verbs/map.h"
#include "tests/cmocka.h"

static struct ibv_ah_attr numbered_ah(uint8_t from)
{
	struct ibv_ah_attr ah = {
		.grh = {
			.flow_label = from + 1u,
			.sgid_index = (uint8_t)(from + 2),
			.hop_limit = (uint8_t)(from + 3),
			.traffic_class = (uint8_t)(from + 4),
		},
		.dlid = (uint16_t)(from + 5),
		.sl = (uint8_t)(from + 6),
		.src_path_bits = (uint8_t)(from + 7),
		.static_rate = (uint8_t)(from + 8),
		.is_global = 1,
		.port_num = (uint8_t)(from + 9),
	};

	memset(ah.grh.dgid.raw, from, sizeof(ah.grh.dgid.raw));
	return ah;
}

/* Every member has a value of its own. */
static struct ibv_qp_attr numbered_attr(void)
{
	struct ibv_qp_attr a;

	memset(&a, 0, sizeof(a));
	a.qp_state = IBV_QPS_RTS;
	a.cur_qp_state = IBV_QPS_SQD;
	a.path_mtu = IBV_MTU_2048;
	a.path_mig_state = IBV_MIG_ARMED;
	a.qkey = 101;
	a.rq_psn = 102;
	a.sq_psn = 103;
	a.dest_qp_num = 104;
	a.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	a.cap = (struct ibv_qp_cap){ 105, 106, 107, 108, 109 };
	a.ah_attr = numbered_ah(10);
	a.alt_ah_attr = numbered_ah(30);
	a.pkey_index = 110;
	a.alt_pkey_index = 111;
	a.en_sqd_async_notify = 1;
	a.sq_draining = 1;
	a.max_rd_atomic = 112;
	a.max_dest_rd_atomic = 113;
	a.min_rnr_timer = 114;
	a.port_num = 115;
	a.timeout = 116;
	a.retry_cnt = 117;
	a.rnr_retry = 118;
	a.alt_port_num = 119;
	a.alt_timeout = 120;
	a.rate_limit = 121;
	return a;
}

static const int all = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS |
		       IBV_QP_PATH_MTU | IBV_QP_PATH_MIG_STATE | IBV_QP_AV |
		       IBV_QP_ALT_PATH;

static void qp_attr__every_member_arrives(void **state)
{
	const struct ibv_qp_attr a = numbered_attr();
	struct roost_qp_attr got;
	uint32_t mask;

	assert_int_equal(roost_map_qp_attr(&a, all, &got, &mask), 0);
	assert_int_equal(mask, (uint32_t)all);
	assert_int_equal(got.state, ROOST_QPS_RTS);
	assert_int_equal(got.cur_state, ROOST_QPS_SQD);
	assert_int_equal(got.path_mtu, ROOST_MTU_2048);
	assert_int_equal(got.path_mig_state, ROOST_MIG_ARMED);
	assert_int_equal(got.qkey, 101);
	assert_int_equal(got.rq_psn, 102);
	assert_int_equal(got.sq_psn, 103);
	assert_int_equal(got.dest_qpn, 104);
	assert_int_equal(got.access, ROOST_ACCESS_REMOTE_READ);
	assert_int_equal(got.cap.max_send_wr, 105);
	assert_int_equal(got.cap.max_recv_wr, 106);
	assert_int_equal(got.cap.max_send_sge, 107);
	assert_int_equal(got.cap.max_recv_sge, 108);
	assert_int_equal(got.cap.max_inline_bytes, 109);
	assert_int_equal(got.av.dgid.b[0], 10);
	assert_int_equal(got.av.dgid.b[15], 10);
	assert_int_equal(got.av.flow_label, 11);
	assert_int_equal(got.av.sgid_index, 12);
	assert_int_equal(got.av.hop_limit, 13);
	assert_int_equal(got.av.traffic_class, 14);
	assert_int_equal(got.av.dlid, 15);
	assert_int_equal(got.av.sl, 16);
	assert_int_equal(got.av.src_path_bits, 17);
	assert_int_equal(got.av.static_rate, 18);
	assert_true(got.av.is_global);
	assert_int_equal(got.av.port_num, 19);
	assert_int_equal(got.alt_av.dgid.b[0], 30);
	assert_int_equal(got.alt_av.port_num, 39);
	assert_int_equal(got.pkey_index, 110);
	assert_int_equal(got.alt_pkey_index, 111);
	assert_true(got.en_sqd_async_notify);
	assert_int_equal(got.max_rd_atomic, 112);
	assert_int_equal(got.max_dest_rd_atomic, 113);
	assert_int_equal(got.min_rnr_timer, 114);
	assert_int_equal(got.port_num, 115);
	assert_int_equal(got.timeout, 116);
	assert_int_equal(got.retry_cnt, 117);
	assert_int_equal(got.rnr_retry, 118);
	assert_int_equal(got.alt_port_num, 119);
	assert_int_equal(got.alt_timeout, 120);
	assert_int_equal(got.rate_limit_kbps, 121);
}

static void qp_attr__comes_back_as_it_went(void **state)
{
	const struct ibv_qp_attr a = numbered_attr();
	struct ibv_qp_attr back;
	struct roost_qp_attr engine;
	uint32_t mask;

	assert_int_equal(roost_map_qp_attr(&a, all, &engine, &mask), 0);
	memset(&back, 0xff, sizeof(back));
	roost_unmap_qp_attr(&engine, &back);
	assert_memory_equal(&back, &a, sizeof(a));
}

static void qp_attr__what_the_mask_leaves_out_may_be_anything(void **state)
{
	struct roost_qp_attr got;
	struct ibv_qp_attr a;
	uint32_t mask;

	memset(&a, 0xee, sizeof(a));
	assert_int_equal(roost_map_qp_attr(&a, 0, &got, &mask), 0);
	assert_int_equal(mask, 0);
	assert_int_equal(got.state, 0);
	assert_int_equal(got.path_mtu, 0);
	assert_int_equal(got.access, 0);
}

static void qp_attr__bad_values(void **state)
{
	struct roost_qp_attr got;
	struct ibv_qp_attr a;
	uint32_t mask;

	memset(&a, 0, sizeof(a));
	a.qp_state = IBV_QPS_UNKNOWN;
	a.cur_qp_state = (enum ibv_qp_state)99;
	a.qp_access_flags = 1 << 15;
	a.path_mig_state = (enum ibv_mig_state)3;
	assert_int_equal(roost_map_qp_attr(&a, IBV_QP_STATE, &got, &mask),
			 -EINVAL);
	assert_int_equal(roost_map_qp_attr(&a, IBV_QP_CUR_STATE, &got, &mask),
			 -EINVAL);
	assert_int_equal(roost_map_qp_attr(&a, IBV_QP_ACCESS_FLAGS, &got,
					   &mask),
			 -EINVAL);
	assert_int_equal(roost_map_qp_attr(&a, IBV_QP_PATH_MIG_STATE, &got,
					   &mask),
			 -EINVAL);
	for (int mtu = -1; mtu < 8; mtu++) {
		a.path_mtu = (enum ibv_mtu)mtu;
		assert_int_equal(roost_map_qp_attr(&a, IBV_QP_PATH_MTU, &got,
						   &mask),
				 mtu >= 1 && mtu <= 5 ? 0 : -EINVAL);
	}
	assert_int_equal(roost_map_qp_attr(&a, 1 << 21, &got, &mask), -EINVAL);
}

static void mig_state__every_value(void **state)
{
	static const enum ibv_mig_state values[] = {
		IBV_MIG_MIGRATED,
		IBV_MIG_REARM,
		IBV_MIG_ARMED,
	};
	static const enum roost_mig_state engine[] = {
		ROOST_MIG_MIGRATED,
		ROOST_MIG_REARM,
		ROOST_MIG_ARMED,
	};

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr a = { .path_mig_state = values[i] }, back;
		struct roost_qp_attr got;
		uint32_t mask;

		assert_int_equal(roost_map_qp_attr(&a, IBV_QP_PATH_MIG_STATE,
						   &got, &mask),
				 0);
		assert_int_equal(got.path_mig_state, engine[i]);
		roost_unmap_qp_attr(&got, &back);
		assert_int_equal(back.path_mig_state, values[i]);
	}
}

/* As ib_get_eth_speed() of the Linux kernel, with the lanes' real product. */
static void speed__width_and_lane(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} rows[] = {
		{ 0, 1, 1 },
		{ 10, 1, 1 },
		{ 1000, 1, 1 },
		{ 1001, 1, 8 },
		{ 10000, 1, 8 },
		{ 20000, 2, 2 },
		{ 25000, 1, 32 },
		{ 40000, 2, 8 },
		{ 50000, 1, 64 },
		{ 100000, 2, 32 },
		{ 200000, 2, 64 },
		{ 400000, 2, 128 },
		{ UINT32_MAX, 2, 128 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t width, speed;

		roost_unmap_speed(rows[i].mbps, &width, &speed);
		assert_int_equal(width, rows[i].width);
		assert_int_equal(speed, rows[i].speed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp_attr__every_member_arrives),
		cmocka_unit_test(qp_attr__comes_back_as_it_went),
		cmocka_unit_test(
			qp_attr__what_the_mask_leaves_out_may_be_anything),
		cmocka_unit_test(qp_attr__bad_values),
		cmocka_unit_test(mig_state__every_value),
		cmocka_unit_test(speed__width_and_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
