/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "apps/roostd/policy.h"
#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/seen.h"
#include "tests/cmocka.h"
#include "tests/unit/config/temp_file.h"

#define PORT "[port0]\ndevargs = net_ring0\nip = 10.0.0.1/24\n"

static struct roostd_service service;
static struct roost_config ports;
static char err[ROOST_CONFIG_ERR_MAX];
static char refusal[ROOSTD_REFUSAL_MAX];

static int load(const char *text)
{
	temp_file_write_bytes(text, strlen(text));
	return roostd_service_load(temp_path, &ports, &service, err);
}

/* The error is the path and then this. */
static void assert_wrong(const char *text, const char *rest)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	snprintf(expected, sizeof(expected), "%s%s", temp_path, rest);
	assert_int_equal(load(text), -EINVAL);
	assert_string_equal(err, expected);
}

/* ---- the file ------------------------------------------------------------ */

static void policy__a_file_of_ports_alone_has_the_defaults(void **state)
{
	const struct roostd_user anybody = { .uid = 4711, .gid = 4711 };
	const struct roostd_policy *p;

	assert_int_equal(load(PORT), 0);
	assert_int_equal(ports.nb_ports, 1);
	assert_string_equal(ports.ports[0].devargs, "net_ring0");
	assert_string_equal(service.socket, "/run/roost/roostd.sock");
	assert_int_equal(service.mode, 0666);
	assert_int_equal(service.gid, UINT32_MAX);
	assert_string_equal(service.metrics, "");
	assert_int_equal(service.metrics_mode, 0660);
	assert_int_equal(service.metrics_gid, UINT32_MAX);
	assert_int_equal(service.patience_ns, 10000000000u);
	assert_int_equal(service.threads, 0);
	assert_true(service.direct);
	p = roostd_policy_find(&service, &anybody, refusal);
	assert_non_null(p);
	assert_string_equal(p->name, "");
	assert_int_equal(p->max_clients, UINT32_MAX);
	assert_int_equal(p->weight, 1);
}

static void policy__every_key_is_read(void **state)
{
	const struct roostd_policy *p = &service.policies[0];

	assert_int_equal(load("[service]\n"
			      "socket = /run/lab/roostd.sock\n"
			      "mode = 0660\n"
			      "group = 12\n"
			      "metrics = 127.0.0.1:9464\n"
			      "metrics_mode = 0600\n"
			      "metrics_group = 13\n"
			      "grace = 4\n"
			      "patience = 60\n"
			      "threads = 3\n"
			      "direct = no\n" PORT "[policy the lab]\n"
			      "users = root, 1001\n"
			      "users = 1002\n"
			      "groups = 7\n"
			      "clients = 4\n"
			      "qps = 128\n"
			      "connections = 100\n"
			      "half_open = 10\n"
			      "services = 9\n"
			      "memberships = 8\n"
			      "memory = 2M\n"
			      "rate = 10G\n"
			      "weight = 3\n"
			      "address = 10.0.0.7/24 10.0.0.8/24\n"
			      "direct = off\n"),
			 0);
	assert_string_equal(service.socket, "/run/lab/roostd.sock");
	assert_int_equal(service.mode, 0660);
	assert_int_equal(service.gid, 12);
	assert_string_equal(service.metrics, "127.0.0.1:9464");
	assert_int_equal(service.metrics_mode, 0600);
	assert_int_equal(service.metrics_gid, 13);
	assert_int_equal(service.grace_ns, 4000000000u);
	assert_int_equal(service.patience_ns, 60000000000u);
	assert_int_equal(service.threads, 3);
	assert_false(service.direct);
	assert_int_equal(service.nb_policies, 1);
	assert_string_equal(p->name, "the lab");
	assert_int_equal(p->users.nb, 3);
	assert_int_equal(p->users.v[0], 0);
	assert_int_equal(p->users.v[2], 1002);
	assert_int_equal(p->groups.nb, 1);
	assert_int_equal(p->max_clients, 4);
	assert_int_equal(p->max_qps, 128);
	assert_int_equal(p->max_conns, 100);
	assert_int_equal(p->max_half_open, 10);
	assert_int_equal(p->max_services, 9);
	assert_int_equal(p->max_memberships, 8);
	assert_int_equal(p->memory_bytes, 2 << 20);
	assert_int_equal(p->rate_bits_per_s, 10000000000u);
	assert_int_equal(p->weight, 3);
	assert_int_equal(p->addrs.nb, 2);
	assert_false(p->direct);
}

