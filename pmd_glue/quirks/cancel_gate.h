/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_CANCEL_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_CANCEL_GATE_H

/*
 * The cancellation gate: system calls of libraries below us.
 *
 * A thread of the application that has the turn runs the bursts of DPDK's
 * drivers, and many of these call the kernel: af_packet, af_xdp and tap with
 * each burst, memif, vhost and virtio_user to wake a peer that sleeps. These
 * calls are cancellation points, and a thread that is cancelled at one takes
 * the turn with it. So they are sent our way (pmd_glue/quirks/import.h), where
 * none is (lib/uncancelled.c). A driver that calls nothing pays nothing.
 *
 * Versions: all. Upstream: none found; drivers do not expect to be called by a
 * thread that is cancelled. Goes when: threads of the application take no turn.
 */

/*
 * Put the gate before all drivers that are loaded. Doing so again changes
 * nothing. Returns 0, -EACCES. Where DPDK is part of the program itself, and no
 * library, there is nothing to do, nor any gate.
 * Thread: the control thread, after EAL has started.
 */
int roost_cancel_gate_put(void);

#endif
