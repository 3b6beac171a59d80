/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_MR_PRIV_H
#define ROOST_ENGINE_MR_PRIV_H

/*
 * Inside of memory regions; for lib/engine only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/dev_priv.h"
#include "lib/engine/mr.h"
#include "lib/engine/types.h"

struct roost_mr {
	struct roost_pd *pd;
	uint8_t *host; /* where iova is in this process */
	uint64_t iova;
	uint64_t len_bytes;
	uint32_t access; /* enum roost_access */
	uint32_t key;
};

/*
 * Check that key names a region of pd that covers [va, va + len_bytes) and
 * allows access (0: local read). Returns where va is, or NULL.
 * Holder of the turn; the pointer is good until it is released.
 */
static inline void *roost_mr_access(struct roost_dev *dev,
				    const struct roost_pd *pd, uint32_t key,
				    uint64_t va, uint64_t len_bytes,
				    uint32_t access)
{
	const struct roost_mr *mr = roost_idmap_get(&dev->mrs, key);

	if (mr == NULL || mr->pd != pd || (mr->access & access) != access)
		return NULL;
	/* Neither difference wraps: the first test makes va - iova valid. */
	if (va < mr->iova || va - mr->iova > mr->len_bytes ||
	    len_bytes > mr->len_bytes - (va - mr->iova))
		return NULL;
	return mr->host + (va - mr->iova);
}

/* A walk over the bytes of a scatter/gather list. */
enum roost_sge_fault {
	ROOST_SGE_OK,
	ROOST_SGE_BAD_KEY, /* lkey, PD, access or range */
	ROOST_SGE_SHORT,   /* the list ends before len_bytes */
};

/*
 * Copy len_bytes from offset_bytes of the list into dst, or from src into the
 * list (which needs LOCAL_WRITE). Holder of the turn.
 */
enum roost_sge_fault roost_sge_gather(struct roost_dev *dev,
				      const struct roost_pd *pd,
				      const struct roost_sge *sges,
				      uint32_t nb_sges, uint64_t offset_bytes,
				      uint8_t *dst, uint32_t len_bytes);
enum roost_sge_fault roost_sge_scatter(struct roost_dev *dev,
				       const struct roost_pd *pd,
				       const struct roost_sge *sges,
				       uint32_t nb_sges, uint64_t offset_bytes,
				       const uint8_t *src, uint32_t len_bytes);

#endif
