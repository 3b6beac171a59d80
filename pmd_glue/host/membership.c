/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/membership.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/host/membership_priv.h"

#define S 1000000000ull

#define ROBUSTNESS 2u /* default, until a querier gives another one */
#define QUERY_INTERVAL_NS (125 * S)
/* The shortest time between two answers, also under a flood of queries. */
#define ANSWER_GAP_NS 10000000u

static const struct roost_group_dialect dialects[ROOST_GROUP_VERSIONS] = {
	[ROOST_GROUP_V1] = { .repeat_ns = 10 * S },
	[ROOST_GROUP_V2] = { .repeat_ns = 10 * S, .leaves = true },
	[ROOST_GROUP_V3] = { .repeat_ns = 1 * S,
			     .leaves = true,
			     .records = true },
};

/* ---- groups ------------------------------------------------------------ */

static struct roost_group_family *family_of(struct roost_membership *m,
					    const struct roost_gid *group)
{
	return roost_gid_is_v4(group) ? &m->v4 : &m->v6;
}

struct roost_group *roost_group_find(const struct roost_group_family *f,
				     const struct roost_gid *addr)
{
	struct roost_group *g;

	TAILQ_FOREACH(g, &f->groups, link)
		if (roost_gid_eq(&g->addr, addr))
			return g;
	return NULL;
}

/* No answer is due. */
static void forget_question(struct roost_group *g)
{
	free(g->asked);
	g->asked = NULL;
	g->nb_asked = 0;
	g->answer_due_ns = ROOST_NEVER_NS;
}

static void forget(struct roost_membership *m, struct roost_group_family *f,
		   struct roost_group *g)
{
	TAILQ_REMOVE(&f->groups, g, link);
	m->nb_groups--;
	free(g->asked);
	free(g);
}

/* Make room for a group: give up the repetition of a leave. */
static bool forget_one_left(struct roost_membership *m,
			    struct roost_group_family *f)
{
	struct roost_group *g;

	TAILQ_FOREACH(g, &f->groups, link) {
		if (!g->member) {
			forget(m, f, g);
			return true;
		}
	}
	return false;
}

/* Is it a group that is never reported: one of all hosts, or of scope 0 or 1
 * (RFC 3376, 6; RFC 3810, 6)?
 */
static bool is_silent(const struct roost_gid *group)
{
	static const struct roost_gid all_systems = {
		.b = { [10] = 0xff, 0xff, 224, 0, 0, 1 },
	};
	static const struct roost_gid all_nodes = {
		.b = { [0] = 0xff, [1] = 0x02, [15] = 0x01 },
	};

	if (roost_gid_is_v4(group))
		return roost_gid_eq(group, &all_systems);
	return roost_gid_eq(group, &all_nodes) || (group->b[1] & 0xf) <= 1;
}

static int insert(struct roost_membership *m, struct roost_group_family *f,
		  const struct roost_gid *addr, struct roost_group **group)
{
	struct roost_group *g;

	if (m->nb_groups >= ROOST_GROUPS_MAX && !forget_one_left(m, &m->v4) &&
	    !forget_one_left(m, &m->v6))
		return -ENOSPC;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->addr = *addr;
	g->silent = is_silent(addr);
	g->change_due_ns = ROOST_NEVER_NS;
	g->answer_due_ns = ROOST_NEVER_NS;
	TAILQ_INSERT_TAIL(&f->groups, g, link);
	m->nb_groups++;
	*group = g;
	return 0;
}

/* ---- times ------------------------------------------------------------- */

void roost_group_arm(struct roost_membership *m, uint64_t *due_ns,
		     uint64_t at_ns)
{
	*due_ns = at_ns;
	if (at_ns < m->next_ns)
		m->next_ns = at_ns;
}

/* xorshift64 */
uint64_t roost_group_within(struct roost_membership *m, uint64_t limit_ns)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % limit_ns + 1;
}

static void start_change(struct roost_membership *m,
			 struct roost_group_family *f, struct roost_group *g,
			 uint64_t now_ns)
{
	/* In V2 a leave is sent once. */
	g->changes_left = g->member || f->dialect->records ? f->robustness : 1;
	roost_group_arm(m, &g->change_due_ns, now_ns);
}

