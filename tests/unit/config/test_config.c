/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/addr.h"
#include "tests/unit/config/resolve_world.h"
#include "tests/unit/config/temp_file.h"

static void write_file(const char *text)
{
	temp_file_write_bytes(text, strlen(text));
}

/* With the test's file or without, and with what give() gave. */
static int resolve(bool file, char *const *envp)
{
	return roost_config_resolve(&c, file ? temp_path : NULL, envp, &options,
				    err);
}

static void assert_ip(const struct roost_port_config *p, unsigned int i,
		      const char *expected)
{
	char text[ROOST_PREFIX_STRLEN];

	assert_in_range(i, 0, p->ips.nb - 1);
	assert_string_equal(roost_prefix_format(&p->ips.v[i], text), expected);
}

static void resolve__nothing_is_the_default_service(void **state)
{
	assert_int_equal(roost_config_resolve(&c, NULL, NOTHING, NULL, err), 0);
	assert_int_equal(c.nb_ports, 1);
	assert_string_equal(c.ports[0].service, "default");
	assert_string_equal(c.ports[0].link, "");
	assert_string_equal(c.ports[0].devargs, "");
	assert_int_equal(c.ports[0].ips.nb, 0);
	assert_int_equal(c.ports[0].mtu_bytes, 0);
	assert_int_equal(c.progress, ROOST_PROGRESS_ADAPTIVE);
	assert_false(c.verbose);
	assert_false(c.debug_no_icrc);
}

static void resolve__environment_wins_over_file(void **state)
{
	write_file("[roost]\nprogress = dedicated\nverbose = 1\n");
	assert_int_equal(resolve(true, NOTHING), 0);
	assert_int_equal(c.progress, ROOST_PROGRESS_DEDICATED);
	assert_true(c.verbose);
	assert_int_equal(resolve(true, ENV("ROOST_PROGRESS=adaptive")), 0);
	assert_int_equal(c.progress, ROOST_PROGRESS_ADAPTIVE);
	assert_true(c.verbose);
}

static void resolve__options_win_over_both(void **state)
{
	write_file("[roost]\nprogress = adaptive\nverbose = 0\n");
	give(ROOST_KEY_PROGRESS, 0, "dedicated");
	assert_int_equal(resolve(true, ENV("ROOST_PROGRESS=adaptive",
					   "ROOST_VERBOSE=1")),
			 0);
	assert_int_equal(c.progress, ROOST_PROGRESS_DEDICATED);
	assert_true(c.verbose);
}

static void resolve__empty_variable_leaves_the_file(void **state)
{
	write_file("[roost]\nprogress = dedicated\n");
	assert_int_equal(resolve(true, ENV("ROOST_PROGRESS=")), 0);
	assert_int_equal(c.progress, ROOST_PROGRESS_DEDICATED);
}

static void resolve__config_variable_names_the_file(void **state)
{
	char variable[400];

	write_file("[port0]\nlink = from-file\n");
	snprintf(variable, sizeof(variable), "ROOST_CONFIG=%s", temp_path);
	assert_int_equal(resolve(false, ENV(variable)), 0);
	assert_string_equal(c.ports[0].link, "from-file");
}

static void resolve__path_wins_over_config_variable(void **state)
{
	write_file("[port0]\nlink = from-file\n");
	assert_int_equal(resolve(true, ENV("ROOST_CONFIG=/nowhere/x")), 0);
	assert_string_equal(c.ports[0].link, "from-file");
	assert_int_equal(resolve(false, ENV("ROOST_CONFIG=/nowhere/x")),
			 -ENOENT);
	assert_string_equal(err, "/nowhere/x: cannot be opened: No such file "
				 "or directory; check -c or ROOST_CONFIG");
}

