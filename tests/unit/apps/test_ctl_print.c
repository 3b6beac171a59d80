/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/ctl_print.h"
#include "tests/cmocka.h"

static void assert_printed(void (*print)(FILE *out, struct json_object *o),
			   const char *json, const char *expected)
{
	struct json_object *object = json_tokener_parse(json);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(object);
	print(out, object);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	json_object_put(object);
}

static void print__values_and_tables(void **state)
{
	assert_printed(roost_ctl_print,
		       "{\"pid\":7,\"up\":true,\"empty\":\"\",\"none\":[],"
		       "\"qps\":[{\"qpn\":5,\"state\":\"RTS\"},"
		       "{\"qpn\":123456,\"state\":\"\"}],"
		       "\"counters\":{\"rx\":1,\"drops\":{\"icrc\":0}}}",
		       "pid                     7\n"
		       "up                      yes\n"
		       "empty                   -\n"
		       "none                    none\n"
		       "qps\n"
		       "  qpn     state\n"
		       "  5       RTS\n"
		       "  123456  -\n"
		       "counters\n"
		       "  rx                      1\n"
		       "  drops\n"
		       "    icrc                    0\n");
}

/* Devices have ports, and ports have tables. */
static void print__arrays_of_more_than_values(void **state)
{
	assert_printed(roost_ctl_print,
		       "{\"ports\":[{\"port\":1,\"gids\":[{\"index\":0}]},"
		       "{\"port\":2,\"gids\":[]}]}",
		       "ports\n"
		       "  port                    1\n"
		       "  gids\n"
		       "    index\n"
		       "    0\n"
		       "  port                    2\n"
		       "  gids                    none\n");
}

/* What is too wide for a table is a record for each, in lines of 80 columns. */
static void print__records(void **state)
{
	assert_printed(
		roost_ctl_print,
		"{\"qps\":["
		"{\"qpn\":5,\"state\":\"ERR\",\"sgid\":\"fd00:1:2:3:4:5:6:7\","
		"\"dgid\":\"fd00:1:2:3:4:5:6:8\",\"empty\":\"\",\"posted\":0,"
		"\"last_error\":{\"error\":\"remote_key\",\"cause\":"
		"\"the peer's rkey is wrong here, or its range or access\","
		"\"psn\":0,\"key\":\"0x12345678\"},"
		"\"counters\":{\"timeouts\":0,\"duplicates\":3}},"
		"{\"qpn\":6,\"counters\":{\"timeouts\":0}}]}",
		"qps\n"
		"  qpn 5  state ERR  sgid fd00:1:2:3:4:5:6:7  dgid "
		"fd00:1:2:3:4:5:6:8  empty -\n"
		"    posted 0\n"
		"    last_error:  error remote_key\n"
		"      cause the peer's rkey is wrong here, or its range or "
		"access  psn 0\n"
		"      key 0x12345678\n"
		"    counters:  duplicates 3\n"
		"  qpn 6\n");
}

