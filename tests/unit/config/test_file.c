/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <roost/config.h>
#include "lib/config/resolve.h"
#include "lib/config/source.h"
#include "tests/cmocka.h"
#include "tests/unit/config/temp_file.h"

static struct roost_config source;
static char err[ROOST_CONFIG_ERR_MAX];

static int read_text(const char *text)
{
	temp_file_write_bytes(text, strlen(text));
	return roost_config_read_file(&source, temp_path, NULL, err);
}

/* The error is the path and then this. */
static void assert_err(const char *rest)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	snprintf(expected, sizeof(expected), "%s:%s", temp_path, rest);
	assert_string_equal(err, expected);
}

static void file__reads_every_key(void **state)
{
	assert_int_equal(read_text("[roost]\n"
				   "progress = dedicated\n"
				   "verbose = yes\n"
				   "debug_no_icrc = on\n"
				   "[port0]\n"
				   "devargs = net_tap0,iface=a\n"
				   "ip = 10.0.0.1/24\n"
				   "gw = 10.0.0.254\n"
				   "mtu = 1500\n"
				   "[port1]\n"
				   "link = cable\n"),
			 0);
	assert_int_equal(source.progress, ROOST_PROGRESS_DEDICATED);
	assert_true(source.verbose);
	assert_true(source.debug_no_icrc);
	assert_int_equal(source.nb_ports, 2);
	assert_string_equal(source.ports[0].devargs, "net_tap0,iface=a");
	assert_int_equal(source.ports[0].ips.nb, 1);
	assert_false(roost_gid_is_zero(&source.ports[0].gw.v4));
	assert_int_equal(source.ports[0].mtu_bytes, 1500);
	assert_string_equal(source.ports[1].link, "cable");
}

static void file__empty_gives_nothing(void **state)
{
	static struct roost_config nothing;

	roost_config_init(&nothing);
	assert_int_equal(read_text(""), 0);
	assert_memory_equal(&source, &nothing, sizeof(source));
	assert_int_equal(read_text("# only\n\n  ; comments = here\n[roost]\n"),
			 0);
	assert_memory_equal(&source, &nothing, sizeof(source));
}

static void file__blanks_comments_and_line_ends(void **state)
{
	assert_int_equal(read_text("; above = the first section\n"
				   "  [ port0 ]  # a port\r\n"
				   "\tlink=\tcable\t# behind a value\r\n"
				   "  ; mtu = 1\r\n"
				   "#mtu = 2\n"
				   "; [port1]\n"
				   "; not an entry\n"
				   "mtu = 3000"),
			 0);
	assert_int_equal(source.nb_ports, 1);
	assert_string_equal(source.ports[0].link, "cable");
	assert_int_equal(source.ports[0].mtu_bytes, 3000);
}

static void file__escaped_comment_character_is_itself(void **state)
{
	assert_int_equal(read_text("[port0]\ndevargs = net_x0,a=\\#1\n"), 0);
	assert_string_equal(source.ports[0].devargs, "net_x0,a=#1");
}

static void file__lists_add_up(void **state)
{
	assert_int_equal(read_text("[port0]\n"
				   "link = a\n"
				   "ip = 10.0.0.1/24 10.0.0.2/24\n"
				   "ip = fd00::1/64\n"
				   "gw = 10.0.0.3\n"
				   "gw = fd00::2\n"),
			 0);
	assert_int_equal(source.ports[0].ips.nb, 3);
	assert_false(roost_gid_is_zero(&source.ports[0].gw.v4));
	assert_false(roost_gid_is_zero(&source.ports[0].gw.v6));
}

static void file__sections_in_any_order(void **state)
{
	assert_int_equal(read_text("[port1]\nlink = b\n[port0]\nlink = a\n"
				   "[roost]\nverbose = 1\n"),
			 0);
	assert_int_equal(source.nb_ports, 2);
	assert_string_equal(source.ports[0].link, "a");
	assert_string_equal(source.ports[1].link, "b");
}

/* Those of roostd are no mistake, and not for a program that runs. */
static void file__the_daemons_sections_are_named(void **state)
{
	assert_int_equal(read_text("[service]\n"), -EINVAL);
	assert_err("1: [service] is for roostd, whose ports are its own; name "
		   "a file without it, or none to use its ports");
	assert_int_equal(read_text("[port0]\nlink = a\n[policy b]\n"), -EINVAL);
	assert_err("3: [policy b] is for roostd, whose ports are its own; name "
		   "a file without it, or none to use its ports");
}

