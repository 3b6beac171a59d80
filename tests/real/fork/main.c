/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * usage: fork_calls LIBIBVERBS_MAP LIBRDMACM_MAP
 */
#include "tests/real/fork/fork.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define NAMES_MAX 512
#define NAME_BYTES 64

const char *fork_verbs_map, *fork_rdmacm_map;

int fork_child(fork_check *check)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(CHILD_S);
		_exit(!check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* The names in a version map: each is alone on its line, behind two tabs. */
static size_t read_map(const char *path, char names[][NAME_BYTES])
{
	FILE *file = fopen(path, "re");
	char line[256], name[NAME_BYTES];
	size_t nb = 0, i;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "\t\t", 2) != 0 ||
		    sscanf(line, "\t\t%63[A-Za-z0-9_];", name) != 1)
			continue;
		for (i = 0; i < nb && strcmp(names[i], name) != 0; i++)
			;
		if (i < nb)
			continue;
		assert_true(nb < NAMES_MAX);
		memcpy(names[nb++], name, sizeof(name));
	}
	fclose(file);
	assert_true(nb > 0);
	return nb;
}

static const struct fork_row *find(const struct fork_row *rows,
				   const char *name)
{
	while (rows->name && strcmp(rows->name, name) != 0)
		rows++;
	return rows->name ? rows : NULL;
}

/* For calls that have no object, which look at no argument but the third. */
static long (*plain)(void *a, void *b, void **c, void *d, void *e, void *f);

static bool call_plain(void)
{
	static uint64_t nothing[1024];
	void *out = NULL;

	plain(nothing, nothing, &out, nothing, nothing, nothing);
	return true;
}

static int check_row(const struct fork_row *row, void *library)
{
	if (row->check)
		return fork_child(row->check);
	*(void **)&plain = dlsym(library, row->name);
	if (!plain) /* of old programs only */
		*(void **)&plain = dlvsym(library, row->name, "IBVERBS_1.1");
	if (!plain) {
		print_error("%s: not there\n", row->name);
		return 1;
	}
	return fork_child(call_plain);
}

void fork_calls(const char *map_path, const struct fork_row *rows,
		void *library)
{
	static char names[NAMES_MAX][NAME_BYTES];
	const size_t nb = read_map(map_path, names);
	size_t nb_rows = 0, nb_wrong = 0;
	int how;

	for (size_t i = 0; i < nb; i++) {
		const struct fork_row *row = find(rows, names[i]);

		if (!row) {
			print_error("%s: no row says what it does in a child\n",
				    names[i]);
			nb_wrong++;
			continue;
		}
		nb_rows++;
		how = check_row(row, library);
		if (how)
			print_error("%s in a child: %s\n", row->name,
				    how == 1 ? "another answer"
					     : strsignal(how));
		nb_wrong += how != 0;
	}
	while (rows->name)
		rows++, nb_rows--;
	assert_int_equal(nb_rows, 0);
	assert_int_equal(nb_wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TOUR_TEST(fork__verbs_answer),
		TOUR_TEST(fork__operations_are_exchanged),
		TOUR_TEST(fork__rdmacm_answers),
	};

	if (argc != 3)
		return 2;
	fork_verbs_map = argv[1];
	fork_rdmacm_map = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
