/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/host_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/addr.h"
#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/arp.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/echo.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/nd.h"

static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const struct roost_gid all_nodes = {
	.b = { [0] = 0xff, [1] = 0x02, [15] = 0x01 },
};

/* ---- frames that we send ----------------------------------------------- */

static void send_arp(const struct roost_host *host, const struct roost_arp *arp,
		     const uint8_t dst_mac[6])
{
	uint8_t frame[ROOST_ARP_FRAME_LEN];
	size_t len = roost_arp_build(arp, dst_mac, frame);

	host->conf.send(host->conf.ctx, frame, len);
}

static void send_nd(const struct roost_host *host, const struct roost_nd *nd,
		    const uint8_t *dst_mac)
{
	uint8_t frame[ROOST_ND_FRAME_MAX];
	uint8_t group_mac[6];
	size_t len;

	if (!dst_mac) {
		roost_gid_multicast_mac(&nd->dst, group_mac);
		dst_mac = group_mac;
	}
	len = roost_nd_build(nd, host->conf.mac, dst_mac, frame);
	host->conf.send(host->conf.ctx, frame, len);
}

static void ask(void *ctx, const struct roost_gid *addr, const uint8_t *mac)
{
	const struct roost_host *host = ctx;
	struct roost_gid source = roost_host_source_for(host, addr);

	if (roost_gid_is_v4(addr)) {
		struct roost_arp arp = {
			.is_request = true,
			.sender_ip = source,
			.target_ip = *addr,
		};

		memcpy(arp.sender_mac, host->conf.mac, 6);
		send_arp(host, &arp, mac ? mac : broadcast);
	} else {
		struct roost_nd nd = {
			.type = ROOST_ND_SOLICIT,
			.src = source,
			.dst = mac ? *addr : roost_nd_solicited_node(addr),
			.target = *addr,
			.has_mac = true,
		};

		memcpy(nd.mac, host->conf.mac, 6);
		send_nd(host, &nd, mac);
	}
}

static void tell_mac(const struct roost_host *host,
		     const struct roost_gid *addr)
{
	struct roost_arp arp = {
		.is_request = true,
		.sender_ip = *addr,
		.target_ip = *addr,
	};
	struct roost_nd nd = {
		.type = ROOST_ND_ADVERT,
		.src = *addr,
		.dst = all_nodes,
		.target = *addr,
		.has_mac = true,
		.override = true,
	};

	if (roost_gid_is_v4(addr)) {
		memcpy(arp.sender_mac, host->conf.mac, 6);
		send_arp(host, &arp, broadcast);
	} else {
		memcpy(nd.mac, host->conf.mac, 6);
		send_nd(host, &nd, NULL);
	}
}

static void announce(const struct roost_host *host,
		     const struct roost_gid *addr)
{
	if (roost_host_answers(host, addr))
		tell_mac(host, addr);
}

/* ---- frames that we receive -------------------------------------------- */

static void update_neigh(struct roost_host *host,
			 const struct roost_neigh_msg *word, uint64_t now_ns)
{
	pthread_mutex_lock(&host->lock);
	if (roost_neigh_update(host->neighs, word, now_ns))
		pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
}

/* Another station, mac, claims our address addr. */
static void check_claim(struct roost_host *host, const struct roost_gid *addr,
			const uint8_t mac[6], uint64_t now_ns)
{
	struct roost_conflict_advice advice;

	/* The kernel defends the addresses that it owns. */
	if (!roost_host_answers(host, addr))
		return;
	advice = roost_conflict_add_claim(&host->conflicts, addr, now_ns);
	if (advice.defend)
		tell_mac(host, addr);
	if (advice.tell && host->conf.conflict)
		host->conf.conflict(host->conf.ctx, addr, mac);
}

/* Is it 0.0.0.0, the sender of a probe (RFC 5227)? */
static bool is_nobody(const struct roost_gid *v4)
{
	return roost_be32_get(&v4->b[12]) == 0;
}

