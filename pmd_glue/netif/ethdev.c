/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/ethdev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "pmd_glue/cable/cable.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/netif/interface.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/port/port_spec.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/process/rights.h"

#define TIDY_NS 200000000u

static struct roost_interface *of(struct roost_backend_port *port)
{
	return (struct roost_interface *)port;
}

static const struct roost_interface *
of_const(const struct roost_backend_port *p)
{
	return (const struct roost_interface *)p;
}

/* ---- the process --------------------------------------------------------- */

static bool takes(const struct roost_port_config *conf __attribute__((unused)))
{
	return true;
}

static bool takes_link(const struct roost_port_config *conf)
{
	return conf->link[0] != '\0';
}

/* Collect what a port needs of EAL, before EAL is started. */
static void look_at_port(const char *devargs, struct roost_eal_conf *conf)
{
	struct roost_pci_device pci;
	char name[ROOST_PCI_NAME_MAX];

	if (!roost_pci_is(devargs, name))
		return;
	conf->pci = true; /* EAL has to scan the PCI bus */
	roost_pci_read(&roost_pci_places, name, &pci);
	conf->physical = conf->physical || pci.is_bare;
}

static int prepare(const struct roost_config *config)
{
	struct roost_eal_conf conf = { .verbose = config->verbose };
	unsigned int nb_queues;

	for (unsigned int i = 0; i < config->nb_ports; i++) {
		const char *devargs = config->ports[i].devargs;

		if (!devargs[0])
			continue; /* a port without EAL */
		look_at_port(devargs, &conf);
		nb_queues = roost_port_spec_nb_queues(
			devargs, RTE_MAX(config->nb_workers, 1u));
		conf.nb_queues +=
			RTE_MIN(nb_queues, (unsigned int)ROOST_WORKERS_MAX);
	}
	return roost_eal_start(&conf);
}

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

static void report_capabilities(void)
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

static void report_process(void)
{
	report_capabilities();
	roost_report("huge pages: %s, %lu MB are free",
		     rte_eal_has_hugepages() ? "used"
					     : "not used (pages of 4 KiB are)",
		     roost_hugepages_free_mb(ROOST_HUGEPAGES));
}

/* ---- the life of a port -------------------------------------------------- */

static int open_port(const struct roost_config *config, unsigned int index,
		     struct roost_backend_port **port)
{
	struct roost_interface *s = calloc(1, sizeof(*s));
	int ret;

	if (!s) {
		roost_report("port%u: no memory", index);
		return -ENOMEM;
	}
	s->base.backend =
		takes_link(&config->ports[index]) ? &roost_link : &roost_ethdev;
	ret = roost_interface_open(s, config, index);
	if (ret) {
		free(s);
		return ret;
	}
	*port = &s->base;
	return 0;
}

static int start(struct roost_backend_port *port, struct roost_dev *dev,
		 uint8_t port_num, struct roost_progress *const *progress)
{
	return roost_interface_start(of(port), dev, port_num, progress);
}

static uint64_t run(struct roost_backend_port *port, uint64_t now_ns)
{
	uint64_t next_ns = roost_interface_run(of(port), now_ns);

	if (!roost_eal_tidy() && next_ns > now_ns + TIDY_NS)
		next_ns = now_ns + TIDY_NS;
	return next_ns;
}

static void leave(struct roost_backend_port *port)
{
	roost_interface_leave(of(port));
}

static void quiesce(struct roost_backend_port *port)
{
	roost_interface_quiesce(of(port));
}

static void close_port(struct roost_backend_port *port)
{
	roost_interface_close(of(port));
}

static void free_port(struct roost_backend_port *port)
{
	roost_interface_free(of(port));
	free(port);
}

static void return_mtu(struct roost_backend_port *port)
{
	roost_mtu_loan_return(&of(port)->port->mtu_loan);
}

/* ---- sleep --------------------------------------------------------------- */

