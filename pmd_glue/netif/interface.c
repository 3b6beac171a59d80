/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/interface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/core/workers.h"
#include "lib/config/resolve.h"
#include "lib/engine/sched/worker.h"
#include "lib/event/ring.h"
#include "lib/wire/frame.h"
#include "pmd_glue/cable/cable.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/progress/progress.h"
#include "pmd_glue/kernel/twin.h"
#include "pmd_glue/netif/twin_sort.h"

#define PUNTS_LEN 256u
#define WATCH_NS 250000000u
/* A link waits this long for a peer before the user is told. */
#define LONELY_NS 5000000000u
/* Opening a device waits for the link, because some programs give up without
 * one. A NIC brings its link up after open; a vhost peer tries to connect once
 * a second.
 */
#define NIC_LINK_WAIT_NS 5000000000u
#define VHOST_LINK_WAIT_NS 2000000000u

/* ---- the engine's frames ------------------------------------------------ */

/* Thread of the next three functions: the holder of the turn. */
static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_interface *s = ctx;

	return roost_subport_rx(&s->subport, queue, pkts, n);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_interface *s = ctx;

	return roost_subport_tx(&s->subport, queue, pkts, n);
}

static void punt_to_host(struct roost_interface *s, struct rte_mbuf *pkt)
{
	if (rte_ring_mp_enqueue(s->punts, pkt) != 0)
		rte_pktmbuf_free(pkt);
	else
		roost_control_wake();
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct roost_interface *s = ctx;
	struct rte_mbuf *copy;

	pkt = roost_ethport_keep(s->port, pkt);
	if (!pkt)
		return;
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
	struct roost_interface *s = ctx;

	roost_progress_kick(s->progress[worker]);
}

static void push(void *ctx, unsigned int worker)
{
	struct roost_interface *s = ctx;

	roost_progress_push(s->progress[worker]);
}

/* The VLAN tag of the host's frames has priority 0. */
static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct roost_interface *s = ctx;
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
	if (roost_worker_send_frame(s->worker, s->base.port_num, mbuf) == 0)
		roost_progress_kick(s->progress[0]);
}

static bool kernel_owns(void *ctx, const struct roost_gid *addr)
{
	const struct roost_interface *s = ctx;

	return roost_nl_link_has(&s->inet.nl_link->state, addr);
}

static int kernel_route(void *ctx, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route)
{
	const struct roost_interface *s = ctx;
	unsigned int ifindex;

	if (s->subport.vlan_id == 0)
		return roost_nl_link_route(s->inet.nl_link->state.ifindex, sgid,
					   dgid, route);
	ifindex = atomic_load(&s->vlan_ifindex);
	return ifindex ? roost_nl_link_route(ifindex, sgid, dgid, route)
		       : -EHOSTUNREACH;
}

static void wake(void *ctx __attribute__((unused)))
{
	roost_control_wake();
}

static int set_promiscuous(void *ctx, bool on)
{
	struct roost_interface *s = ctx;

	return roost_ethport_set_promiscuous(s->port, on);
}

static void *place_rule(void *ctx, const struct roost_flow_rule_init *rule)
{
	struct roost_interface *s = ctx;

	return roost_nic_rules_add(&s->port->nic_rules, rule);
}

static void displace_rule(void *ctx, void *placed)
{
	struct roost_interface *s = ctx;

	roost_nic_rules_del(&s->port->nic_rules, placed);
}

/* ---- open -------------------------------------------------------------- */

/* The groups of the kernel behind a twin are not known: receive all. */
static void set_groups(void *ctx, uint8_t (*macs)[6], unsigned int nb)
{
	struct roost_interface *s = ctx;

	roost_ethport_set_groups(s->port, macs, nb,
				 s->twin || nb > ROOST_GROUPS_MACS_MAX);
}