static void file__many_entries_and_sections(void **state)
{
	char text[8192];
	size_t len = 0;

	for (int i = 0; i < ROOST_PORTS_MAX; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"[port%d]\nlink = l%d\n", i, i);
		for (int j = 1; j <= ROOST_PORT_IPS_MAX; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"ip = 10.0.%d.%d/24\n", i, j);
	}
	assert_int_equal(read_text(text), 0);
	assert_int_equal(source.nb_ports, ROOST_PORTS_MAX);
	for (int i = 0; i < ROOST_PORTS_MAX; i++)
		assert_int_equal(source.ports[i].ips.nb, ROOST_PORT_IPS_MAX);
}

static void file__every_error_names_its_line(void **state)
{
	static const struct {
		const char *text, *err;
	} rows[] = {
		{ "[port0]\nlnik = a\n",
		  "2: unknown key 'lnik' in [port0]; the nearest known one is "
		  "'link'" },
		{ "[roost]\n\n# x\nprogres = adaptive\n",
		  "4: unknown key 'progres' in [roost]; the nearest known one "
		  "is 'progress'" },
		{ "[port0]\nlink = a\nprogress = adaptive\n",
		  "3: key 'progress' does not belong in [port0]; put it in "
		  "[roost]" },
		{ "[roost]\nmtu = 1500\n",
		  "2: key 'mtu' does not belong in [roost]; put it in "
		  "[port0]" },
		{ "[prot0]\nlink = a\n",
		  "1: unknown section [prot0]; the nearest known one is "
		  "[port0]" },
		{ "[roots]\n",
		  "1: unknown section [roots]; the nearest known one is "
		  "[roost]" },
		{ "[port]\n",
		  "1: unknown section [port]; the nearest known one is "
		  "[port0]" },
		{ "[port03]\n",
		  "1: unknown section [port03]; the nearest known one is "
		  "[port3]" },
		{ "[port16]\n",
		  "1: unknown section [port16]; the nearest known one is "
		  "[port15]" },
		{ "[GLOBAL]\nlink = a\n",
		  "1: unknown section [GLOBAL]; sections are [roost], "
		  "[port0], [port1]" },
		{ "[roost]\ncolour_depth = 7\n",
		  "2: unknown key 'colour_depth' in [roost]; see roost.conf(5) "
		  "for the keys" },
		{ "[port0]\nlink = a\n[port0]\nmtu = 1500\n",
		  "3: second section [port0]; join the two" },
		{ "[port0]\nlink = a\nmtu = 1500\nmtu = 1500\n",
		  "4: mtu: given twice in [port0]; keep one" },
		{ "[roost]\nverbose = 1\nverbose = 0\n",
		  "3: verbose: given twice in [roost]; keep one" },
		{ "[port0]\nmtu = 1500\n\n[port1]\nlink = b\n",
		  "1: [port0] has no devargs, no link and no service; add one "
		  "of them" },
		{ "[port0]\nlink = a\ndevargs = net_tap0\n",
		  "3: devargs: port0 has a link already; keep one of the "
		  "two" },
		{ "[port0]\nlink = a\n ; a = b\nmtu = 12\n",
		  "4: mtu: '12': MTU out of range; use 576 to 9978, or 0 for "
		  "the port's own" },
		{ "[port0]\nlink =\n",
		  "2: link: no value; give one or leave the key out" },
		{ "[port0]\nlink = # a\n",
		  "2: link: no value; give one or leave the key out" },
		{ "[port0]\nlink a\n",
		  "2: neither [section] nor key = value; write one of the two, "
		  "or # before a comment" },
		{ "link = a\n[port0]\n",
		  "1: key before the first section; put [roost] or [port0] "
		  "above it" },
		{ "[port0\nlink = a\n", "1: section without ']'; close it" },
		{ "[port0] link = a\n",
		  "1: text behind a section; put it on a line of its own" },
		{ "[port0]\n= a\n",
		  "2: unknown key '' in [port0]; see roost.conf(5) for the "
		  "keys" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(read_text(rows[i].text), -EINVAL);
		assert_err(rows[i].err);
	}
}

/* A line of so many characters: text and then x. */
static int read_line_of(const char *text, size_t chars, const char *end)
{
	char line[1024];
	size_t len = (size_t)snprintf(line, sizeof(line),
				      "[port0]\nlink = a\n"
				      "%s",
				      text);
	size_t start = strlen("[port0]\nlink = a\n");

	memset(line + len, 'x', start + chars - len);
	strcpy(line + start + chars, end);
	return read_text(line);
}

static void file__lines_have_a_longest(void **state)
{
	static const char *const ends[] = { "\n", "", "\nmtu = 1500\n" };

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(read_line_of("# ", 322, ends[i]), 0);
		assert_int_equal(read_line_of("# ", 323, ends[i]), -EINVAL);
		assert_err("3: line longer than 322 characters; shorten it");
		assert_int_equal(read_line_of("# ", 900, ends[i]), -EINVAL);
		assert_err("3: line longer than 322 characters; shorten it");
	}
}

