/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/setup_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/setup_file.h"
#include "apps/setup_service.h"
#include "pmd_glue/process/sysfs.h"

#define VFIO "vfio-pci"
#define NETWORK_CLASS 0x02
#define UP 1 /* IFF_UP */

/* ---- huge pages ---------------------------------------------------------- */

#define PAGES_PLACE                                                            \
	"/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/"          \
	"nr_hugepages"

/* The NIC's NUMA node, or the first if it has none. */
static int node_of(const struct roost_setup *s)
{
	char devices[PATH_MAX], node[16];

	roost_setup_path(s, devices, ROOST_PCI_DEVICES);
	roost_sysfs_word(devices, s->nic, "numa_node", node, sizeof(node));
	return atoi(node) > 0 ? atoi(node) : 0;
}

static void pages_path(const struct roost_setup *s, char *path)
{
	roost_setup_path(s, path, PAGES_PLACE, node_of(s));
}

static void pages_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX];

	pages_path(s, path);
	roost_setup_slurp(path, text);
	text[strcspn(text, "\n")] = '\0';
}

static void pages_wanted(const struct roost_setup *s, char *text)
{
	pages_now(s, text);
	if (strtoul(text, NULL, 10) >= s->nb_pages)
		text[0] = '\0';
	else
		snprintf(text, ROOST_SETUP_TEXT_MAX, "%u", s->nb_pages);
}

/* The kernel gives as many as it has memory for, without an error. */
static int pages_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX], text[ROOST_SETUP_TEXT_MAX];
	int ret;

	pages_path(s, path);
	ret = s->put(path, to);
	if (ret)
		return ret;
	pages_now(s, text);
	return strtoul(text, NULL, 10) < strtoul(to, NULL, 10) ? -ENOMEM : 0;
}

/* ---- the driver ---------------------------------------------------------- */

/* A word of the device's folder. */
static void device_word(const struct roost_setup *s, const char *what,
			char *word)
{
	char devices[PATH_MAX];

	roost_setup_path(s, devices, ROOST_PCI_DEVICES);
	roost_sysfs_word(devices, s->nic, what, word, ROOST_PCI_DRIVER_MAX);
}

/* Drivers of the kernel that share the device with DPDK's. */
static bool is_shared(const char *driver)
{
	return strcmp(driver, "mlx5_core") == 0 ||
	       strcmp(driver, "mlx4_core") == 0;
}

static void driver_now(const struct roost_setup *s, char *text)
{
	struct roost_pci_device d;

	roost_setup_read_device(s, &d);
	snprintf(text, ROOST_SETUP_TEXT_MAX, "%s",
		 d.driver[0] ? d.driver : "none");
}

static void driver_wanted(const struct roost_setup *s, char *text)
{
	driver_now(s, text);
	snprintf(text, ROOST_SETUP_TEXT_MAX, "%s",
		 is_shared(text) || strcmp(text, VFIO) == 0 ? "" : VFIO);
}

/* Has the kernel an interface of the device that is up? */
static bool is_up(const struct roost_setup *s, const struct roost_pci_device *d)
{
	char what[ROOST_PCI_DRIVER_MAX + 16], flags[ROOST_PCI_DRIVER_MAX];
	char path[PATH_MAX];

	roost_setup_path(s, path, "/sys/class/net");
	snprintf(what, sizeof(what), "%s", d->iface);
	roost_sysfs_word(path, what, "flags", flags, sizeof(flags));
	return strtoul(flags, NULL, 16) & UP;
}

/* VFIO hands out whole groups. */
static bool shares_group(const struct roost_setup *s, char *why)
{
	char devices[PATH_MAX], vfio[PATH_MAX], others[ROOST_PCI_OTHERS_MAX];
	const struct roost_pci_places places =
		roost_setup_places(s, devices, vfio);

	if (roost_pci_others(&places, s->nic, others) == 0)
		return false;
	snprintf(why, ROOST_SETUP_TEXT_MAX,
		 "its IOMMU group has other devices that the kernel uses: %s; "
		 "unbind all of them (\"echo ADDRESS "
		 ">" ROOST_PCI_DEVICES "/ADDRESS/driver/unbind\"), or use "
		 "another slot",
		 others);
	return true;
}

