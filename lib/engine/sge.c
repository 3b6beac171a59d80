/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: once per packet. No allocation, system call, log or lock. */

#include "lib/engine/mr_priv.h"

/* What stands at a place of the list. */
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
	span->host = roost_mr_access(c->dev, c->pd, c->sge->lkey,
				     c->sge->addr + c->skip_bytes,
				     span->len_bytes, c->access);
	c->skip_bytes += span->len_bytes;
	return span->host == NULL ? ROOST_SGE_BAD_KEY : ROOST_SGE_OK;
}

enum roost_sge_fault roost_sge_gather(struct roost_dev *dev,
				      const struct roost_pd *pd,
				      const struct roost_sge *sges,
				      uint32_t nb_sges, uint64_t offset_bytes,
				      struct roost_fill *fill,
				      uint32_t len_bytes)
{
	struct cursor c = { dev, pd, sges, nb_sges, offset_bytes, 0 };
	enum roost_sge_fault fault;
	struct span span;

	while (len_bytes > 0) {
		fault = next_span(&c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		roost_fill_copy(fill, span.host, span.len_bytes);
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
	struct cursor c = { dev,     pd,           sges,
			    nb_sges, offset_bytes, ROOST_ACCESS_LOCAL_WRITE };
	enum roost_sge_fault fault;
	struct span span;

	while (len_bytes > 0) {
		fault = next_span(&c, len_bytes, &span);
		if (fault != ROOST_SGE_OK)
			return fault;
		memcpy(span.host, src, span.len_bytes);
		src += span.len_bytes;
		len_bytes -= span.len_bytes;
	}
	return ROOST_SGE_OK;
}
