/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/seen.h"

#include <stdlib.h>
#include <string.h>

#include "lib/wire/bytes.h"

/* Messages of a client in a second, and at once. A request counts as
 * REQUEST_TOKENS of them: 20,000 a second, as the CM of a peer takes
 * (cm/table.c).
 */
#define RATE_PER_S 80000u
#define RATE_BURST 65536u
#define REQUEST_TOKENS 4u
#define NS_PER_TOKEN (1000000000u / RATE_PER_S)

static uint32_t local_bucket(const struct roost_seen_table *table, uint32_t id)
{
	static const struct roost_gid none;

	return roost_lease_hash(table->hash_key, &none, id) %
	       ROOST_SEEN_BUCKETS;
}

static uint32_t peer_bucket(const struct roost_seen_table *table,
			    const struct roost_gid *peer, uint32_t id)
{
	return roost_lease_hash(table->hash_key, peer, id) % ROOST_SEEN_BUCKETS;
}

void roost_seen_init(struct roost_seen_table *table,
		     const struct roost_lease *lease, uint64_t hash_key)
{
	table->lease = lease;
	table->hash_key = hash_key;
	for (uint32_t i = 0; i < ROOST_SEEN_BUCKETS; i++) {
		LIST_INIT(&table->by_local[i]);
		LIST_INIT(&table->by_peer[i]);
	}
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		TAILQ_INIT(&table->clients[i].half_open);
		TAILQ_INIT(&table->clients[i].established);
		TAILQ_INIT(&table->clients[i].ending);
	}
}

void roost_seen_fini(struct roost_seen_table *table)
{
	struct roost_seen *seen;

	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++) {
		struct roost_seen_client *c = &table->clients[i];

		while ((seen = TAILQ_FIRST(&c->half_open)) != NULL ||
		       (seen = TAILQ_FIRST(&c->established)) != NULL ||
		       (seen = TAILQ_FIRST(&c->ending)) != NULL) {
			roost_seen_take(table, seen);
			free(seen);
		}
	}
}

void roost_seen_client_add(struct roost_seen_table *table, uint16_t client,
			   uint64_t now_ns)
{
	table->clients[client].tokens = RATE_BURST;
	table->clients[client].at_ns = now_ns;
}

/* ---- finding ------------------------------------------------------------- */

struct roost_seen *roost_seen_by_local(const struct roost_seen_table *table,
				       uint32_t local_id)
{
	struct roost_seen *seen;

	LIST_FOREACH(seen, &table->by_local[local_bucket(table, local_id)],
		     by_local)
		if (seen->local_id == local_id)
			return seen;
	return NULL;
}

struct roost_seen *roost_seen_by_peer(const struct roost_seen_table *table,
				      const struct roost_gid *peer,
				      uint32_t remote_id, bool sidr)
{
	struct roost_seen *seen;

	LIST_FOREACH(seen, &table->by_peer[peer_bucket(table, peer, remote_id)],
		     by_peer)
		if (seen->remote_id == remote_id &&
		    (seen->state == ROOST_SEEN_SIDR_IN) == sidr &&
		    roost_gid_eq(&seen->route.peer, peer))
			return seen;
	return NULL;
}

/* ---- entries ------------------------------------------------------------- */

static bool is_half_open(const struct roost_seen *seen)
{
	return seen->state < ROOST_SEEN_ESTABLISHED;
}

static struct roost_seen_list *list_of(struct roost_seen_client *c,
				       const struct roost_seen *seen)
{
	if (is_half_open(seen))
		return &c->half_open;
	return seen->state == ROOST_SEEN_ENDING ? &c->ending : &c->established;
}

static void set_local(struct roost_seen_table *table, struct roost_seen *seen,
		      uint32_t id)
{
	seen->local_id = id;
	if (id != 0)
		LIST_INSERT_HEAD(&table->by_local[local_bucket(table, id)],
				 seen, by_local);
}

static void set_remote(struct roost_seen_table *table, struct roost_seen *seen,
		       uint32_t id)
{
	seen->remote_id = id;
	if (id != 0)
		LIST_INSERT_HEAD(&table->by_peer[peer_bucket(
					 table, &seen->route.peer, id)],
				 seen, by_peer);
}

