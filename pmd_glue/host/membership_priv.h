/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_MEMBERSHIP_PRIV_H
#define ROOST_PMD_GLUE_HOST_MEMBERSHIP_PRIV_H

/*
 * Private to membership.c, which has the groups and sends reports that are due,
 * and membership_hear.c, which takes queries and sets when reports are due.
 */

#include <sys/queue.h>

#include "pmd_glue/host/group_msg.h"
#include "pmd_glue/host/membership.h"

#define ROOST_NEVER_NS UINT64_MAX

struct roost_group {
	struct roost_gid addr;
	bool member; /* false: left, and the leave is still to be reported */
	bool silent; /* a group that is never reported */
	unsigned int
		changes_left;    /* reports of the last change still to send */
	uint64_t change_due_ns;  /* of the next one; ROOST_NEVER_NS: none */
	uint64_t answer_due_ns;  /* of the answer to a query for this group;
				  * ROOST_NEVER_NS: none */
	struct roost_gid *asked; /* sources in the query; NULL: all */
	unsigned int nb_asked;
	TAILQ_ENTRY(roost_group) link;
};

/* The differences of a version. */
struct roost_group_dialect {
	uint64_t repeat_ns; /* a change is reported again within this time */
	bool records;       /* many groups per report; no suppression */
	bool leaves;        /* there is a leave message */
};

/* The state of IPv4, or of IPv6. */
struct roost_group_family {
	const struct roost_group_protocol *protocol;
	struct roost_group_sender self;
	TAILQ_HEAD(, roost_group) groups;
	enum roost_group_version version;          /* in use */
	const struct roost_group_dialect *dialect; /* of version */
	/* Until when a querier of each older version counts as present; 0: none
	 * was heard.
	 */
	uint64_t older_until_ns[ROOST_GROUP_V3];
	uint64_t answer_all_due_ns; /* V3: of the answer to a general query;
				     * ROOST_NEVER_NS: none */
	uint64_t quiet_until_ns;    /* no answer to a query before this time */
	unsigned int robustness;
	uint64_t query_interval_ns;
};

struct roost_membership {
	struct roost_membership_conf conf;
	struct roost_group_family v4, v6;
	unsigned int nb_groups; /* entries of both */
	uint64_t random;
	uint64_t next_ns; /* no message is due before this time */
};

struct roost_group *roost_group_find(const struct roost_group_family *f,
				     const struct roost_gid *addr);
/* Set *due_ns to at_ns, and have the tick run at that time. */
void roost_group_arm(struct roost_membership *m, uint64_t *due_ns,
		     uint64_t at_ns);
/* A random time, 1 to limit_ns. */
uint64_t roost_group_within(struct roost_membership *m, uint64_t limit_ns);
/* Note the querier of a query, and choose the version to use. */
void roost_group_learn_querier(struct roost_membership *m,
			       struct roost_group_family *f,
			       const struct roost_group_msg *msg,
			       uint64_t now_ns);

#endif
