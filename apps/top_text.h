/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_TOP_TEXT_H
#define ROOST_APPS_TOP_TEXT_H

/* The rows of roost top as text: tables, each with a line of names. */

#include <stdio.h>

struct json_object;

/* Begins a line of names; no other line has it. */
#define ROOST_TOP_NAMES '\1'

/* rows: from roost_top_rows(). At most max_rows rows of each table, and a line
 * that says how many more there are. Text of other processes is made safe for a
 * terminal.
 */
void roost_top_print(FILE *out, struct json_object *rows, size_t max_rows);

#endif
