/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/station.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/config/addr.h"
#include "lib/engine/worker.h"
#include "lib/wire/frame.h"
#include "pmd_glue/clock.h"
#include "pmd_glue/control.h"
#include "pmd_glue/ether.h"
#include "pmd_glue/gid_table.h"
#include "pmd_glue/host.h"
#include "pmd_glue/membership.h"
#include "pmd_glue/report.h"
#include "pmd_glue/turner.h"
#include "pmd_glue/twin.h"
#include "pmd_glue/twin_sort.h"

#define PUNTS_LEN 256u
#define WATCH_NS 250000000u

/* ---- between the engine and the host ----------------------------------- */

/* The first three are called by the worker. */
static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_station *s = ctx;

	(void)queue; /* there is one */
	return roost_ethport_rx(&s->port, pkts, n);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_station *s = ctx;

	(void)queue;
	return roost_ethport_tx(&s->port, pkts, n);
}

static void punt_to_host(struct roost_station *s, struct rte_mbuf *pkt)
{
	if (rte_ring_mp_enqueue(s->punts, pkt) != 0)
		rte_pktmbuf_free(pkt);
	else
		roost_control_wake();
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct roost_station *s = ctx;
	struct rte_mbuf *copy;

	if (!s->twin) {
		punt_to_host(s, pkt);
		return;
	}
	if (roost_twin_frame_is_shared(rte_pktmbuf_mtod(pkt, const uint8_t *),
				       rte_pktmbuf_data_len(pkt))) {
		copy = rte_pktmbuf_copy(pkt, s->port.pool, 0, UINT32_MAX);
		if (copy)
			punt_to_host(s, copy);
	}
	roost_twin_take(s->twin, pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct roost_station *s = ctx;

	return roost_host_resolve(s->host, sgid, dgid, neigh);
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct roost_station *s = ctx;

	roost_host_neigh_put(s->host, neigh);
}

static int ask(void *ctx, const struct roost_gid *sgid,
	       const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct roost_station *s = ctx;

	return roost_host_ask(s->host, sgid, dgid, neigh);
}

static int source(void *ctx, const struct roost_gid *dgid,
		  struct roost_gid *sgid)
{
	struct roost_station *s = ctx;

	return roost_host_source(s->host, dgid, sgid);
}

static void kick(void *ctx, unsigned int worker)
{
	struct roost_station *s = ctx;

	roost_turner_kick(s->turners[worker]);
}

static void wake(void *ctx __attribute__((unused)))
{
	roost_control_wake();
}

static int mcast_join(void *ctx, const struct roost_gid *group)
{
	struct roost_station *s = ctx;

	return roost_groups_join(&s->groups, group);
}

static void mcast_leave(void *ctx, const struct roost_gid *group)
{
	struct roost_station *s = ctx;

	roost_groups_leave(&s->groups, group);
}

struct roost_port_io roost_station_io(struct roost_station *s)
{
	return (struct roost_port_io){
		.ctx = s,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.resolve = resolve,
		.neigh_put = neigh_put,
		.ask = ask,
		.source = source,
		.wake = wake,
		.kick = kick,
		.mcast_join = mcast_join,
		.mcast_leave = mcast_leave,
	};
}

static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct roost_station *s = ctx;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(s->port.pool);
	char *room;

	if (!mbuf)
		return;
	room = rte_pktmbuf_append(mbuf, (uint16_t)len_bytes);
	if (!room) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	memcpy(room, frame, len_bytes);
	if (roost_worker_send_frame(s->worker, s->port_num, mbuf) == 0)
		roost_turner_kick(s->turners[0]);
}

static bool kernel_owns(void *ctx, const struct roost_gid *addr)
{
	const struct roost_station *s = ctx;

	return roost_kif_has(&s->kif->state, addr);
}

static int kernel_route(void *ctx, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_kif_route *route)
{
	const struct roost_station *s = ctx;

	return roost_kif_route(s->kif->state.ifindex, sgid, dgid, route);
}