static void policy__errors_name_the_line(void **state)
{
	assert_wrong("[service]\nmetrics = 0.0.0.0:9464\n" PORT,
		     ":2: metrics: '0.0.0.0:9464': no place for metrics; give "
		     "the absolute path of a socket, or 127.0.0.1:PORT");
	assert_wrong(PORT "[policy a]\nrates = 1G\n",
		     ":5: unknown key 'rates'; the nearest known one is "
		     "'rate'");
	assert_wrong("[service]\nmodee = 0600\n",
		     ":2: unknown key 'modee'; the nearest known one is "
		     "'mode'");
	assert_wrong("[service]\nmode = 8\n",
		     ":2: mode: '8': not a mode; give octal digits, as in "
		     "0660");
	assert_wrong("[service]\nsocket = run/s\n",
		     ":2: socket: 'run/s': not a path for a socket; give an "
		     "absolute one of up to 107 bytes without commas");
	assert_wrong("[policy a]\nrate = 10Q\n",
		     ":2: rate: '10Q': not a rate; give bits per second from "
		     "8k to 1T, as in 500M or 10G, or 0 for any");
	assert_wrong("[policy a]\nmemory = 1K\n",
		     ":2: memory: '1K': not a size; give bytes from 512K, as "
		     "in 2M, or 0 for any");
	assert_wrong("[policy a]\nweight = 0\n",
		     ":2: weight: '0': no weight; use 1 to 1000");
	assert_wrong("[policy a]\nclients = -1\n",
		     ":2: clients: '-1': not a number; give how many");
	assert_wrong("[policy a]\nusers = no-such-user\n",
		     ":2: users: 'no-such-user': no such user; give the name "
		     "or the number of one");
	assert_wrong("[policy a]\ngroups = no-such-group\n",
		     ":2: groups: 'no-such-group': no such group; give the "
		     "name or the number of one");
	assert_wrong("[policy a]\nqps = 1\nqps = 2\n",
		     ":3: qps: given twice; keep one");
	assert_wrong("[policy a]\nqps =\n",
		     ":2: qps: no value; give one or leave the key out");
}

static void policy__errors_of_sections(void **state)
{
	assert_wrong("[policy]\nqps = 1\n",
		     ":1: a policy without a name; write [policy NAME]");
	assert_wrong("[policy a]\n[policy b]\n[policy  a]\n",
		     ":3: second section [policy a]; join the two");
	assert_wrong("[service]\n[policy a]\n[service]\n",
		     ":3: second section [service]; join the two");
	assert_wrong("[policy it's]\n",
		     ":1: the name of a policy has up to 31 characters and no "
		     "quotes; choose another one");
	assert_wrong("[services]\nmode = 0600\n",
		     ":1: unknown section [services]; sections are [roost], "
		     "[port0], [port1]");
	assert_wrong("[policy a]\naddress = 10.0.0.1/24\n"
		     "[policy b]\naddress = 10.0.0.2/24, 10.0.0.1/24\n",
		     ":4: address: another policy has one of them; leave it "
		     "out there or here");
	assert_wrong("[service]\n", ": no port; add a section [port0]");
	assert_wrong("[port0]\nservice = /run/x\n",
		     ": port0: service: a daemon shares ports of its own; "
		     "name devargs or a link");
}

static void policy__there_is_a_most(void **state)
{
	char text[4096] = PORT;

	for (unsigned int i = 0; i < ROOSTD_POLICIES_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "[policy %u]\nqps = 1\n", i);
	assert_int_equal(load(text), 0);
	assert_int_equal(service.nb_policies, ROOSTD_POLICIES_MAX);
	strcat(text, "[policy z]\n");
	assert_wrong(text, ":68: more than 32 policies; join some");
}

/* ---- whose is it --------------------------------------------------------- */

static const char *name_for(uint32_t uid, uint32_t gid, uint32_t group)
{
	const struct roostd_user user = {
		.uid = uid,
		.gid = gid,
		.groups = &group,
		.nb_groups = 1,
	};
	const struct roostd_policy *p =
		roostd_policy_find(&service, &user, refusal);

	return p ? p->name : NULL;
}

static void policy__the_first_that_fits_holds(void **state)
{
	assert_int_equal(load(PORT "[policy a]\nusers = 1001\n"
				   "[policy b]\nusers = 1002\ngroups = 50\n"
				   "[policy c]\ngroups = 60\n"),
			 0);
	assert_string_equal(name_for(1001, 60, 50), "a");
	assert_string_equal(name_for(1002, 1, 1), "b");
	assert_string_equal(name_for(7, 50, 60), "b");
	assert_string_equal(name_for(7, 7, 50), "b");
	assert_string_equal(name_for(7, 60, 7), "c");
	assert_string_equal(name_for(7, 7, 60), "c");
	assert_null(name_for(7, 7, 7));
	assert_string_equal(refusal,
			    "no policy is for user 7 or a group of the user's; "
			    "ask the administrator for one");
}

