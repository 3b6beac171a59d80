/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a QP went through. */

#include <inttypes.h>
#include <stdio.h>

#include "lib/config/addr.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/story.h"

static void say_who(struct roost_story *s, const char *device,
		    const struct roost_qp_view *qp)
{
	char to[ROOST_PREFIX_STRLEN] = "";

	if (qp->port_num == 0) {
		roost_story_say(s, "QP 0x%x of %s: %s, in %s, without a port.",
				qp->qpn, device, roost_qp_type_text(qp->type),
				roost_qp_state_text(qp->state));
		return;
	}
	if (!roost_gid_is_zero(&qp->dgid))
		roost_addr_format(&qp->dgid, to);
	if (to[0])
		roost_story_say(s,
				"QP 0x%x of %s: %s, in %s, port %u, P_Key "
				"0x%04x, path MTU %u; its peer is QP 0x%x at "
				"%s.",
				qp->qpn, device, roost_qp_type_text(qp->type),
				roost_qp_state_text(qp->state), qp->port_num,
				qp->pkey, qp->mtu_bytes, qp->dest_qpn, to);
	else
		roost_story_say(s,
				"QP 0x%x of %s: %s, in %s, port %u, P_Key "
				"0x%04x, path MTU %u.",
				qp->qpn, device, roost_qp_type_text(qp->type),
				roost_qp_state_text(qp->state), qp->port_num,
				qp->pkey, qp->mtu_bytes);
}

/* ---- events ---------------------------------------------------------------
 */

/* "PSN 5" or what else the value of an event is. */
static void format_event(const struct roost_flight_entry *e, char *text,
			 size_t size)
{
	char nak[ROOST_STORY_NAK_MAX];

	switch ((enum roost_flight_kind)e->kind) {
	case ROOST_FLIGHT_STATE:
		snprintf(text, size, "%s, %s%s",
			 roost_qp_state_text((enum roost_qp_state)e->arg),
			 e->value == ROOST_QPE_MODIFIED ? "by the program"
							: "by itself: ",
			 e->value == ROOST_QPE_MODIFIED
				 ? ""
				 : roost_qp_error_infos[e->value].name);
		return;
	case ROOST_FLIGHT_NAK_SENT:
	case ROOST_FLIGHT_NAK_RECEIVED:
		snprintf(text, size, "%s %s, PSN %u",
			 roost_story_nak(e->arg, nak),
			 e->kind == ROOST_FLIGHT_NAK_SENT ? "sent" : "received",
			 e->value);
		return;
	case ROOST_FLIGHT_TIMEOUT:
		snprintf(text, size, "local ACK timeout, PSN %u", e->value);
		return;
	case ROOST_FLIGHT_PROBE:
		snprintf(text, size, "sent again early, PSN %u", e->value);
		return;
	case ROOST_FLIGHT_RESPONSE_GAP:
		snprintf(text, size, "a response was missing, PSN %u",
			 e->value);
		return;
	case ROOST_FLIGHT_PORT_DOWN:
		snprintf(text, size, "port %u was down at a timeout", e->arg);
		return;
	case ROOST_FLIGHT_MIGRATED:
		snprintf(text, size, "migrated to the alternate path, port %u",
			 e->arg);
		return;
	case ROOST_FLIGHT_MIG_REFUSED:
		snprintf(text, size, "could not migrate (PATH_MIG_ERR)");
		return;
	case ROOST_FLIGHT_CNP_SENT:
		snprintf(text, size, "CNP sent");
		return;
	case ROOST_FLIGHT_CNP_HANDLED:
		snprintf(text, size, "CNP received, slower");
		return;
	case ROOST_FLIGHT_DROP:
		snprintf(text, size, "packet dropped: %s, %s 0x%x",
			 roost_drop_name((enum roost_drop)e->arg),
			 e->arg == ROOST_DROP_PKEY   ? "P_Key"
			 : e->arg == ROOST_DROP_QKEY ? "Q_Key"
						     : "PSN",
			 e->value);
		return;
	case ROOST_FLIGHT_NONE:
	case ROOST_FLIGHT_KINDS:
		break;
	}
	snprintf(text, size, "?");
}

#define ALL (ROOST_FLIGHT_STATES + ROOST_FLIGHT_EVENTS)

static void say_events(struct roost_story *s, const struct roost_flight *flight,
		       uint64_t now_ns)
{
	struct roost_flight_entry all[ALL], sorted[ALL];
	char text[128], ago[ROOST_STORY_AGO_MAX], times[32];
	unsigned int nb;

	/* Of one time, the event led to the state. */
	for (unsigned int i = 0; i < ROOST_FLIGHT_EVENTS; i++)
		all[i] = flight->events[i];
	for (unsigned int i = 0; i < ROOST_FLIGHT_STATES; i++)
		all[ROOST_FLIGHT_EVENTS + i] = flight->states[i];
	nb = roost_flight_sort(all, ALL, sorted);
	for (unsigned int i = 0; i < nb; i++) {
		format_event(&sorted[i], text, sizeof(text));
		times[0] = '\0';
		if (sorted[i].count > 1)
			snprintf(times, sizeof(times), "; %u times so far",
				 sorted[i].count);
		roost_story_say(s, "%s: %s%s.",
				roost_story_ago(now_ns, sorted[i].at_ns, ago),
				text, times);
	}
}

