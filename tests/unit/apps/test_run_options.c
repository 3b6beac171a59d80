/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/run_options.h"
#include "lib/config/key.h"
#include "tests/cmocka.h"
#include <roost/qos.h>

#define WORDS(...) ((char *[]){ __VA_ARGS__, NULL })

static struct roost_run_options o;
static char err[ROOST_CONFIG_ERR_MAX];

static int parse(char **argv)
{
	return roost_run_options_parse(&o, argv, err);
}

static void parse__nothing_gives_nothing(void **state)
{
	static struct roost_config nothing;

	roost_qos_init(&nothing.qos);
	assert_int_equal(parse((char *[]){ NULL }), 0);
	assert_null(o.file);
	assert_false(o.print_env);
	assert_false(o.help);
	assert_null(*o.command);
	assert_memory_equal(&o.config, &nothing, sizeof(nothing));
}

static void parse__who_sees_the_devices(void **state)
{
	assert_int_equal(parse(WORDS("cmd")), 0);
	assert_int_equal(o.sysfs, ROOST_RUN_SYSFS_DEFAULT);
	assert_int_equal(parse(WORDS("--sysfs=none", "cmd")), 0);
	assert_int_equal(o.sysfs, ROOST_RUN_SYSFS_NONE);
	assert_int_equal(parse(WORDS("--sysfs", "preload", "cmd")), 0);
	assert_int_equal(o.sysfs, ROOST_RUN_SYSFS_PRELOAD);
	assert_int_equal(parse(WORDS("--sysfs=mount", "cmd")), 0);
	assert_int_equal(o.sysfs, ROOST_RUN_SYSFS_MOUNT);
	assert_int_equal(parse(WORDS("--sysfs=all", "cmd")), -EINVAL);
	assert_string_equal(err, "--sysfs: 'all': unknown; use preload, "
				 "mount or none");
}

static void parse__the_whole_usage_line(void **state)
{
	assert_int_equal(
		parse(WORDS("-c", "f.conf", "--port", "net_tap0,iface=x",
			    "--ip", "10.0.0.1/24", "--ip", "fd00::1/64", "--gw",
			    "10.0.0.254", "--mtu", "1500", "--twin", "tw0",
			    "--link", "cable", "--mtu", "9000", "--second",
			    "--progress", "dedicated", "-v", "--print-env",
			    "--", "cmd", "-v", "--", "--link")),
		0);
	assert_string_equal(o.file, "f.conf");
	assert_int_equal(o.config.nb_ports, 2);
	assert_string_equal(o.config.ports[0].devargs, "net_tap0,iface=x");
	assert_int_equal(o.config.ports[0].ips.nb, 2);
	assert_false(roost_gid_is_zero(&o.config.ports[0].gw.v4));
	assert_int_equal(o.config.ports[0].mtu_bytes, 1500);
	assert_string_equal(o.config.ports[0].twin, "tw0");
	assert_string_equal(o.config.ports[1].link, "cable");
	assert_int_equal(o.config.ports[1].mtu_bytes, 9000);
	assert_false(o.config.ports[0].second);
	assert_true(o.config.ports[1].second);
	assert_int_equal(o.config.progress, ROOST_PROGRESS_DEDICATED);
	assert_true(o.config.verbose);
	assert_true(o.print_env);
	assert_string_equal(o.command[0], "cmd");
	assert_string_equal(o.command[1], "-v");
	assert_string_equal(o.command[2], "--");
	assert_string_equal(o.command[3], "--link");
	assert_null(o.command[4]);
}

static void parse__first_word_starts_the_command(void **state)
{
	assert_int_equal(parse(WORDS("--link", "a", "cmd", "--link", "b")), 0);
	assert_string_equal(o.config.ports[0].link, "a");
	assert_int_equal(o.config.nb_ports, 1);
	assert_string_equal(o.command[0], "cmd");
	assert_string_equal(o.command[1], "--link");
	/* A dash alone is a word. */
	assert_int_equal(parse(WORDS("-", "-v")), 0);
	assert_string_equal(o.command[0], "-");
}

static void parse__value_in_the_same_word(void **state)
{
	assert_int_equal(parse(WORDS("--port=net_tap0,iface=a=b", "--mtu=1500",
				     "-cfile")),
			 0);
	assert_string_equal(o.config.ports[0].devargs, "net_tap0,iface=a=b");
	assert_int_equal(o.config.ports[0].mtu_bytes, 1500);
	assert_string_equal(o.file, "file");
	/* The only way for a name that begins with a dash. */
	assert_int_equal(parse(WORDS("--link=-x")), 0);
	assert_string_equal(o.config.ports[0].link, "-x");
}

static void parse__letters_in_one_word(void **state)
{
	assert_int_equal(parse(WORDS("-vc", "file", "cmd")), 0);
	assert_true(o.config.verbose);
	assert_string_equal(o.file, "file");
	assert_string_equal(o.command[0], "cmd");
	assert_int_equal(parse(WORDS("-vcfile")), 0);
	assert_string_equal(o.file, "file");
}

