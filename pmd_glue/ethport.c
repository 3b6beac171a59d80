/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* rx and tx are hot: no allocation, system call, log or lock of our own. */

#include "pmd_glue/ethport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#include "lib/engine/worker.h"
#include "lib/wire/frame.h"
#include "pmd_glue/control.h"
#include "pmd_glue/eal.h"
#include "pmd_glue/kif.h"
#include "pmd_glue/report.h"

#define RX_DESCS 1024u
#define TX_DESCS 1024u
/* Both rings full, what the engine queues, and the caches of the worker. */
#define POOL_MBUFS 4095u
#define POOL_CACHE 256u
/* What we need of an mbuf ourselves, and the most it can have. */
#define ROOM_MIN_BYTES (4096u + ROOST_FRAME_OVERHEAD_MAX)
#define ROOM_MAX_BYTES ((uint32_t)UINT16_MAX - RTE_PKTMBUF_HEADROOM)

/* A client asks for its server at these distances. */
#define RETRY_MIN_NS 2000000u
#define RETRY_MAX_NS 50000000u

#define REPORT(port, format, ...)                                              \
	roost_report("%s: " format, (port)->conf.label, ##__VA_ARGS__)

/* ---- bursts ------------------------------------------------------------ */

/* The engine reads frames that lie in one piece. */
static uint16_t keep_whole(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (pkts[i]->nb_segs > 1 &&
		    rte_pktmbuf_linearize(pkts[i]) != 0)
			rte_pktmbuf_free(pkts[i]);
		else
			pkts[kept++] = pkts[i];
	}
	return kept;
}

uint16_t roost_ethport_rx(struct roost_ethport *port, struct rte_mbuf **pkts,
			  uint16_t n)
{
	if (!port->started)
		return 0;
	n = rte_eth_rx_burst(port->id, 0, pkts, n);
	for (uint16_t i = 0; i < n; i++)
		if (pkts[i]->nb_segs > 1)
			return keep_whole(pkts, n);
	return n;
}

/* Is there somebody to take what the port did not? */
static bool may_take_later(struct roost_ethport *port)
{
	struct rte_eth_link link;

	/* memif's state is in memory; that of others may be far. */
	if (port->driver->gated)
		return rte_eth_link_get_nowait(port->id, &link) == 0 &&
		       link.link_status == RTE_ETH_LINK_UP;
	return atomic_load_explicit(&port->carrier, memory_order_relaxed);
}

uint16_t roost_ethport_tx(struct roost_ethport *port, struct rte_mbuf **pkts,
			  uint16_t n)
{
	uint16_t sent = 0;

	if (port->started)
		sent = rte_eth_tx_burst(port->id, 0, pkts, n);
	if (sent < n && (!port->started || !may_take_later(port))) {
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
		sent = n;
	}
	return sent;
}

/* ---- RX interrupts ----------------------------------------------------- */

int roost_ethport_arm(void *ctx)
{
	struct roost_ethport *port = ctx;
	int ret;

	if (port->epoll_fd < 0 || !port->started)
		return -ENOTSUP;
	/* Some need no arming: their descriptor is the queue itself. */
	ret = rte_eth_dev_rx_intr_enable(port->id, 0);
	return ret && ret != -ENOTSUP ? ret : port->epoll_fd;
}

void roost_ethport_disarm(void *ctx)
{
	struct roost_ethport *port = ctx;
	struct rte_epoll_event event;

	rte_eth_dev_rx_intr_disable(port->id, 0);
	rte_epoll_wait(port->epoll_fd, &event, 1, 0); /* takes its tokens */
}

static void set_up_interrupts(struct roost_ethport *port)
{
	port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (port->epoll_fd < 0)
		return;
	if (rte_eth_dev_rx_intr_ctl_q(port->id, 0, port->epoll_fd,
				      RTE_INTR_EVENT_ADD, NULL) != 0) {
		close(port->epoll_fd);
		port->epoll_fd = -1;
	}
}

/* ---- open -------------------------------------------------------------- */

