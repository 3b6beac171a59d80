/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl/ctl_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/addr.h"
#include "lib/config/qos.h"
#include <roost/drop.h>
#include "lib/wire/opcode.h"
#include "pmd_glue/process/clock.h"

static const char *const qp_types[] = {
	[ROOST_QPT_RC] = "RC",
	[ROOST_QPT_UC] = "UC",
	[ROOST_QPT_UD] = "UD",
	[ROOST_QPT_RAW] = "RAW",
	[ROOST_QPT_XRC_INI] = "XRC_SEND",
	[ROOST_QPT_XRC_TGT] = "XRC_RECV",
};

static const char *const qp_states[] = {
	[ROOST_QPS_RESET] = "RESET", [ROOST_QPS_INIT] = "INIT",
	[ROOST_QPS_RTR] = "RTR",     [ROOST_QPS_RTS] = "RTS",
	[ROOST_QPS_SQD] = "SQD",     [ROOST_QPS_SQE] = "SQE",
	[ROOST_QPS_ERR] = "ERR",
};

static const char *const finders[] = {
	[ROOST_FOUND_BY_REQUESTER] = "requester",
	[ROOST_FOUND_BY_PEER] = "peer",
	[ROOST_FOUND_BY_RESPONDER] = "responder",
	[ROOST_FOUND_BY_DEVICE] = "device",
	[ROOST_FOUND_BY_PROGRAM] = "program",
};

/* The upper three bits of an opcode are its service; the other bits are the
 * operation.
 */
static const char *const services[8] = {
	[ROOST_SERVICE_RC] = "RC",
	[ROOST_SERVICE_UC] = "UC",
	[ROOST_SERVICE_UD] = "UD",
	[ROOST_SERVICE_XRC] = "XRC",
};

#define OPCODE(name) [ROOST_OPCODE_RC_##name] = #name
static const char *const opcodes[32] = {
	OPCODE(SEND_FIRST),       OPCODE(SEND_MIDDLE),
	OPCODE(SEND_LAST),        OPCODE(SEND_LAST_IMM),
	OPCODE(SEND_ONLY),        OPCODE(SEND_ONLY_IMM),
	OPCODE(WRITE_FIRST),      OPCODE(WRITE_MIDDLE),
	OPCODE(WRITE_LAST),       OPCODE(WRITE_LAST_IMM),
	OPCODE(WRITE_ONLY),       OPCODE(WRITE_ONLY_IMM),
	OPCODE(READ_REQ),         OPCODE(READ_RESP_FIRST),
	OPCODE(READ_RESP_MIDDLE), OPCODE(READ_RESP_LAST),
	OPCODE(READ_RESP_ONLY),   OPCODE(ACK),
	OPCODE(ATOMIC_ACK),       OPCODE(CMP_SWAP),
	OPCODE(FETCH_ADD),        OPCODE(SEND_LAST_INV),
	OPCODE(SEND_ONLY_INV),    OPCODE(FLUSH),
	OPCODE(ATOMIC_WRITE),
};

static const char *const port_states[] = {
	[0] = "NOP",
	[ROOST_PORT_DOWN] = "DOWN",
	[ROOST_PORT_INIT] = "INIT",
	[ROOST_PORT_ARMED] = "ARMED",
	[ROOST_PORT_ACTIVE] = "ACTIVE",
};

static const char *const armed[] = {
	[ROOST_ARMED_NOT] = "no",
	[ROOST_ARMED_SOLICITED] = "solicited",
	[ROOST_ARMED_ANY] = "any",
};

#define FIELD(row, field_kind, field, field_name)                              \
	{                                                                      \
		.name = field_name, .kind = ROOST_FIELD_##field_kind,          \
		.offset = offsetof(struct row, field)                          \
	}
#define ENUM(row, field, field_name, field_names)                              \
	{                                                                      \
		.name = field_name, .kind = ROOST_FIELD_ENUM,                  \
		.offset = offsetof(struct row, field), .names = field_names    \
	}
#define END                                                                    \
	{                                                                      \
		.name = NULL                                                   \
	}

