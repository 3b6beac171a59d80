/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Paths: the route to a peer, the next hop, and their form in messages.
 */

#include <errno.h>
#include <string.h>

#include "cm/priv.h"

#define HOP_LIMIT 64
#define LID_PERMISSIVE 0xffffu
/* Time in which the worker makes room, if it gets a turn; doubled after each
 * failed try.
 */
#define ROOM_NS 50000u
#define ROOM_MAX_NS 5000000u

uint8_t roost_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_lifetime)
{
	/* Sums of powers of two, rounded up to one: as the kernel does. */
	int timeout = packet_lifetime + 1;

	if (timeout >= ack_delay)
		timeout += ack_delay >= timeout - 1;
	else
		timeout = ack_delay + (timeout >= ack_delay - 1);
	return (uint8_t)(timeout < (int)ROOST_CM_CODE_MAX
				 ? timeout
				 : (int)ROOST_CM_CODE_MAX);
}

/* ---- routes ------------------------------------------------------------- */

/* Rates as ibv_rate numbers them, in Mb/s. */
static const struct {
	uint32_t mbps;
	uint8_t code;
} rates[] = {
	{ 400000, 21 }, { 200000, 19 }, { 100000, 16 }, { 56000, 12 },
	{ 40000, 7 },   { 25000, 15 },  { 10000, 3 },   { 0, 2 },
};

static uint8_t rate_of(uint32_t mbps)
{
	unsigned int i = 0;

	while (mbps < rates[i].mbps)
		i++;
	return rates[i].code;
}

static int fill_path(struct roost_cm *cm, const struct roost_route *route,
		     const struct roost_gid *dgid, struct roost_cm_path *path)
{
	struct roost_port_attr port;
	int ret = roost_port_query(cm->dev, route->port_num, &port);

	if (ret)
		return ret;
	*path = (struct roost_cm_path){
		.sgid = route->sgid,
		.dgid = *dgid,
		.port_num = route->port_num,
		.sgid_index = route->sgid_index,
		.hop_limit = HOP_LIMIT,
		.packet_lifetime = ROOST_CM_PACKET_LIFETIME,
		.rate = rate_of(port.speed_mbps),
		.mtu = port.active_mtu,
	};
	return roost_port_query_pkey(cm->dev, route->port_num, 0, &path->pkey);
}

int roost_cm_route(struct roost_cm *cm, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_cm_path *path)
{
	struct roost_route route;
	int ret;

	if (roost_dev_failed(cm->dev))
		return -ENETUNREACH;
	ret = roost_dev_route(cm->dev, sgid, dgid, &route);
	return ret != 0 ? ret : fill_path(cm, &route, dgid, path);
}

/* ---- the next hop ------------------------------------------------------- */

void roost_cm_set_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *path)
{
	if (conn->neigh)
		roost_cm_hop_leave(conn);
	conn->path = *path;
	conn->has_path = true;
	conn->addr = (struct roost_gsi_addr){
		.port_num = path->port_num,
		.local = path->sgid,
		.peer = path->dgid,
		.pkey = path->pkey,
		.traffic_class = path->traffic_class,
		.sl = path->sl,
		.hop_limit = path->hop_limit,
		.flow_label = path->flow_label,
	};
	memcpy(conn->addr.peer_mac, path->dmac, 6);
}

bool roost_cm_refresh_mac(struct roost_cm_conn *conn)
{
	const uint64_t mac_gen = roost_cm_mac_gen(conn->neigh);

	if (!conn->neigh)
		return true;
	/* Without a MAC, an answer goes to the source MAC of the request. */
	if (mac_gen == 0)
		return conn->passive;
	roost_neigh_mac(mac_gen, conn->path.dmac);
	memcpy(conn->addr.peer_mac, conn->path.dmac, 6);
	return true;
}

static void go_on_asking(struct roost_cm_conn *conn)
{
	conn->in_asking = true;
	conn->cm->nb_asking++;
	TAILQ_INSERT_TAIL(&conn->cm->asking, conn, asking_link);
}

static struct roost_route route_of(const struct roost_cm_path *path)
{
	return (struct roost_route){
		.sgid = path->sgid,
		.port_num = path->port_num,
		.sgid_index = path->sgid_index,
	};
}

static int ask(struct roost_cm *cm, const struct roost_cm_path *path,
	       struct roost_neigh **neigh)
{
	const struct roost_route route = route_of(path);