static void say_last_nak(struct roost_story *s,
			 const struct roost_flight *flight,
			 enum roost_flight_kind kind, uint64_t now_ns)
{
	const struct roost_flight_entry *last = NULL;
	char nak[ROOST_STORY_NAK_MAX], ago[ROOST_STORY_AGO_MAX];

	for (unsigned int i = 0; i < ROOST_FLIGHT_EVENTS; i++)
		if (flight->events[i].kind == kind &&
		    (!last || flight->events[i].at_ns > last->at_ns))
			last = &flight->events[i];
	if (last)
		roost_story_say(s,
				"The last NAK that it %s: %s for PSN %u, %s.",
				kind == ROOST_FLIGHT_NAK_SENT ? "sent"
							      : "received",
				roost_story_nak(last->arg, nak), last->value,
				roost_story_ago(now_ns, last->at_ns, ago));
}

/* ---- the present ----------------------------------------------------------
 */

static void say_retries(struct roost_story *s, const struct roost_qp_view *qp)
{
	if (qp->type != ROOST_QPT_RC && qp->type != ROOST_QPT_XRC_INI)
		return;
	if (qp->rnr_retries == 7)
		roost_story_say(s,
				"Retries left: %u of %u; RNR retries "
				"without end.",
				qp->retries_left, qp->retries);
	else
		roost_story_say(s,
				"Retries left: %u of %u; RNR retries left: "
				"%u of %u.",
				qp->retries_left, qp->retries,
				qp->rnr_retries_left, qp->rnr_retries);
}

static void say_waits(struct roost_story *s, const struct roost_qp_view *qp)
{
	bool sends = qp->state == ROOST_QPS_RTS || qp->state == ROOST_QPS_SQD;

	if (qp->async.finishing)
		roost_story_say(s,
				"Its destroy waits for ibv_ack_async_event "
				"of %" PRIu64 " events.",
				qp->async.unacked);
	if (sends && qp->waits_rnr)
		roost_story_say(s,
				"It waits for the end of the peer's RNR "
				"timer, to send PSN %u again.",
				qp->next_psn);
	else if (sends && qp->share_waits)
		roost_story_say(s,
				"It waits for its turn: %u QPs have a window "
				"of %u packets together, for requests to this "
				"peer or for answers to READs, and %u are in "
				"flight; %u sends are not complete.",
				qp->share_qps, qp->share_cwnd_pkts,
				qp->share_flight_pkts, qp->sends_posted);
	else if (sends && qp->oldest_unacked_psn != qp->next_psn)
		roost_story_say(s,
				"It waits for the acknowledgement of PSN "
				"%u; it has sent up to PSN %u, and %u sends "
				"are not complete.",
				qp->oldest_unacked_psn,
				(qp->next_psn - 1) & 0xffffff,
				qp->sends_posted);
	else if (sends && qp->sends_posted != 0)
		roost_story_say(s, "%u sends are posted and not sent yet%s.",
				qp->sends_posted,
				qp->cc_rate_kbps ? " (its rate is limited)"
						 : "");
	else if (sends)
		roost_story_say(s, "It has nothing to send; it waits for the "
				   "program, or for its peer.");
	if (qp->state == ROOST_QPS_INIT)
		roost_story_say(s, "It waits for the program, to move it to "
				   "RTR.");
	if (sends || qp->state == ROOST_QPS_RTR)
		roost_story_say(s,
				"It expects PSN %u of its peer; %u receives "
				"are posted%s.",
				qp->expected_psn, qp->recvs_posted,
				qp->srq ? ", and an SRQ" : "");
}

static void say_counters(struct roost_story *s, const struct roost_qp_view *qp)
{
	const struct roost_qp_counters *c = &qp->counters;

	roost_story_say(s,
			"Counters: timeouts %" PRIu64 ", retransmits %" PRIu64
			", missing_responses %" PRIu64
			", rnr_naks_sent %" PRIu64
			", rnr_naks_received %" PRIu64
			", duplicate_requests %" PRIu64
			", out_of_order_requests %" PRIu64 ".",
			c->timeouts, c->retransmits, c->missing_responses,
			c->rnr_naks_sent, c->rnr_naks_received, c->duplicates,
			c->out_of_order);
}

void roost_story_qp(struct roost_story *s, const char *device,
		    const struct roost_qp_view *qp, bool port_up,
		    uint64_t now_ns)
{
	s->nb = 0;
	roost_story_qp_cause(s, device, qp, port_up, now_ns);
	say_who(s, device, qp);
	say_events(s, &qp->flight, now_ns);
	say_last_nak(s, &qp->flight, ROOST_FLIGHT_NAK_SENT, now_ns);
	say_last_nak(s, &qp->flight, ROOST_FLIGHT_NAK_RECEIVED, now_ns);
	say_retries(s, qp);
	say_waits(s, qp);
	say_counters(s, qp);
}
