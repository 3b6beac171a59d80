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

/* The entry that leads from sgid to dgid. */
struct route {
	struct roost_gid sgid, dgid;
	uint32_t index;
	LIST_ENTRY(route) in_bucket;
	LIST_ENTRY(route) in_entry;
};

struct entry {
	uint32_t refs;       /* of the engine */
	uint32_t leases;     /* of the daemon: RESOLVEs without their PUT */
	bool asked;          /* had no MAC when it was last looked at */
	uint64_t idle_at_ns; /* since when refs is 0; if leases > 0 */
	LIST_HEAD(, route) routes;
};

struct roost_share_neighs {
	struct roost_share_session *session;
	const struct roost_share_page *page;
	pthread_mutex_t lock; /* for all that follows; no request is under it */
	unsigned int nb_routes;
	unsigned int nb_leased; /* entries with leases */
	LIST_HEAD(, route) buckets[BUCKETS];
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
	n->page = page;
	pthread_mutex_init(&n->lock, NULL);
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
		      const struct roost_gid *dgid, uint32_t index)
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
	r->index = index;
	LIST_INSERT_HEAD(&n->entries[index].routes, r, in_entry);
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
	pthread_mutex_lock(&neighs->lock);
	for (uint32_t i = 0; i < ROOST_SHARE_NEIGHS; i++)
		drop_routes(neighs, &neighs->entries[i]);
	pthread_mutex_unlock(&neighs->lock);
}

/* ---- entries ------------------------------------------------------------- */

static bool has_mac(const struct roost_share_neighs *n, uint32_t index)
{
	return atomic_load_explicit(&n->page->neighs[index],
				    memory_order_acquire) != 0;
}

/* The engine only reads a neighbour: the page is mapped read-only. */
static struct roost_neigh *neigh_at(const struct roost_share_neighs *n,
				    uint32_t index)
{
	_Static_assert(sizeof(struct roost_neigh) == sizeof(uint64_t),
		       "an entry of the page is a neighbour");
	return (struct roost_neigh *)(uintptr_t)&n->page->neighs[index];
}

/* Under the lock. */
static void refer(struct roost_share_neighs *n, uint32_t index,
		  struct roost_neigh **neigh)
{
	n->entries[index].refs++;
	if (!has_mac(n, index))
		n->entries[index].asked = true;
	*neigh = neigh_at(n, index);
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
	found = r && (!needs_mac || has_mac(n, r->index));
	if (found && neigh)
		refer(n, r->index, neigh);
	pthread_mutex_unlock(&n->lock);
	return found;
}

static int resolve_anew(struct roost_share_neighs *n,
			const struct roost_gid *sgid,
			const struct roost_gid *dgid, const uint8_t *from_mac,
			bool asks, struct roost_neigh **neigh)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_RESOLVE,
		.addr = { .sgid = *sgid, .dgid = *dgid, .asks = asks },
	};
	uint32_t index;
	int ret;

	if (from_mac)
		memcpy(msg.addr.from_mac, from_mac, 6);
	ret = roost_share_request(n->session, &msg);
	if (ret)
		return ret == -ETIMEDOUT || ret == -ENOBUFS ? ret
							    : -EHOSTUNREACH;
	if (msg.reply.value >= ROOST_SHARE_NEIGHS)
		return -EHOSTUNREACH;
	index = (uint32_t)msg.reply.value;
	pthread_mutex_lock(&n->lock);
	n->nb_leased += n->entries[index].leases++ == 0;
	add_route(n, sgid, dgid, index);
	refer(n, index, neigh);
	pthread_mutex_unlock(&n->lock);
	/* A daemon that answers before the network has is a broken one. */
	if (!asks && !has_mac(n, index)) {
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
	const uintptr_t offset =
		(uintptr_t)neigh - (uintptr_t)&neighs->page->neighs[0];
	struct entry *e = &neighs->entries[offset / sizeof(uint64_t)];
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

/* Under the lock; a PUT does not wait. */
static void give_back(struct roost_share_neighs *n, uint32_t index)
{
	struct entry *e = &n->entries[index];

	drop_routes(n, e);
	while (e->leases > 0 && roost_share_put(n->session, index) != -EAGAIN)
		e->leases--;
	n->nb_leased -= e->leases == 0;
}

static uint64_t run_entry(struct roost_share_neighs *n, uint32_t index,
			  uint64_t now_ns, bool *answered)
{
	struct entry *e = &n->entries[index];
	uint64_t due_ns = e->idle_at_ns + ROOST_SHARE_IDLE_NS;

	if (e->refs == 0 && due_ns <= now_ns) {
		give_back(n, index);
		e->asked = false;
		return e->leases == 0 ? UINT64_MAX
				      : now_ns + ROOST_SHARE_LOOK_NS;
	}
	if (e->asked && has_mac(n, index)) {
		e->asked = false;
		*answered = true;
	}
	if (e->refs == 0)
		return due_ns;
	return e->asked ? now_ns + ROOST_SHARE_LOOK_NS : UINT64_MAX;
}

uint64_t roost_share_neighs_run(struct roost_share_neighs *neighs,
				uint64_t now_ns, bool *answered)
{
	uint64_t next_ns = UINT64_MAX;
	unsigned int left;

	*answered = false;
	pthread_mutex_lock(&neighs->lock);
	left = neighs->nb_leased;
	for (uint32_t i = 0; left > 0 && i < ROOST_SHARE_NEIGHS; i++) {
		uint64_t due_ns;

		if (neighs->entries[i].leases == 0)
			continue;
		left--;
		due_ns = run_entry(neighs, i, now_ns, answered);
		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	pthread_mutex_unlock(&neighs->lock);
	return next_ns;
}
