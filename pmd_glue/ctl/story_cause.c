/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What is wrong with a QP: one sentence, with the object and what to do. */

#include <stdio.h>
#include <string.h>

#include "lib/config/addr.h"
#include "lib/engine/core/why.h"
#include "lib/wire/opcode.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/story.h"

static const char *const whys[ROOST_WHY_COUNT] = {
#define X(NAME, text) [ROOST_WHY_##NAME] = (text),
	ROOST_WHYS(X)
#undef X
};

/* Everything that a cause may need. */
struct look {
	struct roost_story *s;
	const char *device;
	const struct roost_qp_view *qp;
	bool port_up;
	uint64_t now_ns;
	char peer[ROOST_PREFIX_STRLEN + 32]; /* "10.0.0.1 QP 0x11" */
	char opcode[32];                     /* of the error's packet */
};

static const char *why_of(const struct look *l)
{
	return whys[l->qp->error.why]
		       ? whys[l->qp->error.why]
		       : roost_qp_error_infos[l->qp->error.code].text;
}

/* The newest drop that says something; NULL: none. */
static const struct roost_flight_entry *last_drop(const struct look *l)
{
	const struct roost_flight_entry *last = NULL;

	for (unsigned int i = 0; i < ROOST_FLIGHT_EVENTS; i++) {
		const struct roost_flight_entry *e = &l->qp->flight.events[i];

		/* Behind an error everything is. */
		if (e->arg == ROOST_DROP_QP_STATE &&
		    l->qp->state == ROOST_QPS_ERR)
			continue;
		if (e->kind == ROOST_FLIGHT_DROP &&
		    roost_story_drop((enum roost_drop)e->arg) &&
		    (!last || e->at_ns > last->at_ns))
			last = e;
	}
	return last;
}

/* "3 packets for this QP were dropped, the last 0.1 s ago: ..." */
static void blame_drop(const struct look *l, const struct roost_flight_entry *e)
{
	char ago[ROOST_STORY_AGO_MAX];

	roost_story_blame(l->s,
			  "%u packets for this QP were dropped here, the last "
			  "%s: %s",
			  e->count, roost_story_ago(l->now_ns, e->at_ns, ago),
			  roost_story_drop((enum roost_drop)e->arg));
	if (e->arg == ROOST_DROP_PKEY)
		roost_story_blame(l->s, " (P_Key 0x%04x came, 0x%04x is here)",
				  e->value, l->qp->pkey);
	if (e->arg == ROOST_DROP_QKEY)
		roost_story_blame(l->s, " (Q_Key 0x%08x came, 0x%08x is here)",
				  e->value, l->qp->qkey);
	roost_story_blame(l->s, "; counter drops %s",
			  roost_drop_name((enum roost_drop)e->arg));
}

/* The port's MTU became smaller than what both ends agreed on. */
static bool blame_mtu(const struct look *l)
{
	const struct roost_qp_view *qp = l->qp;

	if (qp->type == ROOST_QPT_UD || qp->type == ROOST_QPT_RAW ||
	    qp->port_mtu_bytes == 0 || qp->mtu_bytes <= qp->port_mtu_bytes)
		return false;
	roost_story_blame(l->s,
			  "its path MTU is %u, and port %u of %s now carries "
			  "%u: longer packets are lost; raise the port's MTU, "
			  "or connect again",
			  qp->mtu_bytes, qp->port_num, l->device,
			  qp->port_mtu_bytes);
	return true;
}

/* ---- errors ---------------------------------------------------------------
 */

static void no_answer(const struct look *l)
{
	const struct roost_qp_view *qp = l->qp;
	const struct roost_flight_entry *drop = last_drop(l);

	if (qp->error.why == ROOST_WHY_PORT_DOWN) {
		roost_story_blame(l->s,
				  "port %u of %s was down, so that nothing of "
				  "this QP reached its peer %s in %u tries; "
				  "bring the link up (roost ctl show port)",
				  qp->port_num, l->device, l->peer,
				  qp->retries + 1u);
		return;
	}
	if (blame_mtu(l))
		return;
	roost_story_blame(l->s, "the peer %s did not answer %u %s of %s",
			  l->peer, qp->retries + 1u,
			  qp->retries == 0 ? "try" : "tries", l->opcode);
	if (qp->timeout_ns != 0)
		roost_story_blame(l->s, ", each for %.1f ms",
				  (double)qp->timeout_ns / 1e6);
	roost_story_blame(l->s, "%s; counter timeouts %llu; ",
			  qp->answered ? "" : ", and never did before",
			  (unsigned long long)qp->counters.timeouts);
	if (qp->retries == 0)
		roost_story_blame(l->s, "retry_cnt is 0, so that one lost "
					"packet is enough; ");
	if (drop)
		blame_drop(l, drop);
	else
		roost_story_blame(l->s,
				  "no packet that names this QP was dropped "
				  "here: ask the peer's end (its QP, its port, "
				  "its drops)");
}

