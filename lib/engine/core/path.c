/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "lib/engine/core/path.h"
#include "lib/engine/core/route.h"

#define HOP_LIMIT_DEFAULT 64

/* The index of the device's port with the address; -1: none. Under dev->lock.
 */
static int port_with(const struct roost_dev *dev, const struct roost_gid *gid)
{
	for (unsigned int i = 0; i < dev->nb_ports; i++)
		if (roost_port_owns(&dev->ports[i], gid))
			return (int)i;
	return -1;
}

/* The port's first IPv4 address, or NULL. Under dev->lock. */
static const struct roost_gid *first_v4(const struct roost_port *port)
{
	for (unsigned int i = 0; i < port->gid_end; i++)
		if (roost_gid_is_v4(&port->gids[i]))
			return &port->gids[i];
	return NULL;
}

/* An AV that is not global: the LID stands for the low half of the peer's
 * IPv4 address, the upper half is ours (see roost_port_attr.lid).
 */
static int addresses_of_lid(const struct roost_port *port, uint16_t dlid,
			    struct roost_gid *sgid, struct roost_gid *dgid)
{
	const struct roost_gid *own = first_v4(port);

	if (!own || dlid == 0)
		return -EINVAL;
	*sgid = *own;
	*dgid = *own;
	dgid->b[14] = (uint8_t)(dlid >> 8);
	dgid->b[15] = (uint8_t)dlid;
	return 0;
}

/* Find the addresses of an AV; on error *cause has the reason. Under dev->lock.
 */
static int addresses_of_av(const struct roost_port *port,
			   const struct roost_av *av, struct roost_gid *sgid,
			   struct roost_gid *dgid,
			   enum roost_unreached_cause *cause)
{
	*cause = ROOST_UNREACHED_NO_GRH;
	if (!av->is_global)
		return addresses_of_lid(port, av->dlid, sgid, dgid);
	*cause = ROOST_UNREACHED_NO_GID;
	*dgid = av->dgid;
	if (av->sgid_index >= port->gid_end ||
	    roost_gid_is_zero(&port->gids[av->sgid_index]))
		return -EINVAL;
	*cause = ROOST_UNREACHED_FAMILY;
	*sgid = port->gids[av->sgid_index];
	if (roost_gid_is_zero(dgid) ||
	    roost_gid_is_v4(sgid) != roost_gid_is_v4(dgid))
		return -EINVAL;
	return 0;
}

static void tell_av(struct roost_dev *dev, const struct roost_av *av,
		    const struct roost_path *path,
		    enum roost_unreached_cause cause)
{
	const struct roost_unreached what = {
		.cause = cause,
		.sgid = path->sgid,
		.dgid = path->dgid,
		.sgid_index = av->sgid_index,
	};

	roost_dev_tell_unreached(dev, av->port_num, &what);
}

/* UDP source port: equal for all packets of a QP, spread over QPs (A17.9.1).
 * Both ends compute the same port, so a port that spreads frames by flow and
 * remembers the queue that a flow was sent by (a tap does) brings the answers
 * to that queue.
 */
static uint16_t udp_source(const struct roost_av *av, uint32_t qpn,
			   uint32_t dest_qpn)
{
	uint32_t label = av->is_global ? av->flow_label & 0xfffff : 0;
	uint64_t low = qpn < dest_qpn ? qpn : dest_qpn;
	uint64_t mix = (low << 24 | (qpn ^ dest_qpn)) * 0x9e3779b97f4a7c15u;

	/* The port that Linux derives from a flow label, for programs that
	 * choose it by the label.
	 */
	if (label != 0)
		return (uint16_t)(0xc000 | ((label & 0x3fff) ^ label >> 14));
	return (uint16_t)(0xc000 | mix >> 50);
}

