/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_JSON_H
#define ROOST_PMD_GLUE_CTL_JSON_H

/*
 * Writes JSON (RFC 8259) into a string that grows. A library for it would be
 * in every program that Roost runs, with symbols of its own beside those of
 * the program's JSON library; writing needs none.
 *
 * What does not fit into memory is left out and told at the end. Names are
 * plain words of ours; inside an array they are NULL. Not locked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roost_json {
	char *text; /* NULL: empty, or no memory */
	size_t len_bytes;
	size_t room_bytes;
	bool comma; /* the next value is not the first */
	bool failed;
};

/* kind is '{' or '[', for end '}' or ']'. */
void roost_json_begin(struct roost_json *j, const char *name, char kind);
void roost_json_end(struct roost_json *j, char kind);
void roost_json_u64(struct roost_json *j, const char *name, uint64_t value);
void roost_json_bool(struct roost_json *j, const char *name, bool value);
/* Bytes of text that are no UTF-8 are replaced by a question mark. */
void roost_json_str(struct roost_json *j, const char *name, const char *text);

/* The text, without a zero behind it, or NULL when memory was short. *j is
 * empty then, and the caller frees what it got.
 */
char *roost_json_take(struct roost_json *j, size_t *len_bytes);

#endif
