/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The same few things again and again, and each time another call that Roost
 * makes fails. Whatever a call answers, the program gives back what it has, and
 * all is as it was: descriptors, threads, memory. In the end all works.
 *
 * usage: fault_walk verbs|cm|rsocket ADDRESS [FIRST LAST]
 *
 * Preloaded: inject.c. ROOST_TEST_FAULTS: so many of the calls, spread evenly;
 * 0: all. FIRST to LAST: these, and tell of each. Exit status 0: all is well.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/real/fault/scenes.h"

#define FAULTS 16u
/* What other threads free is free by then. */
#define SETTLE_MS 3000
#define TIMEWAIT_MS 15000
#define STUCK_S 60

static void (*arm)(unsigned int n);
static unsigned int (*disarm)(void);
static const char *(*name)(void);
static unsigned int (*live)(void);
static void (*tell)(void);

static const struct {
	const char *name;
	bool (*run)(const char *address);
} scenes[] = {
	{ "verbs", scene_verbs },
	{ "cm", scene_cm },
	{ "rsocket", scene_rsocket },
};

static atomic_uint current;
static atomic_bool beats;

static void *find(const char *function)
{
	void *found = dlsym(RTLD_DEFAULT, function);

	if (!found) {
		fprintf(stderr, "fault_walk: inject.c is not preloaded\n");
		exit(2);
	}
	return found;
}

/* A scene that takes longer hangs. */
static void *watch_main(void *arg)
{
	for (;;) {
		atomic_store(&beats, false);
		sleep(STUCK_S);
		if (atomic_load(&beats))
			continue;
		fprintf(stderr, "fault_walk: stuck: call %u, %s\n",
			atomic_load(&current), name());
		abort();
	}
	return arg;
}

static unsigned int nb_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

struct footprint {
	unsigned int fds, threads;
};

static struct footprint measure(void)
{
	return (struct footprint){ .fds = nb_entries("/proc/self/fd"),
				   .threads = nb_entries("/proc/self/task") };
}

static bool exceeds(struct footprint a, struct footprint b)
{
	return a.fds > b.fds || a.threads > b.threads;
}

/* Nothing is left over, soon. */
static bool is_clean(unsigned int n, struct footprint base)
{
	struct footprint now = measure();

	for (int ms = 0; ms < SETTLE_MS && exceeds(now, base); ms += 10) {
		usleep(10000);
		now = measure();
	}
	if (!exceeds(now, base))
		return true;
	fprintf(stderr,
		"fault_walk: call %u, %s: %d descriptors and %d threads are "
		"left\n",
		n, name(), (int)(now.fds - base.fds),
		(int)(now.threads - base.threads));
	return false;
}

/* When no connection is in timewait any more. */
static bool is_freed(void)
{
	for (int ms = 0; ms < TIMEWAIT_MS && live() != 0; ms += 100)
		usleep(100000);
	if (live() == 0)
		return true;
	fprintf(stderr, "fault_walk: %u blocks are left\n", live());
	tell();
	return false;
}

static bool walk(bool (*run)(const char *), const char *address,
		 unsigned int first, unsigned int last, unsigned int step,
		 struct footprint base, bool tells)
{
	bool good = true;

	for (unsigned int n = first; n <= last; n += step) {
		bool went;

		atomic_store(&current, n);
		atomic_store(&beats, true);
		arm(n);
		went = run(address);
		disarm();
		if (tells)
			fprintf(stderr, "fault_walk: call %u, %s: %s\n", n,
				name(), went ? "success" : strerror(errno));
		if (!is_clean(n, base)) {
			good = false;
			base = measure();
		}
	}
	return good;
}

int main(int argc, char **argv)
{
	const char *text = getenv("ROOST_TEST_FAULTS");
	unsigned int nb = text ? (unsigned int)strtoul(text, NULL, 10) : FAULTS;
	bool (*run)(const char *) = NULL;
	unsigned int nb_calls, first = 1, last, step = 1;
	struct footprint base;
	pthread_t watch;
	bool good;

	for (size_t i = 0; argc > 2 && i < sizeof(scenes) / sizeof(scenes[0]);
	     i++)
		if (strcmp(argv[1], scenes[i].name) == 0)
			run = scenes[i].run;
	if (!run)
		return 2;
	*(void **)&arm = find("fault_arm");
	*(void **)&disarm = find("fault_disarm");
	*(void **)&name = find("fault_name");
	*(void **)&live = find("fault_live");
	*(void **)&tell = find("fault_tell");
	pthread_create(&watch, NULL, watch_main, NULL);
	/* The first time, there is more that stays. */
	for (int i = 0; i < 2; i++) {
		arm(0);
		if (!run(argv[2])) {
			fprintf(stderr,
				"fault_walk: it does not work at all\n");
			return 1;
		}
		nb_calls = disarm();
	}
	usleep(200000);
	base = measure();
	last = nb_calls;
	if (argc > 4) {
		first = (unsigned int)strtoul(argv[3], NULL, 10);
		last = (unsigned int)strtoul(argv[4], NULL, 10);
	} else if (nb != 0 && nb < nb_calls) {
		step = (nb_calls + nb - 1) / nb;
		first = 1 + (unsigned int)time(NULL) % step;
	}
	arm(0);
	good = walk(run, argv[2], first, last, step, base, argc > 4);
	atomic_store(&beats, true);
	good &= is_freed();
	arm(0);
	if (!run(argv[2])) {
		fprintf(stderr, "fault_walk: it does not work any more\n");
		good = false;
	}
	fprintf(stderr, "fault_walk: %s: %u calls, every %u. from %u\n",
		argv[1], nb_calls, step, first);
	return good ? 0 : 1;
}