static void input_arp(struct roost_host *host, const uint8_t *frame,
		      size_t len_bytes, uint64_t now_ns)
{
	struct roost_neigh_msg word = { .override = true };
	struct roost_arp arp, reply = { 0 };
	bool for_us;

	if (roost_arp_parse(frame, len_bytes, &arp) ||
	    memcmp(arp.sender_mac, host->conf.mac, 6) == 0)
		return;
	for_us = roost_host_is_ours(host, &arp.target_ip);
	if (roost_host_is_ours(host, &arp.sender_ip)) {
		check_claim(host, &arp.sender_ip, arp.sender_mac, now_ns);
		return;
	}
	if (!is_nobody(&arp.sender_ip)) {
		if (!roost_route_is_unicast(&host->conf.routes.on_link,
					    &arp.sender_ip))
			return;
		word.addr = arp.sender_ip;
		memcpy(word.mac, arp.sender_mac, 6);
		word.solicited = !arp.is_request && for_us;
		word.create = arp.is_request && for_us;
		update_neigh(host, &word, now_ns);
	}
	if (!arp.is_request || !roost_host_answers(host, &arp.target_ip))
		return;
	reply.sender_ip = arp.target_ip;
	reply.target_ip = arp.sender_ip;
	memcpy(reply.sender_mac, host->conf.mac, 6);
	memcpy(reply.target_mac, arp.sender_mac, 6);
	send_arp(host, &reply, arp.sender_mac);
}

static void answer_solicit(struct roost_host *host, const struct roost_nd *nd,
			   const uint8_t src_mac[6])
{
	bool to_all = roost_gid_is_zero(&nd->src);
	struct roost_nd reply = {
		.type = ROOST_ND_ADVERT,
		.src = nd->target,
		.dst = to_all ? all_nodes : nd->src,
		.target = nd->target,
		.has_mac = true,
		.solicited = !to_all,
		.override = true,
	};

	memcpy(reply.mac, host->conf.mac, 6);
	if (to_all)
		send_nd(host, &reply, NULL);
	else
		send_nd(host, &reply, nd->has_mac ? nd->mac : src_mac);
}

static void input_nd(struct roost_host *host, const uint8_t *frame,
		     const struct roost_nd *nd, uint64_t now_ns)
{
	const uint8_t *src_mac = roost_ether_src(frame);
	struct roost_neigh_msg word = { .override = true };

	if (memcmp(src_mac, host->conf.mac, 6) == 0 ||
	    !roost_mac_is_station(src_mac))
		return;
	/* An advertisement without the option confirms the known MAC (RFC 4861,
	 * 7.2.5): use the source MAC of the frame.
	 */
	memcpy(word.mac, nd->has_mac ? nd->mac : src_mac, 6);
	if (nd->type == ROOST_ND_ADVERT) {
		word.addr = nd->target;
		word.solicited = nd->solicited;
		word.override = nd->override && nd->has_mac;
		if (roost_host_is_ours(host, &nd->target))
			check_claim(host, &nd->target, word.mac, now_ns);
		else
			update_neigh(host, &word, now_ns);
		return;
	}
	if (roost_host_is_ours(host, &nd->src)) {
		check_claim(host, &nd->src, word.mac, now_ns);
		return;
	}
	if (!roost_host_is_ours(host, &nd->target))
		return;
	if (nd->has_mac) {
		word.addr = nd->src;
		word.create = true;
		update_neigh(host, &word, now_ns);
	}
	if (roost_host_answers(host, &nd->target))
		answer_solicit(host, nd, src_mac);
}

void roost_host_input(struct roost_host *host, uint8_t *frame, size_t len_bytes,
		      uint64_t now_ns)
{
	struct roost_echo echo;
	struct roost_nd nd;

	if (len_bytes < ROOST_ETH_LEN)
		return;
	if (roost_ether_type(frame) == RTE_ETHER_TYPE_ARP) {
		input_arp(host, frame, len_bytes, now_ns);
	} else if (roost_nd_parse(frame, len_bytes, &nd) == 0) {
		input_nd(host, frame, &nd, now_ns);
	} else if (memcmp(frame, host->conf.mac, 6) == 0 &&
		   roost_echo_parse(frame, len_bytes, &echo) == 0 &&
		   roost_host_answers(host, &echo.dst)) {
		roost_echo_reply(&echo, frame);
		host->conf.send(host->conf.ctx, frame, echo.len_bytes);
	} else {
		roost_host_input_ping(host, frame, len_bytes, now_ns);
	}
}

/* ---- neighbours -------------------------------------------------------- */

static void crowded(void *ctx, const uint8_t *mac)
{
	roost_host_tell_crowd(ctx,
			      mac ? ROOST_CROWD_OF_STATION
				  : ROOST_CROWD_OF_CLAIMS,
			      mac);
}

