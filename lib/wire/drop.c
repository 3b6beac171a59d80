/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stddef.h>

#include <roost/drop.h>

static const char *const names[] = {
	[ROOST_DROP_NONE] = "none",
	[ROOST_DROP_QINQ] = "qinq",
	[ROOST_DROP_VLAN] = "vlan",
	[ROOST_DROP_LENGTH] = "length",
	[ROOST_DROP_IP_HEADER] = "ip_header",
	[ROOST_DROP_ROCE_V1] = "roce_v1",
	[ROOST_DROP_GROUP_MAC] = "group_mac",
	[ROOST_DROP_FRAGMENT] = "fragment",
	[ROOST_DROP_NOT_OURS] = "not_ours",
	[ROOST_DROP_ICRC] = "icrc",
	[ROOST_DROP_TVER] = "tver",
	[ROOST_DROP_OPCODE] = "opcode",
	[ROOST_DROP_HDR_LEN] = "hdr_len",
	[ROOST_DROP_QPN_ZERO] = "qpn_zero",
	[ROOST_DROP_QPN] = "qpn",
	[ROOST_DROP_QP_TYPE] = "qp_type",
	[ROOST_DROP_QP_STATE] = "qp_state",
	[ROOST_DROP_SRC_ADDR] = "src_addr",
	[ROOST_DROP_PKEY] = "pkey",
	[ROOST_DROP_QKEY] = "qkey",
	[ROOST_DROP_OUT_OF_ORDER] = "out_of_order",
	[ROOST_DROP_DUPLICATE] = "duplicate",
	[ROOST_DROP_RNR_WAIT] = "rnr_wait",
	[ROOST_DROP_UNEXPECTED_RESPONSE] = "unexpected_response",
	[ROOST_DROP_INV_REQUEST] = "inv_request",
	[ROOST_DROP_ACCESS] = "access",
	[ROOST_DROP_NO_BUFFER] = "no_buffer",
	[ROOST_DROP_WORKER_BUSY] = "worker_busy",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == ROOST_DROP_COUNT,
	       "one name for each reason");

const char *roost_drop_name(enum roost_drop reason)
{
	const char *name = NULL;

	if ((unsigned int)reason < ROOST_DROP_COUNT)
		name = names[reason];
	return name ? name : "unknown";
}
