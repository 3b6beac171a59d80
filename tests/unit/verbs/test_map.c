/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "lib/verbs/map.h"
#include "tests/cmocka.h"

#define NB(a) (sizeof(a) / sizeof((a)[0]))

static void qp_type__every_value(void **state)
{
	static const struct {
		int verbs;
		int rc;
		enum roost_qp_type engine;
	} rows[] = {
		{ 0, -EINVAL, 0 },
		{ 1, -EINVAL, 0 },
		{ IBV_QPT_RC, 0, ROOST_QPT_RC },
		{ IBV_QPT_UC, 0, ROOST_QPT_UC },
		{ IBV_QPT_UD, 0, ROOST_QPT_UD },
		{ 5, -EINVAL, 0 },
		{ IBV_QPT_RAW_PACKET, 0, ROOST_QPT_RAW },
		{ IBV_QPT_XRC_SEND, 0, ROOST_QPT_XRC_INI },
		{ IBV_QPT_XRC_RECV, 0, ROOST_QPT_XRC_TGT },
		{ 11, -EINVAL, 0 },
		{ IBV_QPT_DRIVER, -EOPNOTSUPP, 0 },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		const enum ibv_qp_type verbs = (enum ibv_qp_type)rows[i].verbs;
		enum roost_qp_type got;

		assert_int_equal(roost_map_qp_type(verbs, &got), rows[i].rc);
		if (rows[i].rc)
			continue;
		assert_int_equal(got, rows[i].engine);
		assert_int_equal(roost_unmap_qp_type(got), verbs);
	}
}

static void wr_opcode__every_value(void **state)
{
	static const struct {
		int verbs;
		int rc;
		enum roost_wr_opcode engine;
	} rows[] = {
		{ -1, -EINVAL, 0 },
		{ IBV_WR_RDMA_WRITE, 0, ROOST_WR_WRITE },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, 0, ROOST_WR_WRITE_IMM },
		{ IBV_WR_SEND, 0, ROOST_WR_SEND },
		{ IBV_WR_SEND_WITH_IMM, 0, ROOST_WR_SEND_IMM },
		{ IBV_WR_RDMA_READ, 0, ROOST_WR_READ },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, 0, ROOST_WR_CMP_SWAP },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, 0, ROOST_WR_FETCH_ADD },
		{ IBV_WR_LOCAL_INV, 0, ROOST_WR_LOCAL_INV },
		{ IBV_WR_BIND_MW, 0, ROOST_WR_BIND_MW },
		{ IBV_WR_SEND_WITH_INV, 0, ROOST_WR_SEND_INV },
		{ IBV_WR_TSO, 0, ROOST_WR_TSO },
		{ IBV_WR_DRIVER1, -EOPNOTSUPP, 0 },
		{ 12, -EINVAL, 0 },
		{ 13, -EINVAL, 0 },
		{ 14, -EINVAL, 0 },
		{ IBV_WR_ATOMIC_WRITE, 0, ROOST_WR_ATOMIC_WRITE },
		{ 16, -EINVAL, 0 },
	};

	for (size_t i = 0; i < NB(rows); i++) {
		const enum ibv_wr_opcode verbs =
			(enum ibv_wr_opcode)rows[i].verbs;
		enum roost_wr_opcode got;

		assert_int_equal(roost_map_wr_opcode(verbs, &got), rows[i].rc);
		if (rows[i].rc == 0)
			assert_int_equal(got, rows[i].engine);
	}
}

static void send_flags__every_bit(void **state)
{
	static const struct {
		uint32_t verbs;
		uint32_t engine;
	} rows[] = {
		{ IBV_SEND_FENCE, ROOST_SEND_FENCE },
		{ IBV_SEND_SIGNALED, ROOST_SEND_SIGNALED },
		{ IBV_SEND_SOLICITED, ROOST_SEND_SOLICITED },
		{ IBV_SEND_INLINE, ROOST_SEND_INLINE },
		{ IBV_SEND_IP_CSUM, ROOST_SEND_IP_CSUM },
	};

	for (int bit = 0; bit < 32; bit++) {
		uint32_t want = 0, got = 0;

		for (size_t i = 0; i < NB(rows); i++)
			if (rows[i].verbs == 1u << bit)
				want = rows[i].engine;
		assert_int_equal(roost_map_send_flags(1u << bit, &got),
				 want ? 0 : -EINVAL);
		assert_int_equal(got, want);
	}
}

