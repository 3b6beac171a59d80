/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A worker's thread that has to share its CPU. */

#include "progress_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmd_glue/process/thread.h"
#include "pmd_glue/progress/crowded.h"

#define LOOK ROOST_CROWDED_LOOK_NS

/* ---- the kernel's part --------------------------------------------------- */

/* How much the thread waits from one look to the next, in percent of LOOK; less
 * than 0: proc is not there.
 */
static atomic_int waits_percent;
static _Atomic uint64_t thread_waited_ns;
static atomic_uint looks, moves;

/* Instead of the C library's: of schedstat alone. */
ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	const int percent = atomic_load(&waits_percent);
	uint64_t ns;

	(void)fd;
	(void)at;
	atomic_fetch_add(&looks, 1);
	if (percent < 0) {
		errno = EIO;
		return -1;
	}
	ns = LOOK / 100 * (unsigned int)percent;
	ns += atomic_fetch_add(&thread_waited_ns, ns);
	return snprintf(buf, len, "123 %llu 7\n", (unsigned long long)ns);
}

/* What files say: how many threads are ready, and which CPUs are near. */
static atomic_uint nb_ready;
static const char *near_cpus; /* NULL: as it is */

/* Instead of the C library's. */
FILE *fopen64(const char *path, const char *mode)
{
	static char text[64];

	if (strcmp(path, "/proc/loadavg") == 0)
		snprintf(text, sizeof(text), "0.81 2.34 3.85 %u/76 19294\n",
			 atomic_load(&nb_ready));
	else if (near_cpus)
		snprintf(text, sizeof(text), "%s\n", near_cpus);
	else
		return fdopen(open(path, O_RDONLY | O_CLOEXEC), "r");
	return fmemopen(text, strlen(text), mode);
}

/* A move is two: away, and all of them again. */
int sched_setaffinity(pid_t pid, size_t len, const cpu_set_t *cpus)
{
	atomic_fetch_add(&moves, 1);
	return (int)syscall(SYS_sched_setaffinity, pid, len, cpus);
}

/* How many there are, if this program may use them all, and there are more than
 * one; else skips the test.
 */
static unsigned int all_cpus(void)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	if (CPU_COUNT(&cpus) < 2 ||
	    sysconf(_SC_NPROCESSORS_ONLN) != CPU_COUNT(&cpus))
		skip();
	return (unsigned int)CPU_COUNT(&cpus);
}

/* ---- when ---------------------------------------------------------------- */

static struct roost_crowded p;
static uint64_t now_ns, waited_ns;

static int setup(void **state)
{
	p = (struct roost_crowded){ 0 };
	now_ns = 1000 * MS;
	waited_ns = 5 * MS;
	assert_true(roost_crowded_is_due(&p, now_ns));
	assert_false(roost_crowded_look(&p, now_ns, waited_ns));
	return 0;
}

/* Looks until a move, or for so long; that much of the time is waited. Returns
 * the time.
 */
static uint64_t until_move(unsigned int percent, uint64_t most_ns)
{
	const uint64_t begin_ns = now_ns;

	while (now_ns - begin_ns < most_ns) {
		now_ns += LOOK / 10;
		waited_ns += LOOK / 10 * percent / 100;
		if (roost_crowded_is_due(&p, now_ns) &&
		    roost_crowded_look(&p, now_ns, waited_ns))
			break;
	}
	return now_ns - begin_ns;
}

static void crowded__moves_at_once_then_seldom(void **state)
{
	uint64_t ns = until_move(50, 1000 * MS), last_ns = 0;

	assert_int_equal(ns, LOOK);
	for (unsigned int i = 0; i < 20; i++) {
		last_ns = ns;
		ns = until_move(50, 1000 * MS);
		assert_true(ns >= last_ns);
		assert_true(ns <= ROOST_CROWDED_MOVE_MAX_NS + 2 * LOOK);
	}
	assert_true(ns >= ROOST_CROWDED_MOVE_MAX_NS);
}

static void crowded__alone_it_stays(void **state)
{
	assert_int_equal(until_move(0, 1000 * MS), 1000 * MS);
	assert_int_equal(until_move(20, 1000 * MS), 1000 * MS);
}

static void crowded__alone_again_it_moves_soon(void **state)
{
	for (unsigned int i = 0; i < 20; i++)
		until_move(50, 1000 * MS);
	until_move(0, 100 * MS);
	assert_true(until_move(50, 1000 * MS) <= 2 * LOOK);
}

/* Waits of a time without traffic may be of one busy moment. */
static void crowded__old_looks_do_not_count(void **state)
{
	for (unsigned int i = 0; i < 100; i++) {
		now_ns += 5 * LOOK;
		waited_ns += 4 * LOOK;
		assert_true(roost_crowded_is_due(&p, now_ns));
		assert_false(roost_crowded_look(&p, now_ns, waited_ns));
	}
	assert_true(until_move(50, 1000 * MS) <= LOOK);
	/* Nor does what cannot be. */
	for (unsigned int i = 0; i < 100; i++) {
		now_ns = p.look_ns;
		waited_ns += 20 * LOOK + ROOST_CROWDED_MOVE_MAX_NS;
		assert_false(roost_crowded_look(&p, now_ns, waited_ns));
	}
}

