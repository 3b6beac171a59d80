/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/core/lease.h"
#include "lib/wire/frame.h"

/* Entries of a context's async ring; more events wait in their objects. */
#define ASYNC_RING_LEN 256u

#define QPN_INDEX_BITS 18u
#define KEY_INDEX_BITS 22u
#define MW_INDEX_BITS 20u
#define SRQ_INDEX_BITS 18u

static const struct roost_dev_limits limits = {
	.max_qp = 1u << QPN_INDEX_BITS,
	.max_qp_wr = 32768,
	.max_sge = 32,
	.max_inline_bytes = 1024,
	.max_cq = 1u << 20,
	.max_cqe = ROOST_CQE_MAX,
	.max_mr = 1u << KEY_INDEX_BITS,
	.max_mr_size = UINT64_MAX,
	.max_mw = 1u << MW_INDEX_BITS,
	.max_srq = 1u << SRQ_INDEX_BITS,
	.max_ah = 1u << 20,
	.max_mcast_grp = 4096,
	.max_mcast_qp_attach = 4096,
	.max_pd = 1u << 20,
	.max_qp_rd_atom = 16,
	.max_gids = ROOST_GID_TABLE_LEN,
	.max_pkeys = ROOST_PKEY_TABLE_LEN,
	.max_msg_bytes = 1u << 31,
};

/* 0 and 1 are the management QPs, all ones is multicast. */
static bool qpn_reserved(uint32_t qpn)
{
	return qpn < 2 || qpn == 0xffffff;
}

/* Programs take key 0 for "none". */
static bool key_reserved(uint32_t key)
{
	return key == 0;
}

static void fini_tables(struct roost_dev *dev)
{
	roost_idmap_fini(&dev->wqs);
	roost_idmap_fini(&dev->srqs);
	roost_idmap_fini(&dev->mws);
	roost_idmap_fini(&dev->mrs);
	roost_idmap_fini(&dev->qps);
}

static int init_leased_qps(struct roost_dev *dev,
			   const struct roost_leases *leases)
{
	const struct roost_idmap_source source = {
		.lease = leases->lease_qpns,
		.ctx = leases->ctx,
	};
	int ret;

	if (leases->qpn_index_bits <= ROOST_IDMAP_PAGE_SHIFT ||
	    leases->qpn_index_bits >= 24 || leases->cm_prefix_bits > 14)
		return -EINVAL;
	ret = roost_idmap_init(&dev->qps, 24, leases->qpn_index_bits,
			       leases->qpn_key, qpn_reserved);
	if (!ret)
		roost_idmap_set_source(&dev->qps, &source);
	return ret;
}

/* Each table permutes with keys of its own, all from one seed. */
static int init_tables(struct roost_dev *dev, const uint64_t given[2])
{
	const struct {
		struct roost_idmap *map;
		unsigned int bits, index_bits;
		bool (*reserved)(uint32_t id);
	} tables[] = {
		{ &dev->qps, 24, QPN_INDEX_BITS, qpn_reserved },
		{ &dev->mrs, 32, KEY_INDEX_BITS, key_reserved },
		{ &dev->mws, 24, MW_INDEX_BITS, key_reserved },
		{ &dev->srqs, 24, SRQ_INDEX_BITS, key_reserved },
		{ &dev->wqs, 24, QPN_INDEX_BITS, qpn_reserved },
	};
	uint64_t seed[2] = { given[0], given[1] };
	int ret;

	if (seed[0] == 0 && seed[1] == 0 &&
	    getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		uint64_t own[2] = { seed[0] ^ i, seed[1] + i };

		if (tables[i].map == &dev->qps && dev->leases)
			ret = init_leased_qps(dev, dev->leases);
		else
			ret = roost_idmap_init(tables[i].map, tables[i].bits,
					       tables[i].index_bits, own,
					       tables[i].reserved);
		if (ret) {
			fini_tables(dev);
			return ret;
		}
	}
	return 0;
}

#define DEFAULT(upper, name, normal, least, most) .name = (normal),
static const struct roost_ecn ecn_default = { ROOST_ECN_PARAMS(DEFAULT) };

static void init_port(struct roost_port *port,
		      const struct roost_dev_conf *conf, unsigned int i)
{
	port->frame_io = conf->frame_io[i];
	port->addr_io = conf->addr_io[i];
	if (port->frame_io.nb_queues == 0)
		port->frame_io.nb_queues = 1;
	atomic_init(&port->own.mac_gen, roost_neigh_mac_gen(conf->mac[i], 1));
	port->vlan_id = conf->vlan_id[i];
	port->punts_vlans = conf->punts_vlans[i];
	port->state = ROOST_PORT_DOWN;
	port->pkeys[0] = 0xffff;
	port->ecn = conf->ecn ? *conf->ecn : ecn_default;
	if (conf->qos)
		port->qos = *conf->qos;
	else
		roost_qos_init(&port->qos);
}

