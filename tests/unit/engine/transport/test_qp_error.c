/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <string.h>

#include <roost/qp_error.h>

#include "tests/cmocka.h"

/*
 * The numbers that programs see: they are for ever. A new error has a new one
 * here; none is changed or used again.
 */
static const struct {
	uint8_t code;
	const char *name;
} numbers[] = {
	{ 0x01, "local_length" },       { 0x02, "local_memory" },
	{ 0x03, "no_rd_atomic" },       { 0x04, "bind_refused" },
	{ 0x05, "no_answer" },          { 0x06, "no_alternate" },
	{ 0x07, "lost_again" },         { 0x08, "response_lost" },
	{ 0x09, "response_opcode" },    { 0x0a, "response_order" },
	{ 0x0b, "response_length" },    { 0x0c, "response_memory" },
	{ 0x10, "peer_not_ready" },     { 0x11, "peer_invalid_request" },
	{ 0x12, "peer_remote_access" }, { 0x13, "peer_remote_operation" },
	{ 0x20, "request_order" },      { 0x21, "request_not_allowed" },
	{ 0x22, "request_length" },     { 0x23, "request_operand" },
	{ 0x24, "too_many_rd_atomic" }, { 0x25, "xrc_srq" },
	{ 0x26, "remote_key" },         { 0x27, "remote_key_gone" },
	{ 0x28, "invalidate_key" },     { 0x29, "wrong_keys" },
	{ 0x30, "receive_length" },     { 0x31, "receive_memory" },
	{ 0x40, "cq_overrun" },         { 0x41, "device_removed" },
	{ 0x42, "modified" },
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void qp_error__numbers_are_stable(void **state)
{
	unsigned int nb = 0;

	for (size_t i = 0; i < NUMBERS; i++)
		assert_string_equal(roost_qp_error_infos[numbers[i].code].name,
				    numbers[i].name);
	for (int i = 0; i < ROOST_QPE_END; i++)
		nb += roost_qp_error_infos[i].name != NULL;
	assert_int_equal(nb, NUMBERS);
}

/* ---- the documents have the same table -------------------------------------
 */

static const char *root;

static char *read_all(const char *name)
{
	static char text[1 << 18];
	char path[512];
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s cannot be read", path);
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_in_range(len, 1, sizeof(text) - 2);
	text[len] = '\0';
	return text;
}

static unsigned int count(const char *text, const char *begin)
{
	unsigned int n = 0;

	while ((text = strstr(text, begin)) != NULL) {
		n++;
		text++;
	}
	return n;
}

static const char *const finders[] = { "requester", "peer", "responder",
				       "device", "program" };
static const char *const statuses[] = {
	[ROOST_WC_SUCCESS] = "flushed",
	[ROOST_WC_LOC_LEN_ERR] = "`LOC_LEN_ERR`",
	[ROOST_WC_LOC_QP_OP_ERR] = "`LOC_QP_OP_ERR`",
	[ROOST_WC_LOC_PROT_ERR] = "`LOC_PROT_ERR`",
	[ROOST_WC_MW_BIND_ERR] = "`MW_BIND_ERR`",
	[ROOST_WC_BAD_RESP_ERR] = "`BAD_RESP_ERR`",
	[ROOST_WC_REM_INV_REQ_ERR] = "`REM_INV_REQ_ERR`",
	[ROOST_WC_REM_ACCESS_ERR] = "`REM_ACCESS_ERR`",
	[ROOST_WC_REM_OP_ERR] = "`REM_OP_ERR`",
	[ROOST_WC_RETRY_EXC_ERR] = "`RETRY_EXC_ERR`",
	[ROOST_WC_RNR_RETRY_EXC_ERR] = "`RNR_RETRY_EXC_ERR`",
};

static void qp_error__compat_has_the_table(void **state)
{
	const char *text = read_all("doc/compat.md");
	char row[256];

	for (size_t i = 0; i < NUMBERS; i++) {
		const struct roost_qp_error_info *info =
			&roost_qp_error_infos[numbers[i].code];

		snprintf(row, sizeof(row), "\n| 0x%02x | `%s` | %s | %s | %s |",
			 numbers[i].code, info->name, finders[info->found_by],
			 statuses[info->wc_status], info->text);
		if (strstr(text, row) == NULL)
			fail_msg("doc/compat.md: no row%s", row);
	}
	assert_int_equal(count(text, "\n| 0x"), NUMBERS);
}

static void qp_error__manual_has_the_table(void **state)
{
	const char *text = read_all("doc/man/roost-ctl.1");
	char row[256];

	for (size_t i = 0; i < NUMBERS; i++) {
		const struct roost_qp_error_info *info =
			&roost_qp_error_infos[numbers[i].code];

		snprintf(row, sizeof(row), "\n.It Li 0x%02x Cm %s\n%s.\n",
			 numbers[i].code, info->name, info->text);
		if (strstr(text, row) == NULL)
			fail_msg("roost-ctl.1: no row%s", row);
	}
	assert_int_equal(count(text, "\n.It Li 0x"), NUMBERS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp_error__numbers_are_stable),
		cmocka_unit_test(qp_error__compat_has_the_table),
		cmocka_unit_test(qp_error__manual_has_the_table),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests_name("engine/qp_error", tests, NULL,
					   NULL);
}
