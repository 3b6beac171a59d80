/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

/* Longer than any known name; longer input is compared up to this length. */
#define NAME_MAX_CHARS 63u
/* Characters of a name for each edit that is allowed. */
#define EDIT_CHARS 3u
#define SHORT_MIN_CHARS 2u

static int lower(const char *s, size_t i)
{
	return tolower((unsigned char)s[i]);
}

/* Optimal string alignment distance, three rows at a time. */
static unsigned int edit_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, NAME_MAX_CHARS);
	size_t nb = strnlen(b, NAME_MAX_CHARS);
	unsigned int rows[3][NAME_MAX_CHARS + 1];
	unsigned int *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nb; j++)
		above[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int *oldest = before;

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			bool same = lower(a, i - 1) == lower(b, j - 1);

			row[j] = MIN(above[j - 1] + !same,
				     MIN(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 &&
			    lower(a, i - 1) == lower(b, j - 2) &&
			    lower(a, i - 2) == lower(b, j - 1))
				row[j] = MIN(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[nb];
}

/* Does a leave out letters of b, and not the first? */
static bool is_short_for(const char *a, const char *b)
{
	size_t i = 0;

	if (strlen(a) < SHORT_MIN_CHARS || lower(a, 0) != lower(b, 0))
		return false;
	for (size_t j = 0; b[j] && a[i]; j++)
		i += lower(a, i) == lower(b, j);
	return a[i] == '\0';
}

const char *roost_name_nearest(const char *given, const char *const *names,
			       size_t nb)
{
	const size_t len = strnlen(given, NAME_MAX_CHARS);
	unsigned int least = MAX((unsigned int)len / EDIT_CHARS, 1u) + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < nb; i++) {
		unsigned int d = edit_distance(given, names[i]);

		if (d < least) {
			least = d;
			nearest = names[i];
		}
	}
	for (size_t i = 0; !nearest && i < nb; i++)
		if (is_short_for(given, names[i]) ||
		    is_short_for(names[i], given))
			nearest = names[i];
	return nearest;
}

const char *roost_name_advise(char advice[ROOST_NAME_ADVICE_MAX],
			      const char *given, const char *const *names,
			      size_t nb, const char *shape,
			      const char *otherwise)
{
	const char *nearest = roost_name_nearest(given, names, nb);

	int before = (int)strcspn(shape, "*");

	if (nearest)
		snprintf(advice, ROOST_NAME_ADVICE_MAX,
			 "the nearest known one is %.*s%s%s", before, shape,
			 nearest, shape + before + 1);
	else
		snprintf(advice, ROOST_NAME_ADVICE_MAX, "%s", otherwise);
	return advice;
}
