/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The small words: enums and flags. Composite ones are in map_attr.c.
 */

#include <assert.h>
#include <errno.h>

#include "lib/verbs/abi.h"
#include "lib/verbs/map.h"

#define NB(a) (sizeof(a) / sizeof((a)[0]))

int roost_map_qp_type(enum ibv_qp_type type, enum roost_qp_type *out)
{
	switch (type) {
	case IBV_QPT_RC:
		*out = ROOST_QPT_RC;
		return 0;
	case IBV_QPT_UC:
		*out = ROOST_QPT_UC;
		return 0;
	case IBV_QPT_UD:
		*out = ROOST_QPT_UD;
		return 0;
	case IBV_QPT_XRC_SEND:
		*out = ROOST_QPT_XRC_INI;
		return 0;
	case IBV_QPT_XRC_RECV:
		*out = ROOST_QPT_XRC_TGT;
		return 0;
	case IBV_QPT_RAW_PACKET:
		*out = ROOST_QPT_RAW;
		return 0;
	case IBV_QPT_DRIVER:
		return -EOPNOTSUPP;
	}
	return -EINVAL;
}

enum ibv_qp_type roost_unmap_qp_type(enum roost_qp_type type)
{
	static const enum ibv_qp_type types[] = {
		[ROOST_QPT_RC] = IBV_QPT_RC,
		[ROOST_QPT_UC] = IBV_QPT_UC,
		[ROOST_QPT_UD] = IBV_QPT_UD,
		[ROOST_QPT_XRC_INI] = IBV_QPT_XRC_SEND,
		[ROOST_QPT_XRC_TGT] = IBV_QPT_XRC_RECV,
		[ROOST_QPT_RAW] = IBV_QPT_RAW_PACKET,
	};

	static_assert(NB(types) == ROOST_QPT_COUNT, "a row per type");
	return types[type];
}

int roost_map_wr_opcode(enum ibv_wr_opcode opcode, enum roost_wr_opcode *out)
{
	static const struct {
		int error;
		enum roost_wr_opcode opcode;
	} rows[] = {
		[IBV_WR_RDMA_WRITE] = { 0, ROOST_WR_WRITE },
		[IBV_WR_RDMA_WRITE_WITH_IMM] = { 0, ROOST_WR_WRITE_IMM },
		[IBV_WR_SEND] = { 0, ROOST_WR_SEND },
		[IBV_WR_SEND_WITH_IMM] = { 0, ROOST_WR_SEND_IMM },
		[IBV_WR_RDMA_READ] = { 0, ROOST_WR_READ },
		[IBV_WR_ATOMIC_CMP_AND_SWP] = { 0, ROOST_WR_CMP_SWAP },
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = { 0, ROOST_WR_FETCH_ADD },
		[IBV_WR_LOCAL_INV] = { 0, ROOST_WR_LOCAL_INV },
		[IBV_WR_BIND_MW] = { 0, ROOST_WR_BIND_MW },
		[IBV_WR_SEND_WITH_INV] = { 0, ROOST_WR_SEND_INV },
		[IBV_WR_TSO] = { 0, ROOST_WR_TSO },
		[IBV_WR_DRIVER1] = { -EOPNOTSUPP, 0 },
		[12 ... 14] = { -EINVAL, 0 },
		[IBV_WR_ATOMIC_WRITE] = { 0, ROOST_WR_ATOMIC_WRITE },
	};

	if ((unsigned int)opcode >= NB(rows))
		return -EINVAL;
	if (rows[opcode].error == 0)
		*out = rows[opcode].opcode;
	return rows[opcode].error;
}

struct flag {
	uint32_t verbs;
	uint32_t engine;
};

/* Returns the verbs flags that have no row. */
static uint32_t map_flags(const struct flag *rows, size_t nb, uint32_t verbs,
			  uint32_t *engine)
{
	*engine = 0;
	for (size_t i = 0; i < nb; i++) {
		if (verbs & rows[i].verbs)
			*engine |= rows[i].engine;
		verbs &= ~rows[i].verbs;
	}
	return verbs;
}

static uint32_t unmap_flags(const struct flag *rows, size_t nb, uint32_t engine)
{
	uint32_t verbs = 0;

	for (size_t i = 0; i < nb; i++)
		if (rows[i].engine && (engine & rows[i].engine))
			verbs |= rows[i].verbs;
	return verbs;
}

