/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/station.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/config/addr.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/frame.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/membership.h"
#include "pmd_glue/host/neigh.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/progress/progress.h"
#include "pmd_glue/kernel/twin.h"
#include "pmd_glue/netif/twin_sort.h"

#define PUNTS_LEN 256u
#define WATCH_NS 250000000u
/* A link waits this long for a peer before the user is told. */
#define LONELY_NS 5000000000u

/* ---- the engine's frames ------------------------------------------------ */

/* Thread of the next three functions: the holder of the turn. */
static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_station *s = ctx;

	return roost_subport_rx(&s->subport, queue, pkts, n);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_station *s = ctx;

	return roost_subport_tx(&s->subport, queue, pkts, n);
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
		copy = rte_pktmbuf_copy(pkt, s->port->pool, 0, UINT32_MAX);
		if (copy)
			punt_to_host(s, copy);
	}
	roost_twin_take(s->twin, pkt);
}

static void kick(void *ctx, unsigned int worker)
{
	struct roost_station *s = ctx;

	roost_progress_kick(s->progress[worker]);
}

static void wake(void *ctx __attribute__((unused)))
{
	roost_control_wake();
}

struct roost_frame_io roost_station_frame_io(struct roost_station *s)
{
	return (struct roost_frame_io){
		.ctx = s,
		.nb_queues = s->port->nb_worker_queues,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.kick = kick,
	};
}

/* The VLAN tag of the host's frames has priority 0. */
static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct roost_station *s = ctx;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(s->port->pool);
	size_t tag = s->subport.vlan_id != 0 ? ROOST_VLAN_LEN : 0;
	uint8_t *room;

	if (!mbuf)
		return;
	room = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(len_bytes + tag));
	if (!room) {
		rte_pktmbuf_free(mbuf);
		return;
	}
	roost_ether_copy_tagged(room, frame, len_bytes, s->subport.vlan_id);
	if (roost_worker_send_frame(s->worker, s->port_num, mbuf) == 0)
		roost_progress_kick(s->progress[0]);
}

static bool kernel_owns(void *ctx, const struct roost_gid *addr)
{
	const struct roost_station *s = ctx;

	return roost_nl_link_has(&s->nl_link->state, addr);
}

static int kernel_route(void *ctx, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route)
{
	const struct roost_station *s = ctx;
	unsigned int ifindex;

	if (s->subport.vlan_id == 0)
		return roost_nl_link_route(s->nl_link->state.ifindex, sgid,
					   dgid, route);
	ifindex = atomic_load(&s->vlan_ifindex);
	return ifindex ? roost_nl_link_route(ifindex, sgid, dgid, route)
		       : -EHOSTUNREACH;
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

static void crowded(void *ctx, enum roost_host_crowd crowd, const uint8_t *mac)
{
	const struct roost_station *s = ctx;

	if (crowd == ROOST_CROWD_OF_STATION)
		roost_report("%s: station %02x:%02x:%02x:%02x:%02x:%02x claims "
			     "more than %u addresses that nobody here speaks "
			     "to: the older ones are forgotten; look at that "
			     "station",
			     s->label, mac[0], mac[1], mac[2], mac[3], mac[4],
			     mac[5], ROOST_NEIGHS_CLAIMED_BY_ONE_MAX);
	else if (crowd == ROOST_CROWD_OF_CLAIMS)
		roost_report("%s: stations claim more than %u addresses that "
			     "nobody here speaks to: the older ones are "
			     "forgotten; look for a flood of ARP or ND",
			     s->label, ROOST_NEIGHS_CLAIMED_MAX);
	else
		roost_report("%s: %u neighbours are in use, as many as there "
			     "may be: no connection to another one; close "
			     "some",
			     s->label, ROOST_NEIGHS_MAX);
}

/* ---- open -------------------------------------------------------------- */

/* Addresses of the configuration, of the link, or of the kernel's interface. */
static int find_addrs(struct roost_station *s,
		      const struct roost_config *config, unsigned int index)
{
	const struct roost_port_config *pc = &config->ports[index];
	int ret;

	s->addrs = pc->ips;
	if (s->addrs.nb == 0 && pc->link[0] != '\0')
		s->addrs.v[s->addrs.nb++] =
			roost_config_link_ip(config, index,
					     s->subport.shared_port->link.end);
	if (s->port->kernel == ROOST_KERNEL_SHARES)
		s->nl_link = s->subport.vlan_id != 0 ? &s->vlan_nl_link
						     : &s->port->nl_link;
	ret = roost_station_twin_open(s, pc);
	if (ret)
		return ret;
	s->follows_addrs = s->twin || (s->nl_link && s->addrs.nb == 0);
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
		.crowded = crowded,
		.unreached = roost_station_tell_unreached,
		.groups = &s->groups,
		.ctx = s,
	};

	memcpy(conf.mac, s->mac, sizeof(conf.mac));
	if (s->nl_link) {
		conf.kernel_owns = kernel_owns;
		conf.kernel_route = kernel_route;
		conf.addrs_are_kernels = s->follows_addrs;
	}
	return roost_host_create(&conf, &s->host);
}

