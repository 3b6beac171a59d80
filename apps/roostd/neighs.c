/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/neighs.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/port.h"
#include "lib/engine/core/port_io.h"
#include "pmd_glue/uplink.h"

/* As long as the host of a port asks; the client waits for a second more. */
#define PATIENCE_NS 4000000000u
/* The host tells an answer at once, and that there is none when it is asked. */
#define LOOK_NS 100000000u

/* ---- the page ------------------------------------------------------------ */

static void set_entry(struct roostd_port *port, uint32_t place,
		      uint64_t mac_gen)
{
	atomic_store_explicit(&port->page->neighs[place], mac_gen,
			      memory_order_release);
}

static uint64_t mac_gen_of(const struct roost_neigh *neigh)
{
	return atomic_load_explicit(&neigh->mac_gen, memory_order_acquire);
}

void roostd_neighs_set_own(struct roostd_port *port)
{
	set_entry(port, 0,
		  roost_neigh_mac_gen(port->facts.mac, ++port->neighs.own_gen));
}

bool roostd_neighs_follow(struct roostd_port *port)
{
	const struct roostd_neighs *n = &port->neighs;
	bool moved = false;

	for (uint32_t i = 1; i < n->nb; i++) {
		uint64_t before;

		if (!n->v[i])
			continue;
		before = atomic_load_explicit(&port->page->neighs[i],
					      memory_order_relaxed);
		set_entry(port, i, mac_gen_of(n->v[i]));
		moved |= before != 0 && before != mac_gen_of(n->v[i]);
	}
	return moved;
}

/* ---- entries ------------------------------------------------------------- */

static const struct roost_addr_io *addrs_of(const struct roostd_port *port)
{
	return roost_uplink_addrs(port->uplink);
}

static void free_entry(struct roostd_port *port, uint32_t place)
{
	struct roostd_neighs *n = &port->neighs;
	const struct roost_addr_io *addrs = addrs_of(port);

	roost_uplink_watch(port->uplink, place, NULL);
	addrs->neigh_put(addrs->ctx, n->v[place]);
	n->v[place] = NULL;
	n->nb_used--;
	set_entry(port, place, 0);
	while (n->nb > 1 && !n->v[n->nb - 1])
		n->nb--;
}

/* The entry of a neighbour, to which the caller has a reference that the entry
 * takes over. Returns its place; 0: no entry is free.
 */
static uint32_t enter(struct roostd_port *port, struct roost_neigh *neigh)
{
	struct roostd_neighs *n = &port->neighs;
	const struct roost_addr_io *addrs = addrs_of(port);
	uint32_t place = 0;

	for (uint32_t i = n->nb; i-- > 1;) {
		if (n->v[i] == neigh) {
			addrs->neigh_put(addrs->ctx, neigh);
			return i;
		}
		if (!n->v[i])
			place = i;
	}
	if (place == 0 && n->nb < ROOST_SHARE_NEIGHS)
		place = n->nb++;
	if (place == 0) {
		addrs->neigh_put(addrs->ctx, neigh);
		return 0;
	}
	n->v[place] = neigh;
	n->nb_used++;
	roost_uplink_watch(port->uplink, place, neigh);
	set_entry(port, place, mac_gen_of(neigh));
	return place;
}

/* ---- references ---------------------------------------------------------- */

/* The user of the client; it is made. NULL: no memory. */
static struct roostd_neigh_user *user_of(struct roostd_neighs *n,
					 const struct roostd_client *c)
{
	struct roostd_neigh_user *user;

	LIST_FOREACH(user, &n->users, link)
		if (user->uid == c->uid)
			return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = c->uid;
	LIST_INSERT_HEAD(&n->users, user, link);
	return user;
}

static void leave_user(struct roostd_neigh_user *user)
{
	if (--user->nb_clients > 0)
		return;
	LIST_REMOVE(user, link);
	free(user);
}

