/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_TOUR_H
#define ROOST_TESTS_REAL_TOUR_H

/*
 * A walk through the verbs that Debian's programs do not use, as a program:
 * linked with the system's libibverbs and run by `roost run --link`. Both ends
 * of every connection are in this process, on one port.
 *
 * Each test has a device opened for it, with a PD, two CQs and a region whose
 * halves are the two ends' buffers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define TOUR_BUF_BYTES 65536
#define TOUR_GRH_BYTES 40
#define TOUR_QKEY 0x11111111
#define TOUR_TIMEOUT_NS INT64_C(5000000000)

#define TOUR_ALL_ACCESS                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |                   \
	 IBV_ACCESS_MW_BIND)

/* As the verbs.h of rdma-core 45 has it. */
#define ACCESS_FLUSH_GLOBAL (1 << 8)
#define ACCESS_FLUSH_PERSISTENT (1 << 9)
#define QP_EX_WITH_FLUSH (1 << 11)
#define WC_FLUSH 8

struct qp_ex_45 {
	struct ibv_qp_ex ex;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
			 uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level);
};

struct tour {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	uint8_t *buf;      /* [0, half) is ours, [half, end) the peer's */
	uint8_t *peer;     /* the second half */
	union ibv_gid gid; /* IPv4 */
};

extern struct tour tour;

struct tour_pair {
	struct ibv_qp *a, *b;
};

int tour_setup(void **state);
int tour_teardown(void **state);
int64_t tour_now_ns(void);

struct ibv_qp_init_attr_ex tour_init_attr(enum ibv_qp_type type);
struct ibv_ah_attr tour_to_ourselves(void);
void tour_to_rtr(struct ibv_qp *qp, uint32_t dest_qpn);
void tour_to_rts(struct ibv_qp *qp);
/* To RTS; of no meaning to a UD QP: dest_qpn. */
void tour_connect(struct ibv_qp *qp, uint32_t dest_qpn);
struct tour_pair tour_pair_connected(struct ibv_qp_init_attr_ex attr);
void tour_pair_part(struct tour_pair p);
/* A UD QP in RTS. */
struct ibv_qp *tour_datagrams(uint32_t create_flags);

/* The next completion, which must come. */
struct ibv_wc tour_completion(struct ibv_cq *cq);
/* Nothing comes, for as long as anything should take. */
void tour_silence(struct ibv_cq *cq);
/* Signaled. */
void tour_post(struct ibv_qp *qp, struct ibv_send_wr *wr);
/* Post it and wait for its completion. */
enum ibv_wc_status tour_done(struct ibv_qp *qp, struct ibv_send_wr *wr);
struct ibv_sge tour_sge(void *addr, uint32_t length);
void tour_receive(struct ibv_qp *qp, struct ibv_sge *list);
/* A write of 8 bytes at [to] with this key. */
enum ibv_wc_status tour_write8(struct ibv_qp *qp, uint64_t to, uint32_t rkey);
/* The next event, which must be of this type; not acked. */
struct ibv_async_event tour_event(enum ibv_event_type type);

/* The tests, by topic; a row of zeros ends each list. */
extern const struct CMUnitTest tour_memory[], tour_ops[], tour_datagram_qps[],
	tour_srq[], tour_cq[], tour_close[];

#define TOUR_TEST(name)                                                        \
	cmocka_unit_test_setup_teardown(name, tour_setup, tour_teardown)

#endif
