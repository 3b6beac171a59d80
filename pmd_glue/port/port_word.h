/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_PORT_WORD_H
#define ROOST_PMD_GLUE_PORT_PORT_WORD_H

/*
 * What users call a port, beside DPDK's devargs: a kernel's interface (eth1) is
 * opened by the driver that fits it best, an RDMA device (mlx5_0) is told what
 * it is, and a name that nobody has is told which one comes near. What DPDK
 * knows itself, a driver's name or a PCI address, is its own affair.
 *
 * Reads what the kernel shows (pmd_glue/kernel/netif.h) and changes nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include "pmd_glue/port/ethport.h"
#include "pmd_glue/kernel/netif.h"

#define ROOST_PORT_WORD_WHY_MAX 640

/* What else is wanted of the port. */
struct roost_port_wish {
	bool vlan;          /* it is on a VLAN, or several */
	uint32_t mtu_bytes; /* of IP; 0: as it is */
};

/* Is it an interface's name, with or without a driver's arguments behind it?
 * Thread: any.
 */
bool roost_port_word_is_netif(const char *word, struct roost_netif *netif);

/* The drivers that an interface is opened by: this one, or else the other. */
#define ROOST_PORT_WORD_XDP "net_af_xdp"
#define ROOST_PORT_WORD_PACKET "net_af_packet"

/* Is it a driver's device, or a PCI device? Thread: any. */
bool roost_port_word_is_dpdks(const char *word);

/* Why net_af_xdp is not tried for the interface, as the user asks for it:
 * "it takes no VLAN". NULL: only trying tells. why: ROOST_PORT_WORD_WHY_MAX
 * bytes that it may be in. Thread: any.
 */
const char *roost_port_word_no_xdp(const char *word,
				   const struct roost_netif *netif,
				   const struct roost_port_wish *wish,
				   char *why);

/* As roost_driver_nb_queues(), of any word. Thread: any. */
unsigned int roost_port_word_nb_queues(const char *word,
				       unsigned int nb_workers);

/* The devargs for an interface's word: DRIVERnumber,iface=NAME and its
 * arguments. Returns 0, -ENAMETOOLONG. Thread: any.
 */
int roost_port_word_devargs(const char *word, const char *driver,
			    unsigned int number,
			    char devargs[ROOST_DEVARGS_MAX]);

/* About a name that DPDK does not know: what it is, or which one may be meant.
 * place: ROOST_RDMA_PLACE. why: ROOST_PORT_WORD_WHY_MAX bytes. Thread: any.
 */
void roost_port_word_advise(const char *word, const char *place, char *why);

/*
 * As roost_ethport_open(), with conf->devargs as the user wrote them. Of an
 * interface, devargs becomes what was opened; it lives as long as the port, as
 * what conf->devargs points to. One line says which driver, and why.
 * index: the port's number. Thread: the control thread. (port_word_open.c)
 */
int roost_port_word_open(struct roost_ethport *port,
			 struct roost_ethport_conf *conf, unsigned int index,
			 char devargs[ROOST_DEVARGS_MAX]);

#endif
