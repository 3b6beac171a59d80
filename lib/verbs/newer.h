/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_NEWER_H
#define ROOST_VERBS_NEWER_H

/*
 * What verbs.h got after rdma-core 44, up to 64, under names of our own: this
 * directory compiles to the same library with the headers of 44 and with those
 * of 64 (tests/abi/newest.py compiles it with those).
 *
 * A program that was built with a newer header finds the members in these
 * places, and calls the functions below by the names in libibverbs.map.
 */

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* ---- 45: FLUSH ---------------------------------------------------------- */

/* The size of struct ibv_qp_ex before wr_flush. */
#define ROOST_VERBS_QP_EX_BYTES 352

struct roost_verbs_abi_qp_ex {
	union {
		struct ibv_qp_ex ex;
		struct {
			char of_44[ROOST_VERBS_QP_EX_BYTES];
			void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
					 uint64_t remote_addr, size_t len,
					 uint8_t type, uint8_t level);
		};
	};
};

#define ROOST_VERBS_QP_EX_WITH_FLUSH (UINT64_C(1) << 11)
#define ROOST_VERBS_ACCESS_FLUSH_GLOBAL (1u << 8)
#define ROOST_VERBS_ACCESS_FLUSH_PERSISTENT (1u << 9)
#define ROOST_VERBS_WC_FLUSH 8
#define ROOST_VERBS_WR_FLUSH 14

/* Bits of device_cap_flags_ex that verbs.h has no names for. */
#define ROOST_VERBS_DEVICE_FLUSH_GLOBAL (UINT64_C(1) << 38)
#define ROOST_VERBS_DEVICE_ATOMIC_WRITE (UINT64_C(1) << 40)

/* ---- 49: names of requests ---------------------------------------------- */

const char *roost_ibv_wr_opcode_str(unsigned int opcode);

/* ---- 59: regions by attributes ------------------------------------------ */

/* struct ibv_mr_init_attr; buf came with 64, at the end. */
struct roost_verbs_mr_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
	struct roost_verbs_buf *buf;
};

/* enum ibv_mr_init_attr_mask: members after access that are valid. */
#define ROOST_VERBS_MR_IOVA (UINT64_C(1) << 0)
#define ROOST_VERBS_MR_ADDR (UINT64_C(1) << 1)
#define ROOST_VERBS_MR_FD (UINT64_C(1) << 2)
#define ROOST_VERBS_MR_FD_OFFSET (UINT64_C(1) << 3)
#define ROOST_VERBS_MR_DMAH (UINT64_C(1) << 4)
#define ROOST_VERBS_MR_BUF (UINT64_C(1) << 5)

struct ibv_mr *roost_ibv_reg_mr_ex(struct ibv_pd *pd,
				   const struct roost_verbs_mr_attr *attr);

/* ---- 62: the speed of a port -------------------------------------------- */

/* In 100 Mb/s. Returns 0 or an errno value. */
int roost_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num,
			       uint64_t *speed);

#define ROOST_VERBS_EVENT_DEVICE_SPEED_CHANGE 20

/* ---- 64: memory that the library allocates ------------------------------ */

/* Page-aligned memory of the process. The PD must live longer. Thread: any. */
struct roost_verbs_buf;

void *roost_ibv_alloc_buf(struct ibv_pd *pd, size_t size,
			  struct roost_verbs_buf **buf);
void roost_ibv_free_buf(struct roost_verbs_buf *buf);
struct ibv_mr *roost_ibv_reg_buf_mr(struct ibv_pd *pd,
				    struct roost_verbs_buf *buf, void *addr,
				    size_t length, int access);

#endif
