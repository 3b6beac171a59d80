/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A port with three lanes, with the daemon's real loop: when the port's thread
 * has the others stand still, and when not.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/loop.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/lanes_world.h"
#include "tests/unit/apps/roostd/nic_world.h"

#define NB 50u
#define PATIENCE_NS 60000000000ull

static atomic_uint nb_holds;

void __real_roostd_crew_hold_helpers(uint32_t number);
void __wrap_roostd_crew_hold_helpers(uint32_t number);

void __wrap_roostd_crew_hold_helpers(uint32_t number)
{
	atomic_fetch_add(&nb_holds, 1);
	__real_roostd_crew_hold_helpers(number);
}

/* Since then, but for the look at the rates, once a second. */
static unsigned int holds_since(unsigned int before, uint64_t began_ns)
{
	const uint64_t nb_looks = (roost_now_ns() - began_ns) / (1000 * MS) + 1;
	const unsigned int nb = atomic_load(&nb_holds) - before;

	return nb > nb_looks ? nb - (unsigned int)nb_looks : 0;
}

static int setup_lanes(void **state)
{
	(void)state;
	return open_lanes(NULL);
}

static int count_sessions(void *arg)
{
	*(uint32_t *)arg = port.nb_clients;
	return 0;
}

static void await_sessions(uint32_t wanted)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	uint32_t nb;

	do {
		assert_int_equal(roostd_handover(count_sessions, &nb), 0);
		assert_true(roost_now_ns() < until_ns);
	} while (nb != wanted);
}

static void held__not_for_who_never_attached(void **state)
{
	const uint64_t began_ns = roost_now_ns();
	const unsigned int before = atomic_load(&nb_holds);
	struct client silent;

	(void)state;
	for (unsigned int i = 0; i < NB; i++) {
		c_connect(&silent);
		await_sessions(1);
		c_close(&silent);
		await_sessions(0);
	}
	assert_int_equal(holds_since(before, began_ns), 0);
}

/* Only for what changes something that the lanes read. */
static void held__for_some_requests(void **state)
{
	const struct roost_share_msg source = { .type = ROOST_SHARE_SOURCE };
	const struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	const uint64_t began_ns = roost_now_ns();
	unsigned int before;
	struct client c;

	(void)state;
	c_attach(&c);
	before = atomic_load(&nb_holds);
	for (unsigned int i = 0; i < NB; i++)
		c_ask(&c, source);
	assert_int_equal(holds_since(before, began_ns), 0);
	for (unsigned int i = 0; i < NB; i++)
		assert_int_equal(c_ask(&c, qpns), 0);
	assert_true(holds_since(before, began_ns) > 0);
	c_close(&c);
	await_sessions(0);
}

#define LANES_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, setup_lanes, teardown_lanes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LANES_TEST(held__not_for_who_never_attached),
		LANES_TEST(held__for_some_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
