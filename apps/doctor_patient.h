/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_DOCTOR_PATIENT_H
#define ROOST_APPS_DOCTOR_PATIENT_H

/*
 * One port of the configuration, as the steps of `roost doctor` look at it, and
 * the tables of these steps.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "apps/doctor_finding.h"
#include "apps/places.h"
#include "apps/probe/probe.h"
#include "lib/config/resolve.h"
#include "pmd_glue/kernel/netif.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/port/driver.h"

enum roost_patient_kind {
	ROOST_PATIENT_LINK,
	ROOST_PATIENT_HUB,
	ROOST_PATIENT_SERVICE, /* another daemon's port */
	ROOST_PATIENT_PCI,
	ROOST_PATIENT_IFACE,  /* shares an interface with the kernel */
	ROOST_PATIENT_DRIVER, /* another of DPDK's devices, or an unknown one */
};

struct roost_patient {
	const struct roost_port_config *conf;
	const struct roost_places *places;
	enum roost_patient_kind kind;
	char label[ROOST_LABEL_MAX];
	/* The row of the driver that will be tried first. */
	const struct roost_driver *driver;
	struct roost_pci_device pci; /* PCI */
	char iface[IFNAMSIZ];        /* IFACE: its name */
	bool has_netif;              /* IFACE: it exists */
	struct roost_netif netif;
	/* The probe: 0, or as roost_probe(). */
	int probe_ret;
	struct roost_probe_facts facts;
	char lines[ROOST_PROBE_LINES_MAX];
	/* The peer, or NULL. */
	const struct roost_gid *peer;
	char peer_text[64];
};

struct roost_doctor_step {
	const char *name;
	/* The finding is empty: not applicable, without a word. */
	void (*look)(const struct roost_patient *p, struct roost_finding *f);
};

/* Find out what kind of port it is. Probes nothing. Keeps config and places. */
void roost_patient_init(struct roost_patient *p,
			const struct roost_places *places,
			const struct roost_config *config, unsigned int port);

/* Of the machine; p is the first port (doctor_machine.c). */
extern const struct roost_doctor_step roost_doctor_machine[];
extern const size_t roost_doctor_nb_machine;
/* Of a port, before it is opened (doctor_port.c, doctor_netif.c). */
extern const struct roost_doctor_step roost_doctor_port[];
extern const size_t roost_doctor_nb_port;
/* Of a port, by the facts of the probe (doctor_open.c). */
extern const struct roost_doctor_step roost_doctor_open[];
extern const size_t roost_doctor_nb_open;
/* Towards a peer, by the facts of the probe (doctor_peer.c). */
extern const struct roost_doctor_step roost_doctor_peer[];
extern const size_t roost_doctor_nb_peer;

/* Steps of an interface, in the table of the port (doctor_netif.c). */
void roost_doctor_interface(const struct roost_patient *p,
			    struct roost_finding *f);
void roost_doctor_mtu(const struct roost_patient *p, struct roost_finding *f);
void roost_doctor_rings(const struct roost_patient *p, struct roost_finding *f);
void roost_doctor_offloads(const struct roost_patient *p,
			   struct roost_finding *f);

#endif
