/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/reload.h"

#include <stdlib.h>
#include <string.h>

#include "apps/roostd/admit.h"
#include "lib/config/addr.h"
#include "pmd_glue/process/report.h"

/* What was read at the start stays. */
static void keep_start(struct roostd_service *now,
		       const struct roostd_service *before)
{
	memcpy(now->socket, before->socket, sizeof(now->socket));
	now->mode = before->mode;
	now->gid = before->gid;
	memcpy(now->metrics, before->metrics, sizeof(now->metrics));
	now->metrics_mode = before->metrics_mode;
	now->metrics_gid = before->metrics_gid;
	now->grace_ns = before->grace_ns;
	now->threads = before->threads;
}

static bool is_shared(const struct roostd_port *port,
		      const struct roost_gid *gid)
{
	const struct roost_lease_addr *addr =
		roost_lease_addr_find(port->lease, gid);

	return addr && addr->owner == ROOST_CLIENT_NONE;
}

static bool has_sharers(const struct roostd_port *port)
{
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++)
		if (port->lease->clients[i].used &&
		    port->lease->clients[i].conf.nb_gids == 0)
			return true;
	return port->lease->nb_away > 0;
}

/* Addresses that policies have given away, and those that they have not any
 * more and that no client has.
 */
static void share(struct roostd_port *port)
{
	char text[ROOST_PREFIX_STRLEN];

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		const struct roost_gid *gid = &port->facts.gids[i];

		if (roost_gid_is_zero(gid))
			continue;
		if (!roostd_service_has_addr(port->service, gid))
			roost_lease_addr_add(port->lease, gid);
		else if (is_shared(port, gid) && !has_sharers(port))
			roost_lease_addr_del(port->lease, gid);
		else if (is_shared(port, gid))
			roost_report("%s: address %s is shared by clients that "
				     "are there; it stays shared until they "
				     "have ended and the file is read again",
				     port->label, roost_addr_format(gid, text));
	}
}

int roostd_reload(const char *file, struct roostd_service *service,
		  struct roostd_port *ports)
{
	struct roostd_service *now = calloc(1, sizeof(*now));
	struct roost_config *config = calloc(1, sizeof(*config));
	char err[ROOST_CONFIG_ERR_MAX] =
		"no memory to read the file; free some";
	int ret = -1;

	if (now && config)
		ret = roostd_service_load(file, config, now, err);
	if (ret) {
		roost_report("%s", err);
		roost_report("%s: not taken: the policies of before hold; "
			     "correct it and send SIGHUP again",
			     file);
	} else {
		keep_start(now, service);
		*service = *now;
		for (uint32_t i = 0; i < ports->nb_ports; i++) {
			share(&ports[i]);
			roostd_admit_again(&ports[i]);
		}
	}
	free(config);
	free(now);
	return ret;
}
