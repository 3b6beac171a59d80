/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* EAL is never initialised here. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/mbuf.h"
#include "pmd_glue/channel/pool.h"
#include "tests/cmocka.h"

#define SLOTS 64u

static struct roost_shm_memory mem;
static struct roost_shm_pool *slots, *frames;

static int open_pools(void **state)
{
	const struct roost_shm_shape shape = { SLOTS, 4352, 1, 8 };

	assert_int_equal(roost_shm_memory_make(&shape, &mem), 0);
	assert_int_equal(roost_shm_pool_on_slots(&mem, &slots), 0);
	assert_int_equal(roost_shm_pool_private(SLOTS, 192, &frames), 0);
	return 0;
}

static int close_pools(void **state)
{
	roost_shm_pool_destroy(slots);
	roost_shm_pool_destroy(frames);
	roost_shm_memory_close(&mem);
	return 0;
}

static void pool__mbufs_are_on_their_slots(void **state)
{
	struct rte_mempool *mempool = roost_shm_pool_mempool(slots);
	struct rte_mbuf *mbufs[SLOTS];

	for (uint32_t i = 0; i < SLOTS; i++) {
		mbufs[i] = rte_pktmbuf_alloc(mempool);
		assert_non_null(mbufs[i]);
		assert_ptr_equal(rte_pktmbuf_mtod(mbufs[i], uint8_t *),
				 roost_shm_slot(&mem, i) + ROOST_SHM_HEADROOM);
		assert_int_equal(roost_shm_pool_number(slots, mbufs[i]), i);
		assert_int_equal(rte_pktmbuf_tailroom(mbufs[i]), 4352 - 128);
		assert_non_null(rte_pktmbuf_append(mbufs[i], 4352 - 128));
		memset(rte_pktmbuf_mtod(mbufs[i], void *), 0x5a, 4352 - 128);
		rte_mbuf_sanity_check(mbufs[i], 1);
	}
	assert_null(rte_pktmbuf_alloc(mempool));
	assert_int_equal(rte_mempool_avail_count(mempool), 0);
	rte_pktmbuf_free_bulk(mbufs, SLOTS);
	assert_int_equal(rte_mempool_avail_count(mempool), SLOTS);
	assert_int_equal(rte_pktmbuf_data_room_size(mempool), 4352);
	assert_int_equal(rte_pktmbuf_priv_size(mempool), 0);
}

/* Few pages are touched where few frames are on the way. */
static void pool__last_freed_is_first_taken(void **state)
{
	struct rte_mempool *mempool = roost_shm_pool_mempool(slots);
	struct rte_mbuf *a = rte_pktmbuf_alloc(mempool);
	struct rte_mbuf *b = rte_pktmbuf_alloc(mempool);

	rte_pktmbuf_free(a);
	assert_ptr_equal(rte_pktmbuf_alloc(mempool), a);
	rte_pktmbuf_free(b);
	rte_pktmbuf_free(a);
	assert_ptr_equal(rte_pktmbuf_alloc(mempool), a);
	assert_ptr_equal(rte_pktmbuf_alloc(mempool), b);
	rte_pktmbuf_free(a);
	rte_pktmbuf_free(b);
}

static void pool__takes_all_or_nothing(void **state)
{
	struct rte_mbuf *mbufs[SLOTS];

	assert_int_equal(roost_shm_pool_take(slots, mbufs, SLOTS + 1),
			 -ENOBUFS);
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS);
	assert_int_equal(roost_shm_pool_take(slots, mbufs, SLOTS - 1), 0);
	assert_int_equal(roost_shm_pool_take(slots, mbufs, 2), -ENOBUFS);
	assert_int_equal(roost_shm_pool_nb_free(slots), 1);
	rte_pktmbuf_free_bulk(mbufs, SLOTS - 1);
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS);
}

static void pool__copies_and_references(void **state)
{
	struct rte_mempool *mempool = roost_shm_pool_mempool(slots);
	struct rte_mbuf *a = rte_pktmbuf_alloc(mempool), *copy;

	memset(rte_pktmbuf_append(a, 300), 7, 300);
	copy = rte_pktmbuf_copy(a, mempool, 0, UINT32_MAX);
	assert_int_equal(copy->pkt_len, 300);
	assert_memory_equal(rte_pktmbuf_mtod(copy, void *),
			    rte_pktmbuf_mtod(a, void *), 300);
	rte_mbuf_refcnt_update(a, 1);
	rte_pktmbuf_free(a);
	rte_pktmbuf_free(copy);
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS - 1);
	rte_pktmbuf_free(a);
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS);
}

static void private__tells_that_a_frame_is_done(void **state)
{
	struct rte_mempool *mempool = roost_shm_pool_mempool(frames);
	struct rte_mbuf *mbufs[3];
	struct roost_in_place *p;
	atomic_bool done[3] = { false, false, false };

	assert_true(rte_pktmbuf_priv_size(mempool) >= sizeof(*p));
	assert_int_equal(roost_shm_pool_take(frames, mbufs, 3), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(mbufs[i]->buf_len, 192);
		p = rte_mbuf_to_priv(mbufs[i]);
		assert_true((uint8_t *)(p + 1) <=
			    (uint8_t *)mbufs[i]->buf_addr);
		p->done = i == 1 ? NULL : &done[i];
	}
	rte_mbuf_refcnt_update(mbufs[2], 1);
	rte_pktmbuf_free_bulk(mbufs, 3);
	assert_true(done[0]);
	assert_false(done[1]);
	assert_false(done[2]);
	rte_pktmbuf_free(mbufs[2]);
	assert_true(done[2]);
	assert_int_equal(roost_shm_pool_nb_free(frames), SLOTS);
}