static void list_add(struct roost_seen_table *table, struct roost_seen *seen)
{
	struct roost_seen_client *c = &table->clients[seen->client];

	TAILQ_INSERT_TAIL(list_of(c, seen), seen, of_client);
	c->nb_half_open += is_half_open(seen);
	c->nb++;
}

static void list_del(struct roost_seen_table *table, struct roost_seen *seen)
{
	struct roost_seen_client *c = &table->clients[seen->client];

	TAILQ_REMOVE(list_of(c, seen), seen, of_client);
	c->nb_half_open -= is_half_open(seen);
	c->nb--;
}

void roost_seen_take(struct roost_seen_table *table, struct roost_seen *seen)
{
	if (seen->local_id != 0)
		LIST_REMOVE(seen, by_local);
	if (seen->remote_id != 0)
		LIST_REMOVE(seen, by_peer);
	list_del(table, seen);
}

static void forget(struct roost_seen_table *table, struct roost_seen *seen)
{
	roost_seen_take(table, seen);
	free(seen);
}

static void set_state(struct roost_seen_table *table, struct roost_seen *seen,
		      enum roost_seen_state state)
{
	list_del(table, seen);
	seen->state = state;
	list_add(table, seen);
}

/* Without memory: the peers of this connection learn of a death by their
 * retries.
 */
static void enter(struct roost_seen_table *table, uint16_t client,
		  enum roost_seen_state state, const struct roost_cm_msg *msg,
		  const struct roost_sw_route *route)
{
	struct roost_seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return;
	seen->client = client;
	seen->state = state;
	seen->tid = msg->tid;
	seen->ca_guid = msg->ca_guid;
	seen->route = *route;
	if (state == ROOST_SEEN_REQ_OUT) {
		set_local(table, seen, msg->local_id);
	} else {
		set_remote(table, seen, msg->local_id);
		seen->remote_qpn = msg->qpn;
	}
	list_add(table, seen);
}

static uint32_t qpn_in_rep(const struct roost_cm_msg *msg)
{
	return msg->qpn != 0 ? msg->qpn : msg->eecn;
}

/* ---- limits -------------------------------------------------------------- */

static bool rate_take(struct roost_seen_client *c, uint32_t tokens,
		      uint64_t now_ns)
{
	const uint64_t more = (now_ns - c->at_ns) / NS_PER_TOKEN;

	if (c->tokens + more >= RATE_BURST) {
		c->tokens = RATE_BURST;
		c->at_ns = now_ns;
	} else {
		c->tokens += (uint32_t)more;
		c->at_ns += more * NS_PER_TOKEN;
	}
	if (c->tokens < tokens)
		return false;
	c->tokens -= tokens;
	return true;
}

/* Connections that the client has ended, and whose peers have gone. */
static void forget_ended(struct roost_seen_table *table, uint16_t client)
{
	struct roost_seen_client *c = &table->clients[client];
	struct roost_seen *seen;

	while ((seen = TAILQ_FIRST(&c->ending)) != NULL &&
	       table->now_ns - seen->at_ns >= ROOST_SEEN_ENDING_NS)
		forget(table, seen);
}

enum roost_sw_drop roost_seen_admit(struct roost_seen_table *table,
				    uint16_t client,
				    const struct roost_cm_msg *msg,
				    uint64_t now_ns)
{
	const struct roost_client_conf *conf =
		&table->lease->clients[client].conf;
	struct roost_seen_client *c = &table->clients[client];

	const bool asks =
		msg->type == ROOST_CM_REQ || msg->type == ROOST_CM_SIDR_REQ;

	if (!rate_take(c, asks ? REQUEST_TOKENS : 1, now_ns))
		return ROOST_SW_MAD_RATE;
	if (msg->type != ROOST_CM_REQ ||
	    roost_seen_by_local(table, msg->local_id))
		return ROOST_SW_OK;
	forget_ended(table, client);
	if (c->nb_half_open >= conf->max_half_open)
		return ROOST_SW_MAD_HALF_OPEN;
	return c->nb >= conf->max_conns ? ROOST_SW_MAD_CONNS : ROOST_SW_OK;
}