	return roost_dev_ask(cm->dev, &route, &path->dgid, NULL, neigh);
}

static void begin_asking(struct roost_cm_conn *conn)
{
	if (conn->in_asking)
		return;
	go_on_asking(conn);
	conn->cm->must_run = true;
}

int roost_cm_ask(struct roost_cm_conn *conn)
{
	struct roost_neigh *neigh = NULL;
	int ret = 0;

	if (!conn->neigh) {
		ret = ask(conn->cm, &conn->path, &neigh);
		roost_cm_hop_join(conn, neigh);
	}
	if (ret == 0 && !roost_cm_refresh_mac(conn))
		begin_asking(conn);
	return ret;
}

bool roost_cm_has_to_ask(struct roost_cm *cm, const struct roost_gsi_addr *addr)
{
	const struct roost_route route = {
		.sgid = addr->local,
		.port_num = addr->port_num,
	};
	int ret;

	roost_cm_unlock(cm);
	ret = roost_dev_meet(cm->dev, &route, &addr->peer, addr->peer_mac);
	roost_cm_lock(cm);
	return ret == -EAGAIN;
}

int roost_cm_meet_peer(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;
	const struct roost_route route = route_of(&conn->path);
	const struct roost_gid dgid = conn->path.dgid;
	struct roost_neigh *neigh = NULL;
	uint8_t mac[6];
	int ret, asked = 0;

	memcpy(mac, conn->path.dmac, sizeof(mac));
	roost_cm_unlock(cm);
	ret = roost_dev_meet(cm->dev, &route, &dgid, mac);
	if (ret == -EAGAIN)
		asked = roost_dev_ask(cm->dev, &route, &dgid, mac, &neigh);
	roost_cm_lock(cm);
	roost_cm_hop_join(conn, neigh);
	return asked != 0 ? asked : ret;
}

void roost_cm_hold_peer(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;
	struct roost_neigh *neigh = NULL;
	struct roost_route route;
	struct roost_gid dgid;
	uint8_t mac[6];
	bool wanted;

	roost_cm_lock(cm);
	wanted = conn->passive && conn->has_path && !conn->neigh && !cm->gone;
	route = route_of(&conn->path);
	dgid = conn->path.dgid;
	memcpy(mac, conn->path.dmac, sizeof(mac));
	roost_cm_unlock(cm);
	/* Without the neighbour there is no ADDR_CHANGE; everything else works.
	 */
	if (!wanted || roost_dev_ask(cm->dev, &route, &dgid, mac, &neigh) != 0)
		return;
	roost_cm_lock(cm);
	if (!conn->neigh) {
		roost_cm_hop_join(conn, neigh);
		neigh = NULL;
	}
	roost_cm_unlock(cm);
	roost_dev_neigh_put(cm->dev, route.port_num, neigh);
}

void roost_cm_send_later(struct roost_cm_conn *conn)
{
	struct roost_cm *cm = conn->cm;

	cm->counters.no_room++;
	if (conn->in_unsent)
		return;
	conn->in_unsent = true;
	TAILQ_INSERT_TAIL(&cm->unsent, conn, unsent_link);
	if (!cm->running)
		cm->must_run = true;
}

uint64_t roost_cm_run_unsent(struct roost_cm *cm)
{
	struct roost_cm_conn *conn;
	uint64_t room_ns = cm->room_ns * 2;

	while ((conn = TAILQ_FIRST(&cm->unsent)) != NULL) {
		roost_cm_stop_sending(conn);
		roost_cm_send_waiting(conn);
		if (conn->in_unsent) {
			/* The first remains the first. */
			TAILQ_REMOVE(&cm->unsent, conn, unsent_link);
			TAILQ_INSERT_HEAD(&cm->unsent, conn, unsent_link);
			break;
		}
		room_ns = ROOM_NS;
	}
	if (!conn || room_ns < ROOM_NS)
		room_ns = ROOM_NS;
	cm->room_ns = room_ns < ROOM_MAX_NS ? room_ns : ROOM_MAX_NS;
	return cm->room_ns;
}