/* Addresses of the configuration, or of the link. */
static struct roost_prefixes configured_addrs(const struct roost_interface *s,
					      const struct roost_config *config,
					      unsigned int index)
{
	struct roost_prefixes addrs = config->ports[index].ips;

	if (addrs.nb == 0 && config->ports[index].link[0] != '\0')
		addrs.v[addrs.nb++] =
			roost_config_link_ip(config, index,
					     roost_cable_end(s->port->cable));
	return addrs;
}

/* The kernel's interface that has our addresses; opens the twin. */
static int find_nl_link(struct roost_interface *s,
			const struct roost_port_config *pc,
			const struct roost_prefixes *addrs,
			const struct roost_nl_link **nl_link)
{
	*nl_link = NULL;
	if (s->port->kernel == ROOST_KERNEL_SHARES)
		*nl_link = s->subport.vlan_id != 0 ? &s->vlan_nl_link
						   : &s->port->nl_link;
	return roost_interface_twin_open(s, pc, addrs, nl_link);
}

static int make_inet(struct roost_interface *s,
		     const struct roost_prefixes *addrs,
		     const struct roost_gateways *gw,
		     const struct roost_nl_link *nl_link)
{
	struct roost_inet_conf conf = {
		.host = {
			.routes = { .on_link = *addrs, .gw = *gw },
			.send = send_frame,
			.wake = wake,
			.kernel_owns = nl_link ? kernel_owns : NULL,
			.kernel_route = nl_link ? kernel_route : NULL,
			/* Without addresses, and with a twin, they are the
			 * kernel's.
			 */
			.addrs_are_kernels =
				s->twin || (nl_link && addrs->nb == 0),
			.conflict = roost_interface_report_conflict,
			.crowded = roost_interface_report_crowd,
			.unreached = roost_interface_report_unreached,
			.ctx = s,
		},
		.label = s->base.label,
		.ip_mtu_bytes = &s->port->ip_mtu_bytes,
		.nl_link = nl_link,
		.set_filter = set_groups,
	};

	memcpy(conf.host.mac, s->port->mac, sizeof(conf.host.mac));
	if (conf.host.addrs_are_kernels)
		roost_interface_skip_changes(s);
	return roost_inet_create(&s->inet, &conf);
}

static void fill_base(struct roost_interface *s)
{
	struct roost_backend_port *base = &s->base;

	base->frame_io = (struct roost_frame_io){
		.ctx = s,
		.nb_queues = s->port->nb_worker_queues,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.promiscuous = set_promiscuous,
		.place_rule = place_rule,
		.displace_rule = displace_rule,
		.kick = kick,
		.push = push,
	};
	base->addr_io = roost_host_addr_io(s->inet.host);
	base->pool = s->port->pool;
	memcpy(base->first_mac, s->inet.mac, sizeof(base->first_mac));
	base->vlan_id = s->subport.vlan_id;
	base->punts_vlans = s->twin != NULL;
	base->link_wait_ns = s->port->driver->is_vhost ? VHOST_LINK_WAIT_NS
			     : s->port->pci.name[0]    ? NIC_LINK_WAIT_NS
						       : 0;
}

int roost_interface_open(struct roost_interface *s,
			 const struct roost_config *config, unsigned int index)
{
	const struct roost_port_config *pc = &config->ports[index];
	const struct roost_nl_link *nl_link;
	struct roost_prefixes addrs;
	int ret;

	s->packet_socket.fd = -1;
	s->mtu_bytes = pc->mtu_bytes;
	roost_config_label(config, index, true, s->base.label);
	ret = roost_subport_open(&s->subport, config, index);
	if (ret)
		return ret;
	s->port = roost_subport_port(&s->subport);
	roost_interface_find_vlan(s, roost_now_ns());
	addrs = configured_addrs(s, config, index);
	ret = find_nl_link(s, pc, &addrs, &nl_link);
	if (ret)
		goto close;
	ret = roost_ring_create("roost_punts", sizeof(void *), PUNTS_LEN,
				RING_F_SC_DEQ, &s->punts);
	if (!ret)
		ret = make_inet(s, &addrs, &pc->gw, nl_link);
	if (!ret) {
		fill_base(s);
		return 0;
	}
	roost_report("%s: no memory", s->base.label);
	free(s->punts);
	roost_interface_twin_close(s);
close:
	roost_nl_link_close(&s->vlan_nl_link);
	roost_subport_close(&s->subport);
	roost_subport_free(&s->subport);
	return ret;
}

