/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* How a device is: its ports, its objects in trouble, what it dropped. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/config/addr.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/story.h"

/* Objects in trouble that are told one by one. */
#define TOLD_MAX 10u

struct telling {
	struct roost_story *s;
	struct roost_dev *dev;
	uint64_t now_ns;
	unsigned int nb_failed, nb_overrun;
	/* Of the failure that comes first; empty: there is none. */
	char cause[ROOST_STORY_CAUSE_MAX];
	struct roost_qp_error error;
};

static void say_port(struct telling *t, const struct roost_backend_port *port)
{
	const char *name = roost_dev_name(t->dev);
	struct roost_port_row row;

	roost_port_row(port, &row);
	if (row.state == ROOST_PORT_ACTIVE) {
		roost_story_say(t->s,
				"Port %u (%s) is ACTIVE: path MTU %u, %u "
				"Mb/s.",
				row.num, row.label, row.path_mtu_bytes,
				row.speed_mbps);
		return;
	}
	roost_story_say(t->s, "Port %u (%s) is not ACTIVE.", row.num,
			row.label);
	roost_story_blame(t->s, "%sport %u of %s is down: %s",
			  t->s->cause[0] ? "; " : "", row.num, name,
			  row.removed     ? "it was removed"
			  : !row.admin_up ? "it was set down; set it up "
					    "(roost ctl link up)"
			  : !row.carrier  ? "it has no carrier; is the other "
					    "end up?"
					  : "the link is not ready yet");
}

/* Did the error come before the first one so far? QPs that fail with their CQ
 * come last: what was flushed of another QP may have overrun it.
 */
static bool is_first(const struct telling *t, const struct roost_qp_error *e)
{
	const bool overrun = e->code == ROOST_QPE_CQ_OVERRUN;
	const bool first_overrun = t->error.code == ROOST_QPE_CQ_OVERRUN;

	if (e->code == ROOST_QPE_NONE || e->code == ROOST_QPE_MODIFIED)
		return false;
	if (!t->cause[0] || overrun != first_overrun)
		return !t->cause[0] || first_overrun;
	return e->at_ns < t->error.at_ns;
}

static void say_failed(void *arg, const struct roost_qp_view *qp)
{
	struct telling *t = arg;
	struct roost_story *one;

	if (qp->state != ROOST_QPS_ERR && qp->state != ROOST_QPS_SQE)
		return;
	if (++t->nb_failed > TOLD_MAX && !is_first(t, &qp->error))
		return;
	one = malloc(sizeof(*one));
	if (!one)
		return;
	roost_story_qp_cause(one, roost_dev_name(t->dev), qp,
			     roost_story_port_up(t->dev, qp), t->now_ns);
	if (t->nb_failed <= TOLD_MAX)
		roost_story_say(t->s, "QP 0x%x is in %s: %.290s.", qp->qpn,
				roost_qp_state_text(qp->state), one->cause);
	if (is_first(t, &qp->error)) {
		snprintf(t->cause, sizeof(t->cause), "QP 0x%x: %.400s", qp->qpn,
			 one->cause);
		t->error = qp->error;
	}
	free(one);
}

static void say_overrun(void *arg, const struct roost_cq_view *cq)
{
	struct telling *t = arg;

	if (cq->overrun && ++t->nb_overrun <= TOLD_MAX)
		roost_story_say(t->s,
				"CQ %u was overrun: it had %u entries and %u "
				"users.",
				cq->handle, cq->entries, cq->users);
}

/* ---- drops ----------------------------------------------------------------
 */

static void say_drop(struct telling *t, enum roost_drop reason, uint64_t count,
		     const struct roost_last_drop *last)
{
	char ago[ROOST_STORY_AGO_MAX], from[ROOST_PREFIX_STRLEN] = "?";
	const char *text = roost_story_drop(reason);
	char whom[32] = "";

	if (last->at_ns == 0) {
		roost_story_say(t->s,
				"%" PRIu64 " packets were dropped (%s)%s%s.",
				count, roost_drop_name(reason),
				text ? ": " : "", text ? text : "");
		return;
	}
	roost_addr_format(&last->sgid, from);
	if (last->qpn != 0)
		snprintf(whom, sizeof(whom), " for QP 0x%x", last->qpn);
	roost_story_say(t->s,
			"%" PRIu64 " packets were dropped (%s), the last %s "
			"from %s%s%s%s.",
			count, roost_drop_name(reason),
			roost_story_ago(t->now_ns, last->at_ns, ago), from,
			whom, text ? ": " : "", text ? text : "");
}

static void say_drops(struct telling *t)
{
	struct roost_last_drop last[ROOST_DROPS_MAX], *newest = NULL;
	struct roost_dev_counters counters;
	char from[ROOST_PREFIX_STRLEN];

	roost_dev_counters(t->dev, &counters);
	roost_dev_view_drops(t->dev, last);
	for (enum roost_drop i = ROOST_DROP_NONE + 1; i < ROOST_DROP_COUNT;
	     i++) {
		if (counters.drops[i] == 0)
			continue;
		say_drop(t, i, counters.drops[i], &last[i]);
		if (roost_story_drop(i) && last[i].at_ns != 0 &&
		    (!newest || last[i].at_ns > newest->at_ns))
			newest = &last[i];
	}
	if (!newest || t->s->cause[0])
		return;
	roost_story_blame(t->s, "packets from %s for QP 0x%x were dropped: %s",
			  roost_addr_format(&newest->sgid, from), newest->qpn,
			  roost_story_drop((enum roost_drop)(newest - last)));
}

void roost_story_device(struct roost_story *s, struct roost_ctl_device *device,
			uint64_t now_ns)
{
	struct telling t = { .s = s, .dev = device->dev, .now_ns = now_ns };
	struct roost_dev_view view;

	s->nb = 0;
	s->cause[0] = '\0';
	roost_dev_view(device->dev, &view);
	roost_story_say(s,
			"Device %s: %u contexts, %u QPs, %u CQs, %u SRQs, %u "
			"MRs, %u MWs.",
			roost_dev_name(device->dev), view.contexts, view.qps,
			view.cqs, view.srqs, view.mrs, view.mws);
	for (unsigned int i = 0; i < roost_dev_nb_ports(device->dev); i++)
		say_port(&t, device->ports[i]);
	roost_dev_view_qps(device->dev, say_failed, &t);
	if (t.nb_failed > TOLD_MAX)
		roost_story_say(s, "And %u more QPs are in ERR or SQE.",
				t.nb_failed - TOLD_MAX);
	roost_dev_view_cqs(device->dev, say_overrun, &t);
	if (t.cause[0])
		roost_story_blame(s, "%s%u of its QPs failed, first %.440s",
				  s->cause[0] ? "; " : "", t.nb_failed,
				  t.cause);
	say_drops(&t);
}
