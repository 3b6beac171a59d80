/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The file of a daemon, read again while it has clients. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/roostd/reload.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"
#include "tests/unit/config/temp_file.h"

#define PORT "[port0]\nlink = x\n"
/* The hub's address. */
#define OWN PORT "[policy own]\naddress = 198.18.0.1/24\n"

static struct client a;
static struct roostd_service service;

static int setup_reload(void **state)
{
	if (setup(state))
		return -1;
	roostd_service_init(&service);
	port.service = &service;
	return 0;
}

static int reload(const char *text)
{
	temp_file_write_bytes(text, strlen(text));
	return roostd_reload(temp_path, &service, &port);
}

static bool is_shared(void)
{
	const struct roost_lease_addr *addr =
		roost_lease_addr_find(port.lease, &port.facts.gids[1]);

	return addr && addr->owner == ROOST_CLIENT_NONE;
}

static void reload__limits_of_those_that_are_there(void **state)
{
	const struct roost_client_conf *conf;

	c_attach(&a);
	conf = &port.lease->clients[a.granted.client].conf;
	assert_int_equal(reload(PORT "[policy one]\nweight = 7\nqps = 64\n"),
			 0);
	assert_int_equal(conf->weight, 7);
	assert_int_equal(conf->max_qps, 64);
	assert_string_equal(port.by_slot[a.granted.client]->policy, "one");
	assert_int_equal(reload(PORT), 0);
	assert_int_equal(conf->weight, 1);
	assert_int_equal(port.nb_attached, 1);
	c_close(&a);
}

/* Nothing of a wrong file is taken, not even what stands before the error. */
static void reload__a_wrong_file_changes_nothing(void **state)
{
	struct roostd_service before;

	assert_int_equal(reload(PORT "[policy one]\nweight = 7\n"), 0);
	before = service;
	assert_true(reload(PORT "[policy two]\nweight = 9\nrate = fast\n") < 0);
	assert_memory_equal(&service, &before, sizeof(service));
	assert_true(reload("[policy two]\nweight = 9\n") < 0);
	assert_memory_equal(&service, &before, sizeof(service));
	unlink(temp_path);
	assert_true(roostd_reload(temp_path, &service, &port) < 0);
	assert_memory_equal(&service, &before, sizeof(service));
}

static void reload__socket_and_grace_are_for_the_next_start(void **state)
{
	assert_int_equal(reload("[service]\nsocket = /run/other\nmode = 0600\n"
				"group = 7\ngrace = 9\npatience = 60\n"
				"direct = no\n" PORT),
			 0);
	assert_string_equal(service.socket, "/run/roost/roostd.sock");
	assert_int_equal(service.mode, 0666);
	assert_int_equal(service.gid, UINT32_MAX);
	assert_int_equal(service.grace_ns, 2000000000u);
	assert_int_equal(service.patience_ns, 60000000000u);
	assert_false(service.direct);
}

static void reload__an_address_is_given_and_taken_back(void **state)
{
	assert_true(is_shared());
	assert_int_equal(reload(OWN), 0);
	assert_false(is_shared());
	c_attach(&a);
	assert_true(roost_gid_eq(&a.granted.own_gid, &port.facts.gids[1]));
	/* It is the client's until that ends, and shared then. */
	assert_int_equal(reload(PORT), 0);
	assert_false(is_shared());
	c_close(&a);
	assert_true(is_shared());
}

/* Whom it would be taken from goes on with it. */
static void reload__an_address_in_use_stays_shared(void **state)
{
	c_attach(&a);
	assert_int_equal(reload(OWN), 0);
	assert_true(is_shared());
	c_close(&a);
	assert_int_equal(reload(OWN), 0);
	assert_false(is_shared());
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_reload, teardown)
	const struct CMUnitTest tests[] = {
		TEST(reload__limits_of_those_that_are_there),
		TEST(reload__a_wrong_file_changes_nothing),
		TEST(reload__socket_and_grace_are_for_the_next_start),
		TEST(reload__an_address_is_given_and_taken_back),
		TEST(reload__an_address_in_use_stays_shared),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
