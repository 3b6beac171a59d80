/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/neighs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"

#define BUCKETS 256u
/* Destinations that are remembered at the most; others are asked each time. */
#define ROUTES_MAX 4096u
/* Entries in one run that another daemon is asked for, and the time until it is
 * asked again for one that it does not know.
 */
#define ASK_AGAIN_MAX 32u
#define ASK_AGAIN_NS 1000000000u
#define NO_INDEX UINT32_MAX

/* The entry that leads from sgid to dgid. */
struct route {
	struct roost_gid sgid, dgid;
	struct entry *entry;
	LIST_ENTRY(route) in_bucket;
	LIST_ENTRY(route) in_entry;
};

struct entry {
	struct roost_neigh neigh; /* first member; writers: with the lock */
	uint64_t seen;  /* the page's word that it is made of; 0: none yet */
	uint32_t index; /* in the page; NO_INDEX: to be asked for */
	uint64_t ask_at_ns; /* not before this time */
	/* What was asked for. */
	struct roost_gid sgid, dgid;
	uint32_t refs;       /* of the engine */
	uint32_t leases;     /* of the daemon: RESOLVEs without their PUT */
	bool asked;          /* had no MAC when it was last looked at */
	uint64_t idle_at_ns; /* since when refs is 0 */
	LIST_HEAD(, route) routes;
	LIST_ENTRY(entry) link; /* among the used, or the free */
};

LIST_HEAD(entries, entry);

struct roost_share_neighs {
	struct roost_share_session *session;
	pthread_mutex_t lock; /* for all that follows; no request is under it */
	const struct roost_share_page *page;
	uint32_t epoch; /* of the session, whose daemon has the page */
	unsigned int nb_routes;
	LIST_HEAD(, route) buckets[BUCKETS];
	struct entries used, free;
	struct entry *by_index[ROOST_SHARE_NEIGHS]; /* NULL: not used */
	struct entry entries[ROOST_SHARE_NEIGHS];
};

int roost_share_neighs_create(struct roost_share_session *session,
			      const struct roost_share_page *page,
			      struct roost_share_neighs **neighs)
{
	struct roost_share_neighs *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->session = session;
	n->epoch = roost_share_session_epoch(session);
	n->page = page;
	pthread_mutex_init(&n->lock, NULL);
	for (uint32_t i = ROOST_SHARE_NEIGHS; i > 0; i--)
		LIST_INSERT_HEAD(&n->free, &n->entries[i - 1], link);
	*neighs = n;
	return 0;
}

void roost_share_neighs_destroy(struct roost_share_neighs *neighs)
{
	if (!neighs)
		return;
	roost_share_neighs_forget(neighs);
	pthread_mutex_destroy(&neighs->lock);
	free(neighs);
}

/* ---- routes: under the lock ---------------------------------------------- */

static unsigned int bucket_of(const struct roost_gid *dgid)
{
	uint64_t words[2];

	memcpy(words, dgid->b, sizeof(words));
	return (unsigned int)((words[0] ^ words[1]) * 0x9e3779b97f4a7c15u >>
			      56) %
	       BUCKETS;
}

static struct route *find_route(struct roost_share_neighs *n,
				const struct roost_gid *sgid,
				const struct roost_gid *dgid)
{
	struct route *r;

	LIST_FOREACH(r, &n->buckets[bucket_of(dgid)], in_bucket)
		if (roost_gid_eq(&r->dgid, dgid) &&
		    roost_gid_eq(&r->sgid, sgid))
			return r;
	return NULL;
}

/* Without memory for it, the next resolve asks again. */
static void add_route(struct roost_share_neighs *n,
		      const struct roost_gid *sgid,
		      const struct roost_gid *dgid, struct entry *entry)
{
	struct route *r = find_route(n, sgid, dgid);

	if (r) {
		LIST_REMOVE(r, in_entry);
	} else {
		if (n->nb_routes >= ROUTES_MAX)
			return;
		r = calloc(1, sizeof(*r));
		if (!r)
			return;
		r->sgid = *sgid;
		r->dgid = *dgid;
		LIST_INSERT_HEAD(&n->buckets[bucket_of(dgid)], r, in_bucket);
		n->nb_routes++;
	}
	r->entry = entry;
	LIST_INSERT_HEAD(&entry->routes, r, in_entry);
}

