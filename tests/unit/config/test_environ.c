/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <roost/config.h>
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "lib/config/source.h"
#include "tests/cmocka.h"

#define VARIABLES_MAX 300

static struct roost_config source;
static char err[ROOST_CONFIG_ERR_MAX];

/* One variable alone, read as the environment. */
static int read_one(const char *assignment)
{
	char copy[256];
	char *envp[] = { copy, NULL };

	snprintf(copy, sizeof(copy), "%s", assignment);
	return roost_config_read_environ(&source, envp, err);
}

static void environ__reads_every_key(void **state)
{
	char *envp[] = {
		"PATH=/bin",
		"ROOST_PROGRESS=dedicated",
		"ROOST_VERBOSE=1",
		"ROOST_PORT0_DEVARGS=net_tap0,iface=a=b",
		"ROOST_PORT0_IP=10.0.0.1/24 10.0.1.1/24",
		"ROOST_PORT0_GW=10.0.0.254",
		"ROOST_PORT0_MTU=1500",
		"ROOST_PORT15_LINK=far",
		NULL,
	};

	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_int_equal(source.progress, ROOST_PROGRESS_DEDICATED);
	assert_true(source.verbose);
	assert_string_equal(source.ports[0].devargs, "net_tap0,iface=a=b");
	assert_int_equal(source.ports[0].ips.nb, 2);
	assert_false(roost_gid_is_zero(&source.ports[0].gw.v4));
	assert_int_equal(source.ports[0].mtu_bytes, 1500);
	assert_string_equal(source.ports[15].link, "far");
	assert_int_equal(source.nb_ports, 16);
}

static void environ__holds_nothing_else(void **state)
{
	char *envp[] = { "PATH=/bin",  "HOME=/root", "ROOSTER_X=1",
			 "xROOST_Y=1", "ROOST_",     NULL };
	static struct roost_config nothing;

	roost_config_init(&nothing);
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_memory_equal(&source, &nothing, sizeof(source));
}

static void environ__empty_is_not_set(void **state)
{
	char *envp[] = { "ROOST_PROGRESS=", "ROOST_PORT3_LINK=",
			 "ROOST_CONFIG=", "ROOST_NONSENSE=", NULL };
	static struct roost_config nothing;

	roost_config_init(&nothing);
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_memory_equal(&source, &nothing, sizeof(source));
	assert_null(roost_config_environ_path(envp));
}

static void environ__other_peoples_names_are_left_alone(void **state)
{
	static const char *const others[] = {
		"ROOST_CONFIG=/x", "ROOST_TEST=1",        "ROOST_TEST_SEED=1",
		"ROOST_HOME=/opt", "ROOST_BUILD_DIR=/b",  "ROOST_VERSION=1",
		"ROOST_CI=1",      "ROOST_BENCH_PAIRS=7",
	};
	static struct roost_config nothing;

	roost_config_init(&nothing);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(read_one(others[i]), 0);
		assert_memory_equal(&source, &nothing, sizeof(source));
	}
}

static void environ__unknown_is_told_and_names_the_nearest(void **state)
{
	static const struct {
		const char *name, *nearest; /* NULL: none */
	} rows[] = {
		{ "ROOST_PROGRES", "ROOST_PROGRESS" },
		{ "ROOST_CONFIGS", "ROOST_CONFIG" },
		{ "ROOST_progress", "ROOST_PROGRESS" },
		{ "ROOST_PORT7_LNIK", "ROOST_PORT7_LINK" },
		{ "ROOST_PORT_MTU", "ROOST_PORT0_MTU" },
		{ "ROOST_PORT00_MTU", "ROOST_PORT0_MTU" },
		{ "ROOST_PORT16_MTU", "ROOST_PORT15_MTU" },
		{ "ROOST_PORT160_MTU", "ROOST_PORT15_MTU" },
		{ "ROOST_PORT-1_MTU", "ROOST_PORT15_MTU" },
		/* A key of a port without the port. */
		{ "ROOST_LINK", "ROOST_PORT0_LINK" },
		{ "ROOST_DEVARG", "ROOST_PORT0_DEVARGS" },
		{ "ROOST_IP", "ROOST_PORT0_IP" },
		{ "ROOST_TESTER", NULL },
		{ "ROOST_COLOUR_DEPTH", NULL },
	};
	char line[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(line, sizeof(line), "%s=1", rows[i].name);
		assert_int_equal(read_one(line), 0);
		snprintf(line, sizeof(line),
			 "%s: unknown variable, without effect; %s%s",
			 rows[i].name,
			 rows[i].nearest
				 ? "the nearest known one is "
				 : "see roost.conf(5) for those there are",
			 rows[i].nearest ? rows[i].nearest : "");
		assert_int_equal(source.nb_unknown, 1);
		assert_string_equal(source.unknown[0], line);
		assert_string_equal(source.told, rows[i].name);
	}
}

