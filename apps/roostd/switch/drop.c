/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/drop.h"

static const char *const names[ROOST_SW_DROPS] = {
	[ROOST_SW_OK] = "ok",
	[ROOST_SW_NOT_ROCE] = "not_roce",
	[ROOST_SW_MALFORMED] = "malformed",
	[ROOST_SW_LENGTH] = "length",
	[ROOST_SW_VLAN] = "vlan",
	[ROOST_SW_SRC_MAC] = "src_mac",
	[ROOST_SW_SRC_ADDR] = "src_addr",
	[ROOST_SW_DST_ADDR] = "dst_addr",
	[ROOST_SW_PKEY] = "pkey",
	[ROOST_SW_SRC_QPN] = "src_qpn",
	[ROOST_SW_DST_QPN] = "dst_qpn",
	[ROOST_SW_MAD_ICRC] = "mad_icrc",
	[ROOST_SW_MAD_CLASS] = "mad_class",
	[ROOST_SW_MAD_ID] = "mad_id",
	[ROOST_SW_MAD_QPN] = "mad_qpn",
	[ROOST_SW_MAD_ADDR] = "mad_addr",
	[ROOST_SW_MAD_ANSWER] = "mad_answer",
	[ROOST_SW_MAD_RATE] = "mad_rate",
	[ROOST_SW_MAD_HALF_OPEN] = "mad_half_open",
	[ROOST_SW_MAD_CONNS] = "mad_conns",
	[ROOST_SW_NOT_OURS] = "not_ours",
	[ROOST_SW_NO_QP] = "no_qp",
	[ROOST_SW_NO_CONN] = "no_conn",
	[ROOST_SW_NO_MEMBER] = "no_member",
	[ROOST_SW_CLIENT_FULL] = "client_full",
	[ROOST_SW_PORT_FULL] = "port_full",
};

const char *roost_sw_drop_name(enum roost_sw_drop reason)
{
	if ((unsigned int)reason >= ROOST_SW_DROPS)
		return "unknown";
	return names[reason];
}
