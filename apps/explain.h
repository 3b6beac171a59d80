/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_EXPLAIN_H
#define ROOST_APPS_EXPLAIN_H

/* "roost explain": the story of one object of a running process, in sentences.
 */

/* argv: the words after "explain". Returns the exit status. */
int roost_explain(char **argv);
int roost_explain_help(void);

#endif