/* The groups of the kernel behind a twin are not known: receive all. */
static void set_groups(void *ctx, uint8_t (*macs)[6], unsigned int nb)
{
	struct roost_station *s = ctx;

	roost_ethport_set_groups(s->port, macs, nb,
				 s->twin || nb > ROOST_GROUPS_MACS_MAX);
}

static int make_groups(struct roost_station *s)
{
	const struct roost_groups_conf conf = {
		.mac = s->port->mac,
		.ip_mtu_bytes = &s->port->ip_mtu_bytes,
		.addrs = &s->addrs,
		.set_filter = set_groups,
		.kernel_owns = s->nl_link ? kernel_owns : NULL,
		.send = send_frame,
		.ctx = s,
	};

	return roost_groups_create(&s->groups, &conf);
}

int roost_station_open(struct roost_station *s,
		       const struct roost_config *config, unsigned int index)
{
	const struct roost_port_config *pc = &config->ports[index];
	int ret;

	*s = (struct roost_station){
		.packet_socket.fd = -1,
		.mtu_bytes = pc->mtu_bytes,
	};
	roost_config_label(config, index, true, s->label);
	ret = roost_subport_open(&s->subport, config, index);
	if (ret)
		return ret;
	s->port = roost_subport_port(&s->subport);
	memcpy(s->mac, s->port->mac, sizeof(s->mac));
	roost_station_find_vlan(s, roost_now_ns());
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
	roost_nl_link_close(&s->vlan_nl_link);
	roost_subport_close(&s->subport);
	roost_subport_free(&s->subport);
	return ret;
}

/* ---- from start to close ------------------------------------------------ */

uint32_t roost_station_mtu(const struct roost_station *s)
{
	uint32_t mtu = s->port->ip_mtu_bytes;

	if (s->mtu_bytes)
		mtu = RTE_MIN(mtu, s->mtu_bytes);
	if (s->vlan_nl_link.state.there)
		mtu = RTE_MIN(mtu, s->vlan_nl_link.state.mtu_bytes);
	return mtu;
}

static void kick_progress(const struct roost_station *s)
{
	for (unsigned int i = 0; i < roost_dev_nb_workers(s->dev); i++)
		roost_progress_kick(s->progress[i]);
}

/* Kick the workers: QPs of a port that went down may have packets to send. */
void roost_station_tell_link(struct roost_station *s)
{
	s->told_mtu_bytes = roost_station_mtu(s);
	roost_port_set_link(s->dev, s->port_num, s->last_link.state,
			    s->told_mtu_bytes, s->last_link.speed_mbps);
	kick_progress(s);
}

