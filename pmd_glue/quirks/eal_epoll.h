/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_EAL_EPOLL_H
#define ROOST_PMD_GLUE_QUIRKS_EAL_EPOLL_H

/*
 * EAL's interrupt thread makes a new epoll descriptor each time its set of
 * descriptors changes. If that fails, because all descriptors are in use, EAL
 * ends the process (rte_panic). With this gate the thread waits until there is
 * a descriptor; its interrupts can wait that long.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: EAL keeps its descriptor, or does not panic without one.
 */

/* Before rte_eal_init(). Thread: the control thread. */
void roost_eal_epoll_put(void);

#endif
