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

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/config/fail.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/workers.h"
#include "lib/event/process.h"
#include "lib/face/shim.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/ctl_telemetry.h"
#include "pmd_glue/process/debug.h"
#include "pmd_glue/device.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/netif/guid.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/port/port_word.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/netif/rx_sleep.h"
#include "pmd_glue/netif/station.h"
#include "pmd_glue/tell.h"
#include "pmd_glue/progress/progress.h"

#define TIDY_NS 200000000u
/* Open waits for the link, because some programs give up without one. A NIC
 * brings its link up after open; a vhost peer tries to connect once a second.
 */
#define NIC_LINK_WAIT_NS 5000000000u
#define VHOST_LINK_WAIT_NS 2000000000u
#define LINK_LOOK_US 10000u

struct roost_device {
	/* By worker. First member: help is hot. */
	struct roost_progress *progress[ROOST_WORKERS_MAX];
	unsigned int nb_progress;
	enum roost_progress_mode mode;
	struct roost_dev *dev;
	unsigned int index;
	unsigned int refs; /* under devices.lock */
	uint32_t process;  /* the process that opened it */
	struct roost_rx_sleep sleeps[ROOST_WORKERS_MAX]; /* by worker */
	unsigned int nb_stations;
	struct roost_station stations[ROOST_DEVICE_PORTS_MAX]; /* its ports */
	struct roost_control_client client;
	struct roost_ctl_device ctl;
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

/* Collect what a port needs of EAL, before EAL is started. */
static void look_at_port(const char *devargs, struct roost_eal_conf *conf)
{
	struct roost_pci_device pci;
	char name[ROOST_PCI_NAME_MAX];

	if (!roost_pci_is(devargs, name))
		return;
	conf->pci = true; /* EAL has to scan the PCI bus */
	roost_pci_read(&roost_pci_places, name, &pci);
	conf->physical = conf->physical || pci.is_bare;
}

static int start_eal(const struct roost_config *config)
{
	struct roost_eal_conf conf = { .verbose = config->verbose };
	unsigned int nb_queues;

	for (unsigned int i = 0; i < config->nb_ports; i++) {
		const char *devargs = config->ports[i].devargs;

		look_at_port(devargs, &conf);
		nb_queues = roost_port_word_nb_queues(
			devargs, RTE_MAX(config->nb_workers, 1u));
		conf.nb_queues +=
			RTE_MIN(nb_queues, (unsigned int)ROOST_WORKERS_MAX);
	}
	return roost_eal_start(&conf);
}

static uint64_t run_device(void *ctx, uint64_t now_ns)
{
	struct roost_device *d = ctx;
	uint64_t next_ns = UINT64_MAX;

	for (unsigned int i = 0; i < d->nb_stations; i++)
		next_ns = RTE_MIN(next_ns,
				  roost_station_run(&d->stations[i], now_ns));
	next_ns = RTE_MIN(next_ns, roost_dev_service_run_all(d->dev, now_ns));
	if (!roost_eal_tidy() && next_ns > now_ns + TIDY_NS)
		next_ns = now_ns + TIDY_NS;
	return next_ns;
}

/* The pool with the largest mbufs: packets of any port have to fit. */
static struct rte_mempool *roomiest_pool(const struct roost_device *d)
{
	struct rte_mempool *pool = d->stations[0].port->pool;

	for (unsigned int i = 1; i < d->nb_stations; i++) {
		struct rte_mempool *other = d->stations[i].port->pool;

		if (rte_pktmbuf_data_room_size(other) >
		    rte_pktmbuf_data_room_size(pool))
			pool = other;
	}
	return pool;
}

static int create_dev(struct roost_device *d, const struct roost_config *config)
{
	struct roost_dev_conf conf = {
		.pool = roomiest_pool(d),
		.nb_ports = d->nb_stations,
		.nb_workers = config->nb_workers,
		.node_guid = roost_device_guid(config, d->index),
	};
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "roost%u", d->index);
	conf.name = name;
	for (unsigned int i = 0; i < d->nb_stations; i++) {
		conf.frame_io[i] = roost_station_frame_io(&d->stations[i]);
		conf.addr_io[i] = roost_host_addr_io(d->stations[i].host);
		memcpy(conf.mac[i], d->stations[i].port->mac,
		       sizeof(conf.mac[i]));
		conf.vlan_id[i] = d->stations[i].subport.vlan_id;
		conf.punts_vlans[i] = d->stations[i].twin != NULL;
	}
	ret = roost_dev_create(&conf, &d->dev);
	if (ret)
		roost_report("%s: cannot make a device of it: %s",
			     d->stations[0].label, strerror(-ret));
	return ret;
}

