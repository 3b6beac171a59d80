/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/roost.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/config/config.h"
#include "pmd_glue/control.h"
#include "pmd_glue/eal.h"
#include "pmd_glue/gid_table.h"
#include "pmd_glue/report.h"
#include "pmd_glue/station.h"
#include "pmd_glue/turner.h"

#define TIDY_NS 200000000u

struct roost_device {
	struct roost_turner *turner; /* first: help is hot */
	struct roost_dev *dev;
	unsigned int index;
	unsigned int refs; /* under devices.lock */
	pid_t opener;
	struct roost_station station;
	struct roost_control_client client;
	LIST_ENTRY(roost_device) link; /* under devices.lock */
};

/* The lock is held while a device opens or closes: another opening of it
 * waits for the outcome.
 */
static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, roost_device) list;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- on the control thread ---------------------------------------------- */

struct opening {
	const struct roost_config *config;
	struct roost_device *device;
};

/* "0000:03:00.0", "03:00.0" or "pci:...": DPDK has to look at that bus. */
static bool is_pci(const char *devargs)
{
	size_t hex;

	if (strncmp(devargs, "pci:", 4) == 0)
		return true;
	hex = strspn(devargs, "0123456789abcdefABCDEF");
	return (hex == 2 || hex == 4) && devargs[hex] == ':';
}

static int start_eal(const struct roost_config *config)
{
	struct roost_eal_conf conf = {
		.verbose = config->verbose,
		.nb_ports = config->nb_ports,
	};

	for (unsigned int i = 0; i < config->nb_ports; i++)
		conf.pci = conf.pci || is_pci(config->ports[i].devargs);
	return roost_eal_start(&conf);
}

static uint64_t run_device(void *ctx, uint64_t now_ns)
{
	struct roost_device *d = ctx;
	uint64_t next_ns = roost_station_run(&d->station, now_ns);

	if (!roost_eal_tidy() && next_ns > now_ns + TIDY_NS)
		next_ns = now_ns + TIDY_NS;
	return next_ns;
}

static uint64_t node_guid(const uint8_t mac[6])
{
	struct roost_gid gid = roost_gid_link_local(mac);
	uint64_t guid = 0;

	for (unsigned int i = 8; i < 16; i++)
		guid = guid << 8 | gid.b[i];
	return guid;
}

static int create_dev(struct roost_device *d)
{
	struct roost_dev_conf conf = {
		.pool = d->station.port.pool,
		.nb_ports = 1,
		.io = { roost_station_io(&d->station) },
		.node_guid = node_guid(d->station.port.mac),
	};
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "roost%u", d->index);
	conf.name = name;
	memcpy(conf.mac[0], d->station.port.mac, sizeof(conf.mac[0]));
	ret = roost_dev_create(&conf, &d->dev);
	if (ret)
		roost_report("%s: cannot make a device of it: %s",
			     d->station.label, strerror(-ret));
	return ret;
}

static int start_turner(struct roost_device *d, enum roost_progress mode)
{
	const struct roost_turner_conf conf = {
		.worker = roost_dev_worker(d->dev),
		.mode = mode,
		.rx = {
			.ctx = &d->station.port,
			.arm = roost_ethport_arm,
			.disarm = roost_ethport_disarm,
		},
		.take_lcore = roost_eal_is_ours(),
	};
	int ret = roost_turner_start(&conf, &d->turner);

	if (ret)
		roost_report("%s: cannot start its thread: %s; see the limits "
			     "of the process",
			     d->station.label, strerror(-ret));
	return ret;
}

static int open_device(void *arg)
{
	const struct opening *o = arg;
	struct roost_device *d = o->device;
	int ret;

	ret = start_eal(o->config);
	if (ret)
		return ret;
	ret = roost_station_open(&d->station, o->config, d->index);
	if (ret)
		return ret;
	ret = create_dev(d);
	if (ret)
		goto close_station;
	ret = start_turner(d, o->config->progress);
	if (ret)
		goto destroy_dev;
	ret = roost_station_start(&d->station, d->dev, 1, d->turner);
	if (ret)
		goto stop_turner;
	d->client = (struct roost_control_client){
		.run = run_device,
		.ctx = d,
	};
	roost_control_add(&d->client);
	return 0;
stop_turner:
	roost_turner_stop(d->turner);
destroy_dev:
	roost_dev_destroy(d->dev);
close_station:
	roost_station_close(&d->station);
	roost_station_free(&d->station);
	return ret;
}

static int close_device(void *arg)
{
	struct roost_device *d = arg;

	roost_control_remove(&d->client);
	roost_station_farewell(&d->station);
	roost_turner_stop(d->turner);
	roost_station_close(&d->station);
	roost_dev_destroy(d->dev);
	roost_station_free(&d->station);
	return 0;
}

/* ---- API ----------------------------------------------------------------- */

static struct roost_device *find(unsigned int index)
{
	struct roost_device *d;

	LIST_FOREACH(d, &devices.list, link)
		if (d->index == index)
			return d;
	return NULL;
}

/* Under devices.lock. */
static int open_new(const struct roost_config *config, unsigned int index,
		    struct roost_device **device)
{
	struct roost_device *d = calloc(1, sizeof(*d));
	struct opening opening = { .config = config, .device = d };
	int ret;

	if (!d) {
		roost_report("device roost%u: no memory", index);
		return -ENOMEM;
	}
	d->index = index;
	d->refs = 1;
	d->opener = getpid();
	ret = roost_control_get();
	if (ret) {
		roost_report("device roost%u: cannot start a thread: %s; see "
			     "the limits of the process",
			     index, strerror(-ret));
		goto free_device;
	}
	ret = roost_control_call(open_device, &opening);
	if (ret)
		goto put_control;
	LIST_INSERT_HEAD(&devices.list, d, link);
	*device = d;
	return 0;
put_control:
	roost_control_put();
free_device:
	free(d);
	return ret;
}

int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device)
{
	struct roost_device *d;
	int ret = 0;

	if (index >= config->nb_ports) {
		roost_report("device roost%u: the configuration has %u ports; "
			     "add one with --port or --link",
			     index, config->nb_ports);
		return -EINVAL;
	}
	pthread_mutex_lock(&devices.lock);
	d = find(index);
	if (d) {
		d->refs++;
		*device = d;
	} else {
		ret = open_new(config, index, device);
	}
	pthread_mutex_unlock(&devices.lock);
	return ret;
}

void roost_device_close(struct roost_device *device)
{
	pthread_mutex_lock(&devices.lock);
	if (--device->refs == 0) {
		LIST_REMOVE(device, link);
		roost_control_call(close_device, device);
		roost_control_put();
		free(device);
	}
	pthread_mutex_unlock(&devices.lock);
}

/*
 * A program may exit without closing anything, right after the completion that
 * it waited for. What it owes its peers still goes out: an answer waits for
 * the iteration after (lib/engine/worker.c). Bounded, because the thread that
 * has the turn may be gone by now; not in a child that was forked, whose
 * threads are.
 */
__attribute__((destructor)) static void answer_at_exit(void)
{
	struct roost_device *d;

	if (pthread_mutex_trylock(&devices.lock) != 0)
		return;
	LIST_FOREACH(d, &devices.list, link)
		if (d->opener == getpid())
			roost_turner_settle(d->turner);
	pthread_mutex_unlock(&devices.lock);
}

struct roost_dev *roost_device_dev(struct roost_device *device)
{
	return device->dev;
}

bool roost_device_help(struct roost_device *device)
{
	return roost_turner_help(device->turner);
}

void roost_device_expect(struct roost_device *device)
{
	roost_turner_expect(device->turner);
}
