/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_MEMBERSHIP_PRIV_H
#define ROOST_PMD_GLUE_HOST_MEMBERSHIP_PRIV_H

/*
 * Inside of the membership; for membership.c, which has the groups and says
 * what is due, and membership_hear.c, which makes it due.
 */

#include <sys/queue.h>

#include "pmd_glue/host/group_msg.h"
#include "pmd_glue/host/membership.h"

#define ROOST_NEVER_NS UINT64_MAX

struct roost_group {
	struct roost_gid addr;
	bool member; /* false: left, and that is still to be said */
	bool silent; /* nobody reports it */
	unsigned int changes_left; /* times to say what last changed */
	uint64_t change_due_ns;    /* when to say it next; NEVER */
	uint64_t answer_due_ns;    /* to a query for this group; NEVER */
	struct roost_gid *asked;   /* the sources in question; NULL: all */
	unsigned int nb_asked;
	TAILQ_ENTRY(roost_group) link;
};

/* The bytes of IGMP or of MLD. */
struct roost_group_protocol {
	int (*parse)(const uint8_t *frame, size_t len_bytes,
		     struct roost_group_msg *msg);
	size_t (*build)(const struct roost_group_sender *self,
			enum roost_group_version version, bool leave,
			const struct roost_gid *group, uint8_t *frame);
	void (*report_begin)(struct roost_group_report *report,
			     uint32_t ip_mtu_bytes);
	size_t (*report_end)(struct roost_group_report *report,
			     const struct roost_group_sender *self);
};

/* How a version differs. */
struct roost_group_dialect {
	uint64_t repeat_ns; /* a change is said again within this */
	bool records;       /* many groups in a report, and no host listens */
	bool leaves;        /* hosts say that they leave */
};

/* One of IPv4 and IPv6. */
struct roost_group_family {
	const struct roost_group_protocol *protocol;
	struct roost_group_sender self;
	TAILQ_HEAD(, roost_group) groups;
	enum roost_group_version version;          /* that we speak */
	const struct roost_group_dialect *dialect; /* of version */
	/* Until when queriers of older versions count as there; 0: none was
	 * heard.
	 */
	uint64_t older_until_ns[ROOST_GROUP_V3];
	uint64_t answer_all_due_ns; /* V3, to a general query; NEVER */
	uint64_t quiet_until_ns;    /* no query is answered earlier */
	unsigned int robustness;
	uint64_t query_interval_ns;
};

struct roost_membership {
	struct roost_membership_conf conf;
	struct roost_group_family v4, v6;
	unsigned int nb_groups; /* entries of both */
	uint64_t random;
	uint64_t next_ns; /* nothing is due before */
};

struct roost_group *roost_group_find(const struct roost_group_family *f,
				     const struct roost_gid *addr);
/* Set a time, and see that the tick comes for it. */
void roost_group_arm(struct roost_membership *m, uint64_t *due_ns,
		     uint64_t at_ns);
/* A random time, 1 to limit_ns. */
uint64_t roost_group_within(struct roost_membership *m, uint64_t limit_ns);
/* No query is open for the group. */
void roost_group_forget_question(struct roost_group *g);
/* Nothing is due, and only members are left. */
void roost_group_cancel_all(struct roost_membership *m,
			    struct roost_group_family *f);

/* As if no querier had ever been heard. */
void roost_group_forget_querier(struct roost_group_family *f);
/* Speak the version that is right by now. */
void roost_group_choose_version(struct roost_membership *m,
				struct roost_group_family *f, uint64_t now_ns);

#endif
