/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl/ctl_show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <roost/drop.h>
#include "lib/config/addr.h"
#include "lib/engine/core/conn_view.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/json.h"
#include "pmd_glue/process/clock.h"

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

void roost_ctl_put_fields(struct roost_json *j,
			  const struct roost_field *fields, const void *row)
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
	roost_ctl_put_fields(j, fields, row);
	roost_json_end(j, '}');
}

/* ---- topics ---------------------------------------------------------------
 */

/* One request to show. */
struct show {
	struct roost_json *j;
	struct roost_ctl_device *d;
	const struct roost_backend_port *port; /* NULL: all ports */
};

static bool is_asked_for(const struct show *s, uint8_t port_num)
{
	return !s->port || s->port->port_num == port_num;
}

static void put_gids(struct roost_json *j,
		     const struct roost_backend_port *port)
{
	struct roost_gid_row row;

	roost_json_begin(j, "gids", '[');
	for (row.index = 0; row.index < ROOST_GID_TABLE_LEN; row.index++) {
		roost_port_query_gid(port->dev, port->port_num, row.index,
				     &row.gid);
		if (!roost_gid_is_zero(&row.gid))
			put_row(j, roost_gid_fields, &row);
	}
	roost_json_end(j, ']');
}

static void put_pkeys(struct roost_json *j,
		      const struct roost_backend_port *port)
{
	struct roost_pkey_row row;

	roost_json_begin(j, "pkeys", '[');
	for (row.index = 0; row.index < ROOST_PKEY_TABLE_LEN; row.index++) {
		roost_port_query_pkey(port->dev, port->port_num, row.index,
				      &row.pkey);
		if (row.pkey != 0)
			put_row(j, roost_pkey_fields, &row);
	}
	roost_json_end(j, ']');
}

static void show_ports(const struct show *s)
{
	struct roost_ctl_device *d = s->d;
	struct roost_json *j = s->j;
	struct roost_port_row row;

	roost_json_begin(j, "ports", '[');
	for (unsigned int i = 0; i < roost_dev_nb_ports(d->dev); i++) {
		if (!is_asked_for(s, (uint8_t)(i + 1)))
			continue;
		roost_port_row(d->ports[i], &row);
		roost_json_begin(j, NULL, '{');
		roost_ctl_put_fields(j, roost_port_fields, &row);
		put_gids(j, d->ports[i]);
		put_pkeys(j, d->ports[i]);
		roost_json_end(j, '}');
	}
	roost_json_end(j, ']');
}

static void show_ecn(const struct show *s)
{
	struct roost_ecn_row row;

	roost_json_begin(s->j, "ecn", '[');
	for (unsigned int i = 0; i < roost_dev_nb_ports(s->d->dev); i++) {
		row.port_num = (uint8_t)(i + 1);
		if (!is_asked_for(s, row.port_num))
			continue;
		roost_port_query_ecn(s->d->dev, row.port_num, &row.ecn);
		put_row(s->j, roost_ecn_fields, &row);
	}
	roost_json_end(s->j, ']');
}

static void show_qos(const struct show *s)
{
	struct roost_qos_row row;
	struct roost_qos qos;

	roost_json_begin(s->j, "qos", '[');
	for (uint8_t num = 1; num <= roost_dev_nb_ports(s->d->dev); num++) {
		if (!is_asked_for(s, num))
			continue;
		roost_port_query_qos(s->d->dev, num, &qos);
		roost_qos_row(num, &qos, &row);
		put_row(s->j, roost_qos_fields, &row);
	}
	roost_json_end(s->j, ']');
}

static void put_error(struct roost_json *j, const struct roost_qp_error *error)
{
	struct roost_qp_error_row row;

	roost_qp_error_row(error, &row);
	roost_json_begin(j, "last_error", '{');
	roost_ctl_put_fields(j, roost_qp_error_fields, &row);
	if (error->has_packet)
		roost_ctl_put_fields(j, roost_qp_packet_fields, &row);
	if (error->has_memory)
		roost_ctl_put_fields(j, roost_qp_memory_fields, &row);
	roost_json_end(j, '}');
}

