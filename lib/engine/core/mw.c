/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/worker_base.h"

#define KEY_TAG_BITS 8

int roost_mw_alloc(struct roost_pd *pd, unsigned int type, struct roost_mw **mw)
{
	struct roost_mw *m;
	uint32_t id;

	if (type != 1 && type != 2)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->pd = pd;
	m->type = (uint8_t)type;
	m->shared = pd->ctx->dev->nb_workers > 1;
	if (roost_idmap_add(&pd->ctx->dev->mws, m, &id) != 0) {
		free(m);
		return -ENOMEM;
	}
	m->id = id;
	atomic_init(&m->key, id << KEY_TAG_BITS);
	atomic_fetch_add(&pd->refs, 1);
	*mw = m;
	return 0;
}

static void unbind(struct roost_mw *mw)
{
	if (mw->mr)
		mw->mr->nb_windows--;
	mw->mr = NULL;
}

int roost_mw_dealloc(struct roost_mw *mw)
{
	struct roost_dev *dev = mw->pd->ctx->dev;

	roost_key_revoked(dev, mw->key, ROOST_WHY_KEY_DEALLOCATED);
	roost_idmap_del(&dev->mws, mw->id);
	/* A worker that found it before may bind it still. */
	roost_dev_turns_pass(dev);
	unbind(mw);
	atomic_fetch_sub(&mw->pd->refs, 1);
	free(mw);
	return 0;
}

uint32_t roost_mw_rkey(const struct roost_mw *mw)
{
	return atomic_load_explicit(&mw->key, memory_order_relaxed);
}

static void lock(struct roost_mw *mw)
{
	if (mw->shared)
		roost_spin_lock(&mw->lock);
}

static void unlock(struct roost_mw *mw)
{
	if (mw->shared)
		roost_spin_unlock(&mw->lock);
}

/* The bound window that has this key now, locked; NULL: none. */
static struct roost_mw *find(struct roost_dev *dev, uint32_t key)
{
	struct roost_mw *mw = roost_idmap_get(&dev->mws, key >> KEY_TAG_BITS);

	if (!mw)
		return NULL;
	lock(mw);
	if (mw->key == key && mw->mr)
		return mw;
	unlock(mw);
	return NULL;
}

bool roost_mw_look(struct roost_dev *dev, uint32_t key,
		   struct roost_mw_facts *facts)
{
	struct roost_mw *mw = roost_idmap_get(&dev->mws, key >> KEY_TAG_BITS);
	bool found;

	if (!mw)
		return false;
	lock(mw);
	found = mw->key == key;
	*facts = (struct roost_mw_facts){
		.pd = mw->pd,
		.iova = mw->iova,
		.len_bytes = mw->len_bytes,
		.access = mw->access,
		.qpn = mw->type == 2 ? mw->qpn : 0,
		.bound = mw->mr != NULL,
	};
	unlock(mw);
	return found;
}

/* True if the window lies in its region, and its rights are rights of the
 * region.
 */
static bool bind_allowed(const struct roost_pd *pd, const struct roost_mr *mr,
			 const struct roost_mw_bind_wqe *bind)
{
	uint32_t writes =
		ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_ATOMIC;

	if (mr->pd != pd || !(roost_mr_rights(mr) & ROOST_ACCESS_MW_BIND))
		return false;
	if (bind->access & writes &&
	    !(roost_mr_rights(mr) & ROOST_ACCESS_LOCAL_WRITE))
		return false;
	return roost_range_covers(mr->iova, mr->len_bytes, bind->addr,
				  bind->len_bytes);
}

/* It is unbound, or gets another key. Locked. */
static void end_key(const struct roost_mw *mw)
{
	if (mw->mr)
		roost_key_revoked(mw->pd->ctx->dev, mw->key,
				  ROOST_WHY_KEY_REBOUND);
}

/* mr NULL: there is no such region. Locked. */
static bool bind_to(struct roost_mw *mw, struct roost_mr *mr,
		    const struct roost_pd *pd, uint32_t qpn,
		    const struct roost_mw_bind_wqe *bind)
{
	if (mw->pd != pd || bind->rkey >> KEY_TAG_BITS != mw->id)
		return false;
	if (mw->type == 2 && (mw->mr || bind->len_bytes == 0))
		return false;
	if (bind->len_bytes == 0) {
		end_key(mw);
		unbind(mw);
		mw->key = bind->rkey;
		return true;
	}
	if (!mr || !bind_allowed(pd, mr, bind))
		return false;
	end_key(mw);
	unbind(mw);
	mw->mr = mr;
	mr->nb_windows++;
	mw->host = roost_mr_at(mr, bind->addr);
	mw->iova = bind->access & ROOST_ACCESS_ZERO_BASED ? 0 : bind->addr;
	mw->len_bytes = bind->len_bytes;
	mw->access = bind->access;
	mw->key = bind->rkey;
	mw->qpn = qpn;
	return true;
}

