/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/conform/agent_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *words_text(const struct words *w, const char *name)
{
	size_t len = strlen(name);

	for (unsigned int i = 0; i < w->nb; i++) {
		if (strncmp(w->word[i], name, len) == 0 &&
		    w->word[i][len] == '=')
			return w->word[i] + len + 1;
	}
	return NULL;
}

uint64_t words_number(const struct words *w, const char *name, uint64_t max,
		      bool *bad)
{
	const char *text = words_text(w, name);
	uint64_t value;
	char *end;

	if (text == NULL || *text < '0' || *text > '9') {
		*bad = true;
		return 0;
	}
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0 || *end != '\0' || value > max)
		*bad = true;
	return value;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

int words_bytes(const char *text, uint8_t *to, size_t max)
{
	size_t n = 0;

	if (text == NULL)
		return -1;
	for (; text[2 * n] != '\0'; n++) {
		int high = hex_digit(text[2 * n]);
		int low = high < 0 ? -1 : hex_digit(text[2 * n + 1]);

		if (low < 0 || n == max)
			return -1;
		to[n] = (uint8_t)(high << 4 | low);
	}
	return (int)n;
}

void say_bytes(const uint8_t *bytes, size_t n)
{
	printf("ok bytes=");
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

void say_error(const char *what)
{
	printf("error %s\n", what);
}

void say_errno(void)
{
	say_error(strerror(errno));
}

void say_done(bool done)
{
	if (done)
		puts("ok");
	else
		say_errno();
}
