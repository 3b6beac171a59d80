/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/unmap.h"
#include "lib/engine/core/worker_base.h"
#include "lib/event/process.h"

/* The smallest pages: larger ones are whole numbers of them. */
#define PAGE_SHIFT 12
#define WORD_BITS 64u

#define WAIT_MAX_NS 1000000000ull

typedef void note_fn(uintptr_t begin, size_t len_bytes);
typedef void preload_fn(_Atomic uintptr_t *bounds, note_fn *note);
typedef void preload_undo_fn(note_fn *undo);

/* All regions of this process that learn what is unmapped. The lock is taken
 * before a turn, never in one.
 */
static struct roost_spin lock = ROOST_SPIN_INIT;
static LIST_HEAD(, roost_mr) regions = LIST_HEAD_INITIALIZER(regions);

/* Threads that wait for turns of devices, whose regions do not end meanwhile.
 */
static _Atomic unsigned int nb_waiting;

/* All regions lie in [bounds[0], bounds[1]). Read without the lock. */
static _Atomic uintptr_t bounds[2] = { UINTPTR_MAX, 0 };

static void no_regions(void)
{
	LIST_INIT(&regions);
	atomic_store(&bounds[0], UINTPTR_MAX);
	atomic_store(&bounds[1], 0);
}

/* Its inherited regions are dead as a whole. */
static void at_child(void)
{
	lock = (struct roost_spin)ROOST_SPIN_INIT;
	atomic_store(&nb_waiting, 0);
	no_regions();
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = at_child };

	roost_process_at_child(&child);
}

static void meet_preload(void)
{
	preload_undo_fn *set_undo = NULL;
	preload_fn *set = NULL;

	*(void **)&set_undo =
		dlsym(RTLD_DEFAULT, "roost_preload_set_unmap_undo");
	if (set_undo)
		set_undo(roost_unmap_undo);
	*(void **)&set = dlsym(RTLD_DEFAULT, "roost_preload_set_unmap");
	if (set)
		set(bounds, roost_unmap_note);
}

void roost_unmap_add(struct roost_mr *mr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uintptr_t begin = (uintptr_t)mr->host, end = begin + mr->len_bytes;

	if (roost_mr_rights(mr) & ROOST_ACCESS_ON_DEMAND)
		return;
	pthread_once(&once, meet_preload);
	roost_spin_lock(&lock);
	LIST_INSERT_HEAD(&regions, mr, unmap_link);
	mr->learns = true;
	if (begin < atomic_load(&bounds[0]))
		atomic_store(&bounds[0], begin);
	if (end > atomic_load(&bounds[1]))
		atomic_store(&bounds[1], end);
	roost_spin_unlock(&lock);
}

void roost_unmap_remove(struct roost_mr *mr)
{
	unsigned int tries = 0;

	if (!mr->learns)
		return;
	roost_spin_lock(&lock);
	LIST_REMOVE(mr, unmap_link);
	mr->learns = false;
	if (LIST_EMPTY(&regions))
		no_regions();
	roost_spin_unlock(&lock);
	while (atomic_load(&nb_waiting) != 0)
		roost_spin_wait(++tries);
}

/* ---- dead pages ----------------------------------------------------------
 */

static size_t page_of(const struct roost_mr *mr, uintptr_t at)
{
	return (at >> PAGE_SHIFT) - ((uintptr_t)mr->host >> PAGE_SHIFT);
}

static size_t bitmap_bytes(const struct roost_mr *mr)
{
	uintptr_t last = (uintptr_t)mr->host + mr->len_bytes - 1;

	return (page_of(mr, last) / WORD_BITS + 1) * sizeof(uint64_t);
}

void roost_unmap_forget(struct roost_mr *mr)
{
	_Atomic uint64_t *dead = atomic_load(&mr->dead);

	if (dead)
		syscall(SYS_munmap, dead, bitmap_bytes(mr));
	atomic_store(&mr->dead, NULL);
	mr->died_begin = mr->died_end = 0;
}

bool roost_unmap_has_dead(const struct roost_mr *mr, const uint8_t *host,
			  size_t len_bytes)
{
	_Atomic uint64_t *dead;
	size_t page, last;

	/* In this order: HOLES comes last. */
	if (!(atomic_load(&mr->access) & ROOST_ACCESS_HOLES) || len_bytes == 0)
		return false;
	dead = atomic_load(&mr->dead);
	if (!dead)
		return true;
	page = page_of(mr, (uintptr_t)host);
	last = page_of(mr, (uintptr_t)host + len_bytes - 1);
	for (; page <= last; page++)
		if (atomic_load(&dead[page / WORD_BITS]) >> page % WORD_BITS &
		    1)
			return true;
	return false;
}

/* From the kernel: the program's allocator may be what unmaps. NULL: there is
 * none; then all of the region is dead.
 */
