/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CONFORM_AGENT_WORDS_H
#define ROOST_APPS_CONFORM_AGENT_WORDS_H

/* The words of a command, NAME=VALUE, and what is answered. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORDS_MAX 14

/* Behind the command's name, as strtok_r() leaves them. */
struct words {
	unsigned int nb;
	char *word[WORDS_MAX];
};

/* NULL: there is no such word. */
const char *words_text(const struct words *w, const char *name);

/* Sets *bad where the word is missing, no number or more than max. */
uint64_t words_number(const struct words *w, const char *name, uint64_t max,
		      bool *bad);

/* Returns how many bytes there are; -1: the text is no hex, or has more. */
int words_bytes(const char *text, uint8_t *to, size_t max);

void say_bytes(const uint8_t *bytes, size_t n);
void say_error(const char *what);
void say_errno(void);
/* To a command that has no more to say. */
void say_done(bool done);

#endif
