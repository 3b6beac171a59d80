/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cm/rdmacm/ports.h"

static struct roost_rdmacm_claim claim(uint8_t last, bool any)
{
	const uint8_t v4[4] = { 198, 18, 0, last };

	return (struct roost_rdmacm_claim){
		.space = ROOST_RDMACM_PS_TCP,
		.family = AF_INET,
		.any = any,
		.addr = roost_gid_from_v4(v4),
		.afonly = true,
	};
}

static void ports__same_address_is_in_use(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), b = claim(1, false),
				  c = claim(2, false);

	(void)state;
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(a.port, 7000);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), -EADDRINUSE);
	assert_int_equal(b.port, 0);
	/* A bucket of the table is shared. */
	assert_int_equal(roost_rdmacm_port_take(&b, 7000 + 1024), 0);
	assert_int_equal(roost_rdmacm_port_take(&c, 7000), 0);
	roost_rdmacm_port_drop(&a);
	roost_rdmacm_port_drop(&b);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), 0);
	roost_rdmacm_port_drop(&b);
	roost_rdmacm_port_drop(&c);
	roost_rdmacm_port_drop(&c);
}

static void ports__wildcard_and_address_exclude_each_other(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), any = claim(0, true),
				  other = claim(0, true);

	(void)state;
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&any, 7000), -EADDRNOTAVAIL);
	roost_rdmacm_port_drop(&a);
	assert_int_equal(roost_rdmacm_port_take(&any, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), -EADDRNOTAVAIL);
	assert_int_equal(roost_rdmacm_port_take(&other, 7000), -EADDRNOTAVAIL);
	/* Another space is another world. */
	other.space = ROOST_RDMACM_PS_UDP;
	assert_int_equal(roost_rdmacm_port_take(&other, 7000), 0);
	roost_rdmacm_port_drop(&any);
	roost_rdmacm_port_drop(&other);
}

static void ports__families_meet_unless_both_keep_to_themselves(void **state)
{
	struct roost_rdmacm_claim v4 = claim(0, true), v6 = claim(0, true);

	(void)state;
	v6.family = AF_INET6;
	v6.afonly = false;
	assert_int_equal(roost_rdmacm_port_take(&v4, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&v6, 7000), -EADDRNOTAVAIL);
	v6.afonly = true;
	assert_int_equal(roost_rdmacm_port_take(&v6, 7000), 0);
	roost_rdmacm_port_drop(&v4);
	roost_rdmacm_port_drop(&v6);
}

static void ports__reuse_binds_and_does_not_listen(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), b = claim(1, false),
				  plain = claim(1, false);

	(void)state;
	a.reuseaddr = true;
	b.reuseaddr = true;
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(roost_rdmacm_port_alone(&a), 0);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), 0);
	assert_int_equal(roost_rdmacm_port_alone(&a), -EADDRINUSE);
	assert_int_equal(roost_rdmacm_port_take(&plain, 7000), -EADDRINUSE);
	roost_rdmacm_port_drop(&b);
	assert_int_equal(roost_rdmacm_port_alone(&a), 0);
	roost_rdmacm_port_drop(&a);
}

/* All of the range, each once; then there is none. */
static void ports__ephemeral_ports_are_all_different(void **state)
{
	enum {
		FIRST = 32768,
		NB = 28232
	};
	static struct roost_rdmacm_claim claims[NB], one_more;
	static bool seen[NB];

	(void)state;
	for (int i = 0; i < NB; i++) {
		claims[i] = claim(1, false);
		assert_int_equal(roost_rdmacm_port_take(&claims[i], 0), 0);
		assert_in_range(claims[i].port, FIRST, FIRST + NB - 1);
		assert_false(seen[claims[i].port - FIRST]);
		seen[claims[i].port - FIRST] = true;
	}
	one_more = claim(2, false);
	assert_int_equal(roost_rdmacm_port_take(&one_more, 0), -EADDRNOTAVAIL);
	for (int i = 0; i < NB; i++)
		roost_rdmacm_port_drop(&claims[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports__same_address_is_in_use),
		cmocka_unit_test(
			ports__wildcard_and_address_exclude_each_other),
		cmocka_unit_test(
			ports__families_meet_unless_both_keep_to_themselves),
		cmocka_unit_test(ports__reuse_binds_and_does_not_listen),
		cmocka_unit_test(ports__ephemeral_ports_are_all_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