static bool make_refs(struct roostd_port *port, struct roostd_client *c)
{
	struct roostd_refs *refs = &c->refs;

	if (refs->of)
		return true;
	refs->user = user_of(&port->neighs, c);
	if (!refs->user)
		return false;
	refs->user->nb_clients++;
	refs->of = calloc(ROOST_SHARE_NEIGHS, sizeof(refs->of[0]));
	if (!refs->of)
		leave_user(refs->user);
	return refs->of != NULL;
}

static void refer(struct roostd_port *port, struct roostd_client *c,
		  uint32_t place)
{
	struct roostd_neigh_user *user = c->refs.user;

	c->refs.nb += c->refs.of[place]++ == 0;
	user->nb += user->of[place]++ == 0;
	port->neighs.refs[place]++;
}

static void unrefer(struct roostd_port *port, struct roostd_client *c,
		    uint32_t place, uint32_t nb)
{
	struct roostd_neigh_user *user = c->refs.user;

	c->refs.of[place] -= nb;
	c->refs.nb -= c->refs.of[place] == 0;
	user->of[place] -= nb;
	user->nb -= user->of[place] == 0;
	port->neighs.refs[place] -= nb;
	if (port->neighs.refs[place] == 0)
		free_entry(port, place);
}

/* It has just referred to it. */
static bool has_too_many(const struct roostd_port *port,
			 const struct roostd_client *c, uint32_t place)
{
	const struct roostd_neighs *n = &port->neighs;
	const uint32_t nb_free = ROOST_SHARE_NEIGHS - 1 - n->nb_used;

	return c->refs.nb > ROOSTD_NEIGHS_OF_ONE_MAX ||
	       (n->refs[place] == 1 &&
		c->refs.user->nb > ROOSTD_NEIGHS_SHARE * nb_free);
}

static bool asks_too_much(const struct roostd_client *c)
{
	return c->refs.nb_asked == ROOSTD_ASKED_OF_ONE_MAX ||
	       c->refs.user->nb_asked == ROOSTD_ASKED_OF_USER_MAX;
}

static uint32_t nb_questions(const struct roostd_asked_list *list,
			     const struct roostd_client *c, uint64_t place)
{
	const struct roostd_asked *asked;
	uint32_t nb = 0;

	TAILQ_FOREACH(asked, list, link)
		nb += asked->client == c && asked->place == place;
	return nb;
}

/* Those of its questions are not the client's before it has the answers. */
static uint32_t nb_given(const struct roostd_port *port,
			 const struct roostd_client *c, uint64_t place)
{
	const uint32_t nb = c->refs.of[place];

	if (nb == 0 || c->refs.nb_asked == 0)
		return nb;
	return nb - nb_questions(&port->neighs.asked, c, place) -
	       nb_questions(&port->neighs.answered, c, place);
}

void roostd_neighs_put(struct roostd_port *port, struct roostd_client *c,
		       uint64_t place)
{
	if (place > 0 && place < ROOST_SHARE_NEIGHS && c->refs.of &&
	    nb_given(port, c, place) > 0)
		unrefer(port, c, (uint32_t)place, 1);
}

/* ---- questions ----------------------------------------------------------- */

static bool is_clients(const struct roostd_port *port,
		       const struct roostd_client *c,
		       const struct roost_gid *gid)
{
	const struct roost_lease_addr *addr =
		roost_lease_addr_find(port->lease, gid);

	return addr && roost_lease_addr_is_of(port->lease, addr, c->slot);
}

static int wait_for(struct roostd_port *port, struct roostd_client *c,
		    const struct roost_share_msg *msg, uint32_t place)
{
	struct roostd_asked *asked = calloc(1, sizeof(*asked));

	if (!asked)
		return -ENOMEM;
	*asked = (struct roostd_asked){
		.client = c,
		.tag = msg->tag,
		.place = place,
		.sgid = msg->addr.sgid,
		.dgid = msg->addr.dgid,
		.status = -EINPROGRESS,
		.look_ns = port->now_ns + LOOK_NS,
		.until_ns = port->now_ns + PATIENCE_NS,
	};
	TAILQ_INSERT_TAIL(&port->neighs.asked, asked, link);
	c->refs.nb_asked++;
	c->refs.user->nb_asked++;
	return -EINPROGRESS;
}

