/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_BENCH_ENDS_H
#define ROOST_TESTS_BENCH_ENDS_H

/*
 * Two engines or more in one thread, for programs that measure the transport
 * alone. What is between them is the program's: it brings the two bursts.
 */

#include <stdint.h>

#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include "lib/engine/core/dev.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"

struct bench_wire; /* the program's; one for each direction */

#define BENCH_BUF_BYTES (1u << 20)
#define BENCH_QPS_MAX 131072u
#define BENCH_SENDERS_MAX 250u
/* Requests that a QP holds. */
#define BENCH_QUEUE_LEN 64u

struct bench_end {
	struct bench_wire *in, *out;
	struct roost_neigh peer;
	struct roost_gid gid;
	struct roost_dev *dev;
	struct roost_worker *worker; /* the first */
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_mr *mr;
	struct roost_cq *cqs[ROOST_DEV_WORKERS_MAX]; /* one for each worker */
	struct roost_qp **qps;
	uint8_t *buf;
	uint64_t nb_done; /* completions that were polled */
};

extern struct bench_end bench_ends[BENCH_SENDERS_MAX + 1];
/* Of ends that are opened from now on. */
extern bool bench_selective;
extern bool bench_ect; /* switches may mark their packets */
extern bool bench_uc;  /* QPs of UC, not RC */
/* Each has so many workers and queues; QP i is of worker i % bench_nb_workers,
 * and completes to that worker's CQ.
 */
extern unsigned int bench_nb_workers;
/* QPs of a worker are joined to QPs of all workers of the other end, in turn,
 * not of the worker with the same number.
 */
extern bool bench_crossed;

/* How frames move; ctx is the struct bench_end. */
struct bench_bursts {
	uint16_t (*rx)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
		       uint16_t n);
	uint16_t (*tx)(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
		       uint16_t n);
};

/*
 * Start EAL and open both, with nb_qps RC QPs joined pair by pair, path MTU
 * 4096. wires: from end 0 to end 1, and back. Exits when it cannot.
 */
void bench_ends_open(const struct bench_bursts *bursts,
		     struct bench_wire *wires[2], unsigned int nb_qps);

/* The same with several ends, each with nb_qps QPs to end 1: ends 0, 2, 3, and
 * so on. QP i of the kth of them is joined to QP k * nb_qps + i of end 1. The
 * program gives them their wires.
 */
void bench_star_open(const struct bench_bursts *bursts, unsigned int nb_senders,
		     unsigned int nb_qps);
static inline struct bench_end *bench_sender(unsigned int k)
{
	return &bench_ends[k == 0 ? 0 : k + 1];
}

/* Post a signaled WRITE of the end's buffer into that of end 1, at its QP i,
 * which is the wr_id. Returns as roost_qp_send_add().
 */
int bench_write(struct bench_end *end, unsigned int i, uint32_t len_bytes);
/* The same of any WRITE or READ, and of the buffer of any end. */
int bench_post(struct bench_end *end, unsigned int i,
	       enum roost_wr_opcode opcode, const struct bench_end *to,
	       uint32_t len_bytes);

/* One iteration of an end at this time. */
void bench_iterate(struct bench_end *end, uint64_t now_ns);
/* The same, and its completions; exits when one is an error. */
void bench_end_turn(struct bench_end *end, uint64_t now_ns);

/* Exit, saying what failed, unless rc is 0. */
void bench_must(int rc, const char *what);

#endif
