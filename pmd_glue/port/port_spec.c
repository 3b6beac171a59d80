/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/port_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/nearest.h"

#define NAMES_MAX 128u
#define NAME_MAX_BYTES 64u

/* Drivers of virtual devices that a user may mean. */
static const char *const drivers[] = {
	"net_af_packet", "net_af_xdp", "net_bonding",     "net_failsafe",
	"net_memif",     "net_null",   "net_pcap",        "net_ring",
	"net_tap",       "net_vhost",  "net_virtio_user",
};

/* Prefixes of names that RDMA drivers, or udev, give to RDMA devices. */
static const char *const rdma_names[] = {
	"mlx",  "rxe",   "siw",  "irdma",  "i40iw", "bnxt_re", "roce",
	"ibp",  "hfi1",  "qedr", "efa_",   "erdma", "hns_",    "cxgb",
	"mana", "mthca", "qib",  "ocrdma", "vmw_p",
};

#define NB(a) (sizeof(a) / sizeof((a)[0]))

/* ---- interfaces ------------------------------------------------------------
 */

bool roost_port_spec_is_dpdks(const char *spec)
{
	char name[ROOST_PCI_NAME_MAX];

	return roost_driver_find(spec)->prefix[0] != '\0' ||
	       roost_pci_is(spec, name);
}

bool roost_port_spec_is_netif(const char *spec, struct roost_netif *netif)
{
	char name[IFNAMSIZ];

	if (roost_port_spec_is_dpdks(spec) ||
	    strcspn(spec, ",") >= sizeof(name))
		return false;
	roost_devargs_name(spec, name, sizeof(name));
	return roost_netif_find(name, netif);
}

/* net_af_packet and net_af_xdp have the same number. */
unsigned int roost_port_spec_nb_queues(const char *spec,
				       unsigned int nb_workers)
{
	struct roost_netif netif;

	return roost_driver_nb_queues(roost_port_spec_is_netif(spec, &netif)
					      ? ROOST_PORT_SPEC_PACKET
					      : spec,
				      nb_workers);
}

int roost_port_spec_devargs(const char *spec, const char *driver,
			    unsigned int number,
			    char devargs[ROOST_DEVARGS_MAX])
{
	const int len = snprintf(devargs, ROOST_DEVARGS_MAX, "%s%u,iface=%s",
				 driver, number, spec);

	return len < ROOST_DEVARGS_MAX ? 0 : -ENAMETOOLONG;
}

/* Does the driver know the arguments after the interface's name? */
static bool takes_args(const char *spec, const char *driver, char *unknown)
{
	char devargs[ROOST_DEVARGS_MAX], advice[ROOST_DEVARG_ADVICE_MAX];

	return roost_port_spec_devargs(spec, driver, 0, devargs) == 0 &&
	       roost_driver_check_keys(devargs, unknown, advice) == 0;
}

const char *roost_port_spec_no_xdp(const char *spec,
				   const struct roost_netif *netif,
				   const struct roost_port_wish *wish,
				   char *why)
{
	const uint32_t most =
		roost_driver_find(ROOST_PORT_SPEC_XDP)->ip_mtu_bytes("");
	const uint32_t mtu =
		wish->mtu_bytes ? wish->mtu_bytes : netif->mtu_bytes;
	char unknown[ROOST_DEVARG_KEY_MAX];

	if (wish->vlan)
		return "it takes no VLAN";
	if (strcmp(netif->kind, "vlan") == 0)
		return "it takes no VLAN, and the interface is one";
	if (mtu > most) {
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "its MTU is %u at most, and %u is wanted", most, mtu);
		return why;
	}
	if (!takes_args(spec, ROOST_PORT_SPEC_XDP, unknown)) {
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "it has no argument \"%s\"", unknown);
		return why;
	}
	return NULL;
}

/* ---- names that do not exist -----------------------------------------------
 */

/* Candidates for a name that was misspelt. */
struct names {
	char text[NAMES_MAX][NAME_MAX_BYTES];
	const char *v[NAMES_MAX];
	size_t nb;
};

static void add(struct names *names, const char *format, const char *name,
		const char *digits)
{
	if (names->nb == NAMES_MAX)
		return;
	names->v[names->nb] = names->text[names->nb];
	snprintf(names->text[names->nb++], NAME_MAX_BYTES, format, name,
		 digits);
}

/* Add each driver with the digits of the given name, with and without "net_",
 * which users often forget; then all interfaces.
 */
static void fill(struct names *names, const char *given)
{
	const char *digits = given + strlen(given);
	struct roost_netif *all = NULL;
	unsigned int nb = 0;

	while (digits > given && isdigit((unsigned char)digits[-1]))
		digits--;
	names->nb = 0;
	for (size_t i = 0; i < NB(drivers); i++) {
		add(names, "%s%s", drivers[i], *digits ? digits : "0");
		add(names, "%s%s", drivers[i] + 4, *digits ? digits : "0");
	}
	if (roost_netif_list(&all, &nb) != 0)
		return;
	for (unsigned int i = 0; i < nb; i++)
		if (!roost_netif_refuses(&all[i]))
			add(names, "%s%s", all[i].name, "");
	free(all);
}

static bool is_rdma_name(const char *name)
{
	for (size_t i = 0; i < NB(rdma_names); i++)
		if (strncmp(name, rdma_names[i], strlen(rdma_names[i])) == 0)
			return true;
	return false;
}

static void tell_rdma(const struct roost_rdma_device *d, char *why)
{
	if (d->netif[0] && d->pci[0])
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "it is an RDMA device: of interface %s, PCI device "
			 "%s; give --port %s, or --port %s to drive it by DPDK",
			 d->netif, d->pci, d->netif, d->pci);
	else if (d->netif[0])
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "it is an RDMA device: of interface %s; give --port "
			 "%s",
			 d->netif, d->netif);
	else if (d->pci[0])
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "it is an RDMA device, of PCI device %s, without a "
			 "network interface here; give --port %s",
			 d->pci, d->pci);
	else
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "it is an RDMA device without a network interface or "
			 "PCI device; \"roost ports\" lists what can be a "
			 "port");
}

void roost_port_spec_advise(const char *spec, const char *place, char *why)
{
	static _Thread_local struct names names;
	struct roost_rdma_device rdma;
	char given[NAME_MAX_BYTES];
	const char *nearest, *net;

	roost_devargs_name(spec, given, sizeof(given));
	if (roost_rdma_find(place, given, &rdma)) {
		tell_rdma(&rdma, why);
		return;
	}
	fill(&names, given);
	nearest = roost_name_nearest(given, names.v, names.nb);
	/* In the order of fill(): every second one is without "net_". */
	net = nearest;
	for (size_t i = 1; i < 2 * NB(drivers); i += 2)
		if (nearest == names.v[i])
			net = names.v[i - 1];
	if (nearest)
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "there is no such interface, PCI device or driver of "
			 "DPDK; did you mean \"%s\"? \"roost ports\" lists "
			 "what can be a port",
			 net);
	else
		snprintf(why, ROOST_PORT_SPEC_WHY_MAX,
			 "there is no such %s; \"roost ports\" lists what can "
			 "be a port",
			 is_rdma_name(given)
				 ? "RDMA device in this machine, and so no "
				   "interface or PCI device that it is"
				 : "interface, PCI device or driver of DPDK");
}
