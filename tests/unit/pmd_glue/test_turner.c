/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/engine/qp.h"
#include "lib/engine/worker.h"
#include "pmd_glue/clock.h"
#include "pmd_glue/turner.h"

#define US 1000ull
#define MS (1000 * US)

/*
 * A worker without an engine: the test says what it finds to do. The turner
 * is linked with these functions instead of lib/engine's.
 */
static struct roost_worker {
	pthread_mutex_t turn;
	atomic_uint tries;      /* for the turn, by the turner's thread */
	atomic_uint iterations; /* by whom ever */
	atomic_uint work;       /* what each finds */
	atomic_bool has_work;
	atomic_bool wanted;
	atomic_bool barred; /* the turner's thread, from the turn */
	_Atomic uint64_t deadline_ns;
	_Atomic uint64_t last_ns; /* when an iteration was */
	pthread_t test_thread;
} worker;

/* What became of a post. */
static struct {
	unsigned int rung, in_turn, sends;
	unsigned int iterations; /* before it */
} posted;

bool roost_worker_turn_try(struct roost_worker *w)
{
	if (!pthread_equal(pthread_self(), w->test_thread)) {
		atomic_fetch_add(&w->tries, 1);
		if (atomic_load(&w->barred))
			return false;
	}
	return pthread_mutex_trylock(&w->turn) == 0;
}

void roost_worker_turn_take(struct roost_worker *w)
{
	pthread_mutex_lock(&w->turn);
}

bool roost_worker_turn_release(struct roost_worker *w)
{
	pthread_mutex_unlock(&w->turn);
	return atomic_load(&w->has_work);
}

bool roost_worker_turn_wanted(const struct roost_worker *w)
{
	return atomic_load(&w->wanted);
}

unsigned int roost_worker_iterate(struct roost_worker *w, uint64_t now_ns)
{
	/* Time never runs backwards for the worker. */
	assert_true(now_ns >= atomic_load(&w->last_ns));
	atomic_store(&w->last_ns, now_ns);
	atomic_fetch_add(&w->iterations, 1);
	return atomic_load(&w->work);
}

unsigned int roost_worker_send(struct roost_worker *w, uint64_t now_ns)
{
	assert_true(now_ns >= atomic_load(&w->last_ns));
	atomic_store(&w->last_ns, now_ns);
	posted.sends++;
	return atomic_load(&w->work);
}

uint64_t roost_worker_next_deadline_ns(const struct roost_worker *w)
{
	return atomic_load(&w->deadline_ns);
}

bool roost_worker_has_work(const struct roost_worker *w)
{
	return atomic_load(&w->has_work);
}

/* What waits is test_gather.c's. */
bool roost_qp_send_can_wait(const struct roost_qp *qp, uint32_t waiting)
{
	(void)qp;
	(void)waiting;
	return false;
}

void roost_qp_send_end(struct roost_qp *qp)
{
	(void)qp;
	posted.rung++;
}

void roost_qp_send_end_in_turn(struct roost_qp *qp)
{
	(void)qp;
	assert_int_not_equal(pthread_mutex_trylock(&worker.turn), 0);
	posted.iterations = atomic_load(&worker.iterations);
	posted.in_turn++;
}

static struct roost_turner *turner;

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

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static void start(enum roost_progress mode, const struct roost_turner_rx *rx)
{
	struct roost_turner_conf conf = { .worker = &worker, .mode = mode };

	pthread_mutex_init(&worker.turn, NULL);
	atomic_store(&worker.work, 0);
	atomic_store(&worker.has_work, false);
	atomic_store(&worker.wanted, false);
	atomic_store(&worker.barred, false);
	atomic_store(&worker.deadline_ns, ROOST_NEVER_NS);
	atomic_store(&worker.last_ns, 0);
	worker.test_thread = pthread_self();
	conf.rx = *rx;
	assert_int_equal(roost_turner_start(&conf, &turner), 0);
}

static const struct roost_turner_rx no_interrupts;

static int start_with_others(void **state)
{
	const struct roost_turner_rx rx = { .ctx = &port,
					    .is_waiting = is_waiting };

	(void)state;
	start(ROOST_PROGRESS_ADAPTIVE, &rx);
	return 0;
}