/* ---- its workers --------------------------------------------------------- */

static int start_one(struct roost_device *d, unsigned int i)
{
	struct roost_progress_conf conf = {
		.worker = roost_dev_worker_at(d->dev, i),
		.index = i,
		.mode = d->mode,
		.take_lcore = roost_eal_is_ours(),
	};
	int ret = roost_rx_sleep_open(&d->sleeps[i], d->stations,
				      d->nb_stations, i);

	if (ret)
		return ret;
	conf.rx = roost_rx_sleep_io(&d->sleeps[i]);
	ret = roost_progress_start(&conf, &d->progress[i]);
	if (ret)
		roost_rx_sleep_close(&d->sleeps[i]);
	return ret;
}

/* Stop worker 0 last: it also sends frames of the other workers. */
static void stop_progress(struct roost_device *d)
{
	while (d->nb_progress > 0) {
		roost_progress_stop(d->progress[--d->nb_progress]);
		roost_rx_sleep_close(&d->sleeps[d->nb_progress]);
	}
}

static int start_progress(struct roost_device *d, enum roost_progress_mode mode)
{
	int ret = 0;

	d->mode = mode;
	while (!ret && d->nb_progress < roost_dev_nb_workers(d->dev)) {
		ret = start_one(d, d->nb_progress);
		d->nb_progress += ret == 0;
	}
	if (ret)
		stop_progress(d);
	if (ret)
		roost_report("%s: cannot start its thread: %s; see the limits "
			     "of the process",
			     d->stations[0].label, strerror(-ret));
	return ret;
}

/* ---- open, close --------------------------------------------------------- */

static void hush_stations(struct roost_device *d)
{
	for (unsigned int i = 0; i < d->nb_stations; i++)
		roost_station_hush(&d->stations[i]);
}

static void close_stations(struct roost_device *d)
{
	for (unsigned int i = 0; i < d->nb_stations; i++)
		roost_station_close(&d->stations[i]);
}

/* After all are closed: a port may hold packets of another port's pool. */
static void free_stations(struct roost_device *d)
{
	for (unsigned int i = 0; i < d->nb_stations; i++)
		roost_station_free(&d->stations[i]);
}

static int open_stations(struct roost_device *d,
			 const struct roost_config *config)
{
	unsigned int first = 0;
	unsigned int nb = roost_config_device_ports(config, d->index, &first);
	int ret;

	for (unsigned int i = 0; i < nb; i++) {
		ret = roost_station_open(&d->stations[i], config, first + i);
		if (ret) {
			close_stations(d);
			free_stations(d);
			return ret;
		}
		d->nb_stations++;
	}
	return 0;
}

static int start_stations(struct roost_device *d)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < d->nb_stations; i++)
		ret = roost_station_start(&d->stations[i], d->dev,
					  (uint8_t)(i + 1), d->progress);
	return ret;
}

static int open_device(void *arg)
{
	const struct opening *o = arg;
	struct roost_device *d = o->device;
	int ret;

	roost_debug_apply(o->config);
	ret = start_eal(o->config);
	if (ret)
		return ret;
	roost_tell_process(o->config);
	ret = open_stations(d, o->config);
	if (ret)
		return ret;
	ret = create_dev(d, o->config);
	if (ret)
		goto close_stations;
	ret = start_progress(d, o->config->progress);
	if (ret)
		goto destroy_dev;
	ret = start_stations(d);
	if (ret)
		goto stop_progress;
	d->client = (struct roost_control_client){
		.run = run_device,
		.ctx = d,
	};
	roost_control_add(&d->client);
	d->ctl = (struct roost_ctl_device){ .dev = d->dev };
	for (unsigned int i = 0; i < d->nb_stations; i++)
		d->ctl.stations[i] = &d->stations[i];
	roost_ctl_add(&d->ctl);
	roost_ctl_telemetry_register(roost_device_call);
	roost_tell_device(o->config, d->index, d->stations, d->nb_stations);
	return 0;
stop_progress:
	hush_stations(d);
	stop_progress(d);
destroy_dev:
	roost_dev_destroy(d->dev);
close_stations:
	close_stations(d);
	free_stations(d);
	return ret;
}

