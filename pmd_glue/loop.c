/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <roost/loop.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/engine/core/dev.h"
#include "lib/engine/core/port.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/netif/twin_sort.h"

#define PAYLOAD_MAX_BYTES 4096u
#define HEARD_MAX_BYTES 2048u /* the host answers no longer frame */
#define PUNTS_MAX 64u         /* of one iteration */
#define WATCH_NS 250000000u

struct roost_loop {
	struct roost_loop_conf conf;
	struct roost_dev *dev;
	struct roost_host *host;
	/* Thread of all fields below: the one that runs the loop. */
	struct rte_mbuf **frames; /* given by the caller, not taken yet */
	uint16_t nb_frames;
	unsigned int nb_punts;
	struct rte_mbuf *punts[PUNTS_MAX];
	bool is_up;
	uint64_t watch_at_ns;
	uint64_t due_ns;    /* when services and host run next */
	_Atomic bool woken; /* they run now; writer: any thread */
};

/* ---- how the engine reaches the port ------------------------------------- */

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_loop *l = ctx;
	uint16_t got = n < l->nb_frames ? n : l->nb_frames;

	(void)queue;
	memcpy(pkts, l->frames, got * sizeof(pkts[0]));
	l->frames += got;
	l->nb_frames = (uint16_t)(l->nb_frames - got);
	if (got < n && l->conf.rx_queue != ROOST_LOOP_NO_QUEUE)
		got = (uint16_t)(got + rte_eth_rx_burst(l->conf.port_id,
							l->conf.rx_queue,
							pkts + got,
							(uint16_t)(n - got)));
	return got;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_loop *l = ctx;

	(void)queue;
	if (l->is_up)
		return rte_eth_tx_burst(l->conf.port_id, l->conf.tx_queue, pkts,
					n);
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* Called under the turn: keep the frame until the turn is released. */
static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct roost_loop *l = ctx;

	if (l->nb_punts < PUNTS_MAX)
		l->punts[l->nb_punts++] = pkt;
	else
		rte_pktmbuf_free(pkt);
}

/* Ask, and do not wait: the answer arrives by the loop, and the caller may be
 * the thread that runs it.
 */
static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct roost_host *host = ctx;
	int ret = roost_host_meet(host, sgid, dgid, NULL);

	if (ret && ret != -EAGAIN)
		return ret;
	ret = roost_host_ask(host, sgid, dgid, NULL, neigh);
	if (ret ||
	    atomic_load_explicit(&(*neigh)->mac_gen, memory_order_acquire) != 0)
		return ret;
	roost_host_neigh_put(host, *neigh);
	*neigh = NULL;
	return -EAGAIN;
}

static void wake(void *ctx)
{
	struct roost_loop *l = ctx;

	atomic_store_explicit(&l->woken, true, memory_order_release);
}

/* ---- the host ------------------------------------------------------------ */

static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct roost_loop *l = ctx;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(l->conf.pool);
	char *room;

	if (!mbuf)
		return;
	room = rte_pktmbuf_append(mbuf, (uint16_t)len_bytes);
	if (!room) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	memcpy(room, frame, len_bytes);
	roost_worker_send_frame(roost_dev_worker(l->dev), 1, mbuf);
}

static bool program_answers(void *ctx, const struct roost_gid *addr)
{
	const struct roost_loop *l = ctx;

	(void)addr;
	return l->conf.silent;
}

static void hear(struct roost_loop *l, const struct rte_mbuf *pkt,
		 uint64_t now_ns)
{
	uint8_t copy[HEARD_MAX_BYTES];
	uint8_t *frame;
	size_t len = rte_pktmbuf_pkt_len(pkt);
	const uint8_t *bytes;

	if (len > sizeof(copy) ||
	    !roost_twin_frame_is_shared(rte_pktmbuf_mtod(pkt, const uint8_t *),
					rte_pktmbuf_data_len(pkt)))
		return;
	bytes = rte_pktmbuf_read(pkt, 0, (uint32_t)len, copy);
	if (bytes != copy)
		memcpy(copy, bytes, len);
	frame = roost_ether_untag(copy, len);
	roost_host_input(l->host, frame, len - (size_t)(frame - copy), now_ns);
}

static void give_punts(struct roost_loop *l, uint64_t now_ns)
{
	for (unsigned int i = 0; i < l->nb_punts; i++) {
		hear(l, l->punts[i], now_ns);
		if (l->conf.punt)
			l->conf.punt(l->conf.arg, l->punts[i]);
		else
			rte_pktmbuf_free(l->punts[i]);
	}
	l->nb_punts = 0;
}

/* ---- one iteration ------------------------------------------------------- */

