/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What walks trees. The C library calls its own functions for the directories
 * on the way, so they get the real paths, and the program the ones it knows.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <fts.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/preload/real.h"

/* ---- glob -----------------------------------------------------------------
 * It takes functions of its caller's: those of this library.
 */

static void *open_dir(const char *path)
{
	return opendir(path);
}

static void close_dir(void *dir)
{
	closedir(dir);
}

static struct dirent *read_dir(void *dir)
{
	return readdir(dir);
}

static struct dirent64 *read_dir64(void *dir)
{
	return readdir64(dir);
}

#define GLOB(fn, glob_type, entry_fn)                                          \
	ROOST_PRELOAD_REAL(fn);                                                \
	ROOST_PRELOAD_EXPORT int fn(const char *pattern, int flags,            \
				    int (*error)(const char *, int),           \
				    glob_type *found)                          \
	{                                                                      \
		glob_type own;                                                 \
		int ret;                                                       \
                                                                               \
		if (!roost_preload_may_be_ours(pattern) || !found ||           \
		    flags & GLOB_ALTDIRFUNC)                                   \
			return REAL(fn)(pattern, flags, error, found);         \
		own = *found;                                                  \
		own.gl_opendir = open_dir;                                     \
		own.gl_closedir = close_dir;                                   \
		own.gl_readdir = entry_fn;                                     \
		own.gl_stat = stat_dir_##fn;                                   \
		own.gl_lstat = lstat_dir_##fn;                                 \
		ret = REAL(fn)(pattern, flags | GLOB_ALTDIRFUNC, error, &own); \
		found->gl_pathc = own.gl_pathc;                                \
		found->gl_pathv = own.gl_pathv;                                \
		found->gl_offs = own.gl_offs;                                  \
		found->gl_flags = own.gl_flags & ~GLOB_ALTDIRFUNC;             \
		return ret;                                                    \
	}

#define GLOB_STAT(fn, stat_type, stat_fn, lstat_fn)                            \
	static int stat_dir_##fn(const char *path, stat_type *st)              \
	{                                                                      \
		return stat_fn(path, st);                                      \
	}                                                                      \
	static int lstat_dir_##fn(const char *path, stat_type *st)             \
	{                                                                      \
		return lstat_fn(path, st);                                     \
	}

GLOB_STAT(glob, struct stat, stat, lstat)
GLOB_STAT(glob64, struct stat64, stat64, lstat64)
GLOB(glob, glob_t, read_dir)
GLOB(glob64, glob64_t, read_dir64)

/* ---- ftw, nftw ------------------------------------------------------------
 * The program's function is called through one of ours, which hides the start
 * of the path. A walk inside of a walk puts the outer function back.
 */

