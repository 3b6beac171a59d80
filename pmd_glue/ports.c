/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ports.h"

#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "pmd_glue/netif/ethdev.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/report_device.h"
#include "pmd_glue/share/port.h"

#define LINK_LOOK_US 10000u

/* The first one that takes a port's configuration is its backend. */
static const struct roost_backend *const backends[] = {
	&roost_shared,
	&roost_link,
	&roost_ethdev,
};

static const struct roost_backend *
backend_of(const struct roost_port_config *port)
{
	unsigned int i = 0;

	while (!backends[i]->takes(port))
		i++;
	return backends[i];
}

/* ---- the process --------------------------------------------------------- */

bool roost_ports_are_inherited(const struct roost_config *config,
			       unsigned int index)
{
	unsigned int first = 0;
	unsigned int nb = roost_config_device_ports(config, index, &first);

	for (unsigned int i = first; i < first + nb; i++) {
		const struct roost_backend *b = backend_of(&config->ports[i]);

		if (b->is_inherited && b->is_inherited())
			return true;
	}
	return false;
}

int roost_ports_prepare(const struct roost_config *config, unsigned int index)
{
	unsigned int first = 0;
	unsigned int nb = roost_config_device_ports(config, index, &first);
	int ret = 0;

	for (unsigned int i = first; !ret && i < first + nb; i++) {
		const struct roost_backend *b = backend_of(&config->ports[i]);

		ret = b->prepare ? b->prepare(config) : 0;
		if (!ret)
			roost_report_process(config, b);
	}
	return ret;
}

/* ---- the life of ports --------------------------------------------------- */

int roost_ports_open(struct roost_ports *ports,
		     const struct roost_config *config, unsigned int index)
{
	unsigned int first = 0;
	unsigned int nb = roost_config_device_ports(config, index, &first);
	int ret;

	ports->nb = 0;
	for (unsigned int i = first; i < first + nb; i++) {
		const struct roost_backend *b = backend_of(&config->ports[i]);

		ret = b->open(config, i, &ports->v[ports->nb]);
		if (ret) {
			roost_ports_close(ports);
			roost_ports_free(ports);
			return ret;
		}
		ports->nb++;
	}
	return 0;
}

/* The pool with the largest mbufs: packets of any port have to fit. */
static struct rte_mempool *roomiest_pool(const struct roost_ports *ports)
{
	struct rte_mempool *pool = ports->v[0]->pool;

	for (unsigned int i = 1; i < ports->nb; i++) {
		struct rte_mempool *other = ports->v[i]->pool;

		if (rte_pktmbuf_data_room_size(other) >
		    rte_pktmbuf_data_room_size(pool))
			pool = other;
	}
	return pool;
}

void roost_ports_configure(const struct roost_ports *ports,
			   struct roost_dev_conf *conf)
{
	conf->pool = roomiest_pool(ports);
	conf->nb_ports = ports->nb;
	conf->leases = ports->v[0]->leases;
	conf->shares_addrs = ports->v[0]->shares_addrs;
	for (unsigned int i = 0; i < ports->nb; i++) {
		const struct roost_backend_port *port = ports->v[i];

		conf->frame_io[i] = port->frame_io;
		conf->addr_io[i] = port->addr_io;
		memcpy(conf->mac[i], port->first_mac, sizeof(conf->mac[i]));
		conf->vlan_id[i] = port->vlan_id;
		conf->punts_vlans[i] = port->punts_vlans;
	}
}

int roost_ports_start(struct roost_ports *ports, struct roost_dev *dev,
		      struct roost_progress *const *progress)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < ports->nb; i++)
		ret = ports->v[i]->backend->start(ports->v[i], dev,
						  (uint8_t)(i + 1), progress);
	return ret;
}

void roost_ports_wait(const struct roost_ports *ports)
{
	uint64_t begin_ns = roost_now_ns();
	struct roost_port_attr attr;

	for (unsigned int i = 0; i < ports->nb; i++) {
		const struct roost_backend_port *port = ports->v[i];

		while (roost_now_ns() < begin_ns + port->link_wait_ns &&
		       roost_port_query(port->dev, port->port_num, &attr) ==
			       0 &&
		       attr.state != ROOST_PORT_ACTIVE)
			usleep(LINK_LOOK_US);
	}
}

uint64_t roost_ports_run(const struct roost_ports *ports, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned int i = 0; i < ports->nb; i++) {
		const uint64_t port_ns =
			ports->v[i]->backend->run(ports->v[i], now_ns);

		next_ns = RTE_MIN(next_ns, port_ns);
	}
	return next_ns;
}

void roost_ports_leave(const struct roost_ports *ports)
{
	for (unsigned int i = 0; i < ports->nb; i++)
		ports->v[i]->backend->leave(ports->v[i]);
}

void roost_ports_quiesce(const struct roost_ports *ports)
{
	for (unsigned int i = 0; i < ports->nb; i++)
		ports->v[i]->backend->quiesce(ports->v[i]);
}

void roost_ports_close(const struct roost_ports *ports)
{
	for (unsigned int i = 0; i < ports->nb; i++)
		ports->v[i]->backend->close(ports->v[i]);
}

void roost_ports_free(struct roost_ports *ports)
{
	for (unsigned int i = 0; i < ports->nb; i++)
		ports->v[i]->backend->free(ports->v[i]);
	ports->nb = 0;
}

void roost_ports_exit(const struct roost_ports *ports)
{
	for (unsigned int i = 0; i < ports->nb; i++)
		if (ports->v[i]->backend->exit)
			ports->v[i]->backend->exit(ports->v[i]);
}
