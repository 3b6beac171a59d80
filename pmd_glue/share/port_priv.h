/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_PORT_PRIV_H
#define ROOST_PMD_GLUE_SHARE_PORT_PRIV_H

/* The state of a shared port, and what its files do. For this room only. */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/engine/core/lease.h"
#include "pmd_glue/backend/backend.h"
#include "pmd_glue/channel/channel.h"
#include "pmd_glue/host/route.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/share/direct.h"
#include "pmd_glue/share/neighs.h"
#include "pmd_glue/share/session.h"

/* A multicast group that the engine has joined. */
struct roost_share_group {
	struct roost_gid gid;
	LIST_ENTRY(roost_share_group) link;
};

/* While the daemon is away; the control thread's. */
struct roost_share_away {
	bool is_away;
	uint64_t since_ns;
	uint64_t try_at_ns; /* the next connection */
	/* It is back, and not all its neighbours are; until then it stands
	 * still, but not after until_ns.
	 */
	bool is_recovering;
	uint64_t until_ns;
};

struct roost_share_port {
	struct roost_backend_port base; /* first member */
	/* Constant from open to free. */
	struct roost_shm_channel *channel;
	uint32_t seat; /* the daemon's, in the channel */
	/* Reserved for the next daemon; ROOST_SHM_NO_SEAT: not yet. */
	uint32_t next_seat;
	struct roost_share_away away;
	struct roost_share_session *session;
	struct roost_share_neighs *neighs;
	struct roost_direct *direct;
	struct roost_share_attached granted;
	const struct roost_share_page *page;
	struct roost_leases leases;
	atomic_flag first_qpns; /* set: the block of ATTACHED is in use */
	/* Set by start; by worker. */
	struct roost_progress *const *progress;
	/* What the engine was told, as checked. Writer: the control thread,
	 * under the lock; other threads read under it.
	 */
	pthread_mutex_t lock;
	struct roost_share_facts facts;
	bool removed;
	LIST_HEAD(, roost_share_group) groups;
	/* The control thread's. */
	struct roost_control_client watch; /* of the session's socket */
	bool is_watching;
	bool must_read;      /* the page has facts that were not applied */
	bool must_join;      /* another daemon does not know our groups */
	uint64_t join_at_ns; /* not before */
	bool join_told;      /* that it has to ask again */
};

/* Fill base.addr_io (addrs.c). */
void roost_share_set_addr_io(struct roost_share_port *p);
/* The addresses as those of an IP host. Thread: any. */
void roost_share_routes(struct roost_share_port *p, struct roost_routes *routes,
			struct roost_gid *link_local);

/* While p->must_join: join all groups again. Returns when to call it again. One
 * that the daemon refuses for good is reported. Thread: the control thread.
 */
uint64_t roost_share_join_again(struct roost_share_port *p, uint64_t now_ns);

/* Fill leases, and base.leases (leases.c). */
void roost_share_set_leases(struct roost_share_port *p);

/* Read the facts of the page to *facts, and replace those that no port can
 * have (facts.c). Returns 0, -EAGAIN.
 */
int roost_share_facts_get(const struct roost_share_page *page,
			  struct roost_share_facts *facts);
/* Apply the facts to the engine's port, as far as they are new. base.dev is
 * set. Thread: the control thread.
 */
void roost_share_facts_apply(struct roost_share_port *p,
			     const struct roost_share_facts *facts);
/* The port is removed for ever, with a line on stderr. Thread: the same. */
void roost_share_port_end(struct roost_share_port *p, const char *why);

#endif