/* ---- from start to close ------------------------------------------------ */

uint32_t roost_interface_mtu(const struct roost_interface *s)
{
	uint32_t mtu = s->port->ip_mtu_bytes;

	if (s->mtu_bytes)
		mtu = RTE_MIN(mtu, s->mtu_bytes);
	if (s->vlan_nl_link.state.there)
		mtu = RTE_MIN(mtu, s->vlan_nl_link.state.mtu_bytes);
	return mtu;
}

static void kick_progress(const struct roost_interface *s)
{
	for (unsigned int i = 0; i < roost_dev_nb_workers(s->base.dev); i++)
		roost_progress_kick(s->progress[i]);
}

/* Kick the workers: QPs of a port that went down may have packets to send. */
void roost_interface_set_link(struct roost_interface *s)
{
	s->set_mtu_bytes = roost_interface_mtu(s);
	roost_port_set_link(s->base.dev, s->base.port_num, s->last_link.state,
			    s->set_mtu_bytes, s->last_link.speed_mbps);
	kick_progress(s);
}

void roost_interface_watch_link(struct roost_interface *s, uint64_t now_ns)
{
	const struct roost_ethport_link before = s->last_link;

	roost_subport_link(&s->subport, &s->last_link);
	/* Netlink reports changes of a kernel's interface. */
	s->watch_at_ns = s->port->kernel == ROOST_KERNEL_SHARES
				 ? UINT64_MAX
				 : now_ns + WATCH_NS;
	if (s->last_link.state != before.state ||
	    s->last_link.speed_mbps != before.speed_mbps)
		roost_interface_set_link(s);
	/* Wake threads in a long nap, so that they poll the port again. */
	if (s->last_link.carrier != before.carrier)
		kick_progress(s);
	if (s->twin && s->last_link.carrier != before.carrier)
		roost_twin_set_carrier(s->twin, s->last_link.carrier);
	if (s->last_link.carrier && !before.carrier) {
		roost_inet_link_up(&s->inet, now_ns);
		roost_port_carrier_up(s->base.dev);
	}
}

static bool is_v1(const uint8_t *frame, size_t len_bytes)
{
	uint16_t type;

	if (len_bytes < ROOST_ETH_LEN + ROOST_VLAN_LEN)
		return false;
	type = roost_ether_type(frame);
	if (type == RTE_ETHER_TYPE_VLAN)
		type = roost_ether_type(frame + ROOST_VLAN_LEN);
	return type == ROOST_ETHERTYPE_ROCE_V1;
}

static void receive_frame(struct roost_interface *s, uint8_t *frame,
			  size_t len_bytes, uint64_t now_ns)
{
	if (is_v1(frame, len_bytes))
		roost_interface_report_v1(s, frame);
	else
		roost_inet_input(&s->inet, frame, len_bytes, now_ns);
}

static void receive_by_packet_socket(void *ctx, uint8_t *frame,
				     size_t len_bytes)
{
	receive_frame(ctx, frame, len_bytes, roost_now_ns());
}

static int open_packet_socket(struct roost_interface *s)
{
	int ret;

	if (!s->port->driver->is_xdp)
		return 0;
	ret = roost_packet_socket_open(&s->packet_socket, s->port->ifindex,
				       receive_by_packet_socket, s);
	if (ret)
		roost_report("%s: cannot hear ARP on \"%s\": %s; run as root "
			     "or with CAP_NET_RAW",
			     s->base.label, s->port->iface, strerror(-ret));
	return ret;
}

int roost_interface_start(struct roost_interface *s, struct roost_dev *dev,
			  uint8_t port_num,
			  struct roost_progress *const *progress)
{
	uint64_t now_ns = roost_now_ns();
	int ret;