static void conflict(void *ctx, const struct roost_gid *addr,
		     const uint8_t mac[6])
{
	const struct roost_station *s = ctx;
	char text[ROOST_PREFIX_STRLEN];

	roost_report("%s: address %s is in use by another station: "
		     "%02x:%02x:%02x:%02x:%02x:%02x claims it; give one of the "
		     "two another",
		     s->label, roost_addr_format(addr, text), mac[0], mac[1],
		     mac[2], mac[3], mac[4], mac[5]);
}

/* ---- open -------------------------------------------------------------- */

static int claim_link(struct roost_station *s, const char *name,
		      unsigned int index)
{
	char device[16];
	pid_t pids[2];
	int ret;

	ret = roost_link_claim(name, &s->link, pids);
	if (ret == -EBUSY)
		roost_report("%s: both ends are taken, by process %d and "
			     "process %d; stop one of them or use a link of "
			     "another name",
			     s->label, pids[0], pids[1]);
	else if (ret)
		roost_report("%s: cannot claim an end: %s", s->label,
			     strerror(-ret));
	if (ret)
		return ret;
	s->has_link = true;
	snprintf(device, sizeof(device), "roost%u", index);
	ret = roost_link_devargs(name, s->link.end, device, s->link_devargs,
				 sizeof(s->link_devargs));
	if (ret)
		roost_report("%s: its name is too long; use a shorter one",
			     s->label);
	return ret;
}

/* What the configuration gives, or what goes without saying. */
static int find_addrs(struct roost_station *s,
		      const struct roost_config *config, unsigned int index)
{
	const struct roost_port_config *pc = &config->ports[index];
	int ret;

	s->addrs = pc->ips;
	if (s->addrs.nb == 0 && s->has_link)
		s->addrs.v[s->addrs.nb++] =
			roost_config_link_ip(config, index, s->link.end);
	if (s->port.kernel == ROOST_KERNEL_SHARES)
		s->kif = &s->port.kif;
	ret = roost_station_twin_open(s, pc);
	if (ret)
		return ret;
	s->follows_addrs = s->twin || (s->kif && s->addrs.nb == 0);
	if (s->follows_addrs) {
		roost_station_find_followed(s);
		s->addrs = s->followed;
	}
	return 0;
}

static int make_punts(struct roost_station *s)
{
	size_t bytes = (size_t)rte_ring_get_memsize(PUNTS_LEN);

	s->punts = aligned_alloc(RTE_CACHE_LINE_SIZE,
				 RTE_ALIGN_CEIL(bytes,
						(size_t)RTE_CACHE_LINE_SIZE));
	if (!s->punts)
		return -ENOMEM;
	return rte_ring_init(s->punts, "roost_punts", PUNTS_LEN, RING_F_SC_DEQ);
}

static int make_host(struct roost_station *s, const struct roost_gateways *gw)
{
	struct roost_host_conf conf = {
		.routes = { .on_link = s->addrs, .gw = *gw },
		.send = send_frame,
		.wake = wake,
		.conflict = conflict,
		.ctx = s,
	};

	memcpy(conf.mac, s->port.mac, sizeof(conf.mac));
	if (s->kif) {
		conf.kernel_owns = kernel_owns;
		conf.kernel_route = kernel_route;
		conf.addrs_are_kernels = s->follows_addrs;
	}
	return roost_host_create(&conf, &s->host);
}

static int make_groups(struct roost_station *s)
{
	const struct roost_groups_conf conf = {
		.port = &s->port,
		.addrs = &s->addrs,
		.takes_all = s->twin != NULL,
		.kernel_owns = s->kif ? kernel_owns : NULL,
		.send = send_frame,
		.ctx = s,
	};

	return roost_groups_create(&s->groups, &conf);
}

static void release_link(struct roost_station *s)
{
	if (s->has_link)
		roost_link_release(&s->link);
}

