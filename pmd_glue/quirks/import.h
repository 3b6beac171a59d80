/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_IMPORT_H
#define ROOST_PMD_GLUE_QUIRKS_IMPORT_H

/*
 * Replaces imported functions of a loaded library, in its import tables. A
 * function of the same name in libroost would replace an import only if
 * libroost came first in the lookup order, which depends on the application's
 * link line. The import tables work always, and change no other library. ELF;
 * any architecture.
 */

#include <stddef.h>

struct roost_import {
	const char *symbol;
	void *function; /* the replacement */
};

/*
 * Replace imports in every loaded library whose file name contains library. A
 * second call changes nothing. Returns how many imports are replaced now; or
 * -EACCES: an import table cannot be written. Thread: any, one at a time.
 */
int roost_imports_replace(const char *library,
			  const struct roost_import *imports, size_t nb);

/*
 * Find the function of this name in a loaded library whose file name contains
 * library, or in the dependencies of that library. Returns NULL: there is none.
 * Thread: any.
 */
void *roost_import_find(const char *library, const char *symbol);

#endif
