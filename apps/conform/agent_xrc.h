/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CONFORM_AGENT_XRC_H
#define ROOST_APPS_CONFORM_AGENT_XRC_H

/* What a case with an end of XRC has beside its QP. One thread. */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct agent_xrc {
	/* Of a target; NULL: none. */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint32_t srqn; /* 0: none */
};

/*
 * Makes an initiator or, with its domain and its SRQ, a target. init: as for
 * ibv_create_qp(); the completions of the SRQ go to its recv_cq. NULL, with
 * errno: it fails; agent_xrc_reset() is then needed, too.
 */
struct ibv_qp *agent_xrc_create(struct agent_xrc *xrc, struct ibv_pd *pd,
				const struct ibv_qp_init_attr *init);

/* Behind the end of the QP. */
void agent_xrc_reset(struct agent_xrc *xrc);

#endif
