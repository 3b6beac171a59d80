/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_IMPORT_H
#define ROOST_PMD_GLUE_QUIRKS_IMPORT_H

/*
 * What a loaded library imports, and from where. Defining a function of the
 * same name reaches a library only if ours comes first in its lookup order,
 * which the application's link line decides; this reaches it always, and no
 * other library. ELF; any architecture.
 */

#include <stddef.h>

struct roost_import {
	const char *symbol;
	void *function; /* takes its place */
};

/*
 * In every loaded library whose file name contains library, make calls of the
 * imported symbols go to our functions. Doing so again changes nothing.
 * Returns how many imports it changed or found changed; -EACCES: the import
 * table cannot be written. Thread: any, one at a time.
 */
int roost_imports_replace(const char *library,
			  const struct roost_import *imports, size_t nb);

/*
 * The function of this name in a loaded library whose file name contains
 * library, or in one that it has brought with it. NULL: there is none.
 * Thread: any.
 */
void *roost_import_find(const char *library, const char *symbol);

#endif
