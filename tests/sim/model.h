/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_MODEL_H
#define ROOST_TESTS_SIM_MODEL_H

/*
 * A model of the memory of two ends, and random requests that change both: the
 * real memory through the engine, the model by plain copies when a request is
 * posted. After any number of requests the two must be the same.
 *
 * What leaves comes from a pool of random bytes that never change. Each QP has
 * a target, memory of the other side that only it works on, and the shadow of
 * that: the model. A READ must bring what the shadow held when it was posted,
 * an atomic what its eight bytes held; requests that might overtake a READ of
 * the same bytes carry a fence, others by chance.
 *
 * What is unreliable may be lost, but what comes is as it was sent: messages
 * carry their number.
 */

#include "tests/sim/raw.h"

#define MODEL_QPS_MAX 16
#define MODEL_RQS_MAX 32
#define MODEL_WRS 64u       /* of one send queue, in flight */
#define MODEL_MSGS 1024u    /* on their way to a receive, or numbered */
#define MODEL_SLOTS_MAX 64u /* receive buffers of one queue */
#define MODEL_SGES 4u
#define MODEL_UC_PARTS 32u /* of a target; each is written once */
#define MODEL_GRH_BYTES 40u

/* Where a request takes its bytes from, or puts them. */
struct model_list {
	struct sim_slice part[MODEL_SGES];
	uint32_t nb;
	uint32_t len_bytes;
};

/* What the receive of a message must find. */
struct model_msg {
	struct model_list from;
	uint32_t imm_be; /* SEND_INV: the key */
	uint8_t opcode;
	bool solicited;
	bool invalidate_here; /* whoever gets it invalidates the window */
	const struct roost_srq *srq; /* XRC: whose buffers it must be in */
	uint32_t at_bytes;           /* unreliable WRITE_IMM: where it went */
};

struct model_wr {
	struct model_list to;  /* of what it brings */
	uint8_t *expected;     /* what that is; NULL: nothing */
	uint64_t orig;         /* the same of an atomic */
	uint64_t landing_from; /* its part of the landing begins there */
	uint32_t at_bytes;     /* in the target */
	uint32_t len_bytes;
	uint8_t opcode;
	bool signaled;
};

/* Receive buffers of a QP or an SRQ. */
struct model_rq {
	struct sim_end *end;
	struct roost_qp *qp;
	struct roost_srq *srq;
	struct sim_slice slot[MODEL_SLOTS_MAX];
	uint32_t unposted[MODEL_SLOTS_MAX];
	uint32_t nb, nb_unposted;
	bool lossy; /* a message that was cut off may leave bytes there */
};

enum model_window_state {
	MODEL_NO_WINDOW, /* there may be one, not bound */
	MODEL_BINDING,
	MODEL_BOUND,
	MODEL_CLOSING,    /* a SEND that says so is under way */
	MODEL_INVALIDATE, /* it has come: LOCAL_INV is to be posted */
	MODEL_INVALIDATING,
};

/* A type 2 window of the peer, over a part of the target. */
struct model_window {
	struct roost_mw *mw;
	enum model_window_state state;
	uint32_t key;
	uint32_t at_bytes, len_bytes;
};

struct model;

struct model_qp {
	struct model *model;
	struct sim_qp *qp;
	struct model_qp *peer;
	struct model_rq *rq; /* NULL: none, or those of the SRQs of XRC */
	/* The requester. */
	struct model_wr wrs[MODEL_WRS];
	uint32_t nb_posted, nb_done;
	uint32_t nb_msgs; /* all that were sent to a receive */
	struct sim_slice landing;
	uint64_t landing_used;    /* of all time; the place is the remainder */
	struct sim_slice headers; /* numbers of messages without immediate */
	struct roost_ah *ah;
	struct model_window window;
	/* Its target, at the other side. */
	struct sim_slice target;
	uint8_t *shadow;
	struct roost_mr *mr;
	uint64_t iova;
	/* UC: what each part may hold now besides what it held before. */
	struct model_list part[MODEL_UC_PARTS];
	uint32_t nb_parts;
	/* The peer's messages, as its receives must find them. */
	struct model_msg msgs[MODEL_MSGS];
	uint32_t nb_received;
};

struct model {
	struct sim *sim;
	struct sim_slice pool;
	uint32_t recv_bytes, target_bytes;
	struct model_qp qps[MODEL_QPS_MAX];
	unsigned int nb_qps;
	struct model_rq rqs[MODEL_RQS_MAX];
	unsigned int nb_rqs;
	struct roost_xrcd *xrcd[2];
};

/* Over all worlds: how many of each were posted, or arrived. */
struct model_tally {
	uint64_t posted[ROOST_QPT_COUNT][ROOST_WR_OPCODE_COUNT];
	uint64_t through_window, fenced, inlined, invalidated;
	uint64_t received[ROOST_QPT_COUNT];
	uint64_t bytes;
};

extern struct model_tally model_tally;

/* ---- memory (model.c) ---------------------------------------------------- */

uint32_t model_below(struct model *m, uint32_t limit);
/* A length, mostly small, up to max. */
uint32_t model_len(struct model *m, uint32_t max_bytes);
/* Parts of the pool with that many bytes together. */
struct model_list model_gather(struct model *m, uint32_t len_bytes);
void model_copy_out(const struct model_list *from, uint8_t *to);
/* Do the bytes there equal those of the list? */
bool model_is(const struct model_list *from, const uint8_t *there);
bool model_all(const uint8_t *p, size_t len_bytes, uint8_t byte);
uint32_t model_sges(const struct sim_end *end, const struct model_list *list,
		    struct roost_sge *sges);
/* Post some of the receive buffers that are not, or all. */
void model_refill(struct model *m, struct model_rq *rq, bool all);
/* Take the completions there are, and check what they say. */
void model_poll(struct model *m);
/* Everything posted is done: compare all memory. */
void model_settle(struct model *m);

/* ---- requests (model_post.c) --------------------------------------------- */

bool model_has_room(const struct model_qp *q);
/* The next request of a queue, to be filled. */
struct model_wr *model_wr_next(struct model_qp *q);
/* Between roost_qp_send_begin() and end. */
void model_add(struct model_qp *q, struct model_wr *wr,
	       struct roost_send_wr *post, const struct model_list *from);
/* XRC: one of the peer's SRQs, which the request then names; else NULL. */
const struct model_rq *model_xrc_queue(struct model_qp *q,
				       struct roost_send_wr *post);
/* The message that the peer is to receive. */
struct model_msg *model_expect(struct model_qp *q,
			       const struct model_list *from,
			       enum roost_wr_opcode opcode);
/* Post one random request; there is room. */
void model_post(struct model_qp *q);
/* Bind or invalidate the window of a QP where it is time to. */
void model_window(struct model_qp *q);
void model_window_done(struct model_qp *q, uint8_t opcode);

/* ---- UC and UD (model_lossy.c) ------------------------------------------- */

/* Returns false when the targets must be compared first: model_settle(). */
bool model_post_lossy(struct model_qp *q);
void model_received_lossy(struct model_qp *q, const struct roost_cqe *cqe,
			  struct sim_slice slot);
void model_settle_lossy(struct model_qp *q);

/* ---- worlds (model_world.c) ---------------------------------------------- */

struct model *model_new(uint64_t seed);
/* Give the target another key and address; nothing is in flight. */
void model_reregister(struct model_qp *q);
/* Everything must be done. */
void model_free(struct model *m);

#endif
