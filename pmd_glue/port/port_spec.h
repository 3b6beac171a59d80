/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_PORT_SPEC_H
#define ROOST_PMD_GLUE_PORT_PORT_SPEC_H

/*
 * A port spec: the text by which a user names a port, if not DPDK's devargs. A
 * kernel's interface (eth1) is opened by the driver that fits best. For an RDMA
 * device (mlx5_0), or a name that does not exist, the error gives advice. A
 * driver's name or a PCI address goes to DPDK unchanged.
 *
 * Reads what the kernel shows (pmd_glue/kernel/netif.h) and changes nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include "pmd_glue/port/ethport.h"
#include "pmd_glue/kernel/netif.h"

#define ROOST_PORT_SPEC_WHY_MAX 640

/* Other properties that the configuration asks for. */
struct roost_port_wish {
	bool vlan;          /* the port is on one VLAN or several */
	uint32_t mtu_bytes; /* IP MTU; 0: do not change it */
};

/* Is it an interface's name, with or without a driver's arguments behind it?
 * Thread: any.
 */
bool roost_port_spec_is_netif(const char *spec, struct roost_netif *netif);

/* The drivers for an interface: net_af_xdp, or else net_af_packet. */
#define ROOST_PORT_SPEC_XDP "net_af_xdp"
#define ROOST_PORT_SPEC_PACKET "net_af_packet"

/* Is it a driver's device, or a PCI device? Thread: any. */
bool roost_port_spec_is_dpdks(const char *spec);

/* Why net_af_xdp is not tried for the interface with this wish: "it takes no
 * VLAN". NULL: it is tried. why: a buffer of ROOST_PORT_SPEC_WHY_MAX bytes, in
 * which the returned text may be. Thread: any.
 */
const char *roost_port_spec_no_xdp(const char *spec,
				   const struct roost_netif *netif,
				   const struct roost_port_wish *wish,
				   char *why);

/* As roost_driver_nb_queues(), of any spec. Thread: any. */
unsigned int roost_port_spec_nb_queues(const char *spec,
				       unsigned int nb_workers);

/* The devargs for an interface's spec: DRIVERnumber,iface=NAME and its
 * arguments. Returns 0, -ENAMETOOLONG. Thread: any.
 */
int roost_port_spec_devargs(const char *spec, const char *driver,
			    unsigned int number,
			    char devargs[ROOST_DEVARGS_MAX]);

/* Write advice about a name that DPDK does not know: what it names, or which
 * name was probably meant. place: ROOST_RDMA_PLACE. why:
 * ROOST_PORT_SPEC_WHY_MAX bytes. Thread: any.
 */
void roost_port_spec_advise(const char *spec, const char *place, char *why);

/*
 * As roost_ethport_open(), with the user's spec in conf->devargs. For a
 * kernel's interface, devargs becomes the devargs that were opened. Both
 * devargs and conf->devargs must live as long as the port. One line on stderr
 * tells the driver and the reason. index: the port's number. Thread: the
 * control thread. (port_spec_open.c)
 */
int roost_port_spec_open(struct roost_ethport *port,
			 struct roost_ethport_conf *conf, unsigned int index,
			 char devargs[ROOST_DEVARGS_MAX]);

#endif
