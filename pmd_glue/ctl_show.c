/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl_show.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/wire/drop.h"
#include "pmd_glue/ctl.h"
#include "pmd_glue/ctl_row.h"
#include "pmd_glue/json.h"

/* ---- a row as an object ---------------------------------------------------
 */

static void put_u64(void *ctx, const char *name, uint64_t value)
{
	roost_json_u64(ctx, name, value);
}

static void put_bool(void *ctx, const char *name, bool value)
{
	roost_json_bool(ctx, name, value);
}

static void put_text(void *ctx, const char *name, const char *value)
{
	roost_json_str(ctx, name, value);
}

static void put_fields(struct roost_json *j, const struct roost_field *fields,
		       const void *row)
{
	const struct roost_row_sink sink = {
		.u64 = put_u64,
		.boolean = put_bool,
		.text = put_text,
		.ctx = j,
	};

	roost_row_emit(&sink, fields, row);
}

static void put_row(struct roost_json *j, const struct roost_field *fields,
		    const void *row)
{
	roost_json_begin(j, NULL, '{');
	put_fields(j, fields, row);
	roost_json_end(j, '}');
}

/* ---- topics ---------------------------------------------------------------
 */

static void put_gids(struct roost_json *j, const struct roost_station *s)
{
	struct roost_gid_row row;

	roost_json_begin(j, "gids", '[');
	for (row.index = 0; row.index < ROOST_GID_TABLE_LEN; row.index++) {
		roost_port_query_gid(s->dev, s->port_num, row.index, &row.gid);
		if (!roost_gid_is_zero(&row.gid))
			put_row(j, roost_gid_fields, &row);
	}
	roost_json_end(j, ']');
}

static void put_pkeys(struct roost_json *j, const struct roost_station *s)
{
	struct roost_pkey_row row;

	roost_json_begin(j, "pkeys", '[');
	for (row.index = 0; row.index < ROOST_PKEY_TABLE_LEN; row.index++) {
		roost_port_query_pkey(s->dev, s->port_num, row.index,
				      &row.pkey);
		if (row.pkey != 0)
			put_row(j, roost_pkey_fields, &row);
	}
	roost_json_end(j, ']');
}

static void show_ports(struct roost_json *j, struct roost_ctl_device *d)
{
	struct roost_port_row row;

	roost_json_begin(j, "ports", '[');
	for (unsigned int i = 0; i < roost_dev_nb_ports(d->dev); i++) {
		roost_port_row(d->stations[i], &row);
		roost_json_begin(j, NULL, '{');
		put_fields(j, roost_port_fields, &row);
		put_gids(j, d->stations[i]);
		put_pkeys(j, d->stations[i]);
		roost_json_end(j, '}');
	}
	roost_json_end(j, ']');
}

static void put_qp(void *arg, const struct roost_qp_view *qp)
{
	put_row(arg, roost_qp_fields, qp);
}

static void show_qps(struct roost_json *j, struct roost_ctl_device *d)
{
	roost_json_begin(j, "qps", '[');
	roost_dev_view_qps(d->dev, put_qp, j);
	roost_json_end(j, ']');
}

static void put_cq(void *arg, const struct roost_cq_view *cq)
{
	put_row(arg, roost_cq_fields, cq);
}

static void show_cqs(struct roost_json *j, struct roost_ctl_device *d)
{
	roost_json_begin(j, "cqs", '[');
	roost_dev_view_cqs(d->dev, put_cq, j);
	roost_json_end(j, ']');
}

static void put_srq(void *arg, const struct roost_srq_view *srq)
{
	put_row(arg, roost_srq_fields, srq);
}

static void show_srqs(struct roost_json *j, struct roost_ctl_device *d)
{
	roost_json_begin(j, "srqs", '[');
	roost_dev_view_srqs(d->dev, put_srq, j);
	roost_json_end(j, ']');
}

static void put_channel(void *arg, const struct roost_channel_view *c)
{
	put_row(arg, roost_channel_fields, c);
}

static void show_channels(struct roost_json *j, struct roost_ctl_device *d)
{
	roost_json_begin(j, "channels", '[');
	roost_dev_view_channels(d->dev, put_channel, j);
	roost_json_end(j, ']');
}

static void put_worker(void *arg, const struct roost_worker_view *worker)
{
	put_row(arg, roost_worker_fields, worker);
}

static void show_workers(struct roost_json *j, struct roost_ctl_device *d)
{
	roost_json_begin(j, "workers", '[');
	roost_dev_view_workers(d->dev, put_worker, j);
	roost_json_end(j, ']');
}

static void show_counters(struct roost_json *j, struct roost_ctl_device *d)
{
	struct roost_dev_counters counters;

	roost_dev_counters(d->dev, &counters);
	roost_json_begin(j, "counters", '{');
	put_fields(j, roost_counter_fields, &counters);
	roost_json_begin(j, "drops", '{');
	for (enum roost_drop i = ROOST_DROP_NONE + 1; i < ROOST_DROP_COUNT; i++)
		roost_json_u64(j, roost_drop_name(i), counters.drops[i]);
	roost_json_end(j, '}');
	roost_json_end(j, '}');
}

static const struct {
	const char *name;
	void (*show)(struct roost_json *j, struct roost_ctl_device *d);
} topics[] = {
	{ "device", NULL }, /* what stands in every one */
	{ "port", show_ports },
	{ "qp", show_qps },
	{ "cq", show_cqs },
	{ "srq", show_srqs },
	{ "channel", show_channels },
	{ "worker", show_workers },
	{ "counters", show_counters },
};

#define TOPICS (sizeof(topics) / sizeof(topics[0]))

const char *roost_ctl_topics(void)
{
	return "device, port, qp, cq, srq, channel, worker, counters";
}

static bool is_topic(const char *name)
{
	for (unsigned int i = 0; i < TOPICS; i++)
		if (strcmp(name, topics[i].name) == 0)
			return true;
	return false;
}

static void show_device(struct roost_json *j, struct roost_ctl_device *d,
			const char *topic)
{
	struct roost_device_row row;

	roost_device_row(d->dev, &row);
	roost_json_begin(j, NULL, '{');
	put_fields(j, roost_device_fields, &row);
	for (unsigned int i = 0; i < TOPICS; i++)
		if (topics[i].show &&
		    (!topic || strcmp(topic, topics[i].name) == 0))
			topics[i].show(j, d);
	roost_json_end(j, '}');
}

int roost_ctl_show(struct roost_json *j, const char *topic)
{
	struct roost_ctl_device *d = NULL;

	if (topic && !is_topic(topic))
		return -EINVAL;
	roost_json_begin(j, NULL, '{');
	roost_json_u64(j, "pid", (uint64_t)getpid());
	roost_json_str(j, "program", program_invocation_short_name);
	roost_json_begin(j, "devices", '[');
	while ((d = roost_ctl_next(d)))
		show_device(j, d, topic);
	roost_json_end(j, ']');
	roost_json_end(j, '}');
	return 0;
}
