/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_PCI_H
#define ROOST_PMD_GLUE_KERNEL_PCI_H

/*
 * PCI devices in sysfs: which driver of the kernel is bound to a device,
 * whether DPDK could drive the device, and its reset. Reads and writes sysfs,
 * keeps no file open, and uses no ethdev.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

#define ROOST_PCI_NAME_MAX 24   /* "0000:03:00.0", terminating zero included */
#define ROOST_PCI_DRIVER_MAX 32 /* name of a kernel's driver or interface */
#define ROOST_PCI_WHY_MAX 384

/* The folders to look in; tests use others. */
struct roost_pci_places {
	const char *devices; /* folder of devices, by name */
	const char *vfio;    /* folder of IOMMU groups and of "vfio" */
};

#define ROOST_PCI_DEVICES "/sys/bus/pci/devices"
#define ROOST_PCI_VFIO "/dev/vfio"

extern const struct roost_pci_places roost_pci_places;

struct roost_pci_device {
	char name[ROOST_PCI_NAME_MAX];
	bool is_there;
	char driver[ROOST_PCI_DRIVER_MAX]; /* bound driver; empty: none */
	char iface[ROOST_PCI_DRIVER_MAX];  /* kernel's interface; empty: none */
	int group;                         /* IOMMU group; -1: none */
	bool is_bare;  /* no IOMMU: the device can reach any memory */
	bool is_uio;   /* bound to a uio driver: no interrupts of queues */
	bool is_ports; /* needs I/O ports: legacy virtio */
	/* Another device of the same group that a driver of the kernel drives;
	 * empty: none.
	 */
	char other[ROOST_PCI_NAME_MAX];
	char other_driver[ROOST_PCI_DRIVER_MAX];
	int open_errno; /* of opening the group's file; 0: it can be opened */
};

/*
 * Do devargs name a PCI device ("0000:03:00.0", "03:00.0", "pci:...")? Then
 * name becomes DPDK's name of the device; otherwise name is empty.
 */
bool roost_pci_is(const char *devargs, char name[ROOST_PCI_NAME_MAX]);

/* Is there a PCI device of this name? */
bool roost_pci_is_there(const struct roost_pci_places *places,
			const char *name);

/* Read the device's state from sysfs. */
void roost_pci_read(const struct roost_pci_places *places, const char *name,
		    struct roost_pci_device *device);

/*
 * Write the other devices of its IOMMU group that keep VFIO from the group, as
 * "0000:03:00.1 (driver ice), 0000:04:00.0 (driver nvme)"; empty: none. Names
 * without room end in "...". Returns their number.
 */
#define ROOST_PCI_OTHERS_MAX 256
unsigned int roost_pci_others(const struct roost_pci_places *places,
			      const char *name,
			      char text[ROOST_PCI_OTHERS_MAX]);

/*
 * Why DPDK cannot drive the device: "<cause>; <fix>". physical: DPDK gives
 * devices physical addresses, not virtual ones. Returns 0: no cause was found,
 * and why is empty; or -ENODEV, -EBUSY, -EACCES.
 */
int roost_pci_refuses(const struct roost_pci_device *device, bool physical,
		      char why[ROOST_PCI_WHY_MAX]);

/*
 * Reset the device before DPDK opens it (pci_reset.c). If a program was killed,
 * the rings of its device are still enabled, and their memory may belong to
 * another program by now. DPDK first enables bus mastering, and then its driver
 * resets the device. A packet that arrives in between would be written into
 * that memory, or cause an IOMMU fault.
 *
 * - uio: the device is reset here; no other code does it.
 * - vfio-pci resets a device when it is opened, by the kernel's first method.
 *   If that method is power management ("pm") and the device is alone on its
 *   bus, the bus is reset here instead; it takes a second.
 * - Devices of other drivers, and devices in use, are left as they are.
 *
 * Thread: any that may block. Returns 0: reset, or left as it was; -ENOENT: the
 * kernel cannot reset it; -EACCES: not root; or the kernel's error.
 */
int roost_pci_reset(const struct roost_pci_places *places, const char *name);

#endif