static int start_adaptive(void **state)
{
	(void)state;
	start(ROOST_PROGRESS_ADAPTIVE, &no_interrupts);
	return 0;
}

static int start_dedicated(void **state)
{
	(void)state;
	start(ROOST_PROGRESS_DEDICATED, &no_interrupts);
	return 0;
}

static int start_interrupts(void **state)
{
	static const struct roost_turner_rx rx = {
		.ctx = &port,
		.arm = arm,
		.disarm = disarm,
	};

	(void)state;
	port.arms = port.disarms = 0;
	port.fd = eventfd(0, EFD_NONBLOCK);
	start(ROOST_PROGRESS_ADAPTIVE, &rx);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	roost_turner_stop(turner);
	return 0;
}

static int stop_interrupts(void **state)
{
	stop(state);
	return close(port.fd);
}

/* From now on the turn is the test's alone. */
static void bar_the_thread(void)
{
	atomic_store(&worker.barred, true);
	roost_worker_turn_take(&worker); /* its last one is over */
	roost_worker_turn_release(&worker);
}

/* How many iterations there are while nobody helps for so long. */
static unsigned int iterations_in(uint64_t ns)
{
	atomic_store(&worker.iterations, 0);
	sleep_ns(ns);
	return atomic_load(&worker.iterations);
}

/* More than n in so long? On a busy machine the thread has a processor now and
 * then only.
 */
static bool exceeds(unsigned int n, uint64_t ns)
{
	for (int tries = 0; tries < 20; tries++) {
		if (iterations_in(ns) > n)
			return true;
	}
	return false;
}

/* The longer nothing comes, the longer the naps, up to a millisecond. */
static void check_naps(void)
{
	uint64_t begin_ns;
	unsigned int n;

	sleep_ns(50 * MS);
	assert_true(exceeds(5, 100 * MS));
	begin_ns = roost_now_ns();
	n = iterations_in(100 * MS);
	assert_true(n <= 2 * (roost_now_ns() - begin_ns) / MS);
}

static void turner__idle_thread_naps(void **state)
{
	(void)state;
	check_naps();
}

static void turner__polls_while_there_is_work(void **state)
{
	(void)state;
	atomic_store(&worker.work, 1);
	assert_true(exceeds(5000, 50 * MS));
}

static void turner__nap_ends_at_the_deadline(void **state)
{
	(void)state;
	sleep_ns(5 * MS);
	atomic_store(&worker.deadline_ns, roost_now_ns());
	/* A timer that is due is not slept over. */
	assert_true(exceeds(80, 20 * MS));
}

/* What another device put aside wakes by a kick, and is not slept over. */
static void turner__packets_put_aside_keep_it_awake(void **state)
{
	(void)state;
	sleep_ns(50 * MS);
	atomic_store(&waiting, true);
	roost_turner_kick(turner);
	assert_true(exceeds(300, 50 * MS));
	atomic_store(&waiting, false);
	check_naps();
}

static void turner__help_iterates_once(void **state)
{
	(void)state;
	bar_the_thread();
	atomic_store(&worker.iterations, 0);
	assert_false(roost_turner_help(turner));
	assert_int_equal(atomic_load(&worker.iterations), 1);
	atomic_store(&worker.work, 5);
	assert_true(roost_turner_help(turner));
	assert_int_equal(atomic_load(&worker.iterations), 2);
}

static void turner__help_gives_up_a_taken_turn(void **state)
{
	(void)state;
	pthread_mutex_lock(&worker.turn);
	atomic_store(&worker.iterations, 0);
	assert_false(roost_turner_help(turner));
	assert_int_equal(atomic_load(&worker.iterations), 0);
	pthread_mutex_unlock(&worker.turn);
}

static bool nudging; /* after each help */

/* Help for so long. Returns false if this thread was kept from it in between,
 * as it is on a busy machine: the turner's thread then takes over, and may.
 */
