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
	for (int i = -1; i < 30; i++) {
		const char *name = theirs((enum rdma_cm_event_type)i);

		/* It may be older than the last events. */
		if (i < 16 || i > 19 || strcmp(name, "UNKNOWN EVENT") != 0)
			assert_string_equal(rdma_event_str(
						    (enum rdma_cm_event_type)i),
					    name);
	}
	dlclose(library);
}

static void strings__of_later_events(void **state)
{
	static const char *const names[] = {
		"RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		"RDMA_CM_EVENT_ADDRINFO_ERROR",
		"RDMA_CM_EVENT_USER",
		"RDMA_CM_EVENT_INTERNAL",
		"UNKNOWN EVENT",
	};

	for (int i = 0; i < 5; i++)
		assert_string_equal(rdma_event_str(
					    (enum rdma_cm_event_type)(16 + i)),
				    names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings__as_the_installed_library),
		cmocka_unit_test(strings__of_later_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
