/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <dlfcn.h>

/* Every name as the installed library has it, and what has none. */
static void strings__as_the_installed_library(void **state)
{
	const char *(*theirs)(enum rdma_cm_event_type event);
	void *library = dlmopen(LM_ID_NEWLM, REAL_LIBRDMACM, RTLD_NOW);

	if (!library)
		skip();
	*(void **)&theirs = dlsym(library, "rdma_event_str");
	assert_non_null(theirs);
	for (int i = -1; i < 20; i++)
		assert_string_equal(rdma_event_str((enum rdma_cm_event_type)i),
				    theirs((enum rdma_cm_event_type)i));
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings__as_the_installed_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
