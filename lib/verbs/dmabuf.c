/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Regions of a dma-buf that the processor can access (udmabuf, dma-heaps, many
 * drivers' system memory), and, beyond the kernel's ibv_reg_dmabuf_mr(), of
 * shared memory such as a memfd.
 */

#include <unistd.h>

#include "lib/verbs/mapping.h"
#include "lib/verbs/shim.h"

/* The kernel takes no others for a dma-buf. */
#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |                     \
	 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |                  \
	 IBV_ACCESS_RELAXED_ORDERING)

static int check(uint64_t offset, size_t length, uint64_t iova, int access)
{
	const uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	if (length == 0 || ((offset ^ iova) & in_page) || access & ~(int)ACCESS)
		return -EINVAL;
	return 0;
}

/*
 * NCCL, UCX and libfabric ask with the descriptor -1 whether memory of an
 * accelerator can be registered, and would use it then: the answer is no.
 */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct roost_verbs_mapping mapping;
	struct ibv_mr *mr;
	void *host;
	int ret;

	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	ret = fd == -1 ? -EOPNOTSUPP : check(offset, length, iova, access);
	if (ret == 0)
		ret = roost_verbs_map(fd, offset, length,
				      access & IBV_ACCESS_LOCAL_WRITE, &mapping,
				      &host);
	if (ret)
		return roost_verbs_null(ret);
	mr = roost_verbs_mr_new(pd, host, length, iova, (unsigned int)access,
				NULL, &mapping);
	if (!mr) {
		ret = -errno;
		roost_verbs_unmap(&mapping);
		return roost_verbs_null(ret);
	}
	mr->addr = (void *)(uintptr_t)offset; /* as libibverbs does */
	return mr;
}
