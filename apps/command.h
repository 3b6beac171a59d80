/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_COMMAND_H
#define ROOST_APPS_COMMAND_H

/*
 * Checks of the program that `roost run` is about to execute.
 */

#include <limits.h>
#include <stdbool.h>

/*
 * Find the file that execvp(3) will execute for name. path: PATH_MAX bytes.
 * Returns false: there is none; path is undefined then.
 */
bool roost_command_find(const char *name, char *path);

/*
 * Does executing the file raise this process's privileges (setuid, setgid,
 * file capabilities)? The dynamic linker then ignores LD_LIBRARY_PATH.
 */
bool roost_command_is_privileged(const char *path);

/* The problem of a command, as one line for the user. */
struct roost_command_word {
	bool cannot_run; /* the program cannot start: do not execute it */
	bool is_elf;     /* if execve(2) fails, no shell is to read it */
	bool is_alien;   /* of another architecture or C library */
	char line[3 * PATH_MAX]; /* without "roost: "; empty: no problem */
};

/*
 * Check the command argv: its file, the interpreters if it is a script (`#!`,
 * up to the kernel's five), and the command that env(1) would start. Reports
 * the first cause that keeps the program from starting or from using Roost's
 * libraries. dirs: the directories of these libraries, separated by colons.
 * Programs that these programs start are not checked.
 */
void roost_command_look(char *const *argv, const char *dirs,
			struct roost_command_word *word);

#endif
