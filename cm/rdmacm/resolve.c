/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Resolution of a peer: address, device and route.
 *
 * The device is known at once, from the configuration; the network is asked for
 * the next hop only (roost_cm_resolve). A RoCE route needs no query.
 */

#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/route.h"

#define GROUP_HOP_LIMIT 64

/* The port is unreachable from here: the kernel's word for "no route". */
static int no_route(int ret)
{
	return ret == -EHOSTUNREACH ? -ENETUNREACH : ret;
}

/* A group is on the link of whatever port the id is on. */
static int route_to_group(struct roost_rdmacm_id *id,
			  struct roost_rdmacm_device *d,
			  const struct roost_gid *sgid,
			  const struct roost_gid *dgid,
			  struct roost_cm_path *path)
{
	struct roost_gid own;

	if (sgid)
		own = *sgid;
	else if (!roost_rdmacm_device_addr(d, id->dst.ss_family, &own))
		return -ENETUNREACH;
	/* The path to oneself, and then on to the group. */
	if (roost_cm_route(d->cm, &own, &own, path))
		return -ENETUNREACH;
	path->dgid = *dgid;
	path->hop_limit = GROUP_HOP_LIMIT;
	return 0;
}

static int route_on(struct roost_rdmacm_id *id, struct roost_rdmacm_device *d,
		    const struct roost_gid *sgid, const struct roost_gid *dgid,
		    struct roost_cm_path *path)
{
	if (roost_gid_is_multicast(dgid))
		return route_to_group(id, d, sgid, dgid, path);
	return no_route(roost_cm_route(d->cm, sgid, dgid, path));
}

/* Find device and path. An id that is not bound to an address takes the first
 * device that has a route.
 */
static int find_route(struct roost_rdmacm_id *id, const struct roost_gid *dgid)
{
	struct roost_rdmacm_device *d;
	struct roost_cm_path path;
	int ret = -ENETUNREACH;

	if (!id->claim.any) {
		ret = route_on(id, id->device, &id->claim.addr, dgid, &path);
		if (ret == 0)
			id->path = path;
		return ret;
	}
	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++) {
		/* Once shown to the program, the device stays. */
		if (id->held && d != id->device)
			continue;
		ret = route_on(id, d, NULL, dgid, &path);
		if (ret)
			continue;
		ret = roost_rdmacm_place_take(id, d, path.port_num, &path.sgid);
		if (ret)
			continue;
		id->device = d;
		id->path = path;
		return 0;
	}
	return ret;
}

/* Print a line for the user: no route, from all ports that were tried. */
static void tell_no_route(const struct roost_rdmacm_id *id,
			  const struct roost_gid *dgid)
{
	const struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_ROUTE,
		.dgid = *dgid,
	};
	struct roost_rdmacm_device *d;

	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++)
		if (!id->device || d == id->device)
			roost_dev_tell_unreached(d->dev, 0, &what);
}

/* The wildcard and loopback as a destination mean this host. */
static int own_address(struct roost_rdmacm_id *id, struct roost_gid *gid)
{
	struct roost_rdmacm_device *d;

	if (!id->claim.any) {
		*gid = id->claim.addr;
		return 0;
	}
	for (unsigned int nr = 0; (d = roost_rdmacm_device_nr(nr)); nr++)
		if (roost_rdmacm_device_addr(d, id->dst.ss_family, gid))
			return 0;
	return -ENODEV;
}