static void parse__long_names_of_letters(void **state)
{
	assert_int_equal(parse(WORDS("--verbose", "--config", "file")), 0);
	assert_true(o.config.verbose);
	assert_string_equal(o.file, "file");
}

static void parse__a_hub_is_a_service(void **state)
{
	assert_int_equal(parse(WORDS("--hub", "--service", "/run/a", "cmd")),
			 0);
	assert_int_equal(o.config.nb_ports, 2);
	assert_string_equal(o.config.ports[0].service, "hub");
	assert_string_equal(o.config.ports[1].service, "/run/a");
	assert_string_equal(o.command[0], "cmd");
	assert_int_equal(parse(WORDS("--hub=1")), -EINVAL);
	assert_int_equal(parse(WORDS("--hub", "--vlan", "1,2")), 0);
	assert_string_equal(o.config.ports[1].service, "hub");
}

static void parse__last_of_single_values_wins(void **state)
{
	assert_int_equal(parse(WORDS("--progress", "dedicated", "--progress",
				     "adaptive", "-c", "a", "-c", "b")),
			 0);
	assert_int_equal(o.config.progress, ROOST_PROGRESS_ADAPTIVE);
	assert_string_equal(o.file, "b");
}

static void parse__every_vlan_is_a_port(void **state)
{
	static const struct {
		const char *devargs, *link;
		unsigned int vlan_id, nb_ips;
	} ports[] = {
		{ "net_tap0", "", 0, 1 },   { "net_tap0", "", 100, 2 },
		{ "net_tap0", "", 200, 0 }, { "", "a", 7, 1 },
		{ "", "a", 100, 0 },        { "", "a", 0, 0 },
	};

	assert_int_equal(parse(WORDS("--port", "net_tap0", "--vlan", "0",
				     "--ip", "10.0.0.1/24", "--vlan", "100",
				     "--ip", "10.1.0.1/24", "--ip",
				     "fd00::1/64", "--vlan", "200", "--link",
				     "a", "--ip", "10.3.0.1/24", "--vlan",
				     "7,100", "--vlan", "0", "--mtu", "1500")),
			 0);
	assert_int_equal(o.config.nb_ports, sizeof(ports) / sizeof(ports[0]));
	for (unsigned int i = 0; i < o.config.nb_ports; i++) {
		const struct roost_port_config *p = &o.config.ports[i];

		assert_string_equal(p->devargs, ports[i].devargs);
		assert_string_equal(p->link, ports[i].link);
		assert_int_equal(p->vlan_id, ports[i].vlan_id);
		assert_int_equal(p->ips.nb, ports[i].nb_ips);
		assert_int_equal(p->mtu_bytes, i == 5 ? 1500 : 0);
	}
}

static void parse__help_ends_the_reading(void **state)
{
	assert_int_equal(parse(WORDS("-v", "--help", "--nonsense")), 0);
	assert_true(o.help);
	assert_int_equal(parse(WORDS("-h", "--nonsense")), 0);
	assert_true(o.help);
}