const struct roost_field roost_device_fields[] = {
	FIELD(roost_device_row, TEXT, name, "name"),
	FIELD(roost_device_row, TEXT, node_guid, "node_guid"),
	FIELD(roost_device_row, BOOL, view.removed, "removed"),
	FIELD(roost_device_row, U32, view.contexts, "contexts"),
	FIELD(roost_device_row, U32, view.qps, "qp_count"),
	FIELD(roost_device_row, U32, view.cqs, "cq_count"),
	FIELD(roost_device_row, U32, view.srqs, "srq_count"),
	FIELD(roost_device_row, U32, view.mrs, "mr_count"),
	FIELD(roost_device_row, U32, view.mws, "mw_count"),
	END,
};

const struct roost_field roost_port_fields[] = {
	FIELD(roost_port_row, U8, num, "port"),
	FIELD(roost_port_row, TEXT, label, "label"),
	FIELD(roost_port_row, TEXT, interface, "interface"),
	ENUM(roost_port_row, state, "state", port_states),
	FIELD(roost_port_row, BOOL, admin_up, "admin_up"),
	FIELD(roost_port_row, BOOL, carrier, "carrier"),
	FIELD(roost_port_row, BOOL, removed, "removed"),
	FIELD(roost_port_row, U16, vlan_id, "vlan"),
	FIELD(roost_port_row, U32, mtu_bytes, "mtu"),
	FIELD(roost_port_row, U32, path_mtu_bytes, "path_mtu"),
	FIELD(roost_port_row, U32, speed_mbps, "speed_mbps"),
	FIELD(roost_port_row, U16, queues, "queues"),
	FIELD(roost_port_row, TEXT, steering, "steering"),
	FIELD(roost_port_row, U32, nic_rules, "nic_rules"),
	FIELD(roost_port_row, U32, refused_rules, "refused_rules"),
	FIELD(roost_port_row, U16, lid, "lid"),
	FIELD(roost_port_row, U16, sm_lid, "sm_lid"),
	FIELD(roost_port_row, U32, bad_pkeys, "bad_pkeys"),
	FIELD(roost_port_row, U32, qkey_violations, "qkey_violations"),
	FIELD(roost_port_row, U64, missed_pkts, "missed"),
	END,
};

const struct roost_field roost_gid_fields[] = {
	FIELD(roost_gid_row, U32, index, "index"),
	FIELD(roost_gid_row, GID, gid, "gid"),
	END,
};

const struct roost_field roost_pkey_fields[] = {
	FIELD(roost_pkey_row, U32, index, "index"),
	FIELD(roost_pkey_row, HEX, pkey, "pkey"),
	END,
};