/* The engine takes IBV_SEND_IP_CSUM for raw packets alone; verbs has it for UD,
 * too, on devices that report it.
 */
static_assert((int)IBV_SEND_FENCE == (int)ROOST_SEND_FENCE &&
		      (int)IBV_SEND_SIGNALED == (int)ROOST_SEND_SIGNALED &&
		      (int)IBV_SEND_SOLICITED == (int)ROOST_SEND_SOLICITED &&
		      (int)IBV_SEND_INLINE == (int)ROOST_SEND_INLINE &&
		      (int)IBV_SEND_IP_CSUM == (int)ROOST_SEND_IP_CSUM,
	      "send flags have the same numbers");

int roost_map_send_flags(unsigned int flags, uint32_t *out)
{
	const unsigned int known = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
				   IBV_SEND_SOLICITED | IBV_SEND_INLINE |
				   IBV_SEND_IP_CSUM;

	if (flags & ~known)
		return -EINVAL;
	*out = flags;
	return 0;
}

static const struct flag access_flags[] = {
	{ IBV_ACCESS_LOCAL_WRITE, ROOST_ACCESS_LOCAL_WRITE },
	{ IBV_ACCESS_REMOTE_WRITE, ROOST_ACCESS_REMOTE_WRITE },
	{ IBV_ACCESS_REMOTE_READ, ROOST_ACCESS_REMOTE_READ },
	{ IBV_ACCESS_REMOTE_ATOMIC, ROOST_ACCESS_REMOTE_ATOMIC },
	{ IBV_ACCESS_MW_BIND, ROOST_ACCESS_MW_BIND },
	{ IBV_ACCESS_ZERO_BASED, ROOST_ACCESS_ZERO_BASED },
	{ IBV_ACCESS_ON_DEMAND, ROOST_ACCESS_ON_DEMAND },
	{ ROOST_VERBS_ACCESS_FLUSH_GLOBAL, ROOST_ACCESS_FLUSH_GLOBAL },
	{ ROOST_VERBS_ACCESS_FLUSH_PERSISTENT, ROOST_ACCESS_FLUSH_PERSISTENT },
	{ IBV_ACCESS_HUGETLB, 0 },
	{ IBV_ACCESS_OPTIONAL_RANGE, 0 },
};

int roost_map_access(unsigned int access, uint32_t *out)
{
	uint32_t engine;

	if (map_flags(access_flags, NB(access_flags), access, &engine))
		return -EINVAL;
	*out = engine;
	return 0;
}

unsigned int roost_unmap_access(uint32_t access)
{
	return unmap_flags(access_flags, NB(access_flags), access);
}

int roost_map_qp_state(enum ibv_qp_state state, enum roost_qp_state *out)
{
	switch (state) {
	case IBV_QPS_RESET:
		*out = ROOST_QPS_RESET;
		return 0;
	case IBV_QPS_INIT:
		*out = ROOST_QPS_INIT;
		return 0;
	case IBV_QPS_RTR:
		*out = ROOST_QPS_RTR;
		return 0;
	case IBV_QPS_RTS:
		*out = ROOST_QPS_RTS;
		return 0;
	case IBV_QPS_SQD:
		*out = ROOST_QPS_SQD;
		return 0;
	case IBV_QPS_SQE:
		*out = ROOST_QPS_SQE;
		return 0;
	case IBV_QPS_ERR:
		*out = ROOST_QPS_ERR;
		return 0;
	case IBV_QPS_UNKNOWN:
		return -EINVAL;
	}
	return -EINVAL;
}

enum ibv_qp_state roost_unmap_qp_state(enum roost_qp_state state)
{
	static const enum ibv_qp_state states[] = {
		[ROOST_QPS_RESET] = IBV_QPS_RESET,
		[ROOST_QPS_INIT] = IBV_QPS_INIT,
		[ROOST_QPS_RTR] = IBV_QPS_RTR,
		[ROOST_QPS_RTS] = IBV_QPS_RTS,
		[ROOST_QPS_SQD] = IBV_QPS_SQD,
		[ROOST_QPS_SQE] = IBV_QPS_SQE,
		[ROOST_QPS_ERR] = IBV_QPS_ERR,
	};

	static_assert(NB(states) == ROOST_QPS_COUNT, "a row per state");
	return states[state];
}

