/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_EAL_H
#define ROOST_PMD_GLUE_PORT_EAL_H

/*
 * EAL, DPDK's environment, inside the application's process. Roost starts EAL
 * once, on the control thread: EAL probes no device, has no telemetry, leaves
 * no files, and prints nothing on the application's stderr. If the application
 * runs EAL itself, Roost uses that one.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>

struct roost_eal_conf {
	bool verbose;           /* DPDK's log goes to stderr */
	bool pci;               /* a port is a PCI device */
	bool physical;          /* that device uses physical addresses only */
	unsigned int nb_queues; /* of all ports: sizes the memory */
};

/* Start EAL, unless it runs. Reports an error on stderr. EAL is started only
 * once: after most failures it cannot be started again.
 * Returns 0; or EAL's error: -ENOMEM, -EACCES, -ENODEV.
 */
int roost_eal_start(const struct roost_eal_conf *conf);

/* Did Roost start EAL, not the application? Valid after roost_eal_start(). */
bool roost_eal_is_ours(void);
/* Did a process from which this one was forked start EAL, or begin to? All
 * these processes share EAL's memory, so this one cannot use EAL. Thread: any.
 */
bool roost_eal_is_inherited(void);

/*
 * Remove EAL's files in the run-time directory. Returns true when all are gone;
 * false: another process is starting EAL, try again later.
 */
bool roost_eal_tidy(void);

/* The first error that DPDK logged since roost_eal_log_clear(). The first one
 * is the cause; later ones are its consequences. Without a newline; "" if there
 * was none, or if the application's EAL logs to its own stream. Valid until the
 * next call of either function.
 */
const char *roost_eal_log_first(void);
void roost_eal_log_clear(void);
/* Mute a verbose log during calls that are expected to fail repeatedly. */
void roost_eal_log_mute(bool mute);

#endif
