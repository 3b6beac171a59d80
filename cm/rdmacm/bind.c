/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Local addresses, and listening on them.
 */

#include <netinet/in.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/lease.h"
#include "lib/engine/core/route.h"

static enum roost_rdmacm_port_space space_of(enum rdma_port_space ps)
{
	switch (ps) {
	case RDMA_PS_UDP:
		return ROOST_RDMACM_PS_UDP;
	case RDMA_PS_IB:
		return ROOST_RDMACM_PS_IB;
	case RDMA_PS_TCP:
	case RDMA_PS_IPOIB:
		break;
	}
	return ROOST_RDMACM_PS_TCP;
}

/* The device of a local address; the path from it begins there. */
static int find_device(struct roost_rdmacm_id *id, const struct sockaddr *addr)
{
	const struct roost_gid gid = roost_rdmacm_addr_gid(addr);
	uint8_t port_num, sgid_index;

	id->device = roost_rdmacm_device_of(&gid, &port_num, &sgid_index);
	if (!id->device)
		return -EADDRNOTAVAIL;
	id->path.sgid = gid;
	id->path.port_num = port_num;
	id->path.sgid_index = sgid_index;
	return 0;
}

/* ---- claims at the devices ----------------------------------------------- */

static struct roost_service_claim
service_of(const struct roost_rdmacm_claim *claim)
{
	struct roost_service_claim service = {
		.id = claim->service_base | claim->port,
		.family = claim->family == AF_INET ? ROOST_CM_FAMILY_IPV4
						   : ROOST_CM_FAMILY_IPV6,
		.reuseaddr = claim->reuseaddr,
		.afonly = claim->afonly,
	};

	if (!claim->any)
		service.addr = claim->addr;
	return service;
}

/* At the device of the address, or at the first nb devices. */
static void drop_at_devices(const struct roost_rdmacm_claim *claim,
			    unsigned int nb)
{
	const struct roost_service_claim service = service_of(claim);

	if (claim->device)
		roost_dev_release(claim->device->dev, &service);
	for (unsigned int i = 0; !claim->device && i < nb; i++)
		roost_dev_release(roost_rdmacm_device_nr(i)->dev, &service);
}

static int take_beyond(const struct roost_rdmacm_claim *claim)
{
	const struct roost_service_claim service = service_of(claim);
	struct roost_rdmacm_device *d;
	int ret = 0;

	if (claim->device)
		return roost_dev_claim(claim->device->dev, &service);
	for (unsigned int i = 0; (d = roost_rdmacm_device_nr(i)); i++) {
		ret = roost_dev_claim(d->dev, &service);
		if (ret) {
			drop_at_devices(claim, i);
			break;
		}
	}
	return ret;
}

static void drop_beyond(const struct roost_rdmacm_claim *claim)
{
	unsigned int nb = 0;

	while (roost_rdmacm_device_nr(nb))
		nb++;
	drop_at_devices(claim, nb);
}

static const struct roost_rdmacm_beyond at_devices = {
	.take = take_beyond,
	.drop = drop_beyond,
};

/* ---- bind ---------------------------------------------------------------- */

int roost_rdmacm_bind(struct roost_rdmacm_id *id, const struct sockaddr *addr)
{
	const socklen_t len = roost_rdmacm_addr_len(addr);
	int ret;

	ret = roost_rdmacm_open_all();
	if (ret)
		return ret;
	if (!roost_rdmacm_addr_is_any(addr)) {
		ret = find_device(id, addr);
		if (ret)
			return ret;
	}
	id->claim.beyond = &at_devices;
	id->claim.device = id->device;
	id->claim.service_base =
		roost_cm_service_id((enum roost_cm_port_space)id->id.ps, 0);
	id->claim.space = space_of(id->id.ps);
	id->claim.family = addr->sa_family;
	id->claim.any = roost_rdmacm_addr_is_any(addr);
	id->claim.addr = roost_rdmacm_addr_gid(addr);
	if (addr->sa_family == AF_INET && !id->afonly_set)
		id->claim.afonly = true;
	ret = roost_rdmacm_port_take(&id->claim, roost_rdmacm_addr_port(addr));
	if (ret)
		goto err_device;
	if (id->device &&
	    roost_rdmacm_place_take(id, id->device, id->path.port_num,
				    &id->claim.addr)) {
		/* Just now; and its addresses with it. */
		ret = -EADDRNOTAVAIL;
		goto err_port;
	}
	memset(&id->src, 0, sizeof(id->src));
	memcpy(&id->src, addr, len);
	roost_rdmacm_addr_set_port((struct sockaddr *)&id->src, id->claim.port);
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_BOUND);
	return 0;
