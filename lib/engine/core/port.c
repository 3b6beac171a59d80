/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Ports: queries by programs, and changes by the control thread, each with its
 * async event.
 */

#include <errno.h>

#include <rte_common.h>

#include "lib/engine/core/port.h"
#include "lib/engine/core/in_place.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/worker_base.h"
#include "lib/engine/core/wq_priv.h"

const uint8_t roost_in_place_pools;
const uint8_t roost_worker_pools;

/* ---- queries ------------------------------------------------------------ */

enum roost_mtu roost_port_active_mtu(const struct roost_port *port)
{
	enum roost_mtu mtu = ROOST_MTU_4096;

	while (mtu > 0 && roost_mtu_bytes(mtu) + ROOST_IP_OVERHEAD_MAX >
				  port->ip_mtu_bytes)
		mtu--;
	return mtu;
}

static uint32_t active_mtu_bytes(const struct roost_port *port)
{
	return roost_mtu_bytes(roost_port_active_mtu(port));
}

/* See roost_port_attr.lid. Under dev->lock. */
static uint16_t lid_of(const struct roost_port *port)
{
	if (port->lid != 0)
		return port->lid;
	for (unsigned int i = 0; i < port->gid_end; i++)
		if (roost_gid_is_v4(&port->gids[i]))
			return (uint16_t)(port->gids[i].b[14] << 8 |
					  port->gids[i].b[15]);
	return 0;
}

