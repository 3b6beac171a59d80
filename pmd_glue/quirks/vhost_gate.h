/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_VHOST_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_VHOST_GATE_H

/*
 * The vhost gate. When a peer leaves, a thread of librte_vhost tells net_vhost,
 * which then stops to read its rings. Frames that the peer sent before it left
 * are still in the rings, with its last acknowledgements; without these, QPs of
 * this process would time out. So the gate gets the event first, and has a
 * worker receive all frames in the rings.
 *
 * librte_vhost also accepts and connects through the gate, on its own threads.
 * The gate closes the connection of an untrusted peer
 * (pmd_glue/process/peer_trust.h) before a message from it is read. A client
 * that meets an untrusted server tries again later, as if there were no server.
 * Sockets of the application's own vhost ports are not changed.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found for the frames in the rings.
 * Goes when: net_vhost empties its rings when a peer leaves. The check of peers
 * in accept and connect is needed even then.
 */

#include <sys/queue.h>

struct roost_peer_trust;
struct roost_worker;

/* One port. */
struct roost_vhost {
	char path[108];              /* its socket */
	struct roost_worker *worker; /* empties the rings; NULL: none */
	struct roost_peer_trust *trust;
	LIST_ENTRY(roost_vhost) link;
};

#endif