/* Find the neighbour that packets of the path are sent to, and its MAC. */
static int find_next(struct roost_port *port, struct roost_path *path,
		     uint8_t mac[6])
{
	int ret = 0;

	if (path->multicast)
		path->neigh = &port->own;
	else
		ret = port->addr_io.resolve(port->addr_io.ctx, &path->sgid,
					    &path->dgid, &path->neigh);
	if (ret)
		return ret;
	path->mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
					     memory_order_acquire);
	if (path->multicast)
		roost_gid_multicast_mac(&path->dgid, mac);
	else
		roost_neigh_mac(path->mac_gen, mac);
	return 0;
}

int roost_path_resolve(struct roost_dev *dev, const struct roost_av *av,
		       uint32_t qpn, uint32_t dest_qpn, struct roost_path *path)
{
	struct roost_port *port;
	struct roost_flow flow = {
		.tclass = av->traffic_class,
		.hop_limit =
			av->hop_limit != 0 ? av->hop_limit : HOP_LIMIT_DEFAULT,
		.flow_label = av->flow_label & 0xfffff,
		.udp_src = udp_source(av, qpn, dest_qpn),
	};
	enum roost_unreached_cause cause;
	int ret, to = -1;
	bool told;

	if (av->port_num < 1 || av->port_num > dev->nb_ports)
		return -EINVAL;
	*path = (struct roost_path){ .port_index =
					     (uint8_t)(av->port_num - 1) };
	port = &dev->ports[path->port_index];
	pthread_mutex_lock(&dev->lock);
	ret = addresses_of_av(port, av, &path->sgid, &path->dgid, &cause);
	told = ret != 0;
	if (ret == 0)
		to = port_with(dev, &path->dgid);
	path->loopback = to >= 0 && (!dev->shares_addrs ||
				     roost_idmap_get(&dev->qps, dest_qpn));
	/* A loopback frame is checked against the VLAN of the port that it is
	 * for.
	 */
	roost_port_tag(path->loopback ? &dev->ports[to] : port, &flow, av->sl);
	if (ret == 0 && atomic_load(&dev->failed))
		ret = -EIO;
	pthread_mutex_unlock(&dev->lock);
	if (told)
		tell_av(dev, av, path, cause);
	if (ret)
		return ret;
	path->own = &port->own;
	path->multicast = roost_gid_is_multicast(&path->dgid);
	if (path->loopback) {
		path->to_index = (uint8_t)to;
		roost_port_mac_get(&dev->ports[to], flow.dst_mac);
	} else {
		ret = find_next(port, path, flow.dst_mac);
		if (ret)
			return ret;
	}
	/* After the neighbour's, see roost_port_set_mac(). */
	roost_port_mac_get(port, flow.src_mac);
	flow.sgid = path->sgid;
	flow.dgid = path->dgid;
	roost_hdr_template_init(&path->template, &flow);
	path->valid = true;
	return 0;
}

void roost_path_renew(struct roost_path *path, uint64_t mac_gen)
{
	uint8_t mac[6];

	path->mac_gen = mac_gen;
	if (!path->multicast) {
		roost_neigh_mac(mac_gen, mac);
		roost_hdr_template_set_dst_mac(&path->template, mac);
	}
	roost_neigh_mac(atomic_load_explicit(&path->own->mac_gen,
					     memory_order_acquire),
			mac);
	roost_hdr_template_set_src_mac(&path->template, mac);
}

/* An Ethernet frame begins with the two addresses. */
void roost_path_renew_frame(const struct roost_path *path, uint64_t mac_gen,
			    uint8_t *frame)
{
	if (!path->multicast)
		roost_neigh_mac(mac_gen, frame);
	roost_neigh_mac(atomic_load_explicit(&path->own->mac_gen,
					     memory_order_acquire),
			frame + 6);
}

void roost_path_release(struct roost_dev *dev, struct roost_path *path)
{
	struct roost_addr_io *io = &dev->ports[path->port_index].addr_io;

	if (path->neigh && path->neigh != path->own)
		io->neigh_put(io->ctx, path->neigh);
	path->neigh = NULL;
	path->valid = false;
}