static int arm(struct roost_backend_port *port, uint16_t queue)
{
	return roost_subport_arm(&of(port)->subport, queue);
}

static void disarm(struct roost_backend_port *port, uint16_t queue)
{
	roost_subport_disarm(&of(port)->subport, queue);
}

/* Did the subport of another device hand frames over? */
static bool is_waiting(const struct roost_backend_port *port)
{
	return roost_subport_is_waiting(&of_const(port)->subport);
}

/* Is it a memif port without a peer? An end of a link sleeps until its peer
 * wakes it.
 */
static bool is_cut_off(const struct roost_backend_port *port)
{
	const struct roost_ethport *p = of_const(port)->port;

	return p->driver->is_memif &&
	       !atomic_load_explicit(&p->carrier, memory_order_relaxed);
}

/* ---- for people ---------------------------------------------------------- */

static void view(const struct roost_backend_port *port,
		 struct roost_backend_view *v)
{
	const struct roost_interface *s = of_const(port);
	const struct roost_nl_link *nl_link = s->inet.nl_link;

	*v = (struct roost_backend_view){
		.has_interface = nl_link != NULL,
		.addrs = s->inet.addrs,
		.mtu_bytes = roost_interface_mtu(s),
		.admin_up = !s->subport.admin_down,
		.carrier = s->last_link.carrier,
		.removed = s->subport.gone,
		.queues = s->port->queues.nb,
		.steering = roost_steering_names[s->port->queues.steering],
		.nic_rules = atomic_load(&s->port->nic_rules.nb_placed),
		.refused_rules = atomic_load(&s->port->nic_rules.nb_refused),
		.missed_pkts = atomic_load_explicit(&s->subport.missed_pkts,
						    memory_order_relaxed),
	};
	if (s->port->cable)
		snprintf(v->device, sizeof(v->device), "end %u",
			 roost_cable_end(s->port->cable));
	else
		snprintf(v->device, sizeof(v->device), "DPDK device %s",
			 s->port->devargs);
	memcpy(v->mac, s->inet.mac, sizeof(v->mac));
	if (nl_link && nl_link->state.there)
		memcpy(v->interface, nl_link->state.name, sizeof(v->interface));
}

static void set_admin(struct roost_backend_port *port, bool up)
{
	roost_interface_set_admin(of(port), up);
}

static int add_addr(struct roost_backend_port *port,
		    const struct roost_prefix *prefix)
{
	return roost_inet_add_addr(&of(port)->inet, prefix);
}

static int del_addr(struct roost_backend_port *port,
		    const struct roost_gid *addr)
{
	return roost_inet_del_addr(&of(port)->inet, addr);
}

static int ping_peer(struct roost_backend_port *port,
		     const struct roost_ping *ping)
{
	return roost_host_ping(of(port)->inet.host, ping);
}

static void hear(struct roost_backend_port *port, struct roost_ping_log *log)
{
	roost_host_hear(of(port)->inet.host, log);
}

static void remove_port(struct roost_backend_port *port, const char *why)
{
	roost_interface_remove(of(port), why);
}

/* What every port with an interface has. */
#define INTERFACE                                                              \
	.open = open_port, .start = start, .run = run, .leave = leave,         \
	.quiesce = quiesce, .close = close_port, .free = free_port,            \
	.exit = return_mtu, .arm = arm, .disarm = disarm,                      \
	.is_waiting = is_waiting, .is_cut_off = is_cut_off, .view = view,      \
	.set_admin = set_admin, .add_addr = add_addr, .del_addr = del_addr,    \
	.ping = ping_peer, .hear = hear, .remove = remove_port

const struct roost_backend roost_ethdev = {
	.name = "ethdev",
	.takes = takes,
	.prepare = prepare,
	.is_inherited = roost_eal_is_inherited,
	.report_process = report_process,
	INTERFACE,
};

const struct roost_backend roost_link = {
	.name = "link",
	.takes = takes_link,
	INTERFACE,
};
