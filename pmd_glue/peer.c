/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/peer.h"

#include <errno.h>

#include <roost/roost.h>

#include "pmd_glue/backend/backend.h"
#include "pmd_glue/device.h"
#include "pmd_glue/process/control.h"

struct question {
	struct roost_backend_port *port;
	struct roost_backend_view *view;
	struct roost_ping_log *log;
};

static int view(void *arg)
{
	const struct question *q = arg;

	q->port->backend->view(q->port, q->view);
	return 0;
}

void roost_peer_view_port(struct roost_device *device, uint8_t port_num,
			  struct roost_backend_view *v)
{
	struct question q = { roost_device_port(device, port_num), v, NULL };

	roost_control_call(view, &q);
}

int roost_peer_source(struct roost_device *device, uint8_t port_num,
		      const struct roost_gid *dgid, struct roost_gid *sgid)
{
	const struct roost_addr_io *io =
		&roost_device_port(device, port_num)->addr_io;

	return io->source ? io->source(io->ctx, dgid, sgid) : -EOPNOTSUPP;
}

int roost_peer_resolve(struct roost_device *device, uint8_t port_num,
		       const struct roost_gid *sgid,
		       const struct roost_gid *dgid, uint8_t mac[6])
{
	const struct roost_addr_io *io =
		&roost_device_port(device, port_num)->addr_io;
	struct roost_neigh *neigh;
	int ret = io->resolve(io->ctx, sgid, dgid, &neigh);

	if (ret)
		return ret;
	roost_neigh_mac(atomic_load_explicit(&neigh->mac_gen,
					     memory_order_acquire),
			mac);
	io->neigh_put(io->ctx, neigh);
	return 0;
}

int roost_peer_ping(struct roost_device *device, uint8_t port_num,
		    const struct roost_ping *ping)
{
	struct roost_backend_port *port = roost_device_port(device, port_num);

	return port->backend->ping ? port->backend->ping(port, ping)
				   : -EOPNOTSUPP;
}

static int hear(void *arg)
{
	const struct question *q = arg;

	q->port->backend->hear(q->port, q->log);
	return 0;
}

int roost_peer_hear(struct roost_device *device, uint8_t port_num,
		    struct roost_ping_log *log)
{
	struct question q = { roost_device_port(device, port_num), NULL, log };

	return q.port->backend->hear ? roost_control_call(hear, &q)
				     : -EOPNOTSUPP;
}
