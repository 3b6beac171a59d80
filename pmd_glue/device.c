/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <roost/roost.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/config/fail.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/workers.h"
#include "lib/event/process.h"
#include "lib/face/shim.h"
#include "pmd_glue/assembly.h"
#include "pmd_glue/ctl/ctl_telemetry.h"
#include "pmd_glue/device.h"
#include "pmd_glue/netif/guid.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"

struct roost_device {
	struct roost_assembly a; /* first member: help is hot */
	unsigned int index;
	unsigned int refs;             /* under devices.lock */
	uint32_t process;              /* the process that opened it */
	LIST_ENTRY(roost_device) link; /* under devices.lock */
};

/* The lock is held while a device opens or closes: a second open of the same
 * device waits for the result.
 */
static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, roost_device) list; /* of this process */
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t guid_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- on the control thread ---------------------------------------------- */

struct opening {
	const struct roost_config *config;
	struct roost_device *device;
};

static int open_device(void *arg)
{
	const struct opening *o = arg;
	const struct roost_assembly_conf conf = {
		.config = o->config,
		.index = o->device->index,
		.node_guid = roost_device_guid(o->config, o->device->index),
	};
	int ret = roost_assembly_open(&o->device->a, &conf);

	if (!ret)
		roost_ctl_telemetry_register(roost_device_call);
	return ret;
}

static int close_device(void *arg)
{
	struct roost_device *d = arg;

	roost_assembly_close(&d->a);
	return 0;
}

/* ---- forks --------------------------------------------------------------- */

/* In a forked child: devices and control thread belong to the parent. */
static void forget(void)
{
	pthread_mutex_init(&devices.lock, NULL);
	pthread_mutex_init(&guid_lock, NULL);
	LIST_INIT(&devices.list);
	roost_control_forget();
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = forget };

	roost_process_at_child(&child);
}

/* ---- API ----------------------------------------------------------------- */

/* The GUID of a link is random: make it once, and keep it by name. */
uint64_t roost_device_guid(const struct roost_config *config,
			   unsigned int index)
{
	static struct {
		char link[ROOST_LINK_NAME_MAX + 1];
		uint64_t guid;
	} kept[ROOST_PORTS_MAX];
	const struct roost_port_config *port;
	char service[ROOST_SERVICE_MAX + 32];
	unsigned int first;
	uint64_t guid;

	roost_config_device_ports(config, index, &first);
	port = &config->ports[first];
	if (port->service[0]) {
		/* One for all clients of a daemon, as behind one HCA. */
		if (port->service[0] == '/')
			return roost_guid_of_devargs(port->service, 0);
		snprintf(service, sizeof(service), "%s of user %u",
			 port->service, getuid());
		return roost_guid_of_devargs(service, 0);
	}
	if (!port->link[0])
		return roost_guid_of_devargs(port->devargs, port->vlan_id);
	pthread_mutex_lock(&guid_lock);
	if (strcmp(kept[index].link, port->link) != 0) {
		snprintf(kept[index].link, sizeof(kept[index].link), "%s",
			 port->link);
		kept[index].guid = roost_guid_of_link(port->link);
	}
	guid = kept[index].guid;
	pthread_mutex_unlock(&guid_lock);
	return guid;
}

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
	d->process = roost_process();
	ret = roost_control_get();
	if (ret) {
		roost_report("device roost%u: cannot start a thread: %s; %s",
			     index, strerror(-ret), roost_limit_fix(-ret));
		goto free_device;
	}
	ret = roost_control_call(open_device, &opening);
	if (ret)
		goto put_control;
	roost_ports_wait(&d->a.ports);
	LIST_INSERT_HEAD(&devices.list, d, link);
	*device = d;
	return 0;
put_control:
	roost_control_put();
free_device:
	free(d);
	return ret;
}

/* Once per process: a program may try all devices, again and again. */
static void report_inherited(unsigned int index)
{
	static _Atomic uint32_t reported;
	const uint32_t process = roost_process();

	if (atomic_exchange(&reported, process) != process)
		roost_report("device roost%u: this process was forked from one "
			     "in which DPDK runs, and cannot have a device; "
			     "fork before the first device is opened, or "
			     "execute the program anew",
			     index);
}

