/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/dump/filter.h"
#include "tests/cmocka.h"

#define LEN 400u

/* A frame from 198.18.0.1 to 198.18.0.2, or from fd00::1 to fd00::2. Returns
 * where its BTH is.
 */
static uint8_t *make(uint8_t frame[LEN], unsigned int tags, bool v6,
		     uint8_t opcode, uint32_t dest_qpn)
{
	uint8_t *at = frame + 12;

	memset(frame, 0, LEN);
	for (; tags > 0; tags--, at += 4)
		roost_be16_put(at, tags > 1 ? 0x88a8 : 0x8100);
	roost_be16_put(at, v6 ? 0x86dd : 0x0800);
	at += 2;
	if (v6) {
		at[6] = 17;
		at[8] = at[24] = 0xfd;
		at[23] = 1;
		at[39] = 2;
		at += 40;
	} else {
		at[0] = 0x45;
		at[9] = 17;
		roost_be32_put(at + 12, 0xc6120001);
		roost_be32_put(at + 16, 0xc6120002);
		at += 20;
	}
	roost_be16_put(at + 2, 4791);
	at += 8;
	at[0] = opcode;
	roost_be32_put(at + 4, dest_qpn);
	return at;
}

static struct roost_dump_filter of(const char *word, const char *value)
{
	struct roost_dump_filter filter = { .nb_qpns = 0 };

	assert_int_equal(roost_dump_filter_add(&filter, word, value), 0);
	return filter;
}

static bool takes(const char *word, const char *value, const uint8_t *frame)
{
	const struct roost_dump_filter filter = of(word, value);

	return roost_dump_filter_takes(&filter, frame, LEN, NULL, NULL);
}

static void filter__words(void **state)
{
	static const struct {
		const char *word, *value;
		int ret;
	} rows[] = {
		{ "qp", "17", 0 },
		{ "qp", "0xffffff", 0 },
		{ "qp", "0x1000000", -EINVAL },
		{ "qp", "-1", -EINVAL },
		{ "qp", "", -EINVAL },
		{ "qp", "1x", -EINVAL },
		{ "cm-id", "0xffffffff", 0 },
		{ "cm-id", "4294967296", -EINVAL },
		{ "cm-id", "99999999999999999999999", -EINVAL },
		{ "address", "198.18.0.1", 0 },
		{ "address", "fe80::1", 0 },
		{ "address", "198.18.0.1/24", -EINVAL },
		{ "port", "1", -ENOENT },
	};
	struct roost_dump_filter filter = { .nb_qpns = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(roost_dump_filter_add(&filter, rows[i].word,
						       rows[i].value),
				 rows[i].ret);
	for (unsigned int i = filter.nb_addrs; i < ROOST_DUMP_FILTERS_MAX; i++)
		assert_int_equal(roost_dump_filter_add(&filter, "address",
						       "::1"),
				 0);
	assert_int_equal(roost_dump_filter_add(&filter, "address", "::2"),
			 -ENOSPC);
}

static void filter__addresses(void **state)
{
	uint8_t frame[LEN];

	(void)state;
	for (unsigned int tags = 0; tags < 3; tags++) {
		make(frame, tags, false, 4, 17);
		assert_true(takes("address", "198.18.0.1", frame));
		assert_true(takes("address", "198.18.0.2", frame));
		assert_false(takes("address", "198.18.0.3", frame));
		make(frame, tags, true, 4, 17);
		assert_true(takes("address", "fd00::1", frame));
		assert_true(takes("address", "fd00::2", frame));
		assert_false(takes("address", "198.18.0.1", frame));
	}
	/* ARP has them, too; no QP. */
	memset(frame, 0, sizeof(frame));
	roost_be16_put(frame + 12, 0x0806);
	roost_be32_put(frame + 14 + 24, 0xc6120002);
	assert_true(takes("address", "198.18.0.2", frame));
	assert_false(takes("qp", "0", frame));
}

static bool is_from(void *ctx, uint32_t qpn, uint32_t dest_qpn,
		    const struct roost_gid *dgid)
{
	const uint32_t *own = ctx;

	return qpn == *own && dest_qpn == 17 && roost_gid_is_v4(dgid) &&
	       dgid->b[15] == 2;
}

/* To the QP; from it, as a datagram says and for other packets who sends. */
static void filter__qps(void **state)
{
	struct roost_dump_filter filter = of("qp", "5");
	uint32_t own = 5, other = 6;
	uint8_t frame[LEN], *bth;

	(void)state;
	make(frame, 1, false, 4, 5);
	assert_true(takes("qp", "5", frame));
	bth = make(frame, 1, false, 4, 17);
	assert_false(takes("qp", "5", frame));
	assert_true(
		roost_dump_filter_takes(&filter, frame, LEN, is_from, &own));
	assert_false(
		roost_dump_filter_takes(&filter, frame, LEN, is_from, &other));
	bth = make(frame, 0, true, 100, 17);
	roost_be32_put(bth + 12 + 4, 5);
	assert_true(takes("qp", "5", frame));
	assert_false(takes("qp", "6", frame));
	/* Both: a frame has to pass each. */
	roost_dump_filter_add(&filter, "address", "fd00::9");
	assert_false(roost_dump_filter_takes(&filter, frame, LEN, NULL, NULL));
}

static void filter__cm_ids(void **state)
{
	uint8_t frame[LEN], *bth = make(frame, 0, false, 100, 1);
	uint8_t *mad = bth + 20;

	(void)state;
	mad[1] = 7;
	roost_be32_put(mad + 24, 11);
	roost_be32_put(mad + 28, 12);
	roost_be16_put(mad + 16, 0x13); /* REP */
	assert_true(takes("cm-id", "11", frame));
	assert_true(takes("cm-id", "12", frame));
	assert_false(takes("cm-id", "13", frame));
	roost_be16_put(mad + 16, 0x10); /* REQ: the second is reserved */
	assert_true(takes("cm-id", "11", frame));
	assert_false(takes("cm-id", "12", frame));
	mad[1] = 3;
	assert_false(takes("cm-id", "11", frame));
	mad[1] = 7;
	roost_be32_put(bth + 4, 17);
	assert_false(takes("cm-id", "11", frame));
}

/* Cut off anywhere, nothing behind the end is read (the sanitizer sees it). */
static void filter__short_frames(void **state)
{
	struct roost_dump_filter filter = of("qp", "5");
	uint8_t frame[LEN];

	(void)state;
	roost_dump_filter_add(&filter, "cm-id", "11");
	roost_dump_filter_add(&filter, "address", "198.18.0.1");
	for (unsigned int kind = 0; kind < 6; kind++)
		for (uint32_t len = 0; len < 140; len++) {
			uint8_t *cut = test_malloc(len + 1);

			make(frame, kind / 2, kind & 1, 100, 1);
			memcpy(cut, frame, len);
			roost_dump_filter_takes(&filter, cut, len, NULL, NULL);
			test_free(cut);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter__words),
		cmocka_unit_test(filter__addresses),
		cmocka_unit_test(filter__qps),
		cmocka_unit_test(filter__cm_ids),
		cmocka_unit_test(filter__short_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
