/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_RIGHTS_H
#define ROOST_PMD_GLUE_PROCESS_RIGHTS_H

/* Which capabilities this process lacks. */

#include <stdbool.h>
#include <stddef.h>

#define ROOST_RIGHTS_MAX 96 /* bytes of a list, terminating zero included */

/*
 * wanted: names, separated by commas, "CAP_NET_RAW,CAP_NET_ADMIN". Those that
 * the calling thread does not have, "CAP_NET_RAW and CAP_NET_ADMIN", go to
 * lacks. Returns false: none; also where the kernel does not tell. A thread of
 * another user namespace may have them, and be refused all the same.
 * Thread: any.
 */
bool roost_rights_lack(const char *wanted, char lacks[ROOST_RIGHTS_MAX]);

#endif
