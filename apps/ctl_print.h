/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_PRINT_H
#define ROOST_APPS_CTL_PRINT_H

/*
 * Documents of control sockets as text for people. The names are the
 * document's: what a process shows needs no word here.
 */

#include <stdio.h>

struct json_object;

/*
 * Make text of another process fit for a terminal, which would obey it: a
 * control character of ASCII or Unicode becomes a question mark. Changes text
 * in place and returns it. All that is printed below went through it.
 */
char *roost_ctl_plain(char *text);

/*
 * All of a process: values by name; an array of flat objects as a table, or as
 * a record for each where that is wider than a terminal of 80 columns. Of
 * counters in a record, those that are zero are left out.
 */
void roost_ctl_print(FILE *out, struct json_object *process);

/* An array of processes that were asked for their ports: one line for each
 * port.
 */
void roost_ctl_print_list(FILE *out, struct json_object *processes);

#endif
