/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#ifndef ROOST_TESTS_REAL_CANCEL_H
#define ROOST_TESTS_REAL_CANCEL_H

/*
 * An ordinary program that cancels its threads: what its files share. Two ends,
 * joined by a QP each, on the first device and on the last one; and what
 * rdma_cm and rsockets have of it. Every failure ends the process.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define CANCEL_DEPTH 32u

struct cancel_end {
	struct ibv_context *context;
	union ibv_gid gid;
	int gid_index;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

extern struct cancel_end cancel_ends[2];
extern const char *cancel_address; /* NULL: no rdma_cm */
extern const char *cancel_at;      /* what is being done, for who reads why */

void cancel_check(bool good, const char *what);
void cancel_nap_us(unsigned int us);

/* ends.c */
void cancel_open_ends(void);
void cancel_close_ends(void);
struct ibv_qp *cancel_new_qp(struct cancel_end *end);
/* Return what ibv_modify_qp() says. */
int cancel_to_init(struct ibv_qp *qp);
int cancel_to_rts(struct ibv_qp *qp, const struct cancel_end *from,
		  const struct cancel_end *to, uint32_t dest_qpn);
/* From cancel_ends[0] to cancel_ends[1]. Returns what ibv_post_send() says. */
int cancel_post_write(struct ibv_qp *qp);

/* waits.c: calls of rdma_cm and rsockets that wait for nothing; and all those
 * that wait, which can be cancelled and leave all in order.
 */
void cancel_use_rdma_cm(void);
void cancel_use_rsockets(void);
void cancel_in_waits(void);

#endif