/* The rest has its effect; of many, a few are told of. */
static void environ__unknown_stops_nothing(void **state)
{
	char *envp[] = { "ROOST_A1=1", "ROOST_B2=1", "ROOST_PROGRESS=dedicated",
			 "ROOST_C3=1", "ROOST_D4=1", "ROOST_E5=1",
			 "ROOST_F6=1", NULL };

	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_int_equal(source.progress, ROOST_PROGRESS_DEDICATED);
	assert_int_equal(source.nb_unknown, ROOST_CONFIG_UNKNOWN_MAX);
	assert_int_equal(source.nb_unknown_more, 2);
	assert_string_equal(source.told, "ROOST_A1,ROOST_B2,ROOST_C3,ROOST_D4,"
					 "ROOST_E5,ROOST_F6");
}

/* Names without end, and a list of told ones that nobody of us wrote. */
static void environ__unknown_may_be_hostile(void **state)
{
	static char longest[5000], told[5000];
	char *envp[] = { longest, told, "ROOST_A1=1", "ROOST_B2=1", NULL };

	memset(longest, 'X', sizeof(longest) - 1);
	memcpy(longest, "ROOST_", 6);
	strcpy(longest + sizeof(longest) - 3, "=1");
	memset(told, ',', sizeof(told) - 1);
	memcpy(told, "ROOST_TOLD=", 11);
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_int_equal(source.nb_unknown, 3);
	strcpy(told, "ROOST_TOLD=,,ROOST_B2,ROOST_A,\n,");
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_int_equal(source.nb_unknown, 2);
}

static void environ__wrong_value_names_its_variable(void **state)
{
	assert_int_equal(read_one("ROOST_PORT2_MTU=1"), -EINVAL);
	assert_string_equal(err, "ROOST_PORT2_MTU: '1': MTU out of range; use "
				 "576 to 9978, or 0 for the port's own");
}

static void environ__a_port_is_one_thing(void **state)
{
	char *envp[] = { "ROOST_PORT0_LINK=a", "ROOST_PORT0_DEVARGS=net_tap0",
			 NULL };
	char *other_way[] = { envp[1], envp[0], NULL };

	assert_int_equal(roost_config_read_environ(&source, envp, err),
			 -EINVAL);
	assert_string_equal(err, "ROOST_PORT0_DEVARGS: port0 has a link "
				 "already; keep one of the two");
	assert_int_equal(roost_config_read_environ(&source, other_way, err),
			 -EINVAL);
	assert_string_equal(err, "ROOST_PORT0_LINK: port0 has devargs "
				 "already; keep one of the two");
	other_way[1] = "ROOST_PORT0_SERVICE=hub";
	assert_int_equal(roost_config_read_environ(&source, other_way, err),
			 -EINVAL);
	assert_string_equal(err, "ROOST_PORT0_SERVICE: port0 has devargs "
				 "already; keep one of the two");
	other_way[0] = "ROOST_PORT0_SERVICE=hub";
	other_way[1] = "ROOST_PORT0_LINK=a";
	assert_int_equal(roost_config_read_environ(&source, other_way, err),
			 -EINVAL);
	assert_string_equal(err, "ROOST_PORT0_LINK: port0 has a service "
				 "already; keep one of the two");
}

