/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_MR_H
#define ROOST_ENGINE_MR_H

/*
 * Protection domains and memory regions (IBTA 10.6).
 *
 * A key is a keyed permutation of (index, generation): it looks random to a
 * peer, costs a few multiplications to invert, and a key of a region that is
 * gone never names a later one until the generation wraps.
 *
 * Registration pins nothing: it faults the pages in and thereby learns whether
 * the access that was asked for is possible.
 */

#include <stddef.h>
#include <stdint.h>

struct roost_ctx;
struct roost_mr;
struct roost_pd;

/* Returns 0, -ENOMEM. */
int roost_pd_alloc(struct roost_ctx *ctx, struct roost_pd **pd);
/* Returns 0, or -EBUSY while an object refers to it. */
int roost_pd_dealloc(struct roost_pd *pd);
/* A number unlike that of any other PD of the device. */
uint32_t roost_pd_handle(const struct roost_pd *pd);

/*
 * Register [addr, addr + len_bytes) under remote address iova.
 * access: enum roost_access.
 * Returns 0; -EINVAL (REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE, an
 * unknown access bit, addr or iova + len wraps); -EFAULT (memory that is not
 * there, or not writable with LOCAL_WRITE); -ENOMEM (table full).
 */
int roost_mr_reg(struct roost_pd *pd, void *addr, size_t len_bytes,
		 uint64_t iova, uint32_t access, struct roost_mr **mr);
/* No worker uses the memory any more when it returns. Returns 0. */
int roost_mr_dereg(struct roost_mr *mr);
uint32_t roost_mr_lkey(const struct roost_mr *mr);
uint32_t roost_mr_rkey(const struct roost_mr *mr);

#endif
