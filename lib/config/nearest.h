/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_NEAREST_H
#define ROOST_CONFIG_NEAREST_H

/*
 * "Did you mean": which known name a mistyped one is nearest to. Pure.
 */

#include <stddef.h>

/*
 * The one of nb names with the fewest single edits (a character put in, left
 * out, replaced, or swapped with its neighbour) between it and given, upper and
 * lower case being equal; the first of those where several are.
 * Where that is more than one edit for each three characters of given, it is
 * the first name that is short for it, or that it is short for ("gw" and
 * "gateway").
 * Returns the element of names; NULL: none is near, and a guess would mislead.
 * Thread: any.
 */
const char *roost_name_nearest(const char *given, const char *const *names,
			       size_t nb);

#define ROOST_NAME_ADVICE_MAX 160 /* bytes, terminating zero included */

/*
 * What to tell who wrote given: "the nearest known one is 'NAME'", or otherwise
 * where none is near. shape: how the name is written, with a * in its place:
 * "'*'", "--*". Returns advice. Thread: any.
 */
const char *roost_name_advise(char advice[ROOST_NAME_ADVICE_MAX],
			      const char *given, const char *const *names,
			      size_t nb, const char *shape,
			      const char *otherwise);

#endif
