/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/roostd/switch/claim.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"

#define PS ((uint64_t)ROOST_CM_PS_TCP << 16)

static struct roost_lease_state disk;

enum {
	ANY = ROOST_CM_FAMILY_ANY,
	V4 = ROOST_CM_FAMILY_IPV4,
	V6 = ROOST_CM_FAMILY_IPV6
};

/* Two claims of two clients on one number; what the second gets. */
static const struct {
	const char *name;
	struct roost_claim first, second;
	int ret;
} pairs[] = {
	{ "both any", { .family = ANY }, { .family = ANY }, -EADDRNOTAVAIL },
	{ "any, address",
	  { .family = ANY },
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  -EADDRNOTAVAIL },
	{ "address, any",
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  { .family = V4 },
	  -EADDRNOTAVAIL },
	{ "same address",
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  -EADDRINUSE },
	{ "two addresses",
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  { .family = V6, .addr = { { 0xfe, 0x80, [15] = 1 } } },
	  0 },
	{ "families alone",
	  { .family = V4, .afonly = true },
	  { .family = V6, .afonly = true },
	  0 },
	{ "one family alone",
	  { .family = V4, .afonly = true },
	  { .family = V6 },
	  -EADDRNOTAVAIL },
	{ "reuse",
	  { .family = V4, .reuseaddr = true },
	  { .family = V4, .reuseaddr = true },
	  0 },
	{ "reuse of one",
	  { .family = V4 },
	  { .family = V4, .reuseaddr = true },
	  -EADDRNOTAVAIL },
	{ "reuse does not share a listener",
	  { .family = V4, .reuseaddr = true },
	  { .family = V4, .reuseaddr = true, .listens = true },
	  -EADDRNOTAVAIL },
	{ "listeners",
	  { .family = ANY, .listens = true },
	  { .family = ANY, .listens = true },
	  -EADDRNOTAVAIL },
	{ "a listener at an IPv6 address",
	  { .family = ANY,
	    .listens = true,
	    .addr = { { 0xfe, 0x80, [15] = 1 } } },
	  { .family = V6, .addr = { { 0xfe, 0x80, [15] = 1 } } },
	  -EADDRINUSE },
	{ "a listener's number",
	  { .family = V4,
	    .listens = true,
	    .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  { .family = V4, .addr = { { [10] = 0xff, 0xff, 198, 18, 0, 1 } } },
	  -EADDRINUSE },
};

static void claim__rules_of_rdma_cm(void **state)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct roost_claim first = pairs[i].first;
		struct roost_claim second = pairs[i].second;
		struct roost_lease *lease;
		uint16_t a, b;

		fresh_state(&disk);
		lease = start_lease(&disk, 0);
		a = add_client(lease, 1000, 0);
		b = add_client(lease, 1001, 0);
		first.service_id = second.service_id = PS | 7471;
		assert_int_equal(roost_lease_claim(lease, a, &first, 0), 0);
		if (roost_lease_claim(lease, b, &second, 0) != pairs[i].ret)
			fail_msg("%s", pairs[i].name);
		/* Not another number, and not against oneself. */
		second.service_id++;
		assert_int_equal(roost_lease_claim(lease, b, &second, 0), 0);
		second.service_id--;
		if (pairs[i].ret) {
			assert_int_equal(roost_lease_claim(lease, a, &second,
							   0),
					 0);
			assert_int_equal(roost_lease_unclaim(lease, a, &second),
					 0);
		}
		assert_int_equal(roost_lease_unclaim(lease, a, &first), 0);
		assert_int_equal(roost_lease_unclaim(lease, a, &first),
				 -ENOENT);
		if (pairs[i].ret)
			assert_int_equal(roost_lease_claim(lease, b, &second,
							   0),
					 0);
		roost_lease_destroy(lease);
	}
}

static void claim__other_port_space_is_another_number(void **state)
{
	struct roost_claim claim = { .service_id = PS | 7471 };
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1001, 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	claim.service_id = (uint64_t)ROOST_CM_PS_UDP << 16 | 7471;
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), 0);
	roost_lease_destroy(lease);
}

static void claim__refusals(void **state)
{
	struct roost_client_conf conf = client_conf(1);
	struct roost_claim claim = { .service_id = PS | 1,
				     .family = V4,
				     .addr = gid_own };
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EACCES);
	conf.nb_gids = 1;
	conf.gids[0] = gid_own;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &b), 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EACCES);
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), 0);
	claim.family = V6;
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), -EINVAL);
	claim.family = V4;
	claim.addr = gid_v4;
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), -EACCES);
	for (unsigned int i = 0; i < conf.max_services; i++) {
		claim.service_id++;
		assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	}
	claim.service_id++;
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EDQUOT);
	roost_lease_unclaim_all(lease, a);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	roost_lease_destroy(lease);
}

static void claim__own_address_own_name_space(void **state)
{
	struct roost_client_conf conf = client_conf(1);
	struct roost_claim claim = { .service_id = PS | 7471, .listens = true };
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	conf.nb_gids = 1;
	conf.gids[0] = gid_own;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &b), 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), 0);
	assert_int_equal(roost_lease_listener(lease, claim.service_id,
					      roost_lease_addr_find(lease,
								    &gid_v4),
					      true),
			 a);
	assert_int_equal(roost_lease_listener(lease, claim.service_id,
					      roost_lease_addr_find(lease,
								    &gid_own),
					      true),
			 b);
	roost_lease_destroy(lease);
}

