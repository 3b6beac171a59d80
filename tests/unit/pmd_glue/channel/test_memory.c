/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/channel/memory.h"
#include "tests/cmocka.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

static const struct roost_shm_shape shape = {
	.nb_slots = 64,
	.slot_bytes = ROOST_SHM_SLOT_BYTES,
	.nb_seats = 3,
	.ring_len = 32,
};

static struct roost_shm_memory ours, theirs;

static void make(void)
{
	assert_int_equal(roost_shm_memory_make(&shape, &ours), 0);
}

/* ---- one's own ------------------------------------------------------------
 */

static void memory__peer_sees_what_owner_writes(void **state)
{
	make();
	assert_int_equal(roost_shm_memory_map(ours.fd, &theirs), 0);
	assert_memory_equal(&theirs.shape, &shape, sizeof(shape));
	assert_true(theirs.base != ours.base);
	atomic_store(roost_shm_sleeps(&ours), 7);
	atomic_store(roost_shm_count(&ours, 2), 8);
	atomic_store(roost_shm_ring(&ours, 2) + 31, 9);
	memset(roost_shm_slot(&ours, 63), 0xa5, shape.slot_bytes);
	assert_int_equal(atomic_load(roost_shm_sleeps(&theirs)), 7);
	assert_int_equal(atomic_load(roost_shm_count(&theirs, 2)), 8);
	assert_int_equal(atomic_load(roost_shm_ring(&theirs, 2) + 31), 9);
	assert_memory_equal(roost_shm_slot(&theirs, 63),
			    roost_shm_slot(&ours, 63), shape.slot_bytes);
	roost_shm_memory_close(&theirs);
	roost_shm_memory_close(&ours);
	assert_null(ours.base);
	roost_shm_memory_close(&ours);
}

/* No part reaches into another one, and the last one ends in the memory. */
static void memory__parts_lie_apart(void **state)
{
	const uint8_t *end;

	make();
	end = ours.base + ours.size_bytes;
	assert_true(ours.sleeps >= ours.base + 64);
	assert_true(ours.counts >= ours.sleeps + 64);
	assert_true((uint8_t *)(roost_shm_count(&ours, 2) + 1) <= ours.rings);
	assert_true((uint8_t *)(roost_shm_ring(&ours, 2) + 32) <= ours.slots);
	assert_ptr_equal(roost_shm_ring(&ours, 1) + 32,
			 roost_shm_ring(&ours, 2));
	assert_true(roost_shm_slot(&ours, 63) + shape.slot_bytes <= end);
	assert_int_equal((uintptr_t)roost_shm_slot(&ours, 1) % 64, 0);
	roost_shm_memory_close(&ours);
}

