/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/tell.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/dev.h"
#include "lib/config/addr.h"
#include "pmd_glue/port/ethport.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/process/rights.h"

/* Capabilities, and the kinds of port that need them. */
static const struct {
	const char *name;
	const char *kinds;
} capabilities[] = {
	{ "CAP_NET_RAW", "af_packet, af_xdp" },
	{ "CAP_NET_ADMIN", "af_xdp, tap, twin" },
	{ "CAP_BPF", "af_xdp" },
	{ "CAP_SYS_ADMIN", "physical addresses" },
	{ "CAP_IPC_LOCK", "PCI" },
};

static void tell_capabilities(void)
{
	char lists[2][256] = { "", "" }, lacks[ROOST_RIGHTS_MAX];
	char *const found = lists[0], *const missing = lists[1];

	for (size_t i = 0; i < RTE_DIM(capabilities); i++) {
		const char *name = capabilities[i].name;
		char *list = lists[roost_rights_lack(name, lacks)];
		const size_t len = strlen(list);

		snprintf(list + len, sizeof(lists[0]) - len, "%s%s (%s)",
			 len ? ", " : "", name, capabilities[i].kinds);
	}
	roost_report("capabilities: found %s; missing %s",
		     found[0] ? found : "none", missing[0] ? missing : "none");
}

/* Print the path of the verbs library that the program uses; without one, the
 * path of libroost.
 */
static void tell_library(void)
{
	const void *at = dlsym(RTLD_DEFAULT, "ibv_open_device");
	char path[PATH_MAX];
	Dl_info info;

	if (!at)
		at = (const void *)tell_library;
	if (dladdr(at, &info) && info.dli_fname)
		roost_report("library: %s", realpath(info.dli_fname, path)
						    ? path
						    : info.dli_fname);
}

void roost_tell_process(const struct roost_config *config)
{
	static bool told;

	if (!config->verbose || told)
		return;
	told = true;
	tell_library();
	tell_capabilities();
	roost_report("huge pages: %s, %lu MB are free",
		     rte_eal_has_hugepages() ? "used"
					     : "not used (pages of 4 KiB are)",
		     roost_hugepages_free_mb());
}

/* Print each GID with its address, in the order of the GID table. */
static void tell_gids(const char *label, const struct roost_station *s)
{
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	unsigned int nb = roost_gid_table_fill(gids, s->mac, &s->addrs);
	char gid[INET6_ADDRSTRLEN], prefix[ROOST_PREFIX_STRLEN];

	for (unsigned int i = 0; i < nb; i++) {
		const char *from = "link-local";

		for (unsigned int k = 0; k < s->addrs.nb; k++)
			if (roost_gid_eq(&s->addrs.v[k].gid, &gids[i]))
				from = roost_prefix_format(&s->addrs.v[k],
							   prefix);
		inet_ntop(AF_INET6, gids[i].b, gid, sizeof(gid));
		roost_report("%s: GID %u: %s (%s)", label, i, gid, from);
	}
	if (s->addrs.nb == 0)
		roost_report("%s: no address but the link-local one; give one "
			     "with --ip%s",
			     label,
			     s->nl_link ? " or to the kernel's interface" : "");
}

static void tell_port(unsigned int index, unsigned int number,
		      const struct roost_station *s)
{
	char label[ROOST_LABEL_MAX + 32];

	snprintf(label, sizeof(label), "roost%u port %u", index, number);
	roost_report("%s: %s, DPDK device %s, MAC "
		     "%02x:%02x:%02x:%02x:%02x:%02x, IP MTU %u, link %s",
		     label, s->label, s->port->devargs, s->mac[0], s->mac[1],
		     s->mac[2], s->mac[3], s->mac[4], s->mac[5],
		     roost_station_mtu(s),
		     s->last_link.state == ROOST_PORT_ACTIVE ? "up" : "down");
	tell_gids(label, s);
}

void roost_tell_device(const struct roost_config *config, unsigned int index,
		       const struct roost_station *stations,
		       unsigned int nb_stations)
{
	if (!config->verbose)
		return;
	roost_report("roost%u: progress %s, workers %u", index,
		     config->progress == ROOST_PROGRESS_DEDICATED ? "dedicated"
								  : "adaptive",
		     RTE_MAX(config->nb_workers, 1u));
	for (unsigned int i = 0; i < nb_stations; i++)
		tell_port(index, i + 1, &stations[i]);
}