err_port:
	roost_rdmacm_port_drop(&id->claim);
err_device:
	id->device = NULL;
	return ret;
}

int rdma_bind_addr(struct rdma_cm_id *rdma, struct sockaddr *addr)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct sockaddr_storage ip;
	int ret = roost_rdmacm_addr_ip(addr, id->id.ps, &ip);

	if (ret == 0)
		ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_BIND);
	if (ret)
		return roost_rdmacm_result(ret);
	ret = roost_rdmacm_bind(id, (struct sockaddr *)&ip);
	if (ret == 0)
		ret = roost_rdmacm_id_show_device(id);
	if (ret == 0)
		roost_rdmacm_id_show_addr(id);
	return roost_rdmacm_leave(id, ret);
}

/* ---- listen ------------------------------------------------------------- */

static enum roost_cm_family family_of(const struct roost_rdmacm_id *id)
{
	if (id->claim.family == AF_INET)
		return ROOST_CM_FAMILY_IPV4;
	return id->claim.afonly ? ROOST_CM_FAMILY_IPV6 : ROOST_CM_FAMILY_ANY;
}

static int listen_on(struct roost_rdmacm_id *id, struct roost_rdmacm_device *d,
		     int backlog)
{
	struct roost_rdmacm_listen *listen = &id->listens[id->nb_listens];
	struct roost_cm_listen_param param = {
		.service_id =
			roost_cm_service_id((enum roost_cm_port_space)id->id.ps,
					    id->claim.port),
		.family = family_of(id),
		.backlog = backlog,
	};
	int ret;

	if (!id->claim.any)
		param.addr = id->claim.addr;
	listen->id = id;
	listen->device = d;
	ret = roost_cm_listen(d->cm, &param, roost_rdmacm_on_request, listen,
			      &listen->listener);
	if (ret == 0)
		id->nb_listens++;
	return ret;
}

/* On its device, or on all where it has none. */
static int listen_all(struct roost_rdmacm_id *id, int backlog)
{
	struct roost_rdmacm_device *d;
	int ret = 0;

	if (id->device)
		return listen_on(id, id->device, backlog);
	for (unsigned int nr = 0; !ret && (d = roost_rdmacm_device_nr(nr));
	     nr++)
		if (!roost_dev_failed(d->dev))
			ret = listen_on(id, d, backlog);
	if (ret == 0)
		return 0;
	while (id->nb_listens)
		roost_cm_listener_destroy(
			id->listens[--id->nb_listens].listener);
	return ret;
}

/* Listening at the wildcard: print a line if no port has an address, because no
 * peer could connect.
 */
static void tell_deaf(const struct roost_rdmacm_id *id)
{
	const struct roost_unreached what = { .cause = ROOST_UNREACHED_DEAF };

	for (unsigned int i = 0; i < id->nb_listens && id->claim.any; i++)
		roost_dev_tell_unreached(id->listens[i].device->dev, 0, &what);
}

int rdma_listen(struct rdma_cm_id *rdma, int backlog)
{
	static const struct sockaddr_in any = { .sin_family = AF_INET };
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_LISTEN);

	if (ret)
		return roost_rdmacm_result(ret);
	if (roost_rdmacm_id_state(id) == ROOST_RDMACM_IDLE)
		ret = roost_rdmacm_bind(id, (const struct sockaddr *)&any);
	if (ret == 0 && id->claim.reuseaddr)
		ret = roost_rdmacm_port_alone(&id->claim);
	if (ret)
		return roost_rdmacm_leave(id, ret);
	if (backlog <= 0)
		backlog = ROOST_CM_BACKLOG_MAX;
	/* Requests may come before the call is over. */
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_LISTEN);
	ret = listen_all(id, backlog);
	if (ret)
		roost_rdmacm_id_set_state(id, ROOST_RDMACM_BOUND);
	else
		roost_rdmacm_id_show_addr(id);
	if (ret == 0)
		tell_deaf(id);
	return roost_rdmacm_leave(id, ret);
}
