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
 * The one of nb names (nb > 0) with the fewest single edits (a character put
 * in, left out, replaced, or swapped with its neighbour) between it and given,
 * upper and lower case being equal; the first of those where several are.
 * Returns the element of names. Thread: any.
 */
const char *roost_name_nearest(const char *given, const char *const *names,
			       size_t nb);

#endif
