/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/port.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/workers.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/progress/progress.h"
#include "pmd_glue/share/port_priv.h"
#include "pmd_glue/share/reattach.h"

/* The daemon is the only peer, so nobody else waits while it does not read; it
 * may have no processor for a while.
 */
#define PATIENCE_NS 1000000000u

/* The page changes without end: read it again after this time. */
#define READ_AGAIN_NS 10000000u

static struct roost_share_port *of(struct roost_backend_port *port)
{
	return (struct roost_share_port *)port;
}

/* ---- frames: hot --------------------------------------------------------- */

static uint16_t rx_burst(void *ctx, uint16_t queue __attribute__((unused)),
			 struct rte_mbuf **pkts, uint16_t n)
{
	struct roost_share_port *p = ctx;

	n = roost_shm_rx_burst(p->channel, pkts, n);
	if (unlikely(roost_shm_has_broken(p->channel)))
		roost_control_wake();
	return n;
}

static uint16_t tx_burst(void *ctx, uint16_t queue __attribute__((unused)),
			 struct rte_mbuf **pkts, uint16_t n)
{
	struct roost_share_port *p = ctx;

	return roost_direct_tx_burst(p->direct, pkts, n);
}

static bool may_send(void *ctx, uint32_t from, uint32_t qpn)
{
	struct roost_share_port *p = ctx;

	return roost_direct_may_send(p->direct, from, qpn);
}

/* All that is not RoCEv2 is the daemon's. */
static void punt(void *ctx __attribute__((unused)), struct rte_mbuf *pkt)
{
	rte_pktmbuf_free(pkt);
}

static void kick(void *ctx, unsigned int worker)
{
	struct roost_share_port *p = ctx;

	if (p->progress)
		roost_progress_kick(p->progress[worker]);
}

static void push(void *ctx, unsigned int worker)
{
	struct roost_share_port *p = ctx;

	if (p->progress)
		roost_progress_push(p->progress[worker]);
}

/* The worker that receives. */
static void kick_first(void *ctx)
{
	kick(ctx, 0);
}

/* ---- open ---------------------------------------------------------------- */

static bool takes(const struct roost_port_config *conf)
{
	return conf->service[0] != '\0';
}

static int open_channel(struct roost_share_port *p)
{
	const struct roost_shm_params params = {
		.shape = { .nb_slots = ROOST_SHM_SLOTS,
			   .slot_bytes = ROOST_SHM_SLOT_BYTES,
			   .nb_seats = ROOST_SHM_SEATS,
			   .ring_len = ROOST_SHM_SLOTS },
		.patience_ns = PATIENCE_NS,
	};
	int ret = roost_shm_channel_open(&params, &p->channel);

	if (ret) {
		p->channel = NULL;
		roost_report("%s: no memory to share: %s; see the limits of "
			     "the process",
			     p->base.label, strerror(-ret));
		return ret;
	}
	ret = roost_shm_seat_take(p->channel);
	p->seat = (uint32_t)ret;
	return ret < 0 ? ret : 0;
}

static int attach(struct roost_share_port *p, const char *service,
		  struct roost_share_grant *grant)
{
	const struct roost_share_session_conf conf = {
		.service = roost_share_pick(service),
		.label = p->base.label,
		.memory_fd = roost_shm_channel_memory(p->channel)->fd,
		.seat = p->seat,
	};

	return roost_share_session_open(&conf, grant, &p->session);
}

static int begin_direct(struct roost_share_port *p)
{
	const struct roost_direct_conf conf = {
		.channel = p->channel,
		.session = p->session,
		.page = p->page,
		.granted = &p->granted,
		.daemon_seat = p->seat,
		.patience_ns = ROOST_DIRECT_PATIENCE_NS,
	};

	return roost_direct_create(&conf, &p->direct);
}

/* Sit down opposite to the daemon. */
static int join(struct roost_share_port *p, struct roost_share_grant *grant)
{
	struct roost_shm_peer peer = {
		.memory = grant->memory,
		.seat = grant->attached.seat,
		.doorbell = grant->doorbell,
		.is_default = true,
	};
	int ret;

	p->granted = grant->attached;
	p->page = grant->page;
	grant->memory.base = NULL;
	grant->doorbell = -1;
	grant->page = NULL;
	ret = roost_shm_peer_join(p->channel, p->seat, &peer);
	if (!ret)
		ret = roost_share_neighs_create(p->session, p->page,
						&p->neighs);
	if (!ret)
		ret = roost_share_facts_get(p->page, &p->facts);
	if (!ret)
		ret = begin_direct(p);
	if (ret)
		roost_report("%s: its daemon cannot be used: %s; see what it "
			     "reports",
			     p->base.label, strerror(-ret));
	return ret;
}

