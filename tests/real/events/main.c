/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/events/events.h"

#define NB_TESTS_MAX 64

int main(void)
{
	static const struct CMUnitTest *const lists[] = {
		events_channel, events_arming, events_acks,
		events_busy,    events_causes, events_order,
		events_remains, events_wq,     events_examples,
	};
	struct CMUnitTest events[NB_TESTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct CMUnitTest *t = lists[i]; t->name; t++)
			events[n++] = *t;
	return _cmocka_run_group_tests("events", events, n, NULL, NULL);
}