/* No line is longer, wherever its words end. */
static void print__no_line_is_too_long(void **state)
{
	char json[512], *text, *line, *rest;
	struct json_object *object;
	size_t len;
	FILE *out;

	for (int width = 1; width < 70; width++) {
		snprintf(json, sizeof(json),
			 "{\"cqs\":[{\"a\":\"%0*d\",\"bb\":\"%0*d\","
			 "\"ccc\":\"%0*d\",\"counters\":{\"d\":\"%0*d\","
			 "\"e\":\"%0*d\"}}]}",
			 width, 1, width, 2, width, 3, width, 4, width, 5);
		object = json_tokener_parse(json);
		out = open_memstream(&text, &len);
		roost_ctl_print(out, object);
		fclose(out);
		for (line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			assert_in_range(strlen(line), 1, 80);
		free(text);
		json_object_put(object);
	}
}

/* A program's name is not for the terminal to obey. */
static void print__control_characters(void **state)
{
	assert_printed(roost_ctl_print, "{\"program\":\"a\\u001b[2Jb\\n\"}",
		       "program                 a?[2Jb?\n");
	/* Nor are names, nor what Unicode has besides ASCII's. */
	assert_printed(
		roost_ctl_print,
		"{\"a\\u001b\":1,\"b\\u0007\":[],\"c\":\"\\u009b2J\\u00e9\"}",
		"a?                      1\n"
		"b?                      none\n"
		"c                       ??2J\xc3\xa9\n");
	assert_printed(roost_ctl_print, "{\"t\":[{\"n\\u001b\":1}]}",
		       "t\n"
		       "  n?\n"
		       "  1\n");
}

/* What is no object has no members. */
static void print__what_is_no_object(void **state)
{
	assert_printed(roost_ctl_print,
		       "{\"a\":[[1],2],\"b\":[{\"c\":null},3]}",
		       "a\n"
		       "b\n"
		       "  c\n"
		       "  -\n"
		       "  -\n");
	assert_printed(roost_ctl_print, "[1]", "");
}

/* As roostd shows one. */
static void print__clients_of_a_daemon(void **state)
{
	assert_printed(
		roost_ctl_print,
		"{\"pid\":7,\"program\":\"roostd\",\"devices\":[],"
		"\"clients\":[{\"port\":0,\"client\":3,\"pid\":4711,"
		"\"own_pid\":12,\"uid\":1001,\"command\":\"ib_write_bw\","
		"\"policy\":\"guests\",\"direct\":true,\"address\":\"\","
		"\"qps\":64,\"max_qps\":128,\"rate\":0,\"counters\":{"
		"\"tx_frames\":10,\"tx_bytes\":41000,\"tx_bps\":328000,"
		"\"rx_frames\":0,\"rx_bytes\":0,\"rx_bps\":0},\"drops\":{"
		"\"src_mac\":1}}]}",
		"pid                     7\n"
		"program                 roostd\n"
		"clients\n"
		"  port 0  client 3  pid 4711  own_pid 12  uid 1001  command "
		"ib_write_bw\n"
		"    policy guests  direct yes  address -  qps 64  max_qps 128 "
		" "
		"rate 0\n"
		"    counters:  tx_frames 10  tx_bytes 41000  tx_bps 328000\n"
		"    drops:  src_mac 1\n");
}

static void print_list__what_a_daemon_shares(void **state)
{
	assert_printed(roost_ctl_print_list,
		       "[{\"pid\":7,\"program\":\"roostd\",\"devices\":[],"
		       "\"shared\":[{\"port\":0,\"label\":\"hub\","
		       "\"active\":true},{\"port\":1,\"label\":\"x\","
		       "\"active\":false}]}]",
		       "pid  program  device  port  state   carrier  label\n"
		       "7    roostd   shared  0     ACTIVE  yes      hub\n"
		       "7    roostd   shared  1     DOWN    no       x\n");
}

static void print_list__one_line_for_a_port(void **state)
{
	assert_printed(roost_ctl_print_list,
		       "[{\"pid\":7,\"program\":\"a\",\"devices\":[{\"name\":"
		       "\"roost0\",\"ports\":[{\"port\":1,\"label\":\"x\","
		       "\"state\":\"DOWN\",\"carrier\":false}]}]},"
		       "{\"pid\":12345,\"program\":\"b\",\"devices\":[]}]",
		       "pid  program  device  port  state  carrier  label\n"
		       "7    a        roost0  1     DOWN   no       x\n");
	assert_printed(roost_ctl_print_list, "[]", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print__values_and_tables),
		cmocka_unit_test(print__arrays_of_more_than_values),
		cmocka_unit_test(print__records),
		cmocka_unit_test(print__no_line_is_too_long),
		cmocka_unit_test(print__control_characters),
		cmocka_unit_test(print__what_is_no_object),
		cmocka_unit_test(print__clients_of_a_daemon),
		cmocka_unit_test(print_list__what_a_daemon_shares),
		cmocka_unit_test(print_list__one_line_for_a_port),
	};

	return cmocka_run_group_tests_name("ctl_print", tests, NULL, NULL);
}
