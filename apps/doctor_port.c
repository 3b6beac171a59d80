/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Steps of roost doctor: a port of the configuration, before it is opened. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/doctor_patient.h"
#include "apps/service.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/port/port_spec.h"
#include "pmd_glue/process/rights.h"

/* ---- what kind it is ----------------------------------------------------- */

static void init_dpdk(struct roost_patient *p)
{
	const char *devargs = p->conf->devargs;
	char name[ROOST_PCI_NAME_MAX];

	if (roost_pci_is(devargs, name)) {
		p->kind = ROOST_PATIENT_PCI;
		roost_pci_read(&p->places->pci, name, &p->pci);
	} else if (roost_port_spec_is_netif(devargs, &p->netif)) {
		p->kind = ROOST_PATIENT_IFACE;
		p->has_netif = true;
		memcpy(p->iface, p->netif.name, sizeof(p->iface));
		/* net_af_xdp is tried, too, and needs more. */
		p->driver = roost_driver_find("net_af_packet");
	} else if (roost_driver_kernel(devargs, p->iface, sizeof(p->iface)) ==
			   ROOST_KERNEL_SHARES &&
		   p->iface[0]) {
		p->kind = ROOST_PATIENT_IFACE;
		p->has_netif = roost_netif_find(p->iface, &p->netif);
	} else {
		p->kind = ROOST_PATIENT_DRIVER;
	}
}

void roost_patient_init(struct roost_patient *p,
			const struct roost_places *places,
			const struct roost_config *config, unsigned int port)
{
	*p = (struct roost_patient){ .conf = &config->ports[port],
				     .places = places };
	roost_config_label(config, port, true, p->label);
	p->driver = roost_driver_find(p->conf->devargs);
	if (p->conf->link[0])
		p->kind = ROOST_PATIENT_LINK;
	else if (strcmp(p->conf->service, "hub") == 0)
		p->kind = ROOST_PATIENT_HUB;
	else if (p->conf->service[0])
		p->kind = ROOST_PATIENT_SERVICE;
	else
		init_dpdk(p);
}

/* ---- the steps ----------------------------------------------------------- */

static void look_at_service(const struct roost_patient *p,
			    struct roost_finding *f)
{
	char path[ROOST_SERVICE_MAX];
	size_t path_bytes;
	int nb;

	if (p->kind != ROOST_PATIENT_SERVICE) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  p->kind == ROOST_PATIENT_HUB
					  ? "the hub is started when needed"
					  : "no daemon has this port");
		return;
	}
	roost_config_service_port(p->conf->service, &path_bytes);
	snprintf(path, sizeof(path), "%.*s", (int)path_bytes, p->conf->service);
	nb = roost_service_ask(path);
	if (nb > 0) {
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "roostd answers, and has %d port%s", nb,
				  nb == 1 ? "" : "s");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "%s: %s", path,
			  strerror(-nb));
	roost_finding_blame(
		f, ROOST_VERDICT_FAILURE, "%s",
		nb == -ENOENT ? "no socket of that name; start roostd, or name "
				"the socket that it has"
		: nb == -ECONNREFUSED
			? "a socket is there, and no roostd behind it; start "
			  "roostd (\"systemctl status roostd\" tells why it "
			  "ended)"
		: nb == -EACCES
			? "this user may not connect; ask its administrator "
			  "for access to the socket and its folder"
		: nb == -EPROTONOSUPPORT || nb == -EPROTO || nb == -ECONNRESET
			? "roostd is of another version than this libroost; "
			  "restart roostd after an upgrade, or install the "
			  "same version at both ends"
			: "it does not answer in time; \"roost ctl list\" and "
			  "roostd's log tell more");
}

static void look_at_driver(const struct roost_patient *p,
			   struct roost_finding *f)
{
	char why[ROOST_PCI_WHY_MAX];
	const bool is_bound = p->pci.driver[0] &&
			      (p->pci.is_uio || p->pci.group >= 0) &&
			      p->pci.iface[0] == '\0';

	if (p->kind != ROOST_PATIENT_PCI) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "this port is no PCI device");
		return;
	}
	if (p->pci.is_there)
		roost_finding_see(f, ROOST_VERDICT_OK, "%s: driver %s",
				  p->pci.name,
				  p->pci.driver[0] ? p->pci.driver : "none");
	else
		roost_finding_see(f, ROOST_VERDICT_FAILURE, "%s: not there",
				  p->pci.name);
	if ((!is_bound || strcmp(p->pci.driver, "vfio-pci") != 0) &&
	    roost_pci_refuses(&p->pci,
			      geteuid() == 0 &&
				      roost_hugepages_free_mb(
					      p->places->hugepages) != 0,
			      why))
		roost_finding_blame(f, ROOST_VERDICT_FAILURE, "%s", why);
}

static void look_at_group(const struct roost_patient *p,
			  struct roost_finding *f)
{
	char why[ROOST_PCI_WHY_MAX];

	if (p->kind != ROOST_PATIENT_PCI || p->pci.group < 0 ||
	    strcmp(p->pci.driver, "vfio-pci") != 0) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "vfio-pci does not have this port");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%s/%s%d can be opened",
			  p->places->pci.vfio, p->pci.is_bare ? "noiommu-" : "",
			  p->pci.group);
	if (!roost_pci_refuses(&p->pci,
			       geteuid() == 0 &&
				       roost_hugepages_free_mb(
					       p->places->hugepages) != 0,
			       why))
		return;
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "group %d", p->pci.group);
	roost_finding_blame(f, ROOST_VERDICT_FAILURE, "%s", why);
}

static void look_at_rights(const struct roost_patient *p,
			   struct roost_finding *f)
{
	char lacks[ROOST_RIGHTS_MAX];
	const char *wanted = p->driver->rights;

	if (!wanted || p->kind == ROOST_PATIENT_LINK ||
	    p->kind == ROOST_PATIENT_HUB || p->kind == ROOST_PATIENT_SERVICE) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "this port needs no capability");
		return;
	}
	if (!roost_rights_lack(wanted, lacks)) {
		roost_finding_see(f, ROOST_VERDICT_OK, "%s", wanted);
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "the driver needs %s",
			  wanted);
	roost_finding_blame(f, ROOST_VERDICT_FAILURE,
			    "this process lacks %s; run as root, or give it "
			    "that (setpriv, --cap-add of a container); --link, "
			    "--hub and --service need none",
			    lacks);
}

const struct roost_doctor_step roost_doctor_port[] = {
	{ "service", look_at_service },
	{ "driver", look_at_driver },
	{ "vfio group", look_at_group },
	{ "interface", roost_doctor_interface },
	{ "MTU", roost_doctor_mtu },
	{ "rings", roost_doctor_rings },
	{ "offloads", roost_doctor_offloads },
	{ "rights", look_at_rights },
};
const size_t roost_doctor_nb_port =
	sizeof(roost_doctor_port) / sizeof(roost_doctor_port[0]);
