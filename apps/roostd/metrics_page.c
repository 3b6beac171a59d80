/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/metrics_page.h"

#include <stddef.h>
#include <string.h>

#include <roost/drop.h>
#include "apps/roostd/metrics_text.h"

#define NB(array) (sizeof(array) / sizeof((array)[0]))
/* The longest name and help of a family that is made from a field. */
#define NAME_MAX_BYTES 96

enum kind {
	U32,
	U64,
	BOOL,
	MBPS,  /* uint32_t, told as bytes per second */
	BITS,  /* uint64_t per second, told as bytes per second */
	WORDS, /* uint64_t of four bytes each */
};

/* A family with one sample for each object. */
struct column {
	struct roostd_metric metric;
	enum kind kind;
	size_t offset;
};

/* What objects of a kind are, and how they are named. */
struct objects {
	const char *array;
	size_t size;
	uint32_t nb;
	void (*name)(const void *object, struct roostd_metrics_labels *labels);
};

static uint64_t value_of(const struct column *column, const void *object)
{
	const char *at = (const char *)object + column->offset;
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	bool yes;

	switch (column->kind) {
	case U32:
	case MBPS:
		memcpy(&u32, at, sizeof(u32));
		return column->kind == MBPS ? u32 * UINT64_C(125000) : u32;
	case U64:
	case BITS:
	case WORDS:
		memcpy(&u64, at, sizeof(u64));
		return column->kind == BITS    ? u64 / 8
		       : column->kind == WORDS ? u64 * 4
					       : u64;
	case BOOL:
		memcpy(&yes, at, sizeof(yes));
		return yes;
	}
	return 0;
}

static const void *at(const struct objects *objects, uint32_t i)
{
	return objects->array + i * objects->size;
}

static void put_columns(struct roostd_metrics_text *text,
			const struct objects *objects,
			const struct column *columns, size_t nb)
{
	for (size_t c = 0; c < nb && objects->nb > 0; c++) {
		roostd_metrics_begin(text, &columns[c].metric);
		for (uint32_t i = 0; i < objects->nb; i++) {
			struct roostd_metrics_labels labels = { 0 };

			objects->name(at(objects, i), &labels);
			roostd_metrics_put(text, &labels,
					   value_of(&columns[c],
						    at(objects, i)));
		}
	}
}

/* One family with a sample for each reason that frames were dropped for. */
static void put_reasons(struct roostd_metrics_text *text,
			const struct objects *objects, size_t counters,
			const struct roostd_metric *metric)
{
	if (objects->nb > 0)
		roostd_metrics_begin(text, metric);
	for (uint32_t i = 0; i < objects->nb; i++) {
		const struct roost_switch_counters *c =
			(const void *)((const char *)at(objects, i) + counters);

		for (enum roost_sw_drop d = ROOST_SW_OK + 1; d < ROOST_SW_DROPS;
		     d++) {
			struct roostd_metrics_labels labels = { 0 };

			objects->name(at(objects, i), &labels);
			roostd_metrics_label(&labels, "reason",
					     roost_sw_drop_name(d));
			roostd_metrics_put(text, &labels, c->drops[d]);
		}
	}
}

#define COLUMN(type_, name_, unit_, kind_, row, member, help_)                 \
	{                                                                      \
		.metric = { .name = "roost_" name_,                            \
			    .type = ROOSTD_METRIC_##type_,                     \
			    .unit = unit_,                                     \
			    .help = help_ },                                   \
		.kind = kind_, .offset = offsetof(struct row, member)          \
	}

/* ---- ports ----------------------------------------------------------------
 */

#define PORT(type, name, unit, kind, member, help)                             \
	COLUMN(type, "port_" name, unit, kind, roostd_metrics_port, member,    \
	       help)
