/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_COMMAND_H
#define ROOST_APPS_COMMAND_H

/*
 * The program that `roost run` is about to become, looked at beforehand.
 */

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

#endif
