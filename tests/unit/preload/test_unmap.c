/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Each call that unmaps memory, of a program behind `roost run`: Roost has left
 * the pages alone that it unmaps, and no other ones, before it returns.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/engine/core/mr_priv.h"
#include "tests/unit/engine/fixture.h"

#define PAGE 4096ul
#define PAGES 8ul

static uint8_t *map_at(void *at, int flags, int fd)
{
	uint8_t *p =
		mmap(at, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 1, PAGES * PAGE);
	return p;
}

static uint8_t *map(void)
{
	return map_at(NULL, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static uint8_t *map_file(int flags)
{
	int fd = memfd_create("test", 0);
	uint8_t *p;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	p = map_at(NULL, flags, fd);
	close(fd);
	return p;
}

static struct roost_mr *reg(struct fixture *f, uint8_t *p, uint32_t access)
{
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(f->pd, p, PAGES * PAGE, (uintptr_t)p,
				      ROOST_ACCESS_LOCAL_WRITE | access, &mr),
			 0);
	return mr;
}

static bool is_dead(struct fixture *f, const struct roost_mr *mr, size_t page)
{
	return roost_mr_access(f->dev, f->pd, mr->key, mr->iova + page * PAGE,
			       PAGE, PAGE, 0) == NULL;
}

/* The pages from first on, nb of them, are dead, and no others; the region
 * ends.
 */
static void expect_dead(struct fixture *f, struct roost_mr *mr, size_t first,
			size_t nb)
{
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(is_dead(f, mr, i),
				 i >= first && i - first < nb);
	assert_int_equal(roost_mr_dereg(mr), 0);
}

static void unmap__munmap(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map(), *other = map();
	struct roost_mr *mr = reg(f, p, 0);

	assert_int_equal(munmap(other, PAGES * PAGE), 0);
	/* The kernel refuses it. */
	assert_int_equal(munmap(p + 1, PAGE), -1);
	assert_int_equal(munmap(p, 0), -1);
	assert_int_equal(munmap(p + 2 * PAGE, 2 * PAGE - 5), 0);
	expect_dead(f, mr, 2, 2);
	/* Again, with others. */
	mr = reg(f, map_at(p, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1), 0);
	munmap(p + 2 * PAGE, PAGE);
	munmap(p, 3 * PAGE);
	expect_dead(f, mr, 0, 3);
	munmap(p, PAGES * PAGE);
}

static void unmap__mmap(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);

	/* There only if nothing is. */
	assert_ptr_not_equal(mmap(p, PAGE, PROT_READ,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     p);
	mmap(p, PAGE, PROT_READ,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(mmap(p + 7 * PAGE, PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p + 7 * PAGE);
	expect_dead(f, mr, 7, 1);
	munmap(p, PAGES * PAGE);
}

/* A region has parts of its first and its last page. */
static void unmap__parts_of_pages(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(f->pd, p + PAGE - 100, 2 * PAGE, 0, 0,
				      &mr),
			 0);
	munmap(p, PAGE);
	munmap(p + 3 * PAGE, PAGE);
	assert_null(roost_mr_access(f->dev, f->pd, mr->key, 99, 1, 1, 0));
	assert_non_null(roost_mr_access(f->dev, f->pd, mr->key, 100,
					2 * PAGE - 100, 2 * PAGE - 100, 0));
	munmap(p + 2 * PAGE, PAGE);
	assert_null(
		roost_mr_access(f->dev, f->pd, mr->key, 2 * PAGE - 1, 1, 1, 0));
	assert_non_null(
		roost_mr_access(f->dev, f->pd, mr->key, 100, PAGE, PAGE, 0));
	assert_int_equal(roost_mr_dereg(mr), 0);
	munmap(p, PAGES * PAGE);
}

static void unmap__on_demand(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, ROOST_ACCESS_ON_DEMAND);

	map_at(p, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	expect_dead(f, mr, 0, 0);
	munmap(p, PAGES * PAGE);
}

static void unmap__mremap(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map(), *q;
	struct roost_mr *mr = reg(f, p, 0);

	/* It becomes shorter, and grows again where it is. */
	assert_ptr_equal(mremap(p, PAGES * PAGE, 6 * PAGE - 7, 0), p);
	assert_ptr_equal(mremap(p, 6 * PAGE, 7 * PAGE, MREMAP_MAYMOVE), p);
	expect_dead(f, mr, 6, 2);
	munmap(p, 7 * PAGE);
	/* There is no room: it moves. */
	p = map();
	mr = reg(f, p, 0);
	assert_ptr_equal(mremap(p + PAGE, PAGE, 2 * PAGE, 0), MAP_FAILED);
	assert_false(is_dead(f, mr, 1));
	q = mremap(p + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	assert_ptr_not_equal(q, MAP_FAILED);
	expect_dead(f, mr, 1, 1);
	/* To a place that has memory. */
	mr = reg(f, map_at(p, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1), 0);
	assert_ptr_equal(mremap(q, 2 * PAGE, 2 * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, p + 3 * PAGE),
			 p + 3 * PAGE);
	expect_dead(f, mr, 3, 2);
	munmap(p, PAGES * PAGE);
}

/* Mappings without end: there is no room for one more. Returns them. */
static void *fill_maps(size_t *len)
{
	uint8_t *p;

	*len = 200000 * PAGE;
	p = mmap(NULL, *len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t at = 0; at < *len; at += 2 * PAGE)
		if (mprotect(p + at, PAGE, PROT_READ) != 0)
			return p;
	return p;
}

static void unmap__not_by_a_call_that_fails(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);
	size_t len;
	void *maps;

	assert_ptr_equal(mremap(p, PAGES * PAGE, 1ul << 46, MREMAP_MAYMOVE),
			 MAP_FAILED);
	for (size_t page = 0; page < PAGES; page++)
		assert_false(is_dead(f, mr, page));
	assert_int_equal(munmap(p + 7 * PAGE, PAGE), 0);
	maps = fill_maps(&len);
	if (munmap(p + 2 * PAGE, PAGE) == 0)
		print_message("this kernel's limit is not met\n");
	else
		assert_false(is_dead(f, mr, 2));
	munmap(maps, len);
	assert_true(is_dead(f, mr, 7));
	roost_mr_dereg(mr);
	munmap(p, PAGES * PAGE);
}

/* What was dead before stays so. */
static void unmap__dead_again(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);

	assert_int_equal(munmap(p + 3 * PAGE, PAGE), 0);
	assert_ptr_equal(mmap(p + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p + 3 * PAGE);
	mremap(p, PAGES * PAGE, 1ul << 46, MREMAP_MAYMOVE);
	assert_true(is_dead(f, mr, 3));
	roost_mr_dereg(mr);
	munmap(p, PAGES * PAGE);
}

static void unmap__madvise(void **state)
{
	static const struct {
		int advice;
		int flags; /* of the mapping; with a file or without */
		bool dies;
	} rows[] = {
		{ MADV_DONTNEED, MAP_PRIVATE | MAP_ANONYMOUS, true },
		{ MADV_DONTNEED, MAP_SHARED | MAP_ANONYMOUS, false },
		{ MADV_DONTNEED, MAP_SHARED, false },
		{ MADV_DONTNEED, MAP_PRIVATE, true },
		{ MADV_FREE, MAP_PRIVATE | MAP_ANONYMOUS, false },
		{ MADV_REMOVE, MAP_SHARED, true },
		{ MADV_WILLNEED, MAP_SHARED, false },
	};
	struct fixture *f = *state;
	struct roost_mr *mr;
	uint8_t *p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p = rows[i].flags & MAP_ANONYMOUS
			    ? map_at(NULL, rows[i].flags, -1)
			    : map_file(rows[i].flags);
		mr = reg(f, p, 0);
		assert_int_equal(madvise(p + PAGE, 3 * PAGE, rows[i].advice),
				 0);
		expect_dead(f, mr, 1, rows[i].dies ? 3 : 0);
		munmap(p, PAGES * PAGE);
	}
}

static void unmap__process_madvise(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);
	const struct iovec parts[] = { { p + PAGE, PAGE },
				       { p + 2 * PAGE, 2 * PAGE } };
	const pid_t other = fork();
	int pidfd;

	if (other == 0)
		pause();
	/* Of another process, which may not be. */
	pidfd = (int)syscall(SYS_pidfd_open, other, 0);
	assert_int_equal(process_madvise(pidfd, parts, 2, MADV_DONTNEED, 0),
			 -1);
	assert_false(is_dead(f, mr, 1));
	close(pidfd);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	assert_int_equal(process_madvise(pidfd, parts, 2, MADV_COLD, 0),
			 3 * PAGE);
	assert_false(is_dead(f, mr, 1));
	/* Not before Linux 6.13. */
	if (process_madvise(pidfd, parts, 2, MADV_DONTNEED, 0) < 0)
		expect_dead(f, mr, 0, 0);
	else
		expect_dead(f, mr, 1, 3);
	close(pidfd);
	munmap(p, PAGES * PAGE);
}

