/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_VHOST_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_VHOST_GATE_H

/*
 * The vhost gate: a thread of librte_vhost tells net_vhost that a peer has
 * left, and net_vhost looks at its rings no more. What the peer sent before it
 * left lies there still, its last acknowledgement among it, for which the other
 * end of the connection would wait in vain. So the news passes here first, and
 * what is in the rings is taken in.
 *
 * librte_vhost accepts and connects through it, too, on threads of its own: who
 * is not to be believed (pmd_glue/process/peer_trust.h) is hung up on before a
 * message of his is read. A client that finds such a server looks again, as for
 * one that is not there. Sockets of an application's own vhost are left alone.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found for what lies in the rings.
 * Goes when: net_vhost empties its rings before it leaves a peer. Ports that
 * may have any peer need to accept and connect through it still.
 */

#include <sys/queue.h>

struct roost_peer_trust;
struct roost_worker;

/* One port. */
struct roost_vhost {
	char path[108];              /* of its socket */
	struct roost_worker *worker; /* NULL: none yet, or no longer */
	struct roost_peer_trust *trust;
	LIST_ENTRY(roost_vhost) link;
};

/*
 * Put the gate before the driver, which EAL has loaded; before the first such
 * port is configured. Returns 0; -ENOENT (it is not loaded), -EACCES.
 */
int roost_vhost_gate_put(void);

/* Thread: the control thread. */
void roost_vhost_open(struct roost_vhost *vhost, const char *path,
		      struct roost_peer_trust *trust);
/* Who takes in what is left; NULL: nobody. Waits for one who does. */
void roost_vhost_set_worker(struct roost_vhost *vhost,
			    struct roost_worker *worker);
void roost_vhost_close(struct roost_vhost *vhost);

#endif
