/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_NEIGHS_H
#define ROOST_PMD_GLUE_SHARE_NEIGHS_H

/*
 * The neighbours of a client. The daemon has them in its page; the client has a
 * copy of each that it uses, at which the paths of the engine point, so that
 * they outlive the daemon. A copy follows the page with each call of
 * roost_share_neighs_run(): the daemon says when it has changed one.
 *
 * The client remembers which entry leads to a destination, so that a thousand
 * QPs to one peer are one RESOLVE, and counts the references of the engine to
 * each entry. An entry that nobody has used for a while goes back to the
 * daemon, with a PUT for each RESOLVE. Another daemon is asked again for all
 * entries that are in use, and meanwhile they are as they were.
 *
 * Thread: any, where nothing else is said.
 */

#include <stdint.h>

#include <roost/gid.h>
#include "pmd_glue/share/page.h"
#include "pmd_glue/share/session.h"

struct roost_share_neighs;

/* An entry without a reference is kept for so long. */
#define ROOST_SHARE_IDLE_NS 1000000000u
/* Asked neighbours are looked at so often. */
#define ROOST_SHARE_LOOK_NS 5000000u

/* session and page outlive it. Returns 0, -ENOMEM. */
int roost_share_neighs_create(struct roost_share_session *session,
			      const struct roost_share_page *page,
			      struct roost_share_neighs **neighs);
/* All references were put. NULL: nothing. */
void roost_share_neighs_destroy(struct roost_share_neighs *neighs);

/*
 * As resolve, ask and meet of struct roost_addr_io. from_mac NULL: none. asks:
 * do not wait for the network.
 */
int roost_share_neighs_resolve(struct roost_share_neighs *neighs,
			       const struct roost_gid *sgid,
			       const struct roost_gid *dgid,
			       const uint8_t *from_mac, bool asks,
			       struct roost_neigh **neigh);
int roost_share_neighs_meet(struct roost_share_neighs *neighs,
			    const struct roost_gid *sgid,
			    const struct roost_gid *dgid);

/* Drop a reference. Does not wait. */
void roost_share_neighs_put(struct roost_share_neighs *neighs,
			    struct roost_neigh *neigh);

/* Routes may have changed: entries stay with those who refer to them, and the
 * next resolve asks the daemon.
 */
void roost_share_neighs_forget(struct roost_share_neighs *neighs);

/* Another daemon, with another page: the one before is not used any more.
 * Before its session resumes. Thread: the control thread.
 */
void roost_share_neighs_restart(struct roost_share_neighs *neighs,
				const struct roost_share_page *page);

/*
 * Follow the page, give back idle entries, ask again. Returns the time in ns of
 * the next call; UINT64_MAX: none. *answered: a neighbour that was asked has
 * answered since the last call. Thread: the control thread.
 */
uint64_t roost_share_neighs_run(struct roost_share_neighs *neighs,
				uint64_t now_ns, bool *answered);

#endif
