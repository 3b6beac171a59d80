/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>

#include <rte_cycles.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/quirks/eal_tsc.h"
#include "tests/cmocka.h"

/* A sleep in EAL, in ms. */
static uint64_t sleep_us(unsigned int us)
{
	const uint64_t begin_ns = roost_now_ns();

	rte_delay_us_sleep(us);
	return (roost_now_ns() - begin_ns) / 1000000;
}

static void *other(void *arg)
{
	*(uint64_t *)arg = sleep_us(100000);
	return NULL;
}

/* The first sleep of 0.1 s of the thread that starts EAL, and no other one. */
static void eal_tsc__one_sleep_is_short(void **state)
{
	pthread_t thread;
	uint64_t ms = 0;

	(void)state;
	roost_eal_tsc_begin();
	assert_true(sleep_us(99000) >= 99);
	assert_int_equal(pthread_create(&thread, NULL, other, &ms), 0);
	pthread_join(thread, NULL);
	assert_true(ms >= 100);
	ms = sleep_us(100000);
	assert_true(ms >= 10 && ms < 100);
	assert_true(sleep_us(100000) >= 100);
	roost_eal_tsc_begin();
	roost_eal_tsc_end();
	assert_true(sleep_us(100000) >= 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eal_tsc__one_sleep_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
