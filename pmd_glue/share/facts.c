/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What the daemon knows of the port, applied to the engine's port. */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/route.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/port_priv.h"

/* An address that a port can have; a group or zero is none. */
static bool is_gid(const struct roost_gid *gid)
{
	return !roost_gid_is_zero(gid) && !roost_gid_is_multicast(gid);
}

/* No table has one entry twice; the first one counts. */
static void check_gids(struct roost_share_facts *facts)
{
	static const struct roost_gid none;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		bool keep = is_gid(&facts->gids[i]);

		for (unsigned int j = 0; keep && j < i; j++)
			keep = !roost_gid_eq(&facts->gids[i], &facts->gids[j]);
		if (!keep)
			facts->gids[i] = none;
		if (!keep || facts->gid_len_bits[i] == 0 ||
		    facts->gid_len_bits[i] >
			    (roost_gid_is_v4(&facts->gids[i]) ? 32 : 128))
			facts->gid_len_bits[i] =
				roost_gid_is_v4(&facts->gids[i]) ? 32 : 128;
	}
}

static void check_pkeys(struct roost_share_facts *facts)
{
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		for (unsigned int j = 0; j < i; j++)
			if (((facts->pkeys[i] ^ facts->pkeys[j]) & 0x7fff) == 0)
				facts->pkeys[i] = 0;
}

static uint32_t limit(uint32_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : value;
}

int roost_share_facts_get(const struct roost_share_page *page,
			  struct roost_share_facts *facts)
{
	uint32_t generation;
	int ret = roost_share_page_read(page, facts, &generation);

	if (ret)
		return ret;
	facts->ip_mtu_bytes =
		limit(facts->ip_mtu_bytes, ROOST_PORT_MTU_MIN_BYTES,
		      ROOST_PORT_MTU_MAX_BYTES);
	check_gids(facts);
	check_pkeys(facts);
	return 0;
}

static bool is_among(const struct roost_share_facts *facts,
		     const struct roost_gid *gid)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (roost_gid_eq(&facts->gids[i], gid))
			return true;
	return false;
}

/* An address that moves to another entry is taken out first: no table has it
 * twice meanwhile. Others are replaced in one step, with one event.
 */
static void apply_gids(struct roost_share_port *p,
		       const struct roost_share_facts *facts)
{
	static const struct roost_gid none;
	struct roost_dev *dev = p->base.dev;
	struct roost_gid now;

	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		roost_port_query_gid(dev, p->base.port_num, i, &now);
		if (!roost_gid_is_zero(&now) &&
		    !roost_gid_eq(&now, &facts->gids[i]) &&
		    is_among(facts, &now))
			roost_port_set_gid(dev, p->base.port_num, i, &none);
	}
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		roost_port_set_gid(dev, p->base.port_num, i, &facts->gids[i]);
}

static void apply_pkeys(struct roost_share_port *p,
			const struct roost_share_facts *facts)
{
	struct roost_dev *dev = p->base.dev;
	uint16_t now;

	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++) {
		roost_port_query_pkey(dev, p->base.port_num, i, &now);
		if (now != facts->pkeys[i] &&
		    roost_port_set_pkey(dev, p->base.port_num, i, 0) != 0)
			return;
	}
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		roost_port_set_pkey(dev, p->base.port_num, i, facts->pkeys[i]);
}

static void apply_mac(struct roost_share_port *p,
		      const struct roost_share_facts *facts)
{
	uint8_t now[6];

	roost_port_query_mac(p->base.dev, p->base.port_num, now);
	if (memcmp(now, facts->mac, sizeof(now)) != 0)
		roost_port_set_mac(p->base.dev, p->base.port_num, facts->mac);
}

/* With an address of its own, a client has no other one of the port's. */
static void keep_own(struct roost_share_facts *facts,
		     const struct roost_gid *own)
{
	static const struct roost_gid none;

	if (roost_gid_is_zero(own))
		return;
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (!roost_gid_eq(&facts->gids[i], own))
			facts->gids[i] = none;
}

void roost_share_facts_apply(struct roost_share_port *p,
			     const struct roost_share_facts *facts)
{
	static const uint8_t none[6];
	struct roost_share_facts checked = *facts;
	const bool was_active = p->facts.is_active;

	keep_own(&checked, &p->granted.own_gid);
	if ((checked.mac[0] & 1) != 0 || memcmp(checked.mac, none, 6) == 0)
		memcpy(checked.mac, p->granted.mac, sizeof(checked.mac));
	apply_mac(p, &checked);
	apply_gids(p, &checked);
	apply_pkeys(p, &checked);
	if (checked.nb_refusals != p->facts.nb_refusals)
		roost_dev_refused(p->base.dev, &checked.refused);
	pthread_mutex_lock(&p->lock);
	p->facts = checked;
	pthread_mutex_unlock(&p->lock);
	/* Last: who sees the port up can use it. */
	roost_port_set_link(p->base.dev, p->base.port_num,
			    checked.is_active == 1 ? ROOST_PORT_ACTIVE
						   : ROOST_PORT_DOWN,
			    checked.ip_mtu_bytes, checked.speed_mbps);
	if (checked.is_active && !was_active)
		roost_port_carrier_up(p->base.dev);
}

/* The port is removed for ever. */
void roost_share_port_end(struct roost_share_port *p, const char *why)
{
	if (p->removed)
		return;
	roost_report("%s: %s; the device is gone: start the program again",
		     p->base.label, why);
	pthread_mutex_lock(&p->lock);
	p->removed = true;
	pthread_mutex_unlock(&p->lock);
	roost_port_remove(p->base.dev, p->base.port_num);
	if (p->away.is_away)
		roost_share_session_give_up(p->session);
	p->away.is_away = p->away.is_recovering = false;
	roost_port_set_still(p->base.dev, p->base.port_num, false,
			     roost_now_ns());
}

void roost_share_routes(struct roost_share_port *p, struct roost_routes *routes,
			struct roost_gid *link_local)
{
	struct roost_prefixes *on_link = &routes->on_link;

	memset(routes, 0, sizeof(*routes));
	pthread_mutex_lock(&p->lock);
	*link_local = roost_nd_link_local(p->facts.mac);
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (!roost_gid_is_zero(&p->facts.gids[i]) &&
		    !roost_gid_eq(&p->facts.gids[i], link_local) &&
		    on_link->nb < ROOST_PORT_IPS_MAX)
			on_link->v[on_link->nb++] = (struct roost_prefix){
				.gid = p->facts.gids[i],
				.len_bits = p->facts.gid_len_bits[i],
			};
	pthread_mutex_unlock(&p->lock);
}
