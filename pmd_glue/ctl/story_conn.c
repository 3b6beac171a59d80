/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a connection, or a listener, went through. */

#include <inttypes.h>
#include <stdio.h>

#include "lib/config/addr.h"
#include "lib/engine/core/conn_view.h"
#include "pmd_glue/ctl/story.h"

/* A program that has not answered a request for so long may have forgotten it.
 */
#define FORGOTTEN_NS 1000000000u

#define SERVICE_MAX 40u

static const char *service_text(const struct roost_conn_service *service,
				char text[SERVICE_MAX])
{
	if (service->port_space)
		snprintf(text, SERVICE_MAX, "%s port %u", service->port_space,
			 service->port);
	else
		snprintf(text, SERVICE_MAX, "service 0x%" PRIx64, service->id);
	return text;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double since(uint64_t now_ns, uint64_t at_ns)
{
	return now_ns > at_ns ? seconds(now_ns - at_ns) : 0;
}

static const char *peer_text(const struct roost_conn_view *conn,
			     char text[ROOST_PREFIX_STRLEN])
{
	if (conn->port_num == 0)
		snprintf(text, ROOST_PREFIX_STRLEN, "?");
	else
		roost_addr_format(&conn->dgid, text);
	return text;
}

/* ---- a connection ---------------------------------------------------------
 */

static void say_who(struct roost_story *s, const char *device,
		    const struct roost_conn_view *conn)
{
	char to[ROOST_PREFIX_STRLEN], from[ROOST_PREFIX_STRLEN];
	char service[SERVICE_MAX], id[24] = "";

	if (conn->remote_id != 0)
		snprintf(id, sizeof(id), ", CM id 0x%x", conn->remote_id);
	if (conn->port_num == 0) {
		roost_story_say(s, "CM id 0x%x of %s: in %s, without a path.",
				conn->id, device, conn->state);
		return;
	}
	roost_story_say(s,
			"CM id 0x%x of %s: in %s, %s side of a connection "
			"with %s, from %s on port %u; its peer is %s%s.",
			conn->id, device, conn->state,
			conn->passive ? "passive" : "active",
			service_text(&conn->service, service),
			roost_addr_format(&conn->sgid, from), conn->port_num,
			peer_text(conn, to), id);
	if (conn->qpn == 0)
		return;
	if (conn->remote_qpn != 0)
		roost_story_say(s,
				"Its QP is 0x%x, that of its peer 0x%x; roost "
				"explain 0x%x says how it is.",
				conn->qpn, conn->remote_qpn, conn->qpn);
	else
		roost_story_say(s,
				"Its QP is 0x%x; roost explain 0x%x says how "
				"it is.",
				conn->qpn, conn->qpn);
}

#define CODE_MAX 96u

/* ", reason 28 (...)"; empty: the step has none. */
static const char *code_text(const struct roost_conn_step *step,
			     char text[CODE_MAX])
{
	text[0] = '\0';
	if (step->kind == ROOST_CONN_REFUSED ||
	    step->kind == ROOST_CONN_REFUSED_HERE)
		snprintf(text, CODE_MAX, ", reason %u%s%s%s", step->code,
			 step->code_text ? " (" : "",
			 step->code_text ? step->code_text : "",
			 step->code_text ? ")" : "");
	else if (step->kind == ROOST_CONN_UNANSWERED)
		snprintf(text, CODE_MAX, " to the %s", step->code_text);
	return text;
}

static void say_steps(struct roost_story *s, const struct roost_conn_view *conn,
		      uint64_t now_ns)
{
	char ago[ROOST_STORY_AGO_MAX], code[CODE_MAX], times[32];

	for (unsigned int i = 0; i < conn->nb_steps; i++) {
		const struct roost_conn_step *step = &conn->steps[i];

		times[0] = '\0';
		if (step->count > 1)
			snprintf(times, sizeof(times), "; %u times in a row",
				 step->count);
		roost_story_say(s, "%s: %s%s; then in %s%s.",
				roost_story_ago(now_ns, step->at_ns, ago),
				step->what, code_text(step, code), step->state,
				times);
	}
}

static void say_waits(struct roost_story *s, const struct roost_conn_view *conn,
		      uint64_t now_ns)
{
	const bool timed = conn->deadline_ns > now_ns;
	char left[48] = "";

	if (conn->phase == ROOST_CONN_ESTABLISHED && conn->since_ns != 0)
		roost_story_say(s, "It has been established for %.3f s.",
				since(now_ns, conn->since_ns));
	if (conn->repeats)
		roost_story_say(s,
				"The %s was sent again %u of %u times, every "
				"%.3f s.",
				conn->message, conn->resent, conn->resent_max,
				seconds(conn->retry_ns));
	if (timed)
		snprintf(left, sizeof(left), ", for another %.3f s",
			 seconds(conn->deadline_ns - now_ns));
	if (conn->waits_for)
		roost_story_say(s, "It waits for %s%s%s.", conn->waits_for,
				left,
				!timed || !conn->repeats ? ""
				: conn->resent < conn->resent_max
					? "; then it sends again"
					: "; then it gives up");
	else if (conn->phase == ROOST_CONN_IDLE)
		roost_story_say(s, "It waits for nothing.");
	if (!conn->owned)
		roost_story_say(s, "Its program has destroyed it.");
}

/* The peer does not answer: its message is out. */
static void blame_silence(struct roost_story *s,
			  const struct roost_conn_view *conn)
{
	char to[ROOST_PREFIX_STRLEN], service[SERVICE_MAX];

	peer_text(conn, to);
	if (conn->unsent)
		roost_story_blame(s,
				  "the %s has not left: the MAC address of the "
				  "next hop to %s is not known; is it up?",
				  conn->message, to);
	else if (conn->resent > 0)
		roost_story_blame(s,
				  "%s does not answer the %s, which was sent "
				  "again %u of %u times (%s, counter "
				  "retries_%s %" PRIu64 "); is a program there "
				  "that answers, and does UDP port 4791 pass? "
				  "See roost doctor %s",
				  to, conn->message, conn->resent,
				  conn->resent_max,
				  service_text(&conn->service, service),
				  conn->message, conn->retries_of_device, to);
}

/* How it ended: the last step that says so. */
static void blame_end(struct roost_story *s, const struct roost_conn_view *conn,
		      uint64_t now_ns)
{
	char to[ROOST_PREFIX_STRLEN], ago[ROOST_STORY_AGO_MAX], code[CODE_MAX];
	const struct roost_conn_step *end = NULL;

	for (unsigned int i = 0; i < conn->nb_steps; i++)
		if (conn->steps[i].kind != ROOST_CONN_STEP)
			end = &conn->steps[i];
	if (!end)
		return;
	peer_text(conn, to);
	roost_story_ago(now_ns, end->at_ns, ago);
	if (end->kind == ROOST_CONN_REFUSED)
		roost_story_blame(s, "%s refused the connection%s, %s", to,
				  code_text(end, code), ago);
	else if (end->kind == ROOST_CONN_REFUSED_HERE)
		roost_story_blame(s, "the program here refused it%s, %s",
				  code_text(end, code), ago);
	else if (end->kind == ROOST_CONN_UNANSWERED)
		roost_story_blame(s,
				  "%s did not answer the %s, sent again %u "
				  "times; given up %s. See roost doctor %s",
				  to, end->code_text, conn->resent_max, ago,
				  to);
	else
		roost_story_blame(s, "%s, %s", end->what, ago);
}

void roost_story_conn(struct roost_story *s, const char *device,
		      const struct roost_conn_view *conn, uint64_t now_ns)
{
	s->nb = 0;
	s->cause[0] = '\0';
	if (conn->phase == ROOST_CONN_WAITS_PEER || conn->repeats)
		blame_silence(s, conn);
	else if (conn->phase == ROOST_CONN_IDLE ||
		 conn->phase == ROOST_CONN_LINGERS)
		blame_end(s, conn, now_ns);
	else if (conn->phase == ROOST_CONN_WAITS_PROGRAM &&
		 now_ns > conn->since_ns + FORGOTTEN_NS)
		roost_story_blame(s, "it has waited %.3f s for %s",
				  since(now_ns, conn->since_ns),
				  conn->waits_for);
	say_who(s, device, conn);
	say_steps(s, conn, now_ns);
	say_waits(s, conn, now_ns);
}

/* ---- a listener -----------------------------------------------------------
 */

void roost_story_listener(struct roost_story *s, const char *device,
			  const struct roost_listener_view *l, uint64_t now_ns)
{
	char service[SERVICE_MAX], at[ROOST_PREFIX_STRLEN] = "any address";
	char ago[ROOST_STORY_AGO_MAX];

	s->nb = 0;
	s->cause[0] = '\0';
	if (!roost_gid_is_zero(&l->addr))
		roost_addr_format(&l->addr, at);
	if (l->waiting >= l->backlog)
		roost_story_blame(s,
				  "its backlog of %u is full: the program does "
				  "not read the events of its requests, and "
				  "more are dropped",
				  l->backlog);
	roost_story_say(s, "Listener on %s of %s, at %s%s%s.",
			service_text(&l->service, service), device, at,
			l->family ? " of " : "", l->family ? l->family : "");
	roost_story_say(s,
			"Its backlog is %u. Requests: %" PRIu64 " came, %u of "
			"them wait for the program.",
			l->backlog, l->requests, l->waiting);
	if (l->dropped != 0)
		roost_story_say(s,
				"%" PRIu64 " requests were dropped because "
				"the backlog was full, the last %s (counter "
				"drops_backlog); their peers send them again.",
				l->dropped,
				roost_story_ago(now_ns, l->dropped_at_ns, ago));
}
