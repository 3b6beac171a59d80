/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_QP_MASKS_H
#define ROOST_TESTS_QP_MASKS_H

/*
 * What each type of QP must be given on its way to RTS, and what it cannot
 * take: the attributes of each change of state, besides the state itself. INIT
 * takes the port and the P_Key index as well.
 */

#include <roost/qp.h>

static const struct {
	uint32_t init, rtr, rts;
} qp_masks[ROOST_QPT_COUNT] = {
#define CONNECTED                                                              \
	(ROOST_QP_AV | ROOST_QP_PATH_MTU | ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN)
#define RESPONDS (ROOST_QP_MAX_DEST_RD_ATOMIC | ROOST_QP_MIN_RNR_TIMER)
#define REQUESTS                                                               \
	(ROOST_QP_SQ_PSN | ROOST_QP_TIMEOUT | ROOST_QP_RETRY_CNT |             \
	 ROOST_QP_RNR_RETRY | ROOST_QP_MAX_QP_RD_ATOMIC)
	[ROOST_QPT_RC] = { ROOST_QP_ACCESS_FLAGS, CONNECTED | RESPONDS,
			   REQUESTS },
	[ROOST_QPT_UC] = { ROOST_QP_ACCESS_FLAGS, CONNECTED, ROOST_QP_SQ_PSN },
	[ROOST_QPT_UD] = { ROOST_QP_QKEY, 0, ROOST_QP_SQ_PSN },
	[ROOST_QPT_XRC_INI] = { ROOST_QP_ACCESS_FLAGS, CONNECTED, REQUESTS },
	[ROOST_QPT_XRC_TGT] = { ROOST_QP_ACCESS_FLAGS, CONNECTED | RESPONDS,
				ROOST_QP_SQ_PSN | ROOST_QP_TIMEOUT },
};

#undef CONNECTED
#undef RESPONDS
#undef REQUESTS

#endif
