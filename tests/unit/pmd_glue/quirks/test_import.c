/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/quirks/import.h"
#include "tests/cmocka.h"

#define LOADED "libcmocka.so"
#define SYMBOL "_cmocka_run_group_tests"
#define LIMIT_S 60
#define FORKS 500
#define FINDS 5000
/* Of libc's package, and linked by nobody any more. */
#define NEVER_LOADED "libanl.so.1"

static atomic_bool over;

static void *replace_main(void *arg)
{
	const struct roost_import none = { .symbol = "no_such_function" };

	while (!atomic_load(&over))
		assert_int_equal(roost_imports_replace(LOADED, &none, 1), 0);
	return arg;
}

static void *load_main(void *arg)
{
	while (!atomic_load(&over)) {
		void *library = dlopen(NEVER_LOADED, RTLD_NOW);

		assert_non_null(library);
		dlclose(library);
		sched_yield();
	}
	return arg;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	atomic_store(&over, false);
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	return thread;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	return 0;
}

/* The loader's lock is nobody's in a child. */
static void import__a_child_may_walk_the_libraries(void **state)
{
	pthread_t thread = start(replace_main);
	int status = 0;
	pid_t pid;

	for (int i = 0; i < FORKS && status == 0; i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			alarm(LIMIT_S / 2);
			_exit(dl_iterate_phdr(look, NULL));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
}

/* It takes the loader's locks in the loader's order. */
static void import__found_while_others_are_loaded(void **state)
{
	void *init = dlsym(RTLD_DEFAULT, SYMBOL);
	pthread_t thread = start(load_main);

	alarm(LIMIT_S);
	for (int i = 0; i < FINDS; i++)
		assert_ptr_equal(roost_import_find(LOADED, SYMBOL), init);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	alarm(0);
}

static void import__none_is_found(void **state)
{
	assert_null(roost_import_find(LOADED, "no_such_function"));
	assert_null(roost_import_find("no_such_library", SYMBOL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(import__a_child_may_walk_the_libraries),
		cmocka_unit_test(import__found_while_others_are_loaded),
		cmocka_unit_test(import__none_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