static void driver_refuse(const struct roost_setup *s, char *why)
{
	struct roost_pci_device d;
	char path[PATH_MAX], text[ROOST_PCI_DRIVER_MAX];

	why[0] = '\0';
	if (shares_group(s, why))
		return;
	roost_setup_read_device(s, &d);
	device_word(s, "driver_override", text);
	roost_setup_path(s, path, ROOST_PCI_DEVICES "/%s/iommu_group", s->nic);
	if (text[0] && strcmp(text, "(null)") != 0 && strcmp(text, VFIO) != 0)
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "somebody has reserved it for the driver %s; undo "
			 "that: \"echo >%s/%s/driver_override\"",
			 text, ROOST_PCI_DEVICES, s->nic);
	else if (access(path, F_OK) != 0)
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "it has no IOMMU group, so that it could reach any "
			 "memory; switch the IOMMU on in the firmware, and add "
			 "\"intel_iommu=on\" or \"amd_iommu=on\" to the "
			 "kernel's command line");
	else if (roost_setup_path(s, path, "/sys/bus/pci/drivers/" VFIO),
		 access(path, F_OK) != 0)
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "the kernel has not loaded the driver " VFIO
			 "; \"modprobe " VFIO "\"");
	else if (!s->force && d.iface[0] && is_up(s, &d))
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "its interface %s is up, and connections through it "
			 "would end; \"ip link set %s down\", or --force",
			 d.iface, d.iface);
	else if (!s->force && d.driver[0] && !d.iface[0])
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "the driver %s has it, and its interface is not in "
			 "this network namespace; if no container needs it, "
			 "--force",
			 d.driver);
}

/* to: a driver's name. vfio-pci is bound because driver_override says so; any
 * other one by the kernel's own choice.
 */
static int driver_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX], now[ROOST_SETUP_TEXT_MAX];
	int ret;

	roost_setup_path(s, path, ROOST_PCI_DEVICES "/%s/driver_override",
			 s->nic);
	ret = s->put(path, strcmp(to, VFIO) == 0 ? VFIO : "\n");
	driver_now(s, now);
	if (ret || strcmp(now, to) == 0)
		return ret;
	roost_setup_path(s, path, ROOST_PCI_DEVICES "/%s/driver/unbind",
			 s->nic);
	if (strcmp(now, "none") != 0)
		ret = s->put(path, s->nic);
	roost_setup_path(s, path, "/sys/bus/pci/drivers_probe");
	if (ret == 0 && strcmp(to, "none") != 0)
		ret = s->put(path, s->nic);
	driver_now(s, now);
	return ret || strcmp(now, to) == 0 ? ret : -EBUSY;
}

/* ---- at boot ------------------------------------------------------------- */

static void tmpfiles_path(const struct roost_setup *s, char *path)
{
	roost_setup_path(s, path, "/etc/tmpfiles.d/roost-%s.conf", s->nic);
}

static void tmpfiles_text(const struct roost_setup *s, char *text)
{
	snprintf(text, ROOST_SETUP_TEXT_MAX,
		 "# By roost setup\nw " PAGES_PLACE " - - - - %u\n", node_of(s),
		 s->nb_pages);
}

static void udev_path(const struct roost_setup *s, char *path)
{
	roost_setup_path(s, path, "/etc/udev/rules.d/60-roost-%s.rules",
			 s->nic);
}

static void udev_text(const struct roost_setup *s, char *text)
{
	snprintf(text, ROOST_SETUP_TEXT_MAX,
		 "# By roost setup\nACTION==\"add\", SUBSYSTEM==\"pci\", "
		 "KERNEL==\"%s\", ATTR{driver_override}=\"" VFIO
		 "\", RUN{builtin}+=\"kmod load " VFIO "\"\n"
		 "SUBSYSTEM==\"vfio\", "
		 "TEST==\"/sys/kernel/iommu_groups/%%k/devices/%s\", "
		 "GROUP=\"roost\", MODE=\"0660\"\n",
		 s->nic, s->nic);
}

static void tmpfiles_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX];

	tmpfiles_path(s, path);
	roost_setup_slurp(path, text);
}

static void tmpfiles_wanted(const struct roost_setup *s, char *text)
{
	char now[ROOST_SETUP_TEXT_MAX];

	/* Enough pages: somebody else sees to it. */
	pages_wanted(s, text);
	if (!text[0])
		return;
	tmpfiles_now(s, now);
	tmpfiles_text(s, text);
	if (strcmp(now, text) == 0)
		text[0] = '\0';
}

