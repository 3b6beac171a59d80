/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What unmaps memory. From the first registration on, Roost is told of ranges
 * that lie between its lowest and its highest region, before the call is made:
 * a peer's packets do not touch what is mapped there later
 * (lib/engine/core/unmap.h).
 *
 * Allocators call these functions, some of them before this library is
 * initialised. Until then there is no function behind a wrapper, and what can
 * be is the bare system call.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/preload/lost.h"
#include "lib/preload/real.h"

#define PAGE_BYTES 4096ul

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/* Headers may be older than the C library. */
ssize_t process_madvise(int pidfd, const struct iovec *parts, size_t nb,
			int advice, unsigned int flags);
void *__sbrk(intptr_t increment);

typedef void note_fn(uintptr_t begin, size_t len_bytes);

static _Atomic uintptr_t *_Atomic bounds; /* NULL: nothing was registered */
static _Atomic(note_fn *) note;
static _Atomic(note_fn *) undo; /* NULL: Roost is an older one */

ROOST_PRELOAD_REAL(munmap);
ROOST_PRELOAD_REAL(mmap);
ROOST_PRELOAD_REAL(mmap64);
ROOST_PRELOAD_REAL(mremap);
ROOST_PRELOAD_REAL(madvise);
ROOST_PRELOAD_REAL(process_madvise);
ROOST_PRELOAD_REAL(remap_file_pages);
ROOST_PRELOAD_REAL(brk);
ROOST_PRELOAD_REAL(sbrk);
ROOST_PRELOAD_REAL(shmat);
ROOST_PRELOAD_REAL(shmdt);

/* NULL: too early. */
static void *early(struct roost_preload_real *real)
{
	return atomic_load_explicit(&real->function, memory_order_relaxed);
}

static void *real_of(struct roost_preload_real *real)
{
	void *function = early(real);

	return __builtin_expect(function != NULL, 1)
		       ? function
		       : roost_preload_look_up(real);
}

#define EARLY(fn) ((__typeof__(&fn))early(&real_##fn))
#define LATER(fn) ((__typeof__(&fn))real_of(&real_##fn))

/* For lib/engine/core/unmap.c, which finds it by name: the addresses of all
 * regions are in [at[0], at[1]), and told learns what ends there.
 */
void roost_preload_set_unmap(_Atomic uintptr_t *at, note_fn *told);
ROOST_PRELOAD_EXPORT void roost_preload_set_unmap(_Atomic uintptr_t *at,
						  note_fn *told)
{
	atomic_store(&note, told);
	atomic_store(&bounds, at);
}

/* The same: what did not end. */
void roost_preload_set_unmap_undo(note_fn *told);
ROOST_PRELOAD_EXPORT void roost_preload_set_unmap_undo(note_fn *told)
{
	atomic_store(&undo, told);
}

static bool is_near(uintptr_t begin, size_t len_bytes)
{
	_Atomic uintptr_t *at =
		atomic_load_explicit(&bounds, memory_order_acquire);

	return __builtin_expect(at != NULL, 0) &&
	       begin < atomic_load_explicit(&at[1], memory_order_relaxed) &&
	       begin + len_bytes >
		       atomic_load_explicit(&at[0], memory_order_relaxed);
}

static size_t whole_pages(size_t len_bytes)
{
	return (len_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Does it matter? Not if the kernel refuses the range. */
static bool matters(const void *addr, size_t len_bytes)
{
	uintptr_t begin = (uintptr_t)addr;
	size_t whole = whole_pages(len_bytes);

	return begin % PAGE_BYTES == 0 && whole != 0 && begin + whole > begin &&
	       is_near(begin, whole);
}

/* The pages of the range are about to end. */
static void ends(const void *addr, size_t len_bytes)
{
	if (matters(addr, len_bytes))
		atomic_load (&note)((uintptr_t)addr, whole_pages(len_bytes));
}

/* They did not: the call has failed. */
static void goes_on(const void *addr, size_t len_bytes)
{
	if (matters(addr, len_bytes) && atomic_load(&undo))
		atomic_load (&undo)((uintptr_t)addr, whole_pages(len_bytes));
}

ROOST_PRELOAD_EXPORT int munmap(void *addr, size_t len)
{
	int ret;

	ends(addr, len);
	ret = EARLY(munmap) ? EARLY(munmap)(addr, len)
			    : (int)syscall(SYS_munmap, addr, len);
	if (ret != 0)
		goes_on(addr, len);
	return ret;
}

#define MMAP(fn)                                                               \
	ROOST_PRELOAD_EXPORT void *fn(void *addr, size_t len, int prot,        \
				      int flags, int fd, off_t offset)         \
	{                                                                      \
		if (flags & MAP_FIXED)                                         \
			ends(addr, len);                                       \
		return EARLY(fn)                                               \
			       ? EARLY(fn)(addr, len, prot, flags, fd, offset) \
			       : (void *)syscall(SYS_mmap, addr, len, prot,    \
						 flags, fd, offset);           \
	}

MMAP(mmap)
MMAP(mmap64)

/* Pinned pages would follow to the new address; Roost does not. */
static void *moves(void *old, size_t old_len, size_t len, int flags, void *to)
{
	uint8_t *lost = old;
	size_t lost_len = old_len;
	void *at;

	if (flags & MREMAP_FIXED)
		ends(to, len);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		; /* all of it */
	} else if (whole_pages(len) < old_len) {
		lost += whole_pages(len);
		lost_len -= whole_pages(len);
	} else if (flags & MREMAP_MAYMOVE && old_len != 0) {
		/* It may have room to grow where it is. */
		at = LATER(mremap)(old, old_len, len, flags & ~MREMAP_MAYMOVE);
		if (at != MAP_FAILED || errno != ENOMEM)
			return at;
	} else {
		lost_len = 0;
	}
	ends(lost, lost_len);
	at = LATER(mremap)(old, old_len, len, flags, to);
	/* With a place to move to, a part may have ended before it failed. */
	if (at == MAP_FAILED && !(flags & MREMAP_FIXED))
		goes_on(lost, lost_len);
	return at;
}

ROOST_PRELOAD_EXPORT void *mremap(void *old, size_t old_len, size_t len,
				  int flags, ...)
{
	void *to = NULL;
	va_list args;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	if (is_near((uintptr_t)old, old_len) || is_near((uintptr_t)to, len))
		return moves(old, old_len, len, flags, to);
	return EARLY(mremap) ? EARLY(mremap)(old, old_len, len, flags, to)
			     : (void *)syscall(SYS_mremap, old, old_len, len,
					       flags, to);
}

/* Of a range that may be large, only what is near is looked at. */
static void unneeded(uintptr_t begin, uintptr_t end)
{
	const _Atomic uintptr_t *at;

	if (begin % PAGE_BYTES != 0 || end <= begin ||
	    !is_near(begin, end - begin))
		return;
	at = atomic_load(&bounds);
	if (begin < atomic_load(&at[0]))
		begin = atomic_load(&at[0]) & ~(PAGE_BYTES - 1);
	if (end > whole_pages(atomic_load(&at[1])))
		end = whole_pages(atomic_load(&at[1]));
	if (begin < end)
		roost_preload_private(begin, end - begin, ends);
}

/* MADV_FREE takes no page that is pinned. */
static void advised(void *addr, size_t len, int advice)
{
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		unneeded((uintptr_t)addr, (uintptr_t)addr + whole_pages(len));
		break;
	case MADV_REMOVE:
	case MADV_GUARD_INSTALL:
		ends(addr, len);
		break;
	default:
		break;
	}
}

