/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <roost/loop.h>

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "lib/engine/core/catch.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/mbuf.h"
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
#include "pmd_glue/process/clock.h"

#define HEAD_BYTES 128u          /* the headers by which a frame is sorted */
#define RECEIVED_MAX_BYTES 2048u /* the host answers no longer frame */
#define WATCH_NS 250000000u
#define LAST_RUNS 64u /* to empty the worker's queue of frames */

static_assert(ROOST_LOOP_DATA_ROOM_BYTES >= ROOST_FRAME_OVERHEAD_MAX + 4096,
	      "a packet of the largest path MTU fits");

/* What the engine was told last of the port. */
struct loop_link {
	bool is_up;
	uint16_t mtu_bytes;
	uint32_t speed_mbps; /* 0: not known */
};

struct roost_loop {
	struct roost_loop_conf conf;
	struct roost_dev *dev;
	struct roost_host *host;
	/* Thread of all fields below: the one that runs the loop. */
	struct rte_mbuf **frames; /* given by the caller, not taken yet */
	uint16_t nb_frames;
	unsigned int nb_punts;
	struct rte_mbuf *punts[ROOST_RX_BURST]; /* of one iteration */
	struct loop_link link;
	uint64_t watch_at_ns;
	uint64_t due_ns;    /* when services and host run next */
	_Atomic bool woken; /* they run now; writer: any thread */
};

/* ---- how the engine reaches the port ------------------------------------- */

/* In segments, or without the VLAN tag that it had on the wire. */
static bool is_odd(const struct rte_mbuf *pkt)
{
	return pkt->nb_segs > 1 ||
	       (pkt->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
}

/* The engine reads a frame in one segment. Other frames than RoCEv2 stay as
 * they are, and so does a frame that is longer than any of the engine's: the
 * engine drops it. NULL: dropped, no memory.
 */
static struct rte_mbuf *gather(struct roost_loop *l, struct rte_mbuf *pkt)
{
	uint8_t head[HEAD_BYTES];
	uint32_t len = RTE_MIN(rte_pktmbuf_pkt_len(pkt), HEAD_BYTES);
	struct roost_frame frame;
	struct rte_mbuf *whole;

	if (rte_pktmbuf_pkt_len(pkt) > ROOST_LOOP_DATA_ROOM_BYTES ||
	    roost_frame_parse(rte_pktmbuf_read(pkt, 0, len, head), len,
			      &frame) == ROOST_FRAME_OTHER)
		return pkt;
	whole = rte_pktmbuf_copy(pkt, l->conf.pool, 0, UINT32_MAX);
	rte_pktmbuf_free(pkt);
	return whole;
}

/* Put the stripped tag into the frame, by which it is sorted. The flag stays:
 * give_punts() strips the tag again. NULL: dropped, no memory.
 */
static struct rte_mbuf *restore_tag(struct roost_loop *l, struct rte_mbuf *pkt)
{
	struct rte_mbuf *copy;

	if (rte_vlan_insert(&pkt) != 0) {
		/* Shared, or no headroom. */
		copy = rte_pktmbuf_copy(pkt, l->conf.pool, 0, UINT32_MAX);
		rte_pktmbuf_free(pkt);
		pkt = copy;
		if (!pkt || rte_vlan_insert(&pkt) != 0) {
			rte_pktmbuf_free(pkt);
			return NULL;
		}
	}
	pkt->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
	return pkt;
}

/* Returns the number of frames that are left. */
static uint16_t even_out(struct roost_loop *l, struct rte_mbuf **pkts,
			 uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *pkt = pkts[i];

		if (pkt->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			pkt = restore_tag(l, pkt);
		if (pkt && pkt->nb_segs > 1)
			pkt = gather(l, pkt);
		if (pkt)
			pkts[kept++] = pkt;
	}
	return kept;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_loop *l = ctx;
	uint16_t got = n < l->nb_frames ? n : l->nb_frames;

	(void)queue;
	if (got > 0) {
		memcpy(pkts, l->frames, got * sizeof(pkts[0]));
		l->frames += got;
		l->nb_frames = (uint16_t)(l->nb_frames - got);
	}
	if (got < n && l->conf.rx_queue != ROOST_LOOP_NO_QUEUE)
		got = (uint16_t)(got + rte_eth_rx_burst(l->conf.port_id,
							l->conf.rx_queue,
							pkts + got,
							(uint16_t)(n - got)));
	for (uint16_t i = 0; i < got; i++)
		if (unlikely(is_odd(pkts[i])))
			return even_out(l, pkts, got);
	return got;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_loop *l = ctx;

	(void)queue;
	if (l->link.is_up)
		return rte_eth_tx_burst(l->conf.port_id, l->conf.tx_queue, pkts,
					n);
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

/* Called under the turn: keep the frame until the turn is released. All frames
 * of an iteration come from one burst.
 */
static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct roost_loop *l = ctx;

	l->punts[l->nb_punts++] = pkt;
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
	size_t tag = l->conf.vlan_id != 0 ? ROOST_VLAN_LEN : 0;
	uint8_t *room;

	if (!mbuf)
		return;
	room = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(len_bytes + tag));
	if (!room) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	roost_ether_copy_tagged(room, frame, len_bytes, l->conf.vlan_id);
	roost_worker_send_frame(roost_dev_worker(l->dev), 1, mbuf);
}

static bool program_answers(void *ctx, const struct roost_gid *addr)
{
	const struct roost_loop *l = ctx;

	(void)addr;
	return l->conf.silent;
}

