/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/assembly.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/flight.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/workers.h"
#include "pmd_glue/failures.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/debug.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/report_device.h"

static uint64_t run_device(void *ctx, uint64_t now_ns)
{
	struct roost_assembly *a = ctx;
	uint64_t ports_ns = roost_ports_run(&a->ports, now_ns);
	uint64_t services_ns = roost_dev_service_run_all(a->dev, now_ns);

	uint64_t picture_ns = roost_picture_live_run(&a->picture, now_ns);

	if (a->conf.ran)
		a->conf.ran(a->conf.ctx);
	return RTE_MIN(RTE_MIN(ports_ns, services_ns), picture_ns);
}

static int create_dev(struct roost_assembly *a)
{
	const struct roost_config *config = a->conf.config;
	struct roost_dev_conf conf = {
		.nb_workers = config->nb_workers,
		.selective_repeat = config->selective_repeat,
		.node_guid = a->conf.node_guid,
		.now_ns = roost_now_ns(),
	};
	struct roost_ecn ecn;
	struct roost_qos qos;
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "roost%u", a->conf.index);
	conf.name = name;
	roost_config_ecn(config, &ecn);
	conf.ecn = &ecn;
	roost_config_qos(config, &qos);
	conf.qos = &qos;
	roost_ports_configure(&a->ports, &conf);
	if (a->conf.interpose)
		a->conf.interpose(a->conf.ctx, &conf);
	ret = roost_dev_create(&conf, &a->dev);
	if (ret)
		roost_report("%s: cannot make a device of it: %s",
			     a->ports.v[0]->label, strerror(-ret));
	else
		roost_failures_watch(config, a->dev);
	return ret;
}

/* A daemon answers in place of its clients itself. */
static bool is_program(const struct roost_assembly *a)
{
	return !a->conf.interpose;
}

static int begin_resident(struct roost_assembly *a)
{
	int ret = is_program(a) ? roost_dev_resident_begin(a->dev) : 0;

	if (ret)
		roost_report("%s: cannot start its connection manager: %s",
			     a->ports.v[0]->label, strerror(-ret));
	return ret;
}

static void end_resident(struct roost_assembly *a)
{
	if (is_program(a))
		roost_dev_resident_end(a->dev);
}

/* ---- its workers --------------------------------------------------------- */

static int start_one(struct roost_assembly *a, unsigned int i)
{
	struct roost_progress_conf conf = {
		.worker = roost_dev_worker_at(a->dev, i),
		.index = i,
		.mode = a->conf.config->progress,
		.take_lcore = roost_eal_is_ours(),
		.has_caller = a->conf.interpose != NULL,
	};
	int ret =
		roost_rx_sleep_open(&a->sleeps[i], a->ports.v, a->ports.nb, i);

	if (ret)
		return ret;
	conf.rx = roost_rx_sleep_io(&a->sleeps[i]);
	ret = roost_progress_start(&conf, &a->progress[i]);
	if (ret)
		roost_rx_sleep_close(&a->sleeps[i]);
	return ret;
}

/* Stop worker 0 last: it also sends frames of the other workers. */
static void stop_progress(struct roost_assembly *a)
{
	while (a->nb_progress > 0) {
		roost_progress_stop(a->progress[--a->nb_progress]);
		roost_rx_sleep_close(&a->sleeps[a->nb_progress]);
	}
}

static int start_progress(struct roost_assembly *a)
{
	int ret = 0;

	while (!ret && a->nb_progress < roost_dev_nb_workers(a->dev)) {
		ret = start_one(a, a->nb_progress);
		a->nb_progress += ret == 0;
	}
	if (ret)
		stop_progress(a);
	if (ret)
		roost_report("%s: cannot start its thread: %s; see the limits "
			     "of the process",
			     a->ports.v[0]->label, strerror(-ret));
	return ret;
}

/* ---- open, close --------------------------------------------------------- */

int roost_assembly_open(struct roost_assembly *a,
			const struct roost_assembly_conf *conf)
{
	const struct roost_config *config = conf->config;
	int ret;

	a->conf = *conf;
	roost_debug_apply(config);
	ret = roost_ports_prepare(config, conf->index);
	if (ret)
		return ret;
	ret = roost_ports_open(&a->ports, config, conf->index);
	if (ret)
		return ret;
	ret = create_dev(a);
	if (ret)
		goto close_ports;
	ret = begin_resident(a);
	if (ret)
		goto destroy_dev;
	ret = start_progress(a);
	if (ret)
		goto end_resident;
	ret = roost_ports_start(&a->ports, a->dev, a->progress);
	if (ret)
		goto stop_progress;
	a->client = (struct roost_control_client){
		.run = run_device,
		.ctx = a,
	};
	roost_control_add(&a->client);
	a->ctl = (struct roost_ctl_device){ .dev = a->dev };
	memcpy(a->ctl.ports, a->ports.v, sizeof(a->ctl.ports));
	roost_ctl_add(&a->ctl);
	roost_dump_add_dev(&a->dump, a->dev, a->ports.nb,
			   conf->interpose ? a->ports.v[0]->label : NULL);
	roost_picture_live_open(&a->picture, &a->ports, a->dev);
	roost_report_device(config, conf->index, a->ports.v, a->ports.nb);
	return 0;
stop_progress:
	roost_ports_quiesce(&a->ports);
	stop_progress(a);
end_resident:
	end_resident(a);
destroy_dev:
	roost_dev_unwatch_failures(a->dev);
	roost_dev_destroy(a->dev);
close_ports:
	roost_ports_close(&a->ports);
	roost_ports_free(&a->ports);
	return ret;
}

/* Twice: worker 0 sends and receives for workers that have no queue. */
void roost_assembly_settle(const struct roost_assembly *a)
{
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = a->nb_progress; i-- > 0;)
			roost_progress_settle(a->progress[i]);
}

void roost_assembly_close(struct roost_assembly *a)
{
	roost_ctl_remove(&a->ctl);
	roost_control_remove(&a->client);
	roost_picture_live_close(&a->picture);
	roost_ports_leave(&a->ports);
	roost_assembly_settle(a);
	roost_ports_quiesce(&a->ports);
	stop_progress(a);
	roost_dump_remove(&a->dump.source);
	roost_ports_close(&a->ports);
	end_resident(a);
	roost_dev_unwatch_failures(a->dev);
	roost_dev_destroy(a->dev);
	roost_ports_free(&a->ports);
}
