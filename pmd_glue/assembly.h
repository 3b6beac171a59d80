/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_ASSEMBLY_H
#define ROOST_PMD_GLUE_ASSEMBLY_H

/*
 * A device with its ports: they are opened and joined by the engine's device,
 * progress engines turn its workers, and the control thread runs its control
 * side. A device of a program (device.c) and an uplink (uplink.c) are one each.
 *
 * Thread: the control thread, unless a function says otherwise.
 */

#include <roost/config.h>
#include "pmd_glue/backend/rx_sleep.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/picture.h"
#include "pmd_glue/ports.h"
#include "pmd_glue/dump/dump.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/progress/progress.h"

struct roost_assembly_conf {
	const struct roost_config *config;
	unsigned int index; /* of the device */
	uint64_t node_guid;
	/* A caller turns the workers, and has functions of its own between the
	 * engine and the port: change conf before the device is made. NULL: the
	 * workers have threads.
	 */
	void (*interpose)(void *ctx, struct roost_dev_conf *conf);
	/* The control side has run: something may have changed. NULL: nobody
	 * asks.
	 */
	void (*ran)(void *ctx);
	void *ctx;
};

struct roost_assembly {
	/* By worker. First member: help is hot. */
	struct roost_progress *progress[ROOST_WORKERS_MAX];
	unsigned int nb_progress;
	struct roost_dev *dev;
	struct roost_rx_sleep sleeps[ROOST_WORKERS_MAX]; /* by worker */
	struct roost_ports ports;
	struct roost_assembly_conf conf; /* config: until open returns */
	struct roost_control_client client;
	struct roost_ctl_device ctl;
	struct roost_dump_dev dump;
	struct roost_picture_live picture;
};

/* *a is zeros. Returns as roost_device_open(), reported; after an error nothing
 * is open.
 */
int roost_assembly_open(struct roost_assembly *a,
			const struct roost_assembly_conf *conf);
void roost_assembly_close(struct roost_assembly *a);

/* Send what waits, as roost_progress_settle(), of all workers. Thread: any. */
void roost_assembly_settle(const struct roost_assembly *a);

#endif
