/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Requests without packets, which act on this end only.
 */

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/transport/req_priv.h"

enum roost_qp_error_code roost_req_local(struct roost_qp *qp,
					 const struct roost_send_wqe *wqe)
{
	if (wqe->opcode == ROOST_WR_BIND_MW)
		return roost_mw_bind(qp->dev, qp->pd, qp->qpn,
				     roost_wqe_spill(qp, wqe))
			       ? ROOST_QPE_NONE
			       : ROOST_QPE_BIND_REFUSED;
	if (!roost_mw_may_invalidate(qp->dev, qp->pd, qp->qpn, wqe->imm_be))
		return ROOST_QPE_BIND_REFUSED;
	roost_mw_invalidate(qp->dev, wqe->imm_be);
	return ROOST_QPE_NONE;
}
