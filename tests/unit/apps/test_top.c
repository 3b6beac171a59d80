/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/top_rows.h"
#include "apps/top_text.h"
#include "tests/cmocka.h"

/* A process with one device; what changes has a %. */
#define PROCESS                                                                \
	"[{\"pid\":7,\"program\":\"perf\","                                    \
	"\"threads\":[{\"tid\":8,\"name\":\"roost-worker\",\"cpu_ns\":%d}],"   \
	"\"devices\":[{\"name\":\"roost0\",\"qp_count\":2,"                    \
	"\"ports\":[{\"state\":\"DOWN\"},{\"state\":\"ACTIVE\"}],"             \
	"\"qps\":[{\"qpn\":17,\"type\":\"RC\",\"state\":\"RTS\","              \
	"\"dgid\":\"198.18.0.2\",\"dest_qpn\":18,\"next_psn\":%d,"             \
	"\"expected_psn\":5,\"srtt_ns\":12345,\"cc_rate_kbps\":0,"             \
	"\"counters\":{\"retransmits\":%d,\"np_cnp_sent\":1,"                  \
	"\"rp_cnp_handled\":2}},"                                              \
	"{\"qpn\":%d,\"type\":\"UD\",\"state\":\"RTS\",\"next_psn\":900,"      \
	"\"expected_psn\":0,\"srtt_ns\":0}],"                                  \
	"\"counters\":{\"tx_bytes\":%d,\"rx_bytes\":0,\"tx_packets\":0,"       \
	"\"rx_packets\":0,\"retransmits\":0,\"np_cnp_sent\":0,"                \
	"\"rp_cnp_handled\":0,\"drops\":{\"icrc\":%d,\"vlan\":0}}}]}]"

static struct json_object *process(int cpu_ns, int psn, int retransmits,
				   int qpn, int bytes, int drops)
{
	char text[2048];
	struct json_object *object;

	snprintf(text, sizeof(text), PROCESS, cpu_ns, psn, retransmits, qpn,
		 bytes, drops);
	object = json_tokener_parse(text);
	assert_non_null(object);
	return object;
}

static struct json_object *row_of(struct json_object *rows, const char *table,
				  size_t index)
{
	struct json_object *row =
		json_object_array_get_idx(json_object_object_get(rows, table),
					  index);

	assert_non_null(row);
	return row;
}

static int value(struct json_object *rows, const char *table, size_t index,
		 const char *name)
{
	struct json_object *of =
		json_object_object_get(row_of(rows, table, index), name);

	assert_non_null(of);
	return json_object_get_int(of);
}

static void rows__are_differences_per_second(void **state)
{
	/* The PSN begins again; another UD QP is new. */
	struct json_object *before = process(0, 0xfffff0, 3, 20, 1000, 4);
	struct json_object *now = process(500000000, 0x10, 9, 21, 3000, 10);
	struct json_object *rows = roost_top_rows(before, now, 2.0);

	(void)state;
	assert_int_equal(value(rows, "devices", 0, "pid"), 7);
	assert_int_equal(value(rows, "devices", 0, "tx_bits_per_s"), 8000);
	assert_int_equal(value(rows, "devices", 0, "drops_per_s"), 3);
	assert_string_equal(json_object_get_string(json_object_object_get(
				    row_of(rows, "devices", 0), "state")),
			    "ACTIVE");
	assert_int_equal(value(rows, "workers", 0, "cpu_percent"), 25);
	assert_int_equal(value(rows, "qps", 0, "qpn"), 17);
	assert_int_equal(value(rows, "qps", 0, "tx_packets_per_s"), 16);
	assert_int_equal(value(rows, "qps", 0, "retransmits_per_s"), 3);
	assert_int_equal(value(rows, "qps", 1, "qpn"), 21);
	assert_int_equal(value(rows, "qps", 1, "tx_packets_per_s"), 0);
	/* Of the reasons, those that were counted. */
	assert_int_equal(json_object_array_length(
				 json_object_object_get(rows, "drops")),
			 1);
	assert_int_equal(value(rows, "drops", 0, "total"), 10);
	assert_int_equal(value(rows, "drops", 0, "drops_per_s"), 3);
	json_object_put(rows);
	json_object_put(before);
	json_object_put(now);
}

static void rows__of_a_process_that_is_new_have_no_rates(void **state)
{
	struct json_object *none = json_object_new_array();
	struct json_object *now = process(500000000, 0x10, 9, 21, 3000, 10);
	struct json_object *rows = roost_top_rows(none, now, 1.0);

	(void)state;
	assert_int_equal(value(rows, "devices", 0, "tx_bits_per_s"), 0);
	assert_int_equal(value(rows, "qps", 0, "tx_packets_per_s"), 0);
	assert_int_equal(value(rows, "workers", 0, "cpu_percent"), 0);
	json_object_put(rows);
	/* And one that has begun anew, with the number of another one. */
	rows = roost_top_rows(now, now, 1.0);
	assert_int_equal(value(rows, "devices", 0, "tx_bits_per_s"), 0);
	json_object_put(rows);
	json_object_put(none);
	json_object_put(now);
}

/* Whatever a process answers. */
static void rows__of_other_shapes(void **state)
{
	static const char *const answers[] = {
		"[]",
		"[7]",
		"[{}]",
		"[{\"pid\":1,\"devices\":7,\"clients\":{},\"threads\":\"\"}]",
		"[{\"pid\":1,\"devices\":[7,{\"qps\":[[]]}],\"clients\":[1]}]",
		"[{\"pid\":1,\"devices\":[{\"ports\":[{}],\"counters\":[]}]}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct json_object *now = json_tokener_parse(answers[i]);
		struct json_object *rows = roost_top_rows(now, now, 1.0);
		FILE *out = fopen("/dev/null", "w");

		assert_non_null(out);
		roost_top_print(out, rows, 100);
		fclose(out);
		json_object_put(rows);
		json_object_put(now);
	}
}

static void print__scales_and_counts_what_it_leaves_out(void **state)
{
	static const char rows_text[] =
		"{\"devices\":[],\"workers\":[],\"clients\":[],\"qps\":[],"
		"\"drops\":["
		"{\"pid\":7,\"program\":\"a\\u001b[2J\",\"of\":\"roost0\","
		"\"reason\":\"icrc\",\"total\":999,\"drops_per_s\":1234567},"
		"{\"pid\":8,\"program\":\"b\",\"of\":\"roost0\","
		"\"reason\":\"vlan\",\"total\":123456,\"drops_per_s\":0},"
		"{\"pid\":9,\"program\":\"c\",\"of\":\"roost0\","
		"\"reason\":\"vlan\",\"total\":1,\"drops_per_s\":0}]}";
	struct json_object *rows = json_tokener_parse(rows_text);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	roost_top_print(out, rows, 2);
	fclose(out);
	assert_string_equal(text, "\1    PID PROGRAM         OF              "
				  "REASON                 TOTAL DROP/s\n"
				  "      7 a?[2J           roost0          "
				  "icrc                     999  1.23M\n"
				  "      8 b               roost0          "
				  "vlan                    123k      0\n"
				  "and 1 more\n\n");
	free(text);
	json_object_put(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows__are_differences_per_second),
		cmocka_unit_test(rows__of_a_process_that_is_new_have_no_rates),
		cmocka_unit_test(rows__of_other_shapes),
		cmocka_unit_test(print__scales_and_counts_what_it_leaves_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