/* Without the control thread. */
static int resolved(struct roost_rdmacm_id *id)
{
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_ADDR_RESOLVED);
	/* The device may just have been removed: in the state before, the id
	 * got no event.
	 */
	if (roost_dev_failed(id->device->dev))
		return -ENODEV;
	return roost_rdmacm_tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static int begin(struct roost_rdmacm_id *id, int timeout_ms)
{
	struct roost_gid dgid =
		roost_rdmacm_addr_gid((struct sockaddr *)&id->dst);
	struct roost_cm_conn *old = id->conn;
	int ret = 0;

	if (roost_rdmacm_addr_is_any((struct sockaddr *)&id->dst))
		ret = own_address(id, &dgid);
	if (ret == 0)
		ret = find_route(id, &dgid);
	if (ret == -ENETUNREACH && !roost_gid_is_multicast(&dgid))
		tell_no_route(id, &dgid);
	if (ret)
		return ret;
	roost_rdmacm_addr_make(&id->dst, id->dst.ss_family, &dgid,
			       roost_rdmacm_addr_port(
				       (struct sockaddr *)&id->dst));
	/* The conn of a failed try. */
	id->conn = NULL;
	if (old)
		roost_cm_conn_destroy(old);
	ret = roost_cm_conn_create(id->device->cm, roost_rdmacm_on_event, id,
				   &id->conn);
	if (ret)
		return ret;
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_ADDR_QUERY);
	ret = roost_gid_is_multicast(&dgid)
		      ? 1
		      : no_route(roost_cm_resolve_now(id->conn, &id->path.sgid,
						      &dgid,
						      (uint32_t)timeout_ms));
	if (ret == 1)
		ret = resolved(id);
	if (ret)
		roost_rdmacm_id_set_state(id, ROOST_RDMACM_BOUND);
	return ret;
}

/* Bind an id that is not, to src or to the wildcard of dst's family. */
static int bind_source(struct roost_rdmacm_id *id, const struct sockaddr *src,
		       const struct sockaddr *dst)
{
	struct sockaddr_storage any = { .ss_family = dst->sa_family };

	if (roost_rdmacm_id_state(id) != ROOST_RDMACM_IDLE)
		return 0;
	return roost_rdmacm_bind(id, src ? src : (struct sockaddr *)&any);
}

int rdma_resolve_addr(struct rdma_cm_id *rdma, struct sockaddr *src_addr,
		      struct sockaddr *dst_addr, int timeout_ms)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct sockaddr_storage src, dst;
	int ret = roost_rdmacm_addr_ip(dst_addr, id->id.ps, &dst);

	if (ret == 0 && src_addr)
		ret = roost_rdmacm_addr_ip(src_addr, id->id.ps, &src);
	if (ret == 0)
		ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_RESOLVE_ADDR);
	if (ret)
		return roost_rdmacm_result(ret);
	ret = bind_source(id, src_addr ? (struct sockaddr *)&src : NULL,
			  (struct sockaddr *)&dst);
	if (ret == 0 && id->src.ss_family != dst.ss_family)
		ret = -EINVAL;
	if (ret)
		return roost_rdmacm_leave(id, ret);
	id->dst = dst;
	ret = begin(id, timeout_ms);
	if (ret == 0)
		memcpy(&rdma->route.addr.dst_storage, &dst,
		       roost_rdmacm_addr_len((struct sockaddr *)&dst));
	return roost_rdmacm_leave_complete(id, ret);
}

/* ---- route -------------------------------------------------------------- */

/* The service level of a type of service: the kernel's rt_tos2priority(). */
static uint8_t sl_of(uint8_t tos)
{
	static const uint8_t sls[] = { 0, 2, 6, 4 };

	return sls[tos >> 3 & 3];
}

/* Apply the options of the id to its path. */
static void shape_path(struct roost_rdmacm_id *id)
{
	struct roost_qos qos;
	uint8_t tos = id->tos;

	if (!id->tos_set &&
	    roost_port_query_qos(id->device->dev, id->path.port_num, &qos) == 0)
		tos = (uint8_t)qos.default_roce_tos;
	id->path.traffic_class = tos;
	id->path.sl = sl_of(tos);
	/* The timeout is twice the packet's life, as the kernel reckons. */
	if (id->ack_timeout_set && id->ack_timeout)
		id->path.packet_lifetime = (uint8_t)(id->ack_timeout - 1);
}

int rdma_resolve_route(struct rdma_cm_id *rdma, int timeout_ms)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret;

	if (timeout_ms == 0)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_RESOLVE_ROUTE);
	if (ret)
		return roost_rdmacm_result(ret);
	shape_path(id);
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_ROUTE_RESOLVED);
	ret = roost_rdmacm_tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return roost_rdmacm_leave_complete(id, ret);
}
