/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <roost/config.h>
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "tests/cmocka.h"

/* Big enough for the member of any row. */
union member {
	char bytes[sizeof(struct roost_port_config)];
	uint64_t align;
};

static void key__rows_are_complete(void **state)
{
	for (int i = 0; i < ROOST_KEYS; i++) {
		const struct roost_config_key_info *key = &roost_config_keys[i];

		assert_non_null(key->name);
		/* Those of priorities and of congestion have none. */
		assert_true(key->option || i >= ROOST_KEY_PEER_USERS);
		assert_non_null(key->help);
		assert_non_null(key->parse);
		assert_non_null(key->format);
		assert_true(key->size_bytes > 0);
		/* The environment's name is the same in upper case. */
		for (const char *s = key->name; *s; s++)
			assert_true(islower(*s) || isdigit(*s) || *s == '_');
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(key->name,
						roost_config_keys[j].name);
			if (!key->option)
				continue;
			assert_string_not_equal(key->option,
						roost_config_keys[j].option);
		}
	}
}

static void key__values_round_trip(void **state)
{
	static const struct {
		int key;
		const char *value, *formatted;
	} rows[] = {
		{ ROOST_KEY_PROGRESS, "adaptive", "adaptive" },
		{ ROOST_KEY_PROGRESS, "dedicated", "dedicated" },
		{ ROOST_KEY_VERBOSE, "Yes", "1" },
		{ ROOST_KEY_VERBOSE, "on", "1" },
		{ ROOST_KEY_VERBOSE, "true", "1" },
		{ ROOST_KEY_VERBOSE, "off", "0" },
		{ ROOST_KEY_WORKERS, "1", "1" },
		{ ROOST_KEY_WORKERS, "16", "16" },
		{ ROOST_KEY_VERBOSE, "FALSE", "0" },
		{ ROOST_KEY_VERBOSE, "no", "0" },
		{ ROOST_KEY_LOG, "warn", "warn" },
		{ ROOST_KEY_LOG, "error", "error" },
		{ ROOST_KEY_FAILURE_DIR, "/var/tmp", "/var/tmp" },
		{ ROOST_KEY_DEVARGS, "0000:03:00.0,representor=[0-3]",
		  "0000:03:00.0,representor=[0-3]" },
		{ ROOST_KEY_LINK, "A-z_0.9", "A-z_0.9" },
		{ ROOST_KEY_SERVICE, "hub", "hub" },
		{ ROOST_KEY_SERVICE, "/run/a b.sock", "/run/a b.sock" },
		{ ROOST_KEY_TWIN, "Tw-0_r.123456ab", "Tw-0_r.123456ab" },
		{ ROOST_KEY_IP, "10.0.0.1/24", "10.0.0.1/24" },
		{ ROOST_KEY_IP, " 10.0.0.1/24 fd00::1/64,\t10.0.1.1/8 ",
		  "10.0.0.1/24,fd00::1/64,10.0.1.1/8" },
		{ ROOST_KEY_GW, "fd00::1 10.0.0.1", "10.0.0.1,fd00::1" },
		{ ROOST_KEY_GW, "fd00::1", "fd00::1" },
		{ ROOST_KEY_MTU, "0", "0" },
		{ ROOST_KEY_MTU, "576", "576" },
		{ ROOST_KEY_MTU, "9978", "9978" },
		{ ROOST_KEY_VLAN, "0", "0" },
		{ ROOST_KEY_VLAN, "0100", "100" },
		{ ROOST_KEY_VLAN, "4094", "4094" },
		{ ROOST_KEY_PEER_USERS, "root", "0" },
		{ ROOST_KEY_MIN_TIME_BETWEEN_CNPS, "0", "0" },
		{ ROOST_KEY_MIN_TIME_BETWEEN_CNPS, "131071", "131071" },
		{ ROOST_KEY_CNP_DSCP, "63", "63" },
		{ ROOST_KEY_CNP_802P_PRIO, "7", "7" },
		{ ROOST_KEY_TRUST, "dscp", "dscp" },
		{ ROOST_KEY_TRUST, "pcp", "pcp" },
		{ ROOST_KEY_DEFAULT_ROCE_TOS, "255", "255" },
		/* What is not named stays. */
		{ ROOST_KEY_DSCP2PRIO, "26:3", "0-25:0,26:3,27-63:0" },
		{ ROOST_KEY_DSCP2PRIO, " 24-31:3, 63:7\t26:5",
		  "0-23:0,24-25:3,26:5,27-31:3,32-62:0,63:7" },
		{ ROOST_KEY_PRIO2PCP, "0-7:7", "0-7:7" },
		{ ROOST_KEY_PEER_USERS, "1000 root\t4294967294",
		  "1000,0,4294967294" },
	};
	char cause[ROOST_CONFIG_ERR_MAX], text[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roost_config_key_info *key =
			&roost_config_keys[rows[i].key];
		union member member = { 0 }, again = { 0 };

		assert_int_equal(key->parse(&member, rows[i].value, cause), 0);
		key->format(&member, text, sizeof(text));
		assert_string_equal(text, rows[i].formatted);
		assert_int_equal(key->parse(&again, text, cause), 0);
		assert_memory_equal(&member, &again, sizeof(member));
	}
}