/* What a peer may have found in a request that it calls invalid. */
static void blame_invalid(const struct look *l)
{
	const struct roost_qp_error *e = &l->qp->error;
	const enum roost_op op = (enum roost_op)roost_opcodes[e->opcode].op;

	if ((op == ROOST_OP_CMP_SWAP || op == ROOST_OP_FETCH_ADD) &&
	    e->has_memory && e->addr % sizeof(uint64_t) != 0)
		roost_story_blame(l->s,
				  "; the remote address 0x%llx is not a "
				  "multiple of 8, as atomics need it",
				  (unsigned long long)e->addr);
	else if (op == ROOST_OP_SEND)
		roost_story_blame(l->s,
				  "; its receive is too short, or the path MTU "
				  "there is not %u",
				  l->qp->mtu_bytes);
	else if (op == ROOST_OP_WRITE)
		roost_story_blame(l->s,
				  "; the access flags of the QP there do not "
				  "permit it, or the path MTU there is not %u",
				  l->qp->mtu_bytes);
	else
		roost_story_blame(l->s,
				  "; the access flags of the QP there do not "
				  "permit it, or its max_dest_rd_atomic is "
				  "smaller than max_rd_atomic here");
}

static void peer_refused(const struct look *l)
{
	const struct roost_qp_error *e = &l->qp->error;
	char nak[ROOST_STORY_NAK_MAX];

	roost_story_blame(l->s, "the peer %s refused the %s of PSN %u: %s",
			  l->peer, l->opcode, e->psn,
			  roost_story_nak(e->syndrome, nak));
	if (e->code == ROOST_QPE_PEER_ACCESS && e->has_memory)
		roost_story_blame(l->s,
				  "; rkey 0x%08x, %u bytes at 0x%llx: there "
				  "the key is wrong or was revoked, or its "
				  "range or access is another one",
				  e->key, e->len_bytes,
				  (unsigned long long)e->addr);
	else if (e->code == ROOST_QPE_PEER_INVALID)
		blame_invalid(l);
	roost_story_blame(l->s, "; roost explain 0x%x there knows which",
			  l->qp->dest_qpn);
}

static void not_ready(const struct look *l)
{
	roost_story_blame(l->s,
			  "the peer %s had no receive posted for %s of PSN %u: "
			  "it sent an RNR NAK %u times in a row (counter "
			  "rnr_naks_received %llu, rnr_retry %u); post "
			  "receives there before sending",
			  l->peer, l->opcode, l->qp->error.psn,
			  l->qp->rnr_retries + 1u,
			  (unsigned long long)l->qp->counters.rnr_naks_received,
			  l->qp->rnr_retries);
}

/* Of what size the payload was, or where the bytes were to be. */
static void blame_bytes(const struct look *l)
{
	const struct roost_qp_error *e = &l->qp->error;

	if (e->why == ROOST_WHY_PATH_MTU)
		roost_story_blame(l->s,
				  " (%u bytes came, the path MTU here is %u); "
				  "give both QPs the same path MTU",
				  e->payload_bytes, l->qp->mtu_bytes);
	else if (e->has_memory)
		roost_story_blame(l->s, " (key 0x%08x, %u bytes at 0x%llx)",
				  e->key, e->len_bytes,
				  (unsigned long long)e->addr);
}

/* The peer's request was refused here. */
static void refused(const struct look *l)
{
	const struct roost_qp_error *e = &l->qp->error;
	char nak[ROOST_STORY_NAK_MAX];

	roost_story_blame(l->s, "the %s of PSN %u of the peer %s was refused: ",
			  l->opcode, e->psn, l->peer);
	roost_story_blame(l->s, "%s", why_of(l));
	blame_bytes(l);
	if (e->syndrome != 0)
		roost_story_blame(l->s, "; it got a %s",
				  roost_story_nak(e->syndrome, nak));
}

static void own_request(const struct look *l)
{
	const struct roost_qp_error *e = &l->qp->error;

	roost_story_blame(l->s, "%s of PSN %u failed: %s",
			  e->has_packet ? l->opcode : "a local request", e->psn,
			  why_of(l));
	blame_bytes(l);
}

