/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: once per packet. No allocation, system call, log or lock. */

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "lib/engine/core/copy.h"
#include "lib/engine/core/mr_priv.h"

/* The memory at one offset of the list. */
struct span {
	uint8_t *host; /* NULL: it is at place */
	uint32_t len_bytes;
	struct roost_place place;
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

/* It cannot be accessed as it is; is it of a suspect region? */
static bool suspect_span(const struct cursor *c, struct span *span)
{
	if (span->len_bytes > ROOST_PLACE_MAX_BYTES)
		span->len_bytes = ROOST_PLACE_MAX_BYTES;
	return roost_place_find(c->dev, c->pd, c->sge->lkey,
				c->sge->addr + c->skip_bytes, span->len_bytes,
				c->access, &span->place);
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
	if (!span->host && !suspect_span(c, span))
		return ROOST_SGE_BAD_KEY;
	c->skip_bytes += span->len_bytes;
	return ROOST_SGE_OK;
}

/* The rest of both is not the fast path's, which keeps its registers. */
static __rte_noinline enum roost_sge_fault
gather_spans(struct cursor *c, struct roost_fill *fill, uint32_t len_bytes)
{
	enum roost_sge_fault fault;
	const uint8_t *from;
	struct span span;

	while (len_bytes > 0) {
		fault = next_span(c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		from = span.host ? span.host
				 : roost_place_get(&span.place, span.len_bytes);
		roost_fill_copy(fill, from, span.len_bytes);
		roost_mr_note_fill(c->dev, c->sge->lkey, fill);
		len_bytes -= span.len_bytes;
	}
	return ROOST_SGE_OK;
}

enum roost_sge_fault roost_sge_gather(struct roost_dev *dev,
				      const struct roost_pd *pd,
				      const struct roost_sge *sges,
				      uint32_t nb_sges, uint64_t offset_bytes,
				      struct roost_fill *fill,
				      uint32_t len_bytes)
{
	const uint8_t *all =
		in_first(dev, pd, sges, nb_sges, offset_bytes, len_bytes, 0);

	if (!all) {
		struct cursor c = { dev, pd, sges, nb_sges, offset_bytes, 0 };

		return gather_spans(&c, fill, len_bytes);
	}
	roost_fill_copy(fill, all, len_bytes);
	roost_mr_note_fill(dev, sges->lkey, fill);
	return ROOST_SGE_OK;
}

/* The application may look at the same time, or another of its requests. */
static void put_piece(struct roost_dev *dev, uint32_t key, uint8_t *to,
		      const uint8_t *from, uint32_t len_bytes)
{
	if (unlikely(roost_copy(to, from, len_bytes)))
		roost_place_faulted(dev, key, true);
}

static __rte_noinline enum roost_sge_fault
scatter_spans(struct cursor *c, const uint8_t *src, uint32_t len_bytes)
{
	enum roost_sge_fault fault;
	struct span span;

	while (len_bytes > 0) {
		fault = next_span(c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		if (span.host)
			put_piece(c->dev, c->sge->lkey, span.host, src,
				  span.len_bytes);
		else
			roost_place_put(&span.place, src, span.len_bytes);
		src += span.len_bytes;
		len_bytes -= span.len_bytes;
	}
	return ROOST_SGE_OK;
}

enum roost_sge_fault roost_sge_scatter(struct roost_dev *dev,
				       const struct roost_pd *pd,
				       const struct roost_sge *sges,
				       uint32_t nb_sges, uint64_t offset_bytes,
				       const uint8_t *src, uint32_t len_bytes)
{
	uint8_t *all = in_first(dev, pd, sges, nb_sges, offset_bytes, len_bytes,
				ROOST_ACCESS_LOCAL_WRITE);

	if (!all) {
		struct cursor c = { dev,          pd,
				    sges,         nb_sges,
				    offset_bytes, ROOST_ACCESS_LOCAL_WRITE };

		return scatter_spans(&c, src, len_bytes);
	}
	put_piece(dev, sges->lkey, all, src, len_bytes);
	return ROOST_SGE_OK;
}
