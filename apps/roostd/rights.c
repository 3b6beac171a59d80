/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/rights.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	"CAP_NET_RAW",   "CAP_NET_ADMIN", "CAP_BPF",       "CAP_PERFMON",
	"CAP_SYS_ADMIN", "CAP_IPC_LOCK",  "CAP_SYS_RAWIO",
};

enum {
	RAW = 1 << 0,
	ADMIN = 1 << 1,
	BPF = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5,
	ALL = (1 << 7) - 1,
};

/* By the beginning of the devargs. */
static const struct {
	const char *prefix;
	uint32_t needs;
} drivers[] = {
	{ "net_af_packet", RAW | ADMIN },
	{ "eth_af_packet", RAW | ADMIN },
	{ "net_af_xdp", RAW | ADMIN | BPF },
	{ "net_tap", RAW | ADMIN },
	{ "eth_tap", RAW | ADMIN },
	{ "net_memif", 0 },
	{ "net_ring", 0 },
	{ "net_null", 0 },
	{ "net_vhost", 0 },
	{ "eth_vhost", 0 },
	{ "net_bonding", ALL },
	{ "eth_bond", ALL },
};

/* PCI addresses have colons, drivers' devices their prefix; else it is a
 * kernel's interface.
 */
static uint32_t needs_of(const char *devargs)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strncmp(devargs, drivers[i].prefix,
			    strlen(drivers[i].prefix)) == 0)
			return drivers[i].needs;
	if (strncmp(devargs, "net_virtio_user", 15) == 0)
		return strstr(devargs, "path=/dev/") ? RAW | ADMIN : 0;
	if (strchr(devargs, ':') || strncmp(devargs, "net_", 4) == 0)
		return ALL;
	return RAW | ADMIN | BPF;
}

void roostd_rights_needed(const struct roost_config *config,
			  char list[ROOSTD_RIGHTS_MAX])
{
	uint32_t needs = 0;
	size_t len = 0;

	for (unsigned int i = 0; i < config->nb_ports; i++) {
		const struct roost_port_config *port = &config->ports[i];

		if (port->devargs[0])
			needs |= needs_of(port->devargs);
		if (port->twin[0])
			needs |= RAW | ADMIN;
	}
	list[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (needs & 1u << i)
			len += (size_t)snprintf(list + len,
						ROOSTD_RIGHTS_MAX - len, "%s%s",
						len ? "," : "", names[i]);
}