/* All pages are there at once, and nobody can take one away, not the owner. */
static void memory__cannot_be_resized_or_punched(void **state)
{
	struct stat st;

	make();
	assert_int_equal(fstat(ours.fd, &st), 0);
	assert_int_equal(st.st_size, ours.size_bytes);
	assert_true((uint64_t)st.st_blocks * 512 >= ours.size_bytes);
	assert_int_equal(ftruncate(ours.fd, 4096), -1);
	assert_int_equal(ftruncate(ours.fd, 2 * st.st_size), -1);
	assert_int_equal(fallocate(ours.fd,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   0, 4096),
			 -1);
	assert_int_equal(madvise(ours.slots, 4096, MADV_REMOVE), -1);
	assert_int_equal(pwrite(ours.fd, "x", 1, 0), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			      ours.fd, 0),
			 MAP_FAILED);
	assert_int_equal(fcntl(ours.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	roost_shm_memory_close(&ours);
}

static void memory__peer_cannot_write(void **state)
{
	make();
	assert_int_equal(roost_shm_memory_map(ours.fd, &theirs), 0);
	assert_int_equal(mprotect(theirs.base, 4096, PROT_READ | PROT_WRITE),
			 -1);
	assert_int_equal(errno, EACCES);
	roost_shm_memory_close(&theirs);
	roost_shm_memory_close(&ours);
}

static void memory__not_in_children(void **state)
{
	int status;
	pid_t pid;

	make();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		unsigned char there;

		_exit(mincore(ours.base, 4096, &there) == 0 || errno != ENOMEM);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	roost_shm_memory_close(&ours);
}

static void memory__shapes_that_are_none(void **state)
{
	static const struct roost_shm_shape bad[] = {
		{ 0, 4352, 1, 8 },    { 48, 4352, 1, 8 },
		{ 8192, 4352, 1, 8 }, { 64, 4353, 1, 8 },
		{ 64, 0, 1, 8 },      { 64, 128, 1, 8 },
		{ 64, 32768, 1, 8 },  { 64, UINT32_MAX - 63, 1, 8 },
		{ 64, 4352, 0, 8 },   { 64, 4352, 65, 8 },
		{ 64, 4352, 1, 0 },   { 64, 4352, 1, 4 },
		{ 64, 4352, 1, 12 },  { 64, 4352, 1, 128 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(roost_shm_memory_make(&bad[i], &ours),
				 -EINVAL);
		assert_null(ours.base);
	}
}

/* With nothing left behind. */
static void memory__no_room_is_an_error(void **state)
{
	struct rlimit before, small;
	int next = dup(0), again;

	close(next);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 65536, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(roost_shm_memory_make(&shape, &ours), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(ours.base);
	again = dup(0);
	assert_int_equal(again, next);
	close(again);
	roost_shm_memory_close(&ours);
}

/* ---- a peer's -------------------------------------------------------------
 */

/* A memory as hostile hands make it: what differs is named. */
struct forgery {
	int seals;
	off_t size_bytes; /* 0: as it should be */
	bool holes;
	size_t at; /* of the header */
	uint32_t word;
};

static int forge(const struct forgery *f)
{
	int fd = memfd_create("forged", MFD_ALLOW_SEALING);
	uint8_t header[32];
	off_t size;

	make();
	size = f->size_bytes ? f->size_bytes : (off_t)ours.size_bytes;
	memcpy(header, ours.base, sizeof(header));
	roost_shm_memory_close(&ours);
	if (f->at != SIZE_MAX)
		memcpy(header + f->at, &f->word, sizeof(f->word));
	assert_int_equal(f->holes ? ftruncate(fd, size)
				  : posix_fallocate(fd, 0, size),
			 0);
	assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, f->seals), 0);
	return fd;
}

static int map_forged(const struct forgery *f)
{
	int fd = forge(f), ret = roost_shm_memory_map(fd, &theirs);

	if (ret)
		assert_null(theirs.base);
	close(fd);
	return ret;
}

static void map__forgery_without_fault_is_good(void **state)
{
	assert_int_equal(map_forged(&(struct forgery){ .seals = SEALS,
						       .at = SIZE_MAX }),
			 0);
	roost_shm_memory_close(&theirs);
}

static void map__wants_each_seal(void **state)
{
	static const int seals[] = { F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW,
				     F_SEAL_FUTURE_WRITE };

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(map_forged(&(struct forgery){
					 .seals = SEALS & ~seals[i],
					 .at = SIZE_MAX }),
				 -EPERM);
}

static void map__no_memfd(void **state)
{
	FILE *file = tmpfile();
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(roost_shm_memory_map(fds[0], &theirs), -EPERM);
	assert_int_equal(roost_shm_memory_map(-1, &theirs), -EPERM);
	assert_int_equal(roost_shm_memory_map(fileno(file), &theirs), -EPERM);
	close(fds[0]);
	close(fds[1]);
	fclose(file);
}

static void map__size_that_is_not_the_shapes(void **state)
{
	assert_int_equal(map_forged(&(struct forgery){ .seals = SEALS,
						       .size_bytes = 8192,
						       .at = SIZE_MAX }),
			 -EMSGSIZE);
	assert_int_equal(map_forged(&(struct forgery){ .seals = SEALS,
						       .size_bytes = 1 << 20,
						       .at = SIZE_MAX }),
			 -EMSGSIZE);
	assert_int_equal(map_forged(&(struct forgery){ .seals = SEALS,
						       .size_bytes = 16,
						       .at = SIZE_MAX }),
			 -EMSGSIZE);
}

/* A page that is missing costs the reader, or kills it by SIGBUS. */
static void map__pages_that_are_missing(void **state)
{
	assert_int_equal(map_forged(&(struct forgery){ .seals = SEALS,
						       .holes = true,
						       .at = SIZE_MAX }),
			 -EMSGSIZE);
}

static void map__headers_that_lie(void **state)
{
	static const struct {
		size_t at;
		uint32_t word;
		int ret;
	} lies[] = {
		{ 0, 0, -EPROTO },           { 4, 0, -EPROTO },
		{ 8, 0, -EPROTONOSUPPORT },  { 8, 2, -EPROTONOSUPPORT },
		{ 12, 0, -EPROTO },          { 12, 63, -EPROTO },
		{ 12, 128, -EMSGSIZE },      { 12, 1u << 31, -EPROTO },
		{ 16, 0, -EPROTO },          { 16, 8192, -EMSGSIZE },
		{ 16, 0xffffffc0, -EPROTO }, { 20, 0, -EPROTO },
		{ 20, 64, -EMSGSIZE },       { 20, UINT32_MAX, -EPROTO },
		{ 24, 0, -EPROTO },          { 24, 1u << 20, -EPROTO },
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		assert_int_equal(map_forged(&(struct forgery){
					 .seals = SEALS,
					 .at = lies[i].at,
					 .word = lies[i].word }),
				 lies[i].ret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory__peer_sees_what_owner_writes),
		cmocka_unit_test(memory__parts_lie_apart),
		cmocka_unit_test(memory__cannot_be_resized_or_punched),
		cmocka_unit_test(memory__peer_cannot_write),
		cmocka_unit_test(memory__not_in_children),
		cmocka_unit_test(memory__shapes_that_are_none),
		cmocka_unit_test(memory__no_room_is_an_error),
		cmocka_unit_test(map__forgery_without_fault_is_good),
		cmocka_unit_test(map__wants_each_seal),
		cmocka_unit_test(map__no_memfd),
		cmocka_unit_test(map__size_that_is_not_the_shapes),
		cmocka_unit_test(map__pages_that_are_missing),
		cmocka_unit_test(map__headers_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