#define PARAM(upper, name, normal, least, most)                                \
	FIELD(roost_ecn_row, U32, ecn.name, #name),
const struct roost_field roost_ecn_fields[] = {
	FIELD(roost_ecn_row, U8, port_num, "port"),
	ROOST_ECN_PARAMS(PARAM) END,
};

const struct roost_field roost_qos_fields[] = {
	FIELD(roost_qos_row, U8, port_num, "port"),
	FIELD(roost_qos_row, TEXT, trust, "trust"),
	FIELD(roost_qos_row, U32, default_roce_tos, "default_roce_tos"),
	FIELD(roost_qos_row, TEXT, dscp2prio, "dscp2prio"),
	FIELD(roost_qos_row, TEXT, prio2pcp, "prio2pcp"),
	END,
};

void roost_qos_row(uint8_t port_num, const struct roost_qos *qos,
		   struct roost_qos_row *row)
{
	row->port_num = port_num;
	roost_config_format_trust(&qos->trust, row->trust, sizeof(row->trust));
	row->default_roce_tos = qos->default_roce_tos;
	roost_config_format_dscp2prio(qos->dscp2prio, row->dscp2prio,
				      sizeof(row->dscp2prio));
	roost_config_format_prio2pcp(qos->prio2pcp, row->prio2pcp,
				     sizeof(row->prio2pcp));
}

const struct roost_field roost_qp_fields[] = {
	FIELD(roost_qp_view, U32, qpn, "qpn"),
	ENUM(roost_qp_view, type, "type", qp_types),
	ENUM(roost_qp_view, state, "state", qp_states),
	FIELD(roost_qp_view, U32, worker, "worker"),
	FIELD(roost_qp_view, U8, port_num, "port"),
	FIELD(roost_qp_view, U32, dest_qpn, "dest_qpn"),
	FIELD(roost_qp_view, GID, sgid, "sgid"),
	FIELD(roost_qp_view, GID, dgid, "dgid"),
	FIELD(roost_qp_view, U32, mtu_bytes, "mtu"),
	FIELD(roost_qp_view, HEX, pkey, "pkey"),
	FIELD(roost_qp_view, U32, next_psn, "next_psn"),
	FIELD(roost_qp_view, U32, oldest_unacked_psn, "oldest_unacked_psn"),
	FIELD(roost_qp_view, U32, expected_psn, "expected_psn"),
	FIELD(roost_qp_view, U32, sends_posted, "sends_posted"),
	FIELD(roost_qp_view, U32, recvs_posted, "recvs_posted"),
	FIELD(roost_qp_view, U32, cwnd_pkts, "cwnd_pkts"),
	FIELD(roost_qp_view, U32, share_cwnd_pkts, "share_cwnd_pkts"),
	FIELD(roost_qp_view, U32, share_flight_pkts, "share_flight_pkts"),
	FIELD(roost_qp_view, U32, share_qps, "share_qps"),
	FIELD(roost_qp_view, BOOL, share_waits, "share_waits"),
	FIELD(roost_qp_view, U32, srtt_ns, "srtt_ns"),
	FIELD(roost_qp_view, U32, cc_rate_kbps, "cc_rate_kbps"),
	FIELD(roost_qp_view, U8, retries_left, "retries_left"),
	FIELD(roost_qp_view, U8, rnr_retries_left, "rnr_retries_left"),
	FIELD(roost_qp_view, U32, send_cq, "send_cq"),
	FIELD(roost_qp_view, U32, recv_cq, "recv_cq"),
	FIELD(roost_qp_view, U32, srq, "srq"),
	FIELD(roost_qp_view, U64, async.unacked, "unacked_async_events"),
	FIELD(roost_qp_view, BOOL, async.finishing, "destroy_waits"),
	END,
};

const struct roost_field roost_qp_error_fields[] = {
	FIELD(roost_qp_error_row, TEXT, name, "error"),
	FIELD(roost_qp_error_row, HEX8, error.code, "vendor_err"),
	ENUM(roost_qp_error_row, found_by, "found_by", finders),
	FIELD(roost_qp_error_row, TEXT, time, "time"),
	FIELD(roost_qp_error_row, TEXT, text, "cause"),
	END,
};

const struct roost_field roost_qp_packet_fields[] = {
	FIELD(roost_qp_error_row, TEXT, opcode, "opcode"),
	FIELD(roost_qp_error_row, U32, error.psn, "psn"),
	FIELD(roost_qp_error_row, HEX, syndrome, "syndrome"),
	END,
};

const struct roost_field roost_qp_memory_fields[] = {
	FIELD(roost_qp_error_row, HEX64, error.addr, "address"),
	FIELD(roost_qp_error_row, U32, error.len_bytes, "length"),
	FIELD(roost_qp_error_row, HEX32, error.key, "key"),
	END,
};

/* Counters that a QP and a device both have. */
#define RARE(row, at)                                                          \
	FIELD(row, U64, at missing_responses, "missing_responses"),            \
		FIELD(row, U64, at duplicates, "duplicate_requests"),          \
		FIELD(row, U64, at out_of_order, "out_of_order_requests"),     \
		FIELD(row, U64, at rnr_naks_received, "rnr_naks_received"),    \
		NAKS(row, at naks_sent_of, "naks_sent_"),                      \
		NAKS(row, at naks_received_of, "naks_received_")
#define NAKS(row, at, what)                                                    \
	FIELD(row, U64, at[0], what "sequence"),                               \
		FIELD(row, U64, at[1], what "invalid"),                        \
		FIELD(row, U64, at[2], what "access"),                         \
		FIELD(row, U64, at[3], what "operation")

const struct roost_field roost_qp_counter_fields[] = {
	FIELD(roost_qp_view, U64, counters.retransmits, "retransmits"),
	FIELD(roost_qp_view, U64, counters.adaptive_retransmits,
	      "adaptive_retransmits"),
	FIELD(roost_qp_view, U64, counters.timeouts, "timeouts"),
	FIELD(roost_qp_view, U64, counters.rnr_naks_sent, "rnr_naks_sent"),
	RARE(roost_qp_view, counters.),
	FIELD(roost_qp_view, U64, counters.held_pkts, "held_requests"),
	FIELD(roost_qp_view, U64, counters.resent_pkts,
	      "selective_retransmits"),
	FIELD(roost_qp_view, U64, counters.spurious_pkts,
	      "spurious_retransmits"),
	FIELD(roost_qp_view, U64, counters.reports_sent, "reports_sent"),
	FIELD(roost_qp_view, U64, counters.reports_received,
	      "reports_received"),
	FIELD(roost_qp_view, U64, counters.cnps_sent, "np_cnp_sent"),
	FIELD(roost_qp_view, U64, counters.cnps_handled, "rp_cnp_handled"),
	END,
};

const struct roost_field roost_cq_fields[] = {
	FIELD(roost_cq_view, U32, handle, "cq"),
	FIELD(roost_cq_view, U32, entries, "entries"),
	FIELD(roost_cq_view, U32, waiting, "waiting"),
	FIELD(roost_cq_view, U32, users, "users"),
	ENUM(roost_cq_view, armed, "armed", armed),
	FIELD(roost_cq_view, BOOL, overrun, "overrun"),
	FIELD(roost_cq_view, U64, comp.reported, "events_read"),
	FIELD(roost_cq_view, U64, comp.unacked, "unacked_events"),
	FIELD(roost_cq_view, U64, async.unacked, "unacked_async_events"),
	FIELD(roost_cq_view, BOOL, finishing, "destroy_waits"),
	END,
};

const struct roost_field roost_srq_fields[] = {
	FIELD(roost_srq_view, U32, handle, "srq"),
	FIELD(roost_srq_view, U32, number, "xrc_number"),
	FIELD(roost_srq_view, U32, max_wr, "entries"),
	FIELD(roost_srq_view, U32, posted, "posted"),
	FIELD(roost_srq_view, U32, limit, "limit"),
	FIELD(roost_srq_view, U32, users, "users"),
	FIELD(roost_srq_view, U64, async.unacked, "unacked_async_events"),
	FIELD(roost_srq_view, BOOL, async.finishing, "destroy_waits"),
	END,
};

const struct roost_field roost_channel_fields[] = {
	FIELD(roost_channel_view, U32, fd, "fd"),
	FIELD(roost_channel_view, BOOL, is_async, "async"),
	FIELD(roost_channel_view, U32, waiting, "events_waiting"),
	FIELD(roost_channel_view, U32, cqs, "cqs"),
	FIELD(roost_channel_view, U32, armed, "armed_cqs"),
	END,
};

#define COUNTER(field, name) FIELD(roost_worker_view, U64, counters.field, name)
const struct roost_field roost_worker_fields[] = {
	FIELD(roost_worker_view, U32, number, "worker"),
	FIELD(roost_worker_view, U32, qps, "qp_count"),
	COUNTER(rx_pkts, "rx_packets"),
	COUNTER(rx_bytes, "rx_bytes"),
	COUNTER(tx_pkts, "tx_packets"),
	COUNTER(tx_bytes, "tx_bytes"),
	COUNTER(loopback_pkts, "loopback_packets"),
	COUNTER(acks_sent, "acks_sent"),
	COUNTER(retransmits, "retransmits"),
	COUNTER(timeouts, "timeouts"),
	COUNTER(queue_pkts, "queue_packets"),
	COUNTER(handed_pkts, "handed_over"),
	COUNTER(drops[ROOST_DROP_WORKER_BUSY], "worker_busy"),
	END,
};

const struct roost_field roost_counter_fields[] = {
	FIELD(roost_dev_counters, U64, rx_pkts, "rx_packets"),
	FIELD(roost_dev_counters, U64, rx_bytes, "rx_bytes"),
	FIELD(roost_dev_counters, U64, tx_pkts, "tx_packets"),
	FIELD(roost_dev_counters, U64, tx_bytes, "tx_bytes"),
	FIELD(roost_dev_counters, U64, loopback_pkts, "loopback_packets"),
	FIELD(roost_dev_counters, U64, punted_pkts, "other_packets"),
	FIELD(roost_dev_counters, U64, acks_sent, "acks_sent"),
	FIELD(roost_dev_counters, U64, naks_sent, "naks_sent"),
	FIELD(roost_dev_counters, U64, rnr_naks_sent, "rnr_naks_sent"),
	FIELD(roost_dev_counters, U64, retransmits, "retransmits"),
	FIELD(roost_dev_counters, U64, adaptive_retransmits,
	      "adaptive_retransmits"),
	FIELD(roost_dev_counters, U64, timeouts, "timeouts"),
	RARE(roost_dev_counters, ),
	FIELD(roost_dev_counters, U64, held_pkts, "held_requests"),
	FIELD(roost_dev_counters, U64, resent_pkts, "selective_retransmits"),
	FIELD(roost_dev_counters, U64, spurious_pkts, "spurious_retransmits"),
	FIELD(roost_dev_counters, U64, reports_sent, "reports_sent"),
	FIELD(roost_dev_counters, U64, reports_received, "reports_received"),
	FIELD(roost_dev_counters, U64, gone_reads, "unmapped_reads"),
	FIELD(roost_dev_counters, U64, gone_writes, "unmapped_writes"),
	/* As Linux names them (mlx5). */
	FIELD(roost_dev_counters, U64, ecn_marked_pkts,
	      "np_ecn_marked_roce_packets"),
	FIELD(roost_dev_counters, U64, cnps_sent, "np_cnp_sent"),
	FIELD(roost_dev_counters, U64, cnps_handled, "rp_cnp_handled"),
	FIELD(roost_dev_counters, U64, cnps_ignored, "rp_cnp_ignored"),
	END,
};

/* ---- one row --------------------------------------------------------------
 */

static void emit_gid(const struct roost_row_sink *sink, const char *name,
		     const struct roost_gid *gid)
{
	char text[ROOST_PREFIX_STRLEN] = "";

	if (!roost_gid_is_zero(gid))
		roost_addr_format(gid, text);
	sink->text(sink->ctx, name, text);
}

static void emit_hex(const struct roost_row_sink *sink, const char *name,
		     uint64_t value, int digits)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%0*" PRIx64, digits, value);
	sink->text(sink->ctx, name, text);
}

