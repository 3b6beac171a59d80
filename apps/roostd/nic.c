/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/nic.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "apps/roostd/dump.h"
#include "apps/roostd/picture.h"
#include "apps/roostd/port.h"
#include "lib/wire/bytes.h"
#include "pmd_glue/dump/dump.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/uplink.h"

/* Frames of clients of a lane in one round. */
#define SEND_MAX 128u
/* Of clients of a lane: a quarter of what the port's mempool has for it. */
#define MOST_KEPT 1024u

/* ---- frames: hot --------------------------------------------------------- */

/* What is the host's, its engine shows. */
static __attribute__((noinline)) void
show_and_switch(struct roostd_lane *lane, const struct roost_sw_frame *frame)
{
	struct roost_tap_mark mark;

	roostd_dump_begin(lane, ROOST_CLIENT_NONE, frame, &mark);
	roost_switch_from_port(lane->sw, frame);
	if (lane->is_hosts)
		roost_dump_cancel(&mark);
	else
		roostd_dump_end(lane, ROOST_CLIENT_NONE, &mark);
}

/* A worker's number is its lane's. */
static bool receive(void *arg, unsigned int worker, const uint8_t *head,
		    uint32_t head_len_bytes, const uint8_t *rest,
		    uint32_t rest_len_bytes)
{
	struct roostd_port *port = arg;
	struct roostd_lane *lane = &port->lanes[worker];
	const struct roost_sw_frame frame = {
		.head = head,
		.payload = rest,
		.head_len_bytes = head_len_bytes,
		.len_bytes = head_len_bytes + rest_len_bytes,
	};

	/* The port is being opened, or closed. */
	if (!lane->sw)
		return true;
	lane->rx_frames++;
	lane->is_hosts = false;
	if (__builtin_expect(port->is_shown, 0))
		show_and_switch(lane, &frame);
	else
		roost_switch_from_port(lane->sw, &frame);
	return lane->is_hosts;
}

static void transmit(void *arg, unsigned int worker)
{
	struct roostd_port *port = arg;
	struct roostd_lane *lane = &port->lanes[worker];

	roost_switch_send(lane->sw, lane->now_ns, SEND_MAX);
}

static const struct roost_uplink_ops ops = {
	.receive = receive,
	.transmit = transmit,
};

/* ---- what the port is ---------------------------------------------------- */

static void set_shape(struct roostd_port *port)
{
	const struct roost_gid link_local =
		roost_nd_link_local(port->facts.mac);
	struct roost_sw_port *shape = &port->shape;

	*shape = (struct roost_sw_port){
		.vlan_id = roost_uplink_vlan_id(port->uplink),
		.max_frame_bytes = ROOST_ETH_LEN + port->facts.ip_mtu_bytes,
		.ca_guid = roost_be64_get(&link_local.b[8]),
		.most_kept = MOST_KEPT,
	};
	if (shape->vlan_id != 0)
		shape->max_frame_bytes += ROOST_VLAN_LEN;
	memcpy(shape->mac, port->facts.mac, sizeof(shape->mac));
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		if (port->facts.pkeys[i] & 0x7fff)
			shape->pkeys[shape->nb_pkeys++] = port->facts.pkeys[i];
}

static bool is_among(const struct roost_gid *gid,
		     const struct roost_share_facts *facts)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (roost_gid_eq(&facts->gids[i], gid))
			return true;
	return false;
}

static void drop_addrs(struct roostd_port *port,
		       const struct roost_share_facts *now)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		const struct roost_gid *gid = &port->facts.gids[i];

		if (!roost_gid_is_zero(gid) && !is_among(gid, now))
			roost_lease_addr_lose(port->lease, gid);
	}
}

static void add_addrs(struct roostd_port *port,
		      const struct roost_share_facts *before)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (!is_among(&port->facts.gids[i], before) &&
		    roostd_port_add_addr(port, &port->facts.gids[i]) != 0)
			roost_report("%s: no memory for an address",
				     port->label);
}

static void follow_facts(struct roostd_port *port)
{
	const struct roost_share_facts before = port->facts;
	struct roost_share_facts now;

	roost_uplink_facts(port->uplink, &now);
	now.is_recovering = before.is_recovering;
	if (memcmp(&now, &before, sizeof(now)) == 0)
		return;
	drop_addrs(port, &now);
	port->facts = now;
	add_addrs(port, &before);
	set_shape(port);
	roost_switch_set_port(port->sw, &port->shape);
	if (memcmp(now.mac, before.mac, sizeof(now.mac)) != 0)
		roostd_neighs_set_own(port);
	if (roost_share_page_write(port->page, &port->facts))
		roostd_port_tell_changed(port);
	roostd_picture_follow(port);
}

void roostd_nic_ready(struct roostd_port *port)
{
	if (!roost_uplink_news(port->uplink))
		return;
	roostd_port_hold(port);
	follow_facts(port);
	/* Clients have copies; who waits for a first MAC looks by itself. */
	if (roostd_neighs_follow(port))
		roostd_port_tell_changed(port);
}

/* ---- life ---------------------------------------------------------------- */

static int watch(const struct roostd_lane *lane, void *tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = tag };

	return epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD,
			 roost_uplink_fd(lane->port->uplink, lane->number),
			 &event) == 0
		       ? 0
		       : -errno;
}

/* A lane for each queue. */
static int add_lanes(struct roostd_port *port)
{
	int ret = watch(&port->lanes[0], port);

	if (roost_uplink_nb_workers(port->uplink) > 1)
		port->sw->ops = &roostd_lanes_switch_ops;
	while (!ret && port->nb_lanes < roost_uplink_nb_workers(port->uplink)) {
		ret = roostd_port_add_lane(port);
		if (!ret)
			ret = watch(&port->lanes[port->nb_lanes - 1], NULL);
	}
	return ret;
}

int roostd_nic_open(struct roostd_port *port, const struct roost_config *config,
		    unsigned int index, const char *state_path)
{
	int ret = roost_uplink_open(config, index, &ops, port, &port->uplink);

	if (ret)
		return ret;
	port->label = roost_uplink_label(port->uplink);
	roost_uplink_facts(port->uplink, &port->facts);
	set_shape(port);
	ret = roostd_port_make(port, state_path);
	if (!ret)
		ret = add_lanes(port);
	if (!ret)
		return 0;
	roost_report("%s: cannot be shared: %s; see the limits of the process",
		     port->label, strerror(-ret));
	roostd_port_close(port);
	return ret;
}