static void resolve__a_named_port_brings_the_whole_list(void **state)
{
	write_file("[port0]\ndevargs = net_tap0\nip = 10.0.0.1/24\n"
		   "mtu = 1500\n[port1]\nlink = b\n");
	assert_int_equal(resolve(true, NOTHING), 0);
	assert_int_equal(c.nb_ports, 2);

	assert_int_equal(resolve(true, ENV("ROOST_PORT0_LINK=env")), 0);
	assert_int_equal(c.nb_ports, 1);
	assert_string_equal(c.ports[0].link, "env");
	assert_string_equal(c.ports[0].devargs, "");
	assert_int_equal(c.ports[0].ips.nb, 0);
	assert_int_equal(c.ports[0].mtu_bytes, 0);

	give(ROOST_KEY_DEVARGS, 0, "net_ring0");
	assert_int_equal(resolve(true, ENV("ROOST_PORT0_LINK=env",
					   "ROOST_PORT1_LINK=env1")),
			 0);
	assert_int_equal(c.nb_ports, 1);
	assert_string_equal(c.ports[0].devargs, "net_ring0");
	assert_string_equal(c.ports[0].link, "");
}

static void resolve__other_port_keys_change_ports_below(void **state)
{
	write_file("[port0]\ndevargs = net_tap0\n"
		   "ip = 10.0.0.1/24 10.0.1.1/24\nmtu = 1500\n"
		   "[port1]\nlink = b\n");
	assert_int_equal(resolve(true, ENV("ROOST_PORT0_IP=10.9.0.1/24",
					   "ROOST_PORT1_MTU=9000")),
			 0);
	assert_int_equal(c.nb_ports, 2);
	assert_string_equal(c.ports[0].devargs, "net_tap0");
	/* A list is replaced, not extended, by a later source. */
	assert_int_equal(c.ports[0].ips.nb, 1);
	assert_ip(&c.ports[0], 0, "10.9.0.1/24");
	assert_int_equal(c.ports[0].mtu_bytes, 1500);
	assert_string_equal(c.ports[1].link, "b");
	assert_int_equal(c.ports[1].mtu_bytes, 9000);
}

static void resolve__zero_mtu_takes_back_the_files(void **state)
{
	write_file("[port0]\nlink = a\nmtu = 1500\n");
	assert_int_equal(resolve(true, ENV("ROOST_PORT0_MTU=0")), 0);
	assert_int_equal(c.ports[0].mtu_bytes, 0);
}

static void resolve__default_service_takes_no_other_keys(void **state)
{
	assert_int_equal(resolve(false, ENV("ROOST_PORT0_IP=10.0.0.1/24")),
			 -EINVAL);
	assert_string_equal(err, "port0: ip: the daemon of a service "
				 "configures its port; leave it out");
}

static void resolve__lists_have_no_gaps(void **state)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	assert_int_equal(resolve(false, ENV("ROOST_PORT0_LINK=a",
					    "ROOST_PORT2_LINK=c")),
			 -EINVAL);
	assert_string_equal(err, "environment: port1 is missing: there is a "
				 "port2; number ports from 0 without a gap");
	write_file("[port1]\nlink = b\n");
	assert_int_equal(resolve(true, NOTHING), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s: port0 is missing: there is "
		 "a port1; number ports from 0 without a gap",
		 temp_path);
	assert_string_equal(err, expected);
}

static void resolve__every_port_of_a_list_is_named(void **state)
{
	assert_int_equal(resolve(false, ENV("ROOST_PORT0_LINK=a",
					    "ROOST_PORT1_MTU=1500")),
			 -EINVAL);
	assert_string_equal(err, "environment: port1 has no devargs, no link "
				 "and no service; add one of them");
}

static void resolve__keys_need_their_port(void **state)
{
	assert_int_equal(resolve(false, ENV("ROOST_PORT3_MTU=1500")), -EINVAL);
	assert_string_equal(err,
			    "environment: keys for port3: the last port "
			    "is port0; unset them, or give ROOST_PORT3_LINK "
			    "or ROOST_PORT3_DEVARGS");
}

static void resolve__wrong_key_in_each_source(void **state)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	write_file("[port0]\nlinc = a\n");
	assert_int_equal(resolve(true, NOTHING), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s:2: unknown key 'linc' in "
		 "[port0]; the nearest known one is 'link'",
		 temp_path);
	assert_string_equal(err, expected);
	/* It may be somebody else's. */
	assert_int_equal(resolve(false, ENV("ROOST_VERBOS=1")), 0);
	assert_int_equal(c.nb_unknown, 1);
	assert_string_equal(c.unknown[0],
			    "ROOST_VERBOS: unknown variable, without effect; "
			    "the nearest known one is ROOST_VERBOSE");
}