static void put_qp(void *arg, const struct roost_qp_view *qp)
{
	const struct show *s = arg;
	struct roost_json *j = s->j;

	if (!is_asked_for(s, qp->port_num))
		return;
	roost_json_begin(j, NULL, '{');
	roost_ctl_put_fields(j, roost_qp_fields, qp);
	if (qp->error.code != ROOST_QPE_NONE)
		put_error(j, &qp->error);
	roost_json_begin(j, "counters", '{');
	roost_ctl_put_fields(j, roost_qp_counter_fields, qp);
	roost_json_end(j, '}');
	roost_json_end(j, '}');
}

static void show_qps(const struct show *s)
{
	struct show copy = *s;

	roost_json_begin(s->j, "qps", '[');
	roost_dev_view_qps(s->d->dev, put_qp, &copy);
	roost_json_end(s->j, ']');
}

static void put_cq(void *arg, const struct roost_cq_view *cq)
{
	put_row(arg, roost_cq_fields, cq);
}

static void show_cqs(const struct show *s)
{
	roost_json_begin(s->j, "cqs", '[');
	roost_dev_view_cqs(s->d->dev, put_cq, s->j);
	roost_json_end(s->j, ']');
}

static void put_srq(void *arg, const struct roost_srq_view *srq)
{
	put_row(arg, roost_srq_fields, srq);
}

static void show_srqs(const struct show *s)
{
	roost_json_begin(s->j, "srqs", '[');
	roost_dev_view_srqs(s->d->dev, put_srq, s->j);
	roost_json_end(s->j, ']');
}

static void put_channel(void *arg, const struct roost_channel_view *c)
{
	put_row(arg, roost_channel_fields, c);
}

static void show_channels(const struct show *s)
{
	roost_json_begin(s->j, "channels", '[');
	roost_dev_view_channels(s->d->dev, put_channel, s->j);
	roost_json_end(s->j, ']');
}

static void put_worker(void *arg, const struct roost_worker_view *worker)
{
	put_row(arg, roost_worker_fields, worker);
}

static void show_workers(const struct show *s)
{
	roost_json_begin(s->j, "workers", '[');
	roost_dev_view_workers(s->d->dev, put_worker, s->j);
	roost_json_end(s->j, ']');
}

static void put_addr(struct roost_json *j, const char *name,
		     const struct roost_gid *addr)
{
	char text[ROOST_PREFIX_STRLEN] = "";

	if (!roost_gid_is_zero(addr))
		roost_addr_format(addr, text);
	roost_json_str(j, name, text);
}

static void put_service(struct roost_json *j,
			const struct roost_conn_service *service)
{
	roost_json_str(j, "space",
		       service->port_space ? service->port_space : "");
	roost_json_u64(j, "service",
		       service->port_space ? service->port : service->id);
}

static void put_conn(void *arg, const struct roost_conn_view *conn)
{
	const struct show *s = arg;
	struct roost_json *j = s->j;
	char id[16];

	if (!is_asked_for(s, conn->port_num))
		return;
	snprintf(id, sizeof(id), "0x%x", conn->id);
	roost_json_begin(j, NULL, '{');
	roost_json_str(j, "id", id);
	roost_json_str(j, "state", conn->state);
	put_service(j, &conn->service);
	put_addr(j, "peer", &conn->dgid);
	roost_json_u64(j, "qpn", conn->qpn);
	roost_json_end(j, '}');
}

static void put_listener(void *arg, const struct roost_listener_view *l)
{
	const struct show *s = arg;
	struct roost_json *j = s->j;

	roost_json_begin(j, NULL, '{');
	put_service(j, &l->service);
	put_addr(j, "address", &l->addr);
	roost_json_u64(j, "backlog", l->backlog);
	roost_json_u64(j, "waiting", l->waiting);
	roost_json_u64(j, "requests", l->requests);
	roost_json_u64(j, "dropped", l->dropped);
	roost_json_end(j, '}');
}

static void put_counter(void *arg, const char *name, uint64_t value)
{
	roost_json_u64(((const struct show *)arg)->j, name, value);
}

