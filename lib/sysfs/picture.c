/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/sysfs/picture.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/sysfs/file.h"

#define DEVICES "sys/devices/infiniband_roost"
#define NB(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the device ----------------------------------------------------------
 */

#define GUID_TEXT "%04x:%04x:%04x:%04x\n"
#define GUID_WORDS(guid)                                                       \
	(unsigned int)((guid) >> 48) & 0xffff,                                 \
		(unsigned int)((guid) >> 32) & 0xffff,                         \
		(unsigned int)((guid) >> 16) & 0xffff,                         \
		(unsigned int)(guid)&0xffff

static void put_guid(struct roost_picture_at *at, const char *name,
		     uint64_t guid)
{
	roost_picture_put(at, name, GUID_TEXT, GUID_WORDS(guid));
}

/* All processors, as the kernel writes masks: groups of 32 bits. */
static void put_cpus(struct roost_picture_at *at)
{
	const long nb = sysconf(_SC_NPROCESSORS_CONF);
	const long groups = (nb + 31) / 32;
	char text[256];
	int len = 0;

	for (long i = groups - 1; i >= 0 && len < (int)sizeof(text) - 10; i--) {
		const long bits = nb - 32 * i < 32 ? nb - 32 * i : 32;

		len += snprintf(text + len, sizeof(text) - (size_t)len,
				i == groups - 1 ? "%x%s" : "%08x%s",
				(unsigned int)((UINT64_C(1) << bits) - 1),
				i > 0 ? "," : "");
	}
	roost_picture_put(at, "local_cpus", "%s\n", text);
	roost_picture_put(at, "local_cpulist", "0-%ld\n", nb - 1);
}

/* The hardware that the device is on, if no other stands for it. */
static void put_hardware(struct roost_picture_at *at, const char *name)
{
	roost_picture_go(at, DEVICES "/%s", name);
	roost_picture_put(at, "vendor", "0xffff\n");
	roost_picture_put(at, "device", "0x0000\n");
	roost_picture_put(at, "subsystem_vendor", "0xffff\n");
	roost_picture_put(at, "subsystem_device", "0x0000\n");
	roost_picture_put(at, "class", "0x020000\n");
	roost_picture_put(at, "numa_node", "-1\n");
	roost_picture_put(at, "uevent", "DRIVER=roost\n");
	roost_picture_put(at, "modalias", "platform:roost\n");
	put_cpus(at);
	roost_picture_link(at, "subsystem", "/sys/bus/platform");
}

int roost_picture_put_guid(const char *picture, const char *name, uint64_t guid)
{
	struct roost_picture_at at = { .picture = picture };

	roost_picture_enter(&at, DEVICES "/%s/infiniband/%s", name, name);
	put_guid(&at, "node_guid", guid);
	put_guid(&at, "sys_image_guid", guid);
	return at.ret;
}

bool roost_picture_has_dev(const char *picture, const char *name)
{
	struct roost_picture_at at = { .picture = picture };

	roost_picture_enter(&at, DEVICES "/%s", name);
	return roost_picture_has(&at, "vendor", NULL);
}

bool roost_picture_has_guid(const char *picture, const char *name,
			    uint64_t guid)
{
	struct roost_picture_at at = { .picture = picture };
	char text[32];

	snprintf(text, sizeof(text), GUID_TEXT, GUID_WORDS(guid));
	roost_picture_enter(&at, DEVICES "/%s/infiniband/%s", name, name);
	return roost_picture_has(&at, "node_guid", text);
}