static void overrun(const struct look *l)
{
	const struct roost_qp_view *qp = l->qp;

	if (!qp->send_cq_overrun && !qp->recv_cq_overrun) {
		roost_story_blame(l->s, "%s", why_of(l));
		return;
	}
	roost_story_blame(l->s,
			  "CQ %u, of its %s, was full when a completion was "
			  "added (CQ overrun); make it larger than what is "
			  "posted, or poll it more often (roost ctl show cq)",
			  qp->send_cq_overrun ? qp->send_cq : qp->recv_cq,
			  qp->send_cq_overrun && qp->recv_cq_overrun
				  ? "sends and receives"
			  : qp->send_cq_overrun ? "sends"
						: "receives");
}

static void blame_error(const struct look *l)
{
	const struct roost_qp_error_info *info =
		&roost_qp_error_infos[l->qp->error.code];

	switch (l->qp->error.code) {
	case ROOST_QPE_NO_ANSWER:
	case ROOST_QPE_NO_ALTERNATE:
		no_answer(l);
		return;
	case ROOST_QPE_PEER_NOT_READY:
		not_ready(l);
		return;
	case ROOST_QPE_CQ_OVERRUN:
		overrun(l);
		return;
	default:
		break;
	}
	if (info->found_by == ROOST_FOUND_BY_PEER)
		peer_refused(l);
	else if (info->found_by == ROOST_FOUND_BY_RESPONDER)
		refused(l);
	else if (info->found_by == ROOST_FOUND_BY_REQUESTER)
		own_request(l);
	else
		roost_story_blame(l->s, "%s", info->text);
}

/* ---- QPs that live --------------------------------------------------------
 */

/* Requests came, again and again, and none was the first one. */
static bool expects_others(const struct roost_qp_view *qp)
{
	return !qp->executed &&
	       qp->counters.duplicates + qp->counters.out_of_order > 1;
}

static void blame_trouble(const struct look *l)
{
	const struct roost_qp_view *qp = l->qp;
	const struct roost_flight_entry *drop = last_drop(l);

	if (!l->port_up && qp->state != ROOST_QPS_RESET)
		roost_story_blame(l->s,
				  "port %u of %s is down; bring the link up "
				  "(roost ctl show port)",
				  qp->port_num, l->device);
	else if (blame_mtu(l))
		return;
	else if (qp->waits_rnr)
		roost_story_blame(l->s,
				  "the peer %s has no receive posted (counter "
				  "rnr_naks_received %llu)",
				  l->peer,
				  (unsigned long long)
					  qp->counters.rnr_naks_received);
	else if (drop)
		blame_drop(l, drop);
	else if (expects_others(qp))
		roost_story_blame(
			l->s,
			"no packet of the peer %s had the PSN that "
			"is expected, %u: %llu had earlier ones, or "
			"came again (counter duplicate_requests), "
			"%llu later ones (counter out_of_order_requests); "
			"rq_psn here is to be sq_psn there",
			l->peer, qp->expected_psn,
			(unsigned long long)qp->counters.duplicates,
			(unsigned long long)qp->counters.out_of_order);
	else if (qp->retries_left < qp->retries && qp->sends_posted != 0)
		roost_story_blame(l->s,
				  "the peer %s does not answer (counter "
				  "timeouts %llu)",
				  l->peer,
				  (unsigned long long)qp->counters.timeouts);
	else if (qp->counters.rnr_naks_sent != 0 && qp->recvs_posted == 0 &&
		 qp->srq == 0)
		roost_story_blame(l->s,
				  "no receive is posted, and the peer %s sends "
				  "(counter rnr_naks_sent %llu)",
				  l->peer,
				  (unsigned long long)
					  qp->counters.rnr_naks_sent);
}

void roost_story_qp_cause(struct roost_story *s, const char *device,
			  const struct roost_qp_view *qp, bool port_up,
			  uint64_t now_ns)
{
	struct look l = {
		.s = s,
		.device = device,
		.qp = qp,
		.port_up = port_up,
		.now_ns = now_ns,
	};
	char addr[ROOST_PREFIX_STRLEN] = "?";

	s->cause[0] = '\0';
	if (!roost_gid_is_zero(&qp->dgid))
		roost_addr_format(&qp->dgid, addr);
	snprintf(l.peer, sizeof(l.peer), "%s QP 0x%x", addr, qp->dest_qpn);
	roost_opcode_text(qp->error.opcode, l.opcode, sizeof(l.opcode));
	if (qp->state == ROOST_QPS_ERR || qp->state == ROOST_QPS_SQE)
		blame_error(&l);
	else
		blame_trouble(&l);
}
