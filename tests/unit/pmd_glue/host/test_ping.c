/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/echo.h"
#include "pmd_glue/host/ip.h"
#include "pmd_glue/host/ping.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

static const uint8_t ours[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t theirs[6] = { 2, 0, 0, 0, 0, 2 };

static struct roost_ping ping_of(const char *src, const char *dst)
{
	return (struct roost_ping){
		.sgid = addr(src),
		.dgid = addr(dst),
		.id = 0x1234,
		.seq = 7,
		.tos = 2,
	};
}

/* The reply that an echo host of ours makes of it. */
static size_t answer(uint8_t *frame, size_t len)
{
	struct roost_echo echo;

	assert_int_equal(roost_echo_parse(frame, len, &echo), 0);
	roost_echo_reply(&echo, frame);
	return echo.len_bytes;
}

static void check_round(const char *src, const char *dst, uint16_t ip_bytes)
{
	uint8_t frame[ROOST_PING_FRAME_MAX];
	struct roost_ping ping = ping_of(src, dst);
	struct roost_ping_reply reply;
	size_t len;

	ping.ip_bytes = ip_bytes;
	len = roost_ping_build(&ping, ours, theirs, frame);
	assert_int_equal(len, ip_bytes + 14u);
	/* A request is no reply. */
	assert_int_equal(roost_ping_parse(frame, len, &reply), -EINVAL);
	len = answer(frame, len);
	assert_int_equal(roost_ping_parse(frame, len, &reply), 0);
	assert_true(roost_gid_eq(&reply.sgid, &ping.dgid));
	assert_true(roost_gid_eq(&reply.dgid, &ping.sgid));
	assert_int_equal(reply.id, 0x1234);
	assert_int_equal(reply.seq, 7);
	assert_int_equal(reply.tos, 2);
	assert_int_equal(reply.ip_bytes, ip_bytes);
	assert_int_equal(reply.time_ms, ROOST_PING_NO_MS);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(roost_ping_parse(frame, cut, &reply), -EINVAL);
}

static void ping__is_answered_and_read_back(void **state)
{
	check_round("198.18.0.1", "198.18.0.2", 64);
	check_round("198.18.0.1", "198.18.0.2", 1500);
	check_round("198.18.0.1", "198.18.0.2", 9000);
	check_round("fd00::1", "fd00::2", 64);
	check_round("fd00::1", "fd00::2", 4200);
}

static void ping_build__refuses_what_cannot_be(void **state)
{
	uint8_t frame[ROOST_PING_FRAME_MAX];
	struct roost_ping ping = ping_of("198.18.0.1", "fd00::2");

	assert_int_equal(roost_ping_build(&ping, ours, theirs, frame), 0);
	ping = ping_of("198.18.0.1", "198.18.0.2");
	ping.ip_bytes = 27;
	assert_int_equal(roost_ping_build(&ping, ours, theirs, frame), 0);
	ping.ip_bytes = ROOST_PING_IP_MAX_BYTES + 1;
	assert_int_equal(roost_ping_build(&ping, ours, theirs, frame), 0);
	ping.ip_bytes = 0;
	assert_int_equal(roost_ping_build(&ping, ours, theirs, frame), 14 + 28);
	ping = ping_of("fd00::1", "fd00::2");
	ping.asks_time = true;
	assert_int_equal(roost_ping_build(&ping, ours, theirs, frame), 0);
}

static void ping_parse__every_flipped_bit_of_icmp_fails(void **state)
{
	uint8_t frame[ROOST_PING_FRAME_MAX];
	struct roost_ping ping = ping_of("198.18.0.1", "198.18.0.2");
	struct roost_ping_reply reply;
	size_t len = roost_ping_build(&ping, ours, theirs, frame);

	len = answer(frame, len);
	for (size_t bit = 14 * 8; bit < len * 8; bit++) {
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(roost_ping_parse(frame, len, &reply), -EINVAL);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(roost_ping_parse(frame, len, &reply), 0);
}

/* ---- time ---------------------------------------------------------------- */

static size_t ask_time(uint8_t *frame)
{
	struct roost_ping ping = ping_of("198.18.0.1", "198.18.0.2");

	ping.asks_time = true;
	return roost_ping_build(&ping, ours, theirs, frame);
}

static void time__is_told(void **state)
{
	uint8_t frame[ROOST_PING_FRAME_MAX];
	struct roost_ping_reply reply;
	struct roost_gid dst, wanted = addr("198.18.0.2");
	size_t len = ask_time(frame);

	assert_int_equal(len, 14 + 20 + 20);
	assert_int_equal(roost_ping_answer_time(frame, len, 4711, &dst), len);
	assert_true(roost_gid_eq(&dst, &wanted));
	assert_memory_equal(frame, ours, 6);
	assert_int_equal(roost_ping_parse(frame, len, &reply), 0);
	assert_true(reply.has_time);
	assert_int_equal(reply.time_ms, 4711);
	/* A reply is not answered. */
	assert_int_equal(roost_ping_answer_time(frame, len, 1, &dst), 0);
}

static void time__that_is_none_is_not_taken(void **state)
{
	uint8_t frame[ROOST_PING_FRAME_MAX];
	struct roost_ping_reply reply;
	struct roost_gid dst;
	size_t len = ask_time(frame);

	roost_ping_answer_time(frame, len, 86400000u, &dst);
	assert_int_equal(roost_ping_parse(frame, len, &reply), 0);
	assert_int_equal(reply.time_ms, ROOST_PING_NO_MS);
}

static void time__of_groups_and_damaged_requests_is_not_told(void **state)
{
	uint8_t frame[ROOST_PING_FRAME_MAX], before[ROOST_PING_FRAME_MAX];
	struct roost_ping ping = ping_of("198.18.0.1", "224.0.0.1");
	struct roost_gid dst;
	size_t len;

	ping.asks_time = true;
	len = roost_ping_build(&ping, ours, theirs, frame);
	assert_int_equal(roost_ping_answer_time(frame, len, 1, &dst), 0);
	len = ask_time(frame);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(roost_ping_answer_time(frame, cut, 1, &dst),
				 0);
	for (size_t bit = 14 * 8; bit < len * 8; bit++) {
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memcpy(before, frame, len);
		assert_int_equal(roost_ping_answer_time(frame, len, 1, &dst),
				 0);
		assert_memory_equal(frame, before, len);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* ---- what was heard ------------------------------------------------------ */

static void hear(struct roost_ping_log *log, uint16_t seq, uint8_t tos,
		 uint64_t at_ns)
{
	const struct roost_ping_reply reply = {
		.sgid = log->peer,
		.id = log->id,
		.seq = seq,
		.tos = tos,
	};

	roost_ping_log_add(log, &reply, at_ns);
}

static void log__takes_its_own_replies(void **state)
{
	static struct roost_ping_log log;
	struct roost_ping_reply reply = { .id = 5 };

	log = (struct roost_ping_log){ .id = 5, .peer = addr("198.18.0.2") };
	reply.sgid = addr("198.18.0.3");
	roost_ping_log_add(&log, &reply, 1);
	reply.sgid = log.peer;
	reply.id = 6;
	roost_ping_log_add(&log, &reply, 1);
	assert_int_equal(log.nb, 0);
	for (unsigned int i = 0; i < ROOST_PINGS_MAX + 5; i++)
		hear(&log, 1, 0, 1);
	assert_int_equal(log.nb, ROOST_PINGS_MAX);
}

static void sum__counts_losses_doubles_and_order(void **state)
{
	static struct roost_ping_log log;
	const uint64_t sent_ns[] = { 100, 200, 300, 400, 500 };
	struct roost_ping_sum sum;

	log = (struct roost_ping_log){ .id = 5, .peer = addr("198.18.0.2") };
	hear(&log, 0xffff, 2, 150); /* 50 ns */
	hear(&log, 1, 3, 330);      /* 30 ns */
	hear(&log, 0, 2, 340);      /* 140 ns; late */
	hear(&log, 0, 2, 350);      /* twice */
	hear(&log, 3, 0, 540);      /* 40 ns; number 2 is lost */
	hear(&log, 4, 0, 999);      /* of nobody */
	hear(&log, 0xfffe, 0, 999);
	roost_ping_sum(&log, 0xffff, sent_ns, 5, &sum);
	assert_int_equal(sum.sent, 5);
	assert_int_equal(sum.answered, 4);
	assert_int_equal(sum.duplicates, 1);
	assert_int_equal(sum.late, 1);
	assert_int_equal(sum.rtt_min_ns, 30);
	assert_int_equal(sum.rtt_max_ns, 140);
	assert_int_equal(sum.rtt_avg_ns, 65);
	assert_int_equal(sum.ect, 2);
	assert_int_equal(sum.ce, 1);
	assert_int_equal(sum.not_ect, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping__is_answered_and_read_back),
		cmocka_unit_test(ping_build__refuses_what_cannot_be),
		cmocka_unit_test(ping_parse__every_flipped_bit_of_icmp_fails),
		cmocka_unit_test(time__is_told),
		cmocka_unit_test(time__that_is_none_is_not_taken),
		cmocka_unit_test(
			time__of_groups_and_damaged_requests_is_not_told),
		cmocka_unit_test(log__takes_its_own_replies),
		cmocka_unit_test(sum__counts_losses_doubles_and_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