static const struct column port_columns[] = {
	PORT(GAUGE, "up", NULL, BOOL, row.is_active, "1: the port is active."),
	PORT(GAUGE, "mtu_bytes", "bytes", U32, row.ip_mtu_bytes, "The IP MTU."),
	PORT(GAUGE, "speed_bytes_per_second", "bytes_per_second", MBPS,
	     speed_mbps, "The speed of the link; 0: not known."),
	PORT(GAUGE, "clients", NULL, U32, row.nb_clients,
	     "Processes that have the device open."),
	PORT(GAUGE, "other_sessions", NULL, U32, row.nb_sessions,
	     "Connected processes that have not opened the device."),
	PORT(GAUGE, "clients_away", NULL, U32, row.nb_away,
	     "Clients of the daemon before that are not back yet."),
	PORT(COUNTER, "transmit_frames", NULL, U64, total.tx_frames,
	     "Frames of clients that passed the checks of the switch."),
	PORT(COUNTER, "transmit_bytes", "bytes", U64, total.tx_bytes,
	     "Bytes of these frames, Ethernet to ICRC."),
	PORT(COUNTER, "receive_frames", NULL, U64, total.rx_frames,
	     "Frames that the switch gave to clients."),
	PORT(COUNTER, "receive_bytes", "bytes", U64, total.rx_bytes,
	     "Bytes of these frames, Ethernet to ICRC."),
};
static const struct roostd_metric port_drops = {
	.name = "roost_port_dropped_frames",
	.type = ROOSTD_METRIC_COUNTER,
	.help = "Frames that the switch dropped, by reason.",
};
static const struct roostd_metric port_info = {
	.name = "roost_port",
	.type = ROOSTD_METRIC_INFO,
	.help = "What the port is.",
};

/* Counters of the kernel's names (Documentation/ABI, sysfs-class-infiniband,
 * and mlx5's).
 */
#define ENGINE(name, unit, kind, member, help)                                 \
	COLUMN(COUNTER, "engines_" name, unit, kind, roostd_metrics_port,      \
	       engines.member, help)
static const struct column engine_columns[] = {
	ENGINE("transmit_bytes", "bytes", WORDS, port_xmit_data,
	       "Bytes that the clients' engines sent."),
	ENGINE("receive_bytes", "bytes", WORDS, port_rcv_data,
	       "Bytes that the clients' engines received."),
	ENGINE("transmit_packets", NULL, U64, port_xmit_packets,
	       "Packets that they sent, also to each other."),
	ENGINE("receive_packets", NULL, U64, port_rcv_packets,
	       "Packets that they received."),
	ENGINE("receive_errors", NULL, U64, port_rcv_errors,
	       "Packets that they dropped."),
	ENGINE("transmit_unicast_packets", NULL, U64, unicast_xmit_packets,
	       "Packets that they sent to one destination."),
	ENGINE("receive_unicast_packets", NULL, U64, unicast_rcv_packets,
	       "Packets that they received for one destination."),
	ENGINE("duplicate_requests", NULL, U64, duplicate_request,
	       "Requests that they received again."),
	ENGINE("out_of_sequence_requests", NULL, U64, out_of_sequence,
	       "Requests that they received behind a gap."),
	ENGINE("out_of_buffer", NULL, U64, out_of_buffer,
	       "Requests without a receive request: RNR NAKs sent."),
	ENGINE("sequence_naks_received", NULL, U64, packet_seq_err,
	       "NAKs (PSN sequence error) that they received."),
	ENGINE("rnr_naks_received", NULL, U64, rnr_nak_retry_err,
	       "RNR NAKs that they received."),
	ENGINE("missing_responses", NULL, U64, implied_nak_seq_err,
	       "Responses that they missed: implied NAKs."),
	ENGINE("ack_timeouts", NULL, U64, local_ack_timeout_err,
	       "Timeouts of requesters."),
	ENGINE("icrc_errors", NULL, U64, rx_icrc_encapsulated,
	       "Packets with a wrong ICRC."),
	ENGINE("remote_access_errors", NULL, U64, req_remote_access_errors,
	       "NAKs (remote access error) that they received."),
	ENGINE("remote_invalid_requests", NULL, U64, req_remote_invalid_request,
	       "NAKs (remote invalid request) that they received."),
	ENGINE("ecn_marked_packets", NULL, U64, np_ecn_marked_roce_packets,
	       "Packets that they received with ECN = CE."),
	ENGINE("cnps_sent", NULL, U64, np_cnp_sent, "CNPs that they sent."),
	ENGINE("cnps_handled", NULL, U64, rp_cnp_handled,
	       "CNPs that slowed a queue pair down."),
	ENGINE("cnps_ignored", NULL, U64, rp_cnp_ignored,
	       "CNPs that slowed none down."),
	ENGINE("unmapped_reads", NULL, U64, unmapped_reads,
	       "Reads of memory that a program had unmapped: zeros."),
	ENGINE("unmapped_writes", NULL, U64, unmapped_writes,
	       "Writes to memory that a program had unmapped: discarded."),
};
_Static_assert(NB(engine_columns) ==
		       sizeof(struct roost_picture_counters) / sizeof(uint64_t),
	       "all counters are told");

