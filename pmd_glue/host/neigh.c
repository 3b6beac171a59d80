/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/neigh.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/host/neigh_table.h"

#define MS 1000000ull
#define S (1000 * MS)

#define REACHABLE_BASE_NS (30 * S) /* times 0.5 to 1.5 */
#define STALE_HELD_NS (5 * S)      /* RFC 4861: DELAY_FIRST_PROBE_TIME */
#define STALE_FREE_NS (60 * S)     /* then forgotten */
#define PROBE_NS (1 * S)           /* RETRANS_TIMER */
#define PROBE_TRIES 3u
#define FAILED_NS (10 * S)
#define NEVER UINT64_MAX

/* Timers that one tick runs, before other clients of the control thread. */
#define TICK_MAX 256u

struct roost_neigh_cache {
	struct roost_neigh_conf conf;
	struct roost_neigh_table table;
};

enum event {
	EV_CONFIRMED, /* an answer to our question; its MAC is taken */
	EV_SAME,      /* a packet with the known MAC */
	EV_NEW,       /* a packet with another MAC, which replaces it */
	EV_DOUBT,     /* a packet with another MAC, which does not */
	EV_SILENCE,   /* the state's time is over; there are tries left */
	EV_SPENT,     /* the state's time is over; no try is left */
	EVENTS,
};

/* What to do on the way to the next state. */
enum action {
	DO_NOTHING = 0,
	DO_STORE = 1 << 0,   /* publish the MAC */
	DO_RESTART = 1 << 1, /* restart the state's timer and tries */
	DO_ASK_ALL = 1 << 2,
	DO_ASK_ONE = 1 << 3,
};

struct step {
	uint8_t next;
	uint8_t actions;
};

#define STEP(next_, actions_)                                                  \
	{                                                                      \
		ROOST_NEIGH_##next_, actions_                                  \
	}

/* RFC 4861, 7.2.3, 7.2.5, 7.3.3 and appendix C. */
static const struct step steps[ROOST_NEIGH_STATES][EVENTS] = {
	[ROOST_NEIGH_INCOMPLETE] = {
		[EV_CONFIRMED] = STEP(REACHABLE, DO_STORE | DO_RESTART),
		[EV_SAME] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_NEW] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_DOUBT] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_SILENCE] = STEP(INCOMPLETE, DO_ASK_ALL),
		[EV_SPENT] = STEP(FAILED, DO_RESTART),
	},
	[ROOST_NEIGH_REACHABLE] = {
		[EV_CONFIRMED] = STEP(REACHABLE, DO_STORE | DO_RESTART),
		[EV_SAME] = STEP(REACHABLE, DO_NOTHING),
		[EV_NEW] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_DOUBT] = STEP(STALE, DO_RESTART),
		[EV_SILENCE] = STEP(STALE, DO_RESTART),
		[EV_SPENT] = STEP(STALE, DO_RESTART),
	},
	[ROOST_NEIGH_STALE] = {
		[EV_CONFIRMED] = STEP(REACHABLE, DO_STORE | DO_RESTART),
		[EV_SAME] = STEP(STALE, DO_NOTHING),
		[EV_NEW] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_DOUBT] = STEP(STALE, DO_NOTHING),
		[EV_SILENCE] = STEP(PROBE, DO_RESTART | DO_ASK_ONE),
		[EV_SPENT] = STEP(PROBE, DO_RESTART | DO_ASK_ONE),
	},
	[ROOST_NEIGH_PROBE] = {
		[EV_CONFIRMED] = STEP(REACHABLE, DO_STORE | DO_RESTART),
		[EV_SAME] = STEP(PROBE, DO_NOTHING),
		[EV_NEW] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_DOUBT] = STEP(PROBE, DO_NOTHING),
		[EV_SILENCE] = STEP(PROBE, DO_ASK_ONE),
		[EV_SPENT] = STEP(INCOMPLETE, DO_RESTART | DO_ASK_ALL),
	},
	[ROOST_NEIGH_FAILED] = {
		[EV_CONFIRMED] = STEP(REACHABLE, DO_STORE | DO_RESTART),
		[EV_SAME] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_NEW] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_DOUBT] = STEP(STALE, DO_STORE | DO_RESTART),
		[EV_SILENCE] = STEP(INCOMPLETE, DO_RESTART | DO_ASK_ALL),
		[EV_SPENT] = STEP(INCOMPLETE, DO_RESTART | DO_ASK_ALL),
	},
};

