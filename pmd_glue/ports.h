/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORTS_H
#define ROOST_PMD_GLUE_PORTS_H

/*
 * The ports of one device, each of the backend that its configuration chooses
 * (pmd_glue/backend/backend.h has the order of the calls).
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/backend/backend.h"

struct roost_ports {
	unsigned int nb;
	struct roost_backend_port *v[ROOST_DEVICE_PORTS_MAX];
};

/* Was this process forked from one that uses what the ports of device number
 * index need? Thread: any.
 */
bool roost_ports_are_inherited(const struct roost_config *config,
			       unsigned int index);
/* Start what the process needs for the ports of device number index. Returns 0,
 * or -errno, reported.
 */
int roost_ports_prepare(const struct roost_config *config, unsigned int index);
/* Open them. Returns 0; or -errno, reported: then none is open. */
int roost_ports_open(struct roost_ports *ports,
		     const struct roost_config *config, unsigned int index);
/* Set in conf what concerns the ports. */
void roost_ports_configure(const struct roost_ports *ports,
			   struct roost_dev_conf *conf);
/* Returns 0; or -errno, reported: some may have started. */
int roost_ports_start(struct roost_ports *ports, struct roost_dev *dev,
		      struct roost_progress *const *progress);
/* Wait for the links, as long as each port says. Some programs give up without
 * a link. Thread: an application's.
 */
void roost_ports_wait(const struct roost_ports *ports);
uint64_t roost_ports_run(const struct roost_ports *ports, uint64_t now_ns);
void roost_ports_leave(const struct roost_ports *ports);
void roost_ports_quiesce(const struct roost_ports *ports);
void roost_ports_close(const struct roost_ports *ports);
/* After all are closed: a port may hold packets of another port's pool. */
void roost_ports_free(struct roost_ports *ports);
/* Thread: any, in place of the control thread. */
void roost_ports_exit(const struct roost_ports *ports);

#endif
