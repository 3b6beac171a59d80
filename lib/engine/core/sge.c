/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: once per packet. No allocation, system call, log or lock. */

#include <rte_branch_prediction.h>

#include "lib/engine/core/copy.h"
#include "lib/engine/core/mr_priv.h"

/* The memory at one offset of the list. */
struct span {
	uint8_t *host;
	uint32_t len_bytes;
};

struct cursor {
	struct roost_dev *dev;
	const struct roost_pd *pd;
	const struct roost_sge *sge;
	uint32_t nb_left;
	uint64_t skip_bytes; /* into *sge */
	uint32_t access;
};

/* The fast path: the whole range is in the first element, as is usual. NULL: it
 * is not, or it cannot be accessed; the walk finds out which.
 */
static uint8_t *in_first(struct roost_dev *dev, const struct roost_pd *pd,
			 const struct roost_sge *sges, uint32_t nb_sges,
			 uint64_t offset_bytes, uint32_t len_bytes,
			 uint32_t access)
{
	if (nb_sges == 0 || len_bytes == 0 ||
	    offset_bytes + len_bytes > sges->len_bytes ||
	    sges->addr + offset_bytes < sges->addr)
		return NULL;
	return roost_mr_access(dev, pd, sges->lkey, sges->addr + offset_bytes,
			       len_bytes, len_bytes, access);
}

/* The next run of at most want bytes. */
static enum roost_sge_fault next_span(struct cursor *c, uint32_t want,
				      struct span *span)
{
	while (c->nb_left > 0 && c->skip_bytes >= c->sge->len_bytes) {
		c->skip_bytes -= c->sge->len_bytes;
		c->sge++;
		c->nb_left--;
	}
	if (c->nb_left == 0)
		return ROOST_SGE_SHORT;
	span->len_bytes = c->sge->len_bytes - (uint32_t)c->skip_bytes;
	if (span->len_bytes > want)
		span->len_bytes = want;
	if (c->sge->addr + c->skip_bytes < c->sge->addr)
		return ROOST_SGE_BAD_KEY;
	span->host =
		roost_mr_access(c->dev, c->pd, c->sge->lkey,
				c->sge->addr + c->skip_bytes, span->len_bytes,
				span->len_bytes, c->access);
	c->skip_bytes += span->len_bytes;
	return !span->host ? ROOST_SGE_BAD_KEY : ROOST_SGE_OK;
}

enum roost_sge_fault roost_sge_gather(struct roost_dev *dev,
				      const struct roost_pd *pd,
				      const struct roost_sge *sges,
				      uint32_t nb_sges, uint64_t offset_bytes,
				      struct roost_fill *fill,
				      uint32_t len_bytes)
{
	struct cursor c = { dev, pd, sges, nb_sges, offset_bytes, 0 };
	const uint8_t *all =
		in_first(dev, pd, sges, nb_sges, offset_bytes, len_bytes, 0);
	enum roost_sge_fault fault;
	struct span span;

	if (all) {
		roost_fill_copy(fill, all, len_bytes);
		roost_mr_note_fill(dev, fill);
		return ROOST_SGE_OK;
	}
	while (len_bytes > 0) {
		fault = next_span(&c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		roost_fill_copy(fill, span.host, span.len_bytes);
		len_bytes -= span.len_bytes;
	}
	roost_mr_note_fill(dev, fill);
	return ROOST_SGE_OK;
}

/* The application may look at the same time, or another of its requests. */
static void put_piece(struct roost_dev *dev, uint8_t *to, const uint8_t *from,
		      uint32_t len_bytes)
{
	if (unlikely(roost_copy(to, from, len_bytes)))
		roost_mr_gone(dev, true);
}

enum roost_sge_fault roost_sge_scatter(struct roost_dev *dev,
				       const struct roost_pd *pd,
				       const struct roost_sge *sges,
				       uint32_t nb_sges, uint64_t offset_bytes,
				       const uint8_t *src, uint32_t len_bytes)
{
	struct cursor c = { dev,     pd,           sges,
			    nb_sges, offset_bytes, ROOST_ACCESS_LOCAL_WRITE };
	uint8_t *all = in_first(dev, pd, sges, nb_sges, offset_bytes, len_bytes,
				ROOST_ACCESS_LOCAL_WRITE);
	enum roost_sge_fault fault;
	struct span span;

	if (all) {
		put_piece(dev, all, src, len_bytes);
		return ROOST_SGE_OK;
	}
	while (len_bytes > 0) {
		fault = next_span(&c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		put_piece(dev, span.host, src, span.len_bytes);
		src += span.len_bytes;
		len_bytes -= span.len_bytes;
	}
	return ROOST_SGE_OK;
}
