/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_CTL_ROW_H
#define ROOST_APPS_ROOSTD_CTL_ROW_H

/*
 * What is shown of a shared port and of a client: copies, which the daemon's
 * thread makes and another one writes as JSON.
 */

#include "apps/roostd/port.h"
#include "pmd_glue/ctl/ctl_row.h"

struct roost_json;

struct roostd_lane_row {
	uint32_t port;
	uint32_t lane;
	uint32_t nb_clients;
	uint64_t rx_frames; /* of its queue */
	uint64_t tx_frames; /* to its queue */
};

struct roostd_shared_row {
	uint32_t port;
	char label[64];
	char socket[ROOST_SERVICE_MAX]; /* empty: the hub's abstract name */
	bool is_active;
	uint32_t ip_mtu_bytes;
	uint32_t nb_clients;  /* attached */
	uint32_t nb_sessions; /* others: they have not opened the device */
	uint32_t nb_away;     /* clients of the daemon before, not back yet */
	uint64_t tx_bytes;    /* of the clients there are, as below */
	uint64_t rx_bytes;
	uint32_t nb_lanes;
	struct roostd_lane_row lanes[ROOST_WORKERS_MAX];
};

struct roostd_client_row {
	uint32_t port;
	uint32_t client; /* its slot */
	uint32_t pid;    /* as the daemon sees it; 0: it cannot */
	/* As the client's own PID namespace has it, by put(); 0: the same. */
	uint32_t own_pid;
	uint32_t uid;
	char command[ROOST_SHARE_COMMAND_MAX];
	char policy[ROOSTD_POLICY_NAME_MAX + 1];
	bool direct;
	uint32_t nb_peers;        /* with which it has a channel of their own */
	struct roost_gid address; /* zeros: shared */
	uint32_t nb_qps;          /* numbers that it leases */
	uint32_t max_qps;
	uint32_t nb_conns;
	uint32_t max_conns;
	uint32_t nb_half_open;
	uint32_t max_half_open;
	uint32_t nb_services;
	uint32_t max_services;
	uint32_t nb_memberships;
	uint32_t max_memberships;
	uint32_t weight;
	uint64_t rate_bps;     /* 0: any */
	uint64_t memory_bytes; /* the ring for it */
	struct roost_switch_counters counters;
	uint64_t tx_bps; /* over the last second */
	uint64_t rx_bps;
};

/* Thread: the daemon's first one, which holds the others (crew.h). */
void roostd_shared_row(const struct roostd_port *port,
		       struct roostd_shared_row *row);
/* The client is attached. */
void roostd_client_row(const struct roostd_port *port,
		       const struct roostd_client *c,
		       struct roostd_client_row *row);

/* Write a row as an object of an array. That of a client looks it up in /proc.
 * Thread: any.
 */
void roostd_lane_row_put(struct roost_json *j,
			 const struct roostd_lane_row *row);
void roostd_shared_row_put(struct roost_json *j,
			   const struct roostd_shared_row *row);
void roostd_client_row_put(struct roost_json *j, struct roostd_client_row *row);

#endif
