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

#include "pmd_glue/process/place.h"
#include "pmd_glue/progress/crowded.h"

#define LOOK ROOST_CROWDED_LOOK_NS

/* ---- the kernel's part --------------------------------------------------- */

/* How much the thread waits from one look to the next, in percent of LOOK; less
 * than 0: proc is not there.
 */
static atomic_int waits_percent;
static _Atomic uint64_t thread_waited_ns;
static atomic_uint looks, moves;

/* What other files say: how many threads are ready, and which CPUs are near. */
static atomic_uint nb_ready;
static const char *near_cpus; /* NULL: as it is */

/* Instead of the C library's. */
ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	const int percent = atomic_load(&waits_percent);
	char link[32], path[128];
	uint64_t ns;
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, sizeof(path) - 1);
	path[got > 0 ? got : 0] = '\0';
	if (strstr(path, "/loadavg"))
		return snprintf(buf, len, "0.81 2.34 3.85 %u/76 19294\n",
				atomic_load(&nb_ready));
	if (strstr(path, "/shared_cpu_list"))
		return near_cpus ? snprintf(buf, len, "%s\n", near_cpus)
				 : syscall(SYS_pread64, fd, buf, len, at);
	assert_non_null(strstr(path, "/schedstat"));
	atomic_fetch_add(&looks, 1);
	if (percent < 0) {
		errno = EIO;
		return -1;
	}
	ns = LOOK / 100 * (unsigned int)percent;
	ns += atomic_fetch_add(&thread_waited_ns, ns);
	return snprintf(buf, len, "123 %llu 7\n", (unsigned long long)ns);
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
		assert_true(2 * ns >= last_ns);
		assert_true(ns <= 2 * ROOST_CROWDED_MOVE_MAX_NS + 2 * LOOK);
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
	until_move(0, 300 * MS);
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

/* Two workers on one of two CPUs, which look in turn, or almost at once. */
static void crowded__two_do_not_follow_each_other(void **state)
{
	const uint64_t step_ns = LOOK / 100;

	for (uint64_t phase_ns = step_ns; phase_ns < LOOK;
	     phase_ns += step_ns) {
		struct roost_crowded two[2] = { 0 };
		uint64_t waits_ns[2] = { 123457, 7654321 };
		unsigned int cpu[2] = { 0 }, nb_shared = 0, nb_moves = 0;

		for (uint64_t ns = 1000 * MS; ns < 1100 * MS; ns += step_ns) {
			for (unsigned int i = 0; i < 2; i++) {
				uint64_t at_ns = ns + (i ? phase_ns : 0);

				if (cpu[0] == cpu[1])
					waits_ns[i] += step_ns / 2;
				if (!roost_crowded_is_due(&two[i], at_ns) ||
				    !roost_crowded_look(&two[i], at_ns,
							waits_ns[i]))
					continue;
				cpu[i] = !cpu[i];
				nb_moves++;
			}
			nb_shared += cpu[0] == cpu[1];
		}
		assert_int_not_equal(cpu[0], cpu[1]);
		assert_in_range(nb_moves, 1, 12);
		assert_true(nb_shared * step_ns < 40 * MS);
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
	struct roost_place place;
	cpu_set_t before, after;
	unsigned int *nb = arg;

	roost_place_open(&place);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (unsigned int i = 0; i < 100; i++) {
		int cpu = sched_getcpu();

		assert_int_equal(roost_place_leave(&place), 0);
		*nb += cpu != sched_getcpu();
	}
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	/* None is idle, or may be idle. */
	atomic_fetch_add(&nb_ready, 1);
	assert_int_equal(roost_place_leave(&place), -EBUSY);
	atomic_fetch_sub(&nb_ready, 1);
	CPU_ZERO(&after);
	CPU_SET((size_t)sched_getcpu(), &after);
	assert_int_equal(sched_setaffinity(0, sizeof(after), &after), 0);
	assert_int_equal(roost_place_leave(&place), -EBUSY);
	roost_place_close(&place);
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

static void crowded__leaves_it_for_a_near_one(void **state)
{
	static const struct {
		const char *list;
		int ret;
	} cases[] = {
		{ "0-1023", 0 },         { "7,0-1,900-901", 0 },
		{ "0-4294967295", 0 },   { "2000", -ENODEV },
		{ "", -ENODEV },         { "1000-1023", -ENODEV },
		{ "5-4,1000", -ENODEV },
	};
	struct roost_place place;

	if (all_cpus() > 900)
		skip();
	atomic_store(&nb_ready, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		near_cpus = cases[i].list;
		roost_place_open(&place);
		assert_int_equal(roost_place_leave(&place), cases[i].ret);
		roost_place_close(&place);
	}
	near_cpus = NULL;
}

static void crowded__waits_are_read(void **state)
{
	struct roost_place place;

	roost_place_open(&place);
	if (place.waits_fd < 0)
		skip();
	assert_true(fcntl(place.waits_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(place.ready_fd, F_GETFD) & FD_CLOEXEC);
	atomic_store(&waits_percent, 50);
	atomic_store(&thread_waited_ns, 7000 * MS);
	assert_int_equal(roost_place_waited_ns(&place), 7000 * MS + LOOK / 2);
	atomic_store(&waits_percent, -1);
	assert_int_equal(roost_place_waited_ns(&place), 0);
	roost_place_close(&place);
	place.waits_fd = -1;
	assert_int_equal(roost_place_waited_ns(&place), 0);
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
		cmocka_unit_test(crowded__two_do_not_follow_each_other),
		THREAD(crowded__the_thread_moves),
		THREAD(crowded__where_all_work_the_thread_stays),
		THREAD(crowded__the_thread_stays),
		cmocka_unit_test(crowded__leaves_its_cpu),
		cmocka_unit_test(crowded__leaves_it_for_a_near_one),
		cmocka_unit_test(crowded__waits_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