static void resolve__no_address_on_two_ports(void **state)
{
	give(ROOST_KEY_DEVARGS, 0, "net_tap0");
	give(ROOST_KEY_IP, 0, "10.0.0.1/24");
	give(ROOST_KEY_DEVARGS, 1, "net_tap1");
	give(ROOST_KEY_IP, 1, "10.0.1.1/24");
	give(ROOST_KEY_IP, 1, "10.0.0.1/16");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port1: address 10.0.0.1 is on port0 too; "
				 "give each port its own");
}

static void resolve__no_address_that_a_link_may_take(void **state)
{
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_DEVARGS, 1, "net_tap1");
	give(ROOST_KEY_IP, 1, "198.18.0.2/24");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port1: address 198.18.0.2 is on port0 too; "
				 "give each port its own");
}

static void resolve__no_twin_twice(void **state)
{
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_TWIN, 0, "tw0");
	give(ROOST_KEY_LINK, 1, "b");
	give(ROOST_KEY_LINK, 2, "c");
	give(ROOST_KEY_TWIN, 2, "tw1");
	assert_int_equal(resolve(false, NOTHING), 0);
	give(ROOST_KEY_TWIN, 1, "tw0");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port1: twin 'tw0' is port0's already; name "
				 "another");
}

static void resolve__no_users_of_a_link(void **state)
{
	give(ROOST_KEY_DEVARGS, 0, "net_memif0");
	give(ROOST_KEY_PEER_USERS, 0, "root");
	give(ROOST_KEY_LINK, 1, "b");
	assert_int_equal(resolve(false, NOTHING), 0);
	give(ROOST_KEY_PEER_USERS, 1, "root");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port1: peer_users: both ends of a link are "
				 "of one user; leave it out, or use net_memif "
				 "with a socket");
}

static void resolve__no_device_twice(void **state)
{
	give(ROOST_KEY_DEVARGS, 0, "0000:03:00.0,representor=0");
	give(ROOST_KEY_DEVARGS, 1, "0000:03:00.0,representor=1");
	assert_int_equal(resolve(false, NOTHING), 0);
	give(ROOST_KEY_DEVARGS, 2, "0000:03:00.0,representor=0");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port2: '0000:03:00.0,representor=0' is port0 "
				 "already; name another device");
}

static void resolve__both_ends_of_a_link_in_one_process(void **state)
{
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_LINK, 1, "a");
	assert_int_equal(resolve(false, NOTHING), 0);
}

static void resolve__gateway_is_reached(void **state)
{
	static const struct {
		const char *ip, *gw, *err;
	} rows[] = {
		{ "10.0.0.1/24", "10.0.0.254", NULL },
		{ "10.0.0.1/24 10.0.1.1/24", "10.0.1.254", NULL },
		{ "10.0.0.1/24", "10.0.1.254",
		  "port0: gateway 10.0.1.254 is on none of the port's subnets; "
		  "give an address or prefix length that reaches it" },
		{ "10.0.0.1/24", "10.0.0.1",
		  "port0: gateway 10.0.0.1 is the port's own address; name "
		  "another host" },
		{ "fd00::1/64", "fd00::2", NULL },
		{ "fd00::1/64", "fd01::2",
		  "port0: gateway fd01::2 is on none of the port's subnets; "
		  "give an address or prefix length that reaches it" },
		{ "fd00::1/64", "10.0.0.1",
		  "port0: gateway 10.0.0.1 is on none of the port's subnets; "
		  "give an address or prefix length that reaches it" },
		/* Link-local is on every link. */
		{ "10.0.0.1/24", "fe80::1", NULL },
		/* The addresses are the kernel's to give. */
		{ NULL, "10.0.0.1", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_config_init(&options);
		give(ROOST_KEY_DEVARGS, 0, "net_tap0");
		if (rows[i].ip)
			give(ROOST_KEY_IP, 0, rows[i].ip);
		give(ROOST_KEY_GW, 0, rows[i].gw);
		assert_int_equal(resolve(false, NOTHING),
				 rows[i].err ? -EINVAL : 0);
		if (rows[i].err)
			assert_string_equal(err, rows[i].err);
	}
}

static void resolve__gateway_on_a_link(void **state)
{
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_GW, 0, "198.18.0.2");
	assert_int_equal(resolve(false, NOTHING), 0);
	roost_config_init(&options);
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_GW, 0, "198.18.1.2");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err,
			    "port0: gateway 198.18.1.2 is on none of the "
			    "port's subnets; give an address or prefix length "
			    "that reaches it");
}