/* Take the neighbour of the host. Returns its place, or -errno. */
static int ask_host(struct roostd_port *port, const struct roost_share_msg *msg)
{
	const struct roost_addr_io *addrs = addrs_of(port);
	const struct roost_gid *sgid = &msg->addr.sgid;
	const struct roost_gid *dgid = &msg->addr.dgid;
	struct roost_neigh *neigh;
	uint32_t place;
	/* Without a line on our stderr where there is no way: the client has
	 * one.
	 */
	int ret = addrs->meet(addrs->ctx, sgid, dgid, NULL);

	if (ret == -EHOSTUNREACH || (ret == -ETIMEDOUT && !msg->addr.asks))
		return ret;
	ret = addrs->ask(addrs->ctx, sgid, dgid, NULL, &neigh);
	if (ret)
		return ret;
	place = enter(port, neigh);
	return place > 0 ? (int)place : -ENOBUFS;
}

int roostd_neighs_resolve(struct roostd_port *port, struct roostd_client *c,
			  const struct roost_share_msg *asked, uint32_t *place)
{
	const bool waits = !asked->addr.asks;
	int ret;

	*place = 0;
	if (roost_lease_addr_find(port->lease, &asked->addr.dgid))
		return 0;
	if (!port->uplink || !is_clients(port, c, &asked->addr.sgid) ||
	    roost_gid_is_multicast(&asked->addr.dgid))
		return -EHOSTUNREACH;
	if (!make_refs(port, c))
		return -ENOMEM;
	if (waits && asks_too_much(c))
		return -ENOBUFS;
	ret = ask_host(port, asked);
	if (ret < 0)
		return ret;
	*place = (uint32_t)ret;
	ret = 0;
	refer(port, c, *place);
	if (has_too_many(port, c, *place))
		ret = -ENOBUFS;
	else if (waits && mac_gen_of(port->neighs.v[*place]) == 0)
		ret = wait_for(port, c, asked, *place);
	if (ret && ret != -EINPROGRESS)
		unrefer(port, c, *place, 1);
	return ret;
}

/* An address of the client's own, from which there is a way. */
static int own_source(const struct roostd_port *port,
		      const struct roostd_client *c,
		      const struct roost_gid *dgid, struct roost_gid *sgid)
{
	const struct roost_client_conf *conf =
		&port->lease->clients[c->slot].conf;
	const struct roost_addr_io *addrs =
		port->uplink ? addrs_of(port) : NULL;
	const bool is_ours = roost_lease_addr_find(port->lease, dgid) != NULL;

	for (uint32_t i = 0; i < conf->nb_gids; i++) {
		const struct roost_gid *gid = &conf->gids[i];

		if (roost_gid_is_v4(gid) != roost_gid_is_v4(dgid))
			continue;
		if (is_ours || (addrs && addrs->meet(addrs->ctx, gid, dgid,
						     NULL) != -EHOSTUNREACH)) {
			*sgid = *gid;
			return 0;
		}
	}
	return -EHOSTUNREACH;
}

/* To a client that has an address of its own. */
static int shared_source(const struct roostd_port *port,
			 const struct roostd_client *c,
			 const struct roost_gid *dgid, struct roost_gid *sgid)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		const struct roost_gid *gid = &port->facts.gids[i];

		if (roost_gid_is_v4(gid) != roost_gid_is_v4(dgid) ||
		    roost_gid_is_link_local(gid) || !is_clients(port, c, gid))
			continue;
		*sgid = *gid;
		return 0;
	}
	return -EHOSTUNREACH;
}

