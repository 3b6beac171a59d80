/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/pci.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_pci.h>

#include "pmd_glue/process/sysfs.h"

#define BIND "dpdk-devbind.py -b vfio-pci "

/* The configuration space, as PCI has it. */
#define CONFIG_BYTES 256
#define CONFIG_CAPABILITIES 0x34
#define CAPABILITY_VENDOR 0x09
#define VENDOR_VIRTIO 0x1af4

const struct roost_pci_places roost_pci_places = {
	.devices = ROOST_PCI_DEVICES,
	.vfio = ROOST_PCI_VFIO,
};

/* A driver of the kernel that hands its device to a process. */
struct binding {
	const char *driver;
	bool is_bare; /* uses no IOMMU: the device reaches any memory */
};

/* Drivers that hand a device to a process. */
static const struct binding bindings[] = {
	{ "vfio-pci", false },
	{ "uio_pci_generic", true },
	{ "igb_uio", true },
};

static const struct binding *find_binding(const char *driver)
{
	for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++)
		if (strcmp(bindings[i].driver, driver) == 0)
			return &bindings[i];
	return NULL;
}

bool roost_pci_is(const char *devargs, char name[ROOST_PCI_NAME_MAX])
{
	char given[ROOST_PCI_NAME_MAX];
	struct rte_pci_addr addr;
	size_t len;

	name[0] = '\0';
	if (strncmp(devargs, "pci:", 4) == 0)
		devargs += 4;
	len = strcspn(devargs, ",");
	if (len >= sizeof(given))
		return false;
	memcpy(given, devargs, len);
	given[len] = '\0';
	if (rte_pci_addr_parse(given, &addr) != 0)
		return false;
	rte_pci_device_name(&addr, name, ROOST_PCI_NAME_MAX);
	return true;
}

/* ---- what the kernel shows ----------------------------------------------- */

/* The next name in the folder but "." and ".."; NULL: no more. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return entry->d_name;
	return NULL;
}

static DIR *open_below(const struct roost_pci_places *places, const char *name,
		       const char *what)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", places->devices, name, what);
	return opendir(path);
}

/* Find the first name in folder device/what that starts with begin. found is
 * empty if there is none.
 */
static void find_name(const struct roost_pci_places *places, const char *device,
		      const char *what, const char *begin, char *found,
		      size_t size)
{
	const char *name = NULL;
	DIR *dir = open_below(places, device, what);

	found[0] = '\0';
	if (!dir)
		return;
	do
		name = next_name(dir);
	while (name && strncmp(name, begin, strlen(begin)) != 0);
	if (name)
		snprintf(found, size, "%.*s", (int)size - 1, name);
	closedir(dir);
}

/* Read the kernel's interface of the device. With a virtio device the interface
 * is one level deeper in sysfs.
 */
static void read_iface(const struct roost_pci_places *places,
		       struct roost_pci_device *d)
{
	char inner[32], folder[48];

	find_name(places, d->name, "net", "", d->iface, sizeof(d->iface));
	find_name(places, d->name, ".", "virtio", inner, sizeof(inner));
	if (d->iface[0] || inner[0] == '\0')
		return;
	snprintf(folder, sizeof(folder), "%s/net", inner);
	find_name(places, d->name, folder, "", d->iface, sizeof(d->iface));
}

/* The next device of an IOMMU group, but name, that keeps VFIO from the group;
 * driver: its own. NULL: none is left. PCI bridge ports with the kernel's port
 * driver do not: VFIO allows them.
 */
static const char *next_other(const struct roost_pci_places *places, DIR *dir,
			      const char *name,
			      char driver[ROOST_PCI_DRIVER_MAX])
{
	const char *other;

	while ((other = next_name(dir))) {
		roost_sysfs_link(places->devices, other, "driver", driver,
				 ROOST_PCI_DRIVER_MAX);
		if (driver[0] != '\0' && !find_binding(driver) &&
		    strcmp(driver, "pcieport") != 0 &&
		    strcmp(driver, "pci-stub") != 0 && strcmp(other, name) != 0)
			return other;
	}
	return NULL;
}

