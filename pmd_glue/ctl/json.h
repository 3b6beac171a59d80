/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_JSON_H
#define ROOST_PMD_GLUE_CTL_JSON_H

/*
 * Writes JSON (RFC 8259) into a string that grows. No JSON library is used: its
 * symbols would be in every program that Roost runs, beside those of the
 * program's own JSON library.
 *
 * After a failed allocation the text does not grow any more, and
 * roost_json_take() returns NULL. Names need no escapes; inside an array they
 * are NULL. Not locked.
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
/* A byte of text that is no valid UTF-8 becomes a question mark. */
void roost_json_str(struct roost_json *j, const char *name, const char *text);

/* Length in bytes of the UTF-8 sequence at s, a string; 0: not valid (RFC 3629,
 * section 4).
 */
size_t roost_json_sequence(const unsigned char *s);

/* Take the text, without a terminating zero; the caller frees it. Returns NULL
 * if memory was short. In both cases *j is empty after the call.
 */
char *roost_json_take(struct roost_json *j, size_t *len_bytes);

#endif
