/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/quirk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmd_glue/quirks/cancel_gate.h"
#include "pmd_glue/quirks/eal_epoll.h"
#include "pmd_glue/quirks/eal_tsc.h"

int roost_quirk_open(struct roost_quirk_port *port,
		     const struct roost_quirk *quirk,
		     const struct roost_quirk_conf *conf, char *why,
		     size_t size)
{
	int ret = 0;

	why[0] = '\0';
	port->quirk = NULL;
	if (!quirk)
		return 0;
	if (quirk->put)
		ret = quirk->put(quirk->library);
	if (ret) {
		snprintf(why, size,
			 "%s: %s; install DPDK's drivers, as shared libraries",
			 quirk->library,
			 ret == -ENOENT ? quirk->missing : strerror(-ret));
		return -ENODEV;
	}
	if (quirk->open)
		ret = quirk->open(port, conf, why, size);
	if (!ret)
		port->quirk = quirk;
	return ret;
}

void roost_quirk_close(struct roost_quirk_port *port)
{
	if (port->quirk && port->quirk->close)
		port->quirk->close(port);
	port->quirk = NULL;
}

void roost_quirk_enter(struct roost_quirk_port *port)
{
	if (port->quirk && port->quirk->enter)
		port->quirk->enter(port);
}

void roost_quirk_leave(struct roost_quirk_port *port)
{
	if (port->quirk && port->quirk->leave)
		port->quirk->leave();
}

void roost_quirk_add_worker(const struct roost_quirk_port *port,
			    struct roost_quirk_worker *w,
			    struct roost_worker *worker)
{
	w->quirk = port->quirk;
	if (w->quirk && w->quirk->add_worker)
		w->quirk->add_worker(w, worker);
}

void roost_quirk_del_worker(struct roost_quirk_worker *w)
{
	if (w->quirk && w->quirk->del_worker)
		w->quirk->del_worker(w);
	w->quirk = NULL;
}

void roost_quirk_set_first_worker(struct roost_quirk_port *port,
				  struct roost_worker *worker)
{
	if (port->quirk && port->quirk->set_first_worker)
		port->quirk->set_first_worker(port, worker);
}

void roost_quirk_hang_up(const struct roost_quirk_port *port)
{
	if (port->quirk && port->quirk->hang_up)
		port->quirk->hang_up(port);
}

bool roost_quirk_is_busy(const struct roost_quirk_port *port)
{
	return port->quirk && port->quirk->is_busy &&
	       port->quirk->is_busy(port);
}

int roost_quirk_sockets(const struct roost_quirk_port *port, const int **fds)
{
	return port->quirk && port->quirk->sockets
		       ? port->quirk->sockets(port, fds)
		       : -ENOTSUP;
}

void roost_quirk_read_errors(const struct roost_quirk_port *port)
{
	if (port->quirk && port->quirk->read_errors)
		port->quirk->read_errors(port);
}

bool roost_quirk_why(const struct roost_quirk_port *port, const char *iface,
		     char *text, size_t size)
{
	return port->quirk && port->quirk->why &&
	       port->quirk->why(port, iface, text, size);
}

void roost_quirks_before_eal(void)
{
	roost_eal_epoll_put();
	roost_eal_tsc_begin();
}

int roost_quirks_after_eal(void)
{
	roost_eal_tsc_end();
	return roost_cancel_gate_put();
}