static void read_others(const struct roost_pci_places *places,
			struct roost_pci_device *d)
{
	DIR *dir = open_below(places, d->name, "iommu_group/devices");
	char driver[ROOST_PCI_DRIVER_MAX];
	const char *name;

	if (!dir)
		return;
	while ((name = next_other(places, dir, d->name, driver))) {
		snprintf(d->other, sizeof(d->other), "%.*s",
			 (int)sizeof(d->other) - 1, name);
		snprintf(d->other_driver, sizeof(d->other_driver), "%s",
			 driver);
	}
	closedir(dir);
}

unsigned int roost_pci_others(const struct roost_pci_places *places,
			      const char *name, char text[ROOST_PCI_OTHERS_MAX])
{
	DIR *dir = open_below(places, name, "iommu_group/devices");
	char driver[ROOST_PCI_DRIVER_MAX], one[96];
	const char *other;
	unsigned int nb = 0;
	size_t len = 0;

	text[0] = '\0';
	if (!dir)
		return 0;
	while ((other = next_other(places, dir, name, driver))) {
		snprintf(one, sizeof(one), "%s%.*s (driver %s)",
			 nb > 0 ? ", " : "", ROOST_PCI_NAME_MAX - 1, other,
			 driver);
		if (len + strlen(one) + sizeof(", ...") > ROOST_PCI_OTHERS_MAX)
			snprintf(one, sizeof(one), ", ...");
		if (strcmp(text + (len > 5 ? len - 5 : 0), ", ...") != 0)
			len += (size_t)snprintf(text + len,
						ROOST_PCI_OTHERS_MAX - len,
						"%s", one);
		nb++;
	}
	closedir(dir);
	return nb;
}

/* Is it a group that VFIO made because there is no IOMMU? */
static bool group_is_bare(const struct roost_pci_places *places,
			  const char *name)
{
	char text[32];

	roost_sysfs_word(places->devices, name, "iommu_group/name", text,
			 sizeof(text));
	return strncmp(text, "vfio-noiommu", 12) == 0;
}

static void group_path(const struct roost_pci_places *places,
		       const struct roost_pci_device *d, char *path,
		       size_t size)
{
	snprintf(path, size, "%s/%s%d", places->vfio,
		 d->is_bare ? "noiommu-" : "", d->group);
}

static void read_group(const struct roost_pci_places *places,
		       struct roost_pci_device *d)
{
	char path[PATH_MAX], number[16];
	int fd;

	roost_sysfs_link(places->devices, d->name, "iommu_group", number,
			 sizeof(number));
	if (number[0] == '\0')
		return;
	d->group = atoi(number);
	if (strcmp(d->driver, "vfio-pci") != 0)
		return;
	d->is_bare = group_is_bare(places, d->name);
	read_others(places, d);
	group_path(places, d, path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	d->open_errno = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
}

/* Is it a virtio device from before 1.0, without virtio's capabilities? */
static bool is_legacy_virtio(const uint8_t config[CONFIG_BYTES])
{
	unsigned int device = (unsigned int)(config[2] | config[3] << 8);
	uint8_t at = config[CONFIG_CAPABILITIES];

	if ((config[0] | config[1] << 8) != VENDOR_VIRTIO || device < 0x1000 ||
	    device > 0x103f)
		return false;
	/* Bounded: the list may have a loop. */
	for (unsigned int i = 0; at >= 64 && i < CONFIG_BYTES / 4; i++) {
		if (config[at] == CAPABILITY_VENDOR)
			return false;
		at = config[at + 1] & 0xfc;
	}
	return true;
}

static void read_config(const struct roost_pci_places *places,
			struct roost_pci_device *d)
{
	uint8_t config[CONFIG_BYTES] = { 0 };
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/config", places->devices, d->name);
	file = fopen(path, "re");
	if (!file)
		return;
	/* Users other than root see 64 bytes. */
	d->is_ports =
		fread(config, 1, sizeof(config), file) == sizeof(config) &&
		is_legacy_virtio(config);
	fclose(file);
}

bool roost_pci_is_there(const struct roost_pci_places *places, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", places->devices, name);
	return access(path, F_OK) == 0;
}

void roost_pci_read(const struct roost_pci_places *places, const char *name,
		    struct roost_pci_device *device)
{
	struct roost_pci_device empty = { .group = -1 };
	const struct binding *b;

