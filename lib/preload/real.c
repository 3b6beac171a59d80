/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/preload/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/sysfs/variable.h"

/* The linker's names for the ends of the section. */
extern struct roost_preload_real __start_roost_reals[], __stop_roost_reals[];

static void read_variable(void)
{
	roost_preload_set_picture(getenv(ROOST_PICTURE_VARIABLE));
}

void *roost_preload_look_up(struct roost_preload_real *real)
{
	void *function = dlsym(RTLD_NEXT, real->name);

	/* Kept for old programs, and in no default version. */
	if (!function)
		function = dlvsym(RTLD_NEXT, real->name, "GLIBC_2.2.5");
	atomic_store_explicit(&real->function, function, memory_order_relaxed);
	return function;
}

void *roost_preload_find(struct roost_preload_real *real)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_variable);
	return roost_preload_look_up(real);
}

__attribute__((constructor)) static void find_all(void)
{
	for (struct roost_preload_real *real = __start_roost_reals;
	     real < __stop_roost_reals; real++)
		roost_preload_find(real);
}