static void set__too_many_ports(void **state)
{
	assert_int_equal(roost_config_set(&options, "--link", ROOST_KEY_LINK,
					  ROOST_PORTS_MAX, "a", err),
			 -EINVAL);
	assert_string_equal(err, "--link: more than 16 ports; leave some out");
	assert_int_equal(options.nb_ports, 0);
}

static void set__wrong_value_changes_nothing(void **state)
{
	struct roost_config before;

	give(ROOST_KEY_LINK, 0, "a");
	before = options;
	assert_int_equal(roost_config_set(&options, "--mtu", ROOST_KEY_MTU, 1,
					  "x", err),
			 -EINVAL);
	assert_string_equal(err, "--mtu: 'x': not a number; give the IP MTU in "
				 "bytes");
	assert_int_equal(roost_config_set(&options, "--port", ROOST_KEY_DEVARGS,
					  0, "net_tap0", err),
			 -EINVAL);
	assert_memory_equal(&options, &before, sizeof(before));
}

static void link_ip__follows_the_order_of_links(void **state)
{
	char text[ROOST_PREFIX_STRLEN];
	struct roost_prefix ip;

	give(ROOST_KEY_DEVARGS, 0, "net_tap0");
	give(ROOST_KEY_LINK, 1, "a");
	give(ROOST_KEY_LINK, 2, "b");
	give(ROOST_KEY_LINK, 3, "a");
	give(ROOST_KEY_LINK, 4, "c");
	assert_int_equal(resolve(false, NOTHING), 0);
	ip = roost_config_link_ip(&c, 1, 0);
	assert_string_equal(roost_prefix_format(&ip, text), "198.18.0.1/24");
	ip = roost_config_link_ip(&c, 2, 1);
	assert_string_equal(roost_prefix_format(&ip, text), "198.18.1.2/24");
	ip = roost_config_link_ip(&c, 3, 1);
	assert_string_equal(roost_prefix_format(&ip, text), "198.18.0.2/24");
	ip = roost_config_link_ip(&c, 4, 0);
	assert_string_equal(roost_prefix_format(&ip, text), "198.18.2.1/24");
}

static void devices__second_ports_belong_to_the_one_before(void **state)
{
	unsigned int first;

	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_LINK, 1, "b");
	give(ROOST_KEY_SECOND, 1, "1");
	give(ROOST_KEY_LINK, 2, "c");
	give(ROOST_KEY_LINK, 3, "d");
	give(ROOST_KEY_SECOND, 3, "yes");
	give(ROOST_KEY_LINK, 4, "e");
	give(ROOST_KEY_SECOND, 4, "no");
	assert_int_equal(resolve(false, NOTHING), 0);
	assert_int_equal(roost_config_nb_devices(&c), 3);
	assert_int_equal(roost_config_device_ports(&c, 0, &first), 2);
	assert_int_equal(first, 0);
	assert_int_equal(roost_config_device_ports(&c, 1, &first), 2);
	assert_int_equal(first, 2);
	assert_int_equal(roost_config_device_ports(&c, 2, &first), 1);
	assert_int_equal(first, 4);
	assert_int_equal(roost_config_device_ports(&c, 3, &first), 0);
}

/* Without a name of its own it changes a port of the source below. */
static void devices__a_variable_joins_ports_of_the_file(void **state)
{
	write_file("[port0]\nlink = a\n[port1]\nlink = b\n");
	assert_int_equal(resolve(true, ENV("ROOST_PORT1_SECOND=1")), 0);
	assert_int_equal(roost_config_nb_devices(&c), 1);
	assert_int_equal(resolve(true, ENV("ROOST_PORT1_SECOND=0")), 0);
	assert_int_equal(roost_config_nb_devices(&c), 2);
}

