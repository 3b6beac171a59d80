/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/intr_quirk.h"

/* The key of workers' owners, which register nothing. Ports have the name of
 * their socket as the key.
 */
#define WORKER_KEY "worker"

int roost_intr_quirk_open(struct roost_quirk_port *port,
			  const struct roost_quirk_conf *conf,
			  char *why __attribute__((unused)),
			  size_t size __attribute__((unused)))
{
	roost_intr_owner_open(&port->intr, conf->socket, conf->trust);
	return 0;
}

void roost_intr_quirk_close(struct roost_quirk_port *port)
{
	roost_intr_owner_close(&port->intr);
}

void roost_intr_quirk_enter(struct roost_quirk_port *port)
{
	roost_intr_gate_enter(&port->intr);
}

void roost_intr_quirk_add_worker(struct roost_quirk_worker *w,
				 struct roost_worker *worker)
{
	roost_intr_owner_open(&w->owner, WORKER_KEY, NULL);
	w->owner.worker = worker;
}

void roost_intr_quirk_del_worker(struct roost_quirk_worker *w)
{
	roost_intr_owner_close(&w->owner);
}

void roost_intr_quirk_hang_up(const struct roost_quirk_port *port)
{
	roost_intr_owner_hang_up(&port->intr);
}

bool roost_intr_quirk_is_busy(const struct roost_quirk_port *port)
{
	return roost_intr_owner_is_busy(&port->intr);
}
