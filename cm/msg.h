/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_MSG_H
#define ROOST_CM_MSG_H

/*
 * Messages of the connection manager (IBTA 12.6 to 12.8, 12.11): conversion
 * between MADs of 256 bytes and a struct. Pure functions; a table has the
 * position of each field (cm/msg_fields.c).
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/cm.h>

#define ROOST_CM_MAD_LEN 256u
/* The longest private data, and the longest additional information. */
#define ROOST_CM_DATA_MAX 224u
#define ROOST_CM_INFO_MAX 72u

/* The message that an MRA or REJ answers. */
enum roost_cm_about {
	ROOST_CM_ABOUT_REQ = 0,
	ROOST_CM_ABOUT_REP = 1,
	ROOST_CM_ABOUT_OTHER = 2, /* MRA: LAP */
};

enum roost_cm_transport {
	ROOST_CM_TRANSPORT_RC = 0,
	ROOST_CM_TRANSPORT_UC = 1,
	ROOST_CM_TRANSPORT_RD = 2,
	ROOST_CM_TRANSPORT_EXT = 3, /* extended type 1: XRC */
};
#define ROOST_CM_TRANSPORT_EXT_XRC 1u

/* A path in REQ and LAP, from the sender's side. */
struct roost_cm_msg_path {
	uint16_t local_lid;
	uint16_t remote_lid;
	struct roost_gid local_gid;
	struct roost_gid remote_gid;
	uint32_t flow_label;
	uint8_t packet_rate;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t subnet_local;
	uint8_t ack_timeout; /* local ACK timeout code */
};

/* All numbers are in host order. Each message type uses a part of the members.
 */
struct roost_cm_msg {
	enum roost_cm_msg_type type;
	uint64_t tid;
	uint32_t attr_mod;
	uint32_t local_id; /* of the sender; SIDR: the request ID */
	uint32_t remote_id;
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t vendor_id; /* 24 bits */
	uint32_t qkey;
	uint32_t qpn;
	uint32_t eecn; /* REP for XRC: the QPN */
	uint32_t starting_psn;
	uint16_t pkey;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_cm_timeout; /* REQ, LAP */
	uint8_t local_cm_timeout;
	uint8_t transport;     /* enum roost_cm_transport */
	uint8_t ext_transport; /* with TRANSPORT_EXT */
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t mtu; /* enum roost_mtu */
	uint8_t max_cm_retries;
	uint8_t srq;
	struct roost_cm_msg_path primary;
	/* REQ, LAP; no alternate where its local LID is 0. */
	struct roost_cm_msg_path alternate;
	uint8_t target_ack_delay;
	uint8_t failover_accepted;
	uint8_t about;           /* MRA, REJ: enum roost_cm_about */
	uint8_t service_timeout; /* MRA */
	uint16_t reason;         /* REJ */
	uint8_t status;          /* APR, SIDR_REP */
	uint8_t vendor_high;     /* REP, SIDR_REP: parts of vendor_id */
	uint8_t vendor_mid;
	uint8_t vendor_low;
	uint8_t info_len_bytes;
	uint8_t info[ROOST_CM_INFO_MAX];
	/* Always roost_cm_msg_data_len() bytes. */
	uint8_t data[ROOST_CM_DATA_MAX];
};

/* Length of the private data of a message, in bytes. */
size_t roost_cm_msg_data_len(enum roost_cm_msg_type type);
const char *roost_cm_msg_name(enum roost_cm_msg_type type);

/* Write the message; reserved bytes are zero. A value that is too wide for its
 * field is cut off.
 */
void roost_cm_msg_encode(const struct roost_cm_msg *msg,
			 uint8_t mad[ROOST_CM_MAD_LEN]);

/*
 * Read len_bytes at mad. Returns true, or false with the reason in *drop:
 * ROOST_CM_DROP_LENGTH, _HEADER or _FIELD; *msg is undefined then.
 */
bool roost_cm_msg_decode(const uint8_t *mad, size_t len_bytes,
			 struct roost_cm_msg *msg, enum roost_cm_drop *drop);

/* ---- the IP addressing header ------------------------------------------ */

/* Write it; both addresses are of one family. */
void roost_cm_ip_hdr_encode(const struct roost_cm_ip_hdr *hdr,
			    uint8_t data[ROOST_CM_IP_HDR_LEN]);
/* Returns false if data has no such header: wrong version or family. */
bool roost_cm_ip_hdr_decode(const uint8_t data[ROOST_CM_IP_HDR_LEN],
			    struct roost_cm_ip_hdr *hdr);

/* The REJ that answers msg: by its sender's id and the one that it names. */
static inline struct roost_cm_msg
roost_cm_msg_rej(const struct roost_cm_msg *msg, enum roost_cm_about about,
		 uint16_t reason)
{
	return (struct roost_cm_msg){
		.type = ROOST_CM_REJ,
		.tid = msg->tid,
		.local_id = msg->remote_id,
		.remote_id = msg->local_id,
		.about = (uint8_t)about,
		.reason = reason,
	};
}

#endif