static int close_device(void *arg)
{
	struct roost_device *d = arg;

	roost_ctl_remove(&d->ctl);
	roost_control_remove(&d->client);
	for (unsigned int i = 0; i < d->nb_stations; i++)
		roost_station_farewell(&d->stations[i]);
	hush_stations(d);
	stop_progress(d);
	close_stations(d);
	roost_dev_destroy(d->dev);
	free_stations(d);
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
	unsigned int first;
	uint64_t guid;

	roost_config_device_ports(config, index, &first);
	port = &config->ports[first];
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

/* Thread: an application's. */
static void wait_for_links(struct roost_device *d)
{
	uint64_t begin_ns = roost_now_ns();
	struct roost_port_attr attr;

	for (unsigned int i = 0; i < d->nb_stations; i++) {
		const struct roost_ethport *port = d->stations[i].port;
		uint64_t wait_ns = port->driver->is_vhost ? VHOST_LINK_WAIT_NS
				   : port->pci.name[0]    ? NIC_LINK_WAIT_NS
							  : 0;

		while (roost_now_ns() < begin_ns + wait_ns &&
		       roost_port_query(d->dev, (uint8_t)(i + 1), &attr) == 0 &&
		       attr.state != ROOST_PORT_ACTIVE)
			usleep(LINK_LOOK_US);
	}
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
	wait_for_links(d);
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
static void tell_inherited(unsigned int index)
{
	static _Atomic uint32_t told;
	const uint32_t process = roost_process();

	if (atomic_exchange(&told, process) != process)
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
			     "devices; add one with --port or --link",
			     index, roost_config_nb_devices(config));
		return -EINVAL;
	}
	if (roost_eal_is_inherited()) {
		tell_inherited(index);
		return -EBUSY;
	}
	pthread_mutex_lock(&devices.lock);
	d = find(index);
	if (d && roost_dev_failed(d->dev)) {
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

/* Twice: worker 0 sends and receives for workers that have no queue. */
static void settle(struct roost_device *d)
{
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = d->nb_progress; i-- > 0;)
			roost_progress_settle(d->progress[i]);
}

static void return_mtus(struct roost_device *d)
{
	for (unsigned int i = 0; i < d->nb_stations; i++)
		roost_mtu_loan_return(&d->stations[i].port->mtu_loan);
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
			roost_dev_service_farewell(d->dev);
			settle(d);
			return_mtus(d);
			ours = true;
		}
	pthread_mutex_unlock(&devices.lock);
	if (ours)
		roost_ctl_farewell();
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
	return device->dev;
}

/* Of these: bit 1 << number. */
static bool help_workers(struct roost_device *d, uint32_t workers)
{
	bool found = false;

	for (unsigned int i = 0; i < d->nb_progress; i++)
		if (workers & 1u << i)
			found |= roost_progress_help(d->progress[i]);
	return found;
}

bool roost_device_help(struct roost_device *device)
{
	return help_workers(device, UINT32_MAX);
}

bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq)
{
	uint32_t workers;

	if (device->nb_progress == 1)
		return roost_progress_help(device->progress[0]);
	workers = roost_cq_workers(cq);
	return help_workers(device, workers) || help_workers(device, ~workers);
}

void roost_device_send_end(struct roost_device *device, struct roost_qp *qp)
{
	roost_progress_send_end(device->progress[roost_qp_worker(qp)], qp);
}

void roost_device_send_batched(struct roost_device *device)
{
	for (unsigned int i = 0; i < device->nb_progress; i++)
		roost_progress_send_batched(device->progress[i]);
}

void roost_device_expect(struct roost_device *device)
{
	for (unsigned int i = 0; i < device->nb_progress; i++)
		roost_progress_expect(device->progress[i]);
}
