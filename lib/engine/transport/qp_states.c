/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * What follows from the type of a QP: its service, and the modify table of IBTA
 * 11.2.4.2, the required and optional attributes of each change of state.
 */

#include "lib/engine/transport/qp_priv.h"

const uint8_t roost_qp_services[ROOST_QPT_COUNT] = {
	[ROOST_QPT_RC] = ROOST_SERVICE_RC,
	[ROOST_QPT_UC] = ROOST_SERVICE_UC,
	[ROOST_QPT_UD] = ROOST_SERVICE_UD,
	[ROOST_QPT_XRC_INI] = ROOST_SERVICE_XRC,
	[ROOST_QPT_XRC_TGT] = ROOST_SERVICE_XRC,
	/* No packet on the wire is of its service (rx.c). */
	[ROOST_QPT_RAW] = ROOST_SERVICE_UD,
};

#define RC ROOST_QPT_RC
#define UC ROOST_QPT_UC
#define UD ROOST_QPT_UD
#define XI ROOST_QPT_XRC_INI
#define XT ROOST_QPT_XRC_TGT
#define RAW ROOST_QPT_RAW

#define CUR ROOST_QP_CUR_STATE
#define NOTIFY ROOST_QP_EN_SQD_ASYNC_NOTIFY
#define ACCESS ROOST_QP_ACCESS_FLAGS
#define PKEY ROOST_QP_PKEY_INDEX
#define PORT ROOST_QP_PORT
#define QKEY ROOST_QP_QKEY
#define AV ROOST_QP_AV
#define MTU ROOST_QP_PATH_MTU
#define TIMEOUT ROOST_QP_TIMEOUT
#define RETRY ROOST_QP_RETRY_CNT
#define RNR ROOST_QP_RNR_RETRY
#define RQPSN ROOST_QP_RQ_PSN
#define RD ROOST_QP_MAX_QP_RD_ATOMIC
#define ALT ROOST_QP_ALT_PATH
#define RNRTMR ROOST_QP_MIN_RNR_TIMER
#define SQPSN ROOST_QP_SQ_PSN
#define DESTRD ROOST_QP_MAX_DEST_RD_ATOMIC
#define MIG ROOST_QP_PATH_MIG_STATE
#define DESTQP ROOST_QP_DEST_QPN
#define RATE ROOST_QP_RATE_LIMIT

struct transition {
	bool valid;
	uint32_t required[ROOST_QPT_COUNT];
	uint32_t optional[ROOST_QPT_COUNT];
};

#define EVERY_TYPE(m)                                                          \
	{                                                                      \
		[RC] = m, [UC] = m, [UD] = m, [XI] = m, [XT] = m, [RAW] = m    \
	}

