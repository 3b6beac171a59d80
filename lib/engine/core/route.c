/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/engine/core/route.h"

#include <errno.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/service.h"

static bool port_has(struct roost_dev *dev, unsigned int port,
		     const struct roost_gid *gid)
{
	bool has;

	pthread_mutex_lock(&dev->lock);
	has = roost_port_owns(&dev->ports[port], gid);
	pthread_mutex_unlock(&dev->lock);
	return has;
}

int roost_dev_find_gid(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_gid *gid, uint8_t *index)
{
	const struct roost_port *port = &dev->ports[port_num - 1];
	int ret = -EADDRNOTAVAIL;

	pthread_mutex_lock(&dev->lock);
	for (unsigned int i = 0; i < port->gid_end && ret != 0; i++) {
		if (!roost_gid_eq(&port->gids[i], gid))
			continue;
		*index = (uint8_t)i;
		ret = 0;
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/* An address of the port for packets to dgid, without asking the network. */
static int first_of_family(struct roost_dev *dev, unsigned int port,
			   const struct roost_gid *dgid, struct roost_gid *sgid)
{
	const struct roost_port *p = &dev->ports[port];
	int ret = -EHOSTUNREACH;

	pthread_mutex_lock(&dev->lock);
	for (unsigned int i = 0; i < p->gid_end && ret != 0; i++) {
		const struct roost_gid *gid = &p->gids[i];

		if (roost_gid_is_zero(gid) ||
		    roost_gid_is_v4(gid) != roost_gid_is_v4(dgid) ||
		    roost_gid_is_link_local(gid) !=
			    roost_gid_is_link_local(dgid))
			continue;
		*sgid = *gid;
		ret = 0;
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static int source_of(struct roost_dev *dev, unsigned int port,
		     const struct roost_gid *dgid, struct roost_gid *sgid)
{
	struct roost_addr_io *io = &dev->ports[port].addr_io;

	if (port_has(dev, port, dgid)) {
		*sgid = *dgid;
		return 0;
	}
	if (!io->source)
		return first_of_family(dev, port, dgid, sgid);
	return io->source(io->ctx, dgid, sgid);
}

static int route_of_port(struct roost_dev *dev, unsigned int port,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid,
			 struct roost_route *route)
{
	int ret;

	if (sgid && !port_has(dev, port, sgid))
		return -EADDRNOTAVAIL;
	ret = source_of(dev, port, dgid, &route->sgid);
	if (ret)
		return ret;
	if (sgid)
		route->sgid = *sgid;
	route->port_num = (uint8_t)(port + 1);
	return roost_dev_find_gid(dev, route->port_num, &route->sgid,
				  &route->sgid_index);
}

int roost_dev_route(struct roost_dev *dev, const struct roost_gid *sgid,
		    const struct roost_gid *dgid, struct roost_route *route)
{
	int ret = -EADDRNOTAVAIL, one;

	if (roost_gid_is_zero(dgid) || roost_gid_is_multicast(dgid) ||
	    (sgid && roost_gid_is_v4(sgid) != roost_gid_is_v4(dgid)))
		return -EINVAL;
	for (unsigned int port = 0; port < dev->nb_ports; port++) {
		one = route_of_port(dev, port, sgid, dgid, route);
		if (one == 0)
			return 0;
		/* The error of the port that has sgid is the best answer. */
		if (!sgid || one != -EADDRNOTAVAIL)
			ret = one;
	}
	return ret;
}

int roost_dev_ask(struct roost_dev *dev, const struct roost_route *route,
		  const struct roost_gid *dgid, const uint8_t *from_mac,
		  struct roost_neigh **neigh)
{
	unsigned int port = route->port_num - 1u;
	struct roost_addr_io *io = &dev->ports[port].addr_io;

	*neigh = NULL;
	if (roost_gid_is_multicast(dgid) || port_has(dev, port, dgid))
		return 0;
	if (!io->ask)
		return io->resolve(io->ctx, &route->sgid, dgid, neigh);
	return io->ask(io->ctx, &route->sgid, dgid, from_mac, neigh);
}

int roost_dev_meet(struct roost_dev *dev, const struct roost_route *route,
		   const struct roost_gid *dgid, const uint8_t from_mac[6])
{
	unsigned int port = route->port_num - 1u;
	struct roost_addr_io *io = &dev->ports[port].addr_io;

	if (!io->meet || port_has(dev, port, dgid))
		return 0;
	return io->meet(io->ctx, &route->sgid, dgid, from_mac);
}

void roost_dev_tell_unreached(struct roost_dev *dev, uint8_t port_num,
			      const struct roost_unreached *what)
{
	for (unsigned int i = 0; i < dev->nb_ports; i++) {
		const struct roost_addr_io *io = &dev->ports[i].addr_io;

		if (io->unreached && (port_num == 0 || port_num == i + 1))
			io->unreached(io->ctx, what);
	}
}

void roost_dev_refused(struct roost_dev *dev, const struct roost_gid *peer)
{
	bool known = false;

	pthread_mutex_lock(&dev->lock);
	for (unsigned int i = 0; i < dev->nb_refused; i++)
		known |= roost_gid_eq(&dev->refused[i], peer);
	if (!known && dev->nb_refused < ROOST_REFUSED_MAX)
		dev->refused[dev->nb_refused++] = *peer;
	pthread_mutex_unlock(&dev->lock);
	roost_dev_service_wake(dev);
}

bool roost_dev_next_refused(struct roost_dev *dev, struct roost_gid *peer)
{
	bool any;

	pthread_mutex_lock(&dev->lock);
	any = dev->nb_refused > 0;
	if (any)
		*peer = dev->refused[--dev->nb_refused];
	pthread_mutex_unlock(&dev->lock);
	return any;
}

void roost_dev_neigh_put(struct roost_dev *dev, uint8_t port_num,
			 struct roost_neigh *neigh)
{
	struct roost_addr_io *io = &dev->ports[port_num - 1].addr_io;

	if (neigh)
		io->neigh_put(io->ctx, neigh);
}