ROOST_PRELOAD_EXPORT int madvise(void *addr, size_t len, int advice)
{
	advised(addr, len, advice);
	return EARLY(madvise) ? EARLY(madvise)(addr, len, advice)
			      : (int)syscall(SYS_madvise, addr, len, advice);
}

static ssize_t advise(int pidfd, const struct iovec *parts, size_t nb,
		      int advice, unsigned int flags)
{
	return EARLY(process_madvise)
		       ? EARLY(process_madvise)(pidfd, parts, nb, advice, flags)
		       : syscall(SYS_process_madvise, pidfd, parts, nb, advice,
				 flags);
}

/* The kernel takes such advice of a process about itself alone, from 6.13 on:
 * whether it does, it says of no parts at all.
 */
ROOST_PRELOAD_EXPORT ssize_t process_madvise(int pidfd,
					     const struct iovec *parts,
					     size_t nb, int advice,
					     unsigned int flags)
{
	const int error = errno;

	if (atomic_load_explicit(&bounds, memory_order_relaxed) &&
	    advise(pidfd, parts, 0, advice, flags) == 0)
		for (size_t i = 0; i < nb && nb <= IOV_MAX; i++)
			advised(parts[i].iov_base, parts[i].iov_len, advice);
	errno = error;
	return advise(pidfd, parts, nb, advice, flags);
}

/* Other pages of the same file. */
ROOST_PRELOAD_EXPORT int remap_file_pages(void *addr, size_t len, int prot,
					  size_t page, int flags)
{
	ends(addr, len);
	return LATER(remap_file_pages)(addr, len, prot, page, flags);
}

/* ---- the heap ------------------------------------------------------------
 */

/* The heap may end at any byte: the rest of the last page stays. */
static void heap_ends(uintptr_t begin, uintptr_t end)
{
	begin = (begin + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	if (begin < end)
		ends((void *)begin, end - begin);
}

ROOST_PRELOAD_EXPORT int brk(void *addr)
{
	if (addr && atomic_load_explicit(&bounds, memory_order_relaxed))
		heap_ends((uintptr_t)addr, (uintptr_t)LATER(sbrk)(0));
	return LATER(brk)(addr);
}

ROOST_PRELOAD_EXPORT void *sbrk(intptr_t increment)
{
	uintptr_t end;

	if (increment < 0 &&
	    atomic_load_explicit(&bounds, memory_order_relaxed)) {
		end = (uintptr_t)LATER(sbrk)(0);
		heap_ends(end + (uintptr_t)increment, end);
	}
	return LATER(sbrk)(increment);
}

ROOST_PRELOAD_EXPORT void *__sbrk(intptr_t increment)
{
	return sbrk(increment);
}

/* ---- System V shared memory ----------------------------------------------
 */

ROOST_PRELOAD_EXPORT void *shmat(int id, const void *addr, int flags)
{
	struct shmid_ds info;

	if (flags & SHM_REMAP && is_near((uintptr_t)addr, SIZE_MAX / 2) &&
	    shmctl(id, IPC_STAT, &info) == 0)
		ends(addr, info.shm_segsz);
	return LATER(shmat)(id, addr, flags);
}

ROOST_PRELOAD_EXPORT int shmdt(const void *addr)
{
	if (is_near((uintptr_t)addr, SIZE_MAX / 2))
		ends(addr, roost_preload_segment((uintptr_t)addr));
	return LATER(shmdt)(addr);
}
