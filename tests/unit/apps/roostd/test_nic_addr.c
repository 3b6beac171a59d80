/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Addresses that a port loses, and has again. */

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/fake_uplink.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"

static struct client a;

static void lose(struct roost_gid *place)
{
	*place = (struct roost_gid){ 0 };
	fake_news();
	pump();
}

static void regain(struct roost_gid *place, const struct roost_gid *gid)
{
	*place = *gid;
	fake_news();
	pump();
}

static struct roostd_service *policy_with(const struct roost_gid *gid)
{
	static struct roostd_service service;

	roostd_service_init(&service);
	service.nb_policies = 1;
	service.policies[0].addrs.nb = 1;
	service.policies[0].addrs.v[0].gid = *gid;
	return &service;
}

static void nic__a_lost_address_is_nobodys(void **state)
{
	const struct roostd_service *const before = port.service;
	const struct roost_gid gid = fake.facts.gids[1];

	/* It was given to a policy while clients shared it. */
	port.service = policy_with(&gid);
	assert_non_null(roost_lease_addr_find(port.lease, &gid));
	lose(&fake.facts.gids[1]);
	assert_null(roost_lease_addr_find(port.lease, &gid));
	regain(&fake.facts.gids[1], &gid);
	assert_null(roost_lease_addr_find(port.lease, &gid));
	port.service = before;
}

static void nic__an_own_address_goes_and_comes(void **state)
{
	const struct roostd_service *const before = port.service;
	const struct roost_gid gid = fake.facts.gids[1];
	const struct roost_lease_addr *addr;

	port.service = policy_with(&gid);
	roost_lease_addr_del(port.lease, &gid);
	c_attach(&a);
	assert_true(roost_gid_eq(&a.granted.own_gid, &gid));
	lose(&fake.facts.gids[1]);
	assert_null(roost_lease_addr_find(port.lease, &gid));
	regain(&fake.facts.gids[1], &gid);
	addr = roost_lease_addr_find(port.lease, &gid);
	assert_non_null(addr);
	assert_int_equal(addr->owner, a.granted.client);
	/* It ends without it. */
	lose(&fake.facts.gids[1]);
	c_close(&a);
	assert_null(roost_lease_addr_find(port.lease, &gid));
	regain(&fake.facts.gids[1], &gid);
	port.service = before;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_nic, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nic__a_lost_address_is_nobodys),
		TEST(nic__an_own_address_goes_and_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
