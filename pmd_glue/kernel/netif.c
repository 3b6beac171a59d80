/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/netif.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "pmd_glue/process/sysfs.h"

#define BUF_BYTES 32768u

/* ---- interfaces -----------------------------------------------------------
 */

struct list {
	struct roost_netif *all;
	unsigned int nb, room;
};

static int take_kind(const struct nlattr *attr, void *arg)
{
	struct roost_netif *n = arg;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		snprintf(n->kind, sizeof(n->kind), "%.*s",
			 (int)mnl_attr_get_payload_len(attr),
			 (const char *)mnl_attr_get_payload(attr));
	return MNL_CB_OK;
}

static int take_xdp(const struct nlattr *attr, void *arg)
{
	struct roost_netif *n = arg;

	if (mnl_attr_get_type(attr) == IFLA_XDP_PROG_ID &&
	    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
		n->xdp_id = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct roost_netif *n = arg;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			snprintf(n->name, sizeof(n->name), "%s",
				 mnl_attr_get_str(attr));
		break;
	case IFLA_MTU:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			n->mtu_bytes = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINKINFO:
		mnl_attr_parse_nested(attr, take_kind, n);
		break;
	case IFLA_XDP:
		mnl_attr_parse_nested(attr, take_xdp, n);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int take_link(const struct nlmsghdr *msg, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(msg);
	struct list *list = arg;
	struct roost_netif *n;

	if (msg->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(msg) < sizeof(*ifi))
		return MNL_CB_OK;
	if (list->nb == list->room) {
		list->room = 2 * list->room + 16;
		n = reallocarray(list->all, list->room, sizeof(*n));
		if (!n)
			return MNL_CB_ERROR;
		list->all = n;
	}
	n = &list->all[list->nb++];
	*n = (struct roost_netif){
		.ifindex = (unsigned int)ifi->ifi_index,
		.type = ifi->ifi_type,
		.up = ifi->ifi_flags & IFF_UP,
		.running = ifi->ifi_flags & IFF_RUNNING,
	};
	mnl_attr_parse(msg, sizeof(*ifi), take_attr, n);
	return MNL_CB_OK;
}

static int dump(struct mnl_socket *nl, struct list *list)
{
	_Alignas(struct nlmsghdr) static _Thread_local uint8_t buf[BUF_BYTES];
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
	int ret = MNL_CB_OK;
	ssize_t got;

	msg->nlmsg_type = RTM_GETLINK;
	msg->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	msg->nlmsg_seq = 1;
	mnl_nlmsg_put_extra_header(msg, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (mnl_socket_sendto(nl, msg, msg->nlmsg_len) < 0)
		return -errno;
	while (ret == MNL_CB_OK) {
		got = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (got < 0)
			return -errno;
		ret = mnl_cb_run(buf, (size_t)got, 1, 0, take_link, list);
	}
	return ret < 0 ? -errno : 0;
}

/* Ask ethtool for driver and PCI device. They stay empty for interfaces that do
 * not support the request.
 */
static void ask_driver(int fd, struct roost_netif *n)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq request = { .ifr_data = (char *)&info };

	memcpy(request.ifr_name, n->name, sizeof(request.ifr_name));
	if (ioctl(fd, SIOCETHTOOL, &request) < 0)
		return;
	info.driver[sizeof(info.driver) - 1] = '\0';
	info.bus_info[sizeof(info.bus_info) - 1] = '\0';
	snprintf(n->driver, sizeof(n->driver), "%s", info.driver);
	/* Empty for a device of another bus. */
	roost_pci_is(info.bus_info, n->pci);
}

int roost_netif_list(struct roost_netif **all, unsigned int *nb)
{
	struct list list = { .all = NULL };
	struct mnl_socket *nl;
	int ret, fd;

	nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl)
		return -errno;
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno
							     : dump(nl, &list);
	mnl_socket_close(nl);
	if (ret) {
		free(list.all);
		return ret;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned int i = 0; fd >= 0 && i < list.nb; i++)
		ask_driver(fd, &list.all[i]);
	if (fd >= 0)
		close(fd);
	*all = list.all;
	*nb = list.nb;
	return 0;
}

bool roost_netif_find(const char *name, struct roost_netif *netif)
{
	struct roost_netif *all;
	bool found = false;
	unsigned int nb;

	if (if_nametoindex(name) == 0 || roost_netif_list(&all, &nb) != 0)
		return false;
	for (unsigned int i = 0; !found && i < nb; i++) {
		found = strcmp(all[i].name, name) == 0;
		*netif = all[i];
	}
	free(all);
	return found;
}

const char *roost_netif_refuses(const struct roost_netif *netif)
{
	if (netif->type == ARPHRD_LOOPBACK)
		return "it is the loopback interface; for two programs of one "
		       "machine use --link NAME";
	if (netif->type != ARPHRD_ETHER)
		return "it carries no Ethernet frames; name an interface that "
		       "does";
	return NULL;
}

/* ---- RDMA devices ----------------------------------------------------------
 */

static void read_pci(const char *place, struct roost_rdma_device *d)
{
	char name[ROOST_PCI_NAME_MAX];

	roost_sysfs_link(place, d->name, "device", name, sizeof(name));
	if (name[0])
		roost_pci_is(name, d->pci);
}

/* Read the first interface of the RDMA device's PCI device. */
static void read_netif(const char *place, struct roost_rdma_device *d)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s/device/net", place, d->name);
	dir = opendir(path);
	while (dir && !d->netif[0] && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(d->netif, sizeof(d->netif), "%.*s",
				 IFNAMSIZ - 1, entry->d_name);
	if (dir)
		closedir(dir);
}

bool roost_rdma_find(const char *place, const char *name,
		     struct roost_rdma_device *device)
{
	char path[PATH_MAX];

	*device = (struct roost_rdma_device){ .pci = "" };
	/* Names with a leading dot or with a slash are no devices. */
	if (name[0] == '.' || strchr(name, '/') ||
	    strlen(name) >= sizeof(device->name))
		return false;
	snprintf(path, sizeof(path), "%s/%s", place, name);
	if (access(path, F_OK) != 0)
		return false;
	strcpy(device->name, name);
	read_pci(place, device);
	/* By its GIDs; by the parent attribute of rxe and siw; or by PCI. */
	roost_sysfs_word(place, name, "ports/1/gid_attrs/ndevs/0",
			 device->netif, sizeof(device->netif));
	if (!device->netif[0])
		roost_sysfs_word(place, name, "parent", device->netif,
				 sizeof(device->netif));
	if (!device->netif[0])
		read_netif(place, device);
	return true;
}

bool roost_rdma_of_netif(const char *place, const char *netif,
			 struct roost_rdma_device *device)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir(place);

	while (dir && !found && (entry = readdir(dir)))
		found = roost_rdma_find(place, entry->d_name, device) &&
			strcmp(device->netif, netif) == 0;
	if (dir)
		closedir(dir);
	return found;
}