void roost_row_emit(const struct roost_row_sink *sink,
		    const struct roost_field *fields, const void *row)
{
	for (const struct roost_field *f = fields; f->name; f++) {
		const void *at = (const char *)row + f->offset;

		switch (f->kind) {
		case ROOST_FIELD_BOOL:
			sink->boolean(sink->ctx, f->name, *(const bool *)at);
			break;
		case ROOST_FIELD_U8:
			sink->u64(sink->ctx, f->name, *(const uint8_t *)at);
			break;
		case ROOST_FIELD_U16:
			sink->u64(sink->ctx, f->name, *(const uint16_t *)at);
			break;
		case ROOST_FIELD_U32:
			sink->u64(sink->ctx, f->name, *(const uint32_t *)at);
			break;
		case ROOST_FIELD_U64:
			sink->u64(sink->ctx, f->name, *(const uint64_t *)at);
			break;
		case ROOST_FIELD_ENUM:
			sink->text(sink->ctx, f->name,
				   f->names[*(const int *)at]);
			break;
		case ROOST_FIELD_HEX8:
			emit_hex(sink, f->name, *(const uint8_t *)at, 2);
			break;
		case ROOST_FIELD_HEX:
			emit_hex(sink, f->name, *(const uint16_t *)at, 4);
			break;
		case ROOST_FIELD_HEX32:
			emit_hex(sink, f->name, *(const uint32_t *)at, 8);
			break;
		case ROOST_FIELD_HEX64:
			emit_hex(sink, f->name, *(const uint64_t *)at, 1);
			break;
		case ROOST_FIELD_GID:
			emit_gid(sink, f->name, at);
			break;
		case ROOST_FIELD_TEXT:
			sink->text(sink->ctx, f->name, at);
			break;
		}
	}
}