/* The user hears of it before the program does, which may end then. */
static void tell_user(const struct roost_cm_conn *conn,
		      enum roost_unreached_cause cause, uint32_t tries,
		      uint64_t tried_ns)
{
	const struct roost_unreached what = {
		.cause = cause,
		.sgid = conn->path.sgid,
		.dgid = conn->path.dgid,
		.tries = tries,
		.tried_ns = tried_ns,
	};

	roost_dev_tell_unreached(conn->cm->dev, conn->path.port_num, &what);
}

void roost_cm_tell_silence(const struct roost_cm_conn *conn, uint32_t tries)
{
	/* If the next hop is not found, the code that asks for it prints the
	 * line.
	 */
	if (!conn->mad_waits && (conn->mad_type == ROOST_CM_REQ ||
				 conn->mad_type == ROOST_CM_SIDR_REQ))
		tell_user(conn, ROOST_UNREACHED_NO_CM, tries,
			  tries * conn->retry_ns);
}

void roost_cm_tell_full(const struct roost_cm_conn *conn)
{
	tell_user(conn, ROOST_UNREACHED_FULL, 0, 0);
}

/* Returns true if it raised an event: conn may be gone. */
static bool tell_resolved(struct roost_cm_conn *conn, bool known)
{
	struct roost_cm_event event = { .type = ROOST_CM_ADDR_RESOLVED };

	if (!conn->resolving)
		return false;
	if (conn->resolve_ns != 0) {
		conn->resolve_at_ns = conn->cm->now_ns + conn->resolve_ns;
		conn->resolve_for_ns = conn->resolve_ns;
		conn->resolve_ns = 0;
	}
	if (!known) {
		if (conn->cm->now_ns < conn->resolve_at_ns)
			return false;
		event.type = ROOST_CM_ADDR_ERROR;
		event.status = -ETIMEDOUT;
		roost_cm_stop_asking(conn);
		tell_user(conn, ROOST_UNREACHED_NO_NEIGH, 0,
			  conn->resolve_for_ns);
		roost_cm_hop_leave(conn);
	}
	conn->resolving = false;
	conn->mac_gen = roost_cm_mac_gen(conn->neigh);
	roost_cm_tell(conn, &event);
	return true;
}

uint64_t roost_cm_run_asking(struct roost_cm *cm)
{
	struct roost_cm_conn *conn;
	uint64_t next_ns = UINT64_MAX;
	bool known;

	/* Each connection once: one that still waits is put at the end of the
	 * list. Callbacks may remove any of them; then some are visited twice.
	 */
	for (uint32_t nb = cm->nb_asking; nb > 0; nb--) {
		conn = TAILQ_FIRST(&cm->asking);
		if (!conn)
			break;
		roost_cm_stop_asking(conn);
		known = roost_cm_refresh_mac(conn);
		if (!known && (conn->resolving || conn->mad_waits))
			go_on_asking(conn);
		else if (known && !conn->in_unsent)
			roost_cm_send_waiting(conn);
		if (!tell_resolved(conn, known) && conn->resolving &&
		    conn->resolve_at_ns < next_ns)
			next_ns = conn->resolve_at_ns;
	}
	return next_ns;
}

/* Returns true once for each new MAC. */
static bool is_elsewhere(struct roost_cm_conn *conn)
{
	const uint64_t before = conn->mac_gen,
		       now = roost_cm_mac_gen(conn->neigh);

	if (now == before || (before == 0 && !conn->passive))
		return false;
	conn->mac_gen = now;
	/* A change of this port's MAC changes the generation, too. */
	return before != 0 && before >> 16 != now >> 16;
}

/* Returns false if the hop may be gone. */
static bool sweep_hop(struct roost_cm_hop *hop)
{
	struct roost_cm_event event = { .type = ROOST_CM_ADDR_CHANGE };
	const uint64_t now = roost_cm_mac_gen(hop->neigh);
	struct roost_cm_conn *conn;

	if (now == hop->mac_gen)
		return true;
	LIST_FOREACH(conn, &hop->conns, hop_link) {
		if (!conn->owned || !is_elsewhere(conn))
			continue;
		roost_cm_refresh_mac(conn);
		if (!roost_cm_tell(conn, &event) || conn->hop != hop)
			return false;
	}
	hop->mac_gen = now;
	return true;
}

void roost_cm_sweep(struct roost_cm *cm)
{
	struct roost_cm_hop *hop = LIST_FIRST(&cm->hops);

	/* After a removal, start again: connections visited before raise no
	 * second event.
	 */
	while (hop)
		hop = sweep_hop(hop) ? LIST_NEXT(hop, link)
				     : LIST_FIRST(&cm->hops);
}