/* A child must not keep what tells the daemon that we are gone, nor memory. */
static void guard(struct roost_share_port *p, bool begin)
{
	const int fds[] = { roost_shm_channel_memory(p->channel)->fd,
			    roost_shm_channel_fd(p->channel) };

	for (size_t i = 0; i < RTE_DIM(fds); i++) {
		if (begin)
			roost_fork_guard_add(fds[i]);
		else
			roost_fork_guard_remove(fds[i]);
	}
}

static void free_port(struct roost_backend_port *port)
{
	struct roost_share_port *p = of(port);
	struct roost_share_group *group;

	while ((group = LIST_FIRST(&p->groups))) {
		LIST_REMOVE(group, link);
		free(group);
	}
	/* The last answers are read after us. */
	if (p->channel)
		roost_shm_channel_end(p->channel);
	roost_direct_destroy(p->direct);
	roost_share_neighs_destroy(p->neighs);
	roost_share_session_close(p->session);
	if (p->channel)
		guard(p, false);
	roost_shm_channel_close(p->channel);
	if (p->page)
		roost_share_page_close(p->page);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int open_port(const struct roost_config *config, unsigned int index,
		     struct roost_backend_port **port)
{
	struct roost_share_port *p = calloc(1, sizeof(*p));
	struct roost_share_grant grant = { .doorbell = -1 };
	int ret;

	if (!p) {
		roost_report("port%u: no memory", index);
		return -ENOMEM;
	}
	p->base.backend = &roost_shared;
	p->next_seat = ROOST_SHM_NO_SEAT;
	roost_config_label(config, index, true, p->base.label);
	pthread_mutex_init(&p->lock, NULL);
	atomic_flag_clear(&p->first_qpns);
	ret = open_channel(p);
	if (!ret) {
		guard(p, true);
		ret = attach(p, config->ports[index].service, &grant);
	}
	if (!ret)
		ret = join(p, &grant);
	if (ret) {
		roost_share_grant_drop(&grant);
		free_port(&p->base);
		return ret;
	}
	p->base.frame_io = (struct roost_frame_io){
		.ctx = p,
		.nb_queues = 1,
		.roce_only = true,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.may_send = may_send,
		.kick = kick,
		.push = push,
	};
	roost_share_set_addr_io(p);
	roost_share_set_leases(p);
	p->base.pool = roost_shm_channel_pool(p->channel);
	memcpy(p->base.first_mac, p->granted.mac, 6);
	p->base.vlan_id = p->granted.vlan_id;
	*port = &p->base;
	return 0;
}

/* ---- run ----------------------------------------------------------------- */

static void follow_page(struct roost_share_port *p)
{
	struct roost_share_facts facts;

	if (p->removed || roost_share_facts_get(p->page, &facts) != 0)
		return;
	p->must_read = false;
	if (facts.is_gone) {
		roost_share_port_end(p, "its port was removed");
		return;
	}
	roost_share_neighs_forget(p->neighs);
	roost_share_facts_apply(p, &facts);
}

/* Peers, and words of the daemon in shared memory that broke the rules. Returns
 * when to look again.
 */
static uint64_t run_direct(struct roost_share_port *p, uint64_t now_ns)
{
	char why[128];
	enum roost_shm_fault fault;
	uint64_t next_ns = roost_direct_run(p->direct, now_ns, &fault);

	if (fault == ROOST_SHM_OK)
		return next_ns;
	snprintf(why, sizeof(why),
		 "its daemon broke the rules of the frames: %s",
		 roost_shm_fault_text(fault));
	roost_share_port_end(p, why);
	return next_ns;
}

static void unwatch(struct roost_share_port *p)
{
	if (p->is_watching)
		roost_control_remove(&p->watch);
	p->is_watching = false;
}

static uint64_t run(struct roost_backend_port *port, uint64_t now_ns)
{
	struct roost_share_port *p = of(port);
	struct roost_share_news news = roost_share_session_news(p->session);
	uint64_t next_ns, due_ns = UINT64_MAX;
	bool answered;

	if (news.ended) {
		/* A socket at its end is readable for ever. */
		p->watch.events = 0;
		roost_share_port_end(p, news.why);
	}
	if (news.lost)
		roost_share_go_away(p, now_ns);
	if (p->away.is_away)
		due_ns = roost_share_come_back(p, now_ns);
	p->must_read |= news.changed;
	if (p->must_read)
		follow_page(p);
	if (p->away.is_recovering)
		due_ns = roost_share_go_on(p, &p->facts, now_ns);
	next_ns = RTE_MIN(roost_share_join_again(p, now_ns), due_ns);
	due_ns = run_direct(p, now_ns);
	next_ns = RTE_MIN(next_ns, due_ns);
	due_ns = roost_share_neighs_run(p->neighs, now_ns, &answered);
	next_ns = RTE_MIN(next_ns, due_ns);
	if (answered)
		roost_control_wake(); /* services that wait for it */
	return p->must_read && !p->removed
		       ? RTE_MIN(next_ns, now_ns + READ_AGAIN_NS)
		       : next_ns;
}

/* The device runs all its ports after each wake of the control thread; the
 * socket wakes it.
 */
static uint64_t run_nothing(void *ctx __attribute__((unused)),
			    uint64_t now_ns __attribute__((unused)))
{
	return UINT64_MAX;
}

static int start(struct roost_backend_port *port, struct roost_dev *dev,
		 uint8_t port_num, struct roost_progress *const *progress)
{
	struct roost_share_port *p = of(port);

	port->dev = dev;
	port->port_num = port_num;
	p->progress = progress;
	roost_direct_set_worker(p->direct, roost_dev_worker(dev), kick_first,
				p);
	roost_share_reserve_seat(p);
	roost_share_facts_apply(p, &p->facts);
	p->must_read = true; /* it may have changed since open */
	p->watch = (struct roost_control_client){
		.run = run_nothing,
		.ctx = p,
		.fd = roost_share_session_fd(p->session),
		.events = POLLIN,
	};
	roost_control_add(&p->watch);
	p->is_watching = true;
	return 0;
}

static void leave(struct roost_backend_port *port __attribute__((unused)))
{
}

static void quiesce(struct roost_backend_port *port)
{
	struct roost_share_port *p = of(port);

	unwatch(p);
	p->progress = NULL;
}

static void close_port(struct roost_backend_port *port __attribute__((unused)))
{
}

/* ---- sleep --------------------------------------------------------------- */

/* If there are frames already, the next iteration takes them, and nobody
 * sleeps.
 */
static int arm(struct roost_backend_port *port,
	       uint16_t queue __attribute__((unused)))
{
	struct roost_share_port *p = of(port);

	roost_shm_sleep(p->channel);
	return roost_shm_channel_fd(p->channel);
}

static void disarm(struct roost_backend_port *port,
		   uint16_t queue __attribute__((unused)))
{
	roost_shm_awake(of(port)->channel);
}

/* ---- for people ---------------------------------------------------------- */

_Static_assert(ROOST_BACKEND_TALLIES_MAX <= ROOST_SHM_TALLIES, "room for all");

static void tally(struct roost_backend_port *port, const uint64_t *words,
		  unsigned int nb)
{
	_Atomic uint64_t *to =
		roost_shm_tallies(roost_shm_channel_memory(of(port)->channel));

	for (unsigned int i = 0; i < nb; i++)
		atomic_store_explicit(&to[i], words[i], memory_order_relaxed);
}

static void view(const struct roost_backend_port *port,
		 struct roost_backend_view *v)
{
	struct roost_share_port *p =
		of((struct roost_backend_port *)(uintptr_t)port);
	struct roost_direct_view direct;
	struct roost_gid link_local;
	struct roost_routes routes;

	roost_direct_view(p->direct, &direct);
	roost_share_routes(p, &routes, &link_local);
	*v = (struct roost_backend_view){
		.addrs = routes.on_link,
		.admin_up = true,
		.queues = 1,
		.steering = "none",
		.missed_pkts = direct.missed_pkts,
	};
	snprintf(v->device, sizeof(v->device),
		 "client %u of %s, %u peers directly", p->granted.client,
		 p->granted.label, direct.peers);
	pthread_mutex_lock(&p->lock);
	memcpy(v->mac, p->facts.mac, sizeof(v->mac));
	v->mtu_bytes = p->facts.ip_mtu_bytes;
	v->carrier = p->facts.is_active == 1 && !p->removed;
	v->removed = p->removed;
	pthread_mutex_unlock(&p->lock);
}

static void remove_port(struct roost_backend_port *port, const char *why)
{
	roost_share_port_end(of(port), why);
}

const struct roost_backend roost_shared = {
	.name = "shared",
	.takes = takes,
	.open = open_port,
	.start = start,
	.run = run,
	.leave = leave,
	.quiesce = quiesce,
	.close = close_port,
	.free = free_port,
	.arm = arm,
	.disarm = disarm,
	.tally = tally,
	.view = view,
	.remove = remove_port,
};
