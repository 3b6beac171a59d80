/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_RIGHTS_H
#define ROOST_PMD_GLUE_PROCESS_RIGHTS_H

/* Which capabilities this process lacks, and giving them up. */

#include <stdbool.h>
#include <stddef.h>

#define ROOST_RIGHTS_MAX 96 /* bytes of a list, terminating zero included */

/*
 * wanted: names of capabilities, separated by commas:
 * "CAP_NET_RAW,CAP_NET_ADMIN". Writes those that the calling thread lacks to
 * lacks: "CAP_NET_RAW and CAP_NET_ADMIN". Returns false if it lacks none, or if
 * the kernel does not tell. In another user namespace a thread may have a
 * capability, and the kernel refuses the operation all the same. Thread: any.
 */
bool roost_rights_lack(const char *wanted, char lacks[ROOST_RIGHTS_MAX]);

/*
 * Give up all other capabilities for good: also no program that is executed
 * gets more, by set-user-ID or file capabilities either. keep: a list as above;
 * those that the thread does not have are not got by it. Of the calling thread,
 * and of threads that it starts afterwards.
 * Returns 0, -errno of prctl(2) or capset(2).
 */
int roost_rights_keep(const char *keep);

#endif