/* Room for a request from outside. */
static bool make_room(struct roost_seen_table *table, uint16_t client)
{
	const struct roost_client_conf *conf =
		&table->lease->clients[client].conf;
	struct roost_seen_client *c = &table->clients[client];

	forget_ended(table, client);
	while (c->nb_half_open > 0 && (c->nb_half_open >= conf->max_half_open ||
				       c->nb >= conf->max_conns))
		forget(table, TAILQ_FIRST(&c->half_open));
	return conf->max_half_open > 0 && c->nb < conf->max_conns;
}

/* ---- messages ------------------------------------------------------------ */

/* The connection of a message between the ends that it names, if its owner is
 * the client.
 */
static struct roost_seen *find(const struct roost_seen_table *table,
			       uint16_t client, const struct roost_gid *peer,
			       uint32_t local_id, uint32_t remote_id)
{
	struct roost_seen *seen =
		local_id != 0 ? roost_seen_by_local(table, local_id) : NULL;

	if (!seen && remote_id != 0)
		seen = roost_seen_by_peer(table, peer, remote_id, false);
	if (!seen || seen->client != client ||
	    !roost_gid_eq(&seen->route.peer, peer))
		return NULL;
	/* An end that is known is the same. */
	if (seen->local_id != 0 && local_id != 0 && seen->local_id != local_id)
		return NULL;
	if (seen->remote_id != 0 && remote_id != 0 &&
	    seen->remote_id != remote_id)
		return NULL;
	return seen;
}

static void established(struct roost_seen_table *table, struct roost_seen *seen)
{
	if (seen->state == ROOST_SEEN_REP_IN ||
	    seen->state == ROOST_SEEN_REP_OUT)
		set_state(table, seen, ROOST_SEEN_ESTABLISHED);
}

static void rep(struct roost_seen_table *table, struct roost_seen *seen,
		const struct roost_cm_msg *msg, bool out)
{
	if (out && seen->state == ROOST_SEEN_REQ_IN) {
		set_local(table, seen, msg->local_id);
		set_state(table, seen, ROOST_SEEN_REP_OUT);
	} else if (!out && seen->state == ROOST_SEEN_REQ_OUT) {
		set_remote(table, seen, msg->local_id);
		seen->remote_qpn = qpn_in_rep(msg);
		set_state(table, seen, ROOST_SEEN_REP_IN);
	}
}

/* The client asks for the end, so that the peer takes it for meant. */
static void ends(struct roost_seen_table *table, struct roost_seen *seen,
		 const struct roost_cm_msg *msg)
{
	if (seen->state == ROOST_SEEN_ENDING || msg->remote_id == 0 ||
	    msg->remote_id != seen->remote_id || msg->qpn != seen->remote_qpn)
		return;
	seen->at_ns = table->now_ns;
	set_state(table, seen, ROOST_SEEN_ENDING);
}

/* The peer of an unanswered request knows the connection by this. */
static bool gives_up(const struct roost_seen *seen,
		     const struct roost_cm_msg *msg)
{
	return msg->reason == ROOST_CM_REJ_TIMEOUT &&
	       msg->info_len_bytes >= 8 && seen->ca_guid != 0 &&
	       roost_be64_get(msg->info) == seen->ca_guid;
}

/* The client's own word ends an entry only where the peer ends the connection
 * for it too.
 */
static bool ends_out(const struct roost_seen *seen,
		     const struct roost_cm_msg *msg)
{
	if (msg->type == ROOST_CM_DREP)
		return seen->dreq_in;
	switch (seen->state) {
	case ROOST_SEEN_REQ_OUT:
		return gives_up(seen, msg);
	case ROOST_SEEN_REP_IN:
		/* The client may not have got the reply. */
		if (gives_up(seen, msg))
			return true;
		/* fall through */
	case ROOST_SEEN_REP_OUT:
		return msg->remote_id == seen->remote_id &&
		       msg->about != ROOST_CM_ABOUT_REQ;
	case ROOST_SEEN_REQ_IN:
		return msg->remote_id == seen->remote_id;
	case ROOST_SEEN_SIDR_IN:
	case ROOST_SEEN_ESTABLISHED:
	case ROOST_SEEN_ENDING:
	default:
		return false;
	}
}

