/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_RX_SLEEP_H
#define ROOST_PMD_GLUE_NETIF_RX_SLEEP_H

/*
 * What a worker's thread sleeps on: the RX interrupts of its queues, at all
 * ports where it has some.
 */

#include <stdbool.h>

#include <roost/config.h>
#include "pmd_glue/progress/progress.h"

struct roost_station;

struct roost_rx_sleep {
	struct roost_station *stations; /* of the device */
	unsigned int nb_stations;
	unsigned int worker; /* its number */
	int epoll_fd;        /* of several ports; -1: there is one */
	bool watched[ROOST_DEVICE_PORTS_MAX]; /* in epoll_fd; under the turn */
};

/*
 * For that worker; stations stays where it is, and is open.
 * Returns 0, -EMFILE, -ENFILE, -ENOMEM; then nothing is open.
 * Thread: the control thread.
 */
int roost_rx_sleep_open(struct roost_rx_sleep *sleep,
			struct roost_station *stations,
			unsigned int nb_stations, unsigned int worker);
/* How its progress engine uses it. All members are NULL where it has no queue.
 */
struct roost_progress_rx roost_rx_sleep_io(struct roost_rx_sleep *sleep);
/* Nobody sleeps on it any more. Thread: the control thread. */
void roost_rx_sleep_close(struct roost_rx_sleep *sleep);

#endif