int roost_station_open(struct roost_station *s,
		       const struct roost_config *config, unsigned int index)
{
	const struct roost_port_config *pc = &config->ports[index];
	struct roost_ethport_conf conf = {
		.label = s->label,
		.devargs = pc->devargs,
		.has_twin = pc->twin[0] != '\0',
		.mtu_bytes = pc->mtu_bytes,
		.nb_workers = RTE_MAX(config->nb_workers, 1u),
	};
	int ret = 0;

	*s = (struct roost_station){ .ear.fd = -1 };
	if (pc->link[0]) {
		snprintf(s->label, sizeof(s->label), "link \"%s\"", pc->link);
		ret = claim_link(s, pc->link, index);
		conf.is_link = true;
		conf.devargs = s->link_devargs;
	} else {
		snprintf(s->label, sizeof(s->label), "port%u (%s)", index,
			 pc->devargs);
	}
	if (ret)
		goto release;
	ret = roost_ethport_open(&s->port, &conf);
	if (ret)
		goto release;
	ret = find_addrs(s, config, index);
	if (ret)
		goto close;
	ret = make_punts(s);
	if (!ret)
		ret = make_host(s, &pc->gw);
	if (!ret)
		ret = make_groups(s);
	if (!ret)
		return 0;
	roost_report("%s: no memory", s->label);
	if (s->host)
		roost_host_destroy(s->host);
	free(s->punts);
	roost_station_twin_close(s);
close:
	roost_ethport_close(&s->port);
	roost_ethport_free_pool(&s->port);
release:
	release_link(s);
	return ret;
}

/* ---- from start to close ------------------------------------------------ */

/* QPs that leave a port may have something to say to their peers. */
void roost_station_tell_link(struct roost_station *s)
{
	roost_port_set_link(s->dev, s->port_num, s->last_link.state,
			    s->port.ip_mtu_bytes, s->last_link.speed_mbps);
	for (unsigned int i = 0; i < roost_dev_nb_workers(s->dev); i++)
		roost_turner_kick(s->turners[i]);
}

void roost_station_watch_link(struct roost_station *s, uint64_t now_ns)
{
	const struct roost_ethport_link before = s->last_link;

	roost_ethport_link(&s->port, &s->last_link);
	/* Netlink tells of the kernel's. */
	s->watch_at_ns = s->port.kernel == ROOST_KERNEL_SHARES
				 ? UINT64_MAX
				 : now_ns + WATCH_NS;
	if (s->last_link.state != before.state ||
	    s->last_link.speed_mbps != before.speed_mbps)
		roost_station_tell_link(s);
	if (s->twin && s->last_link.carrier != before.carrier)
		roost_twin_set_carrier(s->twin, s->last_link.carrier);
	if (s->last_link.carrier && !before.carrier) {
		roost_host_link_up(s->host, now_ns);
		roost_membership_link_up(s->groups.membership, now_ns);
	}
}

static bool is_v1(const uint8_t *frame, size_t len_bytes)
{
	uint16_t type;

	if (len_bytes < ROOST_ETH_LEN + ROOST_VLAN_LEN)
		return false;
	type = roost_ether_type(frame);
	if (type == ROOST_ETHERTYPE_VLAN)
		type = roost_ether_type(frame + ROOST_VLAN_LEN);
	return type == ROOST_ETHERTYPE_ROCE_V1;
}

