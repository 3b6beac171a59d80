/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/engine/qp_priv.h"

#define BASE(op) (ROOST_OPCODE_RC_##op & 0x1f)

static const struct roost_wr_info infos[ROOST_WR_OPCODE_COUNT] = {
	[ROOST_WR_SEND] = {
		.qp_types = 1 << ROOST_QPT_RC,
		.wc_opcode = ROOST_WC_SEND,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST),
		.only = BASE(SEND_ONLY),
	},
	[ROOST_WR_SEND_IMM] = {
		.qp_types = 1 << ROOST_QPT_RC,
		.wc_opcode = ROOST_WC_SEND,
		.first = BASE(SEND_FIRST),
		.middle = BASE(SEND_MIDDLE),
		.last = BASE(SEND_LAST_IMM),
		.only = BASE(SEND_ONLY_IMM),
		.has_imm = true,
	},
};

const struct roost_wr_info *roost_wr_info(enum roost_wr_opcode opcode)
{
	if (opcode >= ROOST_WR_OPCODE_COUNT || infos[opcode].qp_types == 0)
		return NULL;
	return &infos[opcode];
}
