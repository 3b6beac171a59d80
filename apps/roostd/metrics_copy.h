/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_METRICS_COPY_H
#define ROOST_APPS_ROOSTD_METRICS_COPY_H

/*
 * What metrics tell of the daemon, as copies: of its ports and clients, made by
 * the daemon's thread; of its devices, made by the control thread; of the
 * process, from /proc. The number of each is bounded, so that a scrape is.
 */

#include "apps/roostd/ctl_row.h"
#include "apps/thread_stat.h"
#include "lib/sysfs/picture.h"
#include "pmd_glue/ctl/ctl_row.h"

/* Of all ports; what is beyond is in the totals of its port. */
#define ROOSTD_METRICS_CLIENTS_MAX 256u
#define ROOSTD_METRICS_DEVICES_MAX ROOST_PORTS_MAX
#define ROOSTD_METRICS_THREADS_MAX 32u

struct roostd_metrics_port {
	struct roostd_shared_row row;
	uint32_t speed_mbps; /* 0: not known */
	/* Of all clients, those that have gone included, and the daemon. */
	struct roost_switch_counters total;
	/* What the clients' engines tell, which they can lie about. */
	bool has_engines;
	struct roost_picture_counters engines;
};

struct roostd_metrics_device {
	struct roost_device_row row;
	struct roost_dev_counters counters;
	struct roost_port_row port; /* a daemon's device has one */
};

/* Threads of one name. */
struct roostd_metrics_thread {
	char name[ROOST_THREAD_NAME_MAX];
	uint64_t cpu_ns;
};

struct roostd_metrics_process {
	uint64_t start_ns; /* of the Unix epoch; 0: not known */
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t open_fds;
	uint64_t max_fds;
	uint64_t cpu_ns;
};

struct roostd_metrics_copy {
	const struct roostd_port *first; /* the daemon's thread's */
	uint32_t nb_ports;
	struct roostd_metrics_port ports[ROOST_PORTS_MAX];
	uint32_t nb_clients; /* in the array */
	uint32_t nb_left_out;
	struct roostd_client_row clients[ROOSTD_METRICS_CLIENTS_MAX];
	uint32_t nb_devices;
	struct roostd_metrics_device devices[ROOSTD_METRICS_DEVICES_MAX];
	uint32_t nb_threads;
	struct roostd_metrics_thread threads[ROOSTD_METRICS_THREADS_MAX];
	struct roostd_metrics_process process;
	uint64_t nb_cut; /* connections of scrapers; the caller's */
};

/*
 * Copy what there is; first is set. Returns 0; -EBUSY: the daemon's thread did
 * not come to it within a second. Thread: one that neither the daemon's nor the
 * control thread waits for but at their ends, with a reference to the control
 * thread.
 */
int roostd_metrics_copy(struct roostd_metrics_copy *copy);

#endif