static void put_rdma(struct roost_picture_at *at,
		     const struct roost_picture_dev *dev, const char *device)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	roost_picture_go(at, DEVICES "/%s/infiniband/%s", dev->name, dev->name);
	roost_picture_put(at, "node_type", "1: CA\n");
	put_guid(at, "node_guid", dev->guid);
	put_guid(at, "sys_image_guid", dev->guid);
	roost_picture_put(at, "node_desc", "%.40s %s\n", host, dev->name);
	roost_picture_put(at, "fw_ver", "%s\n", dev->fw_ver);
	roost_picture_put(at, "hw_rev", "0\n");
	roost_picture_put(at, "hca_type", "Roost\n");
	roost_picture_put(at, "board_id", "%s\n", dev->board_id);
	roost_picture_put(at, "uevent", "NAME=%s\n", dev->name);
	roost_picture_link(at, "device", device);
	roost_picture_link(at, "subsystem", "../../../../../class/infiniband");
}

static void put_uverbs(struct roost_picture_at *at, const char *name,
		       const char *device)
{
	roost_picture_go(at, DEVICES "/%s/infiniband_verbs/uverbs_%s", name,
			 name);
	roost_picture_put(at, "ibdev", "%s\n", name);
	roost_picture_put(at, "abi_version", "1\n");
	/* That of /dev/null, as stat(2) of the node tells. */
	roost_picture_put(at, "dev", "1:3\n");
	roost_picture_put(at, "uevent",
			  "MAJOR=1\nMINOR=3\nDEVNAME=infiniband/uverbs_%s\n",
			  name);
	roost_picture_link(at, "device", device);
	roost_picture_link(at, "subsystem",
			   "../../../../../class/infiniband_verbs");
}

static void put_classes(struct roost_picture_at *at, const char *name)
{
	char uverbs[64], target[160];

	snprintf(uverbs, sizeof(uverbs), "uverbs_%s", name);
	roost_picture_go(at, "sys/class/infiniband");
	snprintf(target, sizeof(target),
		 "../../devices/infiniband_roost/%s/infiniband/%s", name, name);
	roost_picture_link(at, name, target);
	roost_picture_go(at, "sys/class/infiniband_verbs");
	roost_picture_put(at, "abi_version", "6\n");
	snprintf(target, sizeof(target),
		 "../../devices/infiniband_roost/%s/infiniband_verbs/%s", name,
		 uverbs);
	roost_picture_link(at, uverbs, target);
	roost_picture_go(at, "dev/infiniband");
	roost_picture_link(at, uverbs, "/dev/null");
}

/*
 * Links from the folders above the trees to the rest of the system: `..` leads
 * out of a tree in the middle of a path, and from a directory. Real RDMA
 * devices are not shown.
 */
static void put_rest(struct roost_picture_at *at)
{
	static const char *const folders[] = { "dev", "sys/class",
					       "sys/devices", "sys", "." };
	static const char own[] = "infiniband";
	char path[ROOST_PICTURE_FILE_MAX], target[ROOST_PICTURE_FILE_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", at->picture);
	for (size_t i = 0; i < NB(folders) && access(path, F_OK) != 0; i++) {
		roost_picture_enter(at, "%s", folders[i]);
		snprintf(target, sizeof(target), "/%s", folders[i]);
		dir = opendir(target);
		while (dir && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.' ||
			    strncmp(entry->d_name, own, sizeof(own) - 1) == 0)
				continue;
			snprintf(target, sizeof(target), "/%s/%s", folders[i],
				 entry->d_name);
			roost_picture_link(at, entry->d_name, target);
		}
		if (dir)
			closedir(dir);
	}
}

int roost_picture_put_dev(const char *picture,
			  const struct roost_picture_dev *dev)
{
	struct roost_picture_at at = { .picture = picture };
	char own[64];

	snprintf(own, sizeof(own), "../../../%s", dev->name);
	put_hardware(&at, dev->name);
	put_rdma(&at, dev, dev->parent ? dev->parent : own);
	put_uverbs(&at, dev->name, dev->parent ? dev->parent : own);
	put_classes(&at, dev->name);
	put_rest(&at);
	return at.ret;
}

