/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "cm/rdmacm/random.h"
#include "cm/rdmacm/rdmacm.h"
#include "cm/serve.h"
#include "lib/engine/core/dev.h"
#include "lib/face/shim.h"
#include <roost/config.h>

static struct {
	pthread_mutex_t lock;
	bool loaded;
	unsigned int nb;
	struct roost_rdmacm_device devices[ROOST_PORTS_MAX];
	/* Open devices, in the order of the configuration; only grows. */
	_Atomic unsigned int nb_open;
	struct roost_rdmacm_device *_Atomic open[ROOST_PORTS_MAX];
	struct roost_config config;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Under the lock. */
static int load(void)
{
	char err[ROOST_CONFIG_ERR_MAX];
	struct ibv_device **list;
	int nb = 0;

	if (process.loaded)
		return 0;
	list = ibv_get_device_list(&nb);
	/* ibv_get_device_list() has printed what is wrong with the
	 * configuration.
	 */
	if (!list || nb == 0 || roost_config_load(&process.config, err)) {
		if (list)
			ibv_free_device_list(list);
		return -ENODEV;
	}
	for (int i = 0; i < nb && i < ROOST_PORTS_MAX; i++)
		process.devices[process.nb++].ibv = list[i];
	/* Devices live as long as the process. */
	ibv_free_device_list(list);
	roost_process_fork_hold();
	process.loaded = true;
	roost_process_fork_release();
	return 0;
}

/* In a child of a fork: forget the open devices, which are the parent's. The
 * list of devices stays, unless it was just being read.
 */
static void forget(void)
{
	pthread_mutex_init(&process.lock, NULL);
	if (!process.loaded)
		process.nb = 0;
	process.nb_open = 0;
	for (unsigned int i = 0; i < process.nb; i++)
		process.devices[i] = (struct roost_rdmacm_device){
			.ibv = process.devices[i].ibv,
		};
	roost_rdmacm_ports_forget();
	roost_rdmacm_random_forget();
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = forget };

	roost_process_at_child(&child);
}

int roost_rdmacm_init(void)
{
	int ret;

	pthread_mutex_lock(&process.lock);
	ret = load();
	pthread_mutex_unlock(&process.lock);
	return ret;
}

/* The limit that ibv_open_device() ran into; any other failure counts as no
 * device, so that programs look for another one.
 */
static int why_not(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno
								     : -ENODEV;
}

/* Under the lock. */
static int open_device(struct roost_rdmacm_device *d)
{
	struct ibv_device_attr attr;
	unsigned int index;
	int ret = -ENODEV;

	if (sscanf(ibv_get_device_name(d->ibv), "roost%u", &index) != 1)
		return -ENODEV;
	d->verbs = ibv_open_device(d->ibv);
	if (!d->verbs)
		return why_not();
	if (ibv_query_device(d->verbs, &attr))
		goto err_verbs;
	d->max_initiator_depth = (uint8_t)attr.max_qp_init_rd_atom;
	d->max_responder_resources = (uint8_t)attr.max_qp_rd_atom;
	ret = roost_device_open(&process.config, index, &d->device);
	if (ret)
		goto err_verbs;
	d->dev = roost_device_dev(d->device);
	ret = roost_cm_get(d->dev, &d->cm);
	if (ret)
		goto err_device;
	roost_rdmacm_watch(d);
	return 0;
err_device:
	roost_device_close(d->device);
err_verbs:
	ibv_close_device(d->verbs);
	d->verbs = NULL;
	return ret;
}

int roost_rdmacm_open_all(void)
{
	int ret, first = -ENODEV;
	unsigned int nb = 0;

	/* A device that could not be opened is not tried again by every call.
	 */
	if (process.nb_open)
		return 0;
	pthread_mutex_lock(&process.lock);
	ret = load();
	for (unsigned int i = 0; ret == 0 && i < process.nb; i++) {
		struct roost_rdmacm_device *d = &process.devices[i];
		int one = d->verbs ? 0 : open_device(d);

		if (one == 0)
			process.open[nb++] = d;
		else if (first == -ENODEV)
			first = one;
	}
	process.nb_open = nb;
	pthread_mutex_unlock(&process.lock);
	return nb ? 0 : first;
}

struct roost_rdmacm_device *roost_rdmacm_device_nr(unsigned int nr)
{
	return nr < process.nb_open ? process.open[nr] : NULL;
}