/* The slots at once, the mbufs when all frames were received. */
static void private__a_worker_puts_together(void **state)
{
	static struct roost_dev dev;
	static struct roost_worker w = { .dev = &dev };
	struct rte_mbuf *mbufs[SLOTS], *other;
	struct roost_in_place *p;
	atomic_bool done[SLOTS];

	assert_int_equal(roost_shm_pool_take(frames, mbufs, SLOTS), 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		p = rte_mbuf_to_priv(mbufs[i]);
		p->done = &done[i];
		done[i] = false;
	}
	for (uint32_t i = 0; i < ROOST_RX_BURST; i++) {
		roost_mbuf_free(&w, mbufs[i]);
		assert_true(done[i]);
	}
	assert_int_equal(roost_shm_pool_nb_free(frames), 0);
	/* More than one burst, and another pool's. */
	roost_mbuf_free(&w, mbufs[ROOST_RX_BURST]);
	assert_int_equal(roost_shm_pool_nb_free(frames), ROOST_RX_BURST);
	other = rte_pktmbuf_alloc(roost_shm_pool_mempool(slots));
	roost_mbuf_free(&w, other);
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS);
	/* The sender has the slot, and may have sent another frame in it. */
	done[ROOST_RX_BURST] = false;
	roost_mbuf_put_spent(&w);
	assert_false(done[ROOST_RX_BURST]);
	assert_int_equal(roost_shm_pool_nb_free(frames), ROOST_RX_BURST + 1);
	roost_mbuf_put_spent(&w);
	for (uint32_t i = ROOST_RX_BURST + 1; i < SLOTS; i++)
		roost_mbuf_free(&w, mbufs[i]);
	roost_mbuf_put_spent(&w);
	assert_int_equal(roost_shm_pool_nb_free(frames), SLOTS);
}

static void private__numbers(void **state)
{
	struct roost_shm_pool *pool;

	/* Strides of many sizes. */
	for (uint32_t bytes = 1; bytes <= 4096; bytes += 64) {
		assert_int_equal(roost_shm_pool_private(300, bytes, &pool), 0);
		for (uint32_t i = 0; i < 300; i++)
			assert_int_equal(roost_shm_pool_number(
						 pool,
						 roost_shm_pool_mbuf(pool, i)),
					 i);
		roost_shm_pool_destroy(pool);
	}
}

static void private__sizes(void **state)
{
	struct roost_shm_pool *pool;

	assert_int_equal(roost_shm_pool_private(0, 64, &pool), -EINVAL);
	assert_int_equal(roost_shm_pool_private(65536, 64, &pool), -EINVAL);
	assert_int_equal(roost_shm_pool_private(1, 65536, &pool), -EINVAL);
	assert_int_equal(roost_shm_pool_private(65535, 1, &pool), 0);
	assert_int_equal(roost_shm_pool_nb_free(pool), 65535);
	roost_shm_pool_destroy(pool);
	roost_shm_pool_destroy(NULL);
}

/* ---- several threads
 * --------------------------------------------------------- */

#ifndef __SANITIZE_THREAD__
#define TURNS 300000u
#else
#define TURNS 30000u
#endif

/* Nobody else has an mbuf while one has it. */
static void *take_and_free(void *number)
{
	const uint8_t mark = (uint8_t)(uintptr_t)number;
	struct rte_mbuf *mbufs[9];

	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t n = 1 + i % 9;

		if (roost_shm_pool_take(slots, mbufs, n) != 0)
			continue;
		for (uint32_t k = 0; k < n; k++)
			*rte_pktmbuf_mtod(mbufs[k], uint8_t *) = mark;
		for (uint32_t k = 0; k < n; k++)
			if (*rte_pktmbuf_mtod(mbufs[k], uint8_t *) != mark)
				return number;
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	return NULL;
}

static void pool__several_threads(void **state)
{
	struct rte_mbuf *mbufs[SLOTS];
	pthread_t threads[4];
	uint64_t seen = 0;
	void *failed;

	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						take_and_free, (void *)(i + 1)),
				 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(roost_shm_pool_nb_free(slots), SLOTS);
	assert_int_equal(roost_shm_pool_take(slots, mbufs, SLOTS), 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		seen |= UINT64_C(1) << roost_shm_pool_number(slots, mbufs[i]);
	assert_true(seen == UINT64_MAX);
}

#define pool_test(f) cmocka_unit_test_setup_teardown(f, open_pools, close_pools)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(pool__mbufs_are_on_their_slots),
		pool_test(pool__last_freed_is_first_taken),
		pool_test(pool__takes_all_or_nothing),
		pool_test(pool__copies_and_references),
		pool_test(private__tells_that_a_frame_is_done),
		pool_test(private__a_worker_puts_together),
		pool_test(private__numbers),
		pool_test(private__sizes),
		pool_test(pool__several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