int roost_port_query(struct roost_dev *dev, uint8_t port_num,
		     struct roost_port_attr *attr)
{
	const struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	*attr = (struct roost_port_attr){
		.state = port->state,
		.max_mtu = ROOST_MTU_4096,
		.active_mtu = roost_port_active_mtu(port),
		.lid = lid_of(port),
		.sm_lid = port->sm_lid,
		.speed_mbps = port->speed_mbps,
		.vlan_id = port->vlan_id,
		.gid_len = ROOST_GID_TABLE_LEN,
		.pkey_len = ROOST_PKEY_TABLE_LEN,
		.bad_pkey_count = atomic_load(&port->bad_pkeys),
		.qkey_viol_count = atomic_load(&port->qkey_violations),
	};
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int roost_port_query_gid(struct roost_dev *dev, uint8_t port_num,
			 unsigned int index, struct roost_gid *gid)
{
	const struct roost_port *port = roost_port_of(dev, port_num);

	if (!port || index >= ROOST_GID_TABLE_LEN)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	*gid = port->gids[index];
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int roost_port_query_mac(struct roost_dev *dev, uint8_t port_num,
			 uint8_t mac[6])
{
	const struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	roost_port_mac_get(port, mac);
	return 0;
}

int roost_port_query_pkey(struct roost_dev *dev, uint8_t port_num,
			  unsigned int index, uint16_t *pkey)
{
	const struct roost_port *port = roost_port_of(dev, port_num);

	if (!port || index >= ROOST_PKEY_TABLE_LEN)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	*pkey = port->pkeys[index];
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

/* ---- changes ------------------------------------------------------------ */

/* No worker and no reader looks meanwhile. All turns: what depends on the
 * change in QPs and packets changes with it, and its events come after all
 * completions from before. Only the control thread changes ports, and seldom.
 */
static void change_begin(struct roost_dev *dev)
{
	roost_dev_turns_take(dev);
	pthread_mutex_lock(&dev->lock);
}

static void change_end(struct roost_dev *dev)
{
	roost_dev_publish(dev);
	pthread_mutex_unlock(&dev->lock);
	roost_dev_turns_release(dev);
}

/* Raise a port event in every context. Called within a change, which has
 * published all completions first.
 */
static void tell(struct roost_dev *dev, const struct roost_port *port,
		 enum roost_async_event event)
{
	unsigned int i = (unsigned int)(port - dev->ports);
	struct roost_ctx *ctx;

	LIST_FOREACH(ctx, &dev->ctxs, link)
		roost_event_raise(&ctx->ports[i], event);
}

int roost_port_set_gid(struct roost_dev *dev, uint8_t port_num,
		       unsigned int index, const struct roost_gid *gid)
{
	struct roost_port *port = roost_port_of(dev, port_num);
	uint16_t lid;
	int ret = 0;

	if (!port || index >= ROOST_GID_TABLE_LEN)
		return -EINVAL;
	change_begin(dev);
	lid = lid_of(port);
	if (roost_gid_eq(&port->gids[index], gid))
		goto end;
	if (!roost_gid_is_zero(gid) && roost_port_owns(port, gid)) {
		ret = -EEXIST;
		goto end;
	}
	port->gids[index] = *gid;
	port->gid_end = ROOST_GID_TABLE_LEN;
	while (port->gid_end > 0 &&
	       roost_gid_is_zero(&port->gids[port->gid_end - 1]))
		port->gid_end--;
	atomic_fetch_add(&dev->gid_gen, 1);
	tell(dev, port, ROOST_EVENT_GID_CHANGE);
	if (lid_of(port) != lid)
		tell(dev, port, ROOST_EVENT_LID_CHANGE);
end:
	change_end(dev);
	if (ret == 0)
		roost_dev_service_wake(dev);
	return ret;
}

int roost_port_set_mac(struct roost_dev *dev, uint8_t port_num,
		       const uint8_t mac[6])
{
	struct roost_port *port = roost_port_of(dev, port_num);
	uint16_t gen;

	if (!port)
		return -EINVAL;
	change_begin(dev);
	gen = (uint16_t)atomic_load(&port->own.mac_gen);
	/* Pairs with the neighbours' generations in roost_path_resolve(): a
	 * thread that sees their new generation sees this MAC.
	 */
	atomic_store_explicit(&port->own.mac_gen,
			      roost_neigh_mac_gen(mac, (uint16_t)(gen + 1)),
			      memory_order_release);
	atomic_fetch_add(&dev->gid_gen, 1);
	change_end(dev);
	roost_dev_service_wake(dev);
	return 0;
}

/* Within a change. */
static void set_state(struct roost_dev *dev, struct roost_port *port,
		      enum roost_port_state state)
{
	enum roost_port_state before = port->state;

	port->state = state;
	if (before == state)
		return;
	if (state == ROOST_PORT_ACTIVE)
		tell(dev, port, ROOST_EVENT_PORT_ACTIVE);
	else if (before == ROOST_PORT_ACTIVE)
		tell(dev, port, ROOST_EVENT_PORT_ERR);
}

/* The longest frame of a program: an IP packet and its Ethernet header with two
 * tags, as far as a packet buffer has room.
 */
static uint32_t raw_mtu_bytes(const struct roost_port *port)
{
	return RTE_MIN(port->ip_mtu_bytes + ROOST_ETH_LEN + 2 * ROOST_VLAN_LEN,
		       roost_mtu_bytes(ROOST_MTU_4096) +
			       ROOST_FRAME_OVERHEAD_MAX);
}

void roost_qp_renew_mtu(struct roost_qp *qp)
{
	const struct roost_port *port = &qp->dev->ports[qp->attr.port_num - 1];

	if (qp->type == ROOST_QPT_UD)
		qp->mtu_bytes = active_mtu_bytes(port);
	else if (qp->type == ROOST_QPT_RAW)
		qp->mtu_bytes = raw_mtu_bytes(port);
}

/* QPs without a peer use the port's new MTU at once; the path MTU of connected
 * QPs was agreed with their peers. Holder of the turn and of all.lock.
 */
static void renew_mtus(struct roost_dev *dev, uint8_t port_num)
{
	struct roost_qp *qp;

	LIST_FOREACH(qp, &dev->all.qps, all_link)
		if (qp->attr.port_num == port_num)
			roost_qp_renew_mtu(qp);
}

void roost_port_set_link(struct roost_dev *dev, uint8_t port_num,
			 enum roost_port_state state, uint32_t ip_mtu_bytes,
			 uint32_t speed_mbps)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return;
	pthread_mutex_lock(&dev->all.lock);
	change_begin(dev);
	if (port->ip_mtu_bytes != ip_mtu_bytes) {
		port->ip_mtu_bytes = ip_mtu_bytes;
		renew_mtus(dev, port_num);
	}
	port->speed_mbps = speed_mbps;
	if (!port->removed)
		set_state(dev, port, state);
	if (port->state != ROOST_PORT_ACTIVE)
		dev->transport->port_down(dev, port_num - 1u);
	change_end(dev);
	pthread_mutex_unlock(&dev->all.lock);
}

unsigned int roost_port_nb_above_mtu(struct roost_dev *dev, uint8_t port_num,
				     uint32_t *path_mtu_bytes)
{
	const struct roost_port *port = roost_port_of(dev, port_num);
	const struct roost_qp *qp;
	unsigned int nb = 0;
	uint32_t active;
	bool above;

	*path_mtu_bytes = 0;
	if (!port)
		return 0;
	pthread_mutex_lock(&dev->all.lock);
	pthread_mutex_lock(&dev->lock);
	active = active_mtu_bytes(port);
	pthread_mutex_unlock(&dev->lock);
	LIST_FOREACH(qp, &dev->all.qps, all_link) {
		roost_worker_turn_take(qp->worker);
		above = qp->type != ROOST_QPT_UD && qp->path.valid &&
			qp->path.port_index == port_num - 1u &&
			!qp->path.loopback && qp->mtu_bytes > active;
		roost_worker_turn_leave(qp->worker);
		nb += above;
		if (above && qp->mtu_bytes > *path_mtu_bytes)
			*path_mtu_bytes = qp->mtu_bytes;
	}
	pthread_mutex_unlock(&dev->all.lock);
	return nb;
}

static bool has_pkey(const struct roost_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		if (port->pkeys[i] == pkey)
			return true;
	return false;
}

/* QPs name an entry by its index, and their packets carry the P_Key in it.
 * Holder of all turns and of all.lock.
 */
static void renew_pkeys(struct roost_dev *dev, uint8_t port_num,
			unsigned int index)
{
	struct roost_qp *qp;

	LIST_FOREACH(qp, &dev->all.qps, all_link)
		if (qp->attr.port_num == port_num &&
		    qp->attr.pkey_index == index)
			qp->pkey = dev->ports[port_num - 1].pkeys[index];
}

int roost_port_set_pkey(struct roost_dev *dev, uint8_t port_num,
			unsigned int index, uint16_t pkey)
{
	struct roost_port *port = roost_port_of(dev, port_num);
	int ret = 0;

	if (!port || index >= ROOST_PKEY_TABLE_LEN)
		return -EINVAL;
	if (roost_pkey_is_empty(pkey))
		pkey = 0;
	pthread_mutex_lock(&dev->all.lock);
	change_begin(dev);
	if (port->pkeys[index] == pkey)
		goto end;
	if (pkey != 0 && has_pkey(port, pkey)) {
		ret = -EEXIST;
		goto end;
	}
	port->pkeys[index] = pkey;
	renew_pkeys(dev, port_num, index);
	tell(dev, port, ROOST_EVENT_PKEY_CHANGE);
end:
	change_end(dev);
	pthread_mutex_unlock(&dev->all.lock);
	return ret;
}

int roost_port_set_ecn(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_ecn *ecn)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	change_begin(dev);
	port->ecn = *ecn;
	change_end(dev);
	return 0;
}

int roost_port_query_ecn(struct roost_dev *dev, uint8_t port_num,
			 struct roost_ecn *ecn)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	*ecn = port->ecn;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int roost_port_set_qos(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_qos *qos)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	change_begin(dev);
	port->qos = *qos;
	change_end(dev);
	return 0;
}

