/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/picture_static.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/picture_dir.h"
#include "lib/config/resolve.h"
#include "lib/face/shim.h"
#include "lib/sysfs/sum.h"
#include "pmd_glue/port/driver.h"
#include "pmd_glue/port/port_spec.h"

/* The hardware that a port is on: its directory in sysfs, PATH_MAX bytes.
 * Returns NULL: there is none.
 */
static const char *find_parent(const struct roost_port_config *port,
			       const struct roost_netif *netif, char *parent)
{
	char path[PATH_MAX];

	if (netif)
		snprintf(path, sizeof(path), "/sys/class/net/%s/device",
			 netif->name);
	else
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.*s",
			 (int)strcspn(port->devargs, ",/"), port->devargs);
	if (!netif && port->devargs[0] == '\0')
		return NULL;
	return realpath(path, parent);
}

/* The kernel's interface that a port is on, by its name or in a driver's
 * arguments. Returns NULL: there is none.
 */
static const struct roost_netif *
find_netif(const struct roost_port_config *port, struct roost_netif *netif)
{
	char name[IFNAMSIZ];

	if (port->devargs[0] == '\0')
		return NULL;
	if (roost_port_spec_is_netif(port->devargs, netif))
		return netif;
	roost_driver_kernel(port->devargs, name, sizeof(name));
	return name[0] && roost_netif_find(name, netif) ? netif : NULL;
}

static void find_interface(const struct roost_port_config *conf,
			   const struct roost_netif *netif, char interface[16])
{
	const char *name = netif ? netif->name : "";

	snprintf(interface, 16, "%.15s", conf->twin[0] ? conf->twin : name);
}

static int put_port(const char *picture, const char *name,
		    unsigned int port_num, const struct roost_port_config *conf)
{
	static const struct roost_picture_counters none;
	struct roost_picture_port port = { .pkeys[0] = 0xffff };
	struct roost_netif own;
	const struct roost_netif *netif = find_netif(conf, &own);
	int ret;

	port.is_active =
		conf->link[0] || conf->service[0] || (netif && netif->running);
	find_interface(conf, netif, port.interface);
	ret = roost_picture_put_port(picture, name, port_num, &port, NULL);
	return ret ? ret
		   : roost_picture_put_counters(picture, name, port_num, &none,
						NULL);
}

static void name_of(unsigned int index, char name[16])
{
	snprintf(name, 16, "roost%u", index);
}

int roost_picture_put_device(const char *picture,
			     const struct roost_config *config,
			     unsigned int index,
			     const struct roost_port_config *hardware,
			     struct roost_picture_port *port)
{
	char name[16], parent[PATH_MAX], label[ROOST_LABEL_MAX];
	struct roost_picture_dev dev = { .name = name, .board_id = label };
	const struct roost_netif *netif;
	struct roost_netif own;
	unsigned int first = 0;

	roost_config_device_ports(config, index, &first);
	name_of(index, name);
	roost_config_label(config, first, true, label);
	netif = find_netif(hardware, &own);
	find_interface(hardware, netif, port->interface);
	dev.guid = roost_device_guid(config, index);
	dev.fw_ver = ROOST_VERSION;
	dev.parent = find_parent(hardware, netif, parent);
	return roost_picture_put_dev(picture, &dev);
}

static int put_device(const char *picture, const struct roost_config *config,
		      unsigned int index)
{
	struct roost_picture_port unused;
	unsigned int first = 0, nb;
	char name[16];
	int ret;

	nb = roost_config_device_ports(config, index, &first);
	name_of(index, name);
	ret = roost_picture_put_device(picture, config, index,
				       &config->ports[first], &unused);
	for (unsigned int i = 0; ret == 0 && i < nb; i++)
		ret = put_port(picture, name, i + 1, &config->ports[first + i]);
	return ret ? ret : roost_picture_sum_make(picture, name);
}

int roost_picture_put_config(const char *picture,
			     const struct roost_config *config)
{
	const unsigned int nb = roost_config_nb_devices(config);
	int ret = 0;

	for (unsigned int i = 0; ret == 0 && i < nb; i++)
		ret = put_device(picture, config, i);
	return ret;
}

/* ---- a daemon's ----------------------------------------------------------
 */

/* The socket of the daemon that has all ports of the configuration, in its
 * order; NULL: there is none.
 */
static const char *find_daemon(const struct roost_config *config, char *socket)
{
	for (unsigned int i = 0; i < config->nb_ports; i++) {
		const char *service = config->ports[i].service;
		size_t len;

		if (!service[0] || config->ports[i].second ||
		    roost_config_service_port(service, &len) != i)
			return NULL;
		if (i == 0)
			snprintf(socket, ROOST_SERVICE_MAX, "%.*s", (int)len,
				 service);
		else if (strlen(socket) != len ||
			 strncmp(socket, service, len) != 0)
			return NULL;
	}
	return socket;
}

/* It has these devices, with these names for verbs, and no more. */
static bool has_devices(const char *picture, const struct roost_config *config)
{
	char name[16];
	unsigned int i;

	for (i = 0; i < config->nb_ports; i++) {
		name_of(i, name);
		if (!roost_picture_has_guid(picture, name,
					    roost_device_guid(config, i)))
			return false;
	}
	name_of(i, name);
	return !roost_picture_has_dev(picture, name);
}

static bool find_hub(char *path)
{
	const char *base;

	for (unsigned int i = 0; i < ROOST_PICTURE_PLACES; i++) {
		base = roost_picture_place(i);
		if (base && roost_picture_hub_path(base, path) == 0 &&
		    roost_picture_is_own(path))
			return true;
	}
	return false;
}

bool roost_picture_of_daemon(const struct roost_config *config, char *path)
{
	char socket[ROOST_SERVICE_MAX];

	if (!find_daemon(config, socket))
		return false;
	return (socket[0] == '/' ? roost_picture_service_path(socket, path) == 0
				 : find_hub(path)) &&
	       has_devices(path, config);
}