void roost_station_watch_link(struct roost_station *s, uint64_t now_ns)
{
	const struct roost_ethport_link before = s->last_link;

	roost_subport_link(&s->subport, &s->last_link);
	/* Netlink reports changes of a kernel's interface. */
	s->watch_at_ns = s->port->kernel == ROOST_KERNEL_SHARES
				 ? UINT64_MAX
				 : now_ns + WATCH_NS;
	if (s->last_link.state != before.state ||
	    s->last_link.speed_mbps != before.speed_mbps)
		roost_station_tell_link(s);
	/* Wake threads in a long nap, so that they poll the port again. */
	if (s->last_link.carrier != before.carrier)
		kick_progress(s);
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

/* Only frames to us: a shared interface may receive frames between others. */
static void tell_v1(struct roost_station *s, const uint8_t *frame)
{
	const uint8_t *mac = frame + 6;

	if (s->told_v1 || memcmp(frame, s->mac, 6) != 0)
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

static void hear_by_packet_socket(void *ctx, uint8_t *frame, size_t len_bytes)
{
	hear_frame(ctx, frame, len_bytes, roost_now_ns());
}

static int open_packet_socket(struct roost_station *s)
{
	int ret;

	if (!s->port->driver->is_xdp)
		return 0;
	ret = roost_packet_socket_open(&s->packet_socket, s->port->ifindex,
				       hear_by_packet_socket, s);
	if (ret)
		roost_report("%s: cannot hear ARP on \"%s\": %s; run as root "
			     "or with CAP_NET_RAW",
			     s->label, s->port->iface, strerror(-ret));
	return ret;
}

int roost_station_start(struct roost_station *s, struct roost_dev *dev,
			uint8_t port_num,
			struct roost_progress *const *progress)
{
	struct roost_gid gids[ROOST_GID_TABLE_LEN];
	uint64_t now_ns = roost_now_ns();
	unsigned int nb;
	int ret;

	s->dev = dev;
	s->worker = roost_dev_worker(dev);
	s->port_num = port_num;
	s->progress = progress;
	ret = roost_subport_start(&s->subport, dev, progress);
	if (!ret)
		ret = open_packet_socket(s);
	if (ret)
		return ret;
	nb = roost_gid_table_fill(gids, s->mac, &s->addrs);
	for (unsigned int i = 0; i < nb; i++)
		roost_port_set_gid(dev, port_num, i, &gids[i]);
	roost_groups_start(&s->groups, now_ns);
	s->lonely_at_ns = now_ns + LONELY_NS;
	roost_station_watch_link(s, now_ns);
	return roost_station_twin_start(s);
}

static void hear_punt(struct roost_station *s, struct rte_mbuf *mbuf,
		      uint64_t now_ns)
{
	uint8_t *tagged = rte_pktmbuf_mtod(mbuf, uint8_t *);
	size_t len = rte_pktmbuf_data_len(mbuf);
	uint16_t vlan_id = roost_ether_vlan_id(tagged, len);
	uint8_t *frame = roost_ether_untag(tagged, len);

	len -= (size_t)(frame - tagged);
	if (vlan_id == s->subport.vlan_id)
		hear_frame(s, frame, len, now_ns);
	else
		roost_station_hear_stray(s, frame, len, vlan_id);
}

/* Bounded: a flood must not block the control thread. */
static void hear_punts(struct roost_station *s, uint64_t now_ns)
{
	struct rte_mbuf *mbuf = NULL;

	for (unsigned int i = 0; i < PUNTS_LEN; i++) {
		if (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) != 0)
			return;
		hear_punt(s, mbuf, now_ns);
		rte_pktmbuf_free(mbuf);
	}
}

uint64_t roost_station_run(struct roost_station *s, uint64_t now_ns)
{
	uint64_t retry_at_ns, report_at_ns, lonely_at_ns, next_ns;

	hear_punts(s, now_ns);
	roost_station_follow(s, now_ns);
	retry_at_ns = roost_ethport_reconnect(s->port, now_ns);
	/* If reading the link state is cheap, read it after every wake: the
	 * driver may have caused the wake.
	 */
	if (now_ns >= s->watch_at_ns || s->port->has_lsc ||
	    s->port->driver->is_memif)
		roost_station_watch_link(s, now_ns);
	if (s->subport.shared_port->has_link)
		roost_link_serve(&s->subport.shared_port->link);
	roost_claim_serve(&s->subport.claim);
	roost_claim_serve(&s->port->taps);
	next_ns = roost_host_tick(s->host, now_ns);
	report_at_ns = roost_membership_tick(s->groups.membership, now_ns);
	if (report_at_ns < next_ns)
		next_ns = report_at_ns;
	if (!rte_ring_empty(s->punts))
		next_ns = now_ns;
	if (retry_at_ns < next_ns)
		next_ns = retry_at_ns;
	if (s->find_vlan_at_ns < next_ns)
		next_ns = s->find_vlan_at_ns;
	lonely_at_ns = roost_station_tell_lonely(s, now_ns);
	if (lonely_at_ns < next_ns)
		next_ns = lonely_at_ns;
	return s->watch_at_ns < next_ns ? s->watch_at_ns : next_ns;
}

void roost_station_farewell(struct roost_station *s)
{
	roost_membership_farewell(s->groups.membership, roost_now_ns());
	/* The progress engine may stop without another iteration, even if a
	 * leave or a CM message is queued.
	 */
	roost_worker_turn_take(s->worker);
	roost_worker_iterate(s->worker, roost_now_ns());
	roost_worker_turn_release(s->worker);
}

void roost_station_hush(struct roost_station *s)
{
	roost_subport_stop(&s->subport);
	if (s->twin)
		roost_twin_stop(s->twin);
}

void roost_station_close(struct roost_station *s)
{
	roost_station_hush(s);
	roost_packet_socket_close(&s->packet_socket);
	roost_nl_link_close(&s->vlan_nl_link);
	roost_subport_close(&s->subport);
}

void roost_station_free(struct roost_station *s)
{
	struct rte_mbuf *mbuf = NULL;

	while (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	free(s->punts);
	roost_groups_destroy(&s->groups);
	roost_host_destroy(s->host);
	roost_station_twin_close(s);
	roost_subport_free(&s->subport);
}
