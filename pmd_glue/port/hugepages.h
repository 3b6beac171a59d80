/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_HUGEPAGES_H
#define ROOST_PMD_GLUE_PORT_HUGEPAGES_H

/* The kernel's folder of huge pages; tests use another one. */
#define ROOST_HUGEPAGES "/sys/kernel/mm/hugepages"

/* Free huge pages of any size, in MB, as the folder tells. Thread: any. */
unsigned long roost_hugepages_free_mb(const char *folder);

#endif