static void name_port(const void *object, struct roostd_metrics_labels *labels)
{
	const struct roostd_metrics_port *port = object;

	roostd_metrics_label_u64(labels, "port", port->row.port);
}

static void put_ports(struct roostd_metrics_text *text,
		      const struct roostd_metrics_copy *copy)
{
	const struct objects ports = {
		.array = (const char *)copy->ports,
		.size = sizeof(copy->ports[0]),
		.nb = copy->nb_ports,
		.name = name_port,
	};

	roostd_metrics_begin(text, &port_info);
	for (uint32_t i = 0; i < copy->nb_ports; i++) {
		struct roostd_metrics_labels labels = { 0 };

		name_port(&copy->ports[i], &labels);
		roostd_metrics_label(&labels, "label",
				     copy->ports[i].row.label);
		roostd_metrics_put(text, &labels, 1);
	}
	put_columns(text, &ports, port_columns, NB(port_columns));
	put_reasons(text, &ports, offsetof(struct roostd_metrics_port, total),
		    &port_drops);
	/* All ports have them, or none. */
	if (copy->nb_ports > 0 && copy->ports[0].has_engines)
		put_columns(text, &ports, engine_columns, NB(engine_columns));
}

/* ---- clients --------------------------------------------------------------
 */

#define CLIENT(type, name, unit, kind, member, help)                           \
	COLUMN(type, "client_" name, unit, kind, roostd_client_row, member,    \
	       help)
static const struct column client_columns[] = {
	CLIENT(GAUGE, "queue_pairs", NULL, U32, nb_qps,
	       "Numbers of queue pairs that the client leases."),
	CLIENT(GAUGE, "queue_pairs_limit", NULL, U32, max_qps,
	       "How many it may have."),
	CLIENT(GAUGE, "connections", NULL, U32, nb_conns,
	       "Connections of rdma_cm."),
	CLIENT(GAUGE, "connections_limit", NULL, U32, max_conns,
	       "How many it may have."),
	CLIENT(GAUGE, "half_open_connections", NULL, U32, nb_half_open,
	       "Those of them that are not established."),
	CLIENT(GAUGE, "services", NULL, U32, nb_services,
	       "Services and port numbers that it has bound."),
	CLIENT(GAUGE, "memberships", NULL, U32, nb_memberships,
	       "Multicast groups that it has joined."),
	CLIENT(GAUGE, "peers", NULL, U32, nb_peers,
	       "Clients with which it has a channel past the switch."),
	CLIENT(GAUGE, "memory_bytes", "bytes", U64, memory_bytes,
	       "The daemon's memory for it."),
	CLIENT(GAUGE, "weight", NULL, U32, weight, "Its share of the port."),
	CLIENT(GAUGE, "rate_limit_bytes_per_second", "bytes_per_second", BITS,
	       rate_bps, "Its limit to the network; 0: none."),
	CLIENT(COUNTER, "transmit_frames", NULL, U64, counters.tx_frames,
	       "Frames that passed the checks of the switch."),
	CLIENT(COUNTER, "transmit_bytes", "bytes", U64, counters.tx_bytes,
	       "Bytes of these frames."),
	CLIENT(COUNTER, "receive_frames", NULL, U64, counters.rx_frames,
	       "Frames that the switch gave to it."),
	CLIENT(COUNTER, "receive_bytes", "bytes", U64, counters.rx_bytes,
	       "Bytes of these frames."),
};
static const struct roostd_metric client_drops = {
	.name = "roost_client_dropped_frames",
	.type = ROOSTD_METRIC_COUNTER,
	.help = "Frames of and for the client that were dropped, by reason.",
};
static const struct roostd_metric clients_left_out = {
	.name = "roost_clients_left_out",
	.type = ROOSTD_METRIC_GAUGE,
	.help = "Clients beyond the number that has samples of its own.",
};

