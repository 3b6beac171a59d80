/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "pmd_glue/host/route.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static struct roost_routes routes(void)
{
	return (struct roost_routes){
		.on_link = {
			.nb = 3,
			.v = {
				{ addr("10.1.2.3"), 24 },
				{ addr("10.9.0.1"), 30 },
				{ addr("fd00:1::5"), 60 },
			},
		},
		.gw = { .v4 = addr("10.1.2.254"), .v6 = addr("fe80::1") },
	};
}

static void check_hop(const struct roost_routes *r, const char *sgid,
		      const char *dgid, const char *want)
{
	struct roost_gid s = addr(sgid), d = addr(dgid), hop, w = addr(want);

	assert_int_equal(roost_route_next_hop(r, &s, &d, &hop), 0);
	assert_true(roost_gid_eq(&hop, &w));
}

static void check_no_hop(const struct roost_routes *r, const char *sgid,
			 const char *dgid)
{
	struct roost_gid s = addr(sgid), d = addr(dgid), hop;

	assert_int_equal(roost_route_next_hop(r, &s, &d, &hop), -EHOSTUNREACH);
}

static void route__same_subnet_is_direct(void **state)
{
	struct roost_routes r = routes();

	check_hop(&r, "10.1.2.3", "10.1.2.77", "10.1.2.77");
	check_hop(&r, "10.1.2.3", "10.9.0.2", "10.9.0.2");
	check_hop(&r, "fd00:1::5", "fd00:1:0:f::9", "fd00:1:0:f::9");
}

static void route__other_subnet_goes_to_the_gateway(void **state)
{
	struct roost_routes r = routes();

	check_hop(&r, "10.1.2.3", "10.1.3.1", "10.1.2.254");
	check_hop(&r, "10.1.2.3", "10.9.0.5", "10.1.2.254");
	check_hop(&r, "fd00:1::5", "fd00:1:0:10::9", "fe80::1");
}

static void route__link_local_is_direct(void **state)
{
	struct roost_routes r = routes();

	r.on_link.nb = 0;
	check_hop(&r, "fe80::5", "fe80::9", "fe80::9");
}

static void route__no_gateway_no_route(void **state)
{
	struct roost_routes r = routes();

	r.gw = (struct roost_gateways){ 0 };
	check_no_hop(&r, "10.1.2.3", "10.1.3.1");
	check_no_hop(&r, "fd00:1::5", "fd00:2::1");
	/* A gateway of one family serves only that one. */
	r.gw.v4 = addr("10.1.2.254");
	check_no_hop(&r, "fd00:1::5", "fd00:2::1");
	check_hop(&r, "10.1.2.3", "10.1.3.1", "10.1.2.254");
}

static void route__mixed_families_have_no_route(void **state)
{
	struct roost_routes r = routes();

	check_no_hop(&r, "fd00:1::5", "10.1.2.77");
	check_no_hop(&r, "10.1.2.3", "fd00:1::9");
}

static void route__groups_have_no_neighbour(void **state)
{
	struct roost_routes r = routes();

	check_no_hop(&r, "10.1.2.3", "224.0.0.1");
	check_no_hop(&r, "10.1.2.3", "255.255.255.255");
	check_no_hop(&r, "fd00:1::5", "ff02::1");
	check_no_hop(&r, "fd00:1::5", "::");
	check_no_hop(&r, "10.1.2.3", "127.0.0.1");
	check_no_hop(&r, "fd00:1::5", "::1");
}

/* The last address of each subnet of the port's, and of no other one. */
static void route__broadcasts_have_no_neighbour(void **state)
{
	struct roost_routes r = routes();

	check_no_hop(&r, "10.1.2.3", "10.1.2.255");
	check_no_hop(&r, "10.1.2.3", "10.9.0.3");
	check_hop(&r, "10.1.2.3", "10.1.3.255", "10.1.2.254");
	check_hop(&r, "10.1.2.3", "10.1.2.0", "10.1.2.0");
	r.on_link.v[1].len_bits = 31;
	check_hop(&r, "10.1.2.3", "10.9.0.1", "10.9.0.1");
	check_hop(&r, "fd00:1::5", "fd00:1::ffff", "fd00:1::ffff");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(route__same_subnet_is_direct),
		cmocka_unit_test(route__other_subnet_goes_to_the_gateway),
		cmocka_unit_test(route__link_local_is_direct),
		cmocka_unit_test(route__no_gateway_no_route),
		cmocka_unit_test(route__mixed_families_have_no_route),
		cmocka_unit_test(route__groups_have_no_neighbour),
		cmocka_unit_test(route__broadcasts_have_no_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
