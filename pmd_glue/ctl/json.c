/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/ctl/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 4096u

static void put(struct roost_json *j, const char *text, size_t len_bytes)
{
	size_t room_bytes = j->room_bytes ? j->room_bytes : FIRST_BYTES;
	char *grown;

	while (room_bytes - j->len_bytes < len_bytes)
		room_bytes *= 2;
	if (room_bytes != j->room_bytes) {
		grown = j->failed ? NULL : realloc(j->text, room_bytes);
		if (!grown) {
			j->failed = true;
			return;
		}
		j->text = grown;
		j->room_bytes = room_bytes;
	}
	memcpy(j->text + j->len_bytes, text, len_bytes);
	j->len_bytes += len_bytes;
}

static void put_word(struct roost_json *j, const char *word)
{
	put(j, word, strlen(word));
}

size_t roost_json_sequence(const unsigned char *s)
{
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] < 0xe0)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] < 0xf5)
		len = 4;
	else
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void put_quoted(struct roost_json *j, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char code[8];
	size_t len;

	put_word(j, "\"");
	while (*s) {
		len = roost_json_sequence(s);
		if (*s < 0x20) {
			snprintf(code, sizeof(code), "\\u%04x", *s);
			put_word(j, code);
		} else if (len == 0) {
			put_word(j, "?");
			len = 1;
		} else {
			if (*s == '"' || *s == '\\')
				put_word(j, "\\");
			put(j, (const char *)s, len);
		}
		s += len;
	}
	put_word(j, "\"");
}

/* Write the comma and the name before a value. */
static void put_name(struct roost_json *j, const char *name)
{
	if (j->comma)
		put_word(j, ",");
	j->comma = true;
	if (!name)
		return;
	put_quoted(j, name);
	put_word(j, ":");
}

void roost_json_begin(struct roost_json *j, const char *name, char kind)
{
	put_name(j, name);
	put(j, &kind, 1);
	j->comma = false;
}

void roost_json_end(struct roost_json *j, char kind)
{
	put(j, &kind, 1);
	j->comma = true;
}

void roost_json_u64(struct roost_json *j, const char *name, uint64_t value)
{
	char digits[24];

	put_name(j, name);
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	put_word(j, digits);
}

void roost_json_bool(struct roost_json *j, const char *name, bool value)
{
	put_name(j, name);
	put_word(j, value ? "true" : "false");
}

void roost_json_str(struct roost_json *j, const char *name, const char *text)
{
	put_name(j, name);
	put_quoted(j, text);
}

char *roost_json_take(struct roost_json *j, size_t *len_bytes)
{
	char *text = j->text;

	if (j->failed) {
		free(text);
		text = NULL;
	}
	*len_bytes = j->len_bytes;
	*j = (struct roost_json){ 0 };
	return text;
}