/* Cancel all messages that are due, and remove the groups that were left. */
static void cancel_all(struct roost_membership *m, struct roost_group_family *f)
{
	struct roost_group *g, *after;

	f->answer_all_due_ns = ROOST_NEVER_NS;
	for (g = TAILQ_FIRST(&f->groups); g; g = after) {
		after = TAILQ_NEXT(g, link);
		forget_question(g);
		g->changes_left = 0;
		g->change_due_ns = ROOST_NEVER_NS;
		if (!g->member)
			forget(m, f, g);
	}
}

/* ---- versions ---------------------------------------------------------- */

static void speak(struct roost_group_family *f,
		  enum roost_group_version version)
{
	f->version = version;
	f->dialect = &dialects[version];
}

/* Use the oldest version of all queriers on the link. A change of the version
 * cancels all pending messages (RFC 3376, 7.2.1; RFC 3810, 8.2.1).
 */
static void choose_version(struct roost_membership *m,
			   struct roost_group_family *f, uint64_t now_ns)
{
	enum roost_group_version version = ROOST_GROUP_V1;

	while (version < ROOST_GROUP_V3 && f->older_until_ns[version] <= now_ns)
		version++;
	if (version == f->version)
		return;
	speak(f, version);
	cancel_all(m, f);
}

static void forget_querier(struct roost_group_family *f)
{
	memset(f->older_until_ns, 0, sizeof(f->older_until_ns));
	speak(f, ROOST_GROUP_V3);
	f->answer_all_due_ns = ROOST_NEVER_NS;
	f->robustness = ROBUSTNESS;
	f->query_interval_ns = QUERY_INTERVAL_NS;
}

void roost_group_learn_querier(struct roost_membership *m,
			       struct roost_group_family *f,
			       const struct roost_group_msg *msg,
			       uint64_t now_ns)
{
	if (msg->version == ROOST_GROUP_V3) {
		f->robustness = msg->robustness ? msg->robustness : ROBUSTNESS;
		f->query_interval_ns = msg->query_interval_ns
					       ? msg->query_interval_ns
					       : QUERY_INTERVAL_NS;
	} else if (msg->is_general) {
		/* RFC 3376, 8.12; RFC 3810, 9.12 */
		f->older_until_ns[msg->version] =
			now_ns + f->robustness * f->query_interval_ns +
			msg->max_resp_ns;
	}
	choose_version(m, f, now_ns);
}

/* ---- reports ------------------------------------------------------------- */

static void send_report(struct roost_membership *m,
			struct roost_group_family *f,
			struct roost_group_report *report)
{
	size_t len;

	if (report->nb_records == 0)
		return;
	len = f->protocol->report_end(report, &f->self);
	m->conf.send(m->conf.ctx, report->frame, len);
	f->protocol->report_begin(report, m->conf.ip_mtu_bytes);
}

static void add_record(struct roost_membership *m, struct roost_group_family *f,
		       struct roost_group_report *report,
		       enum roost_group_record type,
		       const struct roost_group *g)
{
	unsigned int nb_sources =
		type == ROOST_GROUP_IS_INCLUDE ? g->nb_asked : 0;

	if (roost_group_report_add(report, type, &g->addr, g->asked,
				   nb_sources))
		return;
	send_report(m, f, report);
	if (roost_group_report_add(report, type, &g->addr, g->asked,
				   nb_sources))
		return;
	/* The sources do not fit into a report: answer for all sources. */
	roost_group_report_add(report, ROOST_GROUP_IS_EXCLUDE, &g->addr, NULL,
			       0);
}

/* Send one message of V1 or V2. */
static void send_one(struct roost_membership *m,
		     const struct roost_group_family *f, struct roost_group *g)
{
	uint8_t frame[ROOST_GROUP_FRAME_LEN];
	size_t len;

	len = f->protocol->build(&f->self, f->version, !g->member, &g->addr,
				 frame);
	m->conf.send(m->conf.ctx, frame, len);
}