static void access__every_bit(void **state)
{
	static const struct {
		uint32_t verbs;
		uint32_t engine;
	} rows[] = {
		{ IBV_ACCESS_LOCAL_WRITE, ROOST_ACCESS_LOCAL_WRITE },
		{ IBV_ACCESS_REMOTE_WRITE, ROOST_ACCESS_REMOTE_WRITE },
		{ IBV_ACCESS_REMOTE_READ, ROOST_ACCESS_REMOTE_READ },
		{ IBV_ACCESS_REMOTE_ATOMIC, ROOST_ACCESS_REMOTE_ATOMIC },
		{ IBV_ACCESS_MW_BIND, ROOST_ACCESS_MW_BIND },
		{ IBV_ACCESS_ZERO_BASED, ROOST_ACCESS_ZERO_BASED },
		{ IBV_ACCESS_ON_DEMAND, ROOST_ACCESS_ON_DEMAND },
		{ 1 << 8, ROOST_ACCESS_FLUSH_GLOBAL },
		{ 1 << 9, ROOST_ACCESS_FLUSH_PERSISTENT },
	};

	for (int bit = 0; bit < 32; bit++) {
		const uint32_t verbs = 1u << bit;
		const int dropped = verbs == IBV_ACCESS_HUGETLB ||
				    (verbs & IBV_ACCESS_OPTIONAL_RANGE);
		uint32_t want = 0, got = 0;

		for (size_t i = 0; i < NB(rows); i++)
			if (rows[i].verbs == verbs)
				want = rows[i].engine;
		assert_int_equal(roost_map_access(verbs, &got),
				 want || dropped ? 0 : -EINVAL);
		assert_int_equal(got, want);
		if (want)
			assert_int_equal(roost_unmap_access(want), verbs);
	}
}

static void qp_state__every_value(void **state)
{
	static const struct {
		enum ibv_qp_state verbs;
		enum roost_qp_state engine;
	} rows[] = {
		{ IBV_QPS_RESET, ROOST_QPS_RESET },
		{ IBV_QPS_INIT, ROOST_QPS_INIT },
		{ IBV_QPS_RTR, ROOST_QPS_RTR },
		{ IBV_QPS_RTS, ROOST_QPS_RTS },
		{ IBV_QPS_SQD, ROOST_QPS_SQD },
		{ IBV_QPS_SQE, ROOST_QPS_SQE },
		{ IBV_QPS_ERR, ROOST_QPS_ERR },
	};
	enum roost_qp_state got;

	assert_int_equal(NB(rows), ROOST_QPS_COUNT);
	for (size_t i = 0; i < NB(rows); i++) {
		assert_int_equal(roost_map_qp_state(rows[i].verbs, &got), 0);
		assert_int_equal(got, rows[i].engine);
		assert_int_equal(roost_unmap_qp_state(got), rows[i].verbs);
	}
	assert_int_equal(roost_map_qp_state(IBV_QPS_UNKNOWN, &got), -EINVAL);
	assert_int_equal(roost_map_qp_state((enum ibv_qp_state)8, &got),
			 -EINVAL);
}

static void qp_attr_mask__every_bit(void **state)
{
	static const struct {
		uint32_t verbs;
		uint32_t engine;
	} rows[] = {
		{ IBV_QP_STATE, ROOST_QP_STATE },
		{ IBV_QP_CUR_STATE, ROOST_QP_CUR_STATE },
		{ IBV_QP_EN_SQD_ASYNC_NOTIFY, ROOST_QP_EN_SQD_ASYNC_NOTIFY },
		{ IBV_QP_ACCESS_FLAGS, ROOST_QP_ACCESS_FLAGS },
		{ IBV_QP_PKEY_INDEX, ROOST_QP_PKEY_INDEX },
		{ IBV_QP_PORT, ROOST_QP_PORT },
		{ IBV_QP_QKEY, ROOST_QP_QKEY },
		{ IBV_QP_AV, ROOST_QP_AV },
		{ IBV_QP_PATH_MTU, ROOST_QP_PATH_MTU },
		{ IBV_QP_TIMEOUT, ROOST_QP_TIMEOUT },
		{ IBV_QP_RETRY_CNT, ROOST_QP_RETRY_CNT },
		{ IBV_QP_RNR_RETRY, ROOST_QP_RNR_RETRY },
		{ IBV_QP_RQ_PSN, ROOST_QP_RQ_PSN },
		{ IBV_QP_MAX_QP_RD_ATOMIC, ROOST_QP_MAX_QP_RD_ATOMIC },
		{ IBV_QP_ALT_PATH, ROOST_QP_ALT_PATH },
		{ IBV_QP_MIN_RNR_TIMER, ROOST_QP_MIN_RNR_TIMER },
		{ IBV_QP_SQ_PSN, ROOST_QP_SQ_PSN },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, ROOST_QP_MAX_DEST_RD_ATOMIC },
		{ IBV_QP_PATH_MIG_STATE, ROOST_QP_PATH_MIG_STATE },
		{ IBV_QP_CAP, ROOST_QP_CAP },
		{ IBV_QP_DEST_QPN, ROOST_QP_DEST_QPN },
		{ IBV_QP_RATE_LIMIT, ROOST_QP_RATE_LIMIT },
	};

	for (int bit = 0; bit < 32; bit++) {
		uint32_t want = 0, got = 0;

		for (size_t i = 0; i < NB(rows); i++)
			if (rows[i].verbs == 1u << bit)
				want = rows[i].engine;
		assert_int_equal(roost_map_qp_attr_mask((int)(1u << bit), &got),
				 want ? 0 : -EINVAL);
		assert_int_equal(got, want);
	}
}