static const struct transition table[ROOST_QPS_COUNT][ROOST_QPS_COUNT] = {
	[ROOST_QPS_RESET] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_INIT] = {
			.valid = true,
			.required = {
				[RC] = PKEY | PORT | ACCESS,
				[UC] = PKEY | PORT | ACCESS,
				[UD] = PKEY | PORT | QKEY,
				[XI] = PKEY | PORT | ACCESS,
				[XT] = PKEY | PORT | ACCESS,
				[RAW] = PORT,
			},
		},
	},
	[ROOST_QPS_INIT] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_INIT] = {
			.valid = true,
			.optional = {
				[RC] = PKEY | PORT | ACCESS,
				[UC] = PKEY | PORT | ACCESS,
				[UD] = PKEY | PORT | QKEY,
				[XI] = PKEY | PORT | ACCESS,
				[XT] = PKEY | PORT | ACCESS,
				[RAW] = PORT,
			},
		},
		[ROOST_QPS_RTR] = {
			.valid = true,
			.required = {
				[RC] = AV | MTU | DESTQP | RQPSN | DESTRD |
				       RNRTMR,
				[UC] = AV | MTU | DESTQP | RQPSN,
				[XI] = AV | MTU | DESTQP | RQPSN,
				[XT] = AV | MTU | DESTQP | RQPSN | DESTRD |
				       RNRTMR,
			},
			.optional = {
				[RC] = ALT | ACCESS | PKEY,
				[UC] = ALT | ACCESS | PKEY,
				[UD] = PKEY | QKEY,
				[XI] = ALT | ACCESS | PKEY,
				[XT] = ALT | ACCESS | PKEY,
			},
		},
	},
	[ROOST_QPS_RTR] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_RTS] = {
			.valid = true,
			.required = {
				[RC] = TIMEOUT | RETRY | RNR | SQPSN | RD,
				[UC] = SQPSN,
				[UD] = SQPSN,
				[XI] = TIMEOUT | RETRY | RNR | SQPSN | RD,
				[XT] = TIMEOUT | SQPSN,
			},
			.optional = {
				[RC] = CUR | ALT | ACCESS | RNRTMR | MIG | RATE,
				[UC] = CUR | ALT | ACCESS | MIG | RATE,
				[UD] = CUR | QKEY | RATE,
				[XI] = CUR | ALT | ACCESS | MIG | RATE,
				[XT] = CUR | ALT | ACCESS | RNRTMR | MIG,
				[RAW] = CUR | RATE,
			},
		},
	},
	[ROOST_QPS_RTS] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_RTS] = {
			.valid = true,
			.optional = {
				[RC] = CUR | ACCESS | ALT | RNRTMR | MIG | RATE,
				[UC] = CUR | ACCESS | ALT | MIG | RATE,
				[UD] = CUR | QKEY | RATE,
				[XI] = CUR | ACCESS | ALT | MIG | RATE,
				[XT] = CUR | ACCESS | ALT | RNRTMR | MIG,
				[RAW] = CUR | RATE,
			},
		},
		[ROOST_QPS_SQD] = {
			.valid = true,
			.optional = EVERY_TYPE(NOTIFY),
		},
	},
	[ROOST_QPS_SQD] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_RTS] = {
			.valid = true,
			.optional = {
				[RC] = CUR | ALT | ACCESS | RNRTMR | MIG | RATE,
				[UC] = CUR | ALT | ACCESS | MIG | RATE,
				[UD] = CUR | QKEY | RATE,
				[XI] = CUR | ALT | ACCESS | MIG | RATE,
				[XT] = CUR | ALT | ACCESS | RNRTMR | MIG,
				[RAW] = CUR | RATE,
			},
		},
		[ROOST_QPS_SQD] = {
			.valid = true,
			.optional = {
				[RC] = PORT | AV | TIMEOUT | RETRY | RNR | RD |
				       DESTRD | ALT | ACCESS | PKEY | RNRTMR |
				       MIG | RATE,
				[UC] = AV | ALT | ACCESS | PKEY | MIG | RATE,
				[UD] = PKEY | QKEY | RATE,
				[XI] = PORT | AV | TIMEOUT | RETRY | RNR | RD |
				       ALT | ACCESS | PKEY | MIG | RATE,
				[XT] = PORT | AV | TIMEOUT | DESTRD | ALT |
				       ACCESS | PKEY | RNRTMR | MIG,
				[RAW] = RATE,
			},
		},
	},
	[ROOST_QPS_SQE] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
		[ROOST_QPS_RTS] = {
			.valid = true,
			.optional = {
				[UC] = CUR | ACCESS,
				[UD] = CUR | QKEY,
				[RAW] = CUR,
			},
		},
	},
	[ROOST_QPS_ERR] = {
		[ROOST_QPS_RESET] = { .valid = true },
		[ROOST_QPS_ERR] = { .valid = true },
	},
};

bool roost_qp_modify_allowed(enum roost_qp_type type, enum roost_qp_state from,
			     enum roost_qp_state to, uint32_t mask)
{
	const struct transition *t;

	if (from >= ROOST_QPS_COUNT || to >= ROOST_QPS_COUNT)
		return false;
	t = &table[from][to];
	if (!t->valid || (mask & t->required[type]) != t->required[type])
		return false;
	return (mask &
		~(t->required[type] | t->optional[type] | ROOST_QP_STATE)) == 0;
}