int roost_port_query_qos(struct roost_dev *dev, uint8_t port_num,
			 struct roost_qos *qos)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	*qos = port->qos;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int roost_port_set_lid(struct roost_dev *dev, uint8_t port_num, uint16_t lid)
{
	struct roost_port *port = roost_port_of(dev, port_num);
	uint16_t before;

	if (!port)
		return -EINVAL;
	change_begin(dev);
	before = lid_of(port);
	port->lid = lid;
	if (lid_of(port) != before)
		tell(dev, port, ROOST_EVENT_LID_CHANGE);
	change_end(dev);
	return 0;
}

int roost_port_set_sm_lid(struct roost_dev *dev, uint8_t port_num,
			  uint16_t sm_lid)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	change_begin(dev);
	if (port->sm_lid != sm_lid) {
		port->sm_lid = sm_lid;
		tell(dev, port, ROOST_EVENT_SM_CHANGE);
	}
	change_end(dev);
	return 0;
}

int roost_port_reregister(struct roost_dev *dev, uint8_t port_num)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return -EINVAL;
	change_begin(dev);
	tell(dev, port, ROOST_EVENT_CLIENT_REREGISTER);
	change_end(dev);
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

/* WQs are found by their CQs. Holder of all turns and of all.lock. */
static void fail_wqs(struct roost_dev *dev)
{
	struct roost_cq *cq;
	struct roost_wq *wq;

	LIST_FOREACH(cq, &dev->all.cqs, all_link)
		LIST_FOREACH(wq, &cq->wqs, cq_link)
			if (roost_wq_state(wq) == ROOST_WQS_RDY)
				roost_wq_fail(wq->worker, wq,
					      ROOST_QPE_REMOVED);
}

