/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PRELOAD_REAL_H
#define ROOST_PRELOAD_REAL_H

/*
 * Wrappers of functions of the C library. A wrapper has the name of its
 * function, and calls the next function of that name: the C library's, or that
 * of a sanitizer or another preloaded library in between. It decides by
 * roost_preload_may_be_ours() only, and leaves everything else, so cancellation
 * points, errno and the safety in signal handlers, to the function.
 *
 * What a path needs that may be ours is in a function of its own: its buffer is
 * not on the stack of the others.
 */

#include <fcntl.h>
#include <stdatomic.h>

#include "lib/preload/path.h"

#define ROOST_PRELOAD_EXPORT __attribute__((visibility("default")))
#define ROOST_PRELOAD_RARE __attribute__((noinline, cold))

/* A function behind a wrapper. */
struct roost_preload_real {
	const char *name;
	_Atomic(void *) function; /* NULL: not looked up yet */
};

/* Look it up; returns NULL if there is none. All are looked up when the library
 * is initialised, because dlsym(3) is not for signal handlers; before that,
 * each one when it is called.
 */
void *roost_preload_find(struct roost_preload_real *real);
/* The same without a look at the environment, for a function that has nothing
 * to do with the picture: sanitizers call sigaction() before there is an
 * environment, and from inside of getenv().
 */
void *roost_preload_look_up(struct roost_preload_real *real);

/* In the section, a constructor finds all of them. */
#define ROOST_PRELOAD_REAL(fn)                                                 \
	__attribute__((section("roost_reals"),                                 \
		       used)) static struct roost_preload_real real_##fn = {   \
		.name = #fn                                                    \
	}

static inline void *roost_preload_real(struct roost_preload_real *real)
{
	void *function =
		atomic_load_explicit(&real->function, memory_order_relaxed);

	return __builtin_expect(function != NULL, 1) ? function
						     : roost_preload_find(real);
}

#define REAL(fn) ((__typeof__(&fn))roost_preload_real(&real_##fn))

/*
 * Define the wrapper of fn, a function with parameters params that returns
 * type, -1 or NULL (failed) on an error. args: the parameters. at: the
 * descriptor that its parameter path is relative to. nofollow: a statement for
 * a path to a node, which must be used as if it were no link.
 */
#define ROOST_PRELOAD_WRAP(type, failed, fn, at, nofollow, params, args)       \
	ROOST_PRELOAD_WRAP_OPEN(type, failed, fn, at, nofollow, O_RDONLY,      \
				params, args)

/* The same of a function that opens a file. how: its flags, as of open(2). */
#define ROOST_PRELOAD_WRAP_OPEN(type, failed, fn, at, nofollow, how, params,   \
				args)                                          \
	ROOST_PRELOAD_REAL(fn);                                                \
	ROOST_PRELOAD_RARE static type rare_##fn params                        \
	{                                                                      \
		struct roost_preload_path to;                                  \
                                                                               \
		path = roost_preload_rewrite(at, path, &to);                   \
		if (!path)                                                     \
			return failed;                                         \
		if (to.is_node) {                                              \
			nofollow;                                              \
		}                                                              \
		if (roost_preload_refuses(path, &to, how))                     \
			return failed;                                         \
		return REAL(fn) args;                                          \
	}                                                                      \
	ROOST_PRELOAD_EXPORT type fn params                                    \
	{                                                                      \
		if (roost_preload_may_be_ours(path))                           \
			return rare_##fn args;                                 \
		return REAL(fn) args;                                          \
	}

#endif