static bool help_for(uint64_t ns)
{
	uint64_t begin_ns = roost_now_ns(), last_ns = begin_ns, now_ns;
	bool steady = true;

	do {
		roost_turner_help(turner);
		if (nudging)
			roost_turner_nudge(turner);
		now_ns = roost_now_ns();
		steady = steady && now_ns - last_ns < 300 * US;
		last_ns = now_ns;
	} while (now_ns - begin_ns < ns);
	return steady;
}

static void send_in_turn(void)
{
	bar_the_thread();
	posted.rung = posted.in_turn = posted.sends = 0;
	roost_turner_send_end(turner, NULL);
	assert_int_equal(posted.rung, 0);
	assert_int_equal(posted.in_turn, 1);
	assert_int_equal(posted.sends, 1);
}

static void turner__send_end_sends_in_a_free_turn(void **state)
{
	(void)state;
	atomic_store(&worker.work, 1);
	send_in_turn();
}

static void turner__send_end_iterates_where_nothing_goes(void **state)
{
	(void)state;
	send_in_turn();
	assert_true(atomic_load(&worker.iterations) > posted.iterations);
}

static void turner__send_end_rings_where_the_turn_is_taken(void **state)
{
	(void)state;
	posted.rung = posted.in_turn = 0;
	pthread_mutex_lock(&worker.turn);
	atomic_store(&worker.iterations, 0);
	roost_turner_send_end(turner, NULL);
	assert_int_equal(posted.rung, 1);
	assert_int_equal(posted.in_turn, 0);
	assert_int_equal(atomic_load(&worker.iterations), 0);
	pthread_mutex_unlock(&worker.turn);
}

/* Doorbells that ring all the time must not hold a helper for ever. */
static void turner__help_is_bounded(void **state)
{
	(void)state;
	atomic_store(&worker.has_work, true);
	roost_turner_help(turner);
	atomic_store(&worker.has_work, false);
}