	s->base.dev = dev;
	s->worker = roost_dev_worker(dev);
	s->base.port_num = port_num;
	s->progress = progress;
	ret = roost_subport_start(&s->subport, dev, progress);
	if (!ret)
		ret = open_packet_socket(s);
	if (ret)
		return ret;
	roost_inet_start(&s->inet, dev, port_num, now_ns);
	s->lonely_at_ns = now_ns + LONELY_NS;
	roost_interface_watch_link(s, now_ns);
	return roost_interface_twin_start(s);
}

static void receive_punt(struct roost_interface *s, struct rte_mbuf *mbuf,
			 uint64_t now_ns)
{
	uint8_t *tagged = rte_pktmbuf_mtod(mbuf, uint8_t *);
	size_t len = rte_pktmbuf_data_len(mbuf);
	uint16_t vlan_id = roost_ether_vlan_id(tagged, len);
	uint8_t *frame = roost_ether_untag(tagged, len);

	len -= (size_t)(frame - tagged);
	if (vlan_id == s->subport.vlan_id)
		receive_frame(s, frame, len, now_ns);
	else
		roost_interface_receive_stray(s, frame, len, vlan_id);
}

/* Bounded: a flood must not block the control thread. */
static void receive_punts(struct roost_interface *s, uint64_t now_ns)
{
	struct rte_mbuf *mbuf = NULL;

	for (unsigned int i = 0; i < PUNTS_LEN; i++) {
		if (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) != 0)
			return;
		receive_punt(s, mbuf, now_ns);
		rte_pktmbuf_free(mbuf);
	}
}

uint64_t roost_interface_run(struct roost_interface *s, uint64_t now_ns)
{
	uint64_t retry_at_ns, lonely_at_ns, next_ns;

	receive_punts(s, now_ns);
	roost_interface_follow(s, now_ns);
	retry_at_ns = roost_ethport_reconnect(s->port, now_ns);
	/* If reading the link state is cheap, read it after every wake: the
	 * driver may have caused the wake.
	 */
	if (now_ns >= s->watch_at_ns || s->port->has_lsc ||
	    s->port->driver->is_memif)
		roost_interface_watch_link(s, now_ns);
	roost_claim_serve(&s->subport.claim);
	roost_claim_serve(&s->port->taps);
	next_ns = roost_inet_tick(&s->inet, now_ns);
	if (!roost_ring_is_empty(s->punts))
		next_ns = now_ns;
	if (retry_at_ns < next_ns)
		next_ns = retry_at_ns;
	if (s->find_vlan_at_ns < next_ns)
		next_ns = s->find_vlan_at_ns;
	lonely_at_ns = roost_interface_report_lonely(s, now_ns);
	if (lonely_at_ns < next_ns)
		next_ns = lonely_at_ns;
	return s->watch_at_ns < next_ns ? s->watch_at_ns : next_ns;
}

void roost_interface_leave(struct roost_interface *s)
{
	roost_inet_leave(&s->inet, roost_now_ns());
	/* The progress engine may stop without another iteration, even if a
	 * leave, an answer or a CM message is queued; settling gives up where
	 * a thread without a processor has the turn.
	 */
	roost_worker_turn_take(s->worker);
	roost_worker_iterate(s->worker, roost_now_ns());
	roost_worker_turn_release(s->worker);
}

void roost_interface_quiesce(struct roost_interface *s)
{
	roost_subport_stop(&s->subport);
	if (s->twin)
		roost_twin_stop(s->twin);
}

void roost_interface_close(struct roost_interface *s)
{
	roost_interface_quiesce(s);
	roost_packet_socket_close(&s->packet_socket);
	roost_nl_link_close(&s->vlan_nl_link);
	roost_subport_close(&s->subport);
}

void roost_interface_free(struct roost_interface *s)
{
	struct rte_mbuf *mbuf = NULL;

	while (rte_ring_sc_dequeue(s->punts, (void **)&mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	free(s->punts);
	roost_inet_destroy(&s->inet);
	roost_interface_twin_close(s);
	roost_subport_free(&s->subport);
}
