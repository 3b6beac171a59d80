/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Hot from poll_client() on: no allocation, log or lock per frame, and a system
 * call only to wake a client that sleeps.
 */
#include "apps/roostd/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/process/peer_trust.h"
#include "pmd_glue/process/report.h"

#define HUB_IP_MTU_BYTES 4200u
/* Of a client in one round. */
#define BURST 32u
#define BURSTS_MAX 4u
/* A client that has sent nothing for so long rings before it is polled. */
#define STILL_NS 50000u
#define MESSAGES_MAX 16u
/* The frames that a client has left are moved within this time. */
#define LEAVE_NS 1000000000u
/* Nothing is read from the socket of a client that asks too much. */
#define PAUSE_NS 2000000u
/* Numbers of a client that went rest as long as a connection may be in
 * timewait; old clients have so long to come back.
 */
#define QUARANTINE_NS 10000000000u
#define GRACE_NS 2000000000u
#define CLIENTS_BACKLOG_MAX 2048u
/* Sessions that have not attached. "roost run" keeps one, and a program has one
 * more while it opens the device.
 */
#define SILENT_OF_PROCESS_MAX 16u
#define SILENT_MIN 16u

/* ---- what the switch asks of us ------------------------------------------ */

/* A hub has no world outside. */
static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	(void)arg;
	(void)frame;
	return NULL;
}

static bool send_kept(void *arg, void *kept)
{
	(void)arg;
	(void)kept;
	return true;
}

static void discard(void *arg, void *kept)
{
	(void)arg;
	(void)kept;
}

static bool is_ready(void *arg, uint16_t client)
{
	struct roostd_port *port = arg;
	struct roostd_client *c = port->by_slot[client];

	/* Nobody reads any more what it gets. */
	return c->leaves_ns != 0 || roostd_client_is_ready(c, port->now_ns);
}

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *frame, bool looped)
{
	struct roostd_port *port = arg;
	struct roostd_client *c = port->by_slot[client];

	(void)looped;
	if (!roostd_client_deliver(c, frame))
		return false;
	if (!c->rings)
		LIST_INSERT_HEAD(&port->to_ring, c, ring);
	c->rings = true;
	return true;
}

static void host(void *arg, const struct roost_sw_frame *frame)
{
	(void)arg;
	(void)frame;
}

static void leave(void *arg, const struct roost_gid *group)
{
	(void)arg;
	(void)group;
}

static const struct roost_switch_ops ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.is_ready = is_ready,
	.deliver = deliver,
	.host = host,
	.leave = leave,
};

/* ---- life ---------------------------------------------------------------- */

static int draw(void *bytes, size_t len)
{
	return getrandom(bytes, len, 0) == (ssize_t)len ? 0 : -EIO;
}

/* The addresses of a hub; the MAC is random, as that of a bridge. */
static int make_facts(struct roostd_port *port)
{
	const uint8_t ip[4] = { 198, 18, 0, 1 };
	const struct roost_prefixes addrs = {
		.nb = 1,
		.v[0] = { .gid = roost_gid_from_v4(ip), .len_bits = 24 },
	};
	uint8_t *mac = port->facts.mac;
	int ret = draw(mac, sizeof(port->facts.mac));

	if (ret)
		return ret;
	mac[0] = 0x02;
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
	return 0;
}

static int make_lease(struct roostd_port *port)
{
	static struct roost_lease_state state;
	struct roost_lease_conf conf = {
		.quarantine_ns = QUARANTINE_NS,
		.grace_ns = GRACE_NS,
	};
	int ret = draw(&conf.random, sizeof(conf.random));

	if (!ret)
		ret = draw(state.mac_key, sizeof(state.mac_key));
	if (!ret)
		ret = draw(state.qpn_seed, sizeof(state.qpn_seed));
	if (!ret)
		ret = draw(state.comm_seed, sizeof(state.comm_seed));
	if (!ret)
		ret = roost_lease_create(&conf, &state, port->now_ns,
					 &port->lease);
	for (unsigned int i = 0; !ret && i < ROOST_GID_TABLE_LEN; i++)
		if (!roost_gid_is_zero(&port->facts.gids[i]))
			ret = roost_lease_addr_add(port->lease,
						   &port->facts.gids[i]);
	return ret;
}

static int make_page(struct roostd_port *port)
{
	uint64_t mac_gen;
	int ret = roost_share_page_make(&port->page, &port->page_fd);

	if (ret)
		return ret;
	roost_share_page_write(port->page, &port->facts);
	/* The only neighbour of a hub is the hub. */
	mac_gen = roost_neigh_mac_gen(port->facts.mac, 1);
	atomic_store_explicit(&port->page->neighs[0], mac_gen,
			      memory_order_release);
	return 0;
}

/* The other descriptors are for clients that attach. */
static uint32_t max_silent(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur / 4 < SILENT_MIN)
		return SILENT_MIN;
	return limit.rlim_cur / 4 < CLIENTS_BACKLOG_MAX / 2
		       ? (uint32_t)limit.rlim_cur / 4
		       : CLIENTS_BACKLOG_MAX / 2;
}