static void environ__service_is_port_0(void **state)
{
	char *envp[] = { "ROOST_SERVICE=/run/a", NULL, NULL };

	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_int_equal(source.nb_ports, 1);
	assert_int_equal(source.nb_unknown, 0);
	assert_string_equal(source.ports[0].service, "/run/a");
	/* A port that is named wins. */
	envp[1] = "ROOST_PORT0_LINK=a";
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_string_equal(source.ports[0].service, "");
	assert_string_equal(source.ports[0].link, "a");
	envp[1] = "ROOST_PORT0_MTU=1500";
	assert_int_equal(roost_config_read_environ(&source, envp, err), 0);
	assert_string_equal(source.ports[0].service, "/run/a");
	envp[0] = "ROOST_SERVICE=run/a";
	assert_int_equal(roost_config_read_environ(&source, envp, err),
			 -EINVAL);
	assert_string_equal(err, "ROOST_SERVICE: 'run/a': not a service; use "
				 "hub, default, or the absolute path of a "
				 "daemon's socket");
}

static void environ__path_is_configs(void **state)
{
	char *envp[] = { "ROOST_CONFIGS=/no", "ROOST_CONFIG=/a=b.conf", NULL };

	assert_string_equal(roost_config_environ_path(envp), "/a=b.conf");
	assert_null(roost_config_environ_path(&envp[2]));
}

/* An environment as roost_config_export() makes it. */
struct exported {
	char text[VARIABLES_MAX][1200];
	char *envp[VARIABLES_MAX + 1];
	unsigned int nb_set, nb_unset;
};

static int keep(void *arg, const char *name, const char *value)
{
	struct exported *e = arg;

	if (!value) {
		e->nb_unset++;
		return 0;
	}
	assert_in_range(e->nb_set, 0, VARIABLES_MAX - 1);
	snprintf(e->text[e->nb_set], sizeof(e->text[0]), "%s=%s", name, value);
	e->envp[e->nb_set] = e->text[e->nb_set];
	e->nb_set++;
	e->envp[e->nb_set] = NULL;
	return 0;
}

static const char *exported_value(const struct exported *e, const char *name)
{
	size_t len = strlen(name);

	for (unsigned int i = 0; i < e->nb_set; i++)
		if (strncmp(e->text[i], name, len) == 0 &&
		    e->text[i][len] == '=')
			return e->text[i] + len + 1;
	return NULL;
}