static int check_kernel_interface(struct roost_ethport *port)
{
	struct roost_kif kif;
	int ret;

	if (port->kernel != ROOST_KERNEL_SHARES)
		return 0;
	ret = roost_kif_read(port->iface, &kif);
	if (ret == -ENODEV)
		REPORT(port, "no interface \"%s\" in this network namespace; "
		       "see \"ip link\"", port->iface);
	else if (ret)
		REPORT(port, "interface \"%s\": %s", port->iface,
		       strerror(-ret));
	if (ret)
		return ret;
	ret = roost_kif_join_all_groups(port->iface);
	if (ret == -EPERM) {
		REPORT(port, "no permission for packets of interface \"%s\"; "
		       "run as root or with CAP_NET_RAW and CAP_NET_ADMIN",
		       port->iface);
		return ret;
	}
	port->groups_fd = ret < 0 ? -1 : ret;
	return 0;
}

static int check_devargs(struct roost_ethport *port)
{
	char unknown[ROOST_DEVARG_KEY_MAX], nearest[ROOST_DEVARG_KEY_MAX];
	const struct roost_driver *d = port->driver;
	char value[ROOST_DEVARGS_MAX];

	if (roost_driver_check_keys(port->conf.devargs, unknown, nearest)) {
		REPORT(port, "driver %s has no argument \"%s\"; did you mean "
		       "\"%s\"?", d->prefix, unknown, nearest);
		return -ENODEV;
	}
	if (d->required && roost_devargs_value(port->conf.devargs, d->required,
					       value, sizeof(value))) {
		REPORT(port, "driver %s needs an argument \"%s\"; append "
		       "\",%s=...\"", d->prefix, d->required, d->required);
		return -ENODEV;
	}
	return 0;
}

static int complete_devargs(struct roost_ethport *port)
{
	const char *devargs = port->conf.devargs;
	char role[16];
	int ret;

	port->driver = roost_driver_find(devargs);
	ret = check_devargs(port);
	if (ret)
		return ret;
	if (roost_driver_devargs(devargs, port->devargs,
				 sizeof(port->devargs))) {
		REPORT(port, "devargs are too long; shorten them");
		return -ENODEV;
	}
	port->kernel = roost_driver_kernel(port->devargs, port->iface,
					   sizeof(port->iface));
	/* memif is a client unless it is told otherwise. */
	port->is_memif_client =
		port->driver->gated &&
		(roost_devargs_value(port->devargs, "role", role,
				     sizeof(role)) != 0 ||
		 (!strstr(role, "server") && !strstr(role, "master")));
	return 0;
}

static void enter(struct roost_ethport *port)
{
	if (port->driver->gated)
		roost_intr_gate_enter(&port->gate);
}

static void leave(struct roost_ethport *port)
{
	if (port->driver->gated)
		roost_intr_gate_leave();
}

static int open_gate(struct roost_ethport *port)
{
	char key[sizeof(port->gate.key)] = "";

	if (!port->driver->gated)
		return 0;
	if (!roost_intr_gate_stands()) {
		REPORT(port, "%s is not safe when librte_eal is linked before "
		       "libroost; link the program with -lroost first",
		       port->driver->prefix);
		return -ENODEV;
	}
	roost_devargs_value(port->devargs, "socket", key, sizeof(key));
	roost_intr_owner_open(&port->gate, key);
	return 0;
}

static void report_probe(struct roost_ethport *port, int error)
{
	const char *cause = roost_eal_log_first();

	REPORT(port, "DPDK cannot open it: %s; check the devargs, \"-v\" shows "
	       "DPDK's log", *cause ? cause : strerror(error));
}

static int plug_in(struct roost_ethport *port)
{
	char name[RTE_DEV_NAME_MAX_LEN];
	int ret;

	roost_devargs_name(port->devargs, name, sizeof(name));
	port->was_there = rte_eth_dev_get_port_by_name(name, &port->id) == 0;
	if (port->was_there)
		return 0;
	roost_eal_log_clear();
	enter(port);
	ret = rte_dev_probe(port->devargs);
	leave(port);
	if (ret == 0)
		ret = rte_eth_dev_get_port_by_name(name, &port->id);
	if (ret == 0)
		return 0;
	report_probe(port, -ret);
	return ret == -ENOMEM || ret == -EPERM || ret == -EACCES ? ret :
								   -ENODEV;
}

