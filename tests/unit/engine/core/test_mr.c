/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/engine/core/mr_priv.h"
#include "lib/engine/core/shim.h"
#include "tests/unit/engine/fixture.h"

#define LOCAL_WRITE ROOST_ACCESS_LOCAL_WRITE

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static uint8_t *map_pages(size_t n, int prot)
{
	uint8_t *p = mmap(NULL, n * page_bytes(), prot,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int reg(struct fixture *f, void *addr, size_t len, uint32_t access,
	       struct roost_mr **mr)
{
	return roost_mr_reg(f->pd, addr, len, (uintptr_t)addr, access, mr);
}

/* ---- registration --------------------------------------------------- */

static void mr_reg__memory_that_is_not_there(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map_pages(3, PROT_READ | PROT_WRITE);
	struct roost_mr *mr;

	munmap(p + page_bytes(), page_bytes());
	assert_int_equal(reg(f, p, 3 * page_bytes(), 0, &mr), -EFAULT);
	assert_int_equal(reg(f, p, page_bytes() + 1, LOCAL_WRITE, &mr),
			 -EFAULT);
	assert_int_equal(reg(f, p + page_bytes(), 1, 0, &mr), -EFAULT);
	assert_int_equal(reg(f, NULL, 1, 0, &mr), -EFAULT);
	assert_int_equal(reg(f, p, page_bytes(), LOCAL_WRITE, &mr), 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	munmap(p, page_bytes());
	munmap(p + 2 * page_bytes(), page_bytes());
}

static void mr_reg__memory_that_is_read_only(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map_pages(2, PROT_READ);
	uint8_t *none = map_pages(1, PROT_NONE);
	struct roost_mr *mr;

	assert_int_equal(reg(f, p, 100, LOCAL_WRITE, &mr), -EFAULT);
	assert_int_equal(reg(f, p, 100, 0, &mr), 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(reg(f, p, 100, ROOST_ACCESS_REMOTE_READ, &mr), 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	/* The second page only. */
	mprotect(p, page_bytes(), PROT_READ | PROT_WRITE);
	assert_int_equal(reg(f, p, page_bytes() + 1, LOCAL_WRITE, &mr),
			 -EFAULT);
	assert_int_equal(reg(f, p, page_bytes(), LOCAL_WRITE, &mr), 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(reg(f, none, 1, 0, &mr), -EFAULT);
	munmap(p, 2 * page_bytes());
	munmap(none, page_bytes());
}

/* On demand means that the memory may come later. */
static void mr_reg__on_demand(void **state)
{
	struct fixture *f = *state;
	uint8_t *p = map_pages(1, PROT_NONE);
	struct roost_mr *mr;

	assert_int_equal(reg(f, p, page_bytes(),
			     LOCAL_WRITE | ROOST_ACCESS_ON_DEMAND, &mr),
			 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	munmap(p, page_bytes());
}

static void mr_reg__access(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t access;
		int rc;
	} rows[] = {
		{ 0, 0 },
		{ LOCAL_WRITE, 0 },
		{ ROOST_ACCESS_REMOTE_READ, 0 },
		{ ROOST_ACCESS_REMOTE_WRITE, -EINVAL },
		{ ROOST_ACCESS_REMOTE_ATOMIC, -EINVAL },
		{ ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_READ,
		  -EINVAL },
		{ LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE, 0 },
		{ LOCAL_WRITE | ROOST_ACCESS_REMOTE_ATOMIC, 0 },
		{ LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |
			  ROOST_ACCESS_REMOTE_READ |
			  ROOST_ACCESS_REMOTE_ATOMIC | ROOST_ACCESS_MW_BIND |
			  ROOST_ACCESS_ZERO_BASED,
		  0 },
		{ 1u << 7, -EINVAL },
		{ LOCAL_WRITE | 1u << 30, -EINVAL },
	};
	uint8_t buf[64];
	struct roost_mr *mr;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(reg(f, buf, sizeof(buf), rows[i].access, &mr),
				 rows[i].rc);
		if (rows[i].rc == 0)
			assert_int_equal(roost_mr_dereg(mr), 0);
	}
	/* Failures leave nothing behind. */
}

/* Memory of a driver, which the kernel would not fault in. */
static void mr_reg__present_is_not_looked_at(void **state)
{
	struct fixture *f = *state;
	uint8_t *none = map_pages(1, PROT_NONE);
	struct roost_mr *mr;

	assert_int_equal(reg(f, none, 8, LOCAL_WRITE | ROOST_ACCESS_PRESENT,
			     &mr),
			 0);
	assert_ptr_equal(roost_mr_access(f->dev, f->pd, mr->key,
					 (uintptr_t)none, 8, 8, LOCAL_WRITE),
			 none);
	assert_int_equal(roost_mr_dereg(mr), 0);
	munmap(none, page_bytes());
}

static void mr_reg__wraps(void **state)
{
	struct fixture *f = *state;
	uint8_t buf[64];
	struct roost_mr *mr;

	assert_int_equal(roost_mr_reg(f->pd, buf, SIZE_MAX, 0, 0, &mr),
			 -EINVAL);
	assert_int_equal(roost_mr_reg(f->pd, (void *)(UINTPTR_MAX - 10), 64, 0,
				      0, &mr),
			 -EINVAL);
	assert_int_equal(roost_mr_reg(f->pd, buf, 64, UINT64_MAX - 10, 0, &mr),
			 -EINVAL);
	/* Rounding up to a page must not wrap either. */
	assert_int_not_equal(roost_mr_reg(f->pd, (void *)(UINTPTR_MAX - 10), 5,
					  0, 0, &mr),
			     0);
	assert_int_equal(roost_mr_reg(f->pd, buf, 64, UINT64_MAX - 64, 0, &mr),
			 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
}

static void mr_reg__keys_are_all_different(void **state)
{
	struct fixture *f = *state;
	enum {
		N = 3000
	};
	static struct roost_mr *mrs[N];
	uint8_t buf[64];
	uint32_t gone;

	for (int i = 0; i < N; i++) {
		assert_int_equal(reg(f, buf, sizeof(buf), LOCAL_WRITE, &mrs[i]),
				 0);
		assert_int_not_equal(roost_mr_lkey(mrs[i]), 0);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(roost_mr_rkey(mrs[i]),
					     roost_mr_rkey(mrs[j]));
	}
	/* A key that is gone does not come back at once. */
	gone = roost_mr_rkey(mrs[0]);
	for (int i = 0; i < N; i++) {
		assert_int_equal(roost_mr_dereg(mrs[0]), 0);
		assert_int_equal(reg(f, buf, sizeof(buf), LOCAL_WRITE, &mrs[0]),
				 0);
		assert_int_not_equal(roost_mr_rkey(mrs[0]), gone);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(roost_mr_dereg(mrs[i]), 0);
}

struct deregister {
	struct roost_mr *mr;
	atomic_bool done;
};

static void *deregister(void *arg)
{
	struct deregister *d = arg;

	roost_mr_dereg(d->mr);
	atomic_store(&d->done, true);
	return NULL;
}

/* Who holds the turn may be using the memory: dereg waits for it. */
static void mr_dereg__waits_for_the_turn(void **state)
{
	struct fixture *f = *state;
	struct deregister d = { 0 };
	pthread_t thread;
	uint8_t buf[64];

	assert_int_equal(reg(f, buf, sizeof(buf), 0, &d.mr), 0);
	assert_true(roost_worker_turn_try(f->worker));
	assert_int_equal(pthread_create(&thread, NULL, deregister, &d), 0);
	/* Nobody finds it any more. */
	while (roost_mr_find(f->dev, d.mr->key))
		usleep(100);
	usleep(5000);
	assert_false(atomic_load(&d.done));
	roost_worker_turn_release(f->worker);
	pthread_join(thread, NULL);
}

static void mr_reg__holds_the_pd(void **state)
{
	struct fixture *f = *state;
	struct roost_pd *a, *b;
	struct roost_mr *mr;
	uint8_t buf[64];

	assert_int_equal(roost_pd_alloc(f->ctx, &a), 0);
	assert_int_equal(roost_pd_alloc(f->ctx, &b), 0);
	assert_int_not_equal(roost_pd_handle(a), roost_pd_handle(b));
	assert_int_equal(roost_mr_reg(a, buf, sizeof(buf), 0, 0, &mr), 0);
	assert_int_equal(roost_pd_dealloc(a), -EBUSY);
	assert_int_equal(roost_pd_dealloc(b), 0);
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(roost_pd_dealloc(a), 0);
}

/* ---- access --------------------------------------------------------- */

static void *at(struct fixture *f, uint32_t key, uint64_t va, uint64_t len,
		uint32_t access)
{
	return roost_mr_access(f->dev, f->pd, key, va, len, len, access);
}

static void mr_access__range(void **state)
{
	struct fixture *f = *state;
	const uint64_t base = 0x7000000000000000u;
	uint8_t buf[64];
	struct roost_mr *mr;
	uint32_t key;

	assert_int_equal(roost_mr_reg(f->pd, buf, 64, base, LOCAL_WRITE, &mr),
			 0);
	key = roost_mr_lkey(mr);
	assert_ptr_equal(at(f, key, base, 64, 0), buf);
	assert_ptr_equal(at(f, key, base + 63, 1, 0), buf + 63);
	assert_ptr_equal(at(f, key, base + 64, 0, 0), buf + 64);
	assert_null(at(f, key, base, 65, 0));
	assert_null(at(f, key, base - 1, 1, 0));
	assert_null(at(f, key, base - 1, 2, 0));
	assert_null(at(f, key, base + 63, 2, 0));
	assert_null(at(f, key, base + 64, 1, 0));
	assert_null(at(f, key, base + 65, 0, 0));
	/* Sums that wrap. */
	assert_null(at(f, key, base + 1, UINT64_MAX, 0));
	assert_null(at(f, key, base + 32, UINT64_MAX - 31, 0));
	assert_null(at(f, key, UINT64_MAX, 2, 0));
	assert_null(at(f, key, 0, UINT64_MAX, 0));
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_null(at(f, key, base, 1, 0));
}

static void mr_access__rights_key_and_pd(void **state)
{
	struct fixture *f = *state;
	struct roost_mr *mr, *read_only;
	uint64_t va;
	struct roost_pd *pd;
	uint8_t buf[64];
	uint32_t key;

	va = (uintptr_t)buf;
	assert_int_equal(reg(f, buf, 64,
			     LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE, &mr),
			 0);
	assert_int_equal(reg(f, buf, 64, 0, &read_only), 0);
	assert_int_equal(roost_pd_alloc(f->ctx, &pd), 0);
	key = roost_mr_rkey(mr);
	assert_ptr_equal(at(f, key, va, 64, ROOST_ACCESS_REMOTE_WRITE), buf);
	assert_null(at(f, key, va, 64, ROOST_ACCESS_REMOTE_READ));
	assert_null(at(f, key, va, 64,
		       ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_ATOMIC));
	assert_null(roost_mr_access(f->dev, pd, key, va, 1, 1, 0));
	assert_null(at(f, key ^ 1, va, 1, 0));
	assert_null(at(f, 0, va, 1, 0));
	assert_ptr_equal(at(f, roost_mr_lkey(read_only), va, 1, 0), buf);
	assert_null(at(f, roost_mr_lkey(read_only), va, 1, LOCAL_WRITE));
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(roost_mr_dereg(read_only), 0);
	assert_int_equal(roost_pd_dealloc(pd), 0);
}

static void mr_access__zero_based(void **state)
{
	struct fixture *f = *state;
	uint8_t buf[64];
	struct roost_mr *mr;
	uint32_t key;

	assert_int_equal(reg(f, buf, 64, ROOST_ACCESS_ZERO_BASED, &mr), 0);
	key = roost_mr_lkey(mr);
	assert_ptr_equal(at(f, key, 0, 64, 0), buf);
	assert_ptr_equal(at(f, key, 10, 54, 0), buf + 10);
	assert_null(at(f, key, 10, 55, 0));
	assert_null(at(f, key, (uintptr_t)buf, 1, 0));
	assert_int_equal(roost_mr_dereg(mr), 0);
}

/* A region of no bytes gives access to none. */
static void mr_access__zero_length(void **state)
{
	struct fixture *f = *state;
	uint8_t buf[64];
	struct roost_mr *mr;

	assert_int_equal(reg(f, buf, 0, LOCAL_WRITE, &mr), 0);
	assert_ptr_equal(at(f, roost_mr_lkey(mr), (uintptr_t)buf, 0, 0), buf);
	assert_null(at(f, roost_mr_lkey(mr), (uintptr_t)buf, 1, 0));
	assert_int_equal(roost_mr_dereg(mr), 0);
}

/* ---- scatter/gather lists ------------------------------------------- */

/* Into a place that is no frame: what puts it in, and if it folds meanwhile,
 * is for lib/wire to test.
 */
static enum roost_sge_fault gather(struct fixture *f,
				   const struct roost_sge *sges,
				   uint32_t nb_sges, uint64_t offset_bytes,
				   uint8_t *dst, uint32_t len_bytes)
{
	struct roost_fill fill = { .frame = dst };
	enum roost_sge_fault fault =
		roost_sge_gather(f->dev, f->pd, sges, nb_sges, offset_bytes,
				 &fill, len_bytes);

	if (fault == ROOST_SGE_OK)
		assert_int_equal(fill.len_bytes, len_bytes);
	return fault;
}

static void sge__gather_and_scatter_any_part(void **state)
{
	struct fixture *f = *state;
	static const uint32_t lens[] = { 7, 0, 1, 30, 0, 62 };
	uint8_t from[6][64], to[6][64], flat[100], got[100];
	struct roost_sge src[6], dst[6];
	struct roost_mr *a, *b;
	uint32_t n = 0;

	assert_int_equal(reg(f, from, sizeof(from), 0, &a), 0);
	assert_int_equal(reg(f, to, sizeof(to), LOCAL_WRITE, &b), 0);
	for (uint32_t i = 0; i < 6; i++) {
		for (uint32_t j = 0; j < lens[i]; j++, n++)
			from[i][j] = flat[n] = (uint8_t)(n * 7 + 1);
		src[i] = (struct roost_sge){ (uintptr_t)from[i], lens[i],
					     roost_mr_lkey(a) };
		dst[i] = (struct roost_sge){ (uintptr_t)to[i], lens[i],
					     roost_mr_lkey(b) };
	}
	for (uint32_t off = 0; off <= 100; off++) {
		for (uint32_t len = 0; off + len <= 100; len++) {
			memset(got, 0, sizeof(got));
			assert_int_equal(gather(f, src, 6, off, got, len),
					 ROOST_SGE_OK);
			assert_memory_equal(got, flat + off, len);
			memset(to, 0, sizeof(to));
			assert_int_equal(roost_sge_scatter(f->dev, f->pd, dst,
							   6, off, got, len),
					 ROOST_SGE_OK);
			for (uint32_t i = 0, at_byte = 0; i < 6; i++) {
				for (uint32_t j = 0; j < 64; j++) {
					bool in = j < lens[i] &&
						  at_byte + j >= off &&
						  at_byte + j < off + len;

					assert_int_equal(to[i][j],
							 in ? from[i][j] : 0);
				}
				at_byte += lens[i];
			}
		}
	}
	assert_int_equal(roost_mr_dereg(a), 0);
	assert_int_equal(roost_mr_dereg(b), 0);
}

static void sge__faults(void **state)
{
	struct fixture *f = *state;
	uint8_t buf[64] = { 0 }, flat[200];
	struct roost_sge sges[2];
	struct roost_mr *mr;

	assert_int_equal(reg(f, buf, 64, 0, &mr), 0);
	sges[0] = (struct roost_sge){ (uintptr_t)buf, 32, roost_mr_lkey(mr) };
	sges[1] = (struct roost_sge){ (uintptr_t)buf + 32, 33,
				      roost_mr_lkey(mr) };
	assert_int_equal(gather(f, sges, 1, 0, flat, 33), ROOST_SGE_SHORT);
	assert_int_equal(gather(f, sges, 0, 0, flat, 1), ROOST_SGE_SHORT);
	assert_int_equal(gather(f, sges, 2, 0, flat, 64), ROOST_SGE_OK);
	assert_int_equal(gather(f, sges, 2, 0, flat, 65), ROOST_SGE_BAD_KEY);
	assert_int_equal(roost_sge_scatter(f->dev, f->pd, sges, 1, 0, flat, 1),
			 ROOST_SGE_BAD_KEY);
	assert_int_equal(roost_mr_dereg(mr), 0);
	/* An element that wraps around to the beginning of a region at 0. */
	assert_int_equal(reg(f, buf, 64, ROOST_ACCESS_ZERO_BASED, &mr), 0);
	sges[0] = (struct roost_sge){ UINT64_MAX - 3, 32, roost_mr_lkey(mr) };
	assert_int_equal(gather(f, sges, 1, 0, flat, 32), ROOST_SGE_BAD_KEY);
	assert_int_equal(gather(f, sges, 1, 8, flat, 8), ROOST_SGE_BAD_KEY);
	assert_int_equal(roost_mr_dereg(mr), 0);
}

/* ---- guests ---------------------------------------------------------- */

static void guest__has_the_key_of_its_home(void **state)
{
	struct fixture *f = *state;
	struct roost_mr *own, *guest, *next, *again;
	uint8_t buf[64];
	uint32_t key, far;

	assert_int_equal(reg(f, buf, 64, LOCAL_WRITE, &own), 0);
	key = own->key ^ 0x5a5a5a00;
	far = key + ROOST_MR_GUEST_BUCKETS;
	assert_int_equal(roost_mr_reg_as(f->pd, buf, 32, 0x7000, LOCAL_WRITE,
					 key, &guest),
			 0);
	assert_int_equal(roost_mr_reg_as(f->pd, buf, 64, 0x9000, LOCAL_WRITE,
					 far, &next),
			 0);
	assert_int_equal(roost_mr_rkey(guest), key);
	/* each key names one region */
	assert_int_equal(roost_mr_reg_as(f->pd, buf, 32, 0, 0, key, &again),
			 -EEXIST);
	assert_int_equal(roost_mr_reg_as(f->pd, buf, 32, 0, 0, own->key,
					 &again),
			 -EEXIST);
	assert_int_equal(roost_mr_reg_as(f->pd, NULL, 8, 0, 0, 1, &again),
			 -EFAULT);
	assert_ptr_equal(roost_mr_access(f->dev, f->pd, key, 0x7008, 24, 24,
					 LOCAL_WRITE),
			 buf + 8);
	assert_null(roost_mr_access(f->dev, f->pd, key, 0x7008, 25, 25, 0));
	assert_ptr_equal(roost_mr_access(f->dev, f->pd, far, 0x9000, 64, 64, 0),
			 buf);
	assert_int_equal(roost_pd_dealloc(f->pd), -EBUSY);
	assert_int_equal(roost_mr_dereg(guest), 0);
	assert_null(roost_mr_access(f->dev, f->pd, key, 0x7000, 1, 1, 0));
	assert_non_null(roost_mr_access(f->dev, f->pd, far, 0x9000, 1, 1, 0));
	assert_int_equal(roost_mr_reg_as(f->pd, buf, 8, 0, 0, key, &again), 0);
	assert_int_equal(roost_mr_dereg(again), 0);
	assert_int_equal(roost_mr_dereg(next), 0);
	assert_int_equal(roost_mr_dereg(own), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(mr_reg__memory_that_is_not_there),
		FIXTURE_TEST(mr_reg__memory_that_is_read_only),
		FIXTURE_TEST(mr_reg__on_demand),
		FIXTURE_TEST(mr_reg__access),
		FIXTURE_TEST(mr_reg__present_is_not_looked_at),
		FIXTURE_TEST(mr_reg__wraps),
		FIXTURE_TEST(mr_reg__keys_are_all_different),
		FIXTURE_TEST(mr_reg__holds_the_pd),
		FIXTURE_TEST(mr_dereg__waits_for_the_turn),
		FIXTURE_TEST(mr_access__range),
		FIXTURE_TEST(mr_access__rights_key_and_pd),
		FIXTURE_TEST(mr_access__zero_based),
		FIXTURE_TEST(mr_access__zero_length),
		FIXTURE_TEST(guest__has_the_key_of_its_home),
		FIXTURE_TEST(sge__gather_and_scatter_any_part),
		FIXTURE_TEST(sge__faults),
	};

	return cmocka_run_group_tests_name("mr", tests, NULL, NULL);
}
