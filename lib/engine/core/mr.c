/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/catch.h"
#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/populate.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/turn.h"
#include "lib/engine/core/unmap.h"

#define ACCESS_KNOWN                                                           \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |               \
	 ROOST_ACCESS_MW_BIND | ROOST_ACCESS_ZERO_BASED |                      \
	 ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_FLUSH_GLOBAL |                  \
	 ROOST_ACCESS_PRESENT)

int roost_pd_alloc(struct roost_ctx *ctx, struct roost_pd **pd)
{
	struct roost_pd *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->ctx = ctx;
	p->handle = atomic_fetch_add(&ctx->dev->next_pd_handle, 1);
	atomic_fetch_add(&ctx->refs, 1);
	*pd = p;
	return 0;
}

int roost_pd_dealloc(struct roost_pd *pd)
{
	if (atomic_load(&pd->refs) != 0)
		return -EBUSY;
	atomic_fetch_sub(&pd->ctx->refs, 1);
	free(pd);
	return 0;
}

uint32_t roost_pd_handle(const struct roost_pd *pd)
{
	return pd->handle;
}

static int populate(void *addr, size_t len_bytes, uint32_t access)
{
	return roost_populate(addr, len_bytes,
			      access & ROOST_ACCESS_LOCAL_WRITE);
}

