/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/neigh_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS_MIN 256u
#define STATION_BUCKETS 256u
#define NEVER UINT64_MAX

struct roost_neigh_station {
	uint64_t mac;
	unsigned int nb; /* its claims; freed with the last one */
	struct roost_neigh_list by_age;
	LIST_ENTRY(roost_neigh_station) link;
};

static const unsigned int rank_max[ROOST_NEIGH_RANKS] = {
	[ROOST_NEIGH_HELD] = UINT32_MAX, /* the cache has the limit */
	[ROOST_NEIGH_IDLE] = ROOST_NEIGHS_IDLE_MAX,
	[ROOST_NEIGH_CLAIMED] = ROOST_NEIGHS_CLAIMED_MAX,
};

/* ---- by address ---------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t roost_neigh_hash(const struct roost_neigh_table *t,
			  const struct roost_gid *addr)
{
	uint64_t a, b;

	memcpy(&a, &addr->b[0], sizeof(a));
	memcpy(&b, &addr->b[8], sizeof(b));
	a = mix(a ^ t->secret[0], b ^ t->secret[1]);
	return (uint32_t)(mix(a, 0x9e3779b97f4a7c15ull) >> 16);
}

static struct roost_neigh_bucket *bucket_of(const struct roost_neigh_table *t,
					    const struct roost_gid *addr)
{
	return &t->buckets[roost_neigh_hash(t, addr) & (t->nb_buckets - 1)];
}

struct roost_neigh_entry *roost_neigh_find(const struct roost_neigh_table *t,
					   const struct roost_gid *addr)
{
	struct roost_neigh_entry *e;

	LIST_FOREACH(e, bucket_of(t, addr), bucket_link)
		if (roost_gid_eq(&e->addr, addr))
			return e;
	return NULL;
}

/* Double the buckets. Without memory the chains grow longer instead. */
static void grow_buckets(struct roost_neigh_table *t)
{
	struct roost_neigh_bucket *more =
		calloc(t->nb_buckets * 2, sizeof(*more));

	if (!more)
		return;
	free(t->buckets);
	t->buckets = more;
	t->nb_buckets *= 2;
	for (size_t i = 0; i < t->nb; i++)
		LIST_INSERT_HEAD(bucket_of(t, &t->due[i]->addr), t->due[i],
				 bucket_link);
}

/* ---- by time ------------------------------------------------------------- */

static void place(struct roost_neigh_table *t, size_t at,
		  struct roost_neigh_entry *e)
{
	t->due[at] = e;
	e->due_place = at;
}

