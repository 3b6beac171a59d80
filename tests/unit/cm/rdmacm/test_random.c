/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/rdmacm/random.h"
#include "tests/cmocka.h"

static unsigned int nb_asked;
static uint32_t next;

/* In the place of the C library's. */
ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	uint32_t *numbers = buf;

	nb_asked++;
	assert_true(len <= 256);
	for (size_t i = 0; i < len / sizeof(*numbers); i++)
		numbers[i] = ++next;
	return (ssize_t)len;
}

static void random__many_of_one_call(void **state)
{
	uint8_t seen[1001] = { 0 };

	for (unsigned int i = 0; i < 640; i++) {
		const uint32_t number = roost_rdmacm_random();

		assert_in_range(number, 1, 1000);
		assert_false(seen[number]++);
	}
	assert_int_equal(nb_asked, 10);
}

static void random__a_child_has_its_own(void **state)
{
	roost_rdmacm_random();
	nb_asked = 0;
	roost_rdmacm_random_forget();
	assert_true(roost_rdmacm_random() > next - 64);
	assert_int_equal(nb_asked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random__many_of_one_call),
		cmocka_unit_test(random__a_child_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
