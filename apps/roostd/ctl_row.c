/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/ctl_row.h"

#include <stdio.h>
#include <string.h>

#include "apps/ctl_process.h"
#include "pmd_glue/ctl/ctl_show.h"
#include "pmd_glue/ctl/json.h"

#define FIELD(row, field_kind, member, field_name)                             \
	{                                                                      \
		.name = field_name, .kind = ROOST_FIELD_##field_kind,          \
		.offset = offsetof(struct row, member)                         \
	}

#define LANE(kind, member, name) FIELD(roostd_lane_row, kind, member, name)
static const struct roost_field lane_fields[] = {
	LANE(U32, port, "port"),           LANE(U32, lane, "lane"),
	LANE(U32, nb_clients, "clients"),  LANE(U64, rx_frames, "rx_frames"),
	LANE(U64, tx_frames, "tx_frames"), { .name = NULL },
};

#define SHARED(kind, member, name) FIELD(roostd_shared_row, kind, member, name)
static const struct roost_field shared_fields[] = {
	SHARED(U32, port, "port"),
	SHARED(TEXT, label, "label"),
	SHARED(TEXT, socket, "socket"),
	SHARED(BOOL, is_active, "active"),
	SHARED(U32, ip_mtu_bytes, "mtu"),
	SHARED(U32, nb_clients, "clients"),
	SHARED(U32, nb_sessions, "other_sessions"),
	SHARED(U32, nb_away, "away"),
	SHARED(U64, tx_bytes, "tx_bytes"),
	SHARED(U64, rx_bytes, "rx_bytes"),
	{ .name = NULL },
};

#define CLIENT(kind, member, name) FIELD(roostd_client_row, kind, member, name)
static const struct roost_field client_fields[] = {
	CLIENT(U32, port, "port"),
	CLIENT(U32, client, "client"),
	CLIENT(U32, pid, "pid"),
	CLIENT(U32, own_pid, "own_pid"),
	CLIENT(U32, uid, "uid"),
	CLIENT(TEXT, command, "command"),
	CLIENT(TEXT, policy, "policy"),
	CLIENT(BOOL, direct, "direct"),
	CLIENT(U32, nb_peers, "peers"),
	CLIENT(GID, address, "address"),
	CLIENT(U32, nb_qps, "qps"),
	CLIENT(U32, max_qps, "max_qps"),
	CLIENT(U32, nb_conns, "connections"),
	CLIENT(U32, max_conns, "max_connections"),
	CLIENT(U32, nb_half_open, "half_open"),
	CLIENT(U32, max_half_open, "max_half_open"),
	CLIENT(U32, nb_services, "services"),
	CLIENT(U32, max_services, "max_services"),
	CLIENT(U32, nb_memberships, "memberships"),
	CLIENT(U32, max_memberships, "max_memberships"),
	CLIENT(U32, weight, "weight"),
	CLIENT(U64, rate_bps, "rate"),
	CLIENT(U64, memory_bytes, "memory"),
	{ .name = NULL },
};

static const struct roost_field counter_fields[] = {
	CLIENT(U64, counters.tx_frames, "tx_frames"),
	CLIENT(U64, counters.tx_bytes, "tx_bytes"),
	CLIENT(U64, tx_bps, "tx_bps"),
	CLIENT(U64, counters.rx_frames, "rx_frames"),
	CLIENT(U64, counters.rx_bytes, "rx_bytes"),
	CLIENT(U64, rx_bps, "rx_bps"),
	{ .name = NULL },
};

/* ---- copies -------------------------------------------------------------- */

void roostd_shared_row(const struct roostd_port *port,
		       struct roostd_shared_row *row)
{
	struct roost_switch_counters counters;
	const struct roostd_client *c;

