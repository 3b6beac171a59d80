/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/port.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/uplink.h"

#define HUB_IP_MTU_BYTES 4200u
/* Numbers of a client that went rest as long as a connection may be in
 * timewait; old clients have so long to come back.
 */
#define QUARANTINE_NS 10000000000u
#define SILENT_MIN 16u
#define ATTACHED_MIN 8u
/* Descriptors of an attached client are five; the daemon has its own, too. */
#define DESCRIPTORS_EACH 8u
/* At the end, to tell peers. */
#define LAST_ROUNDS 1024u

/* The addresses of a hub; the MAC is random, as that of a bridge. */
static void make_facts(struct roostd_port *port)
{
	const uint8_t ip[4] = { 198, 18, 0, 1 };
	const struct roost_prefixes addrs = {
		.nb = 1,
		.v[0] = { .gid = roost_gid_from_v4(ip), .len_bits = 24 },
	};
	const uint8_t *mac = port->state.state->mac;

	memcpy(port->facts.mac, mac, sizeof(port->facts.mac));
	port->facts.is_active = 1;
	port->facts.ip_mtu_bytes = HUB_IP_MTU_BYTES;
	port->facts.pkeys[0] = 0xffff;
	roost_gid_table_fill(port->facts.gids, mac, &addrs);
	port->facts.gid_len_bits[0] = 64;
	port->facts.gid_len_bits[1] = addrs.v[0].len_bits;
	port->shape = (struct roost_sw_port){
		.max_frame_bytes = ROOST_ETH_LEN + HUB_IP_MTU_BYTES,
		.nb_pkeys = 1,
		.pkeys[0] = 0xffff,
	};
	memcpy(port->shape.mac, mac, sizeof(port->shape.mac));
	/* The EUI-64 of the MAC, as in the link-local address. */
	port->shape.ca_guid = roost_be64_get(&port->facts.gids[0].b[8]);
}

static int make_lease(struct roostd_port *port)
{
	struct roost_lease_conf conf = {
		.quarantine_ns = QUARANTINE_NS,
		.grace_ns = port->service->grace_ns,
	};
	int ret = getrandom(&conf.random, sizeof(conf.random), 0) ==
				  sizeof(conf.random)
			  ? 0
			  : -EIO;

	if (!ret)
		ret = roost_lease_create(&conf, &port->state.state->lease,
					 port->now_ns, &port->lease);
	for (unsigned int i = 0; !ret && i < ROOST_GID_TABLE_LEN; i++)
		ret = roostd_port_add_addr(port, &port->facts.gids[i]);
	return ret;
}

static int make_page(struct roostd_port *port)
{
	int ret = roost_share_page_make(&port->page, &port->page_fd);

	if (ret)
		return ret;
	roost_lease_show(port->lease, port->page->lessees);
	port->facts.is_recovering = port->lease->nb_away > 0;
	roost_share_page_write(port->page, &port->facts);
	roostd_neighs_init(port);
	return 0;
}

static uint32_t within(rlim_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

/* A quarter of the descriptors is for sessions that have not attached. */
static void share_descriptors(struct roostd_port *port)
{
	struct rlimit limit = { .rlim_cur = 0 };
	rlim_t quarter;

	getrlimit(RLIMIT_NOFILE, &limit);
	quarter = limit.rlim_cur / 4;
	port->max_silent = within(quarter, SILENT_MIN, ROOSTD_SESSIONS_MAX / 2);
	port->max_attached = within(3 * quarter / DESCRIPTORS_EACH,
				    ATTACHED_MIN, ROOSTD_SESSIONS_MAX);
}

void roostd_port_init(struct roostd_port *port)
{
	roostd_lane_init(port);
	port->page_fd = -1;
	port->state.fd = -1;
	port->spare_fd = fcntl(port->epoll_fd, F_DUPFD_CLOEXEC, 0);
	share_descriptors(port);
	LIST_INIT(&port->clients);
	TAILQ_INIT(&port->paused);
	LIST_INIT(&port->gone);
}

int roostd_port_make(struct roostd_port *port, const char *state_path)
{
	int ret = port->state.state
			  ? 0
			  : roostd_state_open(&port->state, state_path,
					      port->label);

	if (!ret)
		ret = make_lease(port);
	if (!ret)
		ret = make_page(port);
	if (!ret)
		ret = roost_switch_create(&port->shape, port->lease,
					  &roostd_port_switch_ops,
					  &port->lanes[0], port->now_ns,
					  &port->sw);
	port->lanes[0].sw = port->sw;
	return ret;
}

int roostd_hub_open(struct roostd_port *port, int listener, int epoll_fd,
		    const char *state_path, uint64_t now_ns)
{
	static struct roostd_service service;
	int ret;

	roostd_service_init(&service);
	*port = (struct roostd_port){
		.label = "hub",
		.first = port,
		.nb_ports = 1,
		.listener = listener,
		.epoll_fd = epoll_fd,
		.now_ns = now_ns,
		.service = &service,
		.is_hub = true,
		.uid = getuid(),
	};
	roostd_port_init(port);
	ret = roostd_state_open(&port->state, state_path, port->label);
	if (!ret) {
		make_facts(port);
		ret = roostd_port_make(port, state_path);
	}
	if (!ret)
		return 0;
	roost_report("%s: cannot be made: %s; see the limits of the process",
		     port->label, strerror(-ret));
	roostd_port_close(port);
	return ret;
}

/* A round of all lanes, whose threads have ended. */
static unsigned int poll_all(struct roostd_port *port)
{
	unsigned int moved = roostd_port_poll(port, port->now_ns);

	for (uint32_t i = 1; i < port->nb_lanes; i++)
		if (port->lanes[i].sw)
			moved +=
				roostd_lane_poll(&port->lanes[i], port->now_ns);
	return moved;
}

/* Peers of clients that cannot come back are told. */
static void tell_last(struct roostd_port *port)
{
	unsigned int left = LAST_ROUNDS;

	while (port->sw && port->uplink && left-- > 0 &&
	       (poll_all(port) > 0 || port->due_ns <= port->now_ns))
		;
}

void roostd_port_close(struct roostd_port *port)
{
	struct roostd_client *c;
	bool forget = false;

	port->leaves_clients = port->state.fd >= 0;
	while ((c = LIST_FIRST(&port->clients)))
		roostd_port_finish(port, c);
	roostd_port_reap(port);
	tell_last(port);
	if (port->sw)
		roost_switch_destroy(port->sw);
	port->sw = NULL;
	/* Frames are the host's now. */
	for (uint32_t i = 0; i < port->nb_lanes; i++)
		port->lanes[i].sw = NULL;
	if (port->uplink)
		roost_uplink_close(port->uplink);
	port->uplink = NULL;
	if (port->lease) {
		forget = port->lease->nb_clients == 0 &&
			 port->lease->nb_away == 0;
		roost_lease_destroy(port->lease);
	}
	roostd_state_close(&port->state, forget);
	if (port->page)
		roost_share_page_close(port->page);
	if (port->page_fd >= 0)
		close(port->page_fd);
	if (port->spare_fd >= 0)
		close(port->spare_fd);
	port->spare_fd = -1;
}