/* While the peer's number is not known, only an answer to the request is sure
 * to be the peer's.
 */
static bool ends_in(const struct roost_seen *seen,
		    const struct roost_cm_msg *msg)
{
	return seen->remote_id != 0 ||
	       (msg->type == ROOST_CM_REJ && msg->about == ROOST_CM_ABOUT_REQ);
}

/* What a message of a known connection does; out: the client's. */
static void step(struct roost_seen_table *table, struct roost_seen *seen,
		 const struct roost_cm_msg *msg, bool out)
{
	switch (msg->type) {
	case ROOST_CM_REP:
		rep(table, seen, msg, out);
		break;
	case ROOST_CM_RTU:
		established(table, seen);
		break;
	case ROOST_CM_REJ:
	case ROOST_CM_DREP:
		if (out ? ends_out(seen, msg) : ends_in(seen, msg))
			forget(table, seen);
		break;
	/* A DREQ that is lost is still due. */
	case ROOST_CM_DREQ:
		seen->dreq_in |= !out;
		if (out)
			ends(table, seen, msg);
		break;
	case ROOST_CM_REQ:
	case ROOST_CM_MRA:
	case ROOST_CM_LAP:
	case ROOST_CM_APR:
	case ROOST_CM_SIDR_REQ:
	case ROOST_CM_SIDR_REP:
	case ROOST_CM_MSG_COUNT:
	default:
		break;
	}
}

void roost_seen_out(struct roost_seen_table *table, uint16_t client,
		    const struct roost_sw_pkt *pkt, const uint8_t *head)
{
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	const struct roost_sw_route route = roost_sw_route_on(pkt, head);
	struct roost_seen *seen;

	if (msg->type == ROOST_CM_SIDR_REQ || msg->type == ROOST_CM_SIDR_REP)
		return;
	seen = find(table, client, &pkt->frame.dgid, msg->local_id,
		    msg->type == ROOST_CM_REQ ? 0 : msg->remote_id);
	if (seen) {
		/* The CM knows the next hop better than a request did. */
		seen->route = route;
		step(table, seen, msg, true);
	} else if (msg->type == ROOST_CM_REQ &&
		   !roost_seen_by_local(table, msg->local_id)) {
		enter(table, client, ROOST_SEEN_REQ_OUT, msg, &route);
	}
}

static enum roost_sw_drop request_in(struct roost_seen_table *table,
				     uint16_t client,
				     const struct roost_sw_pkt *pkt)
{
	const struct roost_sw_route route = roost_sw_route_back(pkt);
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	const bool sidr = msg->type == ROOST_CM_SIDR_REQ;
	struct roost_seen *seen =
		roost_seen_by_peer(table, &route.peer, msg->local_id, sidr);

	/* Again; or the peer uses its number again, then this one counts. */
	if (seen && seen->client == client && seen->tid == msg->tid)
		return ROOST_SW_OK;
	if (seen && is_half_open(seen))
		forget(table, seen);
	else if (seen)
		return ROOST_SW_OK;
	if (!make_room(table, client))
		return ROOST_SW_MAD_CONNS;
	enter(table, client, sidr ? ROOST_SEEN_SIDR_IN : ROOST_SEEN_REQ_IN, msg,
	      &route);
	return ROOST_SW_OK;
}

enum roost_sw_drop roost_seen_in(struct roost_seen_table *table,
				 uint16_t client,
				 const struct roost_sw_pkt *pkt)
{
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	struct roost_seen *seen;

	if (msg->type == ROOST_CM_REQ || msg->type == ROOST_CM_SIDR_REQ)
		return request_in(table, client, pkt);
	if (msg->type == ROOST_CM_SIDR_REP)
		return ROOST_SW_OK;
	seen = find(table, client, &pkt->frame.sgid, msg->remote_id,
		    msg->local_id);
	if (seen)
		step(table, seen, msg, false);
	return ROOST_SW_OK;
}
