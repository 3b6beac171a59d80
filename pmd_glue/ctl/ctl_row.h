/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_ROW_H
#define ROOST_PMD_GLUE_CTL_CTL_ROW_H

/*
 * The values that a process shows: rows of named values, with one table of
 * fields per kind of object. The control socket writes rows as JSON, telemetry
 * as DPDK's dictionaries.
 *
 * Thread: the control thread.
 */

#include <stddef.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/view.h"
#include "pmd_glue/backend/backend.h"

enum roost_field_kind {
	ROOST_FIELD_BOOL,
	ROOST_FIELD_U8,
	ROOST_FIELD_U16,
	ROOST_FIELD_U32,
	ROOST_FIELD_U64,
	ROOST_FIELD_ENUM, /* an int, by its name in names[] */
	ROOST_FIELD_HEX8, /* as 0x... */
	ROOST_FIELD_HEX,  /* uint16_t */
	ROOST_FIELD_HEX32,
	ROOST_FIELD_HEX64,
	ROOST_FIELD_GID,  /* as an address; empty: none */
	ROOST_FIELD_TEXT, /* char[] */
};

struct roost_field {
	const char *name;
	enum roost_field_kind kind;
	size_t offset;
	const char *const *names;
};

/* Ends with a field without a name. */
extern const struct roost_field roost_device_fields[];
extern const struct roost_field roost_port_fields[];
extern const struct roost_field roost_gid_fields[];
extern const struct roost_field roost_pkey_fields[];
extern const struct roost_field roost_ecn_fields[];
extern const struct roost_field roost_qos_fields[];
extern const struct roost_field roost_qp_fields[];
extern const struct roost_field roost_qp_error_fields[];
/* Parts of an error that only some errors have. */
extern const struct roost_field roost_qp_packet_fields[];
extern const struct roost_field roost_qp_memory_fields[];
extern const struct roost_field roost_qp_counter_fields[]; /* of its view */
extern const struct roost_field roost_cq_fields[];
extern const struct roost_field roost_srq_fields[];
extern const struct roost_field roost_channel_fields[];
extern const struct roost_field roost_worker_fields[];
extern const struct roost_field roost_counter_fields[];

/* The receiver of a row's values. */
struct roost_row_sink {
	void (*u64)(void *ctx, const char *name, uint64_t value);
	void (*boolean)(void *ctx, const char *name, bool value);
	void (*text)(void *ctx, const char *name, const char *value);
	void *ctx;
};
void roost_row_emit(const struct roost_row_sink *sink,
		    const struct roost_field *fields, const void *row);

/* Rows that are not the engine's views (lib/engine/core/view.h). */
struct roost_device_row {
	char name[32];
	char node_guid[20]; /* 0123:4567:89ab:cdef */
	struct roost_dev_view view;
};
void roost_device_row(struct roost_dev *dev, struct roost_device_row *row);

struct roost_port_row {
	uint8_t num;
	char label[ROOST_LABEL_MAX]; /* the user's name of the port */
	/* The kernel's interface: the twin, or the one that shares the port;
	 * empty: none.
	 */
	char interface[IFNAMSIZ];
	int state; /* enum roost_port_state */
	bool admin_up;
	bool carrier; /* on a link: a process has the other end */
	bool removed;
	uint16_t vlan_id;   /* 0: none */
	uint32_t mtu_bytes; /* of IP */
	uint32_t path_mtu_bytes;
	uint32_t speed_mbps;
	uint16_t queues;        /* of the port, each way */
	char steering[16];      /* what spreads frames over them */
	uint32_t nic_rules;     /* flow rules that the NIC has, too */
	uint32_t refused_rules; /* and that it refused */
	uint16_t lid;
	uint16_t sm_lid;
	uint32_t bad_pkeys;
	uint32_t qkey_violations;
	uint64_t missed_pkts; /* of a subport: dropped, its ring was full */
};
void roost_port_row(const struct roost_backend_port *port,
		    struct roost_port_row *row);

/* The last error of a QP that had one. */
struct roost_qp_error_row {
	struct roost_qp_error error;
	char name[32];
	char text[80];
	int found_by;  /* enum roost_qp_finder */
	char time[32]; /* UTC, as in RFC 3339 */
	char opcode[32];
	uint16_t syndrome; /* of the AETH; 0: none */
};
void roost_qp_error_row(const struct roost_qp_error *error,
			struct roost_qp_error_row *row);

/* The words of single values. */
const char *roost_qp_type_text(enum roost_qp_type type);
const char *roost_qp_state_text(enum roost_qp_state state);
void roost_opcode_text(uint8_t number, char *text, size_t size);
/* The UTC time, as in RFC 3339, of at_ns, a time of roost_now_ns(). */
void roost_time_text(uint64_t at_ns, char *text, size_t size);

struct roost_gid_row {
	uint32_t index;
	struct roost_gid gid;
};

struct roost_ecn_row {
	uint8_t port_num;
	struct roost_ecn ecn;
};

struct roost_qos_row {
	uint8_t port_num;
	char trust[8];
	uint32_t default_roce_tos;
	/* As the keys of the configuration. */
	char dscp2prio[ROOST_QOS_DSCPS * 8];
	char prio2pcp[ROOST_QOS_PRIOS * 8];
};
void roost_qos_row(uint8_t port_num, const struct roost_qos *qos,
		   struct roost_qos_row *row);

struct roost_pkey_row {
	uint32_t index;
	uint16_t pkey;
};

#endif
