/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The locks that are spun for, whose holder is off the processor. */

#include "lib/engine/core/spin.h"
#include "lib/engine/core/worker_base.h"
#include "tests/unit/preempted.h"

static struct roost_spin spin = ROOST_SPIN_INIT;

static void lock(void)
{
	roost_spin_lock(&spin);
}

static void unlock(void)
{
	roost_spin_unlock(&spin);
}

static bool lock_and_unlock(struct preempted *p)
{
	(void)p;
	lock();
	unlock();
	return true;
}

static void spin__the_holder_is_preempted(void **state)
{
	struct preempted p = { .hold = lock,
			       .release = unlock,
			       .is_over = lock_and_unlock };

	preempted_run(&p);
}

static struct roost_worker worker = { .turn.word = ROOST_TURN_FREE };

static void take(void)
{
	roost_worker_turn_take(&worker);
}

/* There is no worker behind it that could have work. */
static void release(void)
{
	atomic_store(&worker.turn.word, ROOST_TURN_FREE);
}

static bool take_and_release(struct preempted *p)
{
	(void)p;
	take();
	release();
	return true;
}

static void turn_take__the_holder_is_preempted(void **state)
{
	struct preempted p = { .hold = take,
			       .release = release,
			       .is_over = take_and_release };

	preempted_run(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spin__the_holder_is_preempted),
		cmocka_unit_test(turn_take__the_holder_is_preempted),
	};

	return cmocka_run_group_tests(tests, preempted_pin, NULL);
}
