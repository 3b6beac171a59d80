/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_WIRE_EACH_KERNEL_H
#define ROOST_TESTS_UNIT_WIRE_EACH_KERNEL_H

/* The same tests with every kernel that this processor has, each in use. */

#include "lib/wire/icrc.h"
#include "tests/cmocka.h"

/* Returns how many tests failed. */
#define RUN_WITH_EACH_KERNEL(tests)                                            \
	run_with_each_kernel(tests, sizeof(tests) / sizeof((tests)[0]))

static inline int run_with_each_kernel(const struct CMUnitTest *tests,
				       size_t nb_tests)
{
	int failed = 0;

	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++) {
		if (!roost_kernels[i]->usable())
			continue;
		roost_kernel = roost_kernels[i];
		failed += _cmocka_run_group_tests(roost_kernel->name, tests,
						  nb_tests, NULL, NULL);
	}
	return failed;
}

#endif