static void export__reads_back_the_same(void **state)
{
	static struct exported e;
	static struct roost_config c, again;
	char *envp[] = {
		"ROOST_PROGRESS=dedicated",
		"ROOST_WORKERS=4",
		"ROOST_VERBOSE=0",
		"ROOST_PORT0_DEVARGS=net_af_packet0,iface=veth0",
		"ROOST_PORT0_IP=10.0.0.1/24,fd00::1/64",
		"ROOST_PORT0_GW=10.0.0.254 fd00::fe",
		"ROOST_PORT0_MTU=0",
		"ROOST_PORT1_LINK=cable",
		"ROOST_PORT1_MTU=9000",
		"ROOST_PORT1_SECOND=1",
		NULL,
	};

	assert_int_equal(roost_config_resolve(&c, NULL, envp, NULL, err), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(roost_config_export(&c, keep, &e), 0);
	assert_string_equal(exported_value(&e, "ROOST_PORT0_IP"),
			    "10.0.0.1/24,fd00::1/64");
	assert_string_equal(exported_value(&e, "ROOST_PORT0_GW"),
			    "10.0.0.254,fd00::fe");
	assert_string_equal(exported_value(&e, "ROOST_VERBOSE"), "0");
	assert_int_equal(e.nb_set, 10);
	assert_int_equal(roost_config_resolve(&again, NULL, e.envp, NULL, err),
			 0);
	assert_memory_equal(&again, &c, sizeof(c));
}

static void export__default_is_said(void **state)
{
	static struct exported e;
	static struct roost_config c, again;
	char *envp[] = { NULL };

	assert_int_equal(roost_config_resolve(&c, NULL, envp, NULL, err), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(roost_config_export(&c, keep, &e), 0);
	assert_int_equal(e.nb_set, 1);
	assert_string_equal(e.text[0], "ROOST_PORT0_SERVICE=default");
	assert_int_equal(roost_config_resolve(&again, NULL, e.envp, NULL, err),
			 0);
	assert_memory_equal(&again, &c, sizeof(c));
}

/* Who is told once, by the launcher, is not told again by its program. */
static void export__unknown_is_told_once(void **state)
{
	static struct exported e;
	static struct roost_config c, again;
	char *envp[] = { "ROOST_PROGRES=1", "ROOST_LNIK=a", NULL };

	assert_int_equal(roost_config_resolve(&c, NULL, envp, NULL, err), 0);
	assert_int_equal(c.nb_unknown, 2);
	memset(&e, 0, sizeof(e));
	assert_int_equal(roost_config_export(&c, keep, &e), 0);
	assert_string_equal(exported_value(&e, "ROOST_TOLD"),
			    "ROOST_PROGRES,ROOST_LNIK");
	for (size_t i = 0; envp[i]; i++)
		e.envp[e.nb_set++] = envp[i];
	e.envp[e.nb_set++] = "ROOST_OTHER=1";
	e.envp[e.nb_set] = NULL;
	assert_int_equal(roost_config_resolve(&again, NULL, e.envp, NULL, err),
			 0);
	assert_int_equal(again.nb_unknown, 1);
	assert_non_null(strstr(again.unknown[0], "ROOST_OTHER: "));
	assert_string_equal(again.told, "ROOST_PROGRES,ROOST_LNIK,ROOST_OTHER");
}

static void export__names_every_variable(void **state)
{
	static struct exported e;
	static struct roost_config c;
	unsigned int process = 0;
	char *envp[] = { NULL };

	for (int i = 0; i < ROOST_KEYS; i++)
		process += roost_config_keys[i].scope == ROOST_SCOPE_PROCESS;
	assert_int_equal(roost_config_resolve(&c, NULL, envp, NULL, err), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(roost_config_export(&c, keep, &e), 0);
	/* ROOST_CONFIG, ROOST_SERVICE, ROOST_TOLD, the process's, and each
	 * port's.
	 */
	assert_int_equal(e.nb_set + e.nb_unset,
			 3 + process +
				 ROOST_PORTS_MAX * (ROOST_KEYS - process));
}

static int refuse(void *arg, const char *name, const char *value)
{
	unsigned int *calls = arg;

	(void)name;
	(void)value;
	return ++*calls == 3 ? -ENOMEM : 0;
}

static void export__stops_at_the_first_failure(void **state)
{
	static struct roost_config c;
	unsigned int calls = 0;
	char *envp[] = { NULL };

	assert_int_equal(roost_config_resolve(&c, NULL, envp, NULL, err), 0);
	assert_int_equal(roost_config_export(&c, refuse, &calls), -ENOMEM);
	assert_int_equal(calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environ__reads_every_key),
		cmocka_unit_test(environ__holds_nothing_else),
		cmocka_unit_test(environ__empty_is_not_set),
		cmocka_unit_test(environ__other_peoples_names_are_left_alone),
		cmocka_unit_test(
			environ__unknown_is_told_and_names_the_nearest),
		cmocka_unit_test(environ__unknown_stops_nothing),
		cmocka_unit_test(environ__unknown_may_be_hostile),
		cmocka_unit_test(environ__wrong_value_names_its_variable),
		cmocka_unit_test(environ__a_port_is_one_thing),
		cmocka_unit_test(environ__service_is_port_0),
		cmocka_unit_test(environ__path_is_configs),
		cmocka_unit_test(export__reads_back_the_same),
		cmocka_unit_test(export__default_is_said),
		cmocka_unit_test(export__unknown_is_told_once),
		cmocka_unit_test(export__names_every_variable),
		cmocka_unit_test(export__stops_at_the_first_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
