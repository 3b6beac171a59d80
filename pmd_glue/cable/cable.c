/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The bursts are hot: no allocation, system call or log of ours; a lock where
 * several devices are on the port.
 */

#include "pmd_glue/cable/cable.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include "lib/wire/frame.h"
#include "pmd_glue/cable/link.h"
#include "pmd_glue/channel/channel.h"
#include "pmd_glue/channel/meet.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/report.h"

/* There is one peer, so nobody else waits while it does not read; it may have
 * no processor for a while.
 */
#define PATIENCE_NS 1000000000u
/* A peer, and peers before it whose frames are still used. */
#define SEATS 4u
/* Received frames that wait for the control thread, a twin or another device,
 * as many as their rings hold.
 */
#define KEPT 256u
#define KEPT_FOR_TWIN 512u
#define KEPT_FOR_DEVICE 1024u

/* The interval of end 1's tries to find end 0; it doubles. */
#define RETRY_MIN_NS 2000000u
#define RETRY_MAX_NS 1000000000u
/* When to look again for a descriptor, or for frames that are still used. */
#define AGAIN_NS 10000000u
/* One line about peers that break rules, at most, in this time. */
#define QUIET_NS 10000000000u
/* Connections accepted at a time. */
#define ACCEPTS 16u
/* More bursts than a full ring needs. */
#define LAST_BURSTS 64u

struct roost_cable {
	/* Constant from open to free. */
	struct roost_shm_channel *channel;
	bool is_shared;       /* several devices call the bursts */
	pthread_mutex_t lock; /* around them, then */
	struct roost_cable_conf conf;
	char name[ROOST_LINK_NAME_MAX + 1];
	struct roost_link link;
	struct roost_shm_self self;
	/* The control thread's. */
	struct roost_peer_trust trust;
	struct roost_shm_meeting meeting; /* fd -1: with nobody */
	bool has_peer;                    /* it sits in meeting.seat */
	bool must_reap;                   /* a peer left */
	uint64_t accept_at_ns;            /* no descriptor was free */
	uint64_t retry_at_ns;             /* of end 1 */
	uint64_t retry_after_ns;
	uint64_t quiet_until_ns;
	bool is_watching;
	struct roost_control_client claim_watch;
	struct roost_control_client peer_watch;
};

/* ---- frames: hot --------------------------------------------------------- */

static inline void lock(struct roost_cable *c)
{
	if (unlikely(c->is_shared))
		pthread_mutex_lock(&c->lock);
}

static inline void unlock(struct roost_cable *c)
{
	if (unlikely(c->is_shared))
		pthread_mutex_unlock(&c->lock);
}

uint16_t roost_cable_rx(struct roost_cable *c, struct rte_mbuf **pkts,
			uint16_t n)
{
	lock(c);
	n = roost_shm_rx_burst(c->channel, pkts, n);
	unlock(c);
	if (unlikely(roost_shm_has_broken(c->channel)))
		roost_control_wake();
	return n;
}

uint16_t roost_cable_tx(struct roost_cable *c, struct rte_mbuf **pkts,
			uint16_t n)
{
	lock(c);
	n = roost_shm_tx_burst(c->channel, NULL, pkts, n);
	unlock(c);
	return n;
}

struct rte_mbuf *roost_cable_keep(struct roost_cable *c, struct rte_mbuf *mbuf)
{
	return roost_shm_keep(c->channel, mbuf);
}

/* If there are frames already, the next iteration takes them, and nobody
 * sleeps.
 */
int roost_cable_arm(struct roost_cable *c)
{
	lock(c);
	roost_shm_sleep(c->channel);
	unlock(c);
	return roost_shm_channel_fd(c->channel);
}

void roost_cable_disarm(struct roost_cable *c)
{
	lock(c);
	roost_shm_awake(c->channel);
	unlock(c);
}

/* ---- a peer that goes ---------------------------------------------------- */

/* With a peer, the turns are held. */
static void part(struct roost_cable *c)
{
	if (c->has_peer)
		roost_shm_peer_leave(c->channel, c->meeting.seat);
	c->must_reap |= c->has_peer;
	c->has_peer = false;
	roost_shm_meet_end(&c->meeting, c->channel);
	c->peer_watch.events = 0;
}

/* What the peer sent before its end was not in vain. The turns are held. */
static void receive_the_last(struct roost_cable *c)
{
	for (unsigned int i = 0;
	     i < LAST_BURSTS && c->has_peer &&
	     roost_shm_rx_is_due(c->channel, c->meeting.seat);
	     i++)
		c->conf.receive(c->conf.ctx);
}

static void end(struct roost_cable *c)
{
	if (!c->has_peer) {
		part(c);
		return;
	}
	c->conf.hold(c->conf.ctx);
	receive_the_last(c);
	part(c);
	c->conf.release(c->conf.ctx);
}

static pid_t peer_pid(const struct roost_cable *c)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	getsockopt(c->meeting.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	return cred.pid;
}

