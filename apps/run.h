/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_RUN_H
#define ROOST_APPS_RUN_H

/*
 * `roost run`: put the shims in front of a program's libraries, the resolved
 * configuration into its environment, and become it.
 */

/*
 * argv: the words behind `run`, NULL at the end. Does not return when the
 * program takes over. Returns enum roost_exit_code; where that is not 0, one
 * line on stderr has said why.
 */
int roost_run(char **argv);

/* The help text on stdout. Returns enum roost_exit_code. */
int roost_run_help(void);

#endif