static void drop_routes(struct roost_share_neighs *n, struct entry *e)
{
	struct route *r;

	while ((r = LIST_FIRST(&e->routes))) {
		LIST_REMOVE(r, in_bucket);
		LIST_REMOVE(r, in_entry);
		free(r);
		n->nb_routes--;
	}
}

void roost_share_neighs_forget(struct roost_share_neighs *neighs)
{
	struct entry *e;

	pthread_mutex_lock(&neighs->lock);
	LIST_FOREACH(e, &neighs->used, link)
		drop_routes(neighs, e);
	pthread_mutex_unlock(&neighs->lock);
}

/* ---- entries: under the lock --------------------------------------------- */

/* Make it as the page has it. The generation is our own: with another MAC of
 * the port, or another daemon, the page's may be as before.
 */
static void follow(const struct roost_share_neighs *n, struct entry *e)
{
	uint64_t word, now;
	uint8_t mac[6];

	if (e->index == NO_INDEX)
		return;
	word = atomic_load_explicit(&n->page->neighs[e->index],
				    memory_order_acquire);
	if (word == 0 || word == e->seen)
		return;
	e->seen = word;
	now = atomic_load_explicit(&e->neigh.mac_gen, memory_order_relaxed);
	roost_neigh_mac(word, mac);
	atomic_store_explicit(&e->neigh.mac_gen,
			      roost_neigh_mac_gen(mac, (uint16_t)(now + 1)),
			      memory_order_release);
}

static bool has_mac(const struct roost_share_neighs *n, struct entry *e)
{
	follow(n, e);
	return atomic_load_explicit(&e->neigh.mac_gen, memory_order_relaxed) !=
	       0;
}

/* An entry that is not used; NULL: there is none. */
static struct entry *take_entry(struct roost_share_neighs *n,
				const struct roost_gid *sgid,
				const struct roost_gid *dgid)
{
	struct entry *e = LIST_FIRST(&n->free);

	if (!e)
		return NULL;
	LIST_REMOVE(e, link);
	*e = (struct entry){
		.index = NO_INDEX,
		.sgid = *sgid,
		.dgid = *dgid,
		.idle_at_ns = roost_now_ns(),
	};
	LIST_INSERT_HEAD(&n->used, e, link);
	return e;
}

static void free_entry(struct roost_share_neighs *n, struct entry *e)
{
	drop_routes(n, e);
	if (e->index != NO_INDEX && n->by_index[e->index] == e)
		n->by_index[e->index] = NULL;
	LIST_REMOVE(e, link);
	LIST_INSERT_HEAD(&n->free, e, link);
}

/* The daemon has answered with an index, and a reference. */
static void lease(struct roost_share_neighs *n, struct entry *e, uint32_t index)
{
	e->index = index;
	e->leases++;
	if (!n->by_index[index])
		n->by_index[index] = e;
}

static void refer(struct roost_share_neighs *n, struct entry *e,
		  struct roost_neigh **neigh)
{
	e->refs++;
	if (!has_mac(n, e))
		e->asked = true;
	*neigh = &e->neigh;
}

/* Take what is remembered. needs_mac: if it has its MAC. */
static bool find(struct roost_share_neighs *n, const struct roost_gid *sgid,
		 const struct roost_gid *dgid, bool needs_mac,
		 struct roost_neigh **neigh)
{
	struct route *r;
	bool found;

	pthread_mutex_lock(&n->lock);
	r = find_route(n, sgid, dgid);
	found = r && (!needs_mac || has_mac(n, r->entry));
	if (found && neigh)
		refer(n, r->entry, neigh);
	pthread_mutex_unlock(&n->lock);
	return found;
}

/* ---- requests ------------------------------------------------------------ */

/* Returns 0, or as resolve of struct roost_addr_io; -ENOTCONN: the daemon is
 * away. *epoch: of the daemon that has answered.
 */