/* What programs find first goes first. */
void roost_picture_drop_dev(const char *picture, const char *name)
{
	char path[ROOST_PICTURE_FILE_MAX];
	static const char *const formats[] = {
		"%s/sys/class/infiniband/%s",
		"%s/sys/class/infiniband_verbs/uverbs_%s",
		"%s/dev/infiniband/uverbs_%s",
		"%s/" DEVICES "/%s",
	};

	for (size_t i = 0; i < NB(formats); i++) {
		snprintf(path, sizeof(path), formats[i], picture, name);
		roost_picture_remove(path);
	}
}

/* ---- ports --------------------------------------------------------------
 */

/* Widths and speeds as lib/verbs tells programs. */
static const char *rate_text(uint32_t speed_mbps)
{
	static const struct {
		uint32_t mbps;
		const char *text;
	} rows[] = {
		{ 1000, "2.5 Gb/sec (1X SDR)" },
		{ 10000, "10 Gb/sec (1X FDR10)" },
		{ 20000, "20 Gb/sec (4X DDR)" },
		{ 25000, "25 Gb/sec (1X EDR)" },
		{ 40000, "40 Gb/sec (4X FDR10)" },
		{ 50000, "50 Gb/sec (1X HDR)" },
		{ 100000, "100 Gb/sec (4X EDR)" },
		{ 200000, "200 Gb/sec (4X HDR)" },
		{ UINT32_MAX, "400 Gb/sec (4X NDR)" },
	};
	size_t i = 0;

	while (speed_mbps > rows[i].mbps)
		i++;
	return rows[i].text;
}

static void go_port(struct roost_picture_at *at, const char *name,
		    unsigned int port_num, const char *folder)
{
	roost_picture_go(at, DEVICES "/%s/infiniband/%s/ports/%u%s", name, name,
			 port_num, folder);
}

static void put_state(struct roost_picture_at *at,
		      const struct roost_picture_port *port)
{
	roost_picture_put(at, "state", "%s\n",
			  port->is_active ? "4: ACTIVE" : "1: DOWN");
	roost_picture_put(at, "phys_state", "%s\n",
			  port->is_active ? "5: LinkUp" : "3: Disabled");
	roost_picture_put(at, "rate", "%s\n", rate_text(port->speed_mbps));
	roost_picture_put(at, "lid", "0x%x\n", port->lid);
	roost_picture_put(at, "sm_lid", "0x%x\n", port->sm_lid);
	roost_picture_put(at, "cap_mask", "0x%08x\n", port->cap_mask);
}

/* The files of a folder with one for each GID. */
static void
put_gids(struct roost_picture_at *at, const struct roost_picture_port *port,
	 const struct roost_picture_port *before,
	 void (*put)(struct roost_picture_at *at, const char *file,
		     const struct roost_picture_port *port, unsigned int i))
{
	const bool moved =
		before && strcmp(port->interface, before->interface) != 0;
	char file[16];

	for (unsigned int i = 0; i < NB(port->gids); i++) {
		if (before && !moved &&
		    roost_gid_eq(&port->gids[i], &before->gids[i]))
			continue;
		snprintf(file, sizeof(file), "%u", i);
		put(at, file, port, i);
	}
}

