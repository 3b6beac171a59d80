/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/members.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_version.h>

#include "pmd_glue/port/eal.h"
#include "pmd_glue/quirks/quirk.h"
#include "pmd_glue/kernel/pci.h"

static const char key[] = ",slave=";
/* The driver's word for it. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
static const char driver_key[] = ",member=";
#else
static const char driver_key[] = ",slave=";
#endif

#define KEY_LEN (sizeof(key) - 1)
#define DRIVER_KEY_LEN (sizeof(driver_key) - 1)

int roost_members_next(const char *devargs, size_t *at, size_t *begin,
		       char member[ROOST_DEVARGS_MAX])
{
	const char *found = strstr(devargs + *at, key);
	const char *value, *end;

	if (!found)
		return -ENOENT;
	value = found + KEY_LEN;
	if (*value == '(') {
		value++;
		end = strchr(value, ')');
		if (!end)
			return -EINVAL;
		*at = (size_t)(end - devargs) + 1;
	} else {
		end = value + strcspn(value, ",");
		*at = (size_t)(end - devargs);
	}
	if (end - value >= ROOST_DEVARGS_MAX)
		return -ENAMETOOLONG;
	snprintf(member, ROOST_DEVARGS_MAX, "%.*s", (int)(end - value), value);
	*begin = (size_t)(found - devargs);
	return 0;
}

/* Replace begin to end with the driver's key and the name. Returns the new end;
 * 0: no room.
 */
static size_t replace(char *devargs, size_t size, size_t begin, size_t end,
		      const char *name)
{
	size_t len = DRIVER_KEY_LEN + strlen(name);
	size_t tail = strlen(devargs + end) + 1;

	if (begin + len + tail > size)
		return 0;
	memmove(devargs + begin + len, devargs + end, tail);
	memcpy(devargs + begin, driver_key, DRIVER_KEY_LEN);
	memcpy(devargs + begin + DRIVER_KEY_LEN, name, strlen(name));
	return begin + len;
}

static int plug_in(struct roost_member *member, const char *devargs,
		   const struct roost_driver *driver, char *why, size_t size)
{
	struct roost_quirk_port quirk = { .quirk = driver->quirk };
	char full[ROOST_DEVARGS_MAX + 128], pci[ROOST_PCI_NAME_MAX];
	uint16_t id;
	int ret;

	member->was_there =
		rte_eth_dev_get_port_by_name(member->name, &id) == 0;
	if (member->was_there)
		return 0;
	ret = roost_driver_devargs(devargs, full, sizeof(full));
	if (ret)
		return ret;
	if (roost_pci_is(devargs, pci))
		roost_pci_reset(&roost_pci_places, pci);
	roost_eal_log_clear();
	roost_quirk_enter(&quirk);
	ret = rte_dev_probe(full);
	roost_quirk_leave(&quirk);
	if (ret == 0)
		return 0;
	snprintf(why, size,
		 "DPDK cannot open member %s: %s; check its devargs, \"-v\" "
		 "shows DPDK's log",
		 devargs,
		 *roost_eal_log_first() ? roost_eal_log_first()
					: strerror(-ret));
	return -ENODEV;
}

static int add(struct roost_members *members, const char *devargs, char *why,
	       size_t size)
{
	const struct roost_driver *driver = roost_driver_find(devargs);
	struct roost_member *member = &members->v[members->nb];
	int ret;

	if (driver->quirk && !driver->quirk->may_be_member) {
		snprintf(why, size,
			 "a %s port cannot be a member; use PCI devices, "
			 "net_tap, net_af_packet or net_ring",
			 driver->prefix);
		return -EINVAL;
	}
	if (members->nb == ROOST_MEMBERS_MAX) {
		snprintf(why, size, "it has more than %u members; name fewer",
			 ROOST_MEMBERS_MAX);
		return -EINVAL;
	}
	roost_devargs_name(devargs, member->name, sizeof(member->name));
	ret = plug_in(member, devargs, driver, why, size);
	if (ret)
		return ret;
	members->of_taps = (members->nb == 0 || members->of_taps) &&
			   driver->kernel == ROOST_KERNEL_PEER;
	members->nb++;
	return 0;
}

int roost_members_plug_in(struct roost_members *members, char *devargs,
			  size_t size, char *why, size_t why_size)
{
	char member[ROOST_DEVARGS_MAX];
	size_t at = 0, begin = 0;
	int ret;

	*members = (struct roost_members){ .nb = 0 };
	snprintf(why, why_size, "its devargs are too long; shorten them");
	while ((ret = roost_members_next(devargs, &at, &begin, member)) == 0) {
		ret = add(members, member, why, why_size);
		if (ret)
			return ret;
		at = replace(devargs, size, begin, at,
			     members->v[members->nb - 1].name);
		if (at == 0)
			return -ENAMETOOLONG;
	}
	if (ret == -EINVAL)
		snprintf(why, why_size,
			 "a member has no closing parenthesis; write "
			 "slave=(DEVARGS)");
	return ret == -ENOENT ? 0 : ret;
}

static bool has_link(uint16_t id)
{
	struct rte_eth_link link = { 0 };

	return rte_eth_link_get_nowait(id, &link) == 0 &&
	       link.link_status == RTE_ETH_LINK_UP;
}

bool roost_members_watch(const struct roost_members *members, uint16_t bond)
{
	uint16_t id;

	for (unsigned int i = 0; i < members->nb; i++) {
		if (rte_eth_dev_get_port_by_name(members->v[i].name, &id) ||
		    !has_link(id))
			continue;
		roost_quirk_move_primary(bond, id);
		return true;
	}
	return false;
}

void roost_members_plug_out(struct roost_members *members)
{
	struct rte_eth_dev_info info;
	uint16_t id;

	while (members->nb > 0) {
		const struct roost_member *m = &members->v[--members->nb];

		if (m->was_there ||
		    rte_eth_dev_get_port_by_name(m->name, &id) != 0 ||
		    rte_eth_dev_info_get(id, &info) != 0)
			continue;
		rte_eth_dev_close(id);
		rte_dev_remove(info.device);
	}
}
