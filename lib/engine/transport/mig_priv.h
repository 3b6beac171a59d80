/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_MIG_PRIV_H
#define ROOST_ENGINE_TRANSPORT_MIG_PRIV_H

/*
 * Automatic path migration of connected QPs (IBTA 17.2.8); for lib/engine only.
 *
 * A QP has a primary path, which its packets take, and may have an alternate
 * one. doc/protocol.md, "Path migration", has the state machine and the
 * decisions where the specification leaves a choice.
 *
 * Thread: the holder of the turn, for everything here.
 */

#include "lib/engine/transport/qp_priv.h"

/* The path that a packet for a connected QP came by. */
enum roost_mig_from {
	ROOST_FROM_PRIMARY,
	ROOST_FROM_ALTERNATE,
	ROOST_FROM_PAST,     /* the primary path before the last migration */
	ROOST_FROM_STRANGER, /* none of these, or a path that is not taken
			      * now */
};

/* True if the frame came by this path. A loopback path takes looped frames
 * only, never frames from outside.
 */
static inline bool roost_path_fits(const struct roost_path *path,
				   const struct roost_frame *frame)
{
	return roost_gid_eq(&frame->sgid, &path->dgid) &&
	       roost_gid_eq(&frame->dgid, &path->sgid) &&
	       (!path->loopback || frame->looped);
}

/* Packets from the alternate path are taken from REARM on, because the peer may
 * migrate first.
 */
static inline enum roost_mig_from
roost_mig_from(const struct roost_qp *qp, const struct roost_frame *frame)
{
	if (roost_path_fits(&qp->path, frame))
		return ROOST_FROM_PRIMARY;
	if (qp->mig.alt == ROOST_ALT_NONE ||
	    !roost_path_fits(&qp->alt->path, frame))
		return ROOST_FROM_STRANGER;
	if (qp->mig.alt == ROOST_ALT_PAST)
		return ROOST_FROM_PAST;
	return qp->mig.state != ROOST_MIG_MIGRATED ? ROOST_FROM_ALTERNATE
						   : ROOST_FROM_STRANGER;
}

/* The P_Key that packets by that path must match. */
static inline uint16_t roost_mig_pkey(const struct roost_qp *qp,
				      enum roost_mig_from from)
{
	return from == ROOST_FROM_PRIMARY ? qp->pkey : qp->mig.alt_pkey;
}

/* Is it from the QP's peer, of the right partition? For packets whose MigReq
 * bit is not looked at.
 */
static inline enum roost_drop
roost_mig_check_source(const struct roost_qp *qp,
		       const struct roost_frame *frame,
		       const struct roost_pkt *pkt)
{
	enum roost_mig_from from = roost_mig_from(qp, frame);

	if (from == ROOST_FROM_STRANGER)
		return ROOST_DROP_SRC_ADDR;
	if (!roost_pkey_match(roost_mig_pkey(qp, from), pkt->pkey))
		return ROOST_DROP_PKEY;
	return ROOST_DROP_NONE;
}

/* Process the MigReq bit of a packet that passed all address checks, before the
 * packet is executed. Not called in state MIGRATED, where the bit means
 * nothing.
 */
void roost_mig_receive(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_mig_from from, const struct roost_pkt *pkt);
/* Process the MigReq bit of a packet that came by none of the paths; the packet
 * is dropped.
 */
void roost_mig_receive_unknown(struct roost_qp *qp,
			       const struct roost_pkt *pkt);

/* True if the application may request this change. to: the QP's state
 * afterwards.
 */
bool roost_mig_allowed(const struct roost_qp *qp, enum roost_qp_state to,
		       const struct roost_qp_attr *attr, uint32_t mask);
/* Execute a requested change of the migration state, which was checked. */
void roost_mig_request(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_mig_state state);
/* The alternate path and its attributes have been set. */
void roost_mig_loaded(struct roost_qp *qp);
/* alt may be NULL. Not holding the turn. */
void roost_qp_alt_free(struct roost_dev *dev, struct roost_alt_path *alt);
/* The QP is reset or destroyed: no alternate path is loaded. */
void roost_mig_reset(struct roost_qp *qp);

/* The primary path does not answer. Returns true when the QP has migrated; it
 * has all its retries again.
 */
bool roost_mig_fail_over(struct roost_worker *w, struct roost_qp *qp);
/* The port went down: QPs in state ARMED migrate away from it. */
void roost_mig_port_down(struct roost_dev *dev, unsigned int port_index);

#endif