int roost_map_wq_state(enum ibv_wq_state state, enum roost_wq_state *out)
{
	switch (state) {
	case IBV_WQS_RESET:
		*out = ROOST_WQS_RESET;
		return 0;
	case IBV_WQS_RDY:
		*out = ROOST_WQS_RDY;
		return 0;
	case IBV_WQS_ERR:
		*out = ROOST_WQS_ERR;
		return 0;
	case IBV_WQS_UNKNOWN:
		return -EINVAL;
	}
	return -EINVAL;
}

enum ibv_wq_state roost_unmap_wq_state(enum roost_wq_state state)
{
	static const enum ibv_wq_state states[] = {
		[ROOST_WQS_RESET] = IBV_WQS_RESET,
		[ROOST_WQS_RDY] = IBV_WQS_RDY,
		[ROOST_WQS_ERR] = IBV_WQS_ERR,
	};

	static_assert(NB(states) == ROOST_WQS_COUNT, "a row per state");
	return states[state];
}

static const struct flag attr_masks[] = {
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

int roost_map_qp_attr_mask(int mask, uint32_t *out)
{
	uint32_t engine;

	if (map_flags(attr_masks, NB(attr_masks), (uint32_t)mask, &engine))
		return -EINVAL;
	*out = engine;
	return 0;
}

enum ibv_mtu roost_unmap_mtu(enum roost_mtu mtu)
{
	switch (mtu) {
	case ROOST_MTU_256:
		return IBV_MTU_256;
	case ROOST_MTU_512:
		return IBV_MTU_512;
	case ROOST_MTU_1024:
		return IBV_MTU_1024;
	case ROOST_MTU_2048:
		return IBV_MTU_2048;
	case ROOST_MTU_4096:
		return IBV_MTU_4096;
	}
	return (enum ibv_mtu)0;
}

enum ibv_port_state roost_unmap_port_state(enum roost_port_state state)
{
	switch (state) {
	case ROOST_PORT_DOWN:
		return IBV_PORT_DOWN;
	case ROOST_PORT_INIT:
		return IBV_PORT_INIT;
	case ROOST_PORT_ARMED:
		return IBV_PORT_ARMED;
	case ROOST_PORT_ACTIVE:
		return IBV_PORT_ACTIVE;
	}
	return IBV_PORT_NOP;
}

/* For each completion polled: plain lookups. */

enum ibv_wc_status roost_unmap_wc_status(uint8_t status)
{
	static const uint8_t rows[] = {
		[ROOST_WC_SUCCESS] = IBV_WC_SUCCESS,
		[ROOST_WC_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
		[ROOST_WC_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
		[ROOST_WC_LOC_EEC_OP_ERR] = IBV_WC_LOC_EEC_OP_ERR,
		[ROOST_WC_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
		[ROOST_WC_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
		[ROOST_WC_MW_BIND_ERR] = IBV_WC_MW_BIND_ERR,
		[ROOST_WC_BAD_RESP_ERR] = IBV_WC_BAD_RESP_ERR,
		[ROOST_WC_LOC_ACCESS_ERR] = IBV_WC_LOC_ACCESS_ERR,
		[ROOST_WC_REM_INV_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
		[ROOST_WC_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
		[ROOST_WC_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
		[ROOST_WC_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
		[ROOST_WC_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
	};

	return status < NB(rows) ? (enum ibv_wc_status)rows[status]
				 : IBV_WC_GENERAL_ERR;
}

enum ibv_wc_opcode roost_unmap_wc_opcode(uint8_t opcode)
{
	static const uint8_t rows[] = {
		[ROOST_WC_SEND] = IBV_WC_SEND,
		[ROOST_WC_WRITE] = IBV_WC_RDMA_WRITE,
		[ROOST_WC_READ] = IBV_WC_RDMA_READ,
		[ROOST_WC_CMP_SWAP] = IBV_WC_COMP_SWAP,
		[ROOST_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
		[ROOST_WC_BIND_MW] = IBV_WC_BIND_MW,
		[ROOST_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[ROOST_WC_TSO] = IBV_WC_TSO,
		[ROOST_WC_FLUSH] = ROOST_VERBS_WC_FLUSH,
		[ROOST_WC_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
		[ROOST_WC_RECV] = IBV_WC_RECV,
		[ROOST_WC_RECV_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
	};

	return (enum ibv_wc_opcode)(opcode < NB(rows) ? rows[opcode] : 0);
}

static_assert((int)IBV_WC_GRH == (int)ROOST_WC_GRH &&
		      (int)IBV_WC_WITH_IMM == (int)ROOST_WC_WITH_IMM &&
		      (int)IBV_WC_WITH_INV == (int)ROOST_WC_WITH_INV &&
		      (int)IBV_WC_IP_CSUM_OK == (int)ROOST_WC_IP_CSUM_OK,
	      "completion flags have the same numbers");

unsigned int roost_unmap_wc_flags(uint8_t flags)
{
	return flags & (IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_WITH_INV |
			IBV_WC_IP_CSUM_OK);
}

void roost_unmap_cqe(const struct roost_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = roost_unmap_wc_status(cqe->status);
	wc->opcode = roost_unmap_wc_opcode(cqe->opcode);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_be;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qpn;
	wc->wc_flags = roost_unmap_wc_flags(cqe->flags);
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

static const struct event {
	enum ibv_event_type type;
	enum roost_event_scope scope;
} events[] = {
	[ROOST_EVENT_CQ_ERR] = { IBV_EVENT_CQ_ERR, ROOST_EVENT_OF_CQ },
	[ROOST_EVENT_QP_FATAL] = { IBV_EVENT_QP_FATAL, ROOST_EVENT_OF_QP },
	[ROOST_EVENT_QP_REQ_ERR] = { IBV_EVENT_QP_REQ_ERR, ROOST_EVENT_OF_QP },
	[ROOST_EVENT_QP_ACCESS_ERR] = { IBV_EVENT_QP_ACCESS_ERR,
					ROOST_EVENT_OF_QP },
	[ROOST_EVENT_COMM_EST] = { IBV_EVENT_COMM_EST, ROOST_EVENT_OF_QP },
	[ROOST_EVENT_SQ_DRAINED] = { IBV_EVENT_SQ_DRAINED, ROOST_EVENT_OF_QP },
	[ROOST_EVENT_PATH_MIG] = { IBV_EVENT_PATH_MIG, ROOST_EVENT_OF_QP },
	[ROOST_EVENT_PATH_MIG_ERR] = { IBV_EVENT_PATH_MIG_ERR,
				       ROOST_EVENT_OF_QP },
	[ROOST_EVENT_DEVICE_FATAL] = { IBV_EVENT_DEVICE_FATAL,
				       ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_PORT_ACTIVE] = { IBV_EVENT_PORT_ACTIVE,
				      ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_PORT_ERR] = { IBV_EVENT_PORT_ERR, ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_LID_CHANGE] = { IBV_EVENT_LID_CHANGE,
				     ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_PKEY_CHANGE] = { IBV_EVENT_PKEY_CHANGE,
				      ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_SM_CHANGE] = { IBV_EVENT_SM_CHANGE, ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_SRQ_ERR] = { IBV_EVENT_SRQ_ERR, ROOST_EVENT_OF_SRQ },
	[ROOST_EVENT_SRQ_LIMIT_REACHED] = { IBV_EVENT_SRQ_LIMIT_REACHED,
					    ROOST_EVENT_OF_SRQ },
	[ROOST_EVENT_QP_LAST_WQE_REACHED] = { IBV_EVENT_QP_LAST_WQE_REACHED,
					      ROOST_EVENT_OF_QP },
	[ROOST_EVENT_CLIENT_REREGISTER] = { IBV_EVENT_CLIENT_REREGISTER,
					    ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_GID_CHANGE] = { IBV_EVENT_GID_CHANGE,
				     ROOST_EVENT_OF_PORT },
	[ROOST_EVENT_WQ_FATAL] = { IBV_EVENT_WQ_FATAL, ROOST_EVENT_OF_WQ },
};

static_assert(NB(events) == ROOST_EVENT_COUNT, "a row per event");

enum ibv_event_type roost_unmap_event(uint32_t type)
{
	return type < NB(events) ? events[type].type : IBV_EVENT_DEVICE_FATAL;
}

enum roost_event_scope roost_event_scope(enum ibv_event_type type)
{
	for (size_t i = 0; i < NB(events); i++)
		if (events[i].type == type)
			return events[i].scope;
	return ROOST_EVENT_OF_PORT;
}
