/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Device memory. The device is this process, so device memory is ordinary
 * memory, and a program that was written for a card's device memory works.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/verbs/shim.h"

#define LOG_ALIGN_MAX 21 /* 2 MiB */

static struct roost_verbs_dm *dm_of(struct ibv_dm *ibv)
{
	return (struct roost_verbs_dm *)ibv;
}

/* As mlx5, whose cards copy words of four bytes. */
#define WORD_MASK 3u

static bool inside(const struct roost_verbs_dm *dm, uint64_t offset,
		   uint64_t length)
{
	return offset <= dm->len_bytes && length <= dm->len_bytes - offset;
}

static int check_copy(const struct roost_verbs_dm *dm, uint64_t offset,
		      size_t length)
{
	if (!inside(dm, offset, length))
		return -EFAULT;
	return (offset | length) & WORD_MASK ? -EINVAL : 0;
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *host,
		   size_t length)
{
	struct roost_verbs_dm *dm = dm_of(ibv);
	int ret = check_copy(dm, offset, length);

	if (ret)
		return roost_verbs_result(ret);
	memcpy(dm->memory + offset, host, length);
	return 0;
}

static int copy_from(void *host, struct ibv_dm *ibv, uint64_t offset,
		     size_t length)
{
	struct roost_verbs_dm *dm = dm_of(ibv);
	int ret = check_copy(dm, offset, length);

	if (ret)
		return roost_verbs_result(ret);
	memcpy(host, dm->memory + offset, length);
	return 0;
}

/* Zeroed, so that the program cannot read old data of the process. */
static void *memory_new(size_t length, uint32_t log_align)
{
	size_t align = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (align < (size_t)1 << log_align)
		align = (size_t)1 << log_align;
	length = (length + align - 1) & ~(align - 1);
	memory = aligned_alloc(align, length);
	if (memory)
		memset(memory, 0, length);
	return memory;
}

struct ibv_dm *roost_verbs_alloc_dm(struct ibv_context *context,
				    struct ibv_alloc_dm_attr *attr)
{
	struct roost_verbs_dm *dm;

	if (attr->comp_mask || attr->length == 0 ||
	    attr->length > ROOST_VERBS_DM_MAX_BYTES ||
	    attr->log_align_req > LOG_ALIGN_MAX)
		return roost_verbs_null(-EINVAL);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return roost_verbs_null(-ENOMEM);
	dm->memory = memory_new(attr->length, attr->log_align_req);
	if (!dm->memory) {
		free(dm);
		return roost_verbs_null(-ENOMEM);
	}
	dm->len_bytes = attr->length;
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = copy_to;
	dm->ibv.memcpy_from_dm = copy_from;
	roost_verbs_object_add(context, ROOST_VERBS_DM, &dm->ibv, &dm->object);
	return &dm->ibv;
}

int roost_verbs_free_dm(struct ibv_dm *ibv)
{
	struct roost_verbs_dm *dm = dm_of(ibv);

	if (atomic_load(&dm->refs))
		return roost_verbs_result(-EBUSY);
	roost_verbs_object_del(ibv->context, &dm->object);
	free(dm->memory);
	free(dm);
	return 0;
}

/* Device memory has no address in the program: regions of it count from 0, and
 * the program must set the flag for that.
 */
struct ibv_mr *roost_verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv,
				     uint64_t dm_offset, size_t length,
				     unsigned int access)
{
	struct roost_verbs_dm *dm = dm_of(ibv);
	struct ibv_mr *mr;

	if (ibv->context != pd->context || !(access & IBV_ACCESS_ZERO_BASED) ||
	    !inside(dm, dm_offset, length))
		return roost_verbs_null(-EINVAL);
	mr = roost_verbs_mr_new(pd, dm->memory + dm_offset, length, 0, access,
				dm, NULL);
	if (!mr)
		return NULL;
	atomic_fetch_add(&dm->refs, 1);
	mr->addr = NULL;
	return mr;
}