static int check_region(void *addr, size_t len_bytes, uint64_t iova,
			uint32_t access)
{
	if ((access & ~(uint32_t)ACCESS_KNOWN) != 0)
		return -EINVAL;
	if ((access &
	     (ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & ROOST_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((uintptr_t)addr + len_bytes < (uintptr_t)addr ||
	    iova + len_bytes < iova)
		return -EINVAL;
	roost_catch_start();
	return access & (ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_PRESENT)
		       ? 0
		       : populate(addr, len_bytes, access);
}

/* A region that no key names yet. */
static int make(struct roost_pd *pd, void *addr, size_t len_bytes,
		uint64_t iova, uint32_t access, struct roost_mr **mr)
{
	struct roost_mr *m;
	int ret;

	ret = check_region(addr, len_bytes, iova, access);
	if (ret)
		return ret;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (roost_catch_is_blind() && !(access & ROOST_ACCESS_ON_DEMAND))
		access |= ROOST_ACCESS_SUSPECT;
	*m = (struct roost_mr){
		.pd = pd,
		.host = addr,
		.iova = access & ROOST_ACCESS_ZERO_BASED ? 0 : iova,
		.len_bytes = len_bytes,
		.access = access,
	};
	*mr = m;
	return 0;
}

int roost_mr_reg(struct roost_pd *pd, void *addr, size_t len_bytes,
		 uint64_t iova, uint32_t access, struct roost_mr **mr)
{
	struct roost_mr *m;
	int ret = make(pd, addr, len_bytes, iova, access, &m);

	if (ret)
		return ret;
	ret = roost_idmap_add(&pd->ctx->dev->mrs, m, &m->key);
	if (ret) {
		free(m);
		return -ENOMEM;
	}
	roost_unmap_add(m);
	atomic_fetch_add(&pd->refs, 1);
	*mr = m;
	return 0;
}

/* ---- guests -------------------------------------------------------------- */

static struct roost_turn_link *bucket_of(struct roost_dev *dev, uint32_t key)
{
	return &dev->guests[key % ROOST_MR_GUEST_BUCKETS];
}

struct roost_mr *roost_mr_guest(const struct roost_dev *dev, uint32_t key)
{
	struct roost_mr *m = roost_turn_list_next(
		&dev->guests[key % ROOST_MR_GUEST_BUCKETS]);

	while (m && m->key != key)
		m = roost_turn_list_next(&m->guest_link);
	return m;
}

/* Does the key name a region, which may end meanwhile? Under dev->lock. */
static bool is_used(struct roost_dev *dev, uint32_t key)
{
	return roost_idmap_get(&dev->mrs, key) || roost_mr_guest(dev, key);
}

int roost_mr_reg_as(struct roost_pd *pd, void *addr, size_t len_bytes,
		    uint64_t iova, uint32_t access, uint32_t key,
		    struct roost_mr **mr)
{
	struct roost_dev *dev = pd->ctx->dev;
	struct roost_mr *m;
	int ret = make(pd, addr, len_bytes, iova, access, &m);

	if (ret)
		return ret;
	m->key = key;
	m->is_guest = true;
	pthread_mutex_lock(&dev->lock);
	if (is_used(dev, key))
		ret = -EEXIST;
	else
		roost_turn_list_insert(bucket_of(dev, key), &m->guest_link);
	pthread_mutex_unlock(&dev->lock);
	if (ret) {
		free(m);
		return ret;
	}
	roost_unmap_add(m);
	atomic_fetch_add(&pd->refs, 1);
	*mr = m;
	return 0;
}

/* No worker still holds the region afterwards. */
static void unname(struct roost_dev *dev, struct roost_mr *mr)
{
	roost_key_revoked(dev, mr->key, ROOST_WHY_KEY_DEREGISTERED);
	if (mr->is_guest) {
		pthread_mutex_lock(&dev->lock);
		roost_turn_list_remove(bucket_of(dev, mr->key),
				       &mr->guest_link);
		pthread_mutex_unlock(&dev->lock);
	} else {
		roost_idmap_del(&dev->mrs, mr->key);
	}
	roost_dev_turns_pass(dev);
}

struct roost_mr_facts roost_mr_facts(const struct roost_mr *mr)
{
	return (struct roost_mr_facts){
		.host = mr->host,
		.iova = mr->iova,
		.len_bytes = mr->len_bytes,
		.access = roost_mr_rights(mr) & ~ROOST_ACCESS_BAD,
		.key = mr->key,
		.has_memory = !mr->is_null,
	};
}

int roost_mr_alloc_null(struct roost_pd *pd, struct roost_mr **mr)
{
	int ret =
		roost_mr_reg(pd, NULL, SIZE_MAX, 0,
			     ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_ON_DEMAND,
			     mr);

	if (ret == 0)
		(*mr)->is_null = true;
	return ret;
}

#define WRITES                                                                 \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_ATOMIC)

/* Memory for accesses to a null region: zeros to read, or a place whose content
 * is never read.
 */
static void *nowhere(uint64_t len_bytes, uint32_t access)
{
	static const uint8_t zeros[ROOST_NULL_MAX_BYTES];
	static _Thread_local uint8_t bin[ROOST_NULL_MAX_BYTES];

	if (len_bytes > ROOST_NULL_MAX_BYTES)
		return NULL;
	return access & WRITES ? bin : (void *)(uintptr_t)zeros;
}

void *roost_mr_touch(const struct roost_mr *mr, uint8_t *host,
		     uint64_t len_bytes, uint32_t access)
{
	uint32_t needed = access & WRITES ? ROOST_ACCESS_LOCAL_WRITE : 0;

	if (mr->is_null)
		return nowhere(len_bytes, access);
	if (!(roost_mr_rights(mr) & ROOST_ACCESS_ON_DEMAND))
		return roost_mr_rights(mr) & ROOST_ACCESS_SUSPECT ||
				       roost_unmap_has_dead(mr, host, len_bytes)
			       ? NULL
			       : host;
	return populate(host, len_bytes, needed) == 0 ? host : NULL;
}

/* Does the region have all of [va, va + len_bytes)? */
int roost_mr_prefetch(struct roost_pd *pd, const struct roost_sge *sge,
		      bool for_write)
{
	struct roost_dev *dev = pd->ctx->dev;
	uint32_t access = for_write ? ROOST_ACCESS_LOCAL_WRITE : 0;
	const struct roost_mr *mr;
	uint8_t *host = NULL;
	int ret = 0;

	/* Any turn: the region stays for as long as it lasts. */
	roost_worker_turn_take(dev->workers[0]);
	mr = roost_mr_find(dev, sge->lkey);
	if (!mr || !roost_range_covers(mr->iova, mr->len_bytes, sge->addr,
				       sge->len_bytes))
		ret = -EFAULT;
	else if (mr->pd != pd || (roost_mr_rights(mr) & access) != access)
		ret = -EPERM;
	else if (!mr->is_null)
		host = roost_mr_at(mr, sge->addr);
	roost_worker_turn_leave(dev->workers[0]);
	/* Not in the turn: it may take long. */
	return !host ? ret : populate(host, sge->len_bytes, access);
}

/* No window is bound to the region, nor will be one. */
static bool end_binding(struct roost_dev *dev, struct roost_mr *mr)
{
	if (!(atomic_fetch_and(&mr->access, ~(uint32_t)ROOST_ACCESS_MW_BIND) &
	      ROOST_ACCESS_MW_BIND))
		return true;
	roost_dev_turns_pass(dev);
	if (mr->nb_windows == 0)
		return true;
	atomic_fetch_or(&mr->access, ROOST_ACCESS_MW_BIND);
	return false;
}

/* ---- changes ------------------------------------------------------------- */

/* As workers see it: not its place in lists. */
static struct roost_mr copy_of(const struct roost_mr *mr)
{
	return (struct roost_mr){
		.pd = mr->pd,
		.host = mr->host,
		.iova = mr->iova,
		.len_bytes = mr->len_bytes,
		.access = roost_mr_rights(mr),
		.key = mr->key,
		.is_null = mr->is_null,
		.is_guest = mr->is_guest,
		.dead = atomic_load(&mr->dead),
	};
}

/* The key names this region in place of the other one. No worker still holds
 * the other one afterwards.
 */
static void rename_to(struct roost_dev *dev, struct roost_mr *mr,
		      struct roost_mr *other)
{
	struct roost_turn_link *bucket = bucket_of(dev, mr->key);

	if (mr->is_guest) {
		pthread_mutex_lock(&dev->lock);
		roost_turn_list_insert(bucket, &mr->guest_link);
		roost_turn_list_remove(bucket, &other->guest_link);
		pthread_mutex_unlock(&dev->lock);
	} else {
		roost_idmap_set(&dev->mrs, mr->key, mr);
	}
	roost_dev_turns_pass(dev);
}

/* Workers read many members, which change together: they have a copy of the
 * region while it changes.
 */
static int change(struct roost_mr *mr, struct roost_mr *next)
{
	struct roost_dev *dev = mr->pd->ctx->dev;
	struct roost_mr *stand_in = malloc(sizeof(*stand_in));

	if (!stand_in)
		return -ENOMEM;
	if (!end_binding(dev, mr)) {
		free(stand_in);
		return -EBUSY;
	}
	roost_unmap_remove(mr);
	*stand_in = copy_of(mr);
	rename_to(dev, stand_in, mr);
	atomic_fetch_add(&next->pd->refs, 1);
	*mr = *next;
	rename_to(dev, mr, stand_in);
	atomic_fetch_sub(&stand_in->pd->refs, 1);
	roost_unmap_forget(stand_in);
	free(stand_in);
	roost_unmap_add(mr);
	return 0;
}

int roost_mr_rereg(struct roost_mr *mr, uint32_t what, struct roost_pd *pd,
		   void *addr, size_t len_bytes, uint32_t access)
{
	struct roost_mr next = copy_of(mr);
	int ret;

	if (what & ROOST_REREG_PD && pd->ctx != mr->pd->ctx)
		return -EINVAL;
	next.dead = NULL;
	next.access &= ~ROOST_ACCESS_BAD;
	if (what & ROOST_REREG_ACCESS)
		next.access = access;
	if (what & ROOST_REREG_TRANSLATION) {
		next.host = addr;
		next.iova = (uintptr_t)addr;
		next.len_bytes = len_bytes;
	}
	if (next.access & ROOST_ACCESS_ZERO_BASED)
		next.iova = 0;
	ret = check_region(next.host, next.len_bytes, next.iova, next.access);
	if (ret)
		return ret;
	if (what & ROOST_REREG_PD)
		next.pd = pd;
	return change(mr, &next);
}

int roost_mr_dereg(struct roost_mr *mr)
{
	struct roost_dev *dev = mr->pd->ctx->dev;

	if (!end_binding(dev, mr))
		return -EBUSY;
	roost_unmap_remove(mr);
	unname(dev, mr);
	roost_unmap_forget(mr);
	atomic_fetch_sub(&mr->pd->refs, 1);
	free(mr);
	return 0;
}

uint32_t roost_mr_lkey(const struct roost_mr *mr)
{
	return mr->key;
}

uint32_t roost_mr_rkey(const struct roost_mr *mr)
{
	return mr->key;
}
