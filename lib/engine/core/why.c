/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/core/why.h"

#include "lib/engine/core/mr_priv.h"

/* The upper bits of a window's keys are its number, the low ones the program's.
 */
static _Atomic uint64_t *slot_of(struct roost_dev *dev, uint32_t key)
{
	return &dev->revoked[(key ^ key >> 8) % ROOST_REVOKED_MAX];
}

void roost_key_revoked(struct roost_dev *dev, uint32_t key, enum roost_why why)
{
	atomic_store_explicit(slot_of(dev, key), (uint64_t)why << 32 | key,
			      memory_order_relaxed);
}

static enum roost_why why_revoked(struct roost_dev *dev, uint32_t key,
				  enum roost_why unknown)
{
	uint64_t kept =
		atomic_load_explicit(slot_of(dev, key), memory_order_relaxed);

	return (uint32_t)kept == key && kept >> 32 != 0
		       ? (enum roost_why)(kept >> 32)
		       : unknown;
}

enum roost_why roost_key_why(struct roost_dev *dev, const struct roost_pd *pd,
			     uint32_t qpn, uint32_t key, uint64_t va,
			     uint64_t len_bytes, uint32_t access)
{
	const struct roost_mr *mr = roost_mr_find(dev, key);
	struct roost_mw_facts window;

	if (!mr && !roost_mw_look(dev, key, &window))
		return why_revoked(dev, key, ROOST_WHY_KEY_UNKNOWN);
	if (mr)
		window = (struct roost_mw_facts){
			.pd = mr->pd,
			.iova = mr->iova,
			.len_bytes = mr->len_bytes,
			.access = roost_mr_rights(mr),
			.bound = true,
		};
	if (!window.bound)
		return why_revoked(dev, key, ROOST_WHY_KEY_UNBOUND);
	if (window.pd != pd)
		return ROOST_WHY_KEY_OTHER_PD;
	if (window.qpn != 0 && window.qpn != qpn)
		return ROOST_WHY_KEY_OTHER_QP;
	if ((window.access & access) != access)
		return ROOST_WHY_KEY_ACCESS;
	if (va < window.iova || va - window.iova > window.len_bytes ||
	    len_bytes > window.len_bytes - (va - window.iova))
		return ROOST_WHY_KEY_RANGE;
	return ROOST_WHY_KEY_ABSENT;
}
