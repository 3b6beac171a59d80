/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* When the progress engine's thread looks at the port by itself, and when it
 * sleeps. */

#include "lib/event/wakes.h"
#include "progress_world.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* A port with RX interrupts. Holder of the turn. */
static struct {
	int fd;
	unsigned int arms;
	unsigned int disarms;
} port;

static int arm(void *ctx)
{
	assert_ptr_equal(ctx, &port);
	port.arms++;
	return port.fd;
}

static void disarm(void *ctx)
{
	uint64_t tokens;
	ssize_t got = read(port.fd, &tokens, sizeof(tokens));

	(void)ctx;
	(void)got;
	port.disarms++;
}

/* Have others put packets aside? */
static atomic_bool waiting;

static bool is_waiting(void *ctx)
{
	assert_ptr_equal(ctx, &port);
	return atomic_load(&waiting);
}

static int start_with_others(void **state)
{
	const struct roost_progress_rx rx = { .ctx = &port,
					      .is_waiting = is_waiting };

	world_start(ROOST_PROGRESS_ADAPTIVE, &rx);
	return 0;
}

static int start_interrupts(void **state)
{
	static const struct roost_progress_rx rx = {
		.ctx = &port,
		.arm = arm,
		.disarm = disarm,
	};

	port.arms = port.disarms = 0;
	port.fd = eventfd(0, EFD_NONBLOCK);
	world_start(ROOST_PROGRESS_ADAPTIVE, &rx);
	return 0;
}

static int stop_interrupts(void **state)
{
	world_stop(state);
	return close(port.fd);
}

/* The longer nothing comes, the longer the naps, up to a millisecond. */
static void check_naps(void)
{
	uint64_t begin_ns;
	unsigned int n;

	world_sleep_ns(50 * MS);
	assert_true(world_exceeds(5, 100 * MS));
	begin_ns = roost_now_ns();
	n = world_iterations_in(100 * MS);
	assert_true(n <= 2 * (roost_now_ns() - begin_ns) / MS);
}

static void progress__idle_thread_naps(void **state)
{
	check_naps();
}

static void progress__polls_while_there_is_work(void **state)
{
	atomic_store(&world_worker.work, 1);
	assert_true(world_exceeds(5000, 50 * MS));
}

/* Once for each, and then it polls on. */
static void progress__woken_threads_get_the_processor(void **state)
{
	unsigned int yields = atomic_load(&world_yields);

	for (unsigned int i = 0; i < 20; i++) {
		atomic_store(&world_worker.wakes, true);
		roost_progress_kick(world_progress);
		while (atomic_load(&world_worker.wakes))
			world_sleep_ns(MS);
		world_sleep_ns(MS);
	}
	yields = atomic_load(&world_yields) - yields;
	assert_in_range(yields, 10, 20 + 10);
}

/* By a thread that helped, and that sleeps now. */
static void progress__those_that_others_woke_do_too(void **state)
{
	unsigned int yields = atomic_load(&world_yields);

	for (unsigned int i = 0; i < 20; i++) {
		atomic_store(&world_worker.work, 1);
		roost_progress_kick(world_progress);
		world_sleep_ns(MS);
		roost_event_woke();
		atomic_store(&world_worker.work, 0);
		world_sleep_ns(MS);
	}
	yields = atomic_load(&world_yields) - yields;
	assert_in_range(yields, 10, 20 + 10);
}

/* Not even where the last iteration itself did nothing. */
static void progress__does_not_sleep_while_something_is_left(void **state)
{
	world_sleep_ns(5 * MS);
	atomic_store(&world_worker.has_left, true);
	assert_true(world_exceeds(5000, 50 * MS));
}

static void progress__nap_ends_at_the_deadline(void **state)
{
	world_sleep_ns(5 * MS);
	atomic_store(&world_worker.deadline_ns, roost_now_ns());
	/* A timer that is due is not slept over. */
	assert_true(world_exceeds(80, 20 * MS));
}

/* What another device put aside wakes by a kick, and is not slept over. */
static void progress__packets_put_aside_keep_it_awake(void **state)
{
	world_sleep_ns(50 * MS);
	atomic_store(&waiting, true);
	roost_progress_kick(world_progress);
	assert_true(world_exceeds(300, 50 * MS));
	atomic_store(&waiting, false);
	check_naps();
}

