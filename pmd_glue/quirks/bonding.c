/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The quirk of net_bonding.
 *
 * Wrong: some members, such as net_tap, do not tell a bond in active-backup
 * mode that they have lost their link, and the bond continues to send by them.
 * Members may be net_tap: its signals are hidden here, too
 * (pmd_glue/quirks/tap.c). Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: the bond checks the link of all its members.
 */
#include <stdbool.h>

#include <rte_ethdev.h>

#include "pmd_glue/quirks/import.h"
#include "pmd_glue/quirks/quirk.h"
#include "pmd_glue/quirks/rt_signals.h"

static bool has_link(uint16_t id)
{
	struct rte_eth_link link = { 0 };

	return rte_eth_link_get_nowait(id, &link) == 0 &&
	       link.link_status == RTE_ETH_LINK_UP;
}

/* Only for active-backup mode: in other modes the primary has no effect. */
void roost_quirk_move_primary(uint16_t bond, uint16_t member)
{
	int (*primary_get)(uint16_t bond);
	int (*primary_set)(uint16_t bond, uint16_t id);
	int now;

	/* Looked up, so that programs without a bond do not load the library.
	 */
	*(void **)&primary_get = roost_import_find("librte_net_bond.so",
						   "rte_eth_bond_primary_get");
	*(void **)&primary_set = roost_import_find("librte_net_bond.so",
						   "rte_eth_bond_primary_set");
	now = primary_get && primary_set ? primary_get(bond) : -1;
	if (now >= 0 && now != member && !has_link((uint16_t)now))
		primary_set(bond, member);
}

/* The members' driver may be net_tap. */
static void enter(struct roost_quirk_port *port __attribute__((unused)))
{
	roost_rt_signals_hide();
}

const struct roost_quirk roost_quirk_bonding = {
	.enter = enter,
	.leave = roost_rt_signals_show,
	.may_be_member = true,
};
