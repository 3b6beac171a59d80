/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_PCI_H
#define ROOST_PMD_GLUE_KERNEL_PCI_H

/*
 * PCI devices as the kernel shows them: which of its drivers has one, and
 * whether DPDK could drive it; and their reset. Reads and writes sysfs, opens
 * nothing for long, knows nothing of ethdev.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

#define ROOST_PCI_NAME_MAX 24   /* "0000:03:00.0", terminating zero included */
#define ROOST_PCI_DRIVER_MAX 32 /* of a kernel's driver or interface */
#define ROOST_PCI_WHY_MAX 384

/* Where the kernel shows them; tests have places of their own. */
struct roost_pci_places {
	const char *devices; /* a folder of devices by name */
	const char *vfio;    /* the folder of groups, and of "vfio" */
};

extern const struct roost_pci_places roost_pci_places;

struct roost_pci_device {
	char name[ROOST_PCI_NAME_MAX];
	bool is_there;
	char driver[ROOST_PCI_DRIVER_MAX]; /* the kernel's; empty: none */
	char iface[ROOST_PCI_DRIVER_MAX];  /* that driver's; empty: none */
	int group;                         /* IOMMU group; -1: none */
	bool is_bare;  /* its driver lets it reach any memory */
	bool is_uio;   /* its driver is one that has no interrupts of queues */
	bool is_ports; /* it is driven through I/O ports: legacy virtio */
	/* Of the same group, in a driver of the kernel's own; empty: none. */
	char other[ROOST_PCI_NAME_MAX];
	char other_driver[ROOST_PCI_DRIVER_MAX];
	int open_errno; /* of the group's file; 0: it can be opened */
};

/*
 * Do devargs name a PCI device ("0000:03:00.0", "03:00.0", "pci:...")? Then
 * name is what DPDK calls it; else it is empty.
 */
bool roost_pci_is(const char *devargs, char name[ROOST_PCI_NAME_MAX]);

/* Is it in the machine? */
bool roost_pci_is_there(const struct roost_pci_places *places,
			const char *name);

/* What the kernel says of it. */
void roost_pci_read(const struct roost_pci_places *places, const char *name,
		    struct roost_pci_device *device);

/*
 * Why DPDK cannot drive it: "<cause>; <fix>". physical: DPDK gives devices
 * physical addresses, not those of the process. Returns 0: nothing that the
 * kernel shows speaks against it, why is empty; or the error number: -ENODEV,
 * -EBUSY, -EACCES.
 */
int roost_pci_refuses(const struct roost_pci_device *device, bool physical,
		      char why[ROOST_PCI_WHY_MAX]);

/*
 * Reset it before DPDK opens it (pci_reset.c). A program that was killed leaves
 * a device with its rings on, whose memory is others' by now. DPDK lets it be
 * the bus's master first and has the driver reset it then; what comes in
 * between would go into that memory, or where an IOMMU is, be a fault.
 *
 * - uio: nobody else resets it.
 * - vfio-pci resets what is opened, by the kernel's first method. Where that is
 *   power management ("pm") and the device is alone on its bus, its bus is
 * reset instead; that takes a second.
 * - Others, and what somebody drives, are left as they are.
 *
 * Thread: any that may block. Returns 0: reset, or left; -ENOENT: the kernel
 * cannot; -EACCES: not root; or what the kernel says.
 */
int roost_pci_reset(const struct roost_pci_places *places, const char *name);

#endif
