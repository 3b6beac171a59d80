/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kif.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int request(const char *name, unsigned long what, struct ifreq *ifr)
{
	int ret = 0;
	int fd;

	if (strlen(name) >= sizeof(ifr->ifr_name))
		return -ENODEV;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", name);
	if (ioctl(fd, what, ifr) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int roost_kif_read(const char *name, struct roost_kif *kif)
{
	struct ifreq ifr = { 0 };
	int ret;

	ret = request(name, SIOCGIFHWADDR, &ifr);
	if (ret)
		return ret;
	memcpy(kif->mac, ifr.ifr_hwaddr.sa_data, sizeof(kif->mac));
	ret = request(name, SIOCGIFMTU, &ifr);
	if (ret)
		return ret;
	kif->mtu_bytes = (uint32_t)ifr.ifr_mtu;
	ret = request(name, SIOCGIFFLAGS, &ifr);
	if (ret)
		return ret;
	kif->running =
		(ifr.ifr_flags & IFF_UP) && (ifr.ifr_flags & IFF_RUNNING);
	return 0;
}

static uint8_t mask_len(const void *mask, size_t len_bytes)
{
	const uint8_t *p = mask;
	unsigned int bits = 0;

	while (len_bytes--)
		bits += (unsigned int)__builtin_popcount(*p++);
	return (uint8_t)bits;
}

/* Returns true if it was an IP address. */
static bool prefix_of(const struct ifaddrs *ifa, struct roost_prefix *prefix)
{
	const struct sockaddr_in6 *in6;
	const struct sockaddr_in *in;

	if (!ifa->ifa_addr || !ifa->ifa_netmask)
		return false;
	switch (ifa->ifa_addr->sa_family) {
	case AF_INET:
		in = (const void *)ifa->ifa_addr;
		prefix->gid = roost_gid_from_v4((const void *)&in->sin_addr);
		in = (const void *)ifa->ifa_netmask;
		prefix->len_bits = mask_len(&in->sin_addr, 4);
		return true;
	case AF_INET6:
		in6 = (const void *)ifa->ifa_addr;
		memcpy(prefix->gid.b, &in6->sin6_addr, 16);
		in6 = (const void *)ifa->ifa_netmask;
		prefix->len_bits = mask_len(&in6->sin6_addr, 16);
		return true;
	default:
		return false;
	}
}

int roost_kif_addrs(const char *name, struct roost_prefixes *addrs)
{
	struct ifaddrs *all, *ifa;
	struct roost_prefix prefix;

	addrs->nb = 0;
	if (getifaddrs(&all) < 0)
		return -errno;
	for (ifa = all; ifa; ifa = ifa->ifa_next) {
		if (strcmp(ifa->ifa_name, name) != 0 ||
		    !prefix_of(ifa, &prefix))
			continue;
		if (addrs->nb < ROOST_PORT_IPS_MAX)
			addrs->v[addrs->nb++] = prefix;
	}
	freeifaddrs(all);
	return 0;
}

int roost_kif_set_mtu(const char *name, uint32_t mtu_bytes)
{
	struct ifreq ifr = { .ifr_mtu = (int)mtu_bytes };

	return request(name, SIOCSIFMTU, &ifr);
}

int roost_kif_join_all_groups(const char *name)
{
	struct packet_mreq mreq = { .mr_type = PACKET_MR_ALLMULTI };
	int ret;
	int fd;

	mreq.mr_ifindex = (int)if_nametoindex(name);
	if (mreq.mr_ifindex == 0)
		return -ENODEV;
	/* Protocol 0: the socket itself receives nothing. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq,
		       sizeof(mreq)) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}
