/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Each kernel that this processor can run, against ISA-L called in the plain
 * way. Where memory ends, the test dies of a byte that is touched behind it.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isa-l/crc.h>

#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"

#define LEN_MAX 9100u
#define ROOM_BYTES 12288u
#define GUARD 64u
#define GUARD_BYTE 0x5a

/* Memory between two places that cannot be touched. */
static uint8_t *make_room(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, ROOM_BYTES + 2 * page, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + page, ROOM_BYTES, PROT_READ | PROT_WRITE),
			 0);
	return p + page;
}

static uint8_t *src_room, *dst_room;

static int make_rooms(void **state)
{
	src_room = make_room();
	dst_room = make_room();
	random_seed();
	random_fill(src_room, ROOM_BYTES);
	return 0;
}

static void check_copy(const struct roost_kernel *kernel, size_t src_at,
		       size_t dst_at, size_t len)
{
	uint8_t *src = src_room + src_at, *dst = dst_room + dst_at;
	size_t before = dst_at < GUARD ? dst_at : GUARD;
	size_t after = ROOM_BYTES - dst_at - len;
	uint32_t crc = random_u32(), fault = 0;

	if (after > GUARD)
		after = GUARD;
	memset(dst - before, GUARD_BYTE, before + len + after);
	assert_int_equal(kernel->crc_copy(crc, dst, src, len, &fault),
			 crc32_gzip_refl(crc, src, len));
	assert_int_equal(fault, 0);
	assert_memory_equal(dst, src, len);
	for (size_t i = 0; i < before; i++)
		assert_int_equal(dst[-1 - (ptrdiff_t)i], GUARD_BYTE);
	for (size_t i = 0; i < after; i++)
		assert_int_equal(dst[len + i], GUARD_BYTE);
}

static void copy__every_length(const struct roost_kernel *kernel)
{
	for (size_t len = 0; len <= LEN_MAX; len++) {
		check_copy(kernel, 0, 0, len);
		check_copy(kernel, ROOM_BYTES - len, ROOM_BYTES - len, len);
		check_copy(kernel, random_below(64), random_below(64), len);
	}
}

static void copy__every_alignment(const struct roost_kernel *kernel)
{
	static const size_t lens[] = { 1,   4,   15,  16,   63,   64,   65,
				       127, 128, 256, 1024, 1025, 4096, 4099 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (size_t src = 0; src < 64; src++)
			for (size_t dst = 0; dst < 64; dst++)
				check_copy(kernel, src, dst, lens[i]);
}

/* Payload of many SGEs: piece after piece. */
static void copy__in_pieces(const struct roost_kernel *kernel)
{
	for (int i = 0; i < 2000; i++) {
		uint32_t want = random_u32(), got = want, fault = 0;
		size_t len = random_below(4096) + 1, at = 0;

		want = crc32_gzip_refl(want, src_room, len);
		while (at < len) {
			size_t piece = random_below(i % 2 ? 9 : 700);

			if (piece > len - at)
				piece = len - at;
			got = kernel->crc_copy(got, dst_room + at,
					       src_room + at, piece, &fault);
			at += piece;
		}
		assert_int_equal(got, want);
		assert_memory_equal(dst_room, src_room, len);
	}
}

/* ---- somebody writes to the source --------------------------------------- */

static atomic_bool stop_writing;

static void *write_all_the_time(void *room)
{
	for (unsigned int n = 0; !atomic_load(&stop_writing); n++)
		memset(room, (int)n, 512);
	return NULL;
}

/* What is folded is what stands at dst, whatever that is. */
static void copy__of_what_changes(const struct roost_kernel *kernel)
{
	pthread_t writer;

	atomic_store(&stop_writing, false);
	assert_int_equal(pthread_create(&writer, NULL, write_all_the_time,
					src_room),
			 0);
	for (int i = 0; i < 200000; i++) {
		size_t len = (size_t)i % 300;
		uint32_t fault = 0;
		uint32_t got =
			kernel->crc_copy(7, dst_room, src_room, len, &fault);

		assert_int_equal(got, crc32_gzip_refl(7, dst_room, len));
	}
	atomic_store(&stop_writing, true);
	pthread_join(writer, NULL);
	random_fill(src_room, ROOM_BYTES);
}

/* ---- packets ------------------------------------------------------------- */

static uint32_t plain_icrc(const struct roost_icrc_mask *mask,
			   const uint8_t *l3, size_t len)
{
	static uint8_t copy[LEN_MAX];

	memcpy(copy, l3, len);
	for (size_t i = 0; i < mask->hdr_len_bytes; i++)
		copy[i] = (uint8_t)((l3[i] &
				     ~mask->clear[ROOST_KERNEL_CHUNK + i]) ^
				    mask->flip[ROOST_KERNEL_CHUNK + i]);
	return crc32_gzip_refl(UINT32_MAX, copy, len);
}

static void check_icrc(const struct roost_kernel *kernel,
		       const struct roost_icrc_mask *mask)
{
	for (size_t len = mask->hdr_len_bytes; len <= LEN_MAX; len++) {
		const uint8_t *first = src_room + ROOST_ETH_LEN;
		const uint8_t *last = src_room + ROOM_BYTES - len;
		const uint8_t *some = first + random_below(64);

		assert_int_equal(kernel->icrc(mask, first, len),
				 plain_icrc(mask, first, len));
		assert_int_equal(kernel->icrc(mask, last, len),
				 plain_icrc(mask, last, len));
		assert_int_equal(kernel->icrc(mask, some, len),
				 plain_icrc(mask, some, len));
	}
}

static void icrc__every_length(const struct roost_kernel *kernel)
{
	check_icrc(kernel, &roost_icrc_mask_ipv4);
	check_icrc(kernel, &roost_icrc_mask_ipv6);
}

static void with_each_kernel(void (*check)(const struct roost_kernel *kernel))
{
	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++) {
		if (roost_kernels[i]->usable())
			check(roost_kernels[i]);
		else
			print_message("skipped: this processor cannot run %s\n",
				      roost_kernels[i]->name);
	}
}

static void kernel__copies_every_length(void **state)
{
	with_each_kernel(copy__every_length);
}

static void kernel__copies_every_alignment(void **state)
{
	with_each_kernel(copy__every_alignment);
}

static void kernel__copies_in_pieces(void **state)
{
	with_each_kernel(copy__in_pieces);
}

static void kernel__folds_what_it_stores(void **state)
{
	with_each_kernel(copy__of_what_changes);
}

static void kernel__icrc_of_every_length(void **state)
{
	with_each_kernel(icrc__every_length);
}

static void kernel__first_usable_one_is_chosen(void **state)
{
	unsigned int i = 0;

	assert_true(roost_kernels[ROOST_NB_KERNELS - 1]->usable());
	while (!roost_kernels[i]->usable())
		i++;
	assert_ptr_equal(roost_kernel, roost_kernels[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel__copies_every_length),
		cmocka_unit_test(kernel__copies_every_alignment),
		cmocka_unit_test(kernel__copies_in_pieces),
		cmocka_unit_test(kernel__folds_what_it_stores),
		cmocka_unit_test(kernel__icrc_of_every_length),
		cmocka_unit_test(kernel__first_usable_one_is_chosen),
	};

	return cmocka_run_group_tests(tests, make_rooms, NULL);
}
