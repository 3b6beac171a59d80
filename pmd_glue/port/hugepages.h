/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_HUGEPAGES_H
#define ROOST_PMD_GLUE_PORT_HUGEPAGES_H

/* Free huge pages of any size, in MB. Reads sysfs. Thread: any. */
unsigned long roost_hugepages_free_mb(void);

#endif