static int tmpfiles_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX], ours[ROOST_SETUP_TEXT_MAX];

	tmpfiles_path(s, path);
	tmpfiles_text(s, ours);
	return roost_setup_change_file(path, ours, to);
}

static void udev_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX];

	udev_path(s, path);
	roost_setup_slurp(path, text);
}

static void udev_wanted(const struct roost_setup *s, char *text)
{
	char now[ROOST_SETUP_TEXT_MAX];

	driver_now(s, now);
	udev_text(s, text);
	if (is_shared(now))
		text[0] = '\0';
	udev_now(s, now);
	if (strcmp(now, text) == 0)
		text[0] = '\0';
}

static int udev_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX], ours[ROOST_SETUP_TEXT_MAX];

	udev_path(s, path);
	udev_text(s, ours);
	return roost_setup_change_file(path, ours, to);
}

#define STEP(name_, functions, refuse_, place_, absent_)                       \
	{                                                                      \
		.name = name_, .now = functions##_now,                         \
		.wanted = functions##_wanted, .refuse = refuse_,               \
		.change = functions##_change, .place = place_,                 \
		.absent = absent_                                              \
	}

/* In the order in which they are done. Boot comes before now: its step looks
 * whether there are enough pages already, and udev gives the group of the NIC
 * to roostd when the driver takes it.
 */
const struct roost_setup_step roost_setup_steps[] = {
	STEP("huge pages at boot", tmpfiles, NULL,
	     "/etc/tmpfiles.d/roost-%s.conf", NULL),
	STEP("huge pages", pages, NULL, "nr_hugepages of the NIC's node", NULL),
	STEP("driver at boot", udev, NULL,
	     "/etc/udev/rules.d/60-roost-%s.rules", NULL),
	STEP("driver", driver, driver_refuse, "driver_override of %s", NULL),
	STEP("port of roostd", roost_setup_conf, roost_setup_conf_refuse,
	     ROOST_CONF_FILE, NULL),
	STEP("memory of roostd", roost_setup_memlock, NULL, ROOST_SETUP_DROP_IN,
	     roost_setup_no_service),
	STEP("roostd at boot", roost_setup_enable, NULL, ROOST_SETUP_WANTS,
	     roost_setup_no_service),
};
const size_t roost_setup_nb_steps =
	sizeof(roost_setup_steps) / sizeof(roost_setup_steps[0]);

/* ---- the NIC ------------------------------------------------------------- */

/* The PCI device behind an interface, which may be one of virtio between. */
static void find_behind(struct roost_setup *s, const char *name)
{
	char path[PATH_MAX], real[PATH_MAX], *part;

	roost_setup_path(s, path, "/sys/class/net/%.15s/device", name);
	if (!realpath(path, real))
		return;
	while (!s->nic[0] && (part = strrchr(real, '/')) != NULL) {
		roost_pci_is(part + 1, s->nic);
		*part = '\0';
	}
}

static bool is_interface(struct roost_setup *s, const char *name)
{
	char path[PATH_MAX];

	if (s->nic[0] || strchr(name, '/') || *name == '.' || *name == '\0')
		return false;
	roost_setup_path(s, path, "/sys/class/net/%.15s", name);
	return access(path, F_OK) == 0;
}

int roost_setup_find(struct roost_setup *s, const char *name, char *why)
{
	char last[ROOST_PCI_DRIVER_MAX];
	struct roost_pci_device d;

	if (!roost_pci_is(name, s->nic) && !strchr(name, '/') && *name != '.') {
		find_behind(s, name);
	}
	if (s->nic[0])
		roost_setup_read_device(s, &d);
	if (!s->nic[0] || !d.is_there) {
		if (is_interface(s, name))
			snprintf(
				why, ROOST_SETUP_TEXT_MAX,
				"%s is no interface of a PCI device, and needs "
				"no setup: roost run --port %s",
				name, name);
		else
			snprintf(
				why, ROOST_SETUP_TEXT_MAX,
				"%.64s: no PCI device has this address, and no "
				"interface this name; \"roost ports\" lists "
				"them",
				name);
		return -ENODEV;
	}
	device_word(s, "class", last);
	if (strtoul(last, NULL, 16) >> 16 == NETWORK_CLASS)
		return 0;
	snprintf(why, ROOST_SETUP_TEXT_MAX,
		 "%s is no network device (class %s); \"roost ports\" lists "
		 "those that are",
		 s->nic, last);
	return -ENODEV;
}
