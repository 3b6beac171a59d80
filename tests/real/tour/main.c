/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/tour/tour.h"

#define NB_TESTS_MAX 64

int main(void)
{
	static const struct CMUnitTest *const lists[] = {
		tour_memory, tour_ops, tour_datagram_qps,
		tour_srq,    tour_cq,  tour_close,
	};
	struct CMUnitTest verbs_tour[NB_TESTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct CMUnitTest *t = lists[i]; t->name; t++)
			verbs_tour[n++] = *t;
	return _cmocka_run_group_tests("verbs-tour", verbs_tour, n, NULL, NULL);
}