static void watch_link(struct roost_loop *l, uint64_t now_ns)
{
	struct rte_eth_link link = { 0 };
	uint16_t mtu_bytes = 0;
	bool is_up;

	l->watch_at_ns = now_ns + WATCH_NS;
	is_up = rte_eth_link_get_nowait(l->conf.port_id, &link) == 0 &&
		link.link_status == RTE_ETH_LINK_UP &&
		rte_eth_dev_get_mtu(l->conf.port_id, &mtu_bytes) == 0;
	if (is_up == l->is_up)
		return;
	l->is_up = is_up;
	roost_port_set_link(l->dev, 1,
			    is_up ? ROOST_PORT_ACTIVE : ROOST_PORT_DOWN,
			    mtu_bytes,
			    link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN
				    ? 0
				    : link.link_speed);
	if (is_up)
		roost_host_link_up(l->host, now_ns);
}

static void run_slow_side(struct roost_loop *l, uint64_t now_ns)
{
	uint64_t tick_ns;

	atomic_exchange_explicit(&l->woken, false, memory_order_acquire);
	tick_ns = roost_host_tick(l->host, now_ns);
	l->due_ns = RTE_MIN(tick_ns, roost_dev_service_run_all(l->dev, now_ns));
}

unsigned int roost_loop_run(struct roost_loop *loop, struct rte_mbuf **frames,
			    uint16_t n, uint64_t now_ns)
{
	struct roost_worker *w = roost_dev_worker(loop->dev);
	unsigned int work = 0;

	loop->frames = frames;
	loop->nb_frames = n;
	do {
		roost_worker_turn_take(w);
		work += roost_worker_iterate(w, now_ns);
		roost_worker_turn_release(w);
		give_punts(loop, now_ns);
	} while (loop->nb_frames > 0);
	if (now_ns >= loop->watch_at_ns)
		watch_link(loop, now_ns);
	if (now_ns >= loop->due_ns ||
	    atomic_load_explicit(&loop->woken, memory_order_relaxed))
		run_slow_side(loop, now_ns);
	return work;
}

/* ---- life ---------------------------------------------------------------- */

static int create_host(struct roost_loop *l, const uint8_t mac[6])
{
	struct roost_host_conf conf = {
		.routes = { .on_link = l->conf.addrs, .gw = l->conf.gw },
		.send = send_frame,
		.wake = wake,
		.kernel_owns = program_answers,
		.ctx = l,
	};

	memcpy(conf.mac, mac, sizeof(conf.mac));
	return roost_host_create(&conf, &l->host);
}

static int create_dev(struct roost_loop *l, const uint8_t mac[6])
{
	const struct roost_gid link_local = roost_nd_link_local(mac);
	rte_be64_t guid_be;
	struct roost_dev_conf conf = {
		.name = l->conf.name,
		.pool = l->conf.pool,
		.nb_ports = 1,
		.frame_io[0] = {
			.ctx = l,
			.rx_burst = rx_burst,
			.tx_burst = tx_burst,
			.punt = punt,
		},
		.addr_io[0] = roost_host_addr_io(l->host),
	};

	conf.addr_io[0].resolve = resolve;
	memcpy(conf.mac[0], mac, sizeof(conf.mac[0]));
	/* The EUI-64 of the MAC, as in the link-local address. */
	memcpy(&guid_be, &link_local.b[8], sizeof(guid_be));
	conf.node_guid = rte_be_to_cpu_64(guid_be);
	return roost_dev_create(&conf, &l->dev);
}

static int check(const struct roost_loop_conf *conf, struct rte_ether_addr *mac)
{
	if (!conf->pool || conf->addrs.nb == 0 ||
	    conf->addrs.nb > ROOST_PORT_IPS_MAX ||
	    rte_pktmbuf_data_room_size(conf->pool) <
		    RTE_PKTMBUF_HEADROOM + ROOST_FRAME_OVERHEAD_MAX +
			    PAYLOAD_MAX_BYTES)
		return -EINVAL;
	return rte_eth_macaddr_get(conf->port_id, mac) == 0 ? 0 : -EINVAL;
}

int roost_loop_create(const struct roost_loop_conf *conf,
		      struct roost_loop **loop)
{
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	struct rte_ether_addr mac;
	struct roost_loop *l;
	unsigned int nb;
	int ret = check(conf, &mac);

	if (ret)
		return ret;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->conf = *conf;
	ret = create_host(l, mac.addr_bytes);
	if (ret)
		goto free_loop;
	ret = create_dev(l, mac.addr_bytes);
	if (ret)
		goto destroy_host;
	nb = roost_gid_table_fill(gids, mac.addr_bytes, &conf->addrs);
	for (unsigned int i = 0; i < nb; i++)
		roost_port_set_gid(l->dev, 1, i, &gids[i]);
	*loop = l;
	return 0;
destroy_host:
	roost_host_destroy(l->host);
free_loop:
	free(l);
	return ret;
}

int roost_loop_destroy(struct roost_loop *loop)
{
	int ret = roost_dev_destroy(loop->dev);

	if (ret)
		return ret;
	roost_host_destroy(loop->host);
	free(loop);
	return 0;
}

struct roost_dev *roost_loop_dev(struct roost_loop *loop)
{
	return loop->dev;
}