/* Report a peer that broke the rules; fix: what to do. */
static void accuse(struct roost_cable *c, const char *what, const char *fix,
		   uint64_t now_ns)
{
	if (now_ns < c->quiet_until_ns)
		return;
	c->quiet_until_ns = now_ns + QUIET_NS;
	roost_report("%s: the peer was cut off, process %d: %s; %s",
		     c->conf.label, peer_pid(c), what, fix);
}

static void report_end(struct roost_cable *c, int error, uint64_t now_ns)
{
	/* It ended or died, or it has no processor. */
	if (error == -ECONNRESET || error == -ETIMEDOUT)
		return;
	if (error == -EPROTONOSUPPORT)
		accuse(c, "it speaks another version of the link",
		       "use one version of Roost at both ends", now_ns);
	else
		accuse(c, strerror(-error), "look at that process", now_ns);
}

/* Words of the peer in shared memory that broke the rules. */
static void find_broken(struct roost_cable *c, uint64_t now_ns)
{
	enum roost_shm_fault fault;

	if (!roost_shm_has_broken(c->channel))
		return;
	c->conf.hold(c->conf.ctx);
	if (roost_shm_next_broken(c->channel, &fault) != ROOST_SHM_NO_SEAT) {
		accuse(c, roost_shm_fault_text(fault), "look at that process",
		       now_ns);
		part(c);
	}
	c->conf.release(c->conf.ctx);
}

/* ---- a peer that comes --------------------------------------------------- */

static int join(struct roost_cable *c)
{
	int ret;

	c->meeting.peer.is_default = true;
	c->conf.hold(c->conf.ctx);
	ret = roost_shm_peer_join(c->channel, c->meeting.seat,
				  &c->meeting.peer);
	c->conf.release(c->conf.ctx);
	c->has_peer = ret == 0;
	if (!ret)
		c->retry_after_ns = RETRY_MIN_NS;
	return ret;
}

static void look(struct roost_cable *c, uint64_t now_ns)
{
	int ret;

	if (c->meeting.fd < 0 || (c->meeting.met && !c->peer_watch.seen))
		return;
	ret = roost_shm_meet_look(&c->meeting, now_ns);
	if (ret > 0)
		ret = join(c);
	if (ret < 0) {
		report_end(c, ret, now_ns);
		end(c);
	}
}

/* Takes fd. */
static void meet(struct roost_cable *c, int fd, bool accepted, uint64_t now_ns)
{
	if (roost_shm_meet_begin(&c->meeting, c->channel, fd, accepted,
				 &c->self, now_ns) != 0)
		return;
	c->peer_watch.fd = c->meeting.fd;
	c->peer_watch.events = POLLIN;
	look(c, now_ns);
}

/* A connection that is not for us is closed: of who wants to know our pid, of
 * who comes before the last peer's end was seen and tries again, and at end 1.
 */
static void accept_peers(struct roost_cable *c, uint64_t now_ns)
{
	int fd = 0;

	if (!c->claim_watch.seen && c->claim_watch.events)
		return;
	for (unsigned int i = 0; i < ACCEPTS && fd != -EAGAIN; i++) {
		fd = roost_shm_accept(c->link.fd, &c->trust);
		if (fd >= 0 && c->link.end == 0 && c->meeting.fd < 0)
			meet(c, fd, true, now_ns);
		else if (fd >= 0)
			close(fd);
		if (fd >= 0)
			c->retry_at_ns = now_ns;
	}
	/* A claim with connections that cannot be accepted stays readable. */
	c->accept_at_ns = fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM
				  ? now_ns + AGAIN_NS
				  : 0;
	c->claim_watch.events = c->accept_at_ns ? 0 : POLLIN;
}

static void find_peer(struct roost_cable *c, uint64_t now_ns)
{
	char address[ROOST_LINK_ADDRESS_MAX];
	int fd;

	if (c->meeting.fd >= 0 || now_ns < c->retry_at_ns)
		return;
	c->retry_at_ns = now_ns + c->retry_after_ns;
	c->retry_after_ns =
		RTE_MIN(2 * c->retry_after_ns, (uint64_t)RETRY_MAX_NS);
	roost_link_address(c->name, 0, address);
	fd = roost_shm_connect(address, &c->trust);
	if (fd >= 0)
		meet(c, fd, false, now_ns);
}

static uint64_t run(void *ctx, uint64_t now_ns)
{
	struct roost_cable *c = ctx;
	const bool had_peer = c->has_peer;
	uint64_t next_ns = UINT64_MAX;

	look(c, now_ns);
	find_broken(c, now_ns);
	accept_peers(c, now_ns);
	if (c->link.end == 1)
		find_peer(c, now_ns);
	/* The port has another carrier. */
	if (c->has_peer != had_peer)
		roost_control_wake();
	if (c->must_reap)
		c->must_reap = roost_shm_channel_reap(c->channel) != 0;
	if (c->must_reap || c->accept_at_ns)
		next_ns = now_ns + AGAIN_NS;
	if (c->meeting.fd < 0 && c->link.end == 1)
		next_ns = RTE_MIN(next_ns, c->retry_at_ns);
	if (c->meeting.fd >= 0 && !c->meeting.met)
		next_ns = RTE_MIN(next_ns, c->meeting.until_ns);
	return next_ns;
}

