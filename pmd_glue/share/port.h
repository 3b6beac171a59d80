/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_PORT_H
#define ROOST_PMD_GLUE_SHARE_PORT_H

/*
 * A port that a daemon shares: its frames come over a channel
 * (pmd_glue/channel), its addresses, neighbours and numbers from the daemon by
 * a session. It needs no EAL and no privilege, and is private to this process:
 * a forked child may open one of its own.
 */

#include "pmd_glue/backend/backend.h"

/* For ports with the key `service`. */
extern const struct roost_backend roost_shared;

#endif