/* ---- the worker's thread ------------------------------------------------- */

static int start_counting(void **state)
{
	atomic_store(&looks, 0);
	atomic_store(&moves, 0);
	return world_start_adaptive(state);
}

/* Returns whether it moves within a second of work. */
static bool moves_in_a_second(void)
{
	atomic_store(&world_worker.work, 1);
	for (unsigned int i = 0; i < 1000 && atomic_load(&moves) < 2; i++)
		world_sleep_ns(MS);
	atomic_store(&world_worker.work, 0);
	return atomic_load(&moves) >= 2;
}

static void crowded__the_thread_moves(void **state)
{
	atomic_store(&nb_ready, all_cpus());
	atomic_store(&waits_percent, 90);
	assert_true(moves_in_a_second());
}

static void crowded__where_all_work_the_thread_stays(void **state)
{
	atomic_store(&nb_ready, all_cpus() + 1);
	atomic_store(&waits_percent, 90);
	assert_false(moves_in_a_second());
}

static void crowded__the_thread_stays(void **state)
{
	const uint64_t begin_ns = roost_now_ns();

	atomic_store(&nb_ready, all_cpus());
	atomic_store(&waits_percent, 10);
	assert_false(moves_in_a_second());
	assert_in_range(atomic_load(&looks), 1,
			1 + (roost_now_ns() - begin_ns) / LOOK);
	/* Without proc. */
	atomic_store(&waits_percent, -1);
	assert_false(moves_in_a_second());
	/* Without work nobody looks; who has begun, may. */
	atomic_store(&looks, 0);
	world_sleep_ns(20 * MS);
	assert_true(atomic_load(&looks) <= 1);
}

/* ---- a move -------------------------------------------------------------- */

static void *leave(void *arg)
{
	cpu_set_t before, after;
	unsigned int *nb = arg;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (unsigned int i = 0; i < 100; i++) {
		int cpu = sched_getcpu();

		assert_int_equal(roost_thread_leave_cpu(), 0);
		*nb += cpu != sched_getcpu();
	}
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	/* None is idle, or may be idle. */
	atomic_fetch_add(&nb_ready, 1);
	assert_int_equal(roost_thread_leave_cpu(), -EBUSY);
	atomic_fetch_sub(&nb_ready, 1);
	CPU_ZERO(&after);
	CPU_SET((size_t)sched_getcpu(), &after);
	assert_int_equal(sched_setaffinity(0, sizeof(after), &after), 0);
	assert_int_equal(roost_thread_leave_cpu(), -EBUSY);
	return NULL;
}

static void crowded__leaves_its_cpu(void **state)
{
	unsigned int nb = 0;
	pthread_t thread;

	atomic_store(&nb_ready, all_cpus());
	assert_int_equal(pthread_create(&thread, NULL, leave, &nb), 0);
	pthread_join(thread, NULL);
	/* The kernel may move it back. */
	assert_true(nb > 80);
}

static void *leave_to(void *list)
{
	near_cpus = list;
	return (void *)(intptr_t)roost_thread_leave_cpu();
}

static void crowded__leaves_it_for_a_near_one(void **state)
{
	static const struct {
		const char *list;
		int moves;
	} cases[] = {
		{ "0-1023", 0 },          { "7,0-1,900-901", 0 },
		{ "2000", -ENODEV },      { "", -ENODEV },
		{ "1000-1023", -ENODEV }, { "5-4,1000", -ENODEV },
		{ "0-4294967295", 0 },
	};
	pthread_t thread;
	void *ret;

	if (all_cpus() > 900)
		skip();
	atomic_store(&nb_ready, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(pthread_create(&thread, NULL, leave_to,
						(void *)cases[i].list),
				 0);
		pthread_join(thread, &ret);
		assert_int_equal((intptr_t)ret, cases[i].moves);
	}
	near_cpus = NULL;
}

static void crowded__waits_are_read(void **state)
{
	int fd = roost_thread_waits_open();
	uint64_t ns = 0;

	if (fd == -ENOENT)
		skip();
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	atomic_store(&waits_percent, 50);
	atomic_store(&thread_waited_ns, 7000 * MS);
	assert_true(roost_thread_waited_ns(fd, &ns));
	assert_int_equal(ns, 7000 * MS + LOOK / 2);
	atomic_store(&waits_percent, -1);
	assert_false(roost_thread_waited_ns(fd, &ns));
	close(fd);
}

#define WHEN(name) cmocka_unit_test_setup(name, setup)
#define THREAD(name)                                                           \
	cmocka_unit_test_setup_teardown(name, start_counting, world_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WHEN(crowded__moves_at_once_then_seldom),
		WHEN(crowded__alone_it_stays),
		WHEN(crowded__alone_again_it_moves_soon),
		WHEN(crowded__old_looks_do_not_count),
		THREAD(crowded__the_thread_moves),
		THREAD(crowded__where_all_work_the_thread_stays),
		THREAD(crowded__the_thread_stays),
		cmocka_unit_test(crowded__leaves_its_cpu),
		cmocka_unit_test(crowded__leaves_it_for_a_near_one),
		cmocka_unit_test(crowded__waits_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