#define FTW_WALK(fn, stat_type)                                                \
	ROOST_PRELOAD_REAL(fn);                                                \
	static __thread int (*user_##fn)(const char *, const stat_type *,      \
					 int);                                 \
	static int show_##fn(const char *path, const stat_type *st, int what)  \
	{                                                                      \
		return user_##fn(path + roost_preload_hidden(path,             \
							     strlen(path)),    \
				 st, what);                                    \
	}                                                                      \
	ROOST_PRELOAD_RARE static int rare_##fn(                               \
		const char *path,                                              \
		int (*function)(const char *, const stat_type *, int),         \
		int nb_fds)                                                    \
	{                                                                      \
		__typeof__(function) outer = user_##fn;                        \
		struct roost_preload_path to;                                  \
		int ret;                                                       \
                                                                               \
		path = roost_preload_rewrite(AT_FDCWD, path, &to);             \
		if (!path)                                                     \
			return -1;                                             \
		user_##fn = function;                                          \
		ret = REAL(fn)(path, show_##fn, nb_fds);                       \
		user_##fn = outer;                                             \
		return ret;                                                    \
	}                                                                      \
	ROOST_PRELOAD_EXPORT int fn(const char *path,                          \
				    int (*function)(const char *,              \
						    const stat_type *, int),   \
				    int nb_fds)                                \
	{                                                                      \
		if (roost_preload_may_be_ours(path))                           \
			return rare_##fn(path, function, nb_fds);              \
		return REAL(fn)(path, function, nb_fds);                       \
	}

#define NFTW_WALK(fn, stat_type)                                               \
	ROOST_PRELOAD_REAL(fn);                                                \
	static __thread int (*user_##fn)(const char *, const stat_type *, int, \
					 struct FTW *);                        \
	static int show_##fn(const char *path, const stat_type *st, int what,  \
			     struct FTW *at)                                   \
	{                                                                      \
		const size_t hidden =                                          \
			roost_preload_hidden(path, strlen(path));              \
		struct FTW shown = *at;                                        \
                                                                               \
		shown.base -= (int)hidden;                                     \
		return user_##fn(path + hidden, st, what, &shown);             \
	}                                                                      \
	ROOST_PRELOAD_RARE static int rare_##fn(                               \
		const char *path,                                              \
		int (*function)(const char *, const stat_type *, int,          \
				struct FTW *),                                 \
		int nb_fds, int flags)                                         \
	{                                                                      \
		__typeof__(function) outer = user_##fn;                        \
		struct roost_preload_path to;                                  \
		int ret;                                                       \
                                                                               \
		path = roost_preload_rewrite(AT_FDCWD, path, &to);             \
		if (!path)                                                     \
			return -1;                                             \
		user_##fn = function;                                          \
		ret = REAL(fn)(path, show_##fn, nb_fds, flags);                \
		user_##fn = outer;                                             \
		return ret;                                                    \
	}                                                                      \
	ROOST_PRELOAD_EXPORT int fn(const char *path,                          \
				    int (*function)(const char *,              \
						    const stat_type *, int,    \
						    struct FTW *),             \
				    int nb_fds, int flags)                     \
	{                                                                      \
		if (roost_preload_may_be_ours(path))                           \
			return rare_##fn(path, function, nb_fds, flags);       \
		return REAL(fn)(path, function, nb_fds, flags);                \
	}

FTW_WALK(ftw, struct stat)
FTW_WALK(ftw64, struct stat64)
NFTW_WALK(nftw, struct stat)
NFTW_WALK(nftw64, struct stat64)

/* ---- fts ------------------------------------------------------------------
 * The entry that was returned last has the path that the program knows, until
 * the next call, in which the C library goes on from it.
 */

static void free_paths(char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

/* The real paths; NULL: no memory, or one is too long. */
static char **rewrite_paths(char *const *paths)
{
	struct roost_preload_path to;
	const char *path;
	size_t nb = 0;
	char **all;

	while (paths[nb])
		nb++;
	all = calloc(nb + 1, sizeof(*all));
	for (size_t i = 0; all && i < nb; i++) {
		path = roost_preload_rewrite(AT_FDCWD, paths[i], &to);
		all[i] = path ? strdup(path) : NULL;
		if (!all[i]) {
			free_paths(all);
			return NULL;
		}
	}
	return all;
}

static bool any_may_be_ours(char *const *paths)
{
	while (*paths && !roost_preload_may_be_ours(*paths))
		paths++;
	return *paths;
}

#define FTS(suffix, fts_type, entry_type, length_type)                         \
	ROOST_PRELOAD_REAL(suffix##_open);                                     \
	ROOST_PRELOAD_REAL(suffix##_read);                                     \
	ROOST_PRELOAD_REAL(suffix##_children);                                 \
	ROOST_PRELOAD_REAL(suffix##_close);                                    \
	ROOST_PRELOAD_EXPORT fts_type *suffix##_open(                          \
		char *const *paths, int options,                               \
		int (*order)(const entry_type **, const entry_type **))        \
	{                                                                      \
		fts_type *walk;                                                \
		char **all;                                                    \
                                                                               \
		if (!any_may_be_ours(paths))                                   \
			return REAL(suffix##_open)(paths, options, order);     \
		all = rewrite_paths(paths);                                    \
		walk = all ? REAL(suffix##_open)(all, options, order) : NULL;  \
		free_paths(all);                                               \
		return walk;                                                   \
	}                                                                      \
	static void restore_##suffix(fts_type *walk)                           \
	{                                                                      \
		entry_type *last = walk->fts_cur;                              \
		size_t hidden;                                                 \
                                                                               \
		if (!last || !walk->fts_path ||                                \
		    last->fts_path <= walk->fts_path ||                        \
		    last->fts_path > walk->fts_path + walk->fts_pathlen)       \
			return;                                                \
		hidden = (size_t)(last->fts_path - walk->fts_path);            \
		last->fts_path -= hidden;                                      \
		last->fts_pathlen = (length_type)(last->fts_pathlen + hidden); \
	}                                                                      \
	ROOST_PRELOAD_EXPORT entry_type *suffix##_read(fts_type *walk)         \
	{                                                                      \
		entry_type *entry;                                             \
		size_t hidden;                                                 \
                                                                               \
		restore_##suffix(walk);                                        \
		entry = REAL(suffix##_read)(walk);                             \
		if (!entry)                                                    \
			return NULL;                                           \
		hidden = roost_preload_hidden(entry->fts_path,                 \
					      strlen(entry->fts_path));        \
		entry->fts_path += hidden;                                     \
		entry->fts_pathlen =                                           \
			(length_type)(entry->fts_pathlen - hidden);            \
		return entry;                                                  \
	}                                                                      \
	ROOST_PRELOAD_EXPORT entry_type *suffix##_children(fts_type *walk,     \
							   int instruction)    \
	{                                                                      \
		restore_##suffix(walk);                                        \
		return REAL(suffix##_children)(walk, instruction);             \
	}                                                                      \
	ROOST_PRELOAD_EXPORT int suffix##_close(fts_type *walk)                \
	{                                                                      \
		restore_##suffix(walk);                                        \
		return REAL(suffix##_close)(walk);                             \
	}

FTS(fts, FTS, FTSENT, unsigned short)
FTS(fts64, FTS64, FTSENT64, unsigned short)