/* One kind after the other, because each has its own array. */
static void show_cm(const struct show *s)
{
	const uint64_t now_ns = roost_now_ns();
	struct show copy = *s;

	roost_json_begin(s->j, "connections", '[');
	roost_dev_view_conns(s->d->dev, now_ns,
			     &(struct roost_conn_viewer){ .conn = put_conn,
							  .arg = &copy });
	roost_json_end(s->j, ']');
	roost_json_begin(s->j, "listeners", '[');
	roost_dev_view_conns(s->d->dev, now_ns,
			     &(struct roost_conn_viewer){
				     .listener = put_listener, .arg = &copy });
	roost_json_end(s->j, ']');
	roost_json_begin(s->j, "cm_counters", '{');
	roost_dev_view_conns(s->d->dev, now_ns,
			     &(struct roost_conn_viewer){
				     .counter = put_counter, .arg = &copy });
	roost_json_end(s->j, '}');
}

static void show_counters(const struct show *s)
{
	struct roost_dev_counters counters;
	struct roost_json *j = s->j;

	roost_dev_counters(s->d->dev, &counters);
	roost_json_begin(j, "counters", '{');
	roost_ctl_put_fields(j, roost_counter_fields, &counters);
	roost_json_begin(j, "drops", '{');
	for (enum roost_drop i = ROOST_DROP_NONE + 1; i < ROOST_DROP_COUNT; i++)
		roost_json_u64(j, roost_drop_name(i), counters.drops[i]);
	roost_json_end(j, '}');
	roost_json_begin(j, "errors", '{');
	for (int i = 0; i < ROOST_QPE_END; i++)
		if (roost_qp_error_infos[i].name)
			roost_json_u64(j, roost_qp_error_infos[i].name,
				       counters.errors[i]);
	roost_json_end(j, '}');
	roost_json_end(j, '}');
}

static const struct {
	const char *name;
	void (*show)(const struct show *s);
} topics[] = {
	{ "device", NULL }, /* only the values that each device has */
	{ "port", show_ports },       { "qp", show_qps },
	{ "cq", show_cqs },           { "srq", show_srqs },
	{ "channel", show_channels }, { "cm", show_cm },
	{ "worker", show_workers },   { "counters", show_counters },
	{ "ecn", show_ecn },          { "qos", show_qos },
};

#define TOPICS (sizeof(topics) / sizeof(topics[0]))

const char *roost_ctl_topics(void)
{
	return "device, port, qp, cq, srq, channel, cm, worker, counters, ecn, "
	       "qos";
}

static bool is_topic(const char *name)
{
	for (unsigned int i = 0; i < TOPICS; i++)
		if (strcmp(name, topics[i].name) == 0)
			return true;
	return false;
}

static void show_device(const struct show *s, const char *topic)
{
	struct roost_device_row row;

	roost_device_row(s->d->dev, &row);
	roost_json_begin(s->j, NULL, '{');
	roost_ctl_put_fields(s->j, roost_device_fields, &row);
	for (unsigned int i = 0; i < TOPICS; i++)
		if (topics[i].show &&
		    (!topic || strcmp(topic, topics[i].name) == 0))
			topics[i].show(s);
	roost_json_end(s->j, '}');
}

int roost_ctl_show(struct roost_json *j, const char *topic,
		   struct roost_ctl_device *device,
		   const struct roost_backend_port *port,
		   char error[ROOST_CTL_ERROR_MAX])
{
	const struct roost_ctl_more *more = roost_ctl_more();
	struct show s = { .j = j, .port = port };
	int ret = topic && !is_topic(topic) ? -ENOENT : 0;

	if (ret && !more)
		return ret;
	roost_json_begin(j, NULL, '{');
	roost_json_u64(j, "pid", (uint64_t)getpid());
	roost_json_str(j, "program", program_invocation_short_name);
	roost_json_begin(j, "devices", '[');
	while ((s.d = roost_ctl_next(s.d)))
		if (!ret && (!device || s.d == device))
			show_device(&s, topic);
	roost_json_end(j, ']');
	if (more) {
		const int more_ret = more->show(topic, j, error);

		if (more_ret != -ENOENT || ret)
			ret = more_ret;
	}
	roost_json_end(j, '}');
	return ret;
}
