/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_TOP_H
#define ROOST_APPS_TOP_H

/*
 * `roost top`: the devices, queue pairs and clients of all processes that
 * answer, by what they do now. Changes nothing.
 */

/* argv: the words after the command, NULL at the end. Returns the exit code. */
int roost_top(char **argv);
int roost_top_help(void);

#endif