/* Neither the command nor the pid: who may read the page may not have to know
 * them, and they would make a new series for each process.
 */
static void name_client(const void *object,
			struct roostd_metrics_labels *labels)
{
	const struct roostd_client_row *client = object;

	roostd_metrics_label_u64(labels, "port", client->port);
	roostd_metrics_label_u64(labels, "client", client->client);
	roostd_metrics_label_u64(labels, "uid", client->uid);
	roostd_metrics_label(labels, "policy", client->policy);
}

static void put_clients(struct roostd_metrics_text *text,
			const struct roostd_metrics_copy *copy)
{
	const struct objects clients = {
		.array = (const char *)copy->clients,
		.size = sizeof(copy->clients[0]),
		.nb = copy->nb_clients,
		.name = name_client,
	};

	roostd_metrics_begin(text, &clients_left_out);
	roostd_metrics_put(text, NULL, copy->nb_left_out);
	put_columns(text, &clients, client_columns, NB(client_columns));
	put_reasons(text, &clients,
		    offsetof(struct roostd_client_row, counters),
		    &client_drops);
}

/* ---- devices --------------------------------------------------------------
 */

#define DEVICE(type, name, unit, kind, member, help)                           \
	COLUMN(type, "device_" name, unit, kind, roostd_metrics_device,        \
	       member, help)
static const struct column device_columns[] = {
	DEVICE(GAUGE, "carrier", NULL, BOOL, port.carrier,
	       "1: the link has a carrier."),
	DEVICE(GAUGE, "queue_pairs", NULL, U32, row.view.qps,
	       "Queue pairs of the daemon itself."),
	DEVICE(COUNTER, "missed_packets", NULL, U64, port.missed_pkts,
	       "Packets that were lost because a ring of a VLAN was full."),
};
static const struct roostd_metric device_drops = {
	.name = "roost_device_dropped_packets",
	.type = ROOSTD_METRIC_COUNTER,
	.help = "Packets that the daemon's own engine dropped, by reason.",
};

static void name_device(const void *object,
			struct roostd_metrics_labels *labels)
{
	const struct roostd_metrics_device *device = object;

	roostd_metrics_label(labels, "device", device->row.name);
}

/* The value of the one field. */
static void take_value(void *ctx, const char *name, uint64_t value)
{
	(void)name;
	*(uint64_t *)ctx = value;
}

/* The counters of an engine have one table, for all who show them. */
static void put_field(struct roostd_metrics_text *text,
		      const struct roostd_metrics_copy *copy,
		      const struct roost_field *field)
{
	const struct roost_field one[] = { *field, { .name = NULL } };
	uint64_t value = 0;
	const struct roost_row_sink sink = { .u64 = take_value, .ctx = &value };
	const size_t len = strlen(field->name);
	const bool is_bytes =
		len > 6 && strcmp(field->name + len - 6, "_bytes") == 0;
	char name[NAME_MAX_BYTES], help[NAME_MAX_BYTES];
	const struct roostd_metric metric = {
		.name = name,
		.type = ROOSTD_METRIC_COUNTER,
		.unit = is_bytes ? "bytes" : NULL,
		.help = help,
	};

	snprintf(name, sizeof(name), "roost_device_%s", field->name);
	snprintf(help, sizeof(help),
		 "Counter %s of the daemon's own engine, see roost-ctl(1).",
		 field->name);
	roostd_metrics_begin(text, &metric);
	for (uint32_t i = 0; i < copy->nb_devices; i++) {
		struct roostd_metrics_labels labels = { 0 };

		name_device(&copy->devices[i], &labels);
		roost_row_emit(&sink, one, &copy->devices[i].counters);
		roostd_metrics_put(text, &labels, value);
	}
}

