/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The layout of every message: IBTA tables 106 to 120. Byte offsets count from
 * behind the MAD header, bits from the top of a byte, as the tables do.
 */

#include "cm/msg_fields.h"

#define FIELD(member_, byte, bit, width)                                       \
	{                                                                      \
		.at_bit = (byte)*8 + (bit), .width_bits = width,               \
		.member = offsetof(struct roost_cm_msg, member_),              \
		.size_bytes = sizeof(((struct roost_cm_msg *)0)->member_),     \
	}
#define WORD(member_, byte) FIELD(member_, byte, 0, 32)
#define BYTE(member_, byte) FIELD(member_, byte, 0, 8)

/* A path in REQ, from its first byte on. */
#define REQ_PATH(p, byte)                                                      \
	FIELD(p.local_lid, byte, 0, 16),                                       \
		FIELD(p.remote_lid, (byte) + 2, 0, 16),                        \
		FIELD(p.local_gid, (byte) + 4, 0, 128),                        \
		FIELD(p.remote_gid, (byte) + 20, 0, 128),                      \
		FIELD(p.flow_label, (byte) + 36, 0, 20),                       \
		FIELD(p.packet_rate, (byte) + 39, 2, 6),                       \
		BYTE(p.traffic_class, (byte) + 40),                            \
		BYTE(p.hop_limit, (byte) + 41),                                \
		FIELD(p.sl, (byte) + 42, 0, 4),                                \
		FIELD(p.subnet_local, (byte) + 42, 4, 1),                      \
		FIELD(p.ack_timeout, (byte) + 43, 0, 5)

static const struct roost_cm_field req[] = {
	WORD(local_id, 0),
	FIELD(vendor_id, 5, 0, 24),
	FIELD(service_id, 8, 0, 64),
	FIELD(ca_guid, 16, 0, 64),
	WORD(qkey, 28),
	FIELD(qpn, 32, 0, 24),
	BYTE(responder_resources, 35),
	BYTE(initiator_depth, 39),
	FIELD(remote_cm_timeout, 43, 0, 5),
	FIELD(transport, 43, 5, 2),
	FIELD(flow_control, 43, 7, 1),
	FIELD(starting_psn, 44, 0, 24),
	FIELD(local_cm_timeout, 47, 0, 5),
	FIELD(retry_count, 47, 5, 3),
	FIELD(pkey, 48, 0, 16),
	FIELD(mtu, 50, 0, 4),
	FIELD(rnr_retry_count, 50, 5, 3),
	FIELD(max_cm_retries, 51, 0, 4),
	FIELD(srq, 51, 4, 1),
	FIELD(ext_transport, 51, 5, 3),
	REQ_PATH(primary, 52),
	REQ_PATH(alternate, 96),
};

static const struct roost_cm_field mra[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
	FIELD(about, 8, 0, 2),
	FIELD(service_timeout, 9, 0, 5),
};

static const struct roost_cm_field rej[] = {
	WORD(local_id, 0),        WORD(remote_id, 4),
	FIELD(about, 8, 0, 2),    FIELD(info_len_bytes, 9, 0, 7),
	FIELD(reason, 10, 0, 16),
};

static const struct roost_cm_field rep[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
	WORD(qkey, 8),
	FIELD(qpn, 12, 0, 24),
	BYTE(vendor_high, 15),
	FIELD(eecn, 16, 0, 24),
	BYTE(vendor_mid, 19),
	FIELD(starting_psn, 20, 0, 24),
	BYTE(vendor_low, 23),
	BYTE(responder_resources, 24),
	BYTE(initiator_depth, 25),
	FIELD(target_ack_delay, 26, 0, 5),
	FIELD(failover_accepted, 26, 5, 2),
	FIELD(flow_control, 26, 7, 1),
	FIELD(rnr_retry_count, 27, 0, 3),
	FIELD(srq, 27, 3, 1),
	FIELD(ca_guid, 28, 0, 64),
};

/* RTU and DREP. */
static const struct roost_cm_field ids[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
};

static const struct roost_cm_field dreq[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
	FIELD(qpn, 8, 0, 24),
};

static const struct roost_cm_field lap[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
	FIELD(qpn, 12, 0, 24),
	FIELD(remote_cm_timeout, 15, 0, 5),
	FIELD(alternate.local_lid, 20, 0, 16),
	FIELD(alternate.remote_lid, 22, 0, 16),
	FIELD(alternate.local_gid, 24, 0, 128),
	FIELD(alternate.remote_gid, 40, 0, 128),
	FIELD(alternate.flow_label, 56, 0, 20),
	BYTE(alternate.traffic_class, 59),
	BYTE(alternate.hop_limit, 60),
	FIELD(alternate.packet_rate, 61, 2, 6),
	FIELD(alternate.sl, 62, 0, 4),
	FIELD(alternate.subnet_local, 62, 4, 1),
	FIELD(alternate.ack_timeout, 63, 0, 5),
};

static const struct roost_cm_field apr[] = {
	WORD(local_id, 0),
	WORD(remote_id, 4),
	BYTE(info_len_bytes, 8),
	BYTE(status, 9),
};

static const struct roost_cm_field sidr_req[] = {
	WORD(local_id, 0),
	FIELD(pkey, 4, 0, 16),
	FIELD(service_id, 8, 0, 64),
};

static const struct roost_cm_field sidr_rep[] = {
	WORD(local_id, 0),
	BYTE(status, 4),
	BYTE(info_len_bytes, 5),
	BYTE(vendor_high, 7),
	FIELD(qpn, 8, 0, 24),
	BYTE(vendor_low, 11),
	FIELD(service_id, 12, 0, 64),
	WORD(qkey, 20),
};

#define LAYOUT(name_, fields_, ...)                                            \
	{                                                                      \
		.name = name_, .fields = fields_,                              \
		.nb_fields = sizeof(fields_) / sizeof((fields_)[0]),           \
		__VA_ARGS__                                                    \
	}

const struct roost_cm_layout roost_cm_layouts[ROOST_CM_MSG_COUNT] = {
	[ROOST_CM_REQ] = LAYOUT("REQ", req, .data = { 140, 92 }),
	[ROOST_CM_MRA] = LAYOUT("MRA", mra, .data = { 10, 222 }),
	[ROOST_CM_REJ] =
		LAYOUT("REJ", rej, .info = { 12, 72 }, .data = { 84, 148 }),
	[ROOST_CM_REP] = LAYOUT("REP", rep, .data = { 36, 196 }),
	[ROOST_CM_RTU] = LAYOUT("RTU", ids, .data = { 8, 224 }),
	[ROOST_CM_DREQ] = LAYOUT("DREQ", dreq, .data = { 12, 220 }),
	[ROOST_CM_DREP] = LAYOUT("DREP", ids, .data = { 8, 224 }),
	[ROOST_CM_SIDR_REQ] = LAYOUT("SIDR_REQ", sidr_req, .data = { 16, 216 }),
	[ROOST_CM_SIDR_REP] = LAYOUT("SIDR_REP", sidr_rep, .info = { 24, 72 },
				     .data = { 96, 136 }),
	[ROOST_CM_LAP] = LAYOUT("LAP", lap, .data = { 64, 168 }),
	[ROOST_CM_APR] =
		LAYOUT("APR", apr, .info = { 12, 72 }, .data = { 84, 148 }),
};
