/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SHIM_H
#define ROOST_APPS_SHIM_H

/*
 * Where Roost's libibverbs.so.1 and librdmacm.so.1 lie, seen from the launcher,
 * so that the build tree and every installation, moved ones too, find their
 * own.
 */

#include <limits.h>

/* Two directories. */
#define ROOST_SHIM_DIRS_MAX (2 * PATH_MAX)

/*
 * The directories of the shims that belong to the launcher at exe (an absolute
 * path without links), with a colon in between: $libdir/roost of the
 * installation that exe's directory is the bindir of, else lib/verbs and
 * cm/rdmacm of the build tree. dirs: ROOST_SHIM_DIRS_MAX bytes.
 * Returns 0; -errno when a library cannot be read there, with one line in err
 * (ROOST_CONFIG_ERR_MAX bytes).
 */
int roost_shim_find(const char *exe, char *dirs, char *err);

/*
 * LD_LIBRARY_PATH with dirs in front of what it was (NULL or empty: not set).
 * Returns a string that the caller frees, NULL without memory.
 */
char *roost_shim_library_path(const char *dirs, const char *before);

#endif
