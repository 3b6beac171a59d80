/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CONFORM_AGENT_CM_H
#define ROOST_APPS_CONFORM_AGENT_CM_H

/*
 * The connection of one case, by librdmacm: a listener on an IPv4 address of
 * the device under test, and what it is asked. One thread.
 *
 * Functions that return bool: false with errno set where a call fails.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

struct agent_cm {
	struct rdma_event_channel *channel; /* NULL: there is no listener */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *conn; /* NULL: nobody has asked */
};

/* Listens for connections (RDMA_PS_TCP). */
bool agent_cm_listen(struct agent_cm *cm, uint32_t addr_be, uint16_t port);

/*
 * Waits for an event, for so many ms, and acknowledges it. A CONNECT_REQUEST's
 * id becomes conn; those of later ones are destroyed. Returns its type, -1 when
 * the time is over.
 */
int agent_cm_event(struct agent_cm *cm, int ms);

/* Makes a QP for conn and accepts it. */
bool agent_cm_accept(struct agent_cm *cm);

bool agent_cm_reject(struct agent_cm *cm);

bool agent_cm_disconnect(struct agent_cm *cm);

/* Ends a case: nothing of it is left. */
void agent_cm_reset(struct agent_cm *cm);

#endif
