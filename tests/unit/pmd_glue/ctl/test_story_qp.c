/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/engine/core/view.h"
#include "lib/wire/opcode.h"
#include "pmd_glue/ctl/story.h"
#include "tests/cmocka.h"

#define NOW 100000000000ull

static struct roost_story story;

static struct roost_qp_view qp_in(enum roost_qp_state state)
{
	return (struct roost_qp_view){
		.qpn = 0x77,
		.type = ROOST_QPT_RC,
		.state = state,
		.port_num = 1,
		.dest_qpn = 0x11,
		.mtu_bytes = 1024,
		.port_mtu_bytes = 1024,
		.retries = 7,
		.retries_left = 7,
	};
}

static void expect(const struct roost_qp_view *qp, const char *part)
{
	roost_story_qp_cause(&story, "roost0", qp, true, NOW);
	if (!strstr(story.cause, part))
		fail_msg("no \"%s\" in: %s", part, story.cause);
}

static struct roost_qp_view failed(enum roost_qp_error_code code,
				   uint8_t opcode)
{
	struct roost_qp_view qp = qp_in(ROOST_QPS_ERR);

	qp.error.code = (uint8_t)code;
	qp.error.opcode = opcode;
	return qp;
}

/* By the kind of the request, not all that there is. */
static void cause__of_an_invalid_request(void **state)
{
	static const struct {
		uint8_t opcode;
		uint64_t addr;
		const char *part;
	} rows[] = {
		{ ROOST_OPCODE_RC_SEND_ONLY, 0,
		  "its receive is too short, or" },
		{ ROOST_OPCODE_RC_WRITE_ONLY, 1, "; the access flags of" },
		{ ROOST_OPCODE_RC_READ_REQ, 1, "or its max_dest_rd_atomic" },
		{ ROOST_OPCODE_RC_FETCH_ADD, 8, "or its max_dest_rd_atomic" },
		{ ROOST_OPCODE_RC_FETCH_ADD, 12,
		  "the remote address 0xc is not a multiple of 8" },
		{ ROOST_OPCODE_RC_CMP_SWAP, 1,
		  "the remote address 0x1 is not a multiple of 8" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roost_qp_view qp =
			failed(ROOST_QPE_PEER_INVALID, rows[i].opcode);

		qp.error.has_memory = rows[i].addr != 0;
		qp.error.addr = rows[i].addr;
		expect(&qp, rows[i].part);
	}
}

static void cause__no_retries(void **state)
{
	struct roost_qp_view qp =
		failed(ROOST_QPE_NO_ANSWER, ROOST_OPCODE_RC_SEND_ONLY);

	expect(&qp, "did not answer 8 tries of RC_SEND_ONLY");
	qp.retries = 0;
	expect(&qp, "did not answer 1 try of RC_SEND_ONLY");
	expect(&qp, "retry_cnt is 0");
}

/* The port's MTU fell under that of the path, whatever comes of it. */
static void cause__mtu_of_the_port(void **state)
{
	struct roost_qp_view qp =
		failed(ROOST_QPE_NO_ANSWER, ROOST_OPCODE_RC_SEND_ONLY);

	qp.port_mtu_bytes = 512;
	expect(&qp, "its path MTU is 1024, and port 1 of roost0 now carries "
		    "512");
	qp = qp_in(ROOST_QPS_RTS);
	qp.port_mtu_bytes = 512;
	expect(&qp, "its path MTU is 1024");
	/* By no port. */
	qp.port_mtu_bytes = 0;
	expect(&qp, "");
	assert_string_equal(story.cause, "");
}

static void cause__other_psns(void **state)
{
	struct roost_qp_view qp = qp_in(ROOST_QPS_RTR);

	qp.expected_psn = 100;
	qp.counters.duplicates = 3;
	expect(&qp, "had the PSN that is expected, 100: 3 had earlier ones,");
	qp.counters.duplicates = 0;
	qp.counters.out_of_order = 4;
	expect(&qp, "came again (counter duplicate_requests), 4 later ones");
	/* Then it is the network. */
	qp.executed = true;
	expect(&qp, "");
	assert_string_equal(story.cause, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cause__of_an_invalid_request),
		cmocka_unit_test(cause__no_retries),
		cmocka_unit_test(cause__mtu_of_the_port),
		cmocka_unit_test(cause__other_psns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
