/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl/ctl_telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include <roost/drop.h>
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/ctl_row.h"

/* DPDK 23.03 renamed these; a later one warns of the names of 22.11. */
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#define RTE_TEL_UINT_VAL RTE_TEL_U64_VAL
#endif

/* ---- rows as dictionaries -------------------------------------------------
 */

static void put_u64(void *ctx, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_uint(ctx, name, value);
}

static void put_bool(void *ctx, const char *name, bool value)
{
	rte_tel_data_add_dict_uint(ctx, name, value);
}

/* Truncate the string: telemetry refuses one that is too long. */
static void put_text(void *ctx, const char *name, const char *value)
{
	char text[RTE_TEL_MAX_STRING_LEN];

	snprintf(text, sizeof(text), "%s", value);
	rte_tel_data_add_dict_string(ctx, name, text);
}

static void put_fields(struct rte_tel_data *d, const struct roost_field *fields,
		       const void *row)
{
	const struct roost_row_sink sink = {
		.u64 = put_u64,
		.boolean = put_bool,
		.text = put_text,
		.ctx = d,
	};

	roost_row_emit(&sink, fields, row);
}

static void put_row(struct rte_tel_data *d, const struct roost_field *fields,
		    const void *row)
{
	rte_tel_data_start_dict(d);
	put_fields(d, fields, row);
}

/* ---- commands, on the control thread ---------------------------------------
 */

struct query {
	int (*run)(struct query *q);
	struct rte_tel_data *data;
	struct roost_ctl_device *device; /* the first parameter */
	unsigned long number;            /* the second one; 0: none */
	bool found;
};

static int list(struct query *q)
{
	struct roost_ctl_device *d = NULL;

	rte_tel_data_start_array(q->data, RTE_TEL_STRING_VAL);
	while ((d = roost_ctl_next(d)))
		rte_tel_data_add_array_string(q->data, roost_dev_name(d->dev));
	return 0;
}

static int device(struct query *q)
{
	struct roost_device_row row;

	roost_device_row(q->device->dev, &row);
	put_row(q->data, roost_device_fields, &row);
	return 0;
}

static int port(struct query *q)
{
	struct roost_port_row row;

	if (q->number < 1 || q->number > roost_dev_nb_ports(q->device->dev))
		return -EINVAL;
	roost_port_row(q->device->ports[q->number - 1], &row);
	put_row(q->data, roost_port_fields, &row);
	return 0;
}

static int counters(struct query *q)
{
	struct roost_dev_counters c;

	roost_dev_counters(q->device->dev, &c);
	put_row(q->data, roost_counter_fields, &c);
	return 0;
}

static int drops(struct query *q)
{
	struct roost_dev_counters c;

	roost_dev_counters(q->device->dev, &c);
	rte_tel_data_start_dict(q->data);
	for (enum roost_drop i = ROOST_DROP_NONE + 1; i < ROOST_DROP_COUNT; i++)
		put_u64(q->data, roost_drop_name(i), c.drops[i]);
	return 0;
}

/* Telemetry refuses values that do not fit; they are missing in the answer. */
static void add_qpn(void *arg, const struct roost_qp_view *qp)
{
	rte_tel_data_add_array_uint(arg, qp->qpn);
}

static int qps(struct query *q)
{
	rte_tel_data_start_array(q->data, RTE_TEL_UINT_VAL);
	roost_dev_view_qps(q->device->dev, add_qpn, q->data);
	return 0;
}

static void put_if_asked(void *arg, const struct roost_qp_view *view)
{
	struct query *q = arg;
	struct roost_qp_error_row row;

	if (view->qpn != q->number)
		return;
	q->found = true;
	put_row(q->data, roost_qp_fields, view);
	put_fields(q->data, roost_qp_counter_fields, view);
	if (view->error.code == ROOST_QPE_NONE)
		return;
	roost_qp_error_row(&view->error, &row);
	put_fields(q->data, roost_qp_error_fields, &row);
	if (view->error.has_packet)
		put_fields(q->data, roost_qp_packet_fields, &row);
	if (view->error.has_memory)
		put_fields(q->data, roost_qp_memory_fields, &row);
}

static int qp(struct query *q)
{
	roost_dev_view_qps(q->device->dev, put_if_asked, q);
	return q->found ? 0 : -EINVAL;
}

static void put_worker_if_asked(void *arg, const struct roost_worker_view *view)
{
	struct query *q = arg;

	if (view->number != q->number)
		return;
	q->found = true;
	put_row(q->data, roost_worker_fields, view);
}

static int worker(struct query *q)
{
	roost_dev_view_workers(q->device->dev, put_worker_if_asked, q);
	return q->found ? 0 : -EINVAL;
}

/* ---- the table --------------------------------------------------------------
 */

static const struct {
	const char *name;
	int (*run)(struct query *q);
	const char *help;
} commands[] = {
	{ "/roost/list", list, "The open devices. No parameters" },
	{ "/roost/device", device, "A device. Parameters: device" },
	{ "/roost/port", port, "A port. Parameters: device,port" },
	{ "/roost/counters", counters, "Traffic. Parameters: device" },
	{ "/roost/drops", drops, "Dropped packets. Parameters: device" },
	{ "/roost/qps", qps, "QP numbers. Parameters: device" },
	{ "/roost/qp", qp, "A QP. Parameters: device,number" },
	{ "/roost/worker", worker, "A worker. Parameters: device,number" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

struct call {
	const char *command;
	const char *params;
	struct rte_tel_data *data;
};

static int execute(void *arg)
{
	const struct call *call = arg;
	struct query q = { .data = call->data };
	char name[32] = "";
	const char *comma;

	if (call->params)
		snprintf(name, sizeof(name), "%.*s",
			 (int)strcspn(call->params, ","), call->params);
	comma = call->params ? strchr(call->params, ',') : NULL;
	if (comma)
		q.number = strtoul(comma + 1, NULL, 0);
	q.device = roost_ctl_find(*name ? name : "-");
	for (unsigned int i = 0; i < COMMANDS; i++)
		if (strcmp(call->command, commands[i].name) == 0)
			q.run = commands[i].run;
	if (!q.run || (!q.device && q.run != list))
		return -EINVAL;
	return q.run(&q);
}

/* The argument of roost_ctl_telemetry_register(). */
static int (*run_on_control)(int (*fn)(void *arg), void *arg);

/* Thread: telemetry's. */
static int hear(const char *command, const char *params, struct rte_tel_data *d)
{
	struct call call = { command, params, d };

	return run_on_control(execute, &call);
}

void roost_ctl_telemetry_register(int (*call)(int (*fn)(void *arg), void *arg))
{
	static bool done;

	if (done)
		return;
	done = true;
	run_on_control = call;
	/* Without telemetry in EAL these commands are never called. */
	for (unsigned int i = 0; i < COMMANDS; i++)
		rte_telemetry_register_cmd(commands[i].name, hear,
					   commands[i].help);
}