int roostd_hub_open(struct roostd_port *port, int listener, int epoll_fd)
{
	int ret;

	*port = (struct roostd_port){
		.label = "hub",
		.listener = listener,
		.epoll_fd = epoll_fd,
		.is_hub = true,
		.uid = getuid(),
		.page_fd = -1,
		.max_silent = max_silent(),
	};
	LIST_INIT(&port->clients);
	TAILQ_INIT(&port->awake);
	TAILQ_INIT(&port->paused);
	LIST_INIT(&port->gone);
	LIST_INIT(&port->to_ring);
	ret = make_facts(port);
	if (!ret)
		ret = make_lease(port);
	if (!ret)
		ret = make_page(port);
	if (!ret)
		ret = roost_switch_create(&port->shape, port->lease, &ops, port,
					  port->now_ns, &port->sw);
	if (!ret)
		return 0;
	roost_report("%s: cannot be made: %s; see the limits of the process",
		     port->label, strerror(-ret));
	roostd_port_close(port);
	return ret;
}

/* A duplicate in another process would keep them in the set. */
static void unwatch(struct roostd_port *port, const struct roostd_client *c)
{
	epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, c->socket, NULL);
	if (c->doorbell >= 0)
		epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
}

/* The client is gone, and its peers are told. */
static void finish(struct roostd_port *port, struct roostd_client *c)
{
	if (!c->asleep)
		TAILQ_REMOVE(&port->awake, c, awake);
	if (c->paused)
		TAILQ_REMOVE(&port->paused, c, pause);
	if (c->rings)
		LIST_REMOVE(c, ring);
	if (c->slot != ROOST_CLIENT_NONE) {
		port->nb_attached -= port->by_slot[c->slot] == c;
		port->by_slot[c->slot] = NULL;
		roost_switch_client_remove(port->sw, c->slot, port->now_ns);
	}
	unwatch(port, c);
	c->asleep = true;
	c->gone = true;
	port->nb_clients--;
	LIST_REMOVE(c, all);
	LIST_INSERT_HEAD(&port->gone, c, all);
}

void roostd_port_close(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = LIST_FIRST(&port->clients)))
		finish(port, c);
	roostd_port_reap(port);
	if (port->sw)
		roost_switch_destroy(port->sw);
	if (port->lease)
		roost_lease_destroy(port->lease);
	if (port->page)
		roost_share_page_close(port->page);
	if (port->page_fd >= 0)
		close(port->page_fd);
}

/* ---- clients come and go ------------------------------------------------- */

static int watch(struct roostd_port *port, int fd, void *tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = tag };

	return epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : -errno;
}

/* Too many have not attached: the oldest goes, of the same process if that has
 * many itself.
 */
static void drop_silent(struct roostd_port *port, pid_t pid)
{
	struct roostd_client *c, *oldest = NULL, *own = NULL;
	uint32_t nb = 0, nb_own = 0;

	LIST_FOREACH(c, &port->clients, all) {
		if (c->slot != ROOST_CLIENT_NONE)
			continue;
		oldest = c;
		nb++;
		if (c->pid != pid)
			continue;
		own = c;
		nb_own++;
	}
	if (nb_own >= SILENT_OF_PROCESS_MAX)
		roostd_port_drop(port, own, NULL);
	else if (nb >= port->max_silent)
		roostd_port_drop(port, oldest, NULL);
}

void roostd_port_accept(struct roostd_port *port)
{
	struct roostd_client *c;
	int fd = accept4(port->listener, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	c = roostd_client_create(fd);
	if (!c)
		return;
	if (port->is_hub && !roost_uid_is_ours(c->uid)) {
		roostd_client_destroy(c);
		return;
	}
	drop_silent(port, c->pid);
	if (port->nb_clients == CLIENTS_BACKLOG_MAX ||
	    watch(port, c->socket, c) != 0) {
		roostd_client_destroy(c);
		return;
	}
	LIST_INSERT_HEAD(&port->clients, c, all);
	port->nb_clients++;
}

int roostd_port_enter(struct roostd_port *port, struct roostd_client *c)
{
	int ret = roost_switch_client_enter(port->sw, c->slot, port->now_ns);

	if (!ret)
		ret = watch(port, c->doorbell, roostd_doorbell_tag(c));
	if (ret)
		return ret;
	port->by_slot[c->slot] = c;
	port->nb_attached++;
	c->asleep = false;
	c->active_ns = port->now_ns;
	TAILQ_INSERT_TAIL(&port->awake, c, awake);
	return 0;
}

void roostd_port_reap(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = LIST_FIRST(&port->gone))) {
		LIST_REMOVE(c, all);
		roostd_client_destroy(c);
	}
}

void roostd_port_rung(struct roostd_port *port, struct roostd_client *c)
{
	if (c->gone || c->leaves_ns != 0)
		return;
	roostd_client_awake(c);
	if (!c->asleep)
		return;
	c->asleep = false;
	c->active_ns = port->now_ns;
	TAILQ_INSERT_TAIL(&port->awake, c, awake);
}

/* ---- clients that ask too much ------------------------------------------- */