static void unmap__remap_file_pages(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map_file(MAP_SHARED);
	struct roost_mr *mr = reg(f, p, 0);

	assert_int_equal(remap_file_pages(p + PAGE, PAGE, 0, 5, 0), 0);
	expect_dead(f, mr, 1, 1);
	munmap(p, PAGES * PAGE);
}

static void unmap__heap(void **state)
{
	struct fixture *f = *state;
	uint8_t *p;
	struct roost_mr *mr;

	/* Room for what the test itself allocates meanwhile. */
	free(malloc(100000));
	p = sbrk(0);
	sbrk((intptr_t)(-(uintptr_t)p % PAGE));
	p = sbrk(PAGES * PAGE);
	mr = reg(f, p, 0);
	assert_ptr_equal(sbrk(-(intptr_t)PAGE - 5), p + PAGES * PAGE);
	assert_ptr_equal(sbrk(0), p + 7 * PAGE - 5);
	assert_int_equal(brk(p + 6 * PAGE), 0);
	assert_int_equal(brk(p + 7 * PAGE), 0);
	expect_dead(f, mr, 6, 2);
	assert_int_equal(brk(p), 0);
}

static void unmap__segments(void **state)
{
	struct fixture *f = *state;
	int id = shmget(IPC_PRIVATE, PAGES * PAGE, 0600);
	uint8_t *p = shmat(id, NULL, 0), *q = map();
	struct roost_mr *mr = reg(f, p, 0);

	assert_ptr_not_equal(p, (void *)-1);
	/* Two mappings of one segment. */
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(shmdt(p + PAGE), -1);
	assert_int_equal(shmdt(p), 0);
	expect_dead(f, mr, 0, PAGES);
	mr = reg(f, q, 0);
	assert_ptr_equal(shmat(id, q, SHM_REMAP), q);
	expect_dead(f, mr, 0, PAGES);
	assert_int_equal(shmdt(q), 0);
	shmctl(id, IPC_RMID, NULL);
}

