/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_COMMAND_H
#define ROOST_APPS_COMMAND_H

/*
 * The program that `roost run` is about to become, looked at beforehand.
 */

#include <limits.h>
#include <stdbool.h>

/*
 * The file that execvp(3) will take for name. path: PATH_MAX bytes.
 * Returns false when there is none; path is undefined then.
 */
bool roost_command_find(const char *name, char *path);

/*
 * Does executing the file raise this process's privileges (setuid, setgid,
 * file capabilities)? The dynamic linker then ignores LD_LIBRARY_PATH.
 */
bool roost_command_is_privileged(const char *path);

/* What is wrong with a command, as one line for the user. */
struct roost_command_word {
	bool cannot_run; /* it would not start at all: not to be tried */
	bool is_elf;     /* no shell is to read it where the kernel cannot */
	char line[3 * PATH_MAX]; /* without "roost: "; empty: nothing */
};

/*
 * Look at what argv would start, before it does: the file, its interpreters
 * where it is a script (`#!`, up to the kernel's five), and what env(1) is told
 * to start. The first thing that keeps Roost's libraries from the program, or
 * the program from starting, is said. dirs: where these libraries are, by
 * colons. Programs that these programs start are not seen.
 */
void roost_command_look(char *const *argv, const char *dirs,
			struct roost_command_word *word);

#endif
