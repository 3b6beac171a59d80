/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/engine/mr_priv.h"
#include "lib/engine/worker.h"

#define ACCESS_KNOWN                                                           \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |               \
	 ROOST_ACCESS_MW_BIND | ROOST_ACCESS_ZERO_BASED |                      \
	 ROOST_ACCESS_ON_DEMAND)

int roost_pd_alloc(struct roost_ctx *ctx, struct roost_pd **pd)
{
	struct roost_pd *p = calloc(1, sizeof(*p));

	if (p == NULL)
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

/* Kernels before 5.14 do not know the advice, and say EINVAL to a good page
 * too.
 */
static bool populate_known(void)
{
	static _Thread_local char here;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	return madvise((void *)((uintptr_t)&here & ~(page - 1)), page,
		       MADV_POPULATE_READ) == 0;
}

/*
 * Fault the pages in with the access that the region will need. A failure
 * says that the memory is not there or not writable. Where the kernel cannot
 * tell, the pages fault in on first use.
 */
static int populate(void *addr, size_t len_bytes, uint32_t access)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)addr & ~(page - 1);
	uintptr_t end = ((uintptr_t)addr + len_bytes + page - 1) & ~(page - 1);
	int advice = access & ROOST_ACCESS_LOCAL_WRITE ? MADV_POPULATE_WRITE
						       : MADV_POPULATE_READ;

	if (len_bytes == 0)
		return 0;
	if (end <= start)
		return -EINVAL;
	while (madvise((void *)start, end - start, advice) != 0) {
		switch (errno) {
		case EINTR:
		case EAGAIN:
			continue;
		case EINVAL:
			return populate_known() ? -EFAULT : 0;
		case ENOMEM:
		case EFAULT:
		case EHWPOISON:
			return -EFAULT;
		default:
			return -errno;
		}
	}
	return 0;
}

int roost_mr_reg(struct roost_pd *pd, void *addr, size_t len_bytes,
		 uint64_t iova, uint32_t access, struct roost_mr **mr)
{
	struct roost_mr *m;
	int rc;

	if ((access & ~(uint32_t)ACCESS_KNOWN) != 0)
		return -EINVAL;
	if ((access &
	     (ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & ROOST_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((uintptr_t)addr + len_bytes < (uintptr_t)addr ||
	    iova + len_bytes < iova)
		return -EINVAL;
	if (!(access & ROOST_ACCESS_ON_DEMAND)) {
		rc = populate(addr, len_bytes, access);
		if (rc != 0)
			return rc;
	}
	m = malloc(sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	*m = (struct roost_mr){
		.pd = pd,
		.host = addr,
		.iova = access & ROOST_ACCESS_ZERO_BASED ? 0 : iova,
		.len_bytes = len_bytes,
		.access = access,
	};
	rc = roost_idmap_add(&pd->ctx->dev->mrs, m, &m->key);
	if (rc != 0) {
		free(m);
		return -ENOMEM;
	}
	atomic_fetch_add(&pd->refs, 1);
	*mr = m;
	return 0;
}

int roost_mr_dereg(struct roost_mr *mr)
{
	struct roost_dev *dev = mr->pd->ctx->dev;

	roost_idmap_del(&dev->mrs, mr->key);
	/* Having the turn once: no worker still holds the region. */
	roost_worker_turn_take(dev->worker);
	roost_worker_turn_release(dev->worker);
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