int roost_dev_make(const struct roost_dev_conf *conf,
		   const struct roost_transport *transport,
		   const struct roost_cc *cc, struct roost_dev **dev)
{
	struct roost_dev *d;
	int ret;

	if (conf->nb_ports < 1 || conf->nb_ports > ROOST_DEV_PORTS_MAX ||
	    conf->nb_workers > ROOST_DEV_WORKERS_MAX)
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	snprintf(d->name, sizeof(d->name), "%s", conf->name);
	d->pool = conf->pool;
	d->node_guid = conf->node_guid;
	d->shares_addrs = conf->shares_addrs;
	d->selective_repeat = conf->selective_repeat;
	d->leases = conf->leases;
	d->transport = transport;
	d->cc = cc;
	d->nb_ports = conf->nb_ports;
	for (unsigned int i = 0; i < conf->nb_ports; i++)
		init_port(&d->ports[i], conf, i);
	atomic_store(&d->next_pd_handle, 1);
	atomic_store(&d->next_cq_handle, 1);
	atomic_store(&d->next_srq_handle, 1);
	ret = init_tables(d, conf->seed);
	if (ret) {
		free(d);
		return ret;
	}
	roost_arena_init(&d->arena);
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->mcast_lock, NULL);
	pthread_mutex_init(&d->flow_lock, NULL);
	pthread_mutex_init(&d->users_lock, NULL);
	pthread_mutex_init(&d->late.telling, NULL);
	pthread_mutex_init(&d->all.lock, NULL);
	pthread_mutex_init(&d->service_lock, NULL);
	TAILQ_INIT(&d->services);
	*dev = d;
	return 0;
}

void roost_dev_free(struct roost_dev *dev)
{
	fini_tables(dev);
	roost_arena_fini(&dev->arena);
	pthread_mutex_destroy(&dev->mcast_lock);
	pthread_mutex_destroy(&dev->flow_lock);
	pthread_mutex_destroy(&dev->users_lock);
	pthread_mutex_destroy(&dev->late.telling);
	pthread_mutex_destroy(&dev->all.lock);
	pthread_mutex_destroy(&dev->service_lock);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

const struct roost_dev_limits *roost_dev_limits(const struct roost_dev *dev
						__attribute__((unused)))
{
	return &limits;
}

const char *roost_dev_name(const struct roost_dev *dev)
{
	return dev->name;
}

uint64_t roost_dev_node_guid(const struct roost_dev *dev)
{
	return dev->node_guid;
}

unsigned int roost_dev_nb_ports(const struct roost_dev *dev)
{
	return dev->nb_ports;
}

unsigned int roost_dev_nb_workers(const struct roost_dev *dev)
{
	return dev->nb_workers;
}

struct roost_worker *roost_dev_worker_at(struct roost_dev *dev,
					 unsigned int index)
{
	return dev->workers[index];
}

struct roost_worker *roost_dev_worker(struct roost_dev *dev)
{
	return dev->workers[0];
}

/* ---- contexts --------------------------------------------------------- */

int roost_ctx_open(struct roost_dev *dev, struct roost_ctx **ctx)
{
	struct roost_ctx *c;
	int ret;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->dev = dev;
	ret = roost_channel_create(ASYNC_RING_LEN, &c->async);
	if (ret) {
		free(c);
		return ret;
	}
	for (unsigned int i = 0; i < ROOST_DEV_PORTS_MAX; i++) {
		roost_event_source_init(&c->ports[i], c->async, c);
		c->ports[i].arg = i + 1;
	}
	pthread_mutex_lock(&dev->lock);
	/* Under the lock: DEVICE_FATAL finds it, or it finds failed. */
	if (atomic_load(&dev->failed))
		ret = -ENODEV;
	else
		LIST_INSERT_HEAD(&dev->ctxs, c, link);
	pthread_mutex_unlock(&dev->lock);
	if (ret) {
		roost_channel_destroy(c->async);
		free(c);
		return ret;
	}
	*ctx = c;
	return 0;
}

int roost_ctx_close(struct roost_ctx *ctx)
{
	struct roost_dev *dev = ctx->dev;

	if (atomic_load(&ctx->refs) != 0)
		return -EBUSY;
	pthread_mutex_lock(&dev->lock);
	LIST_REMOVE(ctx, link);
	pthread_mutex_unlock(&dev->lock);
	roost_channel_destroy(ctx->async);
	free(ctx);
	return 0;
}

struct roost_channel *roost_ctx_async_channel(struct roost_ctx *ctx)
{
	return ctx->async;
}
