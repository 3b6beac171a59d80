/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_EAL_H
#define ROOST_PMD_GLUE_PORT_EAL_H

/*
 * DPDK's environment inside somebody else's process: started once, on the
 * control thread, with no device probed, no telemetry, no file left anywhere,
 * and no word on the application's stderr. A program that runs EAL itself
 * keeps its own, and we use that.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>

struct roost_eal_conf {
	bool verbose;           /* DPDK's log goes to stderr */
	bool pci;               /* a port is a PCI device */
	bool physical;          /* and one that knows only physical addresses */
	unsigned int nb_queues; /* of all ports: sizes the memory */
};

/* Start EAL if nobody has. Says on stderr why it could not. It tries once:
 * after most failures EAL does not let itself be started again.
 * Returns 0; -ENOMEM, -EACCES, -ENODEV: whatever EAL ran into.
 */
int roost_eal_start(const struct roost_eal_conf *conf);

/* Or the application's. Once it is started. */
bool roost_eal_is_ours(void);
/* A process that this one was forked from has started it, or was about to. Its
 * memory is shared by all of them, and there is none for this one. Thread: any.
 */
bool roost_eal_is_inherited(void);

/*
 * Remove what EAL left in the run-time directory. Returns true when all is
 * gone; false: another process starts right now, try again later.
 */
bool roost_eal_tidy(void);

/* The first error that DPDK logged since roost_eal_log_clear(): the cause,
 * where later ones tell what it led to. Without a newline; "" where there was
 * none, or where the program's own EAL logs to a place of its own. Valid until
 * the next call of either.
 */
const char *roost_eal_log_first(void);
void roost_eal_log_clear(void);
/* Keep what is expected to fail, again and again, out of a verbose log. */
void roost_eal_log_mute(bool mute);

#endif