static void put_devices(struct roostd_metrics_text *text,
			const struct roostd_metrics_copy *copy)
{
	const struct objects devices = {
		.array = (const char *)copy->devices,
		.size = sizeof(copy->devices[0]),
		.nb = copy->nb_devices,
		.name = name_device,
	};

	if (copy->nb_devices == 0)
		return;
	put_columns(text, &devices, device_columns, NB(device_columns));
	for (const struct roost_field *f = roost_counter_fields; f->name; f++)
		put_field(text, copy, f);
	roostd_metrics_begin(text, &device_drops);
	for (uint32_t i = 0; i < copy->nb_devices; i++) {
		const struct roostd_metrics_device *d = &copy->devices[i];

		for (enum roost_drop k = ROOST_DROP_NONE + 1;
		     k < ROOST_DROP_COUNT; k++) {
			struct roostd_metrics_labels labels = { 0 };

			name_device(d, &labels);
			roostd_metrics_label(&labels, "reason",
					     roost_drop_name(k));
			roostd_metrics_put(text, &labels, d->counters.drops[k]);
		}
	}
}

/* ---- the process ----------------------------------------------------------
 */

static void put_one(struct roostd_metrics_text *text,
		    const struct roostd_metric *metric, uint64_t value)
{
	roostd_metrics_begin(text, metric);
	roostd_metrics_put(text, NULL, value);
}

static void put_seconds(struct roostd_metrics_text *text,
			const struct roostd_metric *metric, uint64_t ns)
{
	roostd_metrics_begin(text, metric);
	roostd_metrics_put_ns(text, NULL, ns);
}

#define METRIC(type_, name_, unit_, help_)                                     \
	&(const struct roostd_metric)                                          \
	{                                                                      \
		.name = name_, .type = ROOSTD_METRIC_##type_, .unit = unit_,   \
		.help = help_                                                  \
	}

static void put_threads(struct roostd_metrics_text *text,
			const struct roostd_metrics_copy *copy)
{
	roostd_metrics_begin(
		text, METRIC(COUNTER, "roost_thread_cpu_seconds", "seconds",
			     "Processor time of the threads of a name."));
	for (uint32_t i = 0; i < copy->nb_threads; i++) {
		struct roostd_metrics_labels labels = { 0 };

		roostd_metrics_label(&labels, "thread", copy->threads[i].name);
		roostd_metrics_put_ns(text, &labels, copy->threads[i].cpu_ns);
	}
}

/* By the names that all exporters have. */
static void put_process(struct roostd_metrics_text *text,
			const struct roostd_metrics_process *process)
{
	put_seconds(text,
		    METRIC(COUNTER, "process_cpu_seconds", "seconds",
			   "Processor time of the daemon."),
		    process->cpu_ns);
	put_seconds(text,
		    METRIC(GAUGE, "process_start_time_seconds", "seconds",
			   "When the daemon was started, since the Unix "
			   "epoch."),
		    process->start_ns);
	put_one(text,
		METRIC(GAUGE, "process_resident_memory_bytes", "bytes",
		       "Resident memory."),
		process->resident_bytes);
	put_one(text,
		METRIC(GAUGE, "process_virtual_memory_bytes", "bytes",
		       "Virtual memory."),
		process->virtual_bytes);
	put_one(text,
		METRIC(GAUGE, "process_open_fds", NULL, "Open descriptors."),
		process->open_fds);
	put_one(text,
		METRIC(GAUGE, "process_max_fds", NULL,
		       "The limit of open descriptors."),
		process->max_fds);
}

void roostd_metrics_page(FILE *out, bool is_open_metrics,
			 const struct roostd_metrics_copy *copy)
{
	struct roostd_metrics_text text = {
		.out = out,
		.is_open_metrics = is_open_metrics,
	};
	struct roostd_metrics_labels build = { 0 };

	roostd_metrics_begin(&text, METRIC(INFO, "roost_build", NULL,
					   "The version of roostd."));
	roostd_metrics_label(&build, "version", ROOST_VERSION);
	roostd_metrics_put(&text, &build, 1);
	put_ports(&text, copy);
	put_clients(&text, copy);
	put_devices(&text, copy);
	put_threads(&text, copy);
	put_process(&text, &copy->process);
	put_one(&text,
		METRIC(COUNTER, "roost_metrics_cut_connections", NULL,
		       "Connections to this page that were ended: too slow, or "
		       "too many."),
		copy->nb_cut);
	roostd_metrics_end(&text);
}
