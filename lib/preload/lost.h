/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PRELOAD_LOST_H
#define ROOST_PRELOAD_LOST_H

/*
 * What the kernel says in /proc/self of memory that a call is about to unmap.
 * No allocation: the caller may be an allocator. Slow. errno stays.
 */

#include <stddef.h>
#include <stdint.h>

/* Call found for each run of pages in the range that only this process has:
 * MADV_DONTNEED ends these, and pages of a file or of shared memory come back
 * as they are. Where the kernel does not say, all may be.
 */
void roost_preload_private(uintptr_t begin, size_t len_bytes,
			   void (*found)(const void *addr, size_t len_bytes));

/* The length of the shared memory segment that is attached at an address; 0:
 * there is none.
 */
size_t roost_preload_segment(uintptr_t begin);

#endif
