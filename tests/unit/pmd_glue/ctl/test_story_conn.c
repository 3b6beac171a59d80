/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <string.h>

#include "lib/engine/core/conn_view.h"
#include "pmd_glue/ctl/story.h"
#include "tests/cmocka.h"

#define S 1000000000ull
#define NOW (100 * S)

static struct roost_story story;

/* The whole story: the cause, and the lines. */
static const char *told(void)
{
	static char text[16384];
	int len = snprintf(text, sizeof(text), "%s\n", story.cause);

	for (unsigned int i = 0; i < story.nb; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s\n",
				story.lines[i]);
	return text;
}

static void expect(const char *part)
{
	if (!strstr(told(), part))
		fail_msg("no \"%s\" in: %s", part, told());
}

static struct roost_conn_view conn_of(const char *state,
				      enum roost_conn_phase phase)
{
	struct roost_conn_view conn = {
		.id = 0x77,
		.state = state,
		.phase = phase,
		.since_ns = 98 * S,
		.owned = true,
		.service = { .port_space = "TCP", .port = 7471 },
		.port_num = 1,
		.message = "REQ",
		.resent_max = 15,
		.retry_ns = 6 * S,
	};

	conn.dgid.b[10] = conn.dgid.b[11] = 0xff;
	conn.sgid = conn.dgid;
	memcpy(conn.dgid.b + 12, (uint8_t[]){ 192, 0, 2, 1 }, 4);
	memcpy(conn.sgid.b + 12, (uint8_t[]){ 192, 0, 2, 2 }, 4);
	return conn;
}

static void add(struct roost_conn_view *conn, enum roost_conn_step_kind kind,
		const char *what, uint16_t code, const char *code_text)
{
	conn->steps[conn->nb_steps++] = (struct roost_conn_step){
		.at_ns = 99 * S,
		.count = 1,
		.kind = kind,
		.what = what,
		.state = conn->state,
		.code = code,
		.code_text = code_text,
	};
}

static void story_conn__waits_for_the_peer(void **state)
{
	struct roost_conn_view conn =
		conn_of("REQ_SENT", ROOST_CONN_WAITS_PEER);

	conn.repeats = true;
	conn.waits_for = "a REP";
	conn.deadline_ns = NOW + S;
	roost_story_conn(&story, "roost0", &conn, NOW);
	assert_string_equal(story.cause, "");
	expect("The REQ was sent again 0 of 15 times, every 6.000 s.");
	expect("It waits for a REP, for another 1.000 s; then it sends again.");
	conn.unsent = true;
	roost_story_conn(&story, "roost0", &conn, NOW);
	expect("the REQ has not left: the MAC address of the next hop to "
	       "192.0.2.1 is not known");
	conn.unsent = false;
	conn.resent = 15;
	conn.retries_of_device = 21;
	roost_story_conn(&story, "roost0", &conn, NOW);
	expect("192.0.2.1 does not answer the REQ, which was sent again 15 of "
	       "15 times (TCP port 7471, counter retries_REQ 21)");
	expect("for another 1.000 s; then it gives up.");
}

static void story_conn__ended(void **state)
{
	static const struct {
		enum roost_conn_step_kind kind;
		uint16_t code;
		const char *code_text, *cause;
	} cases[] = {
		{ ROOST_CONN_REFUSED, 28, "consumer",
		  "192.0.2.1 refused the connection, reason 28 (consumer), "
		  "1.000 s ago\n" },
		{ ROOST_CONN_REFUSED, 999, NULL, "reason 999, 1.000 s ago\n" },
		{ ROOST_CONN_REFUSED_HERE, 28, NULL,
		  "the program here refused it, reason 28" },
		{ ROOST_CONN_UNANSWERED, 0, "DREQ",
		  "192.0.2.1 did not answer the DREQ, sent again 15 times" },
		{ ROOST_CONN_DROPPED, 0, NULL, "what happened, 1.000 s ago" },
		{ ROOST_CONN_STALE, 0, NULL, "what happened, 1.000 s ago" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roost_conn_view conn = conn_of("IDLE", ROOST_CONN_IDLE);

		add(&conn, ROOST_CONN_STEP, "REQ sent", 0, NULL);
		add(&conn, cases[i].kind, "what happened", cases[i].code,
		    cases[i].code_text);
		roost_story_conn(&story, "roost0", &conn, NOW);
		expect(cases[i].cause);
		expect("It waits for nothing.");
		/* What it is now counts, not how an attempt before ended. */
		conn.phase = ROOST_CONN_ESTABLISHED;
		roost_story_conn(&story, "roost0", &conn, NOW);
		assert_string_equal(story.cause, "");
		expect("It has been established for 2.000 s.");
	}
}

static void story_conn__waits_for_the_program(void **state)
{
	struct roost_conn_view conn =
		conn_of("REQ_RCVD", ROOST_CONN_WAITS_PROGRAM);

	conn.waits_for = "the program";
	roost_story_conn(&story, "roost0", &conn, NOW);
	expect("it has waited 2.000 s for the program");
	conn.since_ns = NOW;
	conn.port_num = 0;
	conn.owned = false;
	roost_story_conn(&story, "roost0", &conn, NOW);
	assert_string_equal(story.cause, "");
	expect("in REQ_RCVD, without a path.");
	expect("Its program has destroyed it.");
}

static void story_listener__its_backlog(void **state)
{
	struct roost_listener_view l = {
		.service = { .id = 0x1234567890 },
		.family = "IPv4",
		.backlog = 2,
		.waiting = 1,
		.requests = 7,
	};

	roost_story_listener(&story, "roost0", &l, NOW);
	assert_string_equal(story.cause, "");
	expect("Listener on service 0x1234567890 of roost0, at any address of "
	       "IPv4.");
	expect("backlog is 2. Requests: 7 came, 1 of them wait for the "
	       "program.");
	l.waiting = 2;
	l.dropped = 3;
	l.dropped_at_ns = 98 * S;
	roost_story_listener(&story, "roost0", &l, NOW);
	expect("its backlog of 2 is full");
	expect("3 requests were dropped because the backlog was full, the last "
	       "2.000 s ago (counter drops_backlog)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(story_conn__waits_for_the_peer),
		cmocka_unit_test(story_conn__ended),
		cmocka_unit_test(story_conn__waits_for_the_program),
		cmocka_unit_test(story_listener__its_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
