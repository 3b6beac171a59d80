/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* roost_mig_receive() is hot while a QP is armed: no allocation, system call
 * (but for an event), log or lock.
 */

#include <stdlib.h>

#include "lib/engine/transport/mig_priv.h"
#include "lib/engine/transport/req_priv.h"
#include "lib/engine/transport/share_priv.h"
#include "lib/engine/sched/sched.h"

/* Migration states that the application may request, by the present state; it
 * cannot set ARMED.
 */
static const bool may_ask[ROOST_MIG_COUNT][ROOST_MIG_COUNT] = {
	[ROOST_MIG_MIGRATED] = {
		[ROOST_MIG_MIGRATED] = true,
		[ROOST_MIG_REARM] = true,
	},
	[ROOST_MIG_REARM] = {
		[ROOST_MIG_REARM] = true,
	},
	[ROOST_MIG_ARMED] = {
		[ROOST_MIG_MIGRATED] = true,
		[ROOST_MIG_REARM] = true,
	},
};

static void set_state(struct roost_qp *qp, enum roost_mig_state state)
{
	bool armed = qp->mig.state == ROOST_MIG_ARMED;

	if (armed && state != ROOST_MIG_ARMED)
		LIST_REMOVE(qp, armed_link);
	if (!armed && state == ROOST_MIG_ARMED)
		LIST_INSERT_HEAD(&qp->worker->armed_qps, qp, armed_link);
	qp->mig.state = (uint8_t)state;
}

/* Wait until the peer says that it is ready, as if it had never said so. */
static void rearm(struct roost_qp *qp)
{
	set_state(qp, ROOST_MIG_REARM);
	qp->mig.refused = false;
}

static bool is_usable(const struct roost_qp *qp, const struct roost_path *path)
{
	return path->loopback ||
	       qp->dev->ports[path->port_index].state == ROOST_PORT_ACTIVE;
}

/* ---- the migration ---------------------------------------------------- */

/* The alternate path becomes the primary one; there is no alternate then. */
static void switch_paths(struct roost_qp *qp)
{
	struct roost_path past = qp->path;
	uint16_t past_pkey = qp->pkey;
	struct roost_qp_kept *attr = &qp->attr;

	set_state(qp, ROOST_MIG_MIGRATED);
	roost_share_leave(qp->worker, qp);
	qp->path = qp->alt->path;
	qp->alt->path = past;
	qp->pkey = qp->mig.alt_pkey;
	qp->mig.alt_pkey = past_pkey;
	qp->mig.alt = ROOST_ALT_PAST;
	attr->av = qp->alt->av;
	attr->port_num = attr->alt_port_num;
	attr->pkey_index = attr->alt_pkey_index;
	attr->timeout = attr->alt_timeout;
	attr->alt_port_num = 0;
	attr->alt_pkey_index = 0;
	attr->alt_timeout = 0;
	qp->req.timeout_ns = roost_req_timeout_ns(attr->timeout);
	roost_share_rejoin(qp->worker, qp);
}

/* Send a packet with MigReq set, so that the peer follows at once, even if this
 * QP has no requests: the last acknowledgement, again.
 */
static void tell_peer(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->type != ROOST_QPT_RC && qp->type != ROOST_QPT_XRC_TGT)
		return;
	roost_ack_owe(w, qp, ROOST_AETH_ACK | ROOST_AETH_CREDIT_INVALID,
		      roost_psn_sub(qp->resp.expected_psn, 1));
}

static void migrate(struct roost_worker *w, struct roost_qp *qp)
{
	switch_paths(qp);
	roost_flight_note(qp, ROOST_FLIGHT_MIGRATED,
			  (uint8_t)(qp->path.port_index + 1), 0);
	roost_async_raise(w, &qp->async, ROOST_EVENT_PATH_MIG);
	tell_peer(w, qp);
	qp->req.retry_left = qp->attr.retry_cnt;
	if (roost_qp_is_reliable(qp))
		roost_req_arm_timer(w, qp);
}

/* Packets in flight on the old path may be lost: retransmit them. */
static void send_again(struct roost_worker *w, struct roost_qp *qp)
{
	if (!roost_qp_is_reliable(qp) || qp->req.rnr_wait ||
	    !roost_req_has_unacked(qp))
		return;
	qp->req.response_gap = false;
	roost_req_go_back(w, qp, qp->req.oldest_unacked_psn);
}

/* ---- packets of the peer ---------------------------------------------- */

/* True if the packet is the next one of its flow. A delayed or duplicated
 * packet describes an earlier state of the peer.
 */
static bool is_in_sequence(const struct roost_qp *qp,
			   const struct roost_pkt *pkt)
{
	const struct roost_requester *req = &qp->req;
	int32_t ahead = roost_psn_diff(pkt->psn, qp->resp.expected_psn);

	if (!(pkt->info->flags & ROOST_OPF_REQUEST))
		return roost_psn_diff(pkt->psn, req->oldest_unacked_psn) >= 0 &&
		       roost_psn_diff(pkt->psn, req->end_psn) < 0;
	return roost_qp_is_reliable(qp) ? ahead == 0 : ahead >= 0;
}