static void parse__wrong_vlans(void **state)
{
	static const struct {
		char *argv[8];
		const char *err;
	} rows[] = {
		{ { "--vlan", "5", "--link", "a" },
		  "--vlan: no --port or --link before it; put it behind the "
		  "port it belongs to" },
		{ { "--link", "a", "--vlan", "5,6", "--vlan", "5" },
		  "--vlan: 5 is given twice for one port; leave one out" },
		{ { "--link", "a", "--vlan", "5,,6" },
		  "--vlan: '': not a number; give a VLAN from 1 to 4094, or 0 "
		  "for none" },
		{ { "--link", "a", "--vlan", "4095" },
		  "--vlan: '4095': no VLAN has this number; use 1 to 4094, or "
		  "0 for none" },
		{ { "--link", "a", "--vlan",
		    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" },
		  "--vlan: more than 16 ports; leave some out" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[8];

		memcpy(argv, rows[i].argv, sizeof(argv));
		assert_int_equal(parse(argv), -EINVAL);
		assert_string_equal(err, rows[i].err);
	}
}

static void parse__every_error_in_one_line(void **state)
{
	static const struct {
		char *argv[8];
		const char *err;
	} rows[] = {
		{ { "--prot", "x" },
		  "--prot: unknown option; the nearest "
		  "known one is --port" },
		{ { "--links=x" },
		  "--links: unknown option; the nearest known "
		  "one is --link" },
		{ { "--print_env" },
		  "--print_env: unknown option; the nearest "
		  "known one is --print-env" },
		{ { "--gateway", "x" },
		  "--gateway: unknown option; the "
		  "nearest known one is --gw" },
		{ { "-x" }, "-x: unknown option; see roost run --help" },
		{ { "-vx" }, "-x: unknown option; see roost run --help" },
		{ { "--link" },
		  "--link: no value behind it; write --link "
		  "NAME" },
		{ { "--link", "--", "cmd" },
		  "--link: no value behind it; "
		  "write --link NAME" },
		{ { "--port", "-v" },
		  "--port: no value behind it; write "
		  "--port DEVARGS" },
		{ { "-c" }, "-c: no value behind it; write -c FILE" },
		{ { "--ip=" }, "--ip: empty value; write --ip ADDR/LEN" },
		{ { "-c", "" }, "-c: empty value; write -c FILE" },
		{ { "--print-env=1" },
		  "--print-env: takes no value; leave "
		  "out '=1'" },
		{ { "--ip", "10.0.0.1/24" },
		  "--ip: no --port or --link before it; put it behind the port "
		  "it belongs to" },
		{ { "--mtu", "1500", "--link", "a" },
		  "--mtu: no --port or --link before it; put it behind the "
		  "port it belongs to" },
		{ { "--link", "a", "--ip", "10.0.0.1/33" },
		  "--ip: '10.0.0.1/33': prefix length out of range; use 1 to "
		  "32" },
		{ { "--link", "a", "--ip", "10.0.0.1/24", "--ip",
		    "10.0.0.1/24" },
		  "--ip: '10.0.0.1/24': address given twice; leave one of them "
		  "out" },
		{ { "--link", "a", "--gw", "10.0.0.1", "--gw", "10.0.0.2" },
		  "--gw: '10.0.0.2': second IPv4 gateway of the port; keep "
		  "one" },
		{ { "--progress", "fast" },
		  "--progress: 'fast': not a progress mode; use adaptive or "
		  "dedicated" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[8];

		memcpy(argv, rows[i].argv, sizeof(argv));
		assert_int_equal(parse(argv), -EINVAL);
		assert_string_equal(err, rows[i].err);
	}
}

static void parse__too_many_ports(void **state)
{
	char *argv[2 * (ROOST_PORTS_MAX + 1) + 1] = { NULL };

	for (int i = 0; i <= ROOST_PORTS_MAX; i++) {
		argv[2 * i] = "--link";
		argv[2 * i + 1] = "a";
	}
	assert_int_equal(parse(argv), -EINVAL);
	assert_string_equal(err, "--link: more than 16 ports; leave some out");
	argv[2 * ROOST_PORTS_MAX] = NULL;
	assert_int_equal(parse(argv), 0);
	assert_int_equal(o.config.nb_ports, ROOST_PORTS_MAX);
}

static void describe__every_option_in_80_columns(void **state)
{
	static const char *const options[] = {
		"--port DEVARGS",
		"--link NAME",
		"--ip ADDR/LEN",
		"--gw ADDR",
		"--mtu N",
		"--progress dedicated|adaptive",
		"-v, --verbose",
		"-c, --config FILE",
		"--print-env",
		"-h, --help",
		"--debug-no-icrc",
		"--hub",
		"--service hub|PATH[,N]",
	};
	char *text = NULL, *line;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	roost_run_options_describe(f);
	assert_int_equal(fclose(f), 0);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		assert_non_null(strstr(text, options[i]));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_in_range(strlen(line), 1, 80);
	free(text);
}

/* All options of the table, each one once, in lines of a terminal. */
static void synopsis__has_every_option(void **state)
{
	char *text = NULL, *line;
	char word[64];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	roost_run_options_synopsis(f);
	assert_int_equal(fclose(f), 0);
	for (int i = 0; i < ROOST_KEYS; i++) {
		const struct roost_config_key_info *key = &roost_config_keys[i];
		const char letter[] = { '-', key->short_option, '\0' };

		if (!key->option)
			continue;
		snprintf(word, sizeof(word), "%s%s%s%s",
			 key->short_option ? "[" : "--",
			 key->short_option ? letter : key->option,
			 key->arg ? " " : "", key->arg ? key->arg : "");
		line = strstr(text, word);
		assert_non_null(line);
		assert_null(strstr(line + 1, word));
	}
	assert_non_null(strstr(text, "[-c FILE]"));
	assert_non_null(strstr(text, "[--print-env]"));
	assert_non_null(strstr(text, "[-h]"));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_in_range(strlen(line), 1, 80);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__nothing_gives_nothing),
		cmocka_unit_test(parse__who_sees_the_devices),
		cmocka_unit_test(parse__the_whole_usage_line),
		cmocka_unit_test(parse__first_word_starts_the_command),
		cmocka_unit_test(parse__value_in_the_same_word),
		cmocka_unit_test(parse__letters_in_one_word),
		cmocka_unit_test(parse__long_names_of_letters),
		cmocka_unit_test(parse__a_hub_is_a_service),
		cmocka_unit_test(parse__last_of_single_values_wins),
		cmocka_unit_test(parse__every_vlan_is_a_port),
		cmocka_unit_test(parse__help_ends_the_reading),
		cmocka_unit_test(parse__wrong_vlans),
		cmocka_unit_test(parse__every_error_in_one_line),
		cmocka_unit_test(parse__too_many_ports),
		cmocka_unit_test(describe__every_option_in_80_columns),
		cmocka_unit_test(synopsis__has_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