static void progress__help_keeps_the_thread_out(void **state)
{
	world_nudges = false;
	for (int i = 0; i < 50; i++) {
		world_help_for(3 * MS);
		atomic_store(&world_worker.tries, 0);
		if (!world_help_for(10 * MS))
			continue;
		assert_in_range(atomic_load(&world_worker.tries), 0, 2);
		return;
	}
	print_message("skipped: the machine is too busy to help steadily\n");
	skip();
}

/* Times that a thread of the process has gone to sleep. */
static long nb_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

static void progress__nudge_leaves_it_to_helpers(void **state)
{
	long before;

	world_nudges = true;
	for (int i = 0; i < 50; i++) {
		world_help_for(3 * MS);
		before = nb_sleeps();
		if (!world_help_for(10 * MS))
			continue;
		/* Once a millisecond; with each nudge it would be thousands. */
		assert_in_range(nb_sleeps() - before, 0, 100);
		return;
	}
	print_message("skipped: the machine is too busy to help steadily\n");
	skip();
}

static void progress__thread_takes_over_when_help_ends(void **state)
{
	world_help_for(5 * MS);
	assert_true(world_exceeds(10, 50 * MS));
}

/* A program that sleeps between messages keeps the thread at it. */
static void progress__expectation_outlives_help(void **state)
{
	uint64_t end_ns = roost_now_ns() + 10000 * MS;

	atomic_store(&world_worker.tries, 0);
	/* Ten times what it would try while it is kept out. */
	while (atomic_load(&world_worker.tries) < 100) {
		roost_progress_expect(world_progress);
		world_help_for(1 * MS);
		assert_true(roost_now_ns() < end_ns);
	}
}

/* What a failed help leaves behind is not left lying. */
static void progress__work_behind_a_taken_turn_is_done(void **state)
{
	uint64_t end_ns;

	world_help_for(5 * MS);
	pthread_mutex_lock(&world_worker.turn.lock);
	atomic_store(&world_worker.has_work, true);
	assert_false(roost_progress_help(world_progress));
	atomic_store(&world_worker.iterations, 0);
	pthread_mutex_unlock(&world_worker.turn.lock);
	end_ns = roost_now_ns() + 10000 * MS;
	while (atomic_load(&world_worker.iterations) == 0)
		assert_true(roost_now_ns() < end_ns);
	atomic_store(&world_worker.has_work, false);
}

/* ---- interrupts --------------------------------------------------------- */

/* Without a wake, a sleep on interrupts takes this long. */
#define SLEEP_NS (100 * MS)

static void kick(void)
{
	atomic_store(&world_worker.has_work, true);
	roost_progress_kick(world_progress);
}

static void raise_interrupt(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(port.fd, &one, sizeof(one)), sizeof(one));
}

/* Wait until the thread sleeps, do something, and see that it wakes. Machines
 * are busy at times: some of the wakes have to be early ones.
 */
static void check_wakes(void (*something)(void))
{
	unsigned int early = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t begin_ns;

		world_sleep_ns(5 * MS);
		atomic_store(&world_worker.iterations, 0);
		begin_ns = roost_now_ns();
		something();
		while (atomic_load(&world_worker.iterations) == 0)
			world_sleep_ns(50 * US);
		if (roost_now_ns() - begin_ns < SLEEP_NS / 2)
			early++;
		atomic_store(&world_worker.has_work, false);
		atomic_store(&world_worker.has_left, false);
		atomic_store(&world_worker.deadline_ns, ROOST_NEVER_NS);
	}
	assert_true(early >= 5);
}

static void progress__interrupt_wakes_it(void **state)
{
	check_wakes(raise_interrupt);
}

static void progress__kick_wakes_it(void **state)
{
	check_wakes(kick);
}

static unsigned int nb_disarms(void)
{
	unsigned int nb;

	roost_worker_turn_take(&world_worker);
	nb = port.disarms;
	roost_worker_turn_release(&world_worker);
	return nb;
}