int roostd_neighs_source(struct roostd_port *port,
			 const struct roostd_client *c,
			 const struct roost_gid *dgid, struct roost_gid *sgid)
{
	const struct roost_addr_io *addrs;
	int ret;

	/* To ourselves from the address itself. */
	*sgid = *dgid;
	if (is_clients(port, c, dgid))
		return 0;
	if (port->lease->clients[c->slot].conf.nb_gids > 0)
		return own_source(port, c, dgid, sgid);
	if (!port->uplink)
		return -EHOSTUNREACH;
	if (roost_lease_addr_find(port->lease, dgid))
		return shared_source(port, c, dgid, sgid);
	addrs = addrs_of(port);
	ret = addrs->source(addrs->ctx, dgid, sgid);
	return !ret && !is_clients(port, c, sgid) ? -EHOSTUNREACH : ret;
}

/* How does the question stand? */
static int look(struct roostd_port *port, struct roostd_asked *asked)
{
	const struct roost_addr_io *addrs = addrs_of(port);
	const uint64_t mac_gen = mac_gen_of(port->neighs.v[asked->place]);
	int ret;

	/* The client finds it in the page when it has the answer. */
	if (mac_gen != 0) {
		set_entry(port, asked->place, mac_gen);
		return 0;
	}
	if (port->now_ns >= asked->until_ns)
		return -ETIMEDOUT;
	if (port->now_ns < asked->look_ns)
		return -EINPROGRESS;
	asked->look_ns = port->now_ns + LOOK_NS;
	ret = addrs->meet(addrs->ctx, &asked->sgid, &asked->dgid, NULL);
	return ret == -EAGAIN || ret == 0 ? -EINPROGRESS : ret;
}

void roostd_neighs_run(struct roostd_port *port)
{
	struct roostd_neighs *n = &port->neighs;
	struct roostd_asked *asked, *next;

	for (asked = TAILQ_FIRST(&n->asked); asked; asked = next) {
		next = TAILQ_NEXT(asked, link);
		asked->status = look(port, asked);
		if (asked->status == -EINPROGRESS)
			continue;
		TAILQ_REMOVE(&n->asked, asked, link);
		TAILQ_INSERT_TAIL(&n->answered, asked, link);
	}
}

uint64_t roostd_neighs_due_ns(const struct roostd_port *port)
{
	const struct roostd_asked *asked;
	uint64_t due_ns = UINT64_MAX;

	TAILQ_FOREACH(asked, &port->neighs.asked, link)
		if (asked->look_ns < due_ns)
			due_ns = asked->look_ns;
	return due_ns;
}

bool roostd_neighs_next(struct roostd_port *port, struct roostd_asked *answer)
{
	struct roostd_asked *asked = TAILQ_FIRST(&port->neighs.answered);

	if (!asked)
		return false;
	TAILQ_REMOVE(&port->neighs.answered, asked, link);
	*answer = *asked;
	answer->client->refs.nb_asked--;
	answer->client->refs.user->nb_asked--;
	if (answer->status)
		unrefer(port, answer->client, answer->place, 1);
	free(asked);
	return true;
}

/* ---- life ---------------------------------------------------------------- */

static void forget(struct roostd_asked_list *list,
		   const struct roostd_client *c)
{
	struct roostd_asked *asked, *next;

	for (asked = TAILQ_FIRST(list); asked; asked = next) {
		next = TAILQ_NEXT(asked, link);
		if (asked->client != c)
			continue;
		TAILQ_REMOVE(list, asked, link);
		free(asked);
	}
}

void roostd_neighs_leave(struct roostd_port *port, struct roostd_client *c)
{
	if (!c->refs.of)
		return;
	forget(&port->neighs.asked, c);
	forget(&port->neighs.answered, c);
	c->refs.user->nb_asked -= c->refs.nb_asked;
	c->refs.nb_asked = 0;
	for (uint32_t i = 1; c->refs.nb > 0; i++)
		if (c->refs.of[i] > 0)
			unrefer(port, c, i, c->refs.of[i]);
	free(c->refs.of);
	c->refs.of = NULL;
	leave_user(c->refs.user);
}

void roostd_neighs_init(struct roostd_port *port)
{
	TAILQ_INIT(&port->neighs.asked);
	TAILQ_INIT(&port->neighs.answered);
	LIST_INIT(&port->neighs.users);
	port->neighs.nb = 1;
	roostd_neighs_set_own(port);
}