bool roost_rdmacm_device_has(struct roost_rdmacm_device *d, uint8_t port_num,
			     const struct roost_gid *gid, uint8_t *sgid_index)
{
	struct roost_gid own;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		if (roost_port_query_gid(d->dev, port_num, i, &own) ||
		    !roost_gid_eq(&own, gid))
			continue;
		*sgid_index = (uint8_t)i;
		return true;
	}
	return false;
}

static bool has(struct roost_rdmacm_device *d, const struct roost_gid *gid,
		uint8_t *port_num, uint8_t *sgid_index)
{
	const unsigned int nb_ports = roost_dev_nb_ports(d->dev);

	if (roost_dev_failed(d->dev))
		return false;
	for (unsigned int port = 1; port <= nb_ports; port++) {
		*port_num = (uint8_t)port;
		if (roost_rdmacm_device_has(d, *port_num, gid, sgid_index))
			return true;
	}
	return false;
}

struct roost_rdmacm_device *roost_rdmacm_device_of(const struct roost_gid *gid,
						   uint8_t *port_num,
						   uint8_t *sgid_index)
{
	struct roost_rdmacm_device *d;

	if (roost_gid_is_zero(gid))
		return NULL;
	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++)
		if (has(d, gid, port_num, sgid_index))
			return d;
	return NULL;
}

bool roost_rdmacm_device_addr(struct roost_rdmacm_device *d, int family,
			      struct roost_gid *gid)
{
	const bool v4 = family == AF_INET;
	bool found = false;
	struct roost_gid own;

	if (roost_dev_failed(d->dev))
		return false;
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		if (roost_port_query_gid(d->dev, 1, i, &own) ||
		    roost_gid_is_zero(&own) || roost_gid_is_v4(&own) != v4)
			continue;
		if (!found || roost_gid_is_link_local(gid))
			*gid = own;
		found = true;
	}
	return found;
}

int roost_rdmacm_device_hold(struct roost_rdmacm_device *d)
{
	int ret = 0;

	pthread_mutex_lock(&process.lock);
	if (!d->pd)
		d->pd = ibv_alloc_pd(d->verbs);
	if (d->pd)
		d->refs++;
	else
		ret = -ENOMEM;
	pthread_mutex_unlock(&process.lock);
	return ret;
}

void roost_rdmacm_device_put(struct roost_rdmacm_device *d)
{
	pthread_mutex_lock(&process.lock);
	if (--d->refs == 0) {
		/* Objects that the program left in the PD or domain stay valid,
		 * and belong to the program.
		 */
		if (d->pd)
			ibv_dealloc_pd(d->pd);
		if (d->xrcd)
			ibv_close_xrcd(d->xrcd);
		d->pd = NULL;
		d->xrcd = NULL;
	}
	pthread_mutex_unlock(&process.lock);
}

struct ibv_xrcd *roost_rdmacm_device_xrcd(struct roost_rdmacm_device *d)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&process.lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &attr);
	xrcd = d->xrcd;
	pthread_mutex_unlock(&process.lock);
	return xrcd;
}

void roost_rdmacm_serve(void)
{
	struct roost_rdmacm_device *d;
	uint64_t now_ns;

	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++) {
		now_ns = roost_device_attend(d->device);
		if (now_ns != 0)
			roost_cm_serve(d->cm, now_ns);
	}
}

void roost_rdmacm_expect(void)
{
	struct roost_rdmacm_device *d;

	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++)
		roost_device_expect(d->device);
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct roost_rdmacm_device *d;
	struct ibv_context **list;
	unsigned int nb = 0;
	int ret;

	if (num_devices)
		*num_devices = 0;
	ret = roost_rdmacm_open_all();
	if (ret)
		return roost_rdmacm_null(ret);
	list = calloc(process.nb_open + 1, sizeof(struct ibv_context *));
	if (!list)
		return roost_rdmacm_null(-ENOMEM);
	pthread_mutex_lock(&process.lock);
	for (; nb < process.nb_open; nb++) {
		d = process.open[nb];
		d->refs++;
		list[nb] = d->verbs;
	}
	pthread_mutex_unlock(&process.lock);
	if (num_devices)
		*num_devices = (int)nb;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	struct roost_rdmacm_device *d;

	/* NULL, as rdma-core's, which frees it: Ceph relies on that. */
	for (unsigned int i = 0; list && list[i]; i++)
		for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr));
		     nr++)
			if (d->verbs == list[i])
				roost_rdmacm_device_put(d);
	free(list);
}
