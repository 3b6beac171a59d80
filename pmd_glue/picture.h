/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PICTURE_H
#define ROOST_PMD_GLUE_PICTURE_H

/*
 * An open device in the picture (lib/sysfs/picture.h) that the launcher has
 * made for this program: its ports are put there before the program has the
 * device, again a few milliseconds after a change, and its counters once a
 * second. Without a picture, or without the right to write there, nothing
 * happens.
 *
 * A daemon keeps a picture of its ports (apps/roostd/picture.h), and clients
 * write nothing there; but once a second they tell it their counters, whether
 * they have a picture or not.
 *
 * Thread: the control thread, for all functions.
 */

#include <stdint.h>

#include "lib/sysfs/sum.h"
#include "pmd_glue/ports.h"

struct roost_picture_live {
	char path[ROOST_PICTURE_PATH_MAX]; /* empty: none to write to */
	const struct roost_ports *ports;
	struct roost_dev *dev;
	/* What was put. */
	struct roost_picture_port put[ROOST_DEVICE_PORTS_MAX];
	struct roost_picture_counters counters; /* of all processes */
	struct roost_picture_counters told;     /* to daemons */
	unsigned int row; /* this process's (lib/sysfs/sum.h) */
	/* Ports are looked at not before, and not later. */
	uint64_t look_ns;
	uint64_t count_ns;
};

/* Put the device there. ports and dev outlive it. */
void roost_picture_live_open(struct roost_picture_live *live,
			     const struct roost_ports *ports,
			     struct roost_dev *dev);
/* Do what is due. Returns the time in ns of the next call; UINT64_MAX: none. */
uint64_t roost_picture_live_run(struct roost_picture_live *live,
				uint64_t now_ns);
/* Put the last counters. */
void roost_picture_live_close(struct roost_picture_live *live);

#endif