static uint64_t run_nothing(void *ctx __attribute__((unused)),
			    uint64_t now_ns __attribute__((unused)))
{
	return UINT64_MAX;
}

/* ---- life ---------------------------------------------------------------- */

static int open_channel(struct roost_cable *c)
{
	const uint32_t frame_bytes =
		c->conf.ip_mtu_bytes + ROOST_ETH_LEN + ROOST_VLAN_LEN;
	struct roost_shm_params params = {
		.shape = { .nb_slots = ROOST_SHM_SLOTS,
			   /* A twin reads one byte more. */
			   .slot_bytes = RTE_ALIGN_CEIL(
				   ROOST_SHM_HEADROOM + frame_bytes + 1, 64u),
			   .nb_seats = SEATS,
			   .ring_len = ROOST_SHM_SLOTS },
		.patience_ns = PATIENCE_NS,
		.nb_kept = KEPT,
	};

	if (c->conf.has_twin)
		params.nb_kept += KEPT_FOR_TWIN;
	if (c->is_shared)
		params.nb_kept += KEPT_FOR_DEVICE * c->conf.nb_users;
	return roost_shm_channel_open(&params, &c->channel);
}

/* A child must not keep the memory, nor what wakes us. */
static void guard(struct roost_cable *c)
{
	roost_fork_guard_add(roost_shm_channel_memory(c->channel)->fd);
	roost_fork_guard_add(roost_shm_channel_fd(c->channel));
}

int roost_cable_open(const struct roost_cable_conf *conf,
		     struct roost_cable **cable, pid_t pids[2])
{
	struct roost_cable *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->conf = *conf;
	snprintf(c->name, sizeof(c->name), "%s", conf->name);
	c->meeting.fd = -1;
	c->retry_after_ns = RETRY_MIN_NS;
	c->trust.label = conf->label;
	c->is_shared = conf->nb_users > 1;
	ret = roost_link_claim(c->name, &c->link, pids);
	if (ret)
		goto free_cable;
	ret = open_channel(c);
	if (ret)
		goto release_claim;
	guard(c);
	pthread_mutex_init(&c->lock, NULL);
	roost_link_mac(c->name, c->link.end, c->self.mac.addr_bytes);
	c->self.mtu_bytes = (uint16_t)conf->ip_mtu_bytes;
	*cable = c;
	return 0;
release_claim:
	roost_link_release(&c->link);
free_cable:
	free(c);
	return ret;
}

/* An end 1 that found nobody looks again at once. */
static void knock(const struct roost_cable *c)
{
	char address[ROOST_LINK_ADDRESS_MAX];
	int fd;

	roost_link_address(c->name, 1, address);
	fd = roost_shm_connect(address, NULL);
	if (fd >= 0)
		close(fd);
}

void roost_cable_start(struct roost_cable *c)
{
	c->claim_watch = (struct roost_control_client){
		.run = run,
		.ctx = c,
		.fd = c->link.fd,
		.events = POLLIN,
	};
	c->peer_watch = (struct roost_control_client){ .run = run_nothing };
	roost_control_add(&c->claim_watch);
	roost_control_add(&c->peer_watch);
	c->is_watching = true;
	if (c->link.end == 0)
		knock(c);
	roost_control_wake();
}

void roost_cable_stop(struct roost_cable *c)
{
	if (c->link.fd < 0)
		return;
	/* The last answers are read after us. */
	roost_shm_channel_end(c->channel);
	part(c);
	if (c->is_watching) {
		roost_control_remove(&c->claim_watch);
		roost_control_remove(&c->peer_watch);
	}
	c->is_watching = false;
	roost_link_release(&c->link);
}

void roost_cable_free(struct roost_cable *c)
{
	roost_fork_guard_remove(roost_shm_channel_memory(c->channel)->fd);
	roost_fork_guard_remove(roost_shm_channel_fd(c->channel));
	roost_shm_channel_close(c->channel);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const char *roost_cable_name(const struct roost_cable *c)
{
	return c->name;
}

unsigned int roost_cable_end(const struct roost_cable *c)
{
	return c->link.end;
}

void roost_cable_mac(const struct roost_cable *c, uint8_t mac[6])
{
	memcpy(mac, c->self.mac.addr_bytes, 6);
}

struct rte_mempool *roost_cable_pool(struct roost_cable *c)
{
	return roost_shm_channel_pool(c->channel);
}

bool roost_cable_has_peer(const struct roost_cable *c)
{
	return c->has_peer;
}