int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device)
{
	struct roost_device *d;
	int ret = 0;

	if (index >= roost_config_nb_devices(config)) {
		roost_report("device roost%u: the configuration has %u "
			     "devices; add one with --port, --link or --hub",
			     index, roost_config_nb_devices(config));
		return -EINVAL;
	}
	if (roost_ports_are_inherited(config, index)) {
		report_inherited(index);
		return -EBUSY;
	}
	pthread_mutex_lock(&devices.lock);
	d = find(index);
	if (d && roost_dev_failed(d->a.dev)) {
		roost_report("device roost%u: its port was removed while the "
			     "program ran; start the program again when it is "
			     "back",
			     index);
		ret = -ENODEV;
	} else if (d) {
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
	if (device->process != roost_process())
		return;
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
 * A program may exit without closing its devices, right after its last
 * completion. Its answers to peers are still sent, which takes one iteration
 * more (lib/engine/sched/worker.c). Bounded: the thread that has the turn may
 * be gone. Not in a forked child.
 */
__attribute__((destructor)) static void answer_at_exit(void)
{
	struct roost_device *d;
	bool ours = false;

	if (pthread_mutex_trylock(&devices.lock) != 0)
		return;
	LIST_FOREACH(d, &devices.list, link)
		if (d->process == roost_process()) {
			roost_dev_service_flush(d->a.dev);
			roost_assembly_settle(&d->a);
			roost_ports_exit(&d->a.ports);
			ours = true;
		}
	pthread_mutex_unlock(&devices.lock);
	if (ours)
		roost_ctl_flush();
}

int roost_device_call(int (*fn)(void *arg), void *arg)
{
	int ret = -ENODEV;

	pthread_mutex_lock(&devices.lock);
	if (!LIST_EMPTY(&devices.list))
		ret = roost_control_call(fn, arg);
	pthread_mutex_unlock(&devices.lock);
	return ret;
}

struct roost_dev *roost_device_dev(struct roost_device *device)
{
	return device->a.dev;
}

/* Of these: bit 1 << number. */
static bool help_workers(struct roost_device *d, uint32_t workers)
{
	bool found = false;

	for (unsigned int i = 0; i < d->a.nb_progress; i++)
		if (workers & 1u << i)
			found |= roost_progress_help(d->a.progress[i]);
	return found;
}

void roost_device_push(struct roost_device *device, const struct roost_qp *qp)
{
	roost_progress_push(device->a.progress[roost_qp_worker(qp)]);
}

uint64_t roost_device_attend(struct roost_device *device)
{
	bool found = false;

	roost_dev_service_attend(true);
	for (unsigned int i = 0; i < device->a.nb_progress; i++)
		found |= roost_progress_attend(device->a.progress[i]);
	roost_dev_service_attend(false);
	return found ? roost_now_ns() : 0;
}

bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq)
{
	uint32_t workers;

	if (device->a.nb_progress == 1)
		return roost_progress_help(device->a.progress[0]);
	workers = roost_cq_workers(cq);
	return help_workers(device, workers) || help_workers(device, ~workers);
}

struct roost_backend_port *roost_device_port(struct roost_device *device,
					     uint8_t port_num)
{
	return port_num >= 1 && port_num <= device->a.ports.nb
		       ? device->a.ports.v[port_num - 1]
		       : NULL;
}

void roost_device_send_end(struct roost_device *device, struct roost_qp *qp)
{
	roost_progress_send_end(device->a.progress[roost_qp_worker(qp)], qp);
}

void roost_device_send_batched(struct roost_device *device)
{
	for (unsigned int i = 0; i < device->a.nb_progress; i++)
		roost_progress_send_batched(device->a.progress[i]);
}

void roost_device_expect(struct roost_device *device)
{
	for (unsigned int i = 0; i < device->a.nb_progress; i++)
		roost_progress_expect(device->a.progress[i]);
}