/* A child has copies, which it may unmap; its parent's are as they were. */
static void unmap__in_a_child(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		munmap(p, PAGES * PAGE);
		_exit(is_dead(f, mr, 0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_dead(f, mr, 0, 0);
	munmap(p, PAGES * PAGE);
}

/* Registered again, the region is what is there now. */
static void unmap__until_registered_again(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);

	map_at(p, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	assert_true(is_dead(f, mr, 3));
	assert_int_equal(roost_mr_rereg(mr, ROOST_REREG_ACCESS, NULL, NULL, 0,
					ROOST_ACCESS_LOCAL_WRITE),
			 0);
	assert_false(is_dead(f, mr, 3));
	munmap(p, PAGE);
	expect_dead(f, mr, 0, 1);
	munmap(p, PAGES * PAGE);
}

/* Another thread has the turn, for longer than a call waits for it. */
static void unmap__does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map();
	struct roost_mr *mr = reg(f, p, 0);

	assert_true(roost_worker_turn_try(f->worker));
	assert_int_equal(munmap(p, PAGE), 0);
	roost_worker_turn_leave(f->worker);
	expect_dead(f, mr, 0, 1);
	munmap(p, PAGES * PAGE);
}

static int setup(void **state)
{
	static struct fixture f;

	fixture_open(&f, NULL);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture_close(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmap__munmap),
		cmocka_unit_test(unmap__mmap),
		cmocka_unit_test(unmap__parts_of_pages),
		cmocka_unit_test(unmap__on_demand),
		cmocka_unit_test(unmap__mremap),
		cmocka_unit_test(unmap__not_by_a_call_that_fails),
		cmocka_unit_test(unmap__dead_again),
		cmocka_unit_test(unmap__madvise),
		cmocka_unit_test(unmap__process_madvise),
		cmocka_unit_test(unmap__remap_file_pages),
		cmocka_unit_test(unmap__heap),
		cmocka_unit_test(unmap__segments),
		cmocka_unit_test(unmap__in_a_child),
		cmocka_unit_test(unmap__until_registered_again),
		cmocka_unit_test(unmap__does_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