/* Waits after the 1st, 2nd, ... broadcast question: short at first, so that one
 * lost frame delays a connection only a little, then one second (RFC 1122).
 */
static const uint64_t ask_waits_ns[] = {
	100 * MS, 200 * MS, 400 * MS, 1 * S, 1 * S,
};

#define ASK_TRIES (sizeof(ask_waits_ns) / sizeof(ask_waits_ns[0]))

static struct roost_neigh_entry *entry_of(const struct roost_neigh *neigh)
{
	return (struct roost_neigh_entry *)((uintptr_t)neigh -
					    offsetof(struct roost_neigh_entry,
						     pub));
}

/* Spread over 0.5 to 1.5 of the base, so that neighbours that met at one time
 * are not all asked at one time.
 */
static uint64_t reachable_ns(const struct roost_neigh_cache *cache,
			     const struct roost_neigh_entry *e)
{
	return REACHABLE_BASE_NS / 2 +
	       (REACHABLE_BASE_NS >> 16) *
		       (roost_neigh_hash(&cache->table, &e->addr) >> 16);
}

/* How long the entry may stay in its state from now on. */
static uint64_t state_time_ns(const struct roost_neigh_cache *cache,
			      const struct roost_neigh_entry *e)
{
	switch (e->state) {
	case ROOST_NEIGH_INCOMPLETE:
		return ask_waits_ns[e->tries ? e->tries - 1 : 0];
	case ROOST_NEIGH_REACHABLE:
		return reachable_ns(cache, e);
	case ROOST_NEIGH_STALE:
		return e->refs ? STALE_HELD_NS : STALE_FREE_NS;
	case ROOST_NEIGH_PROBE:
		return PROBE_NS;
	case ROOST_NEIGH_FAILED:
		return FAILED_NS;
	case ROOST_NEIGH_STATES:
		break;
	}
	return NEVER;
}

static unsigned int tries_allowed(enum roost_neigh_state state)
{
	switch (state) {
	case ROOST_NEIGH_INCOMPLETE:
		return ASK_TRIES;
	case ROOST_NEIGH_PROBE:
		return PROBE_TRIES;
	case ROOST_NEIGH_REACHABLE:
	case ROOST_NEIGH_STALE:
	case ROOST_NEIGH_FAILED:
	case ROOST_NEIGH_STATES:
		break;
	}
	return 0;
}

static uint64_t published(const struct roost_neigh_entry *e)
{
	return atomic_load_explicit(&e->pub.mac_gen, memory_order_relaxed);
}

static bool knows(const struct roost_neigh_entry *e, const uint8_t mac[6])
{
	return (published(e) & ~(uint64_t)0xffff) ==
	       roost_neigh_mac_gen(mac, 0);
}

/* Release: a reader that sees the new generation sees all earlier writes. */
static void publish(struct roost_neigh_entry *e, const uint8_t mac[6])
{
	uint16_t gen = (uint16_t)(published(e) + 1);

	if (!knows(e, mac))
		atomic_store_explicit(&e->pub.mac_gen,
				      roost_neigh_mac_gen(mac, gen),
				      memory_order_release);
}

/* Publish the same MAC with a new generation; release, as in publish(). */
static void republish(struct roost_neigh_entry *e)
{
	const uint64_t now = published(e);
	const uint64_t gen = (now + 1) & 0xffff;

	if (now != 0)
		atomic_store_explicit(&e->pub.mac_gen,
				      (now & ~(uint64_t)0xffff) | gen,
				      memory_order_release);
}

static void take_step(struct roost_neigh_cache *cache,
		      struct roost_neigh_entry *e, enum event event,
		      const uint8_t *mac, uint64_t now_ns)
{
	const struct step *step = &steps[e->state][event];

	if (step->actions & DO_STORE)
		publish(e, mac);
	e->state = (enum roost_neigh_state)step->next;
	if (step->actions & DO_RESTART)
		e->tries = 0;
	if (step->actions & (DO_ASK_ALL | DO_ASK_ONE))
		e->tries++;
	if (step->actions != DO_NOTHING)
		roost_neigh_set_due(&cache->table, e,
				    now_ns + state_time_ns(cache, e));
	if (step->actions & DO_ASK_ALL) {
		cache->conf.ask(cache->conf.ctx, &e->addr, NULL);
	} else if (step->actions & DO_ASK_ONE) {
		uint8_t known[6];

		roost_neigh_mac(published(e), known);
		cache->conf.ask(cache->conf.ctx, &e->addr, known);
	}
}