static void say_change(struct roost_membership *m, struct roost_group_family *f,
		       struct roost_group_report *report, struct roost_group *g,
		       uint64_t now_ns)
{
	uint64_t again_ns =
		now_ns + roost_group_within(m, f->dialect->repeat_ns);

	if (f->dialect->records)
		add_record(m, f, report,
			   g->member ? ROOST_GROUP_TO_EXCLUDE
				     : ROOST_GROUP_TO_INCLUDE,
			   g);
	else
		send_one(m, f, g);
	g->change_due_ns = ROOST_NEVER_NS;
	if (--g->changes_left)
		roost_group_arm(m, &g->change_due_ns, again_ns);
}

static void say_answer(struct roost_membership *m, struct roost_group_family *f,
		       struct roost_group_report *report, struct roost_group *g,
		       uint64_t now_ns)
{
	if (f->dialect->records)
		add_record(m, f, report,
			   g->nb_asked ? ROOST_GROUP_IS_INCLUDE
				       : ROOST_GROUP_IS_EXCLUDE,
			   g);
	else
		send_one(m, f, g);
	forget_question(g);
	f->quiet_until_ns = now_ns + ANSWER_GAP_NS;
}

static void answer_all(struct roost_membership *m, struct roost_group_family *f,
		       struct roost_group_report *report, uint64_t now_ns)
{
	const struct roost_group *g;

	f->answer_all_due_ns = ROOST_NEVER_NS;
	f->quiet_until_ns = now_ns + ANSWER_GAP_NS;
	TAILQ_FOREACH(g, &f->groups, link)
		if (g->member && !g->silent)
			add_record(m, f, report, ROOST_GROUP_IS_EXCLUDE, g);
}

/* ---- timers -------------------------------------------------------------- */

static void run(struct roost_membership *m, struct roost_group_family *f,
		uint64_t now_ns)
{
	struct roost_group_report report;
	struct roost_group *g, *after;

	choose_version(m, f, now_ns);
	f->protocol->report_begin(&report, m->conf.ip_mtu_bytes);
	if (f->answer_all_due_ns <= now_ns)
		answer_all(m, f, &report, now_ns);
	for (g = TAILQ_FIRST(&f->groups); g; g = after) {
		after = TAILQ_NEXT(g, link);
		if (g->answer_due_ns <= now_ns)
			say_answer(m, f, &report, g, now_ns);
		if (g->change_due_ns <= now_ns)
			say_change(m, f, &report, g, now_ns);
		if (!g->member && g->changes_left == 0)
			forget(m, f, g);
	}
	send_report(m, f, &report);
}

static uint64_t next_of(const struct roost_group_family *f)
{
	uint64_t next_ns = f->answer_all_due_ns;
	const struct roost_group *g;

	TAILQ_FOREACH(g, &f->groups, link) {
		if (g->answer_due_ns < next_ns)
			next_ns = g->answer_due_ns;
		if (g->change_due_ns < next_ns)
			next_ns = g->change_due_ns;
	}
	return next_ns;
}

uint64_t roost_membership_tick(struct roost_membership *m, uint64_t now_ns)
{
	uint64_t v4_ns, v6_ns;

	if (now_ns < m->next_ns)
		return m->next_ns;
	run(m, &m->v4, now_ns);
	run(m, &m->v6, now_ns);
	v4_ns = next_of(&m->v4);
	v6_ns = next_of(&m->v6);
	m->next_ns = v4_ns < v6_ns ? v4_ns : v6_ns;
	return m->next_ns;
}

/* ---- join and leave ---------------------------------------------------- */

int roost_membership_join(struct roost_membership *m,
			  const struct roost_gid *group, uint64_t now_ns)
{
	struct roost_group_family *f = family_of(m, group);
	struct roost_group *g;
	int ret;

	choose_version(m, f, now_ns);
	g = roost_group_find(f, group);
	if (g && g->member)
		return 0;
	if (!g) {
		ret = insert(m, f, group, &g);
		if (ret)
			return ret;
	}
	g->member = true;
	if (!g->silent)
		start_change(m, f, g, now_ns);
	return 0;
}

static void leave(struct roost_membership *m, struct roost_group_family *f,
		  struct roost_group *g, uint64_t now_ns)
{
	forget_question(g);
	g->member = false;
	if (!g->silent && f->dialect->leaves)
		start_change(m, f, g, now_ns);
	else
		forget(m, f, g);
}

