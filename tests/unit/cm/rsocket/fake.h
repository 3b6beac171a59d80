/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_CM_RSOCKET_FAKE_H
#define TESTS_UNIT_CM_RSOCKET_FAKE_H

/*
 * One RDMA device inside the process: rdma_cm and verbs as far as rsockets use
 * them, without a network. What is posted is executed at once; a write with
 * immediate data waits for a receive request, as RNR would have it, and keys
 * and ranges are checked. Every address is the device's.
 */

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#define FAKE_MAX_WR 4096
#define FAKE_INLINE 96

/* Objects that exist; all 0 when everything was let go. */
struct fake_count {
	int ids;
	int qps;
	int cqs;
	int channels;
	int mrs;
	int ahs;
};

/* What the next connections are to meet. */
struct fake_wish {
	int addr_timeouts; /* so many ADDR_ERRORs of ETIMEDOUT first */
	int route_timeouts;
	int slow_addrs;   /* so many addresses are never resolved */
	int lost_accepts; /* so many answers to requests do not arrive */
	int lost_rtus;    /* so many acceptors do not hear of it */
};

struct fake_count fake_count(void);
void fake_wish(struct fake_wish wish);
/* Requests that were posted since last asked, by opcode. */
unsigned int fake_posted(enum ibv_wr_opcode opcode);
/* Every connected QP loses its peer: requests end in RETRY_EXC_ERR. */
void fake_cut(void);
/* Datagrams come from another address than their header says. */
void fake_lie(bool lies);
/* The device goes: an event for every id. */
void fake_remove_device(void);

/* Between the two files of the fake. */
void fake_lock(void);
void fake_unlock(void);
struct ibv_context *fake_context(void);
struct ibv_pd *fake_pd(void);
struct ibv_qp *fake_qp_create(struct ibv_qp_init_attr *attr);
void fake_qp_destroy(struct ibv_qp *qp);
void fake_qp_join(struct ibv_qp *a, struct ibv_qp *b);
/* Flushes what is posted. */
void fake_qp_error(struct ibv_qp *qp);
struct fake_count *fake_counts(void);

#endif
