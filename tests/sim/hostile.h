/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_HOSTILE_H
#define ROOST_TESTS_SIM_HOSTILE_H

/*
 * The catalogue of malformed and hostile packets: what a packet is made of, and
 * everything that may come of it. hostile_access.c and the other tables have
 * the rows, test_hostile.c sends them.
 *
 * Each row has a world of its own: a target QP with one receive of
 * HOSTILE_RECV_BYTES posted, and a region of HOSTILE_MEM_BYTES. Path MTU 1024,
 * max_dest_rd_atomic 2.
 */

#include "tests/sim/raw.h"

#define HOSTILE_RECV_BYTES 2000u
#define HOSTILE_MEM_BYTES 8192u

/* What the target has gone through before. */
enum hostile_before {
	NOTHING,
	SEND_BEGUN,  /* SEND first came */
	WRITE_BEGUN, /* WRITE first of 3000 came */
	IMM_BEGUN,   /* the same, and no receive is left */
	READ_DONE,   /* a READ of 3000 at offset 0 was answered */
	ADD_DONE,    /* a fetch-and-add of 1 was answered */
	WRITE_DONE,  /* a WRITE of 16 at offset 0 was executed */
	GAP_NAKED,   /* a sequence NAK was sent */
	NO_RECEIVE,  /* the receive queue is empty */
	TWO_READS,   /* in the same burst: both slots are taken */
	IN_RESET,
	IN_INIT,
	IN_ERR,
	/* The target is the requester, with this in flight. */
	SENT_SEND,
	SENT_READ, /* of 3000: three responses */
	SENT_ADD,
	SENT_WRITE, /* three packets */
	SENT_NOTHING,
};

enum hostile_key {
	KEY_GOOD, /* every access */
	KEY_RANDOM,
	KEY_ZERO,
	KEY_OTHER_PD,
	KEY_DEAD, /* of a region that was deregistered */
	KEY_READ_ONLY,
	KEY_NO_ACCESS,  /* for local use */
	KEY_MW,         /* of a type 2 window on it, bound to the target */
	KEY_MW_OTHER,   /* bound to another QP */
	KEY_MW_UNBOUND, /* invalidated */
	KEY_MW_OLD_TAG,
};

enum hostile_from {
	FROM_PEER,
	FROM_STRANGER,      /* another source address */
	FROM_OTHER_ADDRESS, /* of the peer, to another of ours */
	TO_STRANGER,        /* to an address that is not ours */
	TO_GROUP,           /* to a group that nobody is in */
	TO_ALL_STATIONS,    /* to our address, in a broadcast frame */
};

enum hostile_answer {
	SILENCE,
	ANSWER_ACK,
	ANSWER_NAK,  /* with syndrome */
	ANSWER_DATA, /* READ response or atomic ACK */
};

struct hostile_row {
	const char *name; /* the text of the row */
	uint8_t type;     /* enum roost_qp_type */
	uint8_t before;   /* enum hostile_before */
	uint8_t opcode;
	/* The packet; what its opcode has no header for is left out. */
	int32_t psn;  /* from the expected, or the oldest unacked one, on */
	uint8_t from; /* enum hostile_from */
	uint8_t key;  /* enum hostile_key */
	int64_t va;   /* from the region on */
	bool va_absolute;
	uint32_t len; /* in the RETH */
	uint16_t payload;
	uint8_t pad;
	bool pad_given; /* else: as it should be */
	uint16_t cut;   /* bytes of headers left out at the end */
	uint16_t pkey;  /* 0: 0xffff */
	uint32_t qkey;  /* 0: the right one */
	uint32_t qpn;   /* instead of the target's; 0: the target's */
	bool wrong_srqn;
	bool no_access; /* the QP allows nothing */
	uint8_t flush_type, flush_level;
	uint8_t syndrome_in;
	/* What comes of it. */
	uint8_t answer; /* enum hostile_answer */
	uint8_t syndrome;
	uint8_t drop;  /* enum roost_drop; NONE: no counter moves */
	uint8_t state; /* enum roost_qp_state; 0: as it was */
	int8_t event;  /* enum roost_async_event; 0: none */
	bool taken;    /* valid after all: it may change the region or the
			* receive buffer */
	/* Of the receive, or of the request in flight; 0: still open. */
	uint8_t status; /* enum roost_wc_status */
	bool success;   /* status is SUCCESS, and completed */
};

struct hostile_table {
	const struct hostile_row *rows;
	size_t nb_rows;
};

extern const struct hostile_table hostile_access, hostile_shape, hostile_psn,
	hostile_place, hostile_answers, hostile_types;

/* ---- the stage (hostile_stage.c) ----------------------------------------- */

#define HOSTILE_BYTE 0xee /* all payload */
#define REQUEST_ID 1
#define RECEIVE_ID 2

struct hostile_stage {
	struct sim *sim;
	struct sim_qp *peer, *qp; /* the target */
	struct sim_qp *other;     /* another QP at the target's end */
	struct roost_srq *srq;    /* XRC */
	struct roost_xrcd *xrcd;
	struct sim_slice mem, recv, local;
	struct roost_pd *pd; /* another one */
	struct roost_mr *mr, *read_only, *no_access, *other_pd;
	struct roost_mw *mw;
	uint32_t dead_key;
	uint32_t psn; /* that is expected */
	/* As it was before the packet came. */
	size_t nb_sent;
	uint64_t drops[ROOST_DROP_COUNT];
	enum roost_qp_state state;
};

struct hostile_packet {
	struct roost_bth bth;
	uint8_t after_bth[8192];
	size_t len;
};

/* A pair of this type, the target at side B; no receive is posted. */
struct hostile_stage hostile_stage_open(const struct sim_qp_conf *conf);
void hostile_stage_close(struct hostile_stage *s);
/* RECEIVE_ID, to recv. */
void hostile_post_receive(struct hostile_stage *s);
void hostile_make_packet(struct hostile_stage *s, const struct hostile_row *row,
			 struct hostile_packet *p);
struct roost_flow hostile_flow_of(struct hostile_stage *s,
				  enum hostile_from from);

#endif