/* True if both paths have the same addresses, and differ in the route only. */
static bool is_same_place(const struct roost_qp *qp)
{
	return roost_gid_eq(&qp->path.sgid, &qp->alt->path.sgid) &&
	       roost_gid_eq(&qp->path.dgid, &qp->alt->path.dgid);
}

void roost_mig_receive(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_mig_from from, const struct roost_pkt *pkt)
{
	bool follow;

	if (from == ROOST_FROM_ALTERNATE)
		/* The peer uses this QP's alternate path, so it knows that this
		 * QP is ready, although the packet that said that the peer is
		 * ready may have been lost.
		 */
		follow = pkt->migreq;
	else if (!is_in_sequence(qp, pkt))
		follow = false;
	else if (pkt->migreq)
		/* Otherwise a late packet, from before the peer was ready. */
		follow = qp->mig.state == ROOST_MIG_ARMED && is_same_place(qp);
	else {
		set_state(qp, ROOST_MIG_ARMED);
		return;
	}
	if (!follow)
		return;
	migrate(w, qp);
	send_again(w, qp);
}

static void refuse(struct roost_qp *qp)
{
	if (!qp->mig.refused)
		roost_async_raise(qp->worker, &qp->async,
				  ROOST_EVENT_PATH_MIG_ERR);
	roost_flight_note(qp, ROOST_FLIGHT_MIG_REFUSED, 0, 0);
	qp->mig.refused = true;
}

void roost_mig_receive_unknown(struct roost_qp *qp, const struct roost_pkt *pkt)
{
	int32_t ahead = roost_psn_diff(pkt->psn, qp->resp.expected_psn);

	if (qp->mig.state != ROOST_MIG_ARMED || !pkt->migreq)
		return;
	/* A guess at the QPN alone raises no event. */
	if (pkt->info->flags & ROOST_OPF_REQUEST
		    ? ahead >= -ROOST_CWND_MAX_PKTS &&
			      ahead <= ROOST_CWND_MAX_PKTS
		    : is_in_sequence(qp, pkt))
		refuse(qp);
}

/* ---- requests of the application -------------------------------------- */

bool roost_mig_allowed(const struct roost_qp *qp, enum roost_qp_state to,
		       const struct roost_qp_attr *attr, uint32_t mask)
{
	bool loaded =
		mask & ROOST_QP_ALT_PATH || qp->mig.alt == ROOST_ALT_LOADED;

	if (!(mask & ROOST_QP_PATH_MIG_STATE))
		return true;
	if ((unsigned int)attr->path_mig_state >= ROOST_MIG_COUNT ||
	    !may_ask[qp->mig.state][attr->path_mig_state])
		return false;
	if (attr->path_mig_state == ROOST_MIG_REARM)
		return loaded;
	return qp->mig.state == ROOST_MIG_MIGRATED ||
	       (roost_qp_state_get(qp) == ROOST_QPS_RTS && to == ROOST_QPS_RTS);
}

void roost_mig_request(struct roost_worker *w, struct roost_qp *qp,
		       enum roost_mig_state state)
{
	if (state == ROOST_MIG_REARM) {
		rearm(qp);
	} else if (qp->mig.state == ROOST_MIG_ARMED) {
		migrate(w, qp);
		send_again(w, qp);
	}
}

void roost_mig_loaded(struct roost_qp *qp)
{
	const struct roost_port *port =
		&qp->dev->ports[qp->alt->path.port_index];

	qp->mig.alt = ROOST_ALT_LOADED;
	qp->mig.alt_pkey = port->pkeys[qp->attr.alt_pkey_index];
}

void roost_qp_alt_free(struct roost_dev *dev, struct roost_alt_path *alt)
{
	if (alt)
		roost_path_release(dev, &alt->path);
	free(alt);
}

void roost_mig_reset(struct roost_qp *qp)
{
	set_state(qp, ROOST_MIG_MIGRATED);
	qp->mig.alt = ROOST_ALT_NONE;
}

/* ---- failures --------------------------------------------------------- */

bool roost_mig_fail_over(struct roost_worker *w, struct roost_qp *qp)
{
	if (qp->mig.state != ROOST_MIG_ARMED)
		return false;
	if (!is_usable(qp, &qp->alt->path)) {
		refuse(qp);
		return false;
	}
	migrate(w, qp);
	return true;
}

static void leave_port(struct roost_worker *w, unsigned int port_index)
{
	struct roost_qp *qp, *next;

	for (qp = LIST_FIRST(&w->armed_qps); qp != NULL; qp = next) {
		next = LIST_NEXT(qp, armed_link);
		if (qp->path.port_index != port_index || qp->path.loopback ||
		    roost_qp_state_get(qp) == ROOST_QPS_ERR ||
		    !is_usable(qp, &qp->alt->path))
			continue;
		migrate(w, qp);
		send_again(w, qp);
	}
}

void roost_mig_port_down(struct roost_dev *dev, unsigned int port_index)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		leave_port(dev->workers[i], port_index);
}