static void claim__a_free_port_number(void **state)
{
	struct roost_claim claim = { .service_id = PS }, other;
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1001, 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	assert_int_equal(claim.service_id & ~UINT64_C(0xffff), PS);
	assert_in_range(claim.service_id & 0xffff, 32768, 60999);
	other = claim;
	assert_int_equal(roost_lease_claim(lease, b, &other, 0),
			 -EADDRNOTAVAIL);
	roost_lease_destroy(lease);
}

/* All are taken: who asks again and again does not hold up the others. */
static void claim__no_free_port_number_costs_little(void **state)
{
	struct roost_claim claim = { .service_id = PS };
	struct roost_lease *lease;
	uint16_t a, b;
	clock_t from;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1001, 0);
	for (uint32_t i = 32768; i <= 60999; i++) {
		claim.service_id = PS | i;
		assert_int_equal(roost_lease_claim_enter(lease, a, &claim), 0);
	}
	claim.service_id = PS;
	from = clock();
	for (unsigned int i = 0; i < 300; i++)
		assert_int_equal(roost_lease_claim(lease, b, &claim, 0),
				 -EADDRNOTAVAIL);
	/* 1 ms for one, which is a hundred times what it costs. */
	assert_true(clock() - from < CLOCKS_PER_SEC * 3 / 10);
	/* Where some are free, one is found. */
	for (uint32_t i = 32768; i <= 60999; i += 16) {
		claim.service_id = PS | i;
		assert_int_equal(roost_lease_unclaim(lease, a, &claim), 0);
	}
	claim.service_id = PS;
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), 0);
	roost_lease_destroy(lease);
}

static void claim__again_is_a_count(void **state)
{
	struct roost_claim claim = { .service_id = PS | 7471 };
	const struct roost_claim_entry *entry;
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1001, 0);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EDQUOT);
	assert_int_equal(lease->clients[a].nb_services, 1);
	entry = LIST_FIRST(&lease->clients[a].claims);
	assert_non_null(entry);
	assert_null(LIST_NEXT(entry, of_client));
	/* As often as it was claimed. */
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(roost_lease_claim(lease, b, &claim, 0),
				 -EADDRNOTAVAIL);
		assert_int_equal(roost_lease_unclaim(lease, a, &claim), 0);
	}
	assert_int_equal(roost_lease_unclaim(lease, a, &claim), -ENOENT);
	assert_int_equal(lease->clients[a].nb_claims, 0);
	assert_int_equal(roost_lease_claim(lease, b, &claim, 0), 0);
	roost_lease_destroy(lease);
}

/* The limit is of numbers: bound, and listening, at each address. */
static void claim__limit_of_services(void **state)
{
	struct roost_client_conf conf = client_conf(1000);
	struct roost_claim claim = { .service_id = PS | 7471 };
	struct roost_lease *lease;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	conf.max_services = 1;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &a), 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	claim.listens = true;
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	claim.addr = gid_v4;
	claim.family = V4;
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	claim.service_id++;
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EDQUOT);
	claim = (struct roost_claim){ .service_id = PS };
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), -EDQUOT);
	roost_lease_unclaim_all(lease, a);
	assert_int_equal(lease->clients[a].nb_services, 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 0), 0);
	assert_int_equal(lease->clients[a].nb_services, 1);
	assert_int_equal(roost_lease_unclaim(lease, a, &claim), 0);
	assert_int_equal(lease->clients[a].nb_services, 0);
	roost_lease_destroy(lease);
}

static void listener__most_specific(void **state)
{
	struct roost_claim any = { .service_id = PS | 9, .listens = true };
	struct roost_claim v6 = any, addr = any;
	const struct roost_lease_addr *to_v4, *to_v6;
	struct roost_lease *lease;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	to_v4 = roost_lease_addr_find(lease, &gid_v4);
	to_v6 = roost_lease_addr_find(lease, &gid_v6);
	a = add_client(lease, 1000, 0);
	v6.family = V6;
	assert_int_equal(roost_lease_claim(lease, a, &v6, 0), 0);
	assert_int_equal(roost_lease_listener(lease, PS | 9, to_v6, true), a);
	assert_int_equal(roost_lease_listener(lease, PS | 9, to_v4, true),
			 ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_listener(lease, PS | 9, to_v6, false),
			 ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_claim(lease, a, &any, 0), 0);
	assert_int_equal(roost_lease_listener(lease, PS | 9, to_v4, false), a);
	assert_int_equal(roost_lease_listener(lease, PS | 8, to_v4, false),
			 ROOST_CLIENT_NONE);
	/* Bound is not listening. */
	addr.service_id = PS | 10;
	addr.listens = false;
	assert_int_equal(roost_lease_claim(lease, a, &addr, 0), 0);
	assert_int_equal(roost_lease_listener(lease, PS | 10, to_v4, true),
			 ROOST_CLIENT_NONE);
	roost_lease_destroy(lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim__rules_of_rdma_cm),
		cmocka_unit_test(claim__other_port_space_is_another_number),
		cmocka_unit_test(claim__refusals),
		cmocka_unit_test(claim__own_address_own_name_space),
		cmocka_unit_test(claim__a_free_port_number),
		cmocka_unit_test(claim__no_free_port_number_costs_little),
		cmocka_unit_test(claim__again_is_a_count),
		cmocka_unit_test(claim__limit_of_services),
		cmocka_unit_test(listener__most_specific),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
