/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_MR_H
#define ROOST_MR_H

/*
 * Protection domains and memory regions (IBTA 10.6).
 *
 * A key is a keyed permutation of (index, generation): it looks random to a
 * peer, costs a few multiplications to invert, and a key of a region that is
 * gone never names a later one until the generation wraps.
 *
 * Registration pins nothing: it faults the pages in and thereby checks that the
 * memory allows the requested access.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_ctx;
struct roost_mr;
struct roost_pd;
struct roost_sge;

/* Allocate a protection domain. Returns 0, -ENOMEM. */
int roost_pd_alloc(struct roost_ctx *ctx, struct roost_pd **pd);
/* Free a protection domain. Returns 0, or -EBUSY while an object refers to it.
 */
int roost_pd_dealloc(struct roost_pd *pd);

/*
 * Register [addr, addr + len_bytes) under remote address iova.
 * access: enum roost_access.
 * Returns 0; -EINVAL (REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE, an
 * unknown access bit, addr or iova + len wraps); -EFAULT (memory that is not
 * there, or not writable with LOCAL_WRITE); -ENOMEM (table full).
 */
int roost_mr_reg(struct roost_pd *pd, void *addr, size_t len_bytes,
		 uint64_t iova, uint32_t access, struct roost_mr **mr);
/*
 * A region that covers every address, for local use: reads return zeros, and
 * writes are discarded. Returns 0, -ENOMEM.
 */
int roost_mr_alloc_null(struct roost_pd *pd, struct roost_mr **mr);
/*
 * Fault in the memory that sge names. Returns 0; -EFAULT (no such key, not in
 * the region, memory that is not mapped), -EPERM (a region of another PD, or
 * for_write and the region has no LOCAL_WRITE). Thread: any; may take long.
 */
int roost_mr_prefetch(struct roost_pd *pd, const struct roost_sge *sge,
		      bool for_write);
/* Deregister. Afterwards no worker uses the memory any more. Returns 0, or
 * -EBUSY while a window is bound to the region.
 */
int roost_mr_dereg(struct roost_mr *mr);
/*
 * Change a region in place; its keys stay. what: bits of ROOST_REREG_*.
 * Returns 0, -EINVAL, -EFAULT, -EBUSY (a window is bound to it).
 */
#define ROOST_REREG_TRANSLATION 1u
#define ROOST_REREG_PD 2u
#define ROOST_REREG_ACCESS 4u
int roost_mr_rereg(struct roost_mr *mr, uint32_t what, struct roost_pd *pd,
		   void *addr, size_t len_bytes, uint32_t access);
/* The local and the remote key (rkey) of the region. */
uint32_t roost_mr_lkey(const struct roost_mr *mr);
uint32_t roost_mr_rkey(const struct roost_mr *mr);

/* ---- memory windows ----------------------------------------------------- */

struct roost_mw;

/*
 * Allocate a memory window (IBTA 10.6.7.2). type: 1 (bound to the PD) or 2 (to
 * a QP). Binding is a send request: ROOST_WR_BIND_MW.
 * Returns 0, -ENOMEM, -EINVAL (type).
 */
int roost_mw_alloc(struct roost_pd *pd, unsigned int type,
		   struct roost_mw **mw);
/* Unbind the window and free it. Returns 0. */
int roost_mw_dealloc(struct roost_mw *mw);
/* The last rkey of the window, whether the window is bound or not. */
uint32_t roost_mw_rkey(const struct roost_mw *mw);

/*
 * Arguments of a bind request. len_bytes 0 unbinds a type 1 window. Posting
 * records which window and which region mw and mr are; the request fails with
 * MW_BIND_ERR if one of them is destroyed before it is executed.
 */
struct roost_mw_bind {
	struct roost_mw *mw;
	struct roost_mr *mr;
	uint64_t addr;
	uint64_t len_bytes;
	uint32_t access; /* enum roost_access; ZERO_BASED: from 0 on */
	uint32_t rkey;   /* the new key; only its low byte may differ from the
			  * old one */
};

#ifdef __cplusplus
}
#endif

#endif