static void put_gid(struct roost_picture_at *at, const char *file,
		    const struct roost_picture_port *port, unsigned int i)
{
	const uint8_t *b = port->gids[i].b;

	roost_picture_put(at, file,
			  "%02x%02x:%02x%02x:%02x%02x:%02x%02x:"
			  "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
			  b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
			  b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void put_type(struct roost_picture_at *at, const char *file,
		     const struct roost_picture_port *port, unsigned int i)
{
	roost_picture_put(at, file, "%s",
			  roost_gid_is_zero(&port->gids[i]) ? "" : "RoCE v2\n");
}

static void put_ndev(struct roost_picture_at *at, const char *file,
		     const struct roost_picture_port *port, unsigned int i)
{
	const bool empty =
		roost_gid_is_zero(&port->gids[i]) || !port->interface[0];

	roost_picture_put(at, file, "%s%s", empty ? "" : port->interface,
			  empty ? "" : "\n");
}

/* The interface's own directory, where the device would have it. */
static void put_interface(struct roost_picture_at *at, const char *name,
			  const struct roost_picture_port *port,
			  const struct roost_picture_port *before)
{
	char path[ROOST_PICTURE_FILE_MAX];

	if (before && strcmp(port->interface, before->interface) == 0)
		return;
	if (before && before->interface[0]) {
		snprintf(path, sizeof(path), "%s/" DEVICES "/%s/net/%s",
			 at->picture, name, before->interface);
		roost_picture_remove(path);
		/* Programs take one that is empty for one with an interface. */
		snprintf(path, sizeof(path), "%s/" DEVICES "/%s/net",
			 at->picture, name);
		rmdir(path);
	}
	if (port->interface[0]) {
		snprintf(path, sizeof(path), "/sys/class/net/%s",
			 port->interface);
		roost_picture_go(at, DEVICES "/%s/net", name);
		roost_picture_link(at, port->interface, path);
	}
}

int roost_picture_put_port(const char *picture, const char *name,
			   unsigned int port_num,
			   const struct roost_picture_port *port,
			   const struct roost_picture_port *before)
{
	struct roost_picture_at at = { .picture = picture };
	char file[16];

	put_interface(&at, name, port, before);
	go_port(&at, name, port_num, "/gids");
	put_gids(&at, port, before, put_gid);
	go_port(&at, name, port_num, "/gid_attrs/types");
	put_gids(&at, port, before, put_type);
	go_port(&at, name, port_num, "/gid_attrs/ndevs");
	put_gids(&at, port, before, put_ndev);
	go_port(&at, name, port_num, "/pkeys");
	for (unsigned int i = 0; i < NB(port->pkeys); i++) {
		if (before && port->pkeys[i] == before->pkeys[i])
			continue;
		snprintf(file, sizeof(file), "%u", i);
		roost_picture_put(&at, file, "0x%04x\n", port->pkeys[i]);
	}
	go_port(&at, name, port_num, "");
	if (!before) {
		roost_picture_put(&at, "link_layer", "Ethernet\n");
		roost_picture_put(&at, "lid_mask_count", "0\n");
		roost_picture_put(&at, "sm_sl", "0\n");
	}
	if (!before || port->is_active != before->is_active ||
	    port->speed_mbps != before->speed_mbps ||
	    port->lid != before->lid || port->sm_lid != before->sm_lid ||
	    port->cap_mask != before->cap_mask)
		put_state(&at, port);
	return at.ret;
}

/* ---- counters -----------------------------------------------------------
 */

static void put_zeros(struct roost_picture_at *at, const char *name,
		      unsigned int port_num)
{
	static const char *const zeros[] = {
		"symbol_error",
		"link_error_recovery",
		"link_downed",
		"port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_discards",
		"port_xmit_constraint_errors",
		"port_rcv_constraint_errors",
		"local_link_integrity_errors",
		"excessive_buffer_overrun_errors",
		"VL15_dropped",
		"port_xmit_wait",
		"multicast_xmit_packets",
		"multicast_rcv_packets",
	};

	go_port(at, name, port_num, "/counters");
	for (size_t i = 0; i < NB(zeros); i++)
		roost_picture_put(at, zeros[i], "0\n");
	/* How long a value may be old, in ms. */
	go_port(at, name, port_num, "/hw_counters");
	roost_picture_put(at, "lifespan", "1000\n");
}

int roost_picture_put_counters(const char *picture, const char *name,
			       unsigned int port_num,
			       const struct roost_picture_counters *counters,
			       const struct roost_picture_counters *before)
{
	struct roost_picture_at at = { .picture = picture };

#define PUT(folder, counter)                                                   \
	if (!before || counters->counter != before->counter) {                 \
		go_port(&at, name, port_num, "/" folder);                      \
		roost_picture_put(&at, #counter, "%llu\n",                     \
				  (unsigned long long)counters->counter);      \
	}
	if (!before)
		put_zeros(&at, name, port_num);
	ROOST_PICTURE_COUNTERS(PUT)
	return at.ret;
}