static void plug_out(struct roost_ethport *port)
{
	struct rte_eth_dev_info info;
	bool known = rte_eth_dev_info_get(port->id, &info) == 0;

	if (port->was_there)
		return;
	enter(port);
	rte_eth_dev_close(port->id);
	if (known)
		rte_dev_remove(info.device);
	leave(port);
}

/* So that a program that uses DPDK itself passes over our ports. */
static int take_ownership(struct roost_ethport *port)
{
	struct rte_eth_dev_owner owner = { .name = "roost" };

	if (rte_eth_dev_owner_new(&owner.id) ||
	    rte_eth_dev_owner_set(port->id, &owner)) {
		REPORT(port, "the program itself uses this port; name another");
		return -EBUSY;
	}
	port->owner_id = owner.id;
	return 0;
}

static int make_pool(struct roost_ethport *port)
{
	uint32_t room = ROOM_MIN_BYTES;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (port->conf.mtu_bytes + ROOST_ETH_LEN + ROOST_VLAN_LEN > room)
		room = port->conf.mtu_bytes + ROOST_ETH_LEN + ROOST_VLAN_LEN;
	if (port->driver->rx_room_bytes &&
	    port->driver->rx_room_bytes(port->devargs) > room)
		room = port->driver->rx_room_bytes(port->devargs);
	room = RTE_ALIGN_CEIL(room, 64u);
	if (room > ROOM_MAX_BYTES)
		room = ROOM_MAX_BYTES;
	snprintf(name, sizeof(name), "roost_port%u", port->id);
	port->pool = rte_pktmbuf_pool_create(
		name, POOL_MBUFS, POOL_CACHE, 0,
		(uint16_t)(room + RTE_PKTMBUF_HEADROOM),
		rte_eth_dev_socket_id(port->id));
	if (port->pool)
		return 0;
	REPORT(port, "no memory for %u packets: %s; free some, or give more "
	       "huge pages", POOL_MBUFS, rte_strerror(rte_errno));
	return -ENOMEM;
}

static int lsc_callback(uint16_t id __rte_unused,
			enum rte_eth_event_type type __rte_unused,
			void *arg __rte_unused, void *ret __rte_unused)
{
	roost_control_wake();
	return 0;
}

static int configure_with(struct roost_ethport *port, bool rx_interrupts)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t rx_descs = RX_DESCS, tx_descs = TX_DESCS;
	int ret;

	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret)
		return ret;
	port->has_lsc = *info.dev_flags & RTE_ETH_DEV_INTR_LSC;
	conf.intr_conf.lsc = port->has_lsc;
	conf.intr_conf.rxq = rx_interrupts;
	ret = rte_eth_dev_configure(port->id, 1, 1, &conf);
	if (ret)
		return ret;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_descs, &tx_descs);
	if (ret)
		return ret;
	ret = rte_eth_rx_queue_setup(port->id, 0, rx_descs,
				     (unsigned int)rte_eth_dev_socket_id(
					     port->id), NULL, port->pool);
	if (ret)
		return ret;
	return rte_eth_tx_queue_setup(port->id, 0, tx_descs,
				      (unsigned int)rte_eth_dev_socket_id(
					      port->id), NULL);
}

static int configure(struct roost_ethport *port)
{
	int ret = -ENOTSUP;

	roost_eal_log_clear();
	if (!port->driver->gated)
		ret = configure_with(port, true);
	if (ret)
		ret = configure_with(port, false);
	if (ret) {
		REPORT(port, "DPDK cannot configure it: %s",
		       *roost_eal_log_first() ? roost_eal_log_first() :
					       strerror(-ret));
		return ret;
	}
	if (port->has_lsc)
		rte_eth_dev_callback_register(port->id, RTE_ETH_EVENT_INTR_LSC,
					      lsc_callback, NULL);
	return 0;
}

/* ---- MTU --------------------------------------------------------------- */

