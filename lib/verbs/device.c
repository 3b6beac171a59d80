/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The devices of the configuration. Listing them reads the configuration and
 * nothing else: no EAL, no port.
 *
 * The list is made once and lives as long as the process. So a device is valid
 * for ever, opened or not, even after the arrays of ibv_get_device_list() are
 * freed, and a link keeps its GUID. No lock is held while a device is opened,
 * so the list can be queried from inside (by a DPDK driver that looks for verbs
 * devices).
 */

#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <roost/config.h>
#include "lib/verbs/shim.h"

/* Providers compare this address with that of their own table. */
static const struct {
	const char *name;
	void *unused[8];
} device_ops = { .name = "roost" };

static struct {
	pthread_once_t once;
	int error; /* 0, or -errno of the configuration */
	struct roost_config config;
	unsigned int nb_devices;
	struct roost_verbs_device devices[ROOST_PORTS_MAX];
} process = { .once = PTHREAD_ONCE_INIT };

static void init_device(struct roost_verbs_device *d, unsigned int index)
{
	struct ibv_device *ibv = &d->abi.device;

	d->index = index;
	d->guid = roost_device_guid(&process.config, index);
	d->abi.ops = &device_ops;
	d->abi.refcount = 1;
	d->abi.core_support = 1;
	ibv->node_type = IBV_NODE_CA;
	ibv->transport_type = IBV_TRANSPORT_IB;
	/* Names that the kernel never gives: a program that looks them up in
	 * sysfs finds the picture (lib/sysfs) or nothing, and no other device.
	 */
	snprintf(ibv->name, sizeof(ibv->name), "roost%u", index);
	snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs_roost%u", index);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path),
		 "/sys/class/infiniband_verbs/%s", ibv->dev_name);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path),
		 "/sys/class/infiniband/%s", ibv->name);
}

static void load(void)
{
	char err[ROOST_CONFIG_ERR_MAX];

	process.error = roost_config_load(&process.config, err);
	if (process.error) {
		fprintf(stderr, "roost: %s\n", err);
		return;
	}
	roost_config_tell_unknown(&process.config);
	process.nb_devices = roost_config_nb_devices(&process.config);
	for (unsigned int i = 0; i < process.nb_devices; i++)
		init_device(&process.devices[i], i);
}

const struct roost_config *roost_verbs_config(void)
{
	return &process.config;
}

ROOST_VERBS_LATEST(ibv_get_device_list, "IBVERBS_1.1");
struct ibv_device **roost_ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;

	if (num_devices)
		*num_devices = 0;
	pthread_once(&process.once, load);
	if (process.error)
		return roost_verbs_null(process.error);

	list = calloc(process.nb_devices + 1, sizeof(struct ibv_device *));
	if (!list)
		return roost_verbs_null(-ENOMEM);
	for (unsigned int i = 0; i < process.nb_devices; i++)
		list[i] = &process.devices[i].abi.device;
	if (num_devices)
		*num_devices = (int)process.nb_devices;
	return list;
}

ROOST_VERBS_LATEST(ibv_free_device_list, "IBVERBS_1.1");
void roost_ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

ROOST_VERBS_LATEST(ibv_get_device_name, "IBVERBS_1.1");
const char *roost_ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

ROOST_VERBS_LATEST(ibv_get_device_guid, "IBVERBS_1.1");
__be64 roost_ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(roost_verbs_device(device)->guid);
}

/* The kernel's number of the device; it has none. */
int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}
