/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_BACKEND_RX_SLEEP_H
#define ROOST_PMD_GLUE_BACKEND_RX_SLEEP_H

/*
 * The RX interrupts of one worker, on which its thread sleeps: those of its
 * queues on all ports of the device.
 */

#include <stdbool.h>

#include <roost/config.h>
#include "pmd_glue/progress/progress.h"

struct roost_backend_port;

struct roost_rx_sleep {
	struct roost_backend_port *const *ports; /* of the device */
	unsigned int nb_ports;
	unsigned int worker; /* number of the worker in the device */
	int epoll_fd;        /* if there are several ports; -1: one port */
	/* The port's descriptor is in epoll_fd. Writer: holder of the turn. */
	bool watched[ROOST_DEVICE_PORTS_MAX];
};

/*
 * Set up *sleep for that worker. ports are open until roost_rx_sleep_close(),
 * and the array stays. Returns 0; -EMFILE, -ENFILE, -ENOMEM: nothing is open.
 * Thread: the control thread.
 */
int roost_rx_sleep_open(struct roost_rx_sleep *sleep,
			struct roost_backend_port *const *ports,
			unsigned int nb_ports, unsigned int worker);
/* The functions for the worker's progress engine; NULL if the worker has no
 * queue.
 */
struct roost_progress_rx roost_rx_sleep_io(struct roost_rx_sleep *sleep);
/* Close; no thread sleeps on it any more. Thread: the control thread. */
void roost_rx_sleep_close(struct roost_rx_sleep *sleep);

#endif