static _Atomic uint64_t *bitmap_of(struct roost_mr *mr)
{
	_Atomic uint64_t *dead = atomic_load(&mr->dead);
	long at;

	if (dead || roost_mr_rights(mr) & ROOST_ACCESS_HOLES)
		return dead;
	at = syscall(SYS_mmap, NULL, bitmap_bytes(mr), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == -1)
		return NULL;
	dead = (_Atomic uint64_t *)at;
	atomic_store(&mr->dead, dead);
	return dead;
}

static bool has_memory(const struct roost_mr *mr, uintptr_t begin,
		       uintptr_t end)
{
	uintptr_t low = (uintptr_t)mr->host, high = low + mr->len_bytes;

	return begin < high && end > low && begin < end && low < high;
}

/* The part of the range in the region; false: there is none. */
static bool clip(const struct roost_mr *mr, uintptr_t *begin, uintptr_t *end)
{
	uintptr_t low = (uintptr_t)mr->host, high = low + mr->len_bytes;

	if (!has_memory(mr, *begin, *end))
		return false;
	if (*begin < low)
		*begin = low;
	if (*end > high)
		*end = high;
	return true;
}

/* Under the lock. */
static void mark(struct roost_mr *mr, uintptr_t begin, uintptr_t end)
{
	_Atomic uint64_t *dead;
	uint64_t bit;
	bool all_lived;

	if (!clip(mr, &begin, &end))
		return;
	dead = bitmap_of(mr);
	all_lived = dead;
	for (size_t page = page_of(mr, begin);
	     dead && page <= page_of(mr, end - 1); page++) {
		bit = 1ull << page % WORD_BITS;
		if (atomic_fetch_or(&dead[page / WORD_BITS], bit) & bit)
			all_lived = false;
	}
	mr->died_begin = all_lived ? begin : 0;
	mr->died_end = all_lived ? end : 0;
	atomic_fetch_or(&mr->access, ROOST_ACCESS_HOLES);
}

/* Under the lock. */
static void unmark(struct roost_mr *mr, uintptr_t begin, uintptr_t end)
{
	_Atomic uint64_t *dead = atomic_load(&mr->dead);

	if (!clip(mr, &begin, &end) || mr->died_begin != begin ||
	    mr->died_end != end)
		return;
	for (size_t page = page_of(mr, begin); page <= page_of(mr, end - 1);
	     page++)
		atomic_fetch_and(&dead[page / WORD_BITS],
				 ~(1ull << page % WORD_BITS));
	mr->died_begin = mr->died_end = 0;
}

/* ---- waiting -------------------------------------------------------------
 */

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Not roost_spin_lock(): the holder may be the thread that a signal handler
 * interrupts.
 */
static bool lock_until(uint64_t until_ns)
{
	unsigned int tries = 0;

	while (!roost_spin_try(&lock)) {
		if (clock_ns() > until_ns)
			return false;
		roost_spin_wait(++tries);
	}
	return true;
}

/* Until every turn that was taken before is over. */
static void wait_for_turns(struct roost_dev *dev, uint64_t until_ns)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++)
		if (!roost_worker_turn_pass(dev->workers[i], until_ns,
					    clock_ns))
			return;
}

/* The device of a region with memory in the range, the next one by address;
 * NULL: none. Takes the lock.
 */
static struct roost_dev *next_dev(const struct roost_dev *after,
				  uintptr_t begin, uintptr_t end,
				  uint64_t until_ns)
{
	struct roost_dev *next = NULL;
	const struct roost_mr *mr;

	if (!lock_until(until_ns))
		return NULL;
	LIST_FOREACH(mr, &regions, unmap_link) {
		struct roost_dev *dev = mr->pd->ctx->dev;

		if (dev > after && (!next || dev < next) &&
		    has_memory(mr, begin, end))
			next = dev;
	}
	roost_spin_unlock(&lock);
	return next;
}

void roost_unmap_note(uintptr_t begin, size_t len_bytes)
{
	uint64_t until_ns = clock_ns() + WAIT_MAX_NS;
	uintptr_t end = begin + len_bytes;
	struct roost_dev *dev = NULL;
	int error = errno;
	struct roost_mr *mr;

	/* In a child, this forgets its parent's regions. */
	roost_process();
	if (lock_until(until_ns)) {
		LIST_FOREACH(mr, &regions, unmap_link)
			mark(mr, begin, end);
		atomic_fetch_add(&nb_waiting, 1);
		roost_spin_unlock(&lock);
		/* Without the lock: the holder of a turn may come here, too. */
		while ((dev = next_dev(dev, begin, end, until_ns)))
			wait_for_turns(dev, until_ns);
		atomic_fetch_sub(&nb_waiting, 1);
	}
	errno = error;
}

void roost_unmap_undo(uintptr_t begin, size_t len_bytes)
{
	int error = errno;
	struct roost_mr *mr;

	if (lock_until(clock_ns() + WAIT_MAX_NS)) {
		LIST_FOREACH(mr, &regions, unmap_link)
			unmark(mr, begin, begin + len_bytes);
		roost_spin_unlock(&lock);
	}
	errno = error;
}
