/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/config/resolve_world.h"

static int resolve(char *const *envp)
{
	return roost_config_resolve(&c, NULL, envp, &options, err);
}

static void resolve__a_service_is_a_port(void **state)
{
	char label[ROOST_LABEL_MAX];

	give(ROOST_KEY_SERVICE, 0, "hub");
	give(ROOST_KEY_SERVICE, 1, "/run/roost.sock");
	give(ROOST_KEY_LINK, 2, "a");
	assert_int_equal(resolve(ENV("ROOST_PORT0_LINK=b")), 0);
	assert_int_equal(c.nb_ports, 3);
	assert_string_equal(c.ports[0].service, "hub");
	assert_string_equal(c.ports[0].link, "");
	roost_config_label(&c, 0, true, label);
	assert_string_equal(label, "hub");
	roost_config_label(&c, 1, true, label);
	assert_string_equal(label, "service \"/run/roost.sock\"");
	assert_int_equal(roost_config_shared_port(&c, 1), 1);
}

static void resolve__the_daemon_configures_a_service(void **state)
{
	static const struct {
		int key;
		const char *value, *err;
	} rows[] = {
		{ ROOST_KEY_IP, "10.0.0.1/24", "ip" },
		{ ROOST_KEY_GW, "10.0.0.1", "gw" },
		{ ROOST_KEY_MTU, "1500", "mtu" },
		{ ROOST_KEY_TWIN, "tw", "twin" },
		{ ROOST_KEY_SECOND, "1", "second" },
		{ ROOST_KEY_VLAN, "5", "vlan" },
		{ ROOST_KEY_PEER_USERS, "0", "peer_users" },
	};
	char expected[ROOST_CONFIG_ERR_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_config_init(&options);
		give(ROOST_KEY_LINK, 0, "a");
		give(ROOST_KEY_SERVICE, 1, "hub");
		give(rows[i].key, 1, rows[i].value);
		assert_int_equal(resolve(NOTHING), -EINVAL);
		snprintf(expected, sizeof(expected),
			 "port1: %s: the daemon of a service configures its "
			 "port; leave it out",
			 rows[i].err);
		assert_string_equal(err, expected);
	}
}

static void resolve__the_default_service_has_a_name(void **state)
{
	char label[ROOST_LABEL_MAX];

	give(ROOST_KEY_SERVICE, 0, "default");
	assert_int_equal(resolve(NOTHING), 0);
	assert_string_equal(c.ports[0].service, "default");
	roost_config_label(&c, 0, true, label);
	assert_string_equal(label, "default service");
}

static void resolve__a_service_is_one_port(void **state)
{
	give(ROOST_KEY_SERVICE, 0, "hub");
	give(ROOST_KEY_SERVICE, 1, "hub");
	assert_int_equal(resolve(NOTHING), -EINVAL);
	assert_string_equal(err, "port1: service 'hub' is port0 already; leave "
				 "one of them out");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(resolve__a_service_is_a_port, setup),
		cmocka_unit_test_setup(resolve__the_daemon_configures_a_service,
				       setup),
		cmocka_unit_test_setup(resolve__the_default_service_has_a_name,
				       setup),
		cmocka_unit_test_setup(resolve__a_service_is_one_port, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
