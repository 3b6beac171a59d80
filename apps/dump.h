/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_DUMP_H
#define ROOST_APPS_DUMP_H

/*
 * `roost dump`: the frames of a process that uses Roost, as pcapng.
 * pmd_glue/dump/dump.h says how they come.
 */

/* argv: the words after `dump`, NULL at the end. Returns enum roost_exit_code;
 * if it is not 0, one line on stderr tells why.
 */
int roost_dump(char **argv);

/* The help text on stdout. Returns enum roost_exit_code. */
int roost_dump_help(void);

#endif
