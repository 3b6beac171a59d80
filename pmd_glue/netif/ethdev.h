/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_ETHDEV_H
#define ROOST_PMD_GLUE_NETIF_ETHDEV_H

/*
 * The backends of DPDK's ports, which starts EAL, and of links, which needs
 * none. Each port is a network interface (interface.h).
 */

#include "pmd_glue/backend/backend.h"

/* For all ports that no other backend takes. */
extern const struct roost_backend roost_ethdev;
/* For ports with the key `link`. */
extern const struct roost_backend roost_link;

#endif
