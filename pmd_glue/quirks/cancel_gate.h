/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_CANCEL_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_CANCEL_GATE_H

/*
 * The cancellation gate: system calls in DPDK's drivers and libmnl.
 *
 * An application thread that holds the turn runs the bursts of DPDK's drivers.
 * Many drivers make system calls there: af_packet, af_xdp and tap with each
 * burst; memif, vhost and virtio_user to wake a peer that sleeps. These calls
 * are cancellation points, and a thread that is cancelled there never releases
 * the turn. So the gate redirects them (pmd_glue/quirks/import.h) to functions
 * that are no cancellation points (lib/uncancelled.c). A driver without such
 * calls has no cost.
 *
 * Versions: all. Upstream: none found; drivers do not expect to be called by a
 * thread that is cancelled. Goes when: threads of the application take no turn.
 */

/*
 * Put the gate before all loaded drivers. A second call changes nothing for
 * them. Returns 0, -EACCES. If the program is linked statically with DPDK,
 * there is no gate, and the call does nothing. Thread: the control thread,
 * after EAL has started.
 */
int roost_cancel_gate_put(void);

#endif
