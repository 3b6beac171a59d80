/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "lib/engine/core/dev.h"

/* Kinds of NAKs, see ROOST_NAK_KINDS. */
enum {
	NAK_SEQUENCE,
	NAK_INVALID,
	NAK_ACCESS,
};

#define LOOK_NS 5000000u
#define COUNT_NS 1000000000u
#define LAST_TRIES 20

_Static_assert(sizeof(struct roost_picture_counters) <=
		       ROOST_BACKEND_TALLIES_MAX * sizeof(uint64_t),
	       "all counters");
_Static_assert(ROOST_PICTURE_GIDS_MAX >= ROOST_GID_TABLE_LEN, "all GIDs");
_Static_assert(ROOST_PICTURE_PKEYS_MAX >= ROOST_PKEY_TABLE_LEN, "all P_Keys");

static void get_port(const struct roost_backend_port *port,
		     struct roost_picture_port *now)
{
	struct roost_backend_view view;
	struct roost_port_attr attr;

	/* With the padding: it is compared as a whole. */
	memset(now, 0, sizeof(*now));
	now->cap_mask = ROOST_PICTURE_CAP_MASK;
	if (roost_port_query(port->dev, port->port_num, &attr) != 0)
		return;
	now->is_active = attr.state == ROOST_PORT_ACTIVE;
	now->lid = attr.lid;
	now->sm_lid = attr.sm_lid;
	now->speed_mbps = attr.speed_mbps;
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		roost_port_query_gid(port->dev, port->port_num, i,
				     &now->gids[i]);
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		roost_port_query_pkey(port->dev, port->port_num, i,
				      &now->pkeys[i]);
	port->backend->view(port, &view);
	snprintf(now->interface, sizeof(now->interface), "%s", view.interface);
}

/* before: what the picture has is what was put. */
static int put_ports(struct roost_picture_live *live, bool before)
{
	struct roost_picture_port now;
	int ret = 0;

	for (unsigned int i = 0; ret == 0 && i < live->ports->nb; i++) {
		get_port(live->ports->v[i], &now);
		if (before && memcmp(&now, &live->put[i], sizeof(now)) == 0)
			continue;
		ret = roost_picture_put_port(live->path,
					     roost_dev_name(live->dev), i + 1,
					     &now,
					     before ? &live->put[i] : NULL);
		live->put[i] = now;
	}
	return ret;
}

static void get_counters(struct roost_dev *dev,
			 struct roost_picture_counters *now)
{
	struct roost_dev_counters c;

	roost_dev_counters(dev, &c);
	*now = (struct roost_picture_counters){
		.port_xmit_data = c.tx_bytes / 4,
		.port_rcv_data = c.rx_bytes / 4,
		.port_xmit_packets = c.tx_pkts,
		.port_rcv_packets = c.rx_pkts,
		.port_rcv_errors = c.drops[ROOST_DROP_LENGTH] +
				   c.drops[ROOST_DROP_HDR_LEN] +
				   c.drops[ROOST_DROP_ICRC],
		.unicast_xmit_packets = c.tx_pkts,
		.unicast_rcv_packets = c.rx_pkts,
		.duplicate_request = c.duplicates,
		.out_of_sequence = c.out_of_order,
		.out_of_buffer = c.rnr_naks_sent,
		.packet_seq_err = c.naks_received_of[NAK_SEQUENCE],
		.rnr_nak_retry_err = c.rnr_naks_received,
		.implied_nak_seq_err = c.missing_responses,
		.local_ack_timeout_err = c.timeouts,
		.rx_icrc_encapsulated = c.drops[ROOST_DROP_ICRC],
		.req_remote_access_errors = c.naks_received_of[NAK_ACCESS],
		.req_remote_invalid_request = c.naks_received_of[NAK_INVALID],
		.np_ecn_marked_roce_packets = c.ecn_marked_pkts,
		.np_cnp_sent = c.cnps_sent,
		.rp_cnp_handled = c.cnps_handled,
		.rp_cnp_ignored = c.cnps_ignored,
		.unmapped_reads = c.gone_reads,
		.unmapped_writes = c.gone_writes,
	};
}

/* Counters are the device's: each port shows them. The files have what this
 * process put last, or more. Returns false: another process counts just now.
 */
static bool put_counters(struct roost_picture_live *live)
{
	struct roost_picture_counters own, all;
	int ret;

	get_counters(live->dev, &own);
	ret = roost_picture_sum(live->path, roost_dev_name(live->dev),
				&live->row, &own, &all);
	if (ret || memcmp(&all, &live->counters, sizeof(all)) == 0)
		return ret != -EAGAIN;
	for (unsigned int i = 0; i < live->ports->nb; i++)
		roost_picture_put_counters(live->path,
					   roost_dev_name(live->dev), i + 1,
					   &all, &live->counters);
	live->counters = all;
	return true;
}

static bool has_daemon(const struct roost_picture_live *live)
{
	bool has = false;

	for (unsigned int i = 0; i < live->ports->nb; i++)
		has |= live->ports->v[i]->backend->tally != NULL;
	return has;
}

/* Counters are the device's; a device with two ports of one daemon tells them
 * at the first one.
 */
static void tell_counters(struct roost_picture_live *live)
{
	struct roost_picture_counters now;
	unsigned int i = 0;

	if (!has_daemon(live))
		return;
	get_counters(live->dev, &now);
	if (memcmp(&now, &live->told, sizeof(now)) == 0)
		return;
	while (!live->ports->v[i]->backend->tally)
		i++;
	live->ports->v[i]->backend->tally(live->ports->v[i],
					  (const uint64_t *)&now,
					  sizeof(now) / sizeof(uint64_t));
	live->told = now;
}

void roost_picture_live_open(struct roost_picture_live *live,
			     const struct roost_ports *ports,
			     struct roost_dev *dev)
{
	const char *path = secure_getenv(ROOST_PICTURE_VARIABLE);

	live->ports = ports;
	live->dev = dev;
	snprintf(live->path, sizeof(live->path), "%s", path ? path : "");
	/* It may be the picture of another user's program, or be gone. */
	if (live->path[0] == '/' &&
	    roost_picture_has_sum(live->path, roost_dev_name(dev)) &&
	    roost_picture_put_guid(live->path, roost_dev_name(dev),
				   roost_dev_node_guid(dev)) == 0 &&
	    put_ports(live, false) == 0)
		put_counters(live);
	else
		live->path[0] = '\0';
	live->look_ns = 0;
	live->count_ns = 0;
}

uint64_t roost_picture_live_run(struct roost_picture_live *live,
				uint64_t now_ns)
{
	const bool puts = live->path[0] != '\0';

	if (!puts && !has_daemon(live))
		return UINT64_MAX;
	if (now_ns < live->look_ns)
		return live->look_ns;
	if (puts && put_ports(live, true) != 0)
		live->path[0] = '\0';
	live->look_ns = now_ns + LOOK_NS;
	/* The thread may wake a little early. */
	if (now_ns + LOOK_NS >= live->count_ns) {
		if (live->path[0] != '\0')
			put_counters(live);
		tell_counters(live);
		live->count_ns = now_ns + COUNT_NS;
	}
	return live->count_ns;
}

void roost_picture_live_close(struct roost_picture_live *live)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	tell_counters(live);
	for (int i = 0; live->path[0] && i < LAST_TRIES; i++) {
		if (put_counters(live))
			return;
		nanosleep(&moment, NULL);
	}
}
