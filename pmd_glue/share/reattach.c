/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/reattach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/port_priv.h"

/* A daemon is started again within some ms, or somebody has to do it. */
#define TRY_NS 5000000u
#define TRY_LATER_NS 20000000u
#define SOON_NS 1000000000u
/* A daemon waits for old clients for less than this. */
#define RECOVERY_NS 5000000000u
/* For frames to a daemon that is away, where others wait behind them. */
#define PATIENCE_WITH_PEERS_NS 1000000u

/* The worker that receives and sends, and has the channel. */
static struct roost_worker *worker_of(const struct roost_share_port *p)
{
	return roost_dev_worker(p->base.dev);
}

void roost_share_reserve_seat(struct roost_share_port *p)
{
	int seat;

	if (p->next_seat != ROOST_SHM_NO_SEAT || !p->base.dev)
		return;
	roost_worker_turn_take(worker_of(p));
	seat = roost_shm_seat_take(p->channel);
	roost_worker_turn_release(worker_of(p));
	if (seat >= 0)
		p->next_seat = (uint32_t)seat;
}

/* Frames wait until a daemon takes them. */
static void have_patience(struct roost_share_port *p)
{
	uint64_t patience_ns = roost_direct_has_peers(p->direct)
				       ? PATIENCE_WITH_PEERS_NS
				       : UINT64_MAX;

	roost_worker_turn_take(worker_of(p));
	roost_shm_peer_wait(p->channel, p->seat, patience_ns);
	roost_worker_turn_release(worker_of(p));
}

void roost_share_go_away(struct roost_share_port *p, uint64_t now_ns)
{
	if (p->away.is_away || p->removed)
		return;
	p->away = (struct roost_share_away){
		.is_away = true,
		.since_ns = now_ns,
		.try_at_ns = now_ns,
	};
	p->watch.events = 0;
	have_patience(p);
	roost_port_set_still(p->base.dev, p->base.port_num, true, now_ns);
}

/* The QPNs and the communication ids that are in use are made with it. */
static bool is_as_before(const struct roost_share_port *p,
			 const struct roost_share_attached *now)
{
	const struct roost_share_attached *before = &p->granted;

	return memcmp(now->qpn_seed, before->qpn_seed, sizeof(now->qpn_seed)) ==
		       0 &&
	       memcmp(now->comm_seed, before->comm_seed,
		      sizeof(now->comm_seed)) == 0 &&
	       now->qpn_index_bits == before->qpn_index_bits &&
	       now->qpn_block_shift == before->qpn_block_shift &&
	       now->comm_prefix_bits == before->comm_prefix_bits &&
	       now->vlan_id == before->vlan_id;
}

/* The new daemon sits down, and gets what the other one has not consumed. */
static int change_seats(struct roost_share_port *p,
			struct roost_share_grant *grant)
{
	const struct roost_shm_peer peer = {
		.memory = grant->memory,
		.seat = grant->attached.seat,
		.doorbell = grant->doorbell,
		.is_default = true,
	};
	int ret;

	grant->memory.base = NULL;
	grant->doorbell = -1;
	roost_worker_turn_take(worker_of(p));
	ret = roost_shm_peer_join(p->channel, p->next_seat, &peer);
	if (!ret) {
		roost_shm_peer_replace(p->channel, p->seat, p->next_seat);
		roost_direct_set_seat(p->direct, p->next_seat);
	}
	roost_worker_turn_release(worker_of(p));
	if (ret)
		return ret;
	p->seat = p->next_seat;
	p->next_seat = ROOST_SHM_NO_SEAT;
	return 0;
}

static int go_over(struct roost_share_port *p, struct roost_share_grant *grant,
		   uint64_t now_ns)
{
	const struct roost_share_page *before = p->page;
	int ret;

	p->page = grant->page;
	grant->page = NULL;
	p->granted = grant->attached;
	roost_direct_restart(p->direct, p->page, now_ns);
	roost_share_neighs_restart(p->neighs, p->page);
	ret = change_seats(p, grant);
	/* Nobody reads the page before any more. */
	for (unsigned int i = 0; i < roost_dev_nb_workers(p->base.dev); i++) {
		struct roost_worker *w = roost_dev_worker_at(p->base.dev, i);

		roost_worker_turn_take(w);
		roost_worker_turn_release(w);
	}
	roost_share_page_close(before);
	if (!ret) {
		roost_share_session_resume(p->session);
		p->away.is_away = false;
		p->away.is_recovering = true;
		p->away.until_ns = now_ns + RECOVERY_NS;
		p->must_read = true;
		p->must_join = true;
		p->join_at_ns = now_ns;
		p->join_told = false;
		p->watch.fd = roost_share_session_fd(p->session);
		p->watch.events = POLLIN;
	}
	return ret;
}

uint64_t roost_share_go_on(struct roost_share_port *p,
			   const struct roost_share_facts *facts,
			   uint64_t now_ns)
{
	if (!p->away.is_recovering)
		return UINT64_MAX;
	if (facts->is_recovering == 1 && now_ns < p->away.until_ns)
		return p->away.until_ns;
	p->away.is_recovering = false;
	roost_port_set_still(p->base.dev, p->base.port_num, false, now_ns);
	return UINT64_MAX;
}

static void give_up(struct roost_share_port *p, const char *why)
{
	p->watch.events = 0;
	roost_port_set_link(p->base.dev, p->base.port_num, ROOST_PORT_DOWN,
			    p->facts.ip_mtu_bytes, p->facts.speed_mbps);
	roost_share_port_end(p, why);
}

static void refused(struct roost_share_port *p, const char *cause)
{
	char why[ROOST_SHARE_REASON_MAX + 64];

	snprintf(why, sizeof(why), "its daemon does not take it back: %s",
		 cause);
	give_up(p, why);
}

/* While it has asked, the socket wakes it. */
static uint64_t next_try(struct roost_share_port *p, uint64_t now_ns)
{
	const bool is_soon = now_ns - p->away.since_ns < SOON_NS;

	p->away.try_at_ns = now_ns + (is_soon ? TRY_NS : TRY_LATER_NS);
	p->watch.fd = roost_share_session_fd(p->session);
	p->watch.events = p->watch.fd >= 0 ? POLLIN : 0;
	return p->away.try_at_ns;
}

uint64_t roost_share_come_back(struct roost_share_port *p, uint64_t now_ns)
{
	struct roost_share_grant grant = { .doorbell = -1 };
	char why[ROOST_SHARE_REASON_MAX];
	int ret;

	if (now_ns - p->away.since_ns >=
	    (uint64_t)p->granted.patience_ms * 1000000) {
		give_up(p, "its daemon has gone");
		return UINT64_MAX;
	}
	roost_share_reserve_seat(p);
	if (p->next_seat == ROOST_SHM_NO_SEAT ||
	    (p->watch.events == 0 && now_ns < p->away.try_at_ns))
		return p->away.try_at_ns > now_ns ? p->away.try_at_ns
						  : now_ns + TRY_NS;
	ret = roost_share_session_again(p->session, p->next_seat, &grant, why);
	if (ret == -EAGAIN)
		return next_try(p, now_ns);
	if (!ret && !is_as_before(p, &grant.attached)) {
		ret = -EPROTO;
		snprintf(why, sizeof(why), "it has other numbers");
	}
	if (!ret) {
		ret = go_over(p, &grant, now_ns);
		snprintf(why, sizeof(why), "%s", strerror(-ret));
	}
	if (ret) {
		roost_share_grant_drop(&grant);
		refused(p, why);
	}
	return UINT64_MAX;
}
