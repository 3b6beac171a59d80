/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/process/fork_guard.h"

static int make(const struct roost_tap *tap, const char *name)
{
	struct ifreq ifr = {
		.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL),
	};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	return ioctl(tap->fd, TUNSETIFF, &ifr) < 0 ? -errno : 0;
}

static int set_mac(const struct roost_tap *tap, const uint8_t mac[6])
{
	struct ifreq ifr = { 0 };

	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, mac, 6);
	return ioctl(tap->fd, SIOCSIFHWADDR, &ifr) < 0 ? -errno : 0;
}

void roost_tap_set_carrier(const struct roost_tap *tap, bool carrier)
{
	int on = carrier;

	/* Fails if the interface is gone, or before Linux 5.0, where a tap
	 * always has a carrier.
	 */
	ioctl(tap->fd, TUNSETCARRIER, &on);
}

int roost_tap_open(struct roost_tap *tap, const char *name,
		   const uint8_t mac[6])
{
	int ret;

	tap->fd = roost_high_fd(
		open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
	if (tap->fd < 0)
		return -errno;
	ret = roost_fork_guard_add(tap->fd);
	if (ret == 0)
		ret = make(tap, name);
	if (ret == 0)
		ret = set_mac(tap, mac);
	if (ret == 0)
		roost_tap_set_carrier(tap, false);
	else
		roost_tap_close(tap);
	return ret;
}

void roost_tap_close(struct roost_tap *tap)
{
	if (tap->fd < 0)
		return;
	roost_fork_guard_remove(tap->fd);
	close(tap->fd);
	tap->fd = -1;
}
