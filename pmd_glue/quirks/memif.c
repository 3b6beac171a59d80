/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The quirk of net_memif.
 *
 * Wrong: the driver maps and unmaps its rings in callbacks on EAL's interrupt
 * thread, without a lock against the bursts: a worker that polls at this moment
 * reads unmapped memory. It leaves its listening socket registered after the
 * port is closed, with a pointer to freed memory. A control socket that dies
 * before its first message makes EAL panic, when EAL adds the descriptor to its
 * epoll set. It trusts any peer.
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found for the rings and the socket. EAL's panic for a
 * descriptor that is closed is told of in github.com/DPDK/dpdk/pull/66, for
 * another driver.
 * Goes when: the driver tells of a peer that goes before it unmaps, and waits
 * for the application; ports that may have any peer need the gate still.
 */
#include "pmd_glue/quirks/intr_quirk.h"
#include "pmd_glue/quirks/quirk.h"

const struct roost_quirk roost_quirk_memif = {
	.library = "librte_net_memif.so",
	.missing = "not loaded",
	.put = roost_intr_gate_put,
	.open = roost_intr_quirk_open,
	.close = roost_intr_quirk_close,
	.enter = roost_intr_quirk_enter,
	.leave = roost_intr_gate_leave,
	.add_worker = roost_intr_quirk_add_worker,
	.del_worker = roost_intr_quirk_del_worker,
	.is_busy = roost_intr_quirk_is_busy,
};