static void mtu__every_value(void **state)
{
	assert_int_equal(roost_unmap_mtu(ROOST_MTU_256), IBV_MTU_256);
	assert_int_equal(roost_unmap_mtu(ROOST_MTU_512), IBV_MTU_512);
	assert_int_equal(roost_unmap_mtu(ROOST_MTU_1024), IBV_MTU_1024);
	assert_int_equal(roost_unmap_mtu(ROOST_MTU_2048), IBV_MTU_2048);
	assert_int_equal(roost_unmap_mtu(ROOST_MTU_4096), IBV_MTU_4096);
	/* before RTR a QP has none */
	assert_int_equal(roost_unmap_mtu((enum roost_mtu)0), 0);
}

static void port_state__every_value(void **state)
{
	assert_int_equal(roost_unmap_port_state(ROOST_PORT_DOWN),
			 IBV_PORT_DOWN);
	assert_int_equal(roost_unmap_port_state(ROOST_PORT_INIT),
			 IBV_PORT_INIT);
	assert_int_equal(roost_unmap_port_state(ROOST_PORT_ARMED),
			 IBV_PORT_ARMED);
	assert_int_equal(roost_unmap_port_state(ROOST_PORT_ACTIVE),
			 IBV_PORT_ACTIVE);
}

static void wc_status__every_value(void **state)
{
	static const struct {
		enum roost_wc_status engine;
		enum ibv_wc_status verbs;
	} rows[] = {
		{ ROOST_WC_SUCCESS, IBV_WC_SUCCESS },
		{ ROOST_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
		{ ROOST_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
		{ ROOST_WC_LOC_EEC_OP_ERR, IBV_WC_LOC_EEC_OP_ERR },
		{ ROOST_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
		{ ROOST_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
		{ ROOST_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR },
		{ ROOST_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR },
		{ ROOST_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR },
		{ ROOST_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR },
		{ ROOST_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR },
		{ ROOST_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR },
		{ ROOST_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR },
		{ ROOST_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR },
	};

	for (size_t i = 0; i < NB(rows); i++)
		assert_int_equal(roost_unmap_wc_status((uint8_t)rows[i].engine),
				 rows[i].verbs);
	assert_int_equal(roost_unmap_wc_status(NB(rows)), IBV_WC_GENERAL_ERR);
}

static void wc_opcode__every_value(void **state)
{
	static const struct {
		enum roost_wc_opcode engine;
		int verbs;
	} rows[] = {
		{ ROOST_WC_SEND, IBV_WC_SEND },
		{ ROOST_WC_WRITE, IBV_WC_RDMA_WRITE },
		{ ROOST_WC_READ, IBV_WC_RDMA_READ },
		{ ROOST_WC_CMP_SWAP, IBV_WC_COMP_SWAP },
		{ ROOST_WC_FETCH_ADD, IBV_WC_FETCH_ADD },
		{ ROOST_WC_BIND_MW, IBV_WC_BIND_MW },
		{ ROOST_WC_LOCAL_INV, IBV_WC_LOCAL_INV },
		{ ROOST_WC_FLUSH, 8 }, /* IBV_WC_FLUSH of newer headers */
		{ ROOST_WC_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE },
		{ ROOST_WC_RECV, IBV_WC_RECV },
		{ ROOST_WC_RECV_WRITE_IMM, IBV_WC_RECV_RDMA_WITH_IMM },
	};

	for (size_t i = 0; i < NB(rows); i++)
		assert_int_equal(roost_unmap_wc_opcode((uint8_t)rows[i].engine),
				 rows[i].verbs);
}

static void wc_flags__every_bit(void **state)
{
	static const unsigned int want[8] = {
		[0] = IBV_WC_GRH,
		[1] = IBV_WC_WITH_IMM,
		[2] = IBV_WC_IP_CSUM_OK,
		[3] = IBV_WC_WITH_INV,
	};

	assert_int_equal(ROOST_WC_GRH, 1 << 0);
	assert_int_equal(ROOST_WC_WITH_IMM, 1 << 1);
	assert_int_equal(ROOST_WC_IP_CSUM_OK, 1 << 2);
	assert_int_equal(ROOST_WC_WITH_INV, 1 << 3);
	for (int bit = 0; bit < 8; bit++)
		assert_int_equal(roost_unmap_wc_flags((uint8_t)(1u << bit)),
				 want[bit]);
}

static void cqe__every_member(void **state)
{
	const struct roost_cqe cqe = {
		.wr_id = 1,
		.qpn = 2,
		.src_qpn = 3,
		.byte_len = 4,
		.imm_be = 5,
		.vendor_err = 6,
		.status = ROOST_WC_REM_OP_ERR,
		.opcode = ROOST_WC_RECV,
		.flags = ROOST_WC_WITH_INV,
		.sl = 7,
		.slid = 8,
		.pkey_index = 9,
	};
	struct ibv_wc wc;

	roost_unmap_cqe(&cqe, &wc);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.qp_num, 2);
	assert_int_equal(wc.src_qp, 3);
	assert_int_equal(wc.byte_len, 4);
	assert_int_equal(wc.invalidated_rkey, 5);
	assert_int_equal(wc.vendor_err, 6);
	assert_int_equal(wc.status, IBV_WC_REM_OP_ERR);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.sl, 7);
	assert_int_equal(wc.slid, 8);
	assert_int_equal(wc.pkey_index, 9);
	assert_int_equal(wc.dlid_path_bits, 0);
}

static void event__every_value(void **state)
{
	static const struct {
		enum roost_async_event engine;
		enum ibv_event_type verbs;
		enum roost_event_scope scope;
	} rows[] = {
		{ ROOST_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR, ROOST_EVENT_OF_CQ },
		{ ROOST_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL, ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR,
		  ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR,
		  ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_COMM_EST, IBV_EVENT_COMM_EST, ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED,
		  ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG, ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_PATH_MIG_ERR, IBV_EVENT_PATH_MIG_ERR,
		  ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_LID_CHANGE, IBV_EVENT_LID_CHANGE,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_PKEY_CHANGE, IBV_EVENT_PKEY_CHANGE,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_SM_CHANGE, IBV_EVENT_SM_CHANGE,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR, ROOST_EVENT_OF_SRQ },
		{ ROOST_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED,
		  ROOST_EVENT_OF_SRQ },
		{ ROOST_EVENT_QP_LAST_WQE_REACHED,
		  IBV_EVENT_QP_LAST_WQE_REACHED, ROOST_EVENT_OF_QP },
		{ ROOST_EVENT_CLIENT_REREGISTER, IBV_EVENT_CLIENT_REREGISTER,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE,
		  ROOST_EVENT_OF_PORT },
		{ ROOST_EVENT_WQ_FATAL, IBV_EVENT_WQ_FATAL, ROOST_EVENT_OF_WQ },
	};

	assert_int_equal(NB(rows), IBV_EVENT_WQ_FATAL + 1);
	for (size_t i = 0; i < NB(rows); i++) {
		assert_int_equal(roost_unmap_event(rows[i].engine),
				 rows[i].verbs);
		assert_int_equal(roost_event_scope(rows[i].verbs),
				 rows[i].scope);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp_type__every_value),
		cmocka_unit_test(wr_opcode__every_value),
		cmocka_unit_test(send_flags__every_bit),
		cmocka_unit_test(access__every_bit),
		cmocka_unit_test(qp_state__every_value),
		cmocka_unit_test(qp_attr_mask__every_bit),
		cmocka_unit_test(mtu__every_value),
		cmocka_unit_test(port_state__every_value),
		cmocka_unit_test(wc_status__every_value),
		cmocka_unit_test(wc_opcode__every_value),
		cmocka_unit_test(wc_flags__every_bit),
		cmocka_unit_test(cqe__every_member),
		cmocka_unit_test(event__every_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
