/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_STATE_H
#define ROOST_CM_STATE_H

/*
 * The state machine of a connection (IBTA 12.9.5, 12.9.6, 12.11.2): a table
 * [state][input], and a small one for the alternate path of an established
 * connection (12.8). Pure: a step names actions, which cm/step.c executes.
 */

#include <stdbool.h>

enum roost_cm_state {
	ROOST_CM_IDLE,
	/* Active side. */
	ROOST_CM_REQ_SENT,
	ROOST_CM_MRA_REQ_RCVD, /* the peer asked for more time to reply */
	ROOST_CM_REP_RCVD,
	/* Passive side. */
	ROOST_CM_REQ_HELD, /* not passed to a listener: next hop back unknown */
	ROOST_CM_REQ_RCVD,
	ROOST_CM_REJ_SENT, /* keeps the answer for duplicates */
	ROOST_CM_REP_SENT,
	ROOST_CM_MRA_REP_RCVD,
	/* Both. */
	ROOST_CM_ESTAB,
	ROOST_CM_DREQ_SENT,
	ROOST_CM_DREQ_RCVD,
	ROOST_CM_TIMEWAIT,
	/* Datagram services. */
	ROOST_CM_SIDR_REQ_SENT,
	ROOST_CM_SIDR_REQ_RCVD,
	ROOST_CM_SIDR_REPLIED, /* keeps the answer for duplicates */
	ROOST_CM_STATES,
};

enum roost_cm_input {
	/* Calls of the owner. */
	ROOST_CM_DO_CONNECT,
	ROOST_CM_DO_ACCEPT,
	ROOST_CM_DO_ESTABLISH,
	ROOST_CM_DO_REJECT,
	ROOST_CM_DO_MRA,
	ROOST_CM_DO_COMM_EST,
	ROOST_CM_DO_DISCONNECT,
	ROOST_CM_DO_SIDR_REQ,
	ROOST_CM_DO_SIDR_REP,
	ROOST_CM_DO_DESTROY,
	/* Messages of the peer. */
	ROOST_CM_GOT_REQ, /* again */
	ROOST_CM_GOT_MRA_REQ,
	ROOST_CM_GOT_MRA_REP,
	ROOST_CM_GOT_REJ,
	ROOST_CM_GOT_REJ_STALE,
	ROOST_CM_GOT_REP,
	ROOST_CM_GOT_RTU,
	ROOST_CM_GOT_DREQ,
	ROOST_CM_GOT_DREP,
	ROOST_CM_GOT_SIDR_REQ, /* again */
	ROOST_CM_GOT_SIDR_REP,
	/* The peer has forgotten this connection: a new one has its QPN. */
	ROOST_CM_GOT_STALE,
	/* The connection is half-open, and another one needs its place. */
	ROOST_CM_CROWDED_OUT,
	/* Timers. */
	ROOST_CM_TRIES_SPENT,
	/* End of timewait, of a kept answer, or of a held request. */
	ROOST_CM_TIME_OVER,
	ROOST_CM_INPUTS,
};

/* Actions of a step, besides the next state; bits, executed in this order. */
enum roost_cm_action {
	ROOST_CM_ACT_STOP = 1 << 0,        /* stop retransmitting */
	ROOST_CM_ACT_SEND = 1 << 1,        /* send the input's message */
	ROOST_CM_ACT_REPEAT = 1 << 2,      /* send the last message once more */
	ROOST_CM_ACT_RETRY = 1 << 3,       /* retransmit it until an answer
					    * comes */
	ROOST_CM_ACT_WAIT_MRA = 1 << 4,    /* wait as long as the MRA says */
	ROOST_CM_ACT_MRA = 1 << 5,         /* send MRA */
	ROOST_CM_ACT_REJ_STALE = 1 << 6,   /* REJ 10 */
	ROOST_CM_ACT_REJ_USER = 1 << 7,    /* REJ 28 */
	ROOST_CM_ACT_REJ_TIMEOUT = 1 << 8, /* REJ 4 */
	ROOST_CM_ACT_DREQ = 1 << 9,        /* once */
	ROOST_CM_ACT_DREP = 1 << 10,
	ROOST_CM_ACT_SIDR_REJ = 1 << 11, /* SIDR_REP, status 2 */
	ROOST_CM_ACT_FORGET = 1 << 12,   /* free the peer's numbers in the
					  * tables */
	ROOST_CM_ACT_TIMEWAIT = 1 << 13,
	ROOST_CM_ACT_KEEP = 1 << 14, /* keep the answer for duplicates */
};

#define ROOST_CM_NO_EVENT 0xffu

struct roost_cm_step {
	bool valid; /* false: the message is dropped, the call is -EINVAL */
	unsigned char next;   /* enum roost_cm_state */
	unsigned char event;  /* enum roost_cm_event_type, or NO_EVENT */
	unsigned int actions; /* enum roost_cm_action */
};

const struct roost_cm_step *roost_cm_step(enum roost_cm_state state,
					  enum roost_cm_input input);
const char *roost_cm_state_name(enum roost_cm_state state);

/* ---- the alternate path, while ESTAB ----------------------------------- */

enum roost_cm_lap_state {
	ROOST_CM_LAP_NONE,
	ROOST_CM_LAP_IDLE, /* an alternate path has been loaded */
	ROOST_CM_LAP_SENT,
	ROOST_CM_LAP_MRA_RCVD,
	ROOST_CM_LAP_RCVD,
	ROOST_CM_LAP_STATES,
};

enum roost_cm_lap_input {
	ROOST_CM_DO_LAP,
	ROOST_CM_DO_APR,
	ROOST_CM_GOT_LAP,
	ROOST_CM_GOT_APR,
	ROOST_CM_GOT_MRA_LAP,
	ROOST_CM_LAP_TRIES_SPENT,
	ROOST_CM_LAP_INPUTS,
};

const struct roost_cm_step *roost_cm_lap_step(enum roost_cm_lap_state state,
					      enum roost_cm_lap_input input);

#endif
