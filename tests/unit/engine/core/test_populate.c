/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Memory that is there, in part, or not. madvise() is the one here, which
 * counts.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/engine/core/populate.h"
#include "tests/cmocka.h"

#define PAGE 4096ul
#define SMALL (1ul << 20)
#define LARGE (128ul << 20)

static size_t populated_bytes;

int madvise(void *addr, size_t len, int advice)
{
	if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		populated_bytes += len;
	return (int)syscall(SYS_madvise, addr, len, advice);
}

static uint8_t *map(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	populated_bytes = 0;
	return p;
}

static const size_t sizes[] = { SMALL, LARGE };

static bool is_there(uint8_t *page)
{
	unsigned char v;

	assert_int_equal(mincore(page, PAGE, &v), 0);
	return v & 1;
}

static void populate__faults_in(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		size_t len = sizes[i];
		uint8_t *p = map(len);

		assert_false(is_there(p + len / 2));
		assert_int_equal(roost_populate(p + 1, len - 2, true), 0);
		assert_true(is_there(p));
		assert_true(is_there(p + len / 2));
		assert_true(is_there(p + len - PAGE));
		munmap(p, len);
	}
}

static void populate__nothing_to_do_for_what_is_there(void **state)
{
	uint8_t *p = map(LARGE);

	memset(p, 1, LARGE);
	assert_int_equal(roost_populate(p, LARGE, true), 0);
	assert_int_equal(populated_bytes, 0);
	/* Two holes, and the end. */
	madvise(p + 10 * PAGE, 3 * PAGE, MADV_DONTNEED);
	madvise(p + 20 * PAGE, PAGE, MADV_DONTNEED);
	madvise(p + LARGE - PAGE, PAGE, MADV_DONTNEED);
	assert_int_equal(roost_populate(p, LARGE, true), 0);
	assert_int_equal(populated_bytes, 5 * PAGE);
	assert_true(is_there(p + 11 * PAGE));
	assert_true(is_there(p + LARGE - PAGE));
	munmap(p, LARGE);
}

static void populate__not_mapped(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		size_t len = sizes[i];
		uint8_t *p = map(len);

		memset(p, 1, len);
		munmap(p + len / 2, PAGE);
		assert_int_equal(roost_populate(p, len, true), -EFAULT);
		assert_int_equal(roost_populate(p, len, false), -EFAULT);
		munmap(p, len);
		assert_int_equal(roost_populate(p, len, false), -EFAULT);
	}
}

static void populate__not_allowed(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		size_t len = sizes[i];
		uint8_t *p = map(len);

		memset(p, 1, len);
		assert_int_equal(mprotect(p + len - PAGE, PAGE, PROT_READ), 0);
		assert_int_equal(roost_populate(p, len, true), -EFAULT);
		assert_int_equal(roost_populate(p, len, false), 0);
		assert_int_equal(roost_populate(p, len - PAGE, true), 0);
		assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
		assert_int_equal(roost_populate(p, len, false), -EFAULT);
		munmap(p, len);
	}
}

/* A mapping that is longer than its file. */
static void populate__end_of_file(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		size_t len = sizes[i];
		int fd = memfd_create("short", 0);
		uint8_t *p;

		assert_int_equal(ftruncate(fd, (off_t)(len - PAGE)), 0);
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(p, MAP_FAILED);
		assert_int_equal(roost_populate(p, len, true), -EFAULT);
		assert_int_equal(roost_populate(p, len - PAGE, true), 0);
		munmap(p, len);
		close(fd);
	}
}

static void populate__bounds(void **state)
{
	assert_int_equal(roost_populate(NULL, 0, true), 0);
	assert_int_equal(roost_populate((void *)(UINTPTR_MAX - 10), 100, false),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(populate__faults_in),
		cmocka_unit_test(populate__nothing_to_do_for_what_is_there),
		cmocka_unit_test(populate__not_mapped),
		cmocka_unit_test(populate__not_allowed),
		cmocka_unit_test(populate__end_of_file),
		cmocka_unit_test(populate__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