/* Start again with a broadcast question. */
static void start_over(struct roost_neigh_cache *cache,
		       struct roost_neigh_entry *e, uint64_t now_ns)
{
	e->state = ROOST_NEIGH_FAILED;
	take_step(cache, e, EV_SILENCE, NULL, now_ns);
}

int roost_neigh_cache_create(const struct roost_neigh_conf *conf,
			     struct roost_neigh_cache **cache)
{
	struct roost_neigh_cache *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->conf = *conf;
	ret = roost_neigh_table_init(&c->table);
	if (ret) {
		free(c);
		return ret;
	}
	*cache = c;
	return 0;
}

void roost_neigh_cache_destroy(struct roost_neigh_cache *cache)
{
	roost_neigh_table_clear(&cache->table);
	free(cache);
}

int roost_neigh_get(struct roost_neigh_cache *cache,
		    const struct roost_gid *addr, uint64_t now_ns,
		    struct roost_neigh **neigh)
{
	struct roost_neigh_table *t = &cache->table;
	struct roost_neigh_entry *e = roost_neigh_find(t, addr);
	bool is_new = !e;

	if ((is_new || e->refs == 0) &&
	    t->nb_of_rank[ROOST_NEIGH_HELD] >= ROOST_NEIGHS_MAX)
		return -ENOBUFS;
	if (is_new)
		e = roost_neigh_insert(t, addr);
	if (!e)
		return -ENOMEM;
	if (e->refs++ == 0)
		roost_neigh_set_rank(t, e, ROOST_NEIGH_HELD);
	if (is_new || e->state == ROOST_NEIGH_FAILED)
		start_over(cache, e, now_ns);
	else if (e->state == ROOST_NEIGH_STALE && e->refs == 1)
		roost_neigh_set_due(t, e, now_ns + STALE_HELD_NS);
	*neigh = &e->pub;
	return 0;
}

void roost_neigh_put(struct roost_neigh_cache *cache, struct roost_neigh *neigh,
		     uint64_t now_ns)
{
	struct roost_neigh_table *t = &cache->table;
	struct roost_neigh_entry *e = entry_of(neigh);

	if (--e->refs)
		return;
	/* An entry that failed is kept for a while, too. */
	if (published(e) != 0) {
		e->state = ROOST_NEIGH_STALE;
		roost_neigh_set_due(t, e, now_ns + STALE_FREE_NS);
	}
	roost_neigh_set_rank(t, e, ROOST_NEIGH_IDLE);
}

static bool is_dead(const struct roost_neigh_entry *e)
{
	return e->state == ROOST_NEIGH_FAILED && published(e) == 0;
}

int roost_neigh_look(struct roost_neigh_cache *cache,
		     const struct roost_gid *addr, uint64_t now_ns)
{
	struct roost_neigh_entry *e = roost_neigh_find(&cache->table, addr);
	uint64_t dead_s;

	if (!e)
		return -EAGAIN;
	if (!is_dead(e) || e->due_ns <= now_ns)
		return published(e) != 0 ? 0 : -EAGAIN;
	dead_s = (now_ns - (e->due_ns - FAILED_NS)) / S;
	if (dead_s > e->tries) {
		e->tries = (unsigned int)dead_s;
		cache->conf.ask(cache->conf.ctx, addr, NULL);
	}
	return -ETIMEDOUT;
}

enum roost_neigh_state roost_neigh_state(const struct roost_neigh *neigh)
{
	return entry_of(neigh)->state;
}

static enum event event_of(const struct roost_neigh_entry *e,
			   const struct roost_neigh_msg *word)
{
	bool same = knows(e, word->mac);

	if (!same && !word->override && e->state != ROOST_NEIGH_INCOMPLETE &&
	    e->state != ROOST_NEIGH_FAILED)
		return EV_DOUBT;
	if (word->solicited)
		return EV_CONFIRMED;
	return same ? EV_SAME : EV_NEW;
}

