/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SHIM_H
#define ROOST_APPS_SHIM_H

/*
 * Finds Roost's libibverbs.so.1 and librdmacm.so.1 relative to the launcher. So
 * a launcher in the build tree or in any installation, also a moved one, finds
 * its own libraries.
 */

#include <limits.h>

/* Two directories. */
#define ROOST_SHIM_DIRS_MAX (2 * PATH_MAX)

/*
 * Find the directories of the shims that belong to the launcher at exe (an
 * absolute path without symbolic links), separated by a colon: $libdir/roost of
 * the installation whose bindir is exe's directory, or else lib/verbs and
 * cm/rdmacm of the build tree. dirs: ROOST_SHIM_DIRS_MAX bytes.
 * Returns 0; -errno when a library cannot be read there, with one line in err
 * (ROOST_CONFIG_ERR_MAX bytes).
 */
int roost_shim_find(const char *exe, char *dirs, char *err);

/*
 * Find the library that is preloaded to programs, as above. path: PATH_MAX
 * bytes. Returns 0; -errno with a line in err: it cannot be read, or
 * LD_PRELOAD cannot name it (-EINVAL).
 */
int roost_shim_find_preload(const char *exe, char *path, char *err);

/*
 * Make LD_PRELOAD: the library behind the old value (NULL or empty: not set),
 * because a sanitizer's library has to come first. Returns as the next one.
 */
char *roost_shim_preload(const char *library, const char *before);

/*
 * Make LD_LIBRARY_PATH: dirs before its old value (NULL or empty: not set).
 * Returns a string that the caller frees; NULL: no memory.
 */
char *roost_shim_library_path(const char *dirs, const char *before);

#endif