/* ---- rows of our own ------------------------------------------------------
 */

void roost_device_row(struct roost_dev *dev, struct roost_device_row *row)
{
	uint64_t guid = roost_dev_node_guid(dev);

	*row = (struct roost_device_row){ .name = "" };
	snprintf(row->name, sizeof(row->name), "%s", roost_dev_name(dev));
	snprintf(row->node_guid, sizeof(row->node_guid),
		 "%04" PRIx64 ":%04" PRIx64 ":%04" PRIx64 ":%04" PRIx64,
		 guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
		 guid & 0xffff);
	roost_dev_view(dev, &row->view);
}

void roost_time_text(uint64_t at_ns, char *text, size_t size)
{
	uint64_t ago_ns = roost_now_ns() - at_ns, wall_ns;
	struct timespec wall;
	struct tm tm;
	time_t s;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec -
		  ago_ns;
	s = (time_t)(wall_ns / 1000000000u);
	gmtime_r(&s, &tm);
	len = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, size - len, ".%03uZ",
		 (unsigned int)(wall_ns / 1000000u % 1000u));
}

void roost_opcode_text(uint8_t number, char *text, size_t size)
{
	const char *service = services[number >> 5];
	const char *opcode = opcodes[number & 31];

	snprintf(text, size, "%s_%s", service ? service : "?",
		 opcode ? opcode : "?");
}