static void listen_to(struct roostd_port *port, struct roostd_client *c,
		      bool on)
{
	struct epoll_event event = {
		.events = on ? EPOLLIN : 0,
		.data.ptr = c,
	};

	epoll_ctl(port->epoll_fd, EPOLL_CTL_MOD, c->socket, &event);
}

void roostd_port_pause(struct roostd_port *port, struct roostd_client *c)
{
	c->paused = true;
	c->resume_ns = port->now_ns + PAUSE_NS;
	TAILQ_INSERT_TAIL(&port->paused, c, pause);
	listen_to(port, c, false);
}

static void resume(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = TAILQ_FIRST(&port->paused)) &&
	       c->resume_ns <= port->now_ns) {
		TAILQ_REMOVE(&port->paused, c, pause);
		c->paused = false;
		listen_to(port, c, true);
	}
}

/* ---- frames -------------------------------------------------------------- */

/* Returns false: its receiver is full, the frame is to be offered again. */
static bool move(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_shm_entry *entry)
{
	const uint8_t *bytes =
		roost_shm_slot(&c->theirs, entry->slot) + ROOST_SHM_HEADROOM;
	uint8_t head[ROOST_SW_HEAD_MAX];
	struct roost_sw_frame frame = {
		.head = head,
		.head_len_bytes = entry->len_bytes,
		.len_bytes = entry->len_bytes,
	};

	if (frame.head_len_bytes > sizeof(head))
		frame.head_len_bytes = sizeof(head);
	memcpy(head, bytes, frame.head_len_bytes);
	frame.payload = bytes + frame.head_len_bytes;
	return roost_switch_from_client(port->sw, c->slot, &frame,
					port->now_ns);
}

/* Frames that were not moved are taken once more. */
static unsigned int poll_burst(struct roostd_port *port,
			       struct roostd_client *c)
{
	struct roost_shm_entry entries[BURST];
	const struct roost_shm_in before = c->in;
	uint32_t n = roost_shm_in_take(&c->in, entries, BURST);
	uint32_t i = 0;

	while (i < n && move(port, c, &entries[i]))
		i++;
	if (i < n) {
		const uint8_t fault = c->in.fault;

		c->in = before;
		roost_shm_in_take(&c->in, entries, i);
		c->in.fault = fault;
	}
	if (i > 0)
		roost_shm_in_give(&c->in, i);
	return i;
}

static unsigned int poll_client(struct roostd_port *port,
				struct roostd_client *c)
{
	unsigned int moved = 0, n;

	for (unsigned int i = 0; i < BURSTS_MAX; i++) {
		n = poll_burst(port, c);
		moved += n;
		if (n < BURST)
			break;
	}
	return moved;
}

/* A program may end right after it has answered: its last frames are moved
 * before it is gone, also where a receiver takes its time.
 */
void roostd_port_drop(struct roostd_port *port, struct roostd_client *c,
		      const char *why)
{
	if (c->gone)
		return;
	if (why)
		roost_report("%s: client %d (%s) is cut off: %s", port->label,
			     (int)c->pid,
			     c->command[0] ? c->command : "not attached", why);
	if (why || c->leaves_ns != 0 || c->slot == ROOST_CLIENT_NONE ||
	    port->by_slot[c->slot] != c || !roostd_client_has_frames(c)) {
		finish(port, c);
		return;
	}
	c->leaves_ns = port->now_ns + LEAVE_NS;
	unwatch(port, c);
	if (c->asleep)
		TAILQ_INSERT_TAIL(&port->awake, c, awake);
	c->asleep = false;
}

static void go_on_leaving(struct roostd_port *port, struct roostd_client *c)
{
	if (port->now_ns >= c->leaves_ns || !roostd_client_has_frames(c))
		finish(port, c);
}

static void check_faults(struct roostd_port *port, struct roostd_client *c)
{
	uint8_t fault =
		c->in.fault != ROOST_SHM_OK ? c->in.fault : c->out.fault;

	if (fault != ROOST_SHM_OK)
		roostd_port_drop(port, c, roost_shm_fault_text(fault));
}

static void ring_all(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = LIST_FIRST(&port->to_ring))) {
		LIST_REMOVE(c, ring);
		c->rings = false;
		roostd_client_ring(c);
	}
}

unsigned int roostd_port_poll(struct roostd_port *port, uint64_t now_ns)
{
	struct roostd_client *c, *next;
	unsigned int moved = 0, n;

	port->now_ns = now_ns;
	resume(port);
	for (c = TAILQ_FIRST(&port->awake); c; c = next) {
		next = TAILQ_NEXT(c, awake);
		n = poll_client(port, c);
		moved += n;
		if (n > 0)
			c->active_ns = now_ns;
		else if (c->leaves_ns != 0)
			go_on_leaving(port, c);
		else if (now_ns - c->active_ns >= STILL_NS &&
			 roostd_client_sleep(c)) {
			TAILQ_REMOVE(&port->awake, c, awake);
			c->asleep = true;
		}
		if (!c->gone)
			check_faults(port, c);
	}
	roost_switch_run(port->sw, now_ns, MESSAGES_MAX);
	ring_all(port);
	return moved;
}
