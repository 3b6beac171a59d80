/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CABLE_LINK_OTHERS_H
#define ROOST_PMD_GLUE_CABLE_LINK_OTHERS_H

/*
 * Links of the same name that cannot connect to ours: those of other users and
 * of other network namespaces, as far as /proc shows them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct roost_link_other {
	uid_t uid;
	pid_t pid;     /* 0: not known */
	bool is_apart; /* in another network namespace */
};

/*
 * Find processes that hold an end of a link of this name, but belong to another
 * user or are in another network namespace. Reads several files of /proc for
 * each visible process. Returns how many were found, max at most. Thread: any.
 */
unsigned int roost_link_find_others(const char *name,
				    struct roost_link_other *others,
				    unsigned int max);

/* Write what the link of this name waits for, and which other processes have a
 * link of this name. The text goes after the port's label in a report.
 */
void roost_link_waits_for(const char *name, char *text, size_t size);

#endif