const char *roost_qp_type_text(enum roost_qp_type type)
{
	return qp_types[type];
}

const char *roost_qp_state_text(enum roost_qp_state state)
{
	return qp_states[state];
}

void roost_qp_error_row(const struct roost_qp_error *error,
			struct roost_qp_error_row *row)
{
	const struct roost_qp_error_info *info =
		&roost_qp_error_infos[error->code];

	*row = (struct roost_qp_error_row){
		.error = *error,
		.found_by = info->found_by,
		.syndrome = error->syndrome,
	};
	snprintf(row->name, sizeof(row->name), "%s", info->name);
	snprintf(row->text, sizeof(row->text), "%s", info->text);
	roost_opcode_text(error->opcode, row->opcode, sizeof(row->opcode));
	roost_time_text(error->at_ns, row->time, sizeof(row->time));
}

void roost_port_row(const struct roost_backend_port *port,
		    struct roost_port_row *row)
{
	struct roost_port_attr attr = { .state = ROOST_PORT_DOWN };
	struct roost_backend_view view;

	roost_port_query(port->dev, port->port_num, &attr);
	port->backend->view(port, &view);
	*row = (struct roost_port_row){
		.num = port->port_num,
		.state = (int)attr.state,
		.admin_up = view.admin_up,
		.carrier = view.carrier,
		.removed = view.removed,
		.mtu_bytes = view.mtu_bytes,
		.path_mtu_bytes = attr.active_mtu == 0
					  ? 0
					  : roost_mtu_bytes(attr.active_mtu),
		.speed_mbps = attr.speed_mbps,
		.queues = view.queues,
		.nic_rules = view.nic_rules,
		.refused_rules = view.refused_rules,
		.lid = attr.lid,
		.sm_lid = attr.sm_lid,
		.vlan_id = attr.vlan_id,
		.missed_pkts = view.missed_pkts,
		.bad_pkeys = attr.bad_pkey_count,
		.qkey_violations = attr.qkey_viol_count,
	};
	snprintf(row->label, sizeof(row->label), "%s", port->label);
	snprintf(row->steering, sizeof(row->steering), "%s", view.steering);
	memcpy(row->interface, view.interface, sizeof(row->interface));
}