static void sift_up(struct roost_neigh_table *t, struct roost_neigh_entry *e)
{
	size_t at = e->due_place;

	while (at > 0 && t->due[(at - 1) / 2]->due_ns > e->due_ns) {
		place(t, at, t->due[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(t, at, e);
}

static void sift_down(struct roost_neigh_table *t, struct roost_neigh_entry *e)
{
	size_t at = e->due_place, child;

	while ((child = 2 * at + 1) < t->nb) {
		if (child + 1 < t->nb &&
		    t->due[child + 1]->due_ns < t->due[child]->due_ns)
			child++;
		if (t->due[child]->due_ns >= e->due_ns)
			break;
		place(t, at, t->due[child]);
		at = child;
	}
	place(t, at, e);
}

void roost_neigh_set_due(struct roost_neigh_table *t,
			 struct roost_neigh_entry *e, uint64_t due_ns)
{
	e->due_ns = due_ns;
	sift_up(t, e);
	sift_down(t, e);
}

struct roost_neigh_entry *
roost_neigh_first_due(const struct roost_neigh_table *t)
{
	return t->nb ? t->due[0] : NULL;
}

static bool make_room(struct roost_neigh_table *t)
{
	size_t room = t->room ? t->room * 2 : BUCKETS_MIN;
	struct roost_neigh_entry **due;

	if (t->nb < t->room)
		return true;
	due = reallocarray(t->due, room, sizeof(*due));
	if (!due)
		return false;
	t->due = due;
	t->room = room;
	return true;
}

/* ---- by rank ------------------------------------------------------------- */

static uint64_t mac_number(const uint8_t mac[6])
{
	uint64_t number = 0;

	memcpy(&number, mac, 6);
	return number;
}

static size_t station_bucket(const struct roost_neigh_table *t, uint64_t mac)
{
	return mix(mac ^ t->secret[0], t->secret[1] | 1) % STATION_BUCKETS;
}

static struct roost_neigh_station *get_station(struct roost_neigh_table *t,
					       const uint8_t mac[6])
{
	uint64_t number = mac_number(mac);
	size_t bucket = station_bucket(t, number);
	struct roost_neigh_station *s;

	LIST_FOREACH(s, &t->stations[bucket], link)
		if (s->mac == number)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->mac = number;
	TAILQ_INIT(&s->by_age);
	LIST_INSERT_HEAD(&t->stations[bucket], s, link);
	return s;
}

static void leave_rank(struct roost_neigh_table *t, struct roost_neigh_entry *e)
{
	struct roost_neigh_station *s = e->station;

	TAILQ_REMOVE(&t->by_age[e->rank], e, age_link);
	t->nb_of_rank[e->rank]--;
	e->station = NULL;
	if (!s)
		return;
	TAILQ_REMOVE(&s->by_age, e, station_link);
	if (--s->nb != 0)
		return;
	LIST_REMOVE(s, link);
	free(s);
}

static void enter_rank(struct roost_neigh_table *t, struct roost_neigh_entry *e,
		       enum roost_neigh_rank rank)
{
	e->rank = rank;
	TAILQ_INSERT_TAIL(&t->by_age[rank], e, age_link);
	t->nb_of_rank[rank]++;
}

/* Forget the oldest entry of a rank beyond its limit. Returns true if it did.
 */
static bool trim(struct roost_neigh_table *t, enum roost_neigh_rank rank)
{
	if (t->nb_of_rank[rank] <= rank_max[rank])
		return false;
	roost_neigh_forget(t, TAILQ_FIRST(&t->by_age[rank]));
	return true;
}

void roost_neigh_set_rank(struct roost_neigh_table *t,
			  struct roost_neigh_entry *e,
			  enum roost_neigh_rank rank)
{
	leave_rank(t, e);
	enter_rank(t, e, rank);
	trim(t, rank);
}

int roost_neigh_claim(struct roost_neigh_table *t, struct roost_neigh_entry *e,
		      const uint8_t mac[6])
{
	struct roost_neigh_station *s = get_station(t, mac);

	if (!s) {
		roost_neigh_forget(t, e);
		return -ENOMEM;
	}
	/* Count first: if e is the only claim of the station, leave_rank()
	 * would free the station.
	 */
	s->nb++;
	leave_rank(t, e);
	enter_rank(t, e, ROOST_NEIGH_CLAIMED);
	e->station = s;
	TAILQ_INSERT_TAIL(&s->by_age, e, station_link);
	if (s->nb > ROOST_NEIGHS_CLAIMED_BY_ONE_MAX) {
		roost_neigh_forget(t, TAILQ_FIRST(&s->by_age));
		return ROOST_NEIGH_STATION_FULL;
	}
	return trim(t, ROOST_NEIGH_CLAIMED) ? ROOST_NEIGH_CLAIMS_FULL
					    : ROOST_NEIGH_ROOM;
}

/* ---- all three ----------------------------------------------------------- */

int roost_neigh_table_init(struct roost_neigh_table *t)
{
	memset(t, 0, sizeof(*t));
	/* May fail in an old sandbox; then the hash has a weak secret. */
	if (getrandom(t->secret, sizeof(t->secret), GRND_NONBLOCK) < 0)
		t->secret[0] = (uintptr_t)t;
	for (unsigned int i = 0; i < ROOST_NEIGH_RANKS; i++)
		TAILQ_INIT(&t->by_age[i]);
	t->nb_buckets = BUCKETS_MIN;
	t->buckets = calloc(t->nb_buckets, sizeof(*t->buckets));
	t->stations = calloc(STATION_BUCKETS, sizeof(*t->stations));
	if (t->buckets && t->stations)
		return 0;
	roost_neigh_table_clear(t);
	return -ENOMEM;
}

void roost_neigh_table_clear(struct roost_neigh_table *t)
{
	while (t->nb)
		roost_neigh_forget(t, t->due[t->nb - 1]);
	free(t->due);
	free(t->buckets);
	free(t->stations);
}

struct roost_neigh_entry *roost_neigh_insert(struct roost_neigh_table *t,
					     const struct roost_gid *addr)
{
	struct roost_neigh_entry *e;

	if (!make_room(t))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	if (t->nb == t->nb_buckets)
		grow_buckets(t);
	e->addr = *addr;
	e->due_ns = NEVER;
	LIST_INSERT_HEAD(bucket_of(t, addr), e, bucket_link);
	place(t, t->nb++, e);
	enter_rank(t, e, ROOST_NEIGH_IDLE);
	return e;
}

void roost_neigh_forget(struct roost_neigh_table *t,
			struct roost_neigh_entry *e)
{
	struct roost_neigh_entry *last = t->due[--t->nb];

	leave_rank(t, e);
	LIST_REMOVE(e, bucket_link);
	if (last != e) {
		place(t, e->due_place, last);
		roost_neigh_set_due(t, last, last->due_ns);
	}
	free(e);
}
