/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/conflict.h"

#define DEFEND_INTERVAL_NS 10000000000u /* RFC 5227, 1.1 */
#define TELL_INTERVAL_NS 60000000000u

#define PLACES                                                                 \
	(sizeof(((struct roost_conflicts *)0)->v) /                            \
	 sizeof(struct roost_conflict))

/* Returns NULL: there was no conflict about addr yet. */
static struct roost_conflict *find(struct roost_conflicts *c,
				   const struct roost_gid *addr)
{
	for (unsigned int i = 0; i < c->nb; i++)
		if (roost_gid_eq(&c->v[i].addr, addr))
			return &c->v[i];
	return NULL;
}

/* There is room for all addresses of a port. Entries of addresses that the port
 * no longer has are overwritten, the oldest one first.
 */
static struct roost_conflict *add(struct roost_conflicts *c,
				  const struct roost_gid *addr)
{
	struct roost_conflict *new;

	if (c->nb < PLACES) {
		new = &c->v[c->nb++];
	} else {
		new = &c->v[c->oldest];
		c->oldest = (c->oldest + 1) % PLACES;
	}
	new->addr = *addr;
	return new;
}

struct roost_conflict_advice
roost_conflict_add_claim(struct roost_conflicts *conflicts,
			 const struct roost_gid *addr, uint64_t now_ns)
{
	struct roost_conflict *known = find(conflicts, addr);
	struct roost_conflict_advice advice = { true, true };

	if (known) {
		advice.defend =
			now_ns - known->heard_at_ns >= DEFEND_INTERVAL_NS;
		advice.tell = now_ns - known->told_at_ns >= TELL_INTERVAL_NS;
	} else {
		known = add(conflicts, addr);
	}
	known->heard_at_ns = now_ns;
	if (advice.tell)
		known->told_at_ns = now_ns;
	return advice;
}