/* ---- calls -------------------------------------------------------------- */

/* Under the lock. *neigh: the next hop; NULL afterwards, if conn has it. now:
 * return 1 if it is known.
 */
static int look_up(struct roost_cm_conn *conn, const struct roost_cm_path *path,
		   struct roost_neigh **neigh, uint32_t timeout_ms, bool now)
{
	if (conn->cm->gone)
		return -ENODEV;
	if (conn->resolving)
		return -EALREADY;
	if (conn->state != ROOST_CM_IDLE)
		return -EINVAL;
	roost_cm_set_path(conn, path);
	roost_cm_hop_join(conn, *neigh);
	*neigh = NULL;
	if (now && roost_cm_refresh_mac(conn)) {
		conn->mac_gen = roost_cm_mac_gen(conn->neigh);
		return 1;
	}
	conn->resolve_ns = (uint64_t)timeout_ms * 1000000u + 1;
	conn->resolve_at_ns = UINT64_MAX;
	conn->resolving = true;
	begin_asking(conn);
	return 0;
}

/* The next hop is asked for without the lock, because that may take a second
 * where a daemon answers.
 */
static int resolve(struct roost_cm_conn *conn, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, uint32_t timeout_ms, bool now)
{
	struct roost_cm *cm = conn->cm;
	struct roost_neigh *neigh = NULL;
	struct roost_cm_path path;
	int ret = roost_cm_route(cm, sgid, dgid, &path);

	if (ret == 0)
		ret = ask(cm, &path, &neigh);
	if (ret)
		return ret;
	roost_cm_lock(cm);
	ret = look_up(conn, &path, &neigh, timeout_ms, now);
	roost_cm_unlock(cm);
	roost_dev_neigh_put(cm->dev, path.port_num, neigh);
	return ret;
}

int roost_cm_resolve(struct roost_cm_conn *conn, const struct roost_gid *sgid,
		     const struct roost_gid *dgid, uint32_t timeout_ms)
{
	return resolve(conn, sgid, dgid, timeout_ms, false);
}

int roost_cm_resolve_now(struct roost_cm_conn *conn,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, uint32_t timeout_ms)
{
	return resolve(conn, sgid, dgid, timeout_ms, true);
}

/* ---- in messages -------------------------------------------------------- */

void roost_cm_path_to_msg(const struct roost_cm_path *path,
			  struct roost_cm_msg_path *to)
{
	*to = (struct roost_cm_msg_path){
		/* There are none; the kernel says so in these words. */
		.local_lid = LID_PERMISSIVE,
		.remote_lid = LID_PERMISSIVE,
		.local_gid = path->sgid,
		.remote_gid = path->dgid,
		.flow_label = path->flow_label,
		.packet_rate = path->rate,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
		.sl = path->sl,
		.ack_timeout = roost_cm_ack_timeout(ROOST_CM_ACK_DELAY,
						    path->packet_lifetime),
	};
}

static int find_port(struct roost_cm *cm, struct roost_cm_path *path)
{
	uint8_t first = path->port_num, last = path->port_num;
	int ret = -EADDRNOTAVAIL;

	if (first == 0) {
		first = 1;
		last = (uint8_t)roost_dev_nb_ports(cm->dev);
	}
	for (uint8_t port = first; port <= last && ret != 0; port++) {
		path->port_num = port;
		ret = roost_dev_find_gid(cm->dev, port, &path->sgid,
					 &path->sgid_index);
	}
	return ret;
}

int roost_cm_path_from_msg(struct roost_cm *cm, uint8_t port_num,
			   const struct roost_cm_msg_path *from,
			   struct roost_cm_path *path)
{
	*path = (struct roost_cm_path){
		.sgid = from->remote_gid,
		.dgid = from->local_gid,
		.port_num = port_num,
		.flow_label = from->flow_label,
		.traffic_class = from->traffic_class,
		.hop_limit = from->hop_limit > 1 ? from->hop_limit : HOP_LIMIT,
		.sl = from->sl,
		.rate = from->packet_rate,
		.packet_lifetime =
			(uint8_t)(from->ack_timeout > 0 ? from->ack_timeout - 1
							: 0),
	};
	return find_port(cm, path);
}