static int request(struct roost_share_neighs *n, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, const uint8_t *from_mac,
		   bool asks, uint32_t *index, uint32_t *epoch)
{
	struct roost_share_msg msg;
	int ret;

	do {
		*epoch = roost_share_session_epoch(n->session);
		msg = (struct roost_share_msg){
			.type = ROOST_SHARE_RESOLVE,
			.addr = { .sgid = *sgid, .dgid = *dgid, .asks = asks },
		};
		if (from_mac)
			memcpy(msg.addr.from_mac, from_mac, 6);
		ret = roost_share_request(n->session, &msg);
	} while (*epoch != roost_share_session_epoch(n->session));
	if (ret == -ETIMEDOUT || ret == -ENOBUFS || ret == -ENOTCONN)
		return ret;
	if (ret || msg.reply.value >= ROOST_SHARE_NEIGHS)
		return -EHOSTUNREACH;
	*index = (uint32_t)msg.reply.value;
	return 0;
}

/* Under the lock. index NO_INDEX: the next daemon is asked for it. */
static int enter(struct roost_share_neighs *n, const struct roost_gid *sgid,
		 const struct roost_gid *dgid, uint32_t index,
		 struct roost_neigh **neigh)
{
	struct entry *e = index == NO_INDEX ? NULL : n->by_index[index];

	if (!e)
		e = take_entry(n, sgid, dgid);
	if (!e)
		return -ENOBUFS;
	if (index != NO_INDEX)
		lease(n, e, index);
	add_route(n, sgid, dgid, e);
	refer(n, e, neigh);
	return 0;
}

static int resolve_anew(struct roost_share_neighs *n,
			const struct roost_gid *sgid,
			const struct roost_gid *dgid, const uint8_t *from_mac,
			bool asks, struct roost_neigh **neigh)
{
	uint32_t index, epoch;
	bool is_late;
	int ret;

	do {
		index = NO_INDEX;
		ret = request(n, sgid, dgid, from_mac, asks, &index, &epoch);
		if (ret && !(ret == -ENOTCONN && asks))
			return ret == -ENOTCONN ? -EHOSTUNREACH : ret;
		pthread_mutex_lock(&n->lock);
		is_late = epoch != n->epoch;
		ret = is_late ? 0 : enter(n, sgid, dgid, index, neigh);
		pthread_mutex_unlock(&n->lock);
	} while (is_late);
	if (ret)
		return ret;
	/* A daemon that answers before the network has is a broken one. */
	if (!asks && atomic_load(&(*neigh)->mac_gen) == 0) {
		roost_share_neighs_put(n, *neigh);
		return -ETIMEDOUT;
	}
	if (asks)
		roost_control_wake(); /* to look for the answer */
	return 0;
}

int roost_share_neighs_resolve(struct roost_share_neighs *neighs,
			       const struct roost_gid *sgid,
			       const struct roost_gid *dgid,
			       const uint8_t *from_mac, bool asks,
			       struct roost_neigh **neigh)
{
	if (find(neighs, sgid, dgid, !asks, neigh))
		return 0;
	return resolve_anew(neighs, sgid, dgid, from_mac, asks, neigh);
}

int roost_share_neighs_meet(struct roost_share_neighs *neighs,
			    const struct roost_gid *sgid,
			    const struct roost_gid *dgid)
{
	return find(neighs, sgid, dgid, true, NULL) ? 0 : -EAGAIN;
}

void roost_share_neighs_put(struct roost_share_neighs *neighs,
			    struct roost_neigh *neigh)
{
	struct entry *e = (struct entry *)neigh;
	bool idle;

	pthread_mutex_lock(&neighs->lock);
	idle = --e->refs == 0;
	if (idle)
		e->idle_at_ns = roost_now_ns();
	pthread_mutex_unlock(&neighs->lock);
	if (idle)
		roost_control_wake(); /* to give it back in time */
}

/* ---- the control thread -------------------------------------------------- */

