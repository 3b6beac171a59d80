/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SHIM_H
#define ROOST_APPS_SHIM_H

/*
 * Where Roost's libibverbs.so.1 lies, seen from the launcher, so that the
 * build tree and every installation, moved ones too, find their own.
 */

/*
 * The directory of the shims that belong to the launcher at exe (an absolute
 * path without links): $libdir/roost of the installation that exe's directory
 * is the bindir of, else lib/verbs of the build tree. dir: PATH_MAX bytes.
 * Returns 0; -errno when no library can be read there, with one line in err
 * (ROOST_CONFIG_ERR_MAX bytes).
 */
int roost_shim_find(const char *exe, char *dir, char *err);

/*
 * LD_LIBRARY_PATH with dir in front of what it was (NULL or empty: not set).
 * Returns a string that the caller frees, NULL without memory.
 */
char *roost_shim_library_path(const char *dir, const char *before);

#endif
