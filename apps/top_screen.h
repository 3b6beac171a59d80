/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_TOP_SCREEN_H
#define ROOST_APPS_TOP_SCREEN_H

/* The terminal of roost top. One at a time. */

#include <stdbool.h>

/* Returns false: this type of terminal is not known. */
bool roost_top_screen_open(void);
/* The terminal is what it was. */
void roost_top_screen_close(void);

/* Show text, from roost_top_print(), below a title. Copies both. Returns false:
 * no memory, and what was there stays.
 */
bool roost_top_screen_show(const char *title, const char *text);

/* Handle keys and changes of the size for so long. Returns false: the user
 * wants to quit.
 */
bool roost_top_screen_wait(unsigned int ms);

#endif
