/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_RUN_H
#define ROOST_APPS_RUN_H

/*
 * `roost run`: put the shims first in a program's library path, put the
 * resolved configuration into its environment, and execute it.
 */

/*
 * argv: the words after `run`, NULL at the end. Does not return if the program
 * is executed. Returns enum roost_exit_code; if it is not 0, one line on stderr
 * tells why.
 */
int roost_run(char **argv);

/* The help text on stdout. Returns enum roost_exit_code. */
int roost_run_help(void);

#endif
