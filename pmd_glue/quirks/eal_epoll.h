/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_EAL_EPOLL_H
#define ROOST_PMD_GLUE_QUIRKS_EAL_EPOLL_H

/*
 * EAL's interrupt thread makes an epoll descriptor whenever what it waits for
 * changes, and ends the process (rte_panic) where there is none to be had, as
 * with all descriptors in use. Its interrupts can wait until there is one.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: EAL keeps its descriptor, or goes on without.
 */

/* Before rte_eal_init(). Thread: the control thread. */
void roost_eal_epoll_put(void);

#endif