/* Under the lock. */
static void silent(void *ctx, const struct roost_gid *addr, uint64_t tried_ns)
{
	struct roost_host *host = ctx;

	if (host->nb_silent == ROOST_HOST_SILENT_MAX)
		return;
	host->silent[host->nb_silent].addr = *addr;
	host->silent[host->nb_silent].dgid =
		roost_gid_eq(addr, &host->via) ? host->via_dgid : *addr;
	host->silent[host->nb_silent++].tried_ns = tried_ns;
}

/* Not under the lock: the report takes long. */
static void tell_silent(struct roost_host *host)
{
	struct roost_unreached what = { .cause = ROOST_UNREACHED_NO_NEIGH };

	for (unsigned int i = 0; i < host->nb_silent; i++) {
		what.dgid = host->silent[i].dgid;
		what.tried_ns = host->silent[i].tried_ns;
		if (host->conf.unreached)
			host->conf.unreached(host->conf.ctx, &what,
					     &host->silent[i].addr);
	}
	host->nb_silent = 0;
}

uint64_t roost_host_tick(struct roost_host *host, uint64_t now_ns)
{
	uint64_t next_ns;
	bool failed;

	pthread_mutex_lock(&host->lock);
	next_ns = roost_neigh_tick(host->neighs, now_ns, &failed);
	host->due_ns = next_ns;
	pthread_mutex_unlock(&host->lock);
	/* Report first: the threads that wait may end the process. */
	tell_silent(host);
	if (!failed)
		return next_ns;
	pthread_mutex_lock(&host->lock);
	pthread_cond_broadcast(&host->changed);
	pthread_mutex_unlock(&host->lock);
	return next_ns;
}

void roost_host_link_up(struct roost_host *host, uint64_t now_ns)
{
	const struct roost_prefixes *own = &host->conf.routes.on_link;

	announce(host, &host->link_local);
	for (unsigned int i = 0; i < own->nb; i++)
		announce(host, &own->v[i].gid);
	pthread_mutex_lock(&host->lock);
	roost_neigh_link_up(host->neighs, now_ns);
	pthread_mutex_unlock(&host->lock);
}

void roost_host_set_addrs(struct roost_host *host,
			  const struct roost_prefixes *addrs)
{
	struct roost_prefixes *own = &host->conf.routes.on_link;
	struct roost_prefixes before = *own;

	pthread_mutex_lock(&host->lock);
	*own = *addrs;
	pthread_mutex_unlock(&host->lock);
	for (unsigned int i = 0; i < addrs->nb; i++)
		if (roost_prefixes_find(&before, &addrs->v[i].gid) == before.nb)
			announce(host, &addrs->v[i].gid);
}

void roost_host_set_mac(struct roost_host *host, const uint8_t mac[6])
{
	const struct roost_prefixes *own = &host->conf.routes.on_link;
	uint16_t gen = (uint16_t)atomic_load(&host->self.mac_gen);

	pthread_mutex_lock(&host->lock);
	memcpy(host->conf.mac, mac, sizeof(host->conf.mac));
	host->link_local = roost_nd_link_local(mac);
	atomic_store(&host->self.mac_gen,
		     roost_neigh_mac_gen(mac, (uint16_t)(gen + 1)));
	roost_neigh_renew(host->neighs);
	pthread_mutex_unlock(&host->lock);
	tell_mac(host, &host->link_local);
	for (unsigned int i = 0; i < own->nb; i++)
		tell_mac(host, &own->v[i].gid);
}

/* ---- life -------------------------------------------------------------- */

int roost_host_create(const struct roost_host_conf *conf,
		      struct roost_host **host)
{
	struct roost_host *h = calloc(1, sizeof(*h));
	struct roost_neigh_conf neighs = {
		.ask = ask,
		.crowded = crowded,
		.silent = silent,
		.ctx = h,
	};
	pthread_condattr_t attr;
	int ret;

	if (!h)
		return -ENOMEM;
	h->conf = *conf;
	h->due_ns = UINT64_MAX;
	h->link_local = roost_nd_link_local(conf->mac);
	atomic_init(&h->self.mac_gen, roost_neigh_mac_gen(conf->mac, 1));
	ret = roost_neigh_cache_create(&neighs, &h->neighs);
	if (ret) {
		free(h);
		return ret;
	}
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->changed, &attr);
	pthread_condattr_destroy(&attr);
	*host = h;
	return 0;
}

void roost_host_destroy(struct roost_host *host)
{
	roost_neigh_cache_destroy(host->neighs);
	pthread_cond_destroy(&host->changed);
	pthread_mutex_destroy(&host->lock);
	free(host);
}