	*row = (struct roostd_shared_row){
		.port = (uint32_t)(port - port->first),
		.is_active = port->facts.is_active == 1,
		.ip_mtu_bytes = port->facts.ip_mtu_bytes,
		.nb_clients = port->nb_attached,
		.nb_sessions = port->nb_clients - port->nb_attached,
		.nb_away = port->lease->nb_away,
		.nb_lanes = port->nb_lanes,
	};
	for (uint32_t i = 0; i < port->nb_lanes; i++)
		row->lanes[i] = (struct roostd_lane_row){
			.port = row->port,
			.lane = i,
			.nb_clients = port->lanes[i].nb_clients,
			.rx_frames = port->lanes[i].rx_frames,
			.tx_frames = port->lanes[i].tx_frames,
		};
	snprintf(row->label, sizeof(row->label), "%s", port->label);
	if (!port->is_hub)
		snprintf(row->socket, sizeof(row->socket), "%s",
			 port->service->socket);
	LIST_FOREACH(c, &port->clients, all) {
		if (c->slot == ROOST_CLIENT_NONE)
			continue;
		counters = roost_switch_counters(port->sw, c->slot);
		row->tx_bytes += counters.tx_bytes;
		row->rx_bytes += counters.rx_bytes;
	}
}

void roostd_client_row(const struct roostd_port *port,
		       const struct roostd_client *c,
		       struct roostd_client_row *row)
{
	const struct roost_client *lease = &port->lease->clients[c->slot];
	const struct roost_seen_client *seen = &port->sw->seen.clients[c->slot];
	const struct roost_client_conf *conf = &lease->conf;

	*row = (struct roostd_client_row){
		.port = (uint32_t)(port - port->first),
		.client = c->slot,
		.pid = (uint32_t)c->pid,
		.uid = c->uid,
		.direct = c->direct,
		.nb_peers = roostd_introduce_nb(c),
		.nb_qps = lease->blocks.nb * ROOST_LEASE_BLOCK_LEN,
		.max_qps = conf->max_qps,
		.nb_conns = seen->nb,
		.max_conns = conf->max_conns,
		.nb_half_open = seen->nb_half_open,
		.max_half_open = conf->max_half_open,
		.nb_services = lease->nb_services,
		.max_services = conf->max_services,
		.nb_memberships = lease->nb_groups,
		.max_memberships = conf->max_groups,
		.weight = conf->weight,
		.rate_bps = conf->rate_bytes_per_s * 8,
		.memory_bytes = c->ours.size_bytes,
		.counters = roost_switch_counters(port->sw, c->slot),
		.tx_bps = c->tx_bps,
		.rx_bps = c->rx_bps,
	};
	if (conf->nb_gids > 0)
		row->address = conf->gids[0];
	memcpy(row->command, c->command, sizeof(row->command));
	snprintf(row->policy, sizeof(row->policy), "%s",
		 c->policy[0] ? c->policy : "default");
}

/* ---- JSON ---------------------------------------------------------------- */

void roostd_lane_row_put(struct roost_json *j,
			 const struct roostd_lane_row *row)
{
	roost_json_begin(j, NULL, '{');
	roost_ctl_put_fields(j, lane_fields, row);
	roost_json_end(j, '}');
}

void roostd_shared_row_put(struct roost_json *j,
			   const struct roostd_shared_row *row)
{
	roost_json_begin(j, NULL, '{');
	roost_ctl_put_fields(j, shared_fields, row);
	roost_json_end(j, '}');
}

/* 0: it is the same, or not known. */
static uint32_t find_own_pid(uint32_t pid)
{
	uint32_t own = (uint32_t)roost_ctl_process_number((pid_t)pid);

	return own == pid ? 0 : own;
}

void roostd_client_row_put(struct roost_json *j, struct roostd_client_row *row)
{
	row->own_pid = row->pid ? find_own_pid(row->pid) : 0;
	roost_json_begin(j, NULL, '{');
	roost_ctl_put_fields(j, client_fields, row);
	roost_json_begin(j, "counters", '{');
	roost_ctl_put_fields(j, counter_fields, row);
	roost_json_end(j, '}');
	roost_json_begin(j, "drops", '{');
	for (enum roost_sw_drop i = ROOST_SW_OK + 1; i < ROOST_SW_DROPS; i++)
		if (row->counters.drops[i])
			roost_json_u64(j, roost_sw_drop_name(i),
				       row->counters.drops[i]);
	roost_json_end(j, '}');
	roost_json_end(j, '}');
}
