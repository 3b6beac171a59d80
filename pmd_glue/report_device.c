/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/report_device.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "lib/config/addr.h"
#include "lib/config/resolve.h"
#include "pmd_glue/process/report.h"

/* Print the path of the verbs library that the program uses; without one, the
 * path of libroost.
 */
static void report_library(void)
{
	const void *at = dlsym(RTLD_DEFAULT, "ibv_open_device");
	char path[PATH_MAX];
	Dl_info info;

	if (!at)
		at = (const void *)report_library;
	if (dladdr(at, &info) && info.dli_fname)
		roost_report("library: %s", realpath(info.dli_fname, path)
						    ? path
						    : info.dli_fname);
}

void roost_report_process(const struct roost_config *config,
			  const struct roost_backend *backend)
{
	static const struct roost_backend *reported[ROOST_BACKENDS_MAX];
	unsigned int i = 0;

	if (!config->verbose)
		return;
	while (i < RTE_DIM(reported) && reported[i] && reported[i] != backend)
		i++;
	if (i == RTE_DIM(reported) || reported[i])
		return;
	reported[i] = backend;
	if (i == 0)
		report_library();
	if (backend->report_process)
		backend->report_process();
}

/* Print each GID with its address, in the order of the GID table. */
static void report_gids(const char *label,
			const struct roost_backend_port *port,
			const struct roost_backend_view *view)
{
	char text[INET6_ADDRSTRLEN], prefix[ROOST_PREFIX_STRLEN];
	struct roost_gid gid;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		const char *from = "link-local";

		roost_port_query_gid(port->dev, port->port_num, i, &gid);
		if (roost_gid_is_zero(&gid))
			continue;
		for (unsigned int k = 0; k < view->addrs.nb; k++)
			if (roost_gid_eq(&view->addrs.v[k].gid, &gid))
				from = roost_prefix_format(&view->addrs.v[k],
							   prefix);
		inet_ntop(AF_INET6, gid.b, text, sizeof(text));
		roost_report("%s: GID %u: %s (%s)", label, i, text, from);
	}
	if (view->addrs.nb == 0)
		roost_report("%s: no address but the link-local one; give one "
			     "with --ip%s",
			     label,
			     view->has_interface
				     ? " or to the kernel's interface"
				     : "");
}

static void report_port(unsigned int index,
			const struct roost_backend_port *port)
{
	struct roost_port_attr attr = { .state = ROOST_PORT_DOWN };
	char label[ROOST_LABEL_MAX + 32];
	struct roost_backend_view view;

	roost_port_query(port->dev, port->port_num, &attr);
	port->backend->view(port, &view);
	snprintf(label, sizeof(label), "roost%u port %u", index,
		 port->port_num);
	roost_report("%s: %s, %s, MAC %02x:%02x:%02x:%02x:%02x:%02x, "
		     "IP MTU %u, link %s",
		     label, port->label, view.device, view.mac[0], view.mac[1],
		     view.mac[2], view.mac[3], view.mac[4], view.mac[5],
		     view.mtu_bytes,
		     attr.state == ROOST_PORT_ACTIVE ? "up" : "down");
	report_gids(label, port, &view);
}

void roost_report_device(const struct roost_config *config, unsigned int index,
			 struct roost_backend_port *const *ports,
			 unsigned int nb_ports)
{
	if (!config->verbose)
		return;
	roost_report("roost%u: progress %s, workers %u", index,
		     config->progress == ROOST_PROGRESS_DEDICATED ? "dedicated"
								  : "adaptive",
		     RTE_MAX(config->nb_workers, 1u));
	for (unsigned int i = 0; i < nb_ports; i++)
		report_port(index, ports[i]);
}
