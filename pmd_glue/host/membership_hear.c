/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/host/membership_priv.h"

#define S 1000000000ull

/* If a query has more sources, the answer is for all sources. */
#define ASKED_MAX 64u

/* ---- queries and reports of others --------------------------------------- */

/* The time of the answer to a query: random within its response time. */
static uint64_t answer_at(struct roost_membership *m,
			  const struct roost_group_family *f,
			  const struct roost_group_msg *msg, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + roost_group_within(m, msg->max_resp_ns + 1);

	return at_ns > f->quiet_until_ns ? at_ns : f->quiet_until_ns;
}

/* The answer is for all sources of the group. */
static void ask_all(struct roost_group *g)
{
	free(g->asked);
	g->asked = NULL;
	g->nb_asked = 0;
}

static bool is_asked(const struct roost_group *g,
		     const struct roost_gid *source)
{
	for (unsigned int i = 0; i < g->nb_asked; i++)
		if (roost_gid_eq(&g->asked[i], source))
			return true;
	return false;
}

/* Add the sources of a query to the answer. If there are too many, the answer
 * is for all sources.
 */
static void ask_some(struct roost_group *g, const struct roost_group_msg *msg)
{
	if (!g->asked)
		g->asked = calloc(ASKED_MAX, sizeof(*g->asked));
	for (unsigned int i = 0; g->asked && i < msg->nb_sources; i++) {
		struct roost_gid source = roost_group_msg_source(msg, i);

		if (is_asked(g, &source))
			continue;
		if (g->nb_asked == ASKED_MAX)
			ask_all(g);
		else
			g->asked[g->nb_asked++] = source;
	}
}

/* RFC 3376, 5.2, rules 1 to 5; RFC 3810, 6.2. */
static void hear_query_records(struct roost_membership *m,
			       struct roost_group_family *f,
			       const struct roost_group_msg *msg,
			       uint64_t now_ns)
{
	uint64_t at_ns = answer_at(m, f, msg, now_ns);
	struct roost_group *g;

	if (f->answer_all_due_ns <= at_ns)
		return;
	if (msg->is_general) {
		roost_group_arm(m, &f->answer_all_due_ns, at_ns);
		return;
	}
	g = roost_group_find(f, &msg->group);
	if (!g || !g->member || g->silent)
		return;
	if (msg->nb_sources == 0)
		ask_all(g);
	else if (g->answer_due_ns == ROOST_NEVER_NS || g->nb_asked)
		ask_some(g, msg);
	if (at_ns < g->answer_due_ns)
		roost_group_arm(m, &g->answer_due_ns, at_ns);
}

/* RFC 2236, 3: each group has its own random time. */
static void hear_query_single(struct roost_membership *m,
			      struct roost_group_family *f,
			      const struct roost_group_msg *msg,
			      uint64_t now_ns)
{
	struct roost_group *g;

	TAILQ_FOREACH(g, &f->groups, link) {
		if (!g->member || g->silent ||
		    (!msg->is_general && !roost_gid_eq(&g->addr, &msg->group)))
			continue;
		if (g->answer_due_ns == ROOST_NEVER_NS ||
		    g->answer_due_ns > now_ns + msg->max_resp_ns)
			roost_group_arm(m, &g->answer_due_ns,
					answer_at(m, f, msg, now_ns));
	}
}

/* A report of another host answers the query: suppress ours (V1 and V2). */
static void hear_report(struct roost_group_family *f,
			const struct roost_group_msg *msg)
{
	struct roost_group *g;

	if (f->dialect->records)
		return;
	g = roost_group_find(f, &msg->group);
	if (!g || !g->member)
		return;
	g->changes_left = 0;
	g->change_due_ns = ROOST_NEVER_NS;
	g->answer_due_ns = ROOST_NEVER_NS;
}

static void hear(struct roost_membership *m, struct roost_group_family *f,
		 const struct roost_group_msg *msg, uint64_t now_ns)
{
	if (!roost_gid_is_multicast(&msg->dst) &&
	    !roost_gid_eq(&msg->dst, &f->self.ip))
		return;
	if (!msg->is_query) {
		hear_report(f, msg);
		return;
	}
	roost_group_learn_querier(m, f, msg, now_ns);
	if (f->dialect->records)
		hear_query_records(m, f, msg, now_ns);
	else
		hear_query_single(m, f, msg, now_ns);
}

bool roost_membership_input(struct roost_membership *m, const uint8_t *frame,
			    size_t len_bytes, uint64_t now_ns)
{
	struct roost_group_msg msg;
	struct roost_group_family *f = &m->v4;

	if (f->protocol->parse(frame, len_bytes, &msg) != 0) {
		f = &m->v6;
		if (f->protocol->parse(frame, len_bytes, &msg) != 0)
			return false;
	}
	if (memcmp(frame + 6, m->conf.mac, 6) != 0)
		hear(m, f, &msg, now_ns);
	return true;
}