/* To us? A shared interface may see what others say to each other. */
static void tell_v1(struct roost_station *s, const uint8_t *frame)
{
	const uint8_t *mac = frame + 6;

	if (s->told_v1 || memcmp(frame, s->port.mac, 6) != 0)
		return;
	s->told_v1 = true;
	roost_report(
		"%s: packets of %02x:%02x:%02x:%02x:%02x:%02x are dropped: "
		"they are RoCEv1, and only RoCEv2 is spoken here; give "
		"that program a GID index whose type is RoCE v2",
		s->label, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void hear_frame(struct roost_station *s, uint8_t *frame,
		       size_t len_bytes, uint64_t now_ns)
{
	if (is_v1(frame, len_bytes))
		tell_v1(s, frame);
	else if (!roost_membership_input(s->groups.membership, frame, len_bytes,
					 now_ns))
		roost_host_input(s->host, frame, len_bytes, now_ns);
}

static void hear_by_ear(void *ctx, uint8_t *frame, size_t len_bytes)
{
	hear_frame(ctx, frame, len_bytes, roost_now_ns());
}

static int open_ear(struct roost_station *s)
{
	int ret;

	if (!s->port.driver->is_xdp)
		return 0;
	ret = roost_ear_open(&s->ear, s->port.ifindex, hear_by_ear, s);
	if (ret)
		roost_report("%s: cannot hear ARP on \"%s\": %s; run as root "
			     "or with CAP_NET_RAW",
			     s->label, s->port.iface, strerror(-ret));
	return ret;
}

int roost_station_start(struct roost_station *s, struct roost_dev *dev,
			uint8_t port_num, struct roost_turner *const *turners)
{
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	uint64_t now_ns = roost_now_ns();
	unsigned int nb;
	int ret;

	s->dev = dev;
	s->worker = roost_dev_worker(dev);
	s->port_num = port_num;
	s->turners = turners;
	roost_ethport_set_worker(&s->port, s->worker);
	roost_worker_turn_take(s->worker);
	ret = roost_ethport_start(&s->port, now_ns);
	roost_worker_turn_release(s->worker);
	if (!ret)
		ret = open_ear(s);
	if (ret)
		return ret;
	nb = roost_gid_table_fill(gids, s->port.mac, &s->addrs);
	for (unsigned int i = 0; i < nb; i++)
		roost_port_set_gid(dev, port_num, i, &gids[i]);
	roost_groups_start(&s->groups, now_ns);
	roost_station_watch_link(s, now_ns);
	return roost_station_twin_start(s);
}

/* Bounded: a flood must not keep the control thread from anything else. */
static void hear_punts(struct roost_station *s, uint64_t now_ns)
{
	struct rte_mbuf *mbuf;

	for (unsigned int i = 0; i < PUNTS_LEN; i++) {
		if (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) != 0)
			return;
		hear_frame(s, rte_pktmbuf_mtod(mbuf, uint8_t *),
			   rte_pktmbuf_data_len(mbuf), now_ns);
		rte_pktmbuf_free(mbuf);
	}
}

uint64_t roost_station_run(struct roost_station *s, uint64_t now_ns)
{
	uint64_t retry_at_ns, report_at_ns, next_ns;

	hear_punts(s, now_ns);
	roost_station_follow(s, now_ns);
	retry_at_ns = roost_ethport_reconnect(&s->port, now_ns);
	/* Where asking costs nothing, ask after every wake: it may have been
	 * the driver's.
	 */
	if (now_ns >= s->watch_at_ns || s->port.has_lsc ||
	    s->port.driver->is_memif)
		roost_station_watch_link(s, now_ns);
	if (s->has_link)
		roost_link_serve(&s->link);
	next_ns = roost_host_tick(s->host, now_ns);
	if (!rte_ring_empty(s->punts))
		next_ns = now_ns;
	report_at_ns = roost_membership_tick(s->groups.membership, now_ns);
	if (report_at_ns < next_ns)
		next_ns = report_at_ns;
	if (!rte_ring_empty(s->punts))
		next_ns = now_ns;
	if (retry_at_ns < next_ns)
		next_ns = retry_at_ns;
	return s->watch_at_ns < next_ns ? s->watch_at_ns : next_ns;
}

void roost_station_farewell(struct roost_station *s)
{
	if (!roost_membership_farewell(s->groups.membership, roost_now_ns()))
		return;
	/* The turner may stop without another turn. */
	roost_worker_turn_take(s->worker);
	roost_worker_iterate(s->worker, roost_now_ns());
	roost_worker_turn_release(s->worker);
}

void roost_station_close(struct roost_station *s)
{
	roost_station_hush(s);
	roost_ear_close(&s->ear);
	roost_ethport_close(&s->port);
	release_link(s);
}

void roost_station_free(struct roost_station *s)
{
	struct rte_mbuf *mbuf;

	while (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	free(s->punts);
	roost_groups_destroy(&s->groups);
	roost_host_destroy(s->host);
	roost_station_twin_close(s);
	roost_ethport_free_pool(&s->port);
}
