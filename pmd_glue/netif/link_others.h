/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_LINK_OTHERS_H
#define ROOST_PMD_GLUE_NETIF_LINK_OTHERS_H

/*
 * Links of one name that do not meet: those of other users, and those in other
 * network namespaces, as far as /proc shows them.
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
 * Find those who hold an end of a link of this name, and are not processes of
 * this user in this network namespace. Reads files of /proc, some for each
 * process that can be seen. Returns how many were found, max at most.
 * Thread: any.
 */
unsigned int roost_link_find_others(const char *name,
				    struct roost_link_other *others,
				    unsigned int max);

/* What the link of this name waits for, and who else has one: for a line to
 * the user, behind its label.
 */
void roost_link_waits_for(const char *name, char *text, size_t size);

#endif
