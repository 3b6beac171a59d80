/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_ETHDEV_H
#define ROOST_PMD_GLUE_NETIF_ETHDEV_H

/*
 * The backend of DPDK's ports, and of links, which are memif ports. Each port
 * is a network interface (interface.h). It starts EAL.
 */

#include "pmd_glue/backend/backend.h"

extern const struct roost_backend roost_ethdev;

#endif