void roost_share_neighs_restart(struct roost_share_neighs *neighs,
				const struct roost_share_page *page)
{
	struct roost_share_neighs *n = neighs;
	struct entry *e, *next;

	pthread_mutex_lock(&n->lock);
	n->page = page;
	n->epoch = roost_share_session_epoch(n->session) + 1;
	memset(n->by_index, 0, sizeof(n->by_index));
	for (e = LIST_FIRST(&n->used); e; e = next) {
		next = LIST_NEXT(e, link);
		e->index = NO_INDEX;
		e->ask_at_ns = 0;
		e->seen = 0;
		e->leases = 0;
		if (e->refs == 0)
			free_entry(n, e);
	}
	pthread_mutex_unlock(&n->lock);
}

/* An entry that is in use, and not the daemon's. Under the lock. */
static struct entry *find_unasked(struct roost_share_neighs *n, uint64_t now_ns)
{
	struct entry *e;

	LIST_FOREACH(e, &n->used, link)
		if (e->index == NO_INDEX && e->refs > 0 &&
		    e->ask_at_ns <= now_ns)
			return e;
	return NULL;
}

/* Ask for one. Returns false: there is none, or the daemon is away. */
static bool ask_again(struct roost_share_neighs *n, uint64_t now_ns)
{
	struct roost_gid sgid, dgid;
	uint32_t index, epoch;
	struct entry *e;
	int ret;

	pthread_mutex_lock(&n->lock);
	e = find_unasked(n, now_ns);
	if (e) {
		sgid = e->sgid;
		dgid = e->dgid;
		e->ask_at_ns = now_ns + ASK_AGAIN_NS;
	}
	pthread_mutex_unlock(&n->lock);
	if (!e)
		return false;
	ret = request(n, &sgid, &dgid, NULL, true, &index, &epoch);
	pthread_mutex_lock(&n->lock);
	/* Only this thread frees entries, and changes the epoch. */
	if (ret == 0) {
		lease(n, e, index);
		e->asked |= !has_mac(n, e);
	}
	pthread_mutex_unlock(&n->lock);
	return ret == 0 || ret == -EHOSTUNREACH;
}

/* Under the lock; a PUT does not wait. Returns false: try again. */
static bool give_back(struct roost_share_neighs *n, struct entry *e)
{
	struct roost_share_msg put = { .type = ROOST_SHARE_PUT,
				       .index = e->index };

	drop_routes(n, e);
	while (e->leases > 0 && roost_share_tell(n->session, &put) != -EAGAIN)
		e->leases--;
	if (e->leases > 0)
		return false;
	free_entry(n, e);
	return true;
}

/* Returns when to look again. e may be free then. */
static uint64_t run_entry(struct roost_share_neighs *n, struct entry *e,
			  uint64_t now_ns, bool *answered)
{
	uint64_t due_ns = e->idle_at_ns + ROOST_SHARE_IDLE_NS;
	bool has = has_mac(n, e);

	if (e->refs == 0 && due_ns <= now_ns) {
		e->asked = false;
		return give_back(n, e) ? UINT64_MAX
				       : now_ns + ROOST_SHARE_LOOK_NS;
	}
	if (e->asked && has) {
		e->asked = false;
		*answered = true;
	}
	if (e->refs == 0)
		return due_ns;
	if (e->index == NO_INDEX)
		return e->ask_at_ns;
	return e->asked ? now_ns + ROOST_SHARE_LOOK_NS : UINT64_MAX;
}

uint64_t roost_share_neighs_run(struct roost_share_neighs *neighs,
				uint64_t now_ns, bool *answered)
{
	uint64_t next_ns = UINT64_MAX;
	struct entry *e, *next;

	*answered = false;
	for (unsigned int i = 0; i < ASK_AGAIN_MAX && ask_again(neighs, now_ns);
	     i++)
		;
	pthread_mutex_lock(&neighs->lock);
	for (e = LIST_FIRST(&neighs->used); e; e = next) {
		uint64_t due_ns;

		next = LIST_NEXT(e, link);
		due_ns = run_entry(neighs, e, now_ns, answered);
		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	pthread_mutex_unlock(&neighs->lock);
	return next_ns;
}