/* Make the interface's MTU at least what was asked; *mtu is what it has. */
static int kernel_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	struct roost_kif kif;
	int ret;

	ret = roost_kif_read(port->iface, &kif);
	if (ret)
		return ret;
	*mtu = kif.mtu_bytes;
	if (port->conf.mtu_bytes <= kif.mtu_bytes)
		return 0;
	ret = roost_kif_set_mtu(port->iface, port->conf.mtu_bytes);
	if (ret == 0)
		*mtu = port->conf.mtu_bytes;
	return ret;
}

static int device_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	uint16_t has;
	int ret;

	if (port->conf.mtu_bytes) {
		ret = rte_eth_dev_set_mtu(port->id,
					  (uint16_t)port->conf.mtu_bytes);
		*mtu = port->conf.mtu_bytes;
	} else {
		ret = rte_eth_dev_get_mtu(port->id, &has);
		*mtu = has;
	}
	return ret;
}

/* Where the driver's buffers say it, ethdev's MTU is a formality. */
static int find_mtu(struct roost_ethport *port, uint32_t *mtu)
{
	uint32_t most = UINT32_MAX;
	int ret = 0;

	if (port->driver->ip_mtu_bytes)
		most = port->driver->ip_mtu_bytes(port->devargs);
	if (port->conf.mtu_bytes > most) {
		REPORT(port, "its buffers hold an MTU of %u, not of %u; give a "
		       "smaller mtu, or devargs with larger buffers", most,
		       port->conf.mtu_bytes);
		return -EINVAL;
	}
	if (port->iface[0])
		ret = kernel_mtu(port, mtu);
	else if (most != UINT32_MAX)
		*mtu = most;
	else
		ret = device_mtu(port, mtu);
	if (ret) {
		REPORT(port, "it cannot have an MTU of %u: %s; give a smaller "
		       "mtu, or none", port->conf.mtu_bytes, strerror(-ret));
		return -EINVAL;
	}
	*mtu = RTE_MIN(*mtu, most);
	return 0;
}

static int set_mtu(struct roost_ethport *port)
{
	uint32_t mtu = 0;
	int ret = find_mtu(port, &mtu);

	port->ip_mtu_bytes = port->conf.mtu_bytes ? port->conf.mtu_bytes : mtu;
	return ret;
}

/* A port whose other end is a kernel has that kernel's MAC; as a neighbour of
 * it we need our own.
 */
static int find_mac(struct roost_ethport *port)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port->id, &mac);

	if (ret) {
		REPORT(port, "it has no MAC address: %s", strerror(-ret));
		return ret;
	}
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	if (port->kernel == ROOST_KERNEL_PEER) {
		port->mac[0] |= 0x02; /* locally administered */
		port->mac[5] ^= 0x01;
	}
	return 0;
}

int roost_ethport_open(struct roost_ethport *port,
		       const struct roost_ethport_conf *conf)
{
	int ret;

	*port = (struct roost_ethport){
		.conf = *conf,
		.epoll_fd = -1,
		.groups_fd = -1,
		.retry_after_ns = RETRY_MIN_NS,
	};
	ret = complete_devargs(port);
	if (ret)
		return ret;
	ret = check_kernel_interface(port);
	if (ret)
		return ret;
	ret = open_gate(port);
	if (ret)
		goto leave_groups;
	ret = plug_in(port);
	if (ret)
		goto close_gate;
	ret = take_ownership(port);
	if (ret)
		goto unplug;
	ret = make_pool(port);
	if (ret)
		goto disown;
	ret = configure(port);
	if (ret)
		goto free_pool;
	ret = set_mtu(port);
	if (!ret)
		ret = find_mac(port);
	if (!ret)
		return 0;
free_pool:
	rte_mempool_free(port->pool);
disown:
	rte_eth_dev_owner_unset(port->id, port->owner_id);
unplug:
	plug_out(port);
close_gate:
	if (port->driver->gated)
		roost_intr_owner_close(&port->gate);
leave_groups:
	if (port->groups_fd >= 0)
		close(port->groups_fd);
	return ret;
}

