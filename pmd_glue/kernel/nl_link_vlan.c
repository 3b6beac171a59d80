/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/nl_link.h"

#include <errno.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The ioctl fails for an interface that is no VLAN. */
static bool is_vlan_of(int fd, const char *name, const char *parent,
		       uint16_t vlan_id)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_VID_CMD };

	snprintf(args.device1, sizeof(args.device1), "%s", name);
	if (ioctl(fd, SIOCGIFVLAN, &args) < 0 || args.u.VID != vlan_id)
		return false;
	args.cmd = GET_VLAN_REALDEV_NAME_CMD;
	return ioctl(fd, SIOCGIFVLAN, &args) == 0 &&
	       strcmp(args.u.device2, parent) == 0;
}

int roost_nl_link_find_vlan(const char *parent, uint16_t vlan_id,
			    char name[IFNAMSIZ])
{
	struct if_nameindex *all, *i;
	int ret = -ENODEV;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	all = if_nameindex();
	if (!all)
		ret = -errno;
	for (i = all; i && i->if_name && ret; i++) {
		if (!is_vlan_of(fd, i->if_name, parent, vlan_id))
			continue;
		strcpy(name, i->if_name);
		ret = 0;
	}
	if (all)
		if_freenameindex(all);
	close(fd);
	return ret;
}

void roost_nl_link_find_parent(unsigned int *ifindex, uint16_t *vlan_id)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_VID_CMD };
	unsigned int parent;
	uint16_t id;
	int fd;

	if (*vlan_id != 0 || !if_indextoname(*ifindex, args.device1))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (ioctl(fd, SIOCGIFVLAN, &args) == 0) {
		id = (uint16_t)args.u.VID;
		args.cmd = GET_VLAN_REALDEV_NAME_CMD;
		parent = ioctl(fd, SIOCGIFVLAN, &args) == 0
				 ? if_nametoindex(args.u.device2)
				 : 0;
		*vlan_id = parent ? id : 0;
		*ifindex = parent ? parent : *ifindex;
	}
	close(fd);
}