/* Holder of all turns and of all.lock. */
static void fail_qps(struct roost_dev *dev)
{
	struct roost_qp *qp;

	LIST_FOREACH(qp, &dev->all.qps, all_link)
		if (!qp->dying && roost_qp_state_get(qp) != ROOST_QPS_RESET)
			dev->transport->lose(qp, ROOST_QPE_REMOVED);
	fail_wqs(dev);
	roost_dev_publish(dev);
}

/* Called within a change. Only holders of a turn raise async events, so none is
 * raised while the channels are hung up.
 */
static void fail_ctxs(struct roost_dev *dev, const struct roost_port *port)
{
	struct roost_ctx *ctx;

	tell(dev, port, ROOST_EVENT_DEVICE_FATAL);
	LIST_FOREACH(ctx, &dev->ctxs, link)
		roost_channel_hang_up(ctx->async);
}

static bool all_removed(const struct roost_dev *dev)
{
	for (unsigned int i = 0; i < dev->nb_ports; i++)
		if (!dev->ports[i].removed)
			return false;
	return true;
}

void roost_port_remove(struct roost_dev *dev, uint8_t port_num)
{
	struct roost_port *port = roost_port_of(dev, port_num);

	if (!port)
		return;
	pthread_mutex_lock(&dev->all.lock);
	change_begin(dev);
	if (port->removed)
		goto end;
	port->removed = true;
	if (!all_removed(dev)) {
		set_state(dev, port, ROOST_PORT_DOWN);
		dev->transport->port_down(dev, port_num - 1u);
		goto end;
	}
	port->state = ROOST_PORT_DOWN;
	atomic_store(&dev->failed, true);
	fail_qps(dev);
	fail_ctxs(dev, port);
end:
	change_end(dev);
	pthread_mutex_unlock(&dev->all.lock);
	roost_dev_service_wake(dev);
}

bool roost_dev_failed(const struct roost_dev *dev)
{
	return atomic_load(&dev->failed);
}

uint32_t roost_dev_gid_gen(const struct roost_dev *dev)
{
	return atomic_load(&dev->gid_gen);
}

void roost_port_carrier_up(struct roost_dev *dev)
{
	atomic_fetch_add(&dev->up_gen, 1);
	roost_dev_service_wake(dev);
}

uint32_t roost_dev_up_gen(const struct roost_dev *dev)
{
	return atomic_load(&dev->up_gen);
}
