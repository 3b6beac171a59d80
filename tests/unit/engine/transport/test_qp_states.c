/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/engine/transport/qp_priv.h"
#include "tests/cmocka.h"

/*
 * The table once more, by hand, one letter for an attribute, after IBTA
 * tables 96 to 98 and what the Linux kernel's core takes. The two differ in
 * one place: IBTA has every state to Error, Linux has not RESET to ERR.
 *
 *   c CUR_STATE     n EN_SQD_ASYNC_NOTIFY  a ACCESS_FLAGS  k PKEY_INDEX
 *   p PORT          q QKEY                 v AV            m PATH_MTU
 *   t TIMEOUT       y RETRY_CNT            r RNR_RETRY     x RQ_PSN
 *   d MAX_QP_RD_ATOMIC                     l ALT_PATH      w MIN_RNR_TIMER
 *   s SQ_PSN        e MAX_DEST_RD_ATOMIC   g PATH_MIG_STATE
 *   D DEST_QPN      z CAP                  b RATE_LIMIT
 */
static const struct {
	char letter;
	uint32_t bit;
} letters[] = {
	{ 'c', ROOST_QP_CUR_STATE },
	{ 'n', ROOST_QP_EN_SQD_ASYNC_NOTIFY },
	{ 'a', ROOST_QP_ACCESS_FLAGS },
	{ 'k', ROOST_QP_PKEY_INDEX },
	{ 'p', ROOST_QP_PORT },
	{ 'q', ROOST_QP_QKEY },
	{ 'v', ROOST_QP_AV },
	{ 'm', ROOST_QP_PATH_MTU },
	{ 't', ROOST_QP_TIMEOUT },
	{ 'y', ROOST_QP_RETRY_CNT },
	{ 'r', ROOST_QP_RNR_RETRY },
	{ 'x', ROOST_QP_RQ_PSN },
	{ 'd', ROOST_QP_MAX_QP_RD_ATOMIC },
	{ 'l', ROOST_QP_ALT_PATH },
	{ 'w', ROOST_QP_MIN_RNR_TIMER },
	{ 's', ROOST_QP_SQ_PSN },
	{ 'e', ROOST_QP_MAX_DEST_RD_ATOMIC },
	{ 'g', ROOST_QP_PATH_MIG_STATE },
	{ 'D', ROOST_QP_DEST_QPN },
	{ 'z', ROOST_QP_CAP },
	{ 'b', ROOST_QP_RATE_LIMIT },
};

#define NB_LETTERS (sizeof(letters) / sizeof(letters[0]))

enum {
	RC,
	UC,
	UD,
	XI,
	XT,
	RAW
};
enum {
	RESET,
	INIT,
	RTR,
	RTS,
	SQD,
	SQE,
	ERR
};

static const struct row {
	uint8_t type, from, to;
	const char *required, *optional;
} rows[] = {
	{ RC, RESET, INIT, "kpa", "" },
	{ UC, RESET, INIT, "kpa", "" },
	{ UD, RESET, INIT, "kpq", "" },
	{ XI, RESET, INIT, "kpa", "" },
	{ XT, RESET, INIT, "kpa", "" },
	{ RAW, RESET, INIT, "p", "" },

	{ RC, INIT, INIT, "", "kpa" },
	{ UC, INIT, INIT, "", "kpa" },
	{ UD, INIT, INIT, "", "kpq" },
	{ XI, INIT, INIT, "", "kpa" },
	{ XT, INIT, INIT, "", "kpa" },
	{ RAW, INIT, INIT, "", "p" },

	{ RC, INIT, RTR, "vmDxew", "lak" },
	{ UC, INIT, RTR, "vmDx", "lak" },
	{ UD, INIT, RTR, "", "kq" },
	{ XI, INIT, RTR, "vmDx", "lak" },
	{ XT, INIT, RTR, "vmDxew", "lak" },
	{ RAW, INIT, RTR, "", "" },

	{ RC, RTR, RTS, "tyrsd", "clawgb" },
	{ UC, RTR, RTS, "s", "clagb" },
	{ UD, RTR, RTS, "s", "cqb" },
	{ XI, RTR, RTS, "tyrsd", "clagb" },
	{ XT, RTR, RTS, "ts", "clawg" },
	{ RAW, RTR, RTS, "", "cb" },

	{ RC, RTS, RTS, "", "calgwb" },
	{ UC, RTS, RTS, "", "calgb" },
	{ UD, RTS, RTS, "", "cqb" },
	{ XI, RTS, RTS, "", "calgb" },
	{ XT, RTS, RTS, "", "calgw" },
	{ RAW, RTS, RTS, "", "cb" },

	{ RC, RTS, SQD, "", "n" },
	{ UC, RTS, SQD, "", "n" },
	{ UD, RTS, SQD, "", "n" },
	{ XI, RTS, SQD, "", "n" },
	{ XT, RTS, SQD, "", "n" },
	{ RAW, RTS, SQD, "", "n" },

	{ RC, SQD, RTS, "", "clawgb" },
	{ UC, SQD, RTS, "", "clagb" },
	{ UD, SQD, RTS, "", "cqb" },
	{ XI, SQD, RTS, "", "clagb" },
	{ XT, SQD, RTS, "", "clawg" },
	{ RAW, SQD, RTS, "", "cb" },

	{ RC, SQD, SQD, "", "pvtyrdelakwgb" },
	{ UC, SQD, SQD, "", "vlakgb" },
	{ UD, SQD, SQD, "", "kqb" },
	{ XI, SQD, SQD, "", "pvtyrdlakgb" },
	{ XT, SQD, SQD, "", "pvtelakwg" },
	{ RAW, SQD, SQD, "", "b" },

	{ RC, SQE, RTS, "", "" },
	{ UC, SQE, RTS, "", "ca" },
	{ UD, SQE, RTS, "", "cq" },
	{ XI, SQE, RTS, "", "" },
	{ XT, SQE, RTS, "", "" },
	{ RAW, SQE, RTS, "", "c" },
};