bool roost_mw_bind(struct roost_dev *dev, const struct roost_pd *pd,
		   uint32_t qpn, const struct roost_mw_bind_wqe *bind)
{
	struct roost_mw *mw = roost_idmap_get(&dev->mws, bind->mw_id);
	struct roost_mr *mr = roost_mr_find(dev, bind->mr_key);
	bool bound;

	if (!mw)
		return false;
	lock(mw);
	bound = bind_to(mw, mr, pd, qpn, bind);
	unlock(mw);
	return bound;
}

bool roost_mw_may_invalidate(struct roost_dev *dev, const struct roost_pd *pd,
			     uint32_t qpn, uint32_t key)
{
	struct roost_mw *mw = find(dev, key);
	bool may;

	if (!mw)
		return false;
	may = mw->type == 2 && mw->pd == pd && mw->qpn == qpn;
	unlock(mw);
	return may;
}

void roost_mw_invalidate(struct roost_dev *dev, uint32_t key)
{
	struct roost_mw *mw = find(dev, key);

	if (!mw)
		return;
	roost_key_revoked(dev, key, ROOST_WHY_KEY_INVALIDATED);
	unbind(mw);
	unlock(mw);
}

/* The window of a key, locked, if this peer may access it so. */
static struct roost_mw *find_remote(struct roost_dev *dev,
				    const struct roost_pd *pd, uint32_t qpn,
				    uint32_t key, uint32_t access)
{
	struct roost_mw *mw = find(dev, key);

	if (!mw || (mw->pd == pd && (mw->access & access) == access &&
		    (mw->type == 1 || mw->qpn == qpn)))
		return mw;
	unlock(mw);
	return NULL;
}

struct roost_mr *roost_mw_region(struct roost_dev *dev, uint32_t key)
{
	const struct roost_mw *mw =
		roost_idmap_get(&dev->mws, key >> KEY_TAG_BITS);

	return mw ? mw->mr : NULL;
}

bool roost_mr_remote_key(struct roost_dev *dev, const struct roost_pd *pd,
			 uint32_t qpn, uint32_t key, uint32_t access)
{
	const struct roost_mr *mr = roost_mr_find(dev, key);
	struct roost_mw *mw;

	if (mr && mr->pd == pd && (roost_mr_rights(mr) & access) == access)
		return true;
	mw = find_remote(dev, pd, qpn, key, access);
	if (!mw)
		return false;
	unlock(mw);
	return true;
}

/* Where va is in the window, or NULL. Locked. */
static void *window_at(const struct roost_mw *mw, uint64_t va,
		       uint64_t len_bytes, uint64_t touch_bytes,
		       uint32_t access)
{
	if (!roost_range_covers(mw->iova, mw->len_bytes, va, len_bytes))
		return NULL;
	if (roost_mr_rights(mw->mr) &
	    (ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_BAD))
		return roost_mr_touch(mw->mr, mw->host + (va - mw->iova),
				      touch_bytes, access);
	return mw->host + (va - mw->iova);
}

/* The access goes on: the window stays locked if another worker could change
 * it. Else it ends.
 */
static void keep(struct roost_worker *w, struct roost_mw *mw, bool goes_on)
{
	if (goes_on && mw->shared)
		w->window = mw;
	else
		unlock(mw);
}

void *roost_mr_remote(struct roost_worker *w, const struct roost_pd *pd,
		      uint32_t qpn, uint32_t key, uint64_t va,
		      uint64_t len_bytes, uint64_t touch_bytes, uint32_t access)
{
	void *host = roost_mr_access(w->dev, pd, key, va, len_bytes,
				     touch_bytes, access);
	struct roost_mw *mw;

	if (host)
		return host;
	mw = find_remote(w->dev, pd, qpn, key, access);
	if (!mw)
		return NULL;
	host = window_at(mw, va, len_bytes, touch_bytes, access);
	keep(w, mw, host != NULL);
	return host;
}

bool roost_place_remote(struct roost_worker *w, const struct roost_pd *pd,
			uint32_t qpn, uint32_t key, uint64_t va,
			uint64_t len_bytes, uint32_t access,
			struct roost_place *place)
{
	struct roost_mw *mw;
	bool found;

	if (roost_place_find(w->dev, pd, key, va, len_bytes, access, place))
		return true;
	mw = find_remote(w->dev, pd, qpn, key, access);
	if (!mw)
		return false;
	found = roost_mr_rights(mw->mr) & ROOST_ACCESS_BAD &&
		roost_range_covers(mw->iova, mw->len_bytes, va, len_bytes);
	if (found)
		*place = (struct roost_place){ mw->mr,
					       mw->host + (va - mw->iova) };
	keep(w, mw, found);
	return found;
}

bool roost_mr_remote_may(struct roost_worker *w, const struct roost_pd *pd,
			 uint32_t qpn, uint32_t key, uint64_t va,
			 uint64_t len_bytes, uint64_t touch_bytes,
			 uint32_t access)
{
	struct roost_place place;
	bool may = roost_mr_remote(w, pd, qpn, key, va, len_bytes, touch_bytes,
				   access) != NULL ||
		   roost_place_remote(w, pd, qpn, key, va, len_bytes, access,
				      &place);

	roost_mr_remote_done(w);
	return may;
}

void roost_mr_remote_done(struct roost_worker *w)
{
	if (!w->window)
		return;
	unlock(w->window);
	w->window = NULL;
}