static void file__values_and_names_have_a_longest(void **state)
{
	assert_int_equal(read_line_of("k=", 2 + 255, "\n"), -EINVAL);
	assert_err("3: unknown key 'k' in [port0]; see roost.conf(5) for the "
		   "keys");
	assert_int_equal(read_line_of("k=", 2 + 256, "\n"), -EINVAL);
	assert_err("3: value longer than 255 characters; shorten it, or "
		   "spread a list over several lines");
	assert_int_equal(read_line_of("", 64, "=a\n"), -EINVAL);
	assert_err("3: key too long; see roost.conf(5) for the keys");
	assert_int_equal(read_line_of("[", 65, "]\n"), -EINVAL);
	assert_err("3: section name too long; sections are [roost], [port0], "
		   "[port1]");
}

static void file__zero_bytes_are_refused(void **state)
{
	static const char text[] = "[port0]\nlink = a\nmtu\0 = 1500\n";

	temp_file_write_bytes(text, sizeof(text) - 1);
	assert_int_equal(roost_config_read_file(&source, temp_path, NULL, err),
			 -EINVAL);
	assert_err("3: zero byte; a configuration is text");
}

static void file__missing_or_not_a_file(void **state)
{
	char expected[ROOST_CONFIG_ERR_MAX];

	unlink(temp_path);
	assert_int_equal(roost_config_read_file(&source, temp_path, NULL, err),
			 -ENOENT);
	assert_err(" cannot be opened: No such file or directory; check -c or "
		   "ROOST_CONFIG");
	assert_int_equal(roost_config_read_file(&source, temp_dir, NULL, err),
			 -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s: not a regular file; write "
		 "the configuration into one",
		 temp_dir);
	assert_string_equal(err, expected);
}

static void file__a_pipe_is_refused_without_waiting(void **state)
{
	unlink(temp_path);
	assert_int_equal(mkfifo(temp_path, 0600), 0);
	assert_int_equal(roost_config_read_file(&source, temp_path, NULL, err),
			 -EINVAL);
	assert_err(" not a regular file; write the configuration into one");
	unlink(temp_path);
}

/* Random bytes with the characters that mean something: never a crash, never
 * a word on stderr, and an error when there is one.
 */
static void file__noise_is_survived_in_silence(void **state)
{
	static const char alphabet[] = "[]=#;\\ \n\n\nportlinkmu0159./ax";
	unsigned int seed = 1;
	int saved, quiet[2];
	char text[400], logged[1];

	assert_int_equal(pipe2(quiet, O_NONBLOCK), 0);
	saved = dup(STDERR_FILENO);
	dup2(quiet[1], STDERR_FILENO);
	for (int round = 0; round < 3000; round++) {
		size_t len = (size_t)rand_r(&seed) % sizeof(text);
		int ret;

		for (size_t i = 0; i < len; i++)
			text[i] = alphabet[(size_t)rand_r(&seed) %
					   (sizeof(alphabet) - 1)];
		temp_file_write_bytes(text, len);
		err[0] = '\0';
		ret = roost_config_read_file(&source, temp_path, NULL, err);
		assert_true(ret == 0 || (ret == -EINVAL && err[0]));
		assert_null(strstr(err, "changed while"));
	}
	dup2(saved, STDERR_FILENO);
	assert_int_equal(read(quiet[0], logged, 1), -1);
	close(saved);
	close(quiet[0]);
	close(quiet[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__reads_every_key),
		cmocka_unit_test(file__empty_gives_nothing),
		cmocka_unit_test(file__blanks_comments_and_line_ends),
		cmocka_unit_test(file__escaped_comment_character_is_itself),
		cmocka_unit_test(file__lists_add_up),
		cmocka_unit_test(file__sections_in_any_order),
		cmocka_unit_test(file__the_daemons_sections_are_named),
		cmocka_unit_test(file__many_entries_and_sections),
		cmocka_unit_test(file__every_error_names_its_line),
		cmocka_unit_test(file__lines_have_a_longest),
		cmocka_unit_test(file__values_and_names_have_a_longest),
		cmocka_unit_test(file__zero_bytes_are_refused),
		cmocka_unit_test(file__missing_or_not_a_file),
		cmocka_unit_test(file__a_pipe_is_refused_without_waiting),
		cmocka_unit_test(file__noise_is_survived_in_silence),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
