/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/wire/opcode.h"
#include "tests/cmocka.h"
#include "tests/unit/wire/fixture.h"

static void opcode__known_and_unknown(void **state)
{
	static const struct roost_opcode_info none;
	int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		const struct roost_opcode_info *info = &roost_opcodes[opcode];
		const struct spec_opcode *spec =
			spec_opcode_find((uint8_t)opcode);

		if (!spec) {
			assert_memory_equal(info, &none, sizeof(none));
			continue;
		}
		assert_int_equal(info->op, spec->op);
		assert_int_equal(info->service, opcode >> 5);
	}
}

static void opcode__header_lengths(void **state)
{
	size_t i;

	for (i = 0; i < spec_opcodes_count; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];

		assert_int_equal(roost_opcodes[spec->opcode].hdr_len_bytes,
				 spec->hdr_len_bytes);
	}
}

static enum roost_hdr hdr_of(char letter)
{
	static const char letters[] = "XDFRAEKIVC";
	static const uint8_t hdrs[] = {
		ROOST_HDR_XRCETH,       ROOST_HDR_DETH,      ROOST_HDR_FETH,
		ROOST_HDR_RETH,         ROOST_HDR_ATOMICETH, ROOST_HDR_AETH,
		ROOST_HDR_ATOMICACKETH, ROOST_HDR_IMMDT,     ROOST_HDR_IETH,
		ROOST_HDR_CNP,
	};

	return (enum roost_hdr)hdrs[strchr(letters, letter) - letters];
}

/* Each header lies where the ones before it end; the others have no place. */
static void opcode__header_offsets(void **state)
{
	size_t i;

	for (i = 0; i < spec_opcodes_count; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];
		const struct roost_opcode_info *info =
			&roost_opcodes[spec->opcode];
		uint8_t off[ROOST_HDR_COUNT] = { 0 };
		size_t at = 12;
		unsigned int set = 0;
		const char *letter;

		for (letter = spec->hdrs; *letter; letter++) {
			off[hdr_of(*letter)] = (uint8_t)at;
			set |= 1u << hdr_of(*letter);
			at += spec_hdr_len(*letter);
		}
		assert_int_equal(at, spec->hdr_len_bytes);
		assert_int_equal(info->hdrs, set);
		assert_memory_equal(info->hdr_off, off, sizeof(off));
	}
}

static void opcode__flags(void **state)
{
	static const char letters[] = "flqrpw";
	static const uint8_t flags[] = {
		ROOST_OPF_FIRST,    ROOST_OPF_LAST,    ROOST_OPF_REQUEST,
		ROOST_OPF_RESPONSE, ROOST_OPF_PAYLOAD, ROOST_OPF_RWQE,
	};
	size_t i;

	for (i = 0; i < spec_opcodes_count; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];
		unsigned int want = 0;
		const char *letter;

		for (letter = spec->flags; *letter; letter++)
			want |= flags[strchr(letters, *letter) - letters];
		assert_int_equal(roost_opcodes[spec->opcode].flags, want);
	}
}

static void opcode__names_are_different(void **state)
{
	size_t i, j;

	for (i = 0; i < spec_opcodes_count; i++) {
		const char *name = roost_opcodes[spec_opcodes[i].opcode].name;

		assert_non_null(name);
		for (j = 0; j < i; j++)
			assert_string_not_equal(
				name,
				roost_opcodes[spec_opcodes[j].opcode].name);
	}
	assert_string_equal(roost_opcodes[0x00].name, "RC Send First");
	assert_string_equal(roost_opcodes[0x2b].name,
			    "UC RDMA Write Only Immediate");
	assert_string_equal(roost_opcodes[0xb2].name, "XRC Atomic Acknowledge");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opcode__known_and_unknown),
		cmocka_unit_test(opcode__header_lengths),
		cmocka_unit_test(opcode__header_offsets),
		cmocka_unit_test(opcode__flags),
		cmocka_unit_test(opcode__names_are_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