	/* name may point to device->name. */
	snprintf(empty.name, sizeof(empty.name), "%s", name);
	*device = empty;
	name = device->name;
	device->is_there = roost_pci_is_there(places, name);
	roost_sysfs_link(places->devices, name, "driver", device->driver,
			 sizeof(device->driver));
	b = find_binding(device->driver);
	if (!b)
		read_iface(places, device);
	else if (b->is_bare)
		device->is_bare = device->is_uio = true;
	else
		read_group(places, device);
	if (device->is_bare)
		read_config(places, device);
}

/* ---- what that means ------------------------------------------------------
 */

/* Refuse a device that a driver of the kernel drives, or that has no driver. */
static int refuse_unbound(const struct roost_pci_device *d, char *why,
			  size_t size)
{
	if (d->driver[0] == '\0')
		snprintf(why, size,
			 "no driver of the kernel's has it; hand it to DPDK: "
			 "\"" BIND "%s\"",
			 d->name);
	else if (d->iface[0] == '\0')
		snprintf(why, size,
			 "the kernel's driver %s has it; hand it to DPDK: "
			 "\"" BIND "%s\"",
			 d->driver, d->name);
	else
		snprintf(why, size,
			 "it is the kernel's interface %s (driver %s); if "
			 "nobody needs that, hand it to DPDK: \"ip link set "
			 "%s down; " BIND "%s\"",
			 d->iface, d->driver, d->iface, d->name);
	return -EBUSY;
}

static int refuse_group(const struct roost_pci_device *d, char *why,
			size_t size)
{
	char path[64];

	group_path(&roost_pci_places, d, path, sizeof(path));
	if (d->other[0])
		snprintf(why, size,
			 "%s of the same IOMMU group (%d) is in the kernel's "
			 "driver %s; hand that to vfio-pci, too: \"" BIND
			 "%s\"",
			 d->other, d->group, d->other_driver, d->other);
	else if (d->open_errno == EBUSY)
		snprintf(why, size,
			 "another program drives it (%s: %s); stop that "
			 "program",
			 path, strerror(d->open_errno));
	else if (d->open_errno)
		snprintf(why, size,
			 "%s: %s; run as root, or make this user the owner of "
			 "the file and raise its \"ulimit -l\"",
			 path, strerror(d->open_errno));
	if (d->other[0] || d->open_errno == EBUSY)
		return -EBUSY;
	return d->open_errno ? -EACCES : 0;
}

int roost_pci_refuses(const struct roost_pci_device *device, bool physical,
		      char why[ROOST_PCI_WHY_MAX])
{
	why[0] = '\0';
	if (!device->is_there) {
		snprintf(why, ROOST_PCI_WHY_MAX,
			 "there is no such PCI device; \"lspci -D\" shows "
			 "them all");
		return -ENODEV;
	}
	if (!find_binding(device->driver))
		return refuse_unbound(device, why, ROOST_PCI_WHY_MAX);
	/* The kernel allows I/O ports per thread, and any thread of the
	 * application may send.
	 */
	if (device->is_ports) {
		snprintf(why, ROOST_PCI_WHY_MAX,
			 "it is a virtio device of before 1.0, which needs I/O "
			 "ports; make it a virtio 1.0 device (QEMU: "
			 "disable-legacy=on), or use vfio-pci with an IOMMU");
		return -EACCES;
	}
	/* The device would take virtual addresses for physical ones. */
	if (device->is_bare && !physical) {
		snprintf(why, ROOST_PCI_WHY_MAX,
			 "without an IOMMU (driver %s) it needs physical "
			 "addresses; run as root with free huge pages (\"echo "
			 "256 >/proc/sys/vm/nr_hugepages\"), or use vfio-pci "
			 "with an IOMMU",
			 device->driver);
		return -EACCES;
	}
	return device->group >= 0 ? refuse_group(device, why, ROOST_PCI_WHY_MAX)
				  : 0;
}