/* ---- start, watch, close ------------------------------------------------ */

static int start(struct roost_ethport *port)
{
	int ret;

	enter(port);
	ret = rte_eth_dev_start(port->id);
	leave(port);
	port->started = ret == 0;
	return ret;
}

int roost_ethport_start(struct roost_ethport *port, uint64_t now_ns)
{
	int ret;

	roost_eal_log_clear();
	roost_eal_log_mute(port->is_memif_client);
	ret = start(port);
	roost_eal_log_mute(false);
	if (ret && port->is_memif_client) {
		port->retry_at_ns = now_ns + port->retry_after_ns;
		return 0;
	}
	if (ret) {
		REPORT(port, "DPDK cannot start it: %s",
		       *roost_eal_log_first() ? roost_eal_log_first() :
					       strerror(-ret));
		return ret;
	}
	/* Neighbour Discovery. Drivers that cannot do not filter. */
	if (port->kernel == ROOST_KERNEL_NONE)
		rte_eth_allmulticast_enable(port->id);
	set_up_interrupts(port);
	return 0;
}

void roost_ethport_close(struct roost_ethport *port)
{
	port->gate.worker = NULL;
	if (port->has_lsc)
		rte_eth_dev_callback_unregister(port->id,
						RTE_ETH_EVENT_INTR_LSC,
						lsc_callback, NULL);
	if (port->epoll_fd >= 0) {
		rte_eth_dev_rx_intr_ctl_q(port->id, 0, port->epoll_fd,
					  RTE_INTR_EVENT_DEL, NULL);
		close(port->epoll_fd);
	}
	enter(port);
	rte_eth_dev_stop(port->id);
	leave(port);
	port->started = false;
	rte_eth_dev_owner_unset(port->id, port->owner_id);
	plug_out(port);
	if (port->driver->gated)
		roost_intr_owner_close(&port->gate);
	if (port->groups_fd >= 0)
		close(port->groups_fd);
}

void roost_ethport_free_pool(struct roost_ethport *port)
{
	rte_mempool_free(port->pool);
}

void roost_ethport_link(struct roost_ethport *port,
			struct roost_ethport_link *link)
{
	struct rte_eth_link eth = { 0 };
	struct roost_kif kif;

	rte_eth_link_get_nowait(port->id, &eth);
	link->carrier = port->started && eth.link_status == RTE_ETH_LINK_UP;
	if (port->kernel == ROOST_KERNEL_SHARES)
		link->carrier = link->carrier &&
				roost_kif_read(port->iface, &kif) == 0 &&
				kif.running;
	link->state = link->carrier || port->conf.is_link ? ROOST_PORT_ACTIVE :
							    ROOST_PORT_DOWN;
	link->speed_mbps = eth.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ?
				   0 :
				   eth.link_speed;
	atomic_store_explicit(&port->carrier, link->carrier,
			      memory_order_relaxed);
}

uint64_t roost_ethport_reconnect(struct roost_ethport *port, uint64_t now_ns)
{
	if (!port->is_memif_client)
		return UINT64_MAX;
	if (roost_intr_owner_is_busy(&port->gate)) {
		/* It has a control socket; that alone is no success yet. */
		if (atomic_load_explicit(&port->carrier,
					 memory_order_relaxed)) {
			port->retry_after_ns = RETRY_MIN_NS;
			port->retry_at_ns = 0;
		}
		return UINT64_MAX;
	}
	if (now_ns < port->retry_at_ns)
		return port->retry_at_ns;
	roost_eal_log_mute(true);
	if (port->gate.worker)
		roost_worker_turn_take(port->gate.worker);
	if (port->started) {
		port->started = false;
		enter(port);
		rte_eth_dev_stop(port->id);
		leave(port);
	}
	start(port);
	if (port->gate.worker)
		roost_worker_turn_release(port->gate.worker);
	roost_eal_log_mute(false);
	port->retry_after_ns = RTE_MIN(port->retry_after_ns * 2,
				       (uint64_t)RETRY_MAX_NS);
	port->retry_at_ns = now_ns + port->retry_after_ns;
	return port->retry_at_ns;
}