/* Is the frame in the device's VLAN, and of a kind that the host needs? */
static bool is_for_host(const struct roost_loop *l, const struct rte_mbuf *pkt)
{
	uint8_t copy[HEAD_BYTES];
	uint32_t len = RTE_MIN(rte_pktmbuf_pkt_len(pkt), HEAD_BYTES);
	const uint8_t *head = rte_pktmbuf_read(pkt, 0, len, copy);
	size_t tag = roost_ether_is_tagged(head, len) ? ROOST_VLAN_LEN : 0;

	return roost_ether_vlan_id(head, len) == l->conf.vlan_id &&
	       roost_twin_frame_is_shared(head + tag, len - tag);
}

static void receive(struct roost_loop *l, const struct rte_mbuf *pkt,
		    uint64_t now_ns)
{
	uint8_t copy[RECEIVED_MAX_BYTES];
	uint8_t *frame;
	size_t len = rte_pktmbuf_pkt_len(pkt);
	const uint8_t *bytes;

	if (len > sizeof(copy) || !is_for_host(l, pkt))
		return;
	bytes = rte_pktmbuf_read(pkt, 0, (uint32_t)len, copy);
	if (bytes != copy)
		memcpy(copy, bytes, len);
	frame = roost_ether_untag(copy, len);
	roost_host_input(l->host, frame, len - (size_t)(frame - copy), now_ns);
	/* The CM may wait for this neighbour. */
	wake(l);
}

static void give_punts(struct roost_loop *l, uint64_t now_ns)
{
	for (unsigned int i = 0; i < l->nb_punts; i++) {
		struct rte_mbuf *pkt = l->punts[i];

		receive(l, pkt, now_ns);
		if (pkt->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			rte_vlan_strip(pkt);
		if (l->conf.punt)
			l->conf.punt(l->conf.arg, pkt);
		else
			rte_pktmbuf_free(pkt);
	}
	l->nb_punts = 0;
}

/* ---- one iteration ------------------------------------------------------- */

/* A port that is down keeps its MTU and speed. */
static struct loop_link read_link(const struct roost_loop *l)
{
	struct loop_link link = l->link;
	struct rte_eth_link eth = { 0 };

	rte_eth_dev_get_mtu(l->conf.port_id, &link.mtu_bytes);
	link.is_up = rte_eth_link_get_nowait(l->conf.port_id, &eth) == 0 &&
		     eth.link_status == RTE_ETH_LINK_UP;
	if (link.is_up)
		link.speed_mbps = eth.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN
					  ? 0
					  : eth.link_speed;
	return link;
}

static void watch_link(struct roost_loop *l, uint64_t now_ns)
{
	const struct loop_link before = l->link, link = read_link(l);

	l->watch_at_ns = now_ns + WATCH_NS;
	if (link.is_up == before.is_up && link.mtu_bytes == before.mtu_bytes &&
	    link.speed_mbps == before.speed_mbps)
		return;
	l->link = link;
	roost_port_set_link(l->dev, 1,
			    link.is_up ? ROOST_PORT_ACTIVE : ROOST_PORT_DOWN,
			    link.mtu_bytes, link.speed_mbps);
	if (link.is_up && !before.is_up) {
		roost_host_link_up(l->host, now_ns);
		roost_port_carrier_up(l->dev);
	}
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
	static _Thread_local bool survives;
	struct roost_worker *w = roost_dev_worker(loop->dev);
	unsigned int work = 0;

	roost_catch_unblock_once(&survives);
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
		.vlan_id = { l->conf.vlan_id },
		.punts_vlans = { true },
		.now_ns = roost_now_ns(),
	};

	conf.addr_io[0].resolve = resolve;
	memcpy(conf.mac[0], mac, sizeof(conf.mac[0]));
	/* The EUI-64 of the MAC, as in the link-local address. */
	memcpy(&guid_be, &link_local.b[8], sizeof(guid_be));
	conf.node_guid = rte_be_to_cpu_64(guid_be);
	return roost_dev_create(&conf, &l->dev);
}

static bool has_queues(const struct roost_loop_conf *conf)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(conf->port_id, &info) == 0 &&
	       (conf->rx_queue == ROOST_LOOP_NO_QUEUE ||
		conf->rx_queue < info.nb_rx_queues) &&
	       conf->tx_queue < info.nb_tx_queues;
}

static bool are_addrs(const struct roost_prefixes *addrs)
{
	if (addrs->nb == 0 || addrs->nb > ROOST_PORT_IPS_MAX)
		return false;
	for (unsigned int i = 0; i < addrs->nb; i++) {
		const struct roost_prefix *p = &addrs->v[i];

		if (!roost_gid_is_unicast(&p->gid) || p->len_bits == 0 ||
		    p->len_bits > (roost_gid_is_v4(&p->gid) ? 32 : 128))
			return false;
	}
	return true;
}

static int check(const struct roost_loop_conf *conf, struct rte_ether_addr *mac)
{
	if (!conf->name || !conf->pool || !are_addrs(&conf->addrs) ||
	    conf->vlan_id > ROOST_VLAN_ID_MAX || !has_queues(conf) ||
	    rte_pktmbuf_data_room_size(conf->pool) <
		    RTE_PKTMBUF_HEADROOM + ROOST_LOOP_DATA_ROOM_BYTES)
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
	watch_link(l, roost_now_ns());
	*loop = l;
	return 0;
destroy_host:
	roost_host_destroy(l->host);
free_loop:
	free(l);
	return ret;
}

/* Messages of a CM that was put are queued. */
static void send_last(struct roost_loop *l)
{
	struct roost_worker *w = roost_dev_worker(l->dev);

	for (unsigned int i = 0;
	     i < LAST_RUNS && roost_worker_frames_waiting(w) > 0; i++)
		roost_loop_run(l, NULL, 0, roost_now_ns());
}

int roost_loop_destroy(struct roost_loop *loop)
{
	int ret;

	send_last(loop);
	ret = roost_dev_destroy(loop->dev);
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
