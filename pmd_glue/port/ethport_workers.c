/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The workers that call the bursts of a port, and their turns. */
#include "lib/engine/sched/worker.h"
#include "pmd_glue/port/ethport.h"

static void set_first_worker(struct roost_ethport *port)
{
	roost_quirk_set_first_worker(&port->quirk, port->nb_workers
							   ? port->workers[0]
							   : NULL);
}

void roost_ethport_add_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk)
{
	port->workers[port->nb_workers++] = worker;
	set_first_worker(port);
	if (quirk)
		roost_quirk_add_worker(&port->quirk, quirk, worker);
}

void roost_ethport_del_worker(struct roost_ethport *port,
			      struct roost_worker *worker,
			      struct roost_quirk_worker *quirk)
{
	unsigned int i = 0;

	if (quirk)
		roost_quirk_del_worker(quirk);
	while (port->workers[i] != worker)
		i++;
	/* Keep the order, in which their turns are taken. */
	for (port->nb_workers--; i < port->nb_workers; i++)
		port->workers[i] = port->workers[i + 1];
	set_first_worker(port);
}

/* Is it the worker's first entry? A device may have two subports here. */
static bool is_first(const struct roost_ethport *port, unsigned int place)
{
	for (unsigned int i = 0; i < place; i++)
		if (port->workers[i] == port->workers[place])
			return false;
	return true;
}

void roost_ethport_hold(struct roost_ethport *port)
{
	for (unsigned int i = 0; i < port->nb_workers; i++)
		if (is_first(port, i))
			roost_worker_turn_take(port->workers[i]);
}

void roost_ethport_release(struct roost_ethport *port)
{
	for (unsigned int i = 0; i < port->nb_workers; i++)
		if (is_first(port, i))
			roost_worker_turn_release(port->workers[i]);
}
