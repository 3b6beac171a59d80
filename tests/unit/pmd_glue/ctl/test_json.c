/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "pmd_glue/ctl/json.h"
#include "tests/cmocka.h"

static void assert_text(struct roost_json *j, const char *expected)
{
	size_t len;
	char *text = roost_json_take(j, &len);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
	free(text);
}

static void json__nests(void **state)
{
	struct roost_json j = { 0 };

	roost_json_begin(&j, NULL, '{');
	roost_json_u64(&j, "n", UINT64_MAX);
	roost_json_bool(&j, "b", true);
	roost_json_begin(&j, "a", '[');
	roost_json_begin(&j, NULL, '{');
	roost_json_end(&j, '}');
	roost_json_u64(&j, NULL, 0);
	roost_json_end(&j, ']');
	roost_json_bool(&j, "c", false);
	roost_json_end(&j, '}');
	assert_text(&j, "{\"n\":18446744073709551615,\"b\":true,\"a\":[{},0],"
			"\"c\":false}");
	/* It can be used again. */
	roost_json_begin(&j, NULL, '[');
	roost_json_end(&j, ']');
	assert_text(&j, "[]");
}

static void json__escapes(void **state)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{ "", "\"\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\x1f\x7f", "\"\\u000a\\u001f\x7f\"" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x93",
		  "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x93\"" },
		{ "\xff\xc3", "\"??\"" },           /* cut short */
		{ "\xc0\xaf", "\"??\"" },           /* too long */
		{ "\xe0\x80\x80", "\"???\"" },      /* too long */
		{ "\xed\xa0\x80", "\"???\"" },      /* a surrogate */
		{ "\xf4\x90\x80\x80", "\"????\"" }, /* beyond the end */
		{ "\xf0\x80\x80\x80", "\"????\"" }, /* too long */
		{ "\xe2\x82z", "\"??z\"" },
	};
	struct roost_json j = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_json_str(&j, NULL, rows[i].text);
		assert_text(&j, rows[i].json);
	}
}

static void json__grows(void **state)
{
	struct roost_json j = { 0 };
	size_t len;
	char *text;

	roost_json_begin(&j, NULL, '[');
	for (uint64_t i = 10000; i < 20000; i++)
		roost_json_u64(&j, NULL, i);
	roost_json_end(&j, ']');
	text = roost_json_take(&j, &len);
	assert_int_equal(len, 2 + 10000 * 5 + 9999);
	assert_memory_equal(text, "[10000,10001,", 13);
	assert_memory_equal(text + len - 7, ",19999]", 7);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json__nests),
		cmocka_unit_test(json__escapes),
		cmocka_unit_test(json__grows),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