static void turner__help_keeps_the_thread_out(void **state)
{
	(void)state;
	nudging = false;
	for (int i = 0; i < 50; i++) {
		help_for(3 * MS);
		atomic_store(&worker.tries, 0);
		if (!help_for(10 * MS))
			continue;
		assert_in_range(atomic_load(&worker.tries), 0, 2);
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

static void turner__nudge_leaves_it_to_helpers(void **state)
{
	long before;

	(void)state;
	nudging = true;
	for (int i = 0; i < 50; i++) {
		help_for(3 * MS);
		before = nb_sleeps();
		if (!help_for(10 * MS))
			continue;
		/* Once a millisecond; with each nudge it would be thousands. */
		assert_in_range(nb_sleeps() - before, 0, 100);
		return;
	}
	print_message("skipped: the machine is too busy to help steadily\n");
	skip();
}

static void turner__thread_takes_over_when_help_ends(void **state)
{
	(void)state;
	help_for(5 * MS);
	assert_true(exceeds(10, 50 * MS));
}

/* A program that sleeps between messages keeps the thread at it. */
static void turner__expectation_outlives_help(void **state)
{
	uint64_t end_ns = roost_now_ns() + 2000 * MS;

	(void)state;
	atomic_store(&worker.tries, 0);
	/* Ten times what it would try while it is kept out. */
	while (atomic_load(&worker.tries) < 100) {
		roost_turner_expect(turner);
		help_for(1 * MS);
		assert_true(roost_now_ns() < end_ns);
	}
}

/* What a failed help leaves behind is not left lying. */
static void turner__work_behind_a_taken_turn_is_done(void **state)
{
	uint64_t end_ns;

	(void)state;
	help_for(5 * MS);
	pthread_mutex_lock(&worker.turn);
	atomic_store(&worker.has_work, true);
	assert_false(roost_turner_help(turner));
	atomic_store(&worker.iterations, 0);
	pthread_mutex_unlock(&worker.turn);
	end_ns = roost_now_ns() + 2000 * MS;
	while (atomic_load(&worker.iterations) == 0)
		assert_true(roost_now_ns() < end_ns);
	atomic_store(&worker.has_work, false);
}

/* ---- interrupts --------------------------------------------------------- */

/* Without a wake, a sleep on interrupts takes this long. */
#define SLEEP_NS (100 * MS)

static void kick(void)
{
	atomic_store(&worker.has_work, true);
	roost_turner_kick(turner);
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

		sleep_ns(5 * MS);
		atomic_store(&worker.iterations, 0);
		begin_ns = roost_now_ns();
		something();
		while (atomic_load(&worker.iterations) == 0)
			sleep_ns(50 * US);
		if (roost_now_ns() - begin_ns < SLEEP_NS / 2)
			early++;
		atomic_store(&worker.has_work, false);
	}
	assert_true(early >= 5);
}

static void turner__interrupt_wakes_it(void **state)
{
	(void)state;
	check_wakes(raise_interrupt);
}

static void turner__kick_wakes_it(void **state)
{
	(void)state;
	check_wakes(kick);
}

static void nudge(void)
{
	roost_turner_nudge(turner);
}

static void turner__nudge_wakes_it(void **state)
{
	(void)state;
	check_wakes(nudge);
}

static void turner__every_arming_is_taken_back(void **state)
{
	uint64_t begin_ns;
	unsigned int n;

	(void)state;
	assert_true(exceeds(2, 350 * MS));
	begin_ns = roost_now_ns();
	n = iterations_in(350 * MS);
	/* Two or so for each sleep. */
	assert_true(n <= 5 * (roost_now_ns() - begin_ns) / SLEEP_NS + 5);
	roost_worker_turn_take(&worker);
	assert_in_range(port.arms - port.disarms, 0, 1);
	assert_true(port.disarms > 0);
	roost_worker_turn_release(&worker);
}

/* It never sleeps; on a busy machine it has a processor now and then. */
static void turner__dedicated_thread_polls(void **state)
{
	long before = nb_sleeps();
	unsigned int n = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		n += iterations_in(10 * MS);
	assert_true(n > 1000);
	/* The test's own ones. */
	assert_in_range(nb_sleeps() - before, 0, 25);
}

static void turner__dedicated_needs_no_help(void **state)
{
	(void)state;
	pthread_mutex_lock(&worker.turn);
	sleep_ns(1 * MS);
	atomic_store(&worker.iterations, 0);
	assert_false(roost_turner_help(turner));
	assert_int_equal(atomic_load(&worker.iterations), 0);
	pthread_mutex_unlock(&worker.turn);
}

#define ADAPTIVE(name)                                                         \
	cmocka_unit_test_setup_teardown(name, start_adaptive, stop)
#define INTERRUPTS(name)                                                       \
	cmocka_unit_test_setup_teardown(name, start_interrupts, stop_interrupts)
#define DEDICATED(name)                                                        \
	cmocka_unit_test_setup_teardown(name, start_dedicated, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ADAPTIVE(turner__idle_thread_naps),
		ADAPTIVE(turner__polls_while_there_is_work),
		ADAPTIVE(turner__nap_ends_at_the_deadline),
		cmocka_unit_test_setup_teardown(
			turner__packets_put_aside_keep_it_awake,
			start_with_others, stop),
		ADAPTIVE(turner__help_iterates_once),
		ADAPTIVE(turner__help_gives_up_a_taken_turn),
		ADAPTIVE(turner__send_end_sends_in_a_free_turn),
		ADAPTIVE(turner__send_end_iterates_where_nothing_goes),
		ADAPTIVE(turner__send_end_rings_where_the_turn_is_taken),
		ADAPTIVE(turner__help_is_bounded),
		ADAPTIVE(turner__help_keeps_the_thread_out),
		ADAPTIVE(turner__nudge_leaves_it_to_helpers),
		ADAPTIVE(turner__thread_takes_over_when_help_ends),
		ADAPTIVE(turner__expectation_outlives_help),
		ADAPTIVE(turner__work_behind_a_taken_turn_is_done),
		INTERRUPTS(turner__interrupt_wakes_it),
		INTERRUPTS(turner__kick_wakes_it),
		INTERRUPTS(turner__nudge_wakes_it),
		INTERRUPTS(turner__every_arming_is_taken_back),
		DEDICATED(turner__dedicated_thread_polls),
		DEDICATED(turner__dedicated_needs_no_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
