/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/eal_tsc.h"

#include <stdbool.h>
#include <time.h>

#include "pmd_glue/quirks/import.h"

#define EAL_NS 100000000
#define ENOUGH_NS 10000000

/* Other threads sleep as ever. */
static _Thread_local bool is_starting;

static int sleep_some_time(const struct timespec *time, struct timespec *left)
{
	static const struct timespec enough = { .tv_nsec = ENOUGH_NS };

	if (!is_starting || time->tv_sec != 0 || time->tv_nsec != EAL_NS)
		return nanosleep(time, left);
	is_starting = false;
	return nanosleep(&enough, left);
}

void roost_eal_tsc_begin(void)
{
	static const struct roost_import import = { "nanosleep",
						    sleep_some_time };

	is_starting = true;
	roost_imports_replace("/librte_eal.so", &import, 1);
}

void roost_eal_tsc_end(void)
{
	is_starting = false;
}
