/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Stories as JSON. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/conn_view.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/json.h"
#include "pmd_glue/ctl/story.h"
#include "pmd_glue/process/clock.h"

struct answer {
	struct roost_json *j;
	struct roost_story *s;
	struct roost_ctl_device *d;
	uint64_t number;
	uint64_t now_ns;
	unsigned int nb;
};

static void put_story(struct roost_json *j, const struct roost_story *s)
{
	roost_json_str(j, "cause", s->cause);
	roost_json_begin(j, "story", '[');
	for (unsigned int i = 0; i < s->nb; i++)
		roost_json_str(j, NULL, s->lines[i]);
	roost_json_end(j, ']');
}

static void begin(const struct answer *a, const char *kind)
{
	roost_json_begin(a->j, NULL, '{');
	roost_json_str(a->j, "object", kind);
	roost_json_str(a->j, "device", roost_dev_name(a->d->dev));
}

static const char *const kinds[ROOST_FLIGHT_KINDS] = {
	[ROOST_FLIGHT_STATE] = "state",
	[ROOST_FLIGHT_NAK_SENT] = "nak_sent",
	[ROOST_FLIGHT_NAK_RECEIVED] = "nak_received",
	[ROOST_FLIGHT_TIMEOUT] = "timeout",
	[ROOST_FLIGHT_PROBE] = "probe",
	[ROOST_FLIGHT_RESPONSE_GAP] = "response_gap",
	[ROOST_FLIGHT_PORT_DOWN] = "port_down",
	[ROOST_FLIGHT_MIGRATED] = "migrated",
	[ROOST_FLIGHT_MIG_REFUSED] = "migration_refused",
	[ROOST_FLIGHT_CNP_SENT] = "cnp_sent",
	[ROOST_FLIGHT_CNP_HANDLED] = "cnp_handled",
	[ROOST_FLIGHT_DROP] = "drop",
};

static void put_entry(struct roost_json *j, const struct roost_flight_entry *e)
{
	char time[32];

	roost_time_text(e->at_ns, time, sizeof(time));
	roost_json_begin(j, NULL, '{');
	roost_json_str(j, "time", time);
	roost_json_str(j, "event", kinds[e->kind]);
	if (e->kind == ROOST_FLIGHT_STATE) {
		roost_json_str(j, "state",
			       roost_qp_state_text(
				       (enum roost_qp_state)e->arg));
		roost_json_str(j, "by", roost_qp_error_infos[e->value].name);
	} else {
		if (e->kind == ROOST_FLIGHT_DROP)
			roost_json_str(j, "reason",
				       roost_drop_name(
					       (enum roost_drop)e->arg));
		else
			roost_json_u64(j, "argument", e->arg);
		roost_json_u64(j, "value", e->value);
		roost_json_u64(j, "count", e->count);
	}
	roost_json_end(j, '}');
}

static void put_entries(struct roost_json *j, const char *name,
			const struct roost_flight_entry *entries,
			unsigned int nb)
{
	struct roost_flight_entry sorted[ROOST_FLIGHT_EVENTS];

	nb = roost_flight_sort(entries, nb, sorted);
	roost_json_begin(j, name, '[');
	for (unsigned int i = 0; i < nb; i++)
		put_entry(j, &sorted[i]);
	roost_json_end(j, ']');
}

static void put_qp(void *arg, const struct roost_qp_view *qp)
{
	struct answer *a = arg;
	struct roost_json *j = a->j;

	if (qp->qpn != a->number)
		return;
	a->nb++;
	roost_story_qp(a->s, roost_dev_name(a->d->dev), qp,
		       roost_story_port_up(a->d->dev, qp), a->now_ns);
	begin(a, "qp");
	roost_json_u64(j, "qpn", qp->qpn);
	roost_json_str(j, "state", roost_qp_state_text(qp->state));
	put_story(j, a->s);
	put_entries(j, "states", qp->flight.states, ROOST_FLIGHT_STATES);
	put_entries(j, "events", qp->flight.events, ROOST_FLIGHT_EVENTS);
	roost_json_end(j, '}');
}

static void put_step(struct roost_json *j, const struct roost_conn_step *step)
{
	char time[32];

	roost_time_text(step->at_ns, time, sizeof(time));
	roost_json_begin(j, NULL, '{');
	roost_json_str(j, "time", time);
	roost_json_str(j, "event", step->what);
	roost_json_str(j, "state", step->state);
	if (step->kind == ROOST_CONN_REFUSED ||
	    step->kind == ROOST_CONN_REFUSED_HERE)
		roost_json_u64(j, "reason", step->code);
	roost_json_u64(j, "count", step->count);
	roost_json_end(j, '}');
}

static void put_conn(void *arg, const struct roost_conn_view *conn)
{
	struct answer *a = arg;
	struct roost_json *j = a->j;

	if (conn->id != a->number)
		return;
	a->nb++;
	roost_story_conn(a->s, roost_dev_name(a->d->dev), conn, a->now_ns);
	begin(a, "cm");
	roost_json_u64(j, "id", conn->id);
	roost_json_str(j, "state", conn->state);
	roost_json_u64(j, "qpn", conn->qpn);
	put_story(j, a->s);
	roost_json_begin(j, "events", '[');
	for (unsigned int i = 0; i < conn->nb_steps; i++)
		put_step(j, &conn->steps[i]);
	roost_json_end(j, ']');
	roost_json_end(j, '}');
}

static void put_listener(void *arg, const struct roost_listener_view *l)
{
	struct answer *a = arg;

	if (!l->service.port_space || l->service.port != a->number)
		return;
	a->nb++;
	roost_story_listener(a->s, roost_dev_name(a->d->dev), l, a->now_ns);
	begin(a, "listener");
	roost_json_u64(a->j, "port", l->service.port);
	put_story(a->j, a->s);
	roost_json_end(a->j, '}');
}

static void put_numbered(struct answer *a)
{
	const struct roost_conn_viewer viewer = {
		.conn = put_conn,
		.listener = put_listener,
		.arg = a,
	};

	roost_dev_view_qps(a->d->dev, put_qp, a);
	roost_dev_view_conns(a->d->dev, a->now_ns, &viewer);
}

static void put_device(struct answer *a)
{
	a->nb++;
	roost_story_device(a->s, a->d, a->now_ns);
	begin(a, "device");
	put_story(a->j, a->s);
	roost_json_end(a->j, '}');
}

static bool is_number(const char *word, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, 0);
	return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0;
}

unsigned int roost_story_answer(struct roost_json *j, const char *word)
{
	struct answer a = {
		.j = j,
		.s = malloc(sizeof(*a.s)),
		.now_ns = roost_now_ns(),
	};
	bool number = is_number(word, &a.number);

	if (!a.s)
		return 0;
	roost_json_begin(j, "objects", '[');
	while ((a.d = roost_ctl_next(a.d)))
		if (number)
			put_numbered(&a);
		else if (strcmp(word, roost_dev_name(a.d->dev)) == 0)
			put_device(&a);
	roost_json_end(j, ']');
	free(a.s);
	return a.nb;
}