static void key__wrong_vlan_says_why(void **state)
{
	static const struct {
		const char *value, *cause;
	} rows[] = {
		{ "100,200",
		  "'100,200': a port is on one VLAN; give each a port of its "
		  "own, with the same devargs or link" },
		{ "-1",
		  "'-1': not a number; give a VLAN from 1 to 4094, or 0 for "
		  "none" },
		{ "4095",
		  "'4095': no VLAN has this number; use 1 to 4094, or 0 for "
		  "none" },
		{ "4294967396",
		  "'4294967396': no VLAN has this number; use 1 to 4094, or 0 "
		  "for none" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	uint16_t vlan_id = 7;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_config_keys[ROOST_KEY_VLAN].parse(
					 &vlan_id, rows[i].value, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
		assert_int_equal(vlan_id, 7);
	}
}

static void key__wrong_ecn_says_why(void **state)
{
	static const struct {
		int key;
		const char *value, *cause;
	} rows[] = {
		{ ROOST_KEY_CNP_DSCP, "64",
		  "'64': out of range; use a number from 0 to 63" },
		{ ROOST_KEY_CNP_DSCP, "4294967298",
		  "'4294967298': out of range; use a number from 0 to 63" },
		{ ROOST_KEY_CNP_802P_PRIO, "-1",
		  "'-1': out of range; use a number from 0 to 7" },
		{ ROOST_KEY_RPG_GD, "9",
		  "'9': out of range; use a number from 10 to 11" },
		{ ROOST_KEY_RPG_MAX_RATE, "42949672960",
		  "'42949672960': out of range; use a number from 0 to "
		  "4000000" },
		{ ROOST_KEY_MIN_TIME_BETWEEN_CNPS, "4us",
		  "'4us': out of range; use a number from 0 to 131071" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	uint32_t number = 5;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_config_keys[rows[i].key].parse(
					 &number, rows[i].value, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
		assert_int_equal(number, 5);
	}
}

/* What is not set has its default. */
static void key__ecn_defaults(void **state)
{
	static struct roost_config c;
	char err[ROOST_CONFIG_ERR_MAX];
	struct roost_ecn ecn;

	roost_config_init(&c);
	roost_config_ecn(&c, &ecn);
	assert_int_equal(ecn.min_time_between_cnps, 4);
	assert_int_equal(ecn.cnp_dscp, 48);
	assert_int_equal(ecn.cnp_802p_prio, 6);
	assert_int_equal(roost_config_set(&c, "here", ROOST_KEY_CNP_DSCP, 0,
					  "0", err),
			 0);
	roost_config_ecn(&c, &ecn);
	assert_int_equal(ecn.cnp_dscp, 0);
	assert_int_equal(ecn.cnp_802p_prio, 6);
}

/* What no table names has its default, also where nothing was read. */
static void key__qos_defaults(void **state)
{
	static struct roost_config c;
	char err[ROOST_CONFIG_ERR_MAX];
	struct roost_qos qos, normal;

	roost_qos_init(&normal);
	memset(&c, 0, sizeof(c));
	roost_config_qos(&c, &qos);
	assert_memory_equal(&qos, &normal, sizeof(qos));
	assert_int_equal(qos.dscp2prio[26], 3);
	assert_int_equal(qos.dscp2prio[63], 7);
	roost_config_init(&c);
	assert_int_equal(roost_config_set(&c, "here", ROOST_KEY_DSCP2PRIO, 0,
					  "26:5", err),
			 0);
	roost_config_qos(&c, &qos);
	normal.dscp2prio[26] = 5;
	assert_memory_equal(&qos, &normal, sizeof(qos));
}

static void key__wrong_users_say_why(void **state)
{
	static const struct {
		const char *value, *cause;
	} rows[] = {
		{ ",", "no user; give one or leave it out" },
		{ "root no-such-user",
		  "'no-such-user': no such user; give the name or the number "
		  "of one" },
		{ "4294967295",
		  "'4294967295': no such user; give the name or the number of "
		  "one" },
		{ "99999999999999999999",
		  "'99999999999999999999': no such user; give the name or the "
		  "number of one" },
		{ "-1",
		  "'-1': no such user; give the name or the number of one" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_users users = { .nb = 1, .v = { 7 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_config_keys[ROOST_KEY_PEER_USERS].parse(
					 &users, rows[i].value, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
		assert_int_equal(users.nb, 1);
	}
}

static void key__wrong_qos_says_why(void **state)
{
	static const struct {
		int key;
		const char *value, *cause;
	} rows[] = {
		{ ROOST_KEY_TRUST, "DSCP",
		  "'DSCP': nothing that priorities come from; use dscp or "
		  "pcp" },
		{ ROOST_KEY_DEFAULT_ROCE_TOS, "256",
		  "'256': out of range; use a number from 0 to 255" },
		{ ROOST_KEY_DSCP2PRIO, ",",
		  "no entry of the table; give one or leave it out" },
#define DSCP_WRONG(entry)                                                      \
	{ ROOST_KEY_DSCP2PRIO, "1:1," entry,                                   \
	  "'" entry "': no entry of the table; use N:P or "                    \
	  "N-M:P, N and M from 0 to 63, P from 0 to 7" }
		DSCP_WRONG("64:1"),
		DSCP_WRONG("2:8"),
		DSCP_WRONG("3-2:1"),
		DSCP_WRONG("2"),
		DSCP_WRONG("2-:1"),
		DSCP_WRONG("4294967298:1"),
		DSCP_WRONG("2:1x"),
		{ ROOST_KEY_PRIO2PCP, "8:1",
		  "'8:1': no entry of the table; use N:P or N-M:P, N and M "
		  "from 0 to 7, P from 0 to 7" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union member member = { 0 };
		const union member untouched = { 0 };

		assert_int_equal(roost_config_keys[rows[i].key].parse(
					 &member, rows[i].value, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
		assert_memory_equal(&member, &untouched, sizeof(member));
	}
}

static void key__every_wrong_value_says_why(void **state)
{
	static const struct {
		int key;
		const char *value, *cause;
	} rows[] = {
		{ ROOST_KEY_PROGRESS, "dedicate",
		  "'dedicate': not a progress mode; use adaptive or "
		  "dedicated" },
		{ ROOST_KEY_WORKERS, "0",
		  "'0': not a number of workers; use 1 to 16" },
		{ ROOST_KEY_WORKERS, "17",
		  "'17': not a number of workers; use 1 to 16" },
		{ ROOST_KEY_WORKERS, "2x",
		  "'2x': not a number of workers; use 1 to 16" },
		{ ROOST_KEY_VERBOSE, "2",
		  "'2': neither yes nor no; use 1 or "
		  "0" },
		{ ROOST_KEY_DEVARGS, "net_tap0,iface=a b",
		  "'net_tap0,iface=a b': blank or unprintable character; DPDK "
		  "device arguments have none" },
		{ ROOST_KEY_DEVARGS, ",iface=a",
		  "',iface=a': no device name; begin with a PCI address or a "
		  "driver such as net_tap0" },
		{ ROOST_KEY_LINK, "",
		  "'': not a link name; use 1 to 48 "
		  "letters, digits, '.', '_' or '-'" },
		{ ROOST_KEY_LINK, "a/b",
		  "'a/b': not a link name; use 1 to 48 "
		  "letters, digits, '.', '_' or '-'" },
		{ ROOST_KEY_IP, " ,", "no address; give one or leave it out" },
		{ ROOST_KEY_IP, "10.0.0.1/24 10.0.0.1/8",
		  "'10.0.0.1/8': address given twice; leave one of them out" },
		{ ROOST_KEY_IP, "10.0.0.1/24 10.0.0.2",
		  "'10.0.0.2': no prefix length; write 10.0.0.2/24, or what "
		  "the subnet has" },
		{ ROOST_KEY_GW, "10.0.0.1/24",
		  "'10.0.0.1/24': a gateway is "
		  "one address; leave out the /" },
		{ ROOST_KEY_GW, "10.0.0.1 10.0.0.2",
		  "'10.0.0.2': second IPv4 gateway of the port; keep one" },
		{ ROOST_KEY_GW, "fd00::1,fd00::2",
		  "'fd00::2': second IPv6 gateway of the port; keep one" },
		{ ROOST_KEY_GW, "me",
		  "'me': not an IP address; write it like "
		  "198.18.0.1 or fd00::1" },
		{ ROOST_KEY_MTU, "1500B",
		  "'1500B': not a number; give the IP "
		  "MTU in bytes" },
		{ ROOST_KEY_MTU, "-1",
		  "'-1': not a number; give the IP MTU in "
		  "bytes" },
		{ ROOST_KEY_MTU, "575",
		  "'575': MTU out of range; use 576 to "
		  "9978, or 0 for the port's own" },
		{ ROOST_KEY_MTU, "9979",
		  "'9979': MTU out of range; use 576 to "
		  "9978, or 0 for the port's own" },
		{ ROOST_KEY_MTU, "4294968796",
		  "'4294968796': MTU out of range; use 576 to 9978, or 0 for "
		  "the port's own" },
	};
	char cause[ROOST_CONFIG_ERR_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roost_config_key_info *key =
			&roost_config_keys[rows[i].key];
		union member member = { 0 };
		const union member untouched = { 0 };

		assert_int_equal(key->parse(&member, rows[i].value, cause),
				 -EINVAL);
		assert_string_equal(cause, rows[i].cause);
		assert_memory_equal(&member, &untouched, sizeof(member));
	}
}

static void key__twin_is_an_interface(void **state)
{
	static const char *const wrong[] = {
		"", "sixteen-letters-", "tw%d", "a/b", "a b", "..", "all",
	};
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_TWIN];
	char cause[ROOST_CONFIG_ERR_MAX], expected[ROOST_CONFIG_ERR_MAX];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		union member member = { 0 };

		assert_int_equal(key->parse(&member, wrong[i], cause), -EINVAL);
		snprintf(expected, sizeof(expected),
			 "'%s': not a name for an interface; use 1 to 15 "
			 "letters, digits, '.', '_' or '-'",
			 wrong[i]);
		assert_string_equal(cause, expected);
		assert_string_equal(member.bytes, "");
	}
}

static void key__devargs_have_a_longest(void **state)
{
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_DEVARGS];
	char value[ROOST_DEVARGS_MAX + 1], cause[ROOST_CONFIG_ERR_MAX];
	char expected[ROOST_CONFIG_ERR_MAX];
	union member member = { 0 };

	memset(value, 'x', sizeof(value));
	value[ROOST_DEVARGS_MAX - 1] = '\0';
	assert_int_equal(key->parse(&member, value, cause), 0);
	assert_string_equal(member.bytes, value);
	value[ROOST_DEVARGS_MAX - 1] = 'x';
	value[ROOST_DEVARGS_MAX] = '\0';
	assert_int_equal(key->parse(&member, value, cause), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "'%.80s...': longer than 255 "
		 "characters; shorten it",
		 value);
	assert_string_equal(cause, expected);
}

static void key__link_name_has_a_longest(void **state)
{
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_LINK];
	char value[ROOST_LINK_NAME_MAX + 2] = { 0 };
	char cause[ROOST_CONFIG_ERR_MAX];
	union member member = { 0 };

	memset(value, 'l', ROOST_LINK_NAME_MAX);
	assert_int_equal(key->parse(&member, value, cause), 0);
	assert_string_equal(member.bytes, value);
	value[ROOST_LINK_NAME_MAX] = 'l';
	assert_int_equal(key->parse(&member, value, cause), -EINVAL);
}

static void key__service_is_hub_or_a_path(void **state)
{
	static const char *const wrong[] = { "", "Hub", "hub2", "run/x", "@x" };
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_SERVICE];
	char value[ROOST_SERVICE_MAX + 1] = { 0 };
	char cause[ROOST_CONFIG_ERR_MAX];
	union member member = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(key->parse(&member, wrong[i], cause), -EINVAL);
	memset(value, '/', ROOST_SERVICE_MAX - 1);
	assert_int_equal(key->parse(&member, value, cause), 0);
	assert_string_equal(member.bytes, value);
	value[ROOST_SERVICE_MAX - 1] = '/';
	assert_int_equal(key->parse(&member, value, cause), -EINVAL);
}

static void key__service_has_ports(void **state)
{
	static const struct {
		const char *value, *kept;
		unsigned int port;
		size_t path_bytes;
	} rows[] = {
		{ "/a", "/a", 0, 2 },           { "/a,0", "/a", 0, 2 },
		{ "/a,1", "/a,1", 1, 2 },       { "/a,15", "/a,15", 15, 2 },
		{ "/a,", "/a,", 0, 3 },         { "/a,1b", "/a,1b", 0, 5 },
		{ "/a,3,07", "/a,3,07", 7, 4 },
	};
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_SERVICE];
	char cause[ROOST_CONFIG_ERR_MAX];
	size_t path_bytes;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union member member = { 0 };

		assert_int_equal(key->parse(&member, rows[i].value, cause), 0);
		assert_string_equal(member.bytes, rows[i].kept);
		assert_int_equal(roost_config_service_port(member.bytes,
							   &path_bytes),
				 rows[i].port);
		assert_int_equal(path_bytes, rows[i].path_bytes);
		assert_int_equal(key->parse(&member, "/a,16", cause), -EINVAL);
		assert_int_equal(key->parse(&member, "/a,9999999999999", cause),
				 -EINVAL);
	}
}

static void key__addresses_have_a_most(void **state)
{
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_IP];
	char value[64], cause[ROOST_CONFIG_ERR_MAX];
	union member member = { 0 };

	for (int i = 1; i <= ROOST_PORT_IPS_MAX; i++) {
		snprintf(value, sizeof(value), "10.0.0.%d/24", i);
		assert_int_equal(key->parse(&member, value, cause), 0);
	}
	assert_int_equal(key->parse(&member, "10.0.0.99/24", cause), -EINVAL);
	assert_string_equal(cause, "'10.0.0.99/24': more than 16 addresses on "
				   "one port; leave some out");
}

static void key__longest_list_round_trips(void **state)
{
	const struct roost_config_key_info *key =
		&roost_config_keys[ROOST_KEY_IP];
	char value[64], cause[ROOST_CONFIG_ERR_MAX], text[1024];
	union member member = { 0 }, again = { 0 };

	for (int i = 0; i < ROOST_PORT_IPS_MAX; i++) {
		snprintf(value, sizeof(value),
			 "fd00:1111:2222:3333:4444:5555:"
			 "6666:77%x7/128",
			 i);
		assert_int_equal(key->parse(&member, value, cause), 0);
	}
	key->format(&member, text, sizeof(text));
	assert_int_equal(key->parse(&again, text, cause), 0);
	assert_memory_equal(&member, &again, sizeof(member));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key__rows_are_complete),
		cmocka_unit_test(key__values_round_trip),
		cmocka_unit_test(key__wrong_vlan_says_why),
		cmocka_unit_test(key__wrong_users_say_why),
		cmocka_unit_test(key__wrong_ecn_says_why),
		cmocka_unit_test(key__ecn_defaults),
		cmocka_unit_test(key__qos_defaults),
		cmocka_unit_test(key__wrong_qos_says_why),
		cmocka_unit_test(key__every_wrong_value_says_why),
		cmocka_unit_test(key__twin_is_an_interface),
		cmocka_unit_test(key__devargs_have_a_longest),
		cmocka_unit_test(key__link_name_has_a_longest),
		cmocka_unit_test(key__service_is_hub_or_a_path),
		cmocka_unit_test(key__service_has_ports),
		cmocka_unit_test(key__addresses_have_a_most),
		cmocka_unit_test(key__longest_list_round_trips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
