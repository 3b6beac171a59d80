/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_test.h"

#define PAGE 4096
#define WRITE IBV_ACCESS_LOCAL_WRITE

static struct ibv_context *c;
static struct ibv_pd *pd;
static int fd; /* three pages and a bit */

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return ftruncate(fd, 3 * PAGE + 5);
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	close(fd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	close_roost0(c);
	return 0;
}

/* How often the file is mapped. */
static unsigned int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int nb = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		nb += strstr(line, "memfd:test") != NULL;
	fclose(maps);
	return nb;
}

static void region__is_the_memory_of_the_file(void **state)
{
	struct ibv_mr *mr;
	char *host, got[4];

	mr = ibv_reg_dmabuf_mr(pd, PAGE + 3, PAGE, 7 * PAGE + 3, fd, WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, (void *)(PAGE + 3));
	assert_int_equal(mr->length, PAGE);
	assert_int_equal(fake.mr_iova, 7 * PAGE + 3);
	assert_int_equal(fake.mr_len, PAGE);
	assert_int_equal(fake.mr_access, ROOST_ACCESS_LOCAL_WRITE);
	host = fake.mr_addr;
	memcpy(host, "roost", 4);
	assert_int_equal(pread(fd, got, 4, PAGE + 3), 4);
	assert_memory_equal(got, "roost", 4);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(mappings(), 1);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(mappings(), 0);
}

static void region__without_writing(void **state)
{
	char path[32];
	struct ibv_mr *mr;
	int read_only;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_only = open(path, O_RDONLY);
	assert_true(read_only >= 0);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, read_only, WRITE),
			  EACCES);
	mr = ibv_reg_dmabuf_mr(pd, 0, 8, 0, read_only, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(*(char *)fake.mr_addr, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(read_only);
}

static void region__what_cannot_be_one(void **state)
{
	static const struct {
		uint64_t offset;
		size_t length;
		uint64_t iova;
		int access;
	} rows[] = {
		{ 0, 0, 0, WRITE },
		{ 0, 3 * PAGE + 6, 0, WRITE },
		{ 3 * PAGE, 6, 0, WRITE },
		{ 4 * PAGE, 1, 0, WRITE },
		{ UINT64_MAX - PAGE + 1, PAGE, 0, WRITE },
		{ PAGE, SIZE_MAX - 8, 0, WRITE },
		/* another place in the page */
		{ PAGE, 8, 1, WRITE },
		{ PAGE + 1, 8, PAGE, WRITE },
		{ 0, 8, 0, WRITE | IBV_ACCESS_ON_DEMAND },
		{ 0, 8, 0, WRITE | IBV_ACCESS_MW_BIND },
		{ 0, 8, 0, WRITE | IBV_ACCESS_ZERO_BASED },
	};

	for (size_t i = 0; i < NB(rows); i++)
		assert_null_errno(ibv_reg_dmabuf_mr(pd, rows[i].offset,
						    rows[i].length,
						    rows[i].iova, fd,
						    rows[i].access),
				  EINVAL);
}

static void region__descriptors(void **state)
{
	int ends[2], path = open("/dev/shm", O_PATH), text, gone = dup(fd);

	assert_int_equal(pipe(ends), 0);
	text = open("/etc/passwd", O_RDONLY);
	close(gone);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, gone, 0), EBADF);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, -2, 0), EBADF);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, ends[0], 0), EINVAL);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, text, 0), EINVAL);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, path, 0), EINVAL);
	/* programs ask for memory of accelerators so */
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0), EOPNOTSUPP);
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, -1, WRITE),
			  EOPNOTSUPP);
	close(ends[0]);
	close(ends[1]);
	close(text);
	close(path);
}

static void region__engine_refuses(void **state)
{
	fake.fail_call = "roost_mr_reg";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_reg_dmabuf_mr(pd, 0, 8, 0, fd, WRITE), ENOMEM);
	assert_int_equal(mappings(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(region__is_the_memory_of_the_file),
		TEST(region__without_writing),
		TEST(region__what_cannot_be_one),
		TEST(region__descriptors),
		TEST(region__engine_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