/* Help now and then is no reason not to look: packets would wait for it. */
static void progress__seldom_help_leaves_it_to_interrupts(void **state)
{
	unsigned int woken = 0;

	for (int i = 0; i < 20; i++) {
		unsigned int before = nb_disarms();

		raise_interrupt();
		for (int j = 0; j < 200; j++) {
			const uint64_t next_ns = roost_now_ns() + 20 * US;

			roost_progress_help(world_progress);
			while (roost_now_ns() < next_ns)
				;
		}
		woken += nb_disarms() != before;
	}
	assert_true(woken >= 10);
}

static void nudge(void)
{
	roost_progress_nudge(world_progress);
}

static void progress__nudge_wakes_it(void **state)
{
	check_wakes(nudge);
}

/* It sends as much as one turn may, and the program goes on without Roost. */
static void post_much(void)
{
	atomic_store(&world_worker.has_left, true);
	atomic_store(&world_worker.work, 1);
	roost_progress_send_end(world_progress, NULL);
	atomic_store(&world_worker.work, 0);
}

static void progress__what_a_post_leaves_wakes_it(void **state)
{
	check_wakes(post_much);
}

/* A request whose answer does not come, and the program sleeps. */
static void post_with_a_timer(void)
{
	atomic_store(&world_worker.deadline_ns, roost_now_ns() + MS);
	atomic_store(&world_worker.work, 1);
	roost_progress_send_end(world_progress, NULL);
	atomic_store(&world_worker.work, 0);
	roost_progress_expect(world_progress);
}

static void progress__the_timer_of_a_post_wakes_it(void **state)
{
	check_wakes(post_with_a_timer);
}

static void progress__every_arming_is_taken_back(void **state)
{
	uint64_t begin_ns;
	unsigned int n;

	assert_true(world_exceeds(2, 4000 * MS));
	begin_ns = roost_now_ns();
	n = world_iterations_in(2500 * MS);
	/* Two or so for each sleep, which takes a second. */
	assert_true(n <= 20 * (roost_now_ns() - begin_ns) / (2500 * MS));
	roost_worker_turn_take(&world_worker);
	assert_in_range(port.arms - port.disarms, 0, 1);
	assert_true(port.disarms > 0);
	roost_worker_turn_release(&world_worker);
}

/* It never sleeps; on a busy machine it has a processor now and then. */
static void progress__dedicated_thread_polls(void **state)
{
	long before = nb_sleeps();
	unsigned int n = 0;

	for (int i = 0; i < 20; i++)
		n += world_iterations_in(10 * MS);
	assert_true(n > 1000);
	/* The test's own ones. */
	assert_in_range(nb_sleeps() - before, 0, 25);
}

#define INTERRUPTS(name)                                                       \
	cmocka_unit_test_setup_teardown(name, start_interrupts, stop_interrupts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_ADAPTIVE(progress__idle_thread_naps),
		WORLD_ADAPTIVE(progress__polls_while_there_is_work),
		WORLD_ADAPTIVE(progress__woken_threads_get_the_processor),
		WORLD_ADAPTIVE(progress__those_that_others_woke_do_too),
		WORLD_ADAPTIVE(
			progress__does_not_sleep_while_something_is_left),
		WORLD_ADAPTIVE(progress__nap_ends_at_the_deadline),
		cmocka_unit_test_setup_teardown(
			progress__packets_put_aside_keep_it_awake,
			start_with_others, world_stop),
		WORLD_ADAPTIVE(progress__help_keeps_the_thread_out),
		WORLD_ADAPTIVE(progress__nudge_leaves_it_to_helpers),
		WORLD_ADAPTIVE(progress__thread_takes_over_when_help_ends),
		WORLD_ADAPTIVE(progress__expectation_outlives_help),
		WORLD_ADAPTIVE(progress__work_behind_a_taken_turn_is_done),
		INTERRUPTS(progress__interrupt_wakes_it),
		INTERRUPTS(progress__seldom_help_leaves_it_to_interrupts),
		INTERRUPTS(progress__kick_wakes_it),
		INTERRUPTS(progress__nudge_wakes_it),
		INTERRUPTS(progress__what_a_post_leaves_wakes_it),
		INTERRUPTS(progress__the_timer_of_a_post_wakes_it),
		INTERRUPTS(progress__every_arming_is_taken_back),
		WORLD_DEDICATED(progress__dedicated_thread_polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