static uint32_t mask_of(const char *text)
{
	uint32_t mask = 0;

	for (; *text != '\0'; text++)
		for (size_t i = 0; i < NB_LETTERS; i++)
			if (letters[i].letter == *text)
				mask |= letters[i].bit;
	return mask;
}

/* What the hand-written table says; NULL: not allowed. */
static const struct row *row_of(uint8_t type, uint8_t from, uint8_t to)
{
	static const struct row to_any = { 0, 0, 0, "", "" };

	if (to == RESET || to == ERR)
		return &to_any;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type && rows[i].from == from &&
		    rows[i].to == to)
			return &rows[i];
	return NULL;
}

static bool allowed(uint8_t type, uint8_t from, uint8_t to, uint32_t mask)
{
	return roost_qp_modify_allowed((enum roost_qp_type)type,
				       (enum roost_qp_state)from,
				       (enum roost_qp_state)to, mask);
}

/* Each attribute alone more, and each alone less. */
static void check_row(uint8_t type, uint8_t from, uint8_t to)
{
	const struct row *row = row_of(type, from, to);
	uint32_t required = row == NULL ? 0 : mask_of(row->required);
	uint32_t optional = row == NULL ? 0 : mask_of(row->optional);
	bool valid = row != NULL;

	assert_int_equal(allowed(type, from, to, required), valid);
	assert_int_equal(allowed(type, from, to, required | ROOST_QP_STATE),
			 valid);
	assert_int_equal(allowed(type, from, to, required | optional), valid);
	for (int i = 1; i < 32; i++) {
		uint32_t bit = 1u << i;

		assert_int_equal(allowed(type, from, to, required | bit),
				 valid && ((required | optional) & bit));
		assert_int_equal(allowed(type, from, to, required & ~bit),
				 valid && !(required & bit));
		assert_int_equal(allowed(type, from, to,
					 (required | optional) & ~bit),
				 valid && !(required & bit));
	}
}

static void qp_modify_allowed__every_change_of_every_type(void **state)
{
	for (uint8_t type = RC; type <= RAW; type++)
		for (uint8_t from = RESET; from <= ERR; from++)
			for (uint8_t to = RESET; to <= ERR; to++)
				check_row(type, from, to);
}

static void qp_modify_allowed__no_such_state(void **state)
{
	for (unsigned int s = ERR + 1; s < 256; s++) {
		assert_false(allowed(RC, RESET, (uint8_t)s, ROOST_QP_STATE));
		assert_false(allowed(RC, (uint8_t)s, RESET, ROOST_QP_STATE));
	}
}

/* The letters above and the numbers of the enums are one. */
static void qp_modify_allowed__numbers(void **state)
{
	assert_int_equal(RC, ROOST_QPT_RC);
	assert_int_equal(UC, ROOST_QPT_UC);
	assert_int_equal(UD, ROOST_QPT_UD);
	assert_int_equal(XI, ROOST_QPT_XRC_INI);
	assert_int_equal(XT, ROOST_QPT_XRC_TGT);
	assert_int_equal(RAW, ROOST_QPT_RAW);
	assert_int_equal(ERR, ROOST_QPS_ERR);
	assert_int_equal(SQE, ROOST_QPS_SQE);
	assert_int_equal(ROOST_QPS_COUNT, 7);
	assert_int_equal(ROOST_QPT_COUNT, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp_modify_allowed__every_change_of_every_type),
		cmocka_unit_test(qp_modify_allowed__no_such_state),
		cmocka_unit_test(qp_modify_allowed__numbers),
	};

	return cmocka_run_group_tests_name("qp_states", tests, NULL, NULL);
}
