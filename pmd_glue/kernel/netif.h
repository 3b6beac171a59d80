/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_NETIF_H
#define ROOST_PMD_GLUE_KERNEL_NETIF_H

/*
 * The kernel's network interfaces of this network namespace, and its RDMA
 * devices with the interfaces below them: candidates for a port. Reads the
 * present state by netlink, ethtool and sysfs, and changes nothing. Changes are
 * followed by pmd_glue/kernel/nl_link.h.
 *
 * Thread: any.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/kernel/pci.h"

#define ROOST_RDMA_NAME_MAX 64 /* bytes, terminating zero included */

struct roost_netif {
	unsigned int ifindex;
	char name[IFNAMSIZ];
	uint16_t type; /* ARPHRD_... */
	bool up;       /* administratively up (IFF_UP) */
	bool running;  /* up, and with a carrier */
	uint32_t mtu_bytes;
	char kind[16];   /* "veth", "vlan", "bridge"; empty: hardware */
	uint32_t xdp_id; /* of the XDP program on it; 0: none */
	char driver[32]; /* the kernel's driver; empty: not known */
	char pci[ROOST_PCI_NAME_MAX]; /* its PCI device; empty: none */
};

/* List all interfaces, in order of ifindex. The caller frees *all. Returns 0,
 * -ENOMEM, or the error of a netlink socket.
 */
int roost_netif_list(struct roost_netif **all, unsigned int *nb);
/* Find an interface by name. Returns false: there is none of that name. */
bool roost_netif_find(const char *name, struct roost_netif *netif);
/* Why the interface cannot be a port: "<cause>; <fix>". NULL: it can. */
const char *roost_netif_refuses(const struct roost_netif *netif);

struct roost_rdma_device {
	char name[ROOST_RDMA_NAME_MAX];
	char netif[IFNAMSIZ];         /* of its first port; empty: none */
	char pci[ROOST_PCI_NAME_MAX]; /* empty: none */
};

/* The kernel's folder of RDMA devices; tests use another one. By a detour that
 * the preloaded library (lib/preload) does not take for a path of ours.
 */
#define ROOST_RDMA_PLACE "/proc/self/root/sys/class/infiniband"

/* Returns false: the kernel has no RDMA device of that name. */
bool roost_rdma_find(const char *place, const char *name,
		     struct roost_rdma_device *device);
/* Find the RDMA device on the interface. Returns false: there is none. */
bool roost_rdma_of_netif(const char *place, const char *netif,
			 struct roost_rdma_device *device);

#endif