/* Make the entry a claim of the station. Returns the entry; NULL: no memory. */
static struct roost_neigh_entry *claim(struct roost_neigh_cache *cache,
				       struct roost_neigh_entry *e,
				       const struct roost_neigh_msg *word)
{
	bool of_one;
	int ret;

	if (!e)
		e = roost_neigh_insert(&cache->table, &word->addr);
	if (!e)
		return NULL;
	ret = roost_neigh_claim(&cache->table, e, word->mac);
	if (ret < 0)
		return NULL;
	of_one = ret == ROOST_NEIGH_STATION_FULL;
	if (ret != ROOST_NEIGH_ROOM && cache->conf.crowded)
		cache->conf.crowded(cache->conf.ctx, of_one ? word->mac : NULL);
	return e;
}

bool roost_neigh_update(struct roost_neigh_cache *cache,
			const struct roost_neigh_msg *word, uint64_t now_ns)
{
	struct roost_neigh_entry *e =
		roost_neigh_find(&cache->table, &word->addr);
	bool waited;

	if (!e && !word->create)
		return false;
	if (!e || (e->rank == ROOST_NEIGH_CLAIMED && word->override))
		e = claim(cache, e, word);
	if (!e)
		return false;
	waited = e->state == ROOST_NEIGH_INCOMPLETE ||
		 e->state == ROOST_NEIGH_FAILED;
	take_step(cache, e, event_of(e, word), word->mac, now_ns);
	return waited;
}

void roost_neigh_renew(struct roost_neigh_cache *cache)
{
	for (size_t i = 0; i < cache->table.nb; i++)
		republish(cache->table.due[i]);
}

void roost_neigh_link_up(struct roost_neigh_cache *cache, uint64_t now_ns)
{
	struct roost_neigh_entry *e;

	TAILQ_FOREACH(e, &cache->table.by_age[ROOST_NEIGH_HELD], age_link)
		if (e->state == ROOST_NEIGH_INCOMPLETE ||
		    e->state == ROOST_NEIGH_FAILED)
			start_over(cache, e, now_ns);
	/* Entries that have failed may answer now. */
	TAILQ_FOREACH(e, &cache->table.by_age[ROOST_NEIGH_IDLE], age_link)
		if (is_dead(e))
			roost_neigh_set_due(&cache->table, e, now_ns);
}

static void tell_silent(const struct roost_neigh_cache *cache,
			const struct roost_neigh_entry *e)
{
	uint64_t tried_ns = 0;

	if (!cache->conf.silent || e->refs == 0 || published(e) != 0)
		return;
	for (size_t i = 0; i < ASK_TRIES; i++)
		tried_ns += ask_waits_ns[i];
	cache->conf.silent(cache->conf.ctx, &e->addr, tried_ns);
}

/* The entry's timer has expired. Returns true if the entry has failed now. */
static bool expire(struct roost_neigh_cache *cache, struct roost_neigh_entry *e,
		   uint64_t now_ns)
{
	unsigned int allowed = tries_allowed(e->state);

	if (e->refs == 0 && e->state != ROOST_NEIGH_REACHABLE &&
	    e->state != ROOST_NEIGH_INCOMPLETE) {
		roost_neigh_forget(&cache->table, e);
		return false;
	}
	take_step(cache, e, e->tries < allowed ? EV_SILENCE : EV_SPENT, NULL,
		  now_ns);
	if (e->state != ROOST_NEIGH_FAILED)
		return false;
	tell_silent(cache, e);
	return true;
}

uint64_t roost_neigh_due_ns(const struct roost_neigh_cache *cache)
{
	const struct roost_neigh_entry *e =
		roost_neigh_first_due(&cache->table);

	return e ? e->due_ns : NEVER;
}

uint64_t roost_neigh_tick(struct roost_neigh_cache *cache, uint64_t now_ns,
			  bool *failed)
{
	struct roost_neigh_entry *e;

	*failed = false;
	for (unsigned int i = 0; i < TICK_MAX; i++) {
		e = roost_neigh_first_due(&cache->table);
		if (!e || e->due_ns > now_ns)
			break;
		if (expire(cache, e, now_ns))
			*failed = true;
	}
	return roost_neigh_due_ns(cache);
}
