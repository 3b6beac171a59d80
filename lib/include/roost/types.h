/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TYPES_H
#define ROOST_TYPES_H

/*
 * The engine's vocabulary: states, opcodes, statuses, flags. Own types, no
 * verbs header; the shims map them. Numbers follow IBTA chapter 11 in the
 * order in which verbs.h numbers them, which keeps the maps trivial and the
 * tests of the maps meaningful.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

#ifdef __cplusplus
extern "C" {
#endif

enum roost_qp_type {
	ROOST_QPT_RC,
	ROOST_QPT_UC,
	ROOST_QPT_UD,
	ROOST_QPT_XRC_INI,
	ROOST_QPT_XRC_TGT,
	ROOST_QPT_RAW, /* Ethernet frames, as the program makes them */
	ROOST_QPT_COUNT,
};

enum roost_qp_state {
	ROOST_QPS_RESET,
	ROOST_QPS_INIT,
	ROOST_QPS_RTR,
	ROOST_QPS_RTS,
	ROOST_QPS_SQD,
	ROOST_QPS_SQE,
	ROOST_QPS_ERR,
	ROOST_QPS_COUNT,
};

enum roost_mig_state {
	ROOST_MIG_MIGRATED,
	ROOST_MIG_REARM,
	ROOST_MIG_ARMED,
	ROOST_MIG_COUNT,
};

enum roost_mtu { /* path MTU code; bytes = 128 << code */
	ROOST_MTU_256 = 1,
	ROOST_MTU_512 = 2,
	ROOST_MTU_1024 = 3,
	ROOST_MTU_2048 = 4,
	ROOST_MTU_4096 = 5,
};

static inline uint32_t roost_mtu_bytes(enum roost_mtu mtu)
{
	return 128u << mtu;
}

enum roost_wr_opcode {
	ROOST_WR_WRITE = 0,
	ROOST_WR_WRITE_IMM = 1,
	ROOST_WR_SEND = 2,
	ROOST_WR_SEND_IMM = 3,
	ROOST_WR_READ = 4,
	ROOST_WR_CMP_SWAP = 5,
	ROOST_WR_FETCH_ADD = 6,
	ROOST_WR_LOCAL_INV = 7,
	ROOST_WR_BIND_MW = 8,
	ROOST_WR_SEND_INV = 9,
	ROOST_WR_TSO = 10, /* RAW: TCP segments of a header and data */
	ROOST_WR_FLUSH = 14,
	ROOST_WR_ATOMIC_WRITE = 15,
	ROOST_WR_OPCODE_COUNT,
};

enum roost_send_flags {
	ROOST_SEND_FENCE = 1 << 0,
	ROOST_SEND_SIGNALED = 1 << 1,
	ROOST_SEND_SOLICITED = 1 << 2,
	ROOST_SEND_INLINE = 1 << 3,
	ROOST_SEND_IP_CSUM = 1 << 4, /* RAW: fill in checksums of IP, TCP, UDP
				      */
};

enum roost_wc_status {
	ROOST_WC_SUCCESS,
	ROOST_WC_LOC_LEN_ERR,
	ROOST_WC_LOC_QP_OP_ERR,
	ROOST_WC_LOC_EEC_OP_ERR,
	ROOST_WC_LOC_PROT_ERR,
	ROOST_WC_WR_FLUSH_ERR,
	ROOST_WC_MW_BIND_ERR,
	ROOST_WC_BAD_RESP_ERR,
	ROOST_WC_LOC_ACCESS_ERR,
	ROOST_WC_REM_INV_REQ_ERR,
	ROOST_WC_REM_ACCESS_ERR,
	ROOST_WC_REM_OP_ERR,
	ROOST_WC_RETRY_EXC_ERR,
	ROOST_WC_RNR_RETRY_EXC_ERR,
};

enum roost_wc_opcode {
	ROOST_WC_SEND = 0,
	ROOST_WC_WRITE = 1,
	ROOST_WC_READ = 2,
	ROOST_WC_CMP_SWAP = 3,
	ROOST_WC_FETCH_ADD = 4,
	ROOST_WC_BIND_MW = 5,
	ROOST_WC_LOCAL_INV = 6,
	ROOST_WC_TSO = 7,
	ROOST_WC_FLUSH = 8,
	ROOST_WC_ATOMIC_WRITE = 9,
	ROOST_WC_RECV = 128,
	ROOST_WC_RECV_WRITE_IMM = 129,
};

enum roost_wc_flags {
	ROOST_WC_GRH = 1 << 0,
	ROOST_WC_WITH_IMM = 1 << 1,
	ROOST_WC_IP_CSUM_OK = 1 << 2, /* RAW: those of IPv4, TCP, UDP hold */
	ROOST_WC_WITH_INV = 1 << 3,
};

enum roost_access {
	ROOST_ACCESS_LOCAL_WRITE = 1 << 0,
	ROOST_ACCESS_REMOTE_WRITE = 1 << 1,
	ROOST_ACCESS_REMOTE_READ = 1 << 2,
	ROOST_ACCESS_REMOTE_ATOMIC = 1 << 3,
	ROOST_ACCESS_MW_BIND = 1 << 4,
	ROOST_ACCESS_ZERO_BASED = 1 << 5,
	ROOST_ACCESS_ON_DEMAND = 1 << 6,
	ROOST_ACCESS_FLUSH_GLOBAL = 1 << 8,
	/* Valid for a QP only: Roost takes no region to be persistent. */
	ROOST_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

/* Async events of an object or port. Numbered as in verbs.h. */
enum roost_async_event {
	ROOST_EVENT_CQ_ERR,
	ROOST_EVENT_QP_FATAL,
	ROOST_EVENT_QP_REQ_ERR,
	ROOST_EVENT_QP_ACCESS_ERR,
	ROOST_EVENT_COMM_EST,
	ROOST_EVENT_SQ_DRAINED,
	ROOST_EVENT_PATH_MIG,
	ROOST_EVENT_PATH_MIG_ERR,
	ROOST_EVENT_DEVICE_FATAL,
	ROOST_EVENT_PORT_ACTIVE,
	ROOST_EVENT_PORT_ERR,
	ROOST_EVENT_LID_CHANGE,
	ROOST_EVENT_PKEY_CHANGE,
	ROOST_EVENT_SM_CHANGE,
	ROOST_EVENT_SRQ_ERR,
	ROOST_EVENT_SRQ_LIMIT_REACHED,
	ROOST_EVENT_QP_LAST_WQE_REACHED,
	ROOST_EVENT_CLIENT_REREGISTER,
	ROOST_EVENT_GID_CHANGE,
	ROOST_EVENT_WQ_FATAL,
	ROOST_EVENT_COUNT,
};

enum roost_port_state {
	ROOST_PORT_DOWN = 1,
	ROOST_PORT_INIT = 2,
	ROOST_PORT_ARMED = 3,
	ROOST_PORT_ACTIVE = 4,
};

/* A scatter/gather element. */
struct roost_sge {
	uint64_t addr;
	uint32_t len_bytes;
	uint32_t lkey;
};

/* An address vector as the application gives it (IBTA 11.2.2.1). */
struct roost_av {
	struct roost_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	/* false: the dlid names the peer; see roost_port_attr.lid. */
	bool is_global;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t port_num; /* from 1 */
};

#ifdef __cplusplus
}
#endif

#endif