void roost_membership_leave(struct roost_membership *m,
			    const struct roost_gid *group, uint64_t now_ns)
{
	struct roost_group_family *f = family_of(m, group);
	struct roost_group *g;

	choose_version(m, f, now_ns);
	g = roost_group_find(f, group);
	if (g && g->member)
		leave(m, f, g, now_ns);
}

static void link_up(struct roost_membership *m, struct roost_group_family *f,
		    uint64_t now_ns)
{
	struct roost_group *g;

	forget_querier(f);
	cancel_all(m, f);
	TAILQ_FOREACH(g, &f->groups, link)
		if (!g->silent)
			start_change(m, f, g, now_ns);
}

void roost_membership_link_up(struct roost_membership *m, uint64_t now_ns)
{
	link_up(m, &m->v4, now_ns);
	link_up(m, &m->v6, now_ns);
}

static void leave_all(struct roost_membership *m, struct roost_group_family *f,
		      uint64_t now_ns)
{
	struct roost_group *g, *after;

	choose_version(m, f, now_ns);
	for (g = TAILQ_FIRST(&f->groups); g; g = after) {
		after = TAILQ_NEXT(g, link);
		if (g->member)
			leave(m, f, g, now_ns);
		else
			roost_group_arm(m, &g->change_due_ns, now_ns);
	}
}

void roost_membership_leave_all(struct roost_membership *m, uint64_t now_ns)
{
	leave_all(m, &m->v4, now_ns);
	leave_all(m, &m->v6, now_ns);
	roost_membership_tick(m, now_ns);
	cancel_all(m, &m->v4);
	cancel_all(m, &m->v6);
}

static unsigned int add_macs(const struct roost_group_family *f,
			     uint8_t (*macs)[6], unsigned int nb,
			     unsigned int max)
{
	const struct roost_group *g;

	TAILQ_FOREACH(g, &f->groups, link) {
		unsigned int known = 0;
		uint8_t mac[6];

		if (!g->member)
			continue;
		roost_gid_multicast_mac(&g->addr, mac);
		while (known < nb && memcmp(macs[known], mac, 6) != 0)
			known++;
		if (known < nb)
			continue;
		if (nb == max)
			return max + 1;
		memcpy(macs[nb++], mac, 6);
	}
	return nb;
}

unsigned int roost_membership_macs(const struct roost_membership *m,
				   uint8_t (*macs)[6], unsigned int max)
{
	unsigned int nb = add_macs(&m->v4, macs, 0, max);

	return nb > max ? nb : add_macs(&m->v6, macs, nb, max);
}

static void set_sender(struct roost_group_family *f, const uint8_t mac[6],
		       const struct roost_gid *ip)
{
	memcpy(f->self.mac, mac, sizeof(f->self.mac));
	f->self.ip = *ip;
}

void roost_membership_set_port(struct roost_membership *m,
			       const struct roost_membership_conf *conf)
{
	memcpy(m->conf.mac, conf->mac, sizeof(m->conf.mac));
	m->conf.ip_mtu_bytes = conf->ip_mtu_bytes;
	set_sender(&m->v4, conf->mac, &conf->ipv4);
	set_sender(&m->v6, conf->mac, &conf->ipv6);
}

/* ---- life -------------------------------------------------------------- */

static void init(struct roost_group_family *f,
		 const struct roost_group_protocol *protocol,
		 const uint8_t mac[6], const struct roost_gid *ip)
{
	f->protocol = protocol;
	set_sender(f, mac, ip);
	TAILQ_INIT(&f->groups);
	forget_querier(f);
}

int roost_membership_create(const struct roost_membership_conf *conf,
			    struct roost_membership **membership)
{
	struct roost_membership *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->conf = *conf;
	m->random = conf->seed | 1; /* xorshift stays at zero */
	m->next_ns = ROOST_NEVER_NS;
	init(&m->v4, &roost_igmp, conf->mac, &conf->ipv4);
	init(&m->v6, &roost_mld, conf->mac, &conf->ipv6);
	*membership = m;
	return 0;
}

void roost_membership_destroy(struct roost_membership *m)
{
	while (!TAILQ_EMPTY(&m->v4.groups))
		forget(m, &m->v4, TAILQ_FIRST(&m->v4.groups));
	while (!TAILQ_EMPTY(&m->v6.groups))
		forget(m, &m->v6, TAILQ_FIRST(&m->v6.groups));
	free(m);
}