static void devices__have_two_ports_at_most(void **state)
{
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_SECOND, 0, "1");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err, "port0: second: there is no port before it; "
				 "leave it out there");
	roost_config_init(&options);
	give(ROOST_KEY_LINK, 0, "a");
	give(ROOST_KEY_LINK, 1, "b");
	give(ROOST_KEY_SECOND, 1, "1");
	give(ROOST_KEY_LINK, 2, "c");
	give(ROOST_KEY_SECOND, 2, "1");
	assert_int_equal(resolve(false, NOTHING), -EINVAL);
	assert_string_equal(err,
			    "port2: second: port1 is the second of its device "
			    "already, and a device has two ports at most; "
			    "leave it out there");
}

static void load__reads_this_process(void **state)
{
	write_file("[port0]\nlink = from-file\nmtu = 1500\n");
	setenv("ROOST_CONFIG", temp_path, 1);
	setenv("ROOST_PORT0_MTU", "2000", 1);
	assert_int_equal(roost_config_load(&c, err), 0);
	assert_string_equal(c.ports[0].link, "from-file");
	assert_int_equal(c.ports[0].mtu_bytes, 2000);
	unsetenv("ROOST_CONFIG");
	unsetenv("ROOST_PORT0_MTU");
	assert_int_equal(roost_config_load(&c, err), 0);
	assert_string_equal(c.ports[0].service, "default");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(resolve__nothing_is_the_default_service,
				       setup),
		cmocka_unit_test_setup(resolve__environment_wins_over_file,
				       setup),
		cmocka_unit_test_setup(resolve__options_win_over_both, setup),
		cmocka_unit_test_setup(resolve__empty_variable_leaves_the_file,
				       setup),
		cmocka_unit_test_setup(resolve__config_variable_names_the_file,
				       setup),
		cmocka_unit_test_setup(resolve__path_wins_over_config_variable,
				       setup),
		cmocka_unit_test_setup(
			resolve__a_named_port_brings_the_whole_list, setup),
		cmocka_unit_test_setup(
			resolve__other_port_keys_change_ports_below, setup),
		cmocka_unit_test_setup(resolve__zero_mtu_takes_back_the_files,
				       setup),
		cmocka_unit_test_setup(
			resolve__default_service_takes_no_other_keys, setup),
		cmocka_unit_test_setup(resolve__lists_have_no_gaps, setup),
		cmocka_unit_test_setup(resolve__every_port_of_a_list_is_named,
				       setup),
		cmocka_unit_test_setup(resolve__keys_need_their_port, setup),
		cmocka_unit_test_setup(resolve__wrong_key_in_each_source,
				       setup),
		cmocka_unit_test_setup(resolve__no_address_on_two_ports, setup),
		cmocka_unit_test_setup(resolve__no_address_that_a_link_may_take,
				       setup),
		cmocka_unit_test_setup(resolve__no_twin_twice, setup),
		cmocka_unit_test_setup(resolve__no_users_of_a_link, setup),
		cmocka_unit_test_setup(resolve__no_device_twice, setup),
		cmocka_unit_test_setup(
			resolve__both_ends_of_a_link_in_one_process, setup),
		cmocka_unit_test_setup(resolve__gateway_is_reached, setup),
		cmocka_unit_test_setup(resolve__gateway_on_a_link, setup),
		cmocka_unit_test_setup(
			devices__second_ports_belong_to_the_one_before, setup),
		cmocka_unit_test_setup(
			devices__a_variable_joins_ports_of_the_file, setup),
		cmocka_unit_test_setup(devices__have_two_ports_at_most, setup),
		cmocka_unit_test_setup(set__too_many_ports, setup),
		cmocka_unit_test_setup(set__wrong_value_changes_nothing, setup),
		cmocka_unit_test_setup(link_ip__follows_the_order_of_links,
				       setup),
		cmocka_unit_test_setup(load__reads_this_process, setup),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
