/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_REAL_LIBRARY_H
#define ROOST_TEST_VERBS_REAL_LIBRARY_H

/*
 * The system's libibverbs.so.1, to compare with: REAL_LIBIBVERBS is its path,
 * found when the build was configured. Only functions that call no other one
 * of the library may be asked for: such a call would come back to ours.
 */

#include <dlfcn.h>
#include <stdio.h>

static inline void *real_library(void)
{
	static void *library;

	if (!library)
		library = dlopen(REAL_LIBIBVERBS, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		print_message("no libibverbs to compare with: %s\n", dlerror());
	return library;
}

/* Declares real_<name>, or skips the test. */
#define REAL(name)                                                             \
	__typeof__(&name) real_##name = NULL;                                  \
	if (!real_library())                                                   \
		skip();                                                        \
	*(void **)&real_##name = dlsym(real_library(), #name);                 \
	assert_non_null(real_##name);                                          \
	assert_ptr_not_equal(real_##name, name)

#endif
