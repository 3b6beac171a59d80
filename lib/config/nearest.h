/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_NEAREST_H
#define ROOST_CONFIG_NEAREST_H

/*
 * "Did you mean": the known name that is nearest to a mistyped one. Pure.
 */

#include <stddef.h>

/*
 * Find the name with the fewest single edits from given (a character inserted,
 * left out, replaced, or swapped with its neighbour), upper and lower case
 * being equal; the first of several. If the best name needs more than one edit
 * for each three characters of given, the result is the first name that given
 * abbreviates or that abbreviates given ("gw" and "gateway").
 * Returns the element of names; NULL: no name is near, and a guess would
 * mislead.
 * Thread: any.
 */
const char *roost_name_nearest(const char *given, const char *const *names,
			       size_t nb);

#define ROOST_NAME_ADVICE_MAX 160 /* bytes, terminating zero included */

/*
 * Write the advice for a user who wrote given: "the nearest known one is
 * 'NAME'", or the text of `otherwise` if no name is near. shape: how the name
 * is written, with a * in its place: "'*'", "--*". Returns advice. Thread: any.
 */
const char *roost_name_advise(char advice[ROOST_NAME_ADVICE_MAX],
			      const char *given, const char *const *names,
			      size_t nb, const char *shape,
			      const char *otherwise);

#endif