static void policy__one_without_users_is_for_everybody(void **state)
{
	assert_int_equal(load(PORT "[policy lab]\nusers = 1001\n"
				   "[policy rest]\nqps = 1\n"),
			 0);
	assert_string_equal(name_for(1001, 1, 1), "lab");
	assert_string_equal(name_for(65534, 65534, 65534), "rest");
}

/* ---- limits -------------------------------------------------------------- */

static void policy__qps_are_counted_as_they_are_leased(void **state)
{
	assert_int_equal(load(PORT "[policy a]\nqps = 65\n"), 0);
	assert_int_equal(service.policies[0].max_qps, 128);
}

static void policy__conf_of_a_client(void **state)
{
	struct roost_client_conf conf;

	assert_int_equal(load(PORT "[policy a]\nconnections = 10\n"
				   "half_open = 5\nrate = 8M\nweight = 7\n"
				   "services = 3\nmemberships = 2\n"),
			 0);
	conf = roostd_policy_conf(&service.policies[0], 1234);
	assert_int_equal(conf.uid, 1234);
	assert_int_equal(conf.max_conns, 10);
	assert_int_equal(conf.max_half_open, 5);
	assert_int_equal(conf.rate_bytes_per_s, 1000000);
	assert_int_equal(conf.weight, 7);
	assert_int_equal(conf.max_services, 3);
	assert_int_equal(conf.max_groups, 2);
	assert_int_equal(conf.nb_gids, 0);
	/* A thousand clients may come and go within a quarantine. */
	assert_in_range(conf.max_prefixes, 1, ROOST_LEASE_PREFIXES / 1024);
}

/* All that a client may have fits into its memory, whatever the bound is. */
static void policy__memory_bounds_all_that_is_held(void **state)
{
	struct roostd_policy p;

	assert_int_equal(load(PORT), 0);
	p = service.policies[0];
	for (p.memory_bytes = 512 << 10; p.memory_bytes < 256 << 20;
	     p.memory_bytes += p.memory_bytes / 3) {
		const struct roost_client_conf conf = roostd_policy_conf(&p, 1);
		const struct roost_shm_shape shape = roostd_policy_shape(&p);
		uint64_t held = roost_shm_shape_bytes(&shape);

		assert_true(shape.nb_slots >= 32);
		assert_int_equal(shape.nb_slots & (shape.nb_slots - 1), 0);
		assert_int_equal(shape.ring_len, shape.nb_slots);
		held += conf.max_conns * sizeof(struct roost_seen);
		held += conf.max_services * ROOST_CLAIMS_OF_SERVICE *
			sizeof(struct roost_claim_entry);
		held += conf.max_groups * sizeof(struct roost_group);
		assert_true(held <= p.memory_bytes);
		assert_true(conf.max_half_open <= conf.max_conns);
		/* And it is worth something. */
		assert_true(conf.max_conns >= 100 && conf.max_services >= 100);
	}
}

static void policy__refusals_name_the_rule(void **state)
{
	roostd_policy_refuse(refusal, "guests", ROOSTD_LIMIT_CLIENTS, 4, 1001);
	assert_string_equal(refusal, "policy 'guests' allows 4 clients of user "
				     "1001; end one of them");
	roostd_policy_refuse(refusal, "guests", ROOSTD_LIMIT_QPS, 64, 1001);
	assert_string_equal(refusal, "policy 'guests' allows 64 queue pairs a "
				     "client; use fewer");
	roostd_policy_refuse(refusal, "", ROOSTD_LIMIT_SERVICES, 64, 1001);
	assert_string_equal(refusal, "the default policy allows 64 services a "
				     "client; use fewer port numbers");
	roostd_policy_refuse(refusal, "guests", ROOSTD_LIMIT_ADDRS, 2, 1001);
	assert_string_equal(refusal,
			    "policy 'guests' allows 2 addresses, one a client; "
			    "end a client that has one");
	/* The longest one fits. */
	roostd_policy_refuse(refusal, "1234567890123456789012345678901",
			     ROOSTD_LIMIT_PREFIXES, UINT32_MAX, UINT32_MAX);
	assert_non_null(strstr(refusal, "; use fewer connections"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			policy__a_file_of_ports_alone_has_the_defaults),
		cmocka_unit_test(policy__every_key_is_read),
		cmocka_unit_test(policy__errors_name_the_line),
		cmocka_unit_test(policy__errors_of_sections),
		cmocka_unit_test(policy__there_is_a_most),
		cmocka_unit_test(policy__the_first_that_fits_holds),
		cmocka_unit_test(policy__one_without_users_is_for_everybody),
		cmocka_unit_test(policy__qps_are_counted_as_they_are_leased),
		cmocka_unit_test(policy__conf_of_a_client),
		cmocka_unit_test(policy__memory_bounds_all_that_is_held),
		cmocka_unit_test(policy__refusals_name_the_rule),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
