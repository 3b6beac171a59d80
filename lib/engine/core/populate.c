/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/engine/core/populate.h"

/* From this size on, asking first which pages are present pays: faulting in
 * visits every page, 50 ms for a GiB; asking takes 1 ms.
 */
#define LARGE_BYTES (64ul << 20)

static uintptr_t page_bytes(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE);
}

/* Kernels before 5.14 do not know the advice, and say EINVAL to a good page
 * too.
 */
static bool populate_known(void)
{
	static _Thread_local char here;

	return madvise((void *)((uintptr_t)&here & ~(page_bytes() - 1)),
		       page_bytes(), MADV_POPULATE_READ) == 0;
}

static int fault_in(uintptr_t start, uintptr_t end, bool for_write)
{
	int advice = for_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

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

/*
 * True if the whole range is anonymous memory with the wanted access. Then
 * present pages can be used, and mincore(2) tells which pages are present. For
 * mapped files that is not so: a file may end before its mapping does.
 */
static bool is_anonymous(uintptr_t start, uintptr_t end, bool for_write)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;

	if (!maps)
		return false;
	while (start < end && getline(&line, &room, maps) > 0) {
		uintptr_t from, to;
		uint64_t inode;
		char access[5];

		if (sscanf(line,
			   "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64,
			   &from, &to, access, &inode) != 4)
			break;
		if (to <= start)
			continue;
		if (from > start || inode != 0 || access[0] != 'r' ||
		    (for_write && access[1] != 'w'))
			break;
		start = to;
	}
	free(line);
	fclose(maps);
	return start >= end;
}

/* Fault in the missing pages only. Returns false when it cannot find out which
 * pages are missing.
 */
static bool fault_in_missing(uintptr_t start, uintptr_t end, bool for_write,
			     int *ret)
{
	size_t page = page_bytes(), pages = (end - start) / page, i = 0;
	unsigned char *there;

	if (!is_anonymous(start, end, for_write))
		return false;
	there = malloc(pages);
	if (!there || mincore((void *)start, end - start, there) != 0) {
		free(there);
		return false;
	}
	*ret = 0;
	while (i < pages && *ret == 0) {
		size_t first = i;

		while (i < pages && !(there[i] & 1))
			i++;
		if (i > first)
			*ret = fault_in(start + first * page, start + i * page,
					for_write);
		while (i < pages && there[i] & 1)
			i++;
	}
	free(there);
	return true;
}

int roost_populate(void *addr, size_t len_bytes, bool for_write)
{
	uintptr_t page = page_bytes();
	uintptr_t start = (uintptr_t)addr & ~(page - 1);
	uintptr_t end = ((uintptr_t)addr + len_bytes + page - 1) & ~(page - 1);
	int ret;

	if (len_bytes == 0)
		return 0;
	if (end <= start)
		return -EINVAL;
	if (end - start >= LARGE_BYTES &&
	    fault_in_missing(start, end, for_write, &ret))
		return ret;
	return fault_in(start, end, for_write);
}
