/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The quirk of net_virtio_user over vhost-user.
 *
 * Wrong: when its control socket hangs up, the driver defers work to an alarm,
 * which may run after the port was closed and its memory freed. A read of the
 * link state sets up the rings again, without a lock against the bursts. A
 * server waits for its first peer without limit. It trusts any peer.
 * Versions: 22.11;
 * later ones were not tried. Upstream: none found. Goes when: the driver
 * cancels its alarms as it closes, and a link that comes back is an event.
 */
#include "pmd_glue/quirks/intr_quirk.h"
#include "pmd_glue/quirks/quirk.h"

const struct roost_quirk roost_quirk_virtio_user = {
	.library = "librte_net_virtio.so",
	.missing = "not loaded",
	.put = roost_intr_gate_put,
	.open = roost_intr_quirk_open,
	.close = roost_intr_quirk_close,
	.enter = roost_intr_quirk_enter,
	.leave = roost_intr_gate_leave,
	.add_worker = roost_intr_quirk_add_worker,
	.del_worker = roost_intr_quirk_del_worker,
	.is_busy = roost_intr_quirk_is_busy,
	.hang_up = roost_intr_quirk_hang_up,
	.link_moves_rings = true,
};
