/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_MAPPING_H
#define ROOST_VERBS_MAPPING_H

/*
 * Memory of a region that the library itself has mapped from a descriptor: a
 * dma-buf, or shared memory (memfd_create, shm_open, tmpfs, hugetlbfs).
 *
 * The processor accesses a dma-buf between DMA_BUF_IOCTL_SYNC's start and end.
 * The region's whole life is one such access: there is no moment in between at
 * which no packet can arrive.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roost_verbs_mapping {
	void *at;         /* page aligned; NULL: nothing is mapped */
	size_t len_bytes; /* whole pages */
	int dmabuf_fd;    /* ours; -1: shared memory */
	bool writable;
};

/*
 * Map [offset, offset + length) of fd; length > 0. Keeps no reference to fd.
 * *host: the address of offset. Returns 0; -EBADF; -EINVAL (neither dma-buf nor
 * shared memory, or it ends before the range); -EOPNOTSUPP (a dma-buf that the
 * processor cannot access); -EACCES, -EPERM (not with this descriptor),
 * -ENOMEM, -EMFILE. On failure there is nothing to undo. Thread: any.
 */
int roost_verbs_map(int fd, uint64_t offset, size_t length, bool writable,
		    struct roost_verbs_mapping *mapping, void **host);
/* Nothing uses the memory any more. Also in a forked child, for its copy. */
void roost_verbs_unmap(struct roost_verbs_mapping *mapping);

#endif
