/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The quirk of net_tap.
 *
 * Wrong: the driver takes a real-time signal without a handler, and the kernel
 * sends it for every packet, which interrupts the application's sleeps and
 * system calls. If there is no free signal, the driver polls.
 * Versions: since 17.02; seen in 22.11.
 * Upstream: intended, to save system calls for queues that are empty
 * (commit a0d8e807d9de, "net/tap: add Rx trigger"); no report found.
 * Goes when: the driver has an argument that switches it off.
 */
#include "pmd_glue/quirks/quirk.h"
#include "pmd_glue/quirks/rt_signals.h"

static void enter(struct roost_quirk_port *port __attribute__((unused)))
{
	roost_rt_signals_hide();
}

const struct roost_quirk roost_quirk_tap = {
	.enter = enter,
	.leave = roost_rt_signals_show,
	.may_be_member = true,
};
