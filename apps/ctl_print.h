/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_PRINT_H
#define ROOST_APPS_CTL_PRINT_H

/*
 * Prints the JSON documents of control sockets as text. The names come from the
 * document, so a new value of a process needs no change here.
 */

#include <stdio.h>

struct json_object;

/*
 * Make text of another process safe for a terminal, which would execute control
 * characters: each one, of ASCII or Unicode, becomes a question mark. Changes
 * text in place and returns it. The functions below use it for all text.
 */
char *roost_ctl_plain(char *text);

/*
 * Print the document of a process: values by name; an array of flat objects as
 * a table, or, if the table is wider than 80 columns, one record per object.
 * Counters that are zero are left out of records.
 */
void roost_ctl_print(FILE *out, struct json_object *process);

/* Print the ports of several processes, one line for each port. processes: an
 * array of the answers to show port.
 */
void roost_ctl_print_list(FILE *out, struct json_object *processes);

#endif
