/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmd_glue/channel/memory.h"
#include "pmd_glue/channel/sealed.h"
#include "pmd_glue/share/page.h"
#include "tests/cmocka.h"

static struct roost_share_page *page;
static const struct roost_share_page *seen;
static int fd;

static int setup(void **state)
{
	return roost_share_page_make(&page, &fd) ||
	       roost_share_page_map(fd, &seen);
}

static int teardown(void **state)
{
	roost_share_page_close(seen);
	roost_share_page_close(page);
	close(fd);
	return 0;
}

static void page__reader_sees_what_was_written(void **state)
{
	struct roost_share_facts facts = {
		.is_active = 1,
		.ip_mtu_bytes = 4200,
		.gids[63] = { .b = { 0xfe, 0x80, [15] = 1 } },
		.pkeys[15] = 0xffff,
	};
	struct roost_share_facts copy;
	uint32_t first, second;

	assert_int_equal(roost_share_page_read(seen, &copy, &first), 0);
	assert_true(roost_share_page_write(page, &facts));
	assert_int_equal(roost_share_page_read(seen, &copy, &second), 0);
	assert_memory_equal(&copy, &facts, sizeof(facts));
	assert_true(first != second);
	/* The same facts again are no change. */
	assert_false(roost_share_page_write(page, &facts));
	assert_int_equal(roost_share_page_read(seen, &copy, &first), 0);
	assert_int_equal(first, second);
	atomic_store(&page->neighs[1023], 5);
	assert_int_equal(atomic_load(&seen->neighs[1023]), 5);
}

/* A daemon that stopped while it wrote: no reader waits for ever. */
static void page__half_written_is_not_waited_for(void **state)
{
	struct roost_share_facts copy;
	uint32_t generation;

	atomic_fetch_add(&page->generation, 1);
	assert_int_equal(roost_share_page_read(seen, &copy, &generation),
			 -EAGAIN);
}

static void *write_facts(void *stop)
{
	struct roost_share_facts facts;

	for (unsigned char c = 0; !atomic_load((_Atomic int *)stop); c++) {
		memset(&facts, c, sizeof(facts));
		roost_share_page_write(page, &facts);
	}
	return NULL;
}

static void page__facts_are_of_one_write(void **state)
{
	struct roost_share_facts copy;
	_Atomic int stop = 0;
	unsigned int nb = 0;
	uint32_t generation;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_facts, &stop), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		const unsigned char *bytes = (const unsigned char *)&copy;

		if (roost_share_page_read(seen, &copy, &generation))
			continue;
		nb++;
		for (size_t k = 1; k < sizeof(copy); k++)
			assert_int_equal(bytes[k], bytes[0]);
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	assert_true(nb > 0);
}

/* ---- what is no page ----------------------------------------------------- */

static void page__others_are_refused(void **state)
{
	const struct roost_shm_shape shape = { 64, 4352, 1, 8 };
	const struct roost_share_page *other;
	struct roost_shm_memory mem;
	int pipe_fds[2];
	uint8_t *base;
	int memfd;

	/* Not sealed: it could shrink under the reader. */
	memfd = roost_sealed_make("x", sizeof(*page), &base);
	assert_true(memfd >= 0);
	memcpy(base, page, sizeof(*page));
	assert_int_equal(roost_share_page_map(memfd, &other), -EPERM);
	/* Of another version. */
	((struct roost_share_page *)(void *)base)->version++;
	assert_int_equal(roost_sealed_seal(memfd), 0);
	assert_int_equal(roost_share_page_map(memfd, &other), -EPROTONOSUPPORT);
	munmap(base, sizeof(*page));
	close(memfd);
	/* Of another size. */
	assert_int_equal(roost_shm_memory_make(&shape, &mem), 0);
	assert_int_equal(roost_share_page_map(mem.fd, &other), -EPROTO);
	roost_shm_memory_close(&mem);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(roost_share_page_map(pipe_fds[0], &other), -EPERM);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(page__reader_sees_what_was_written),
		TEST(page__half_written_is_not_waited_for),
		TEST(page__facts_are_of_one_write),
		TEST(page__others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
