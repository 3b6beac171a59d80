/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CABLE_LINK_OTHERS_H
#define ROOST_PMD_GLUE_CABLE_LINK_OTHERS_H

/*
 * Links of the same name that cannot connect to ours: those of other users and
 * of other network namespaces, as far as /proc shows them.
 */

#include <stddef.h>

/* Write what the link of this name waits for, and which other processes have a
 * link of this name. The text goes after the port's label in a report. Reads
 * several files of /proc for each visible process. Thread: any.
 */
void roost_link_waits_for(const char *name, char *text, size_t size);

#endif
