/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/fair.h"
#include "tests/cmocka.h"

#define SECOND UINT64_C(1000000000)
#define NB 8u

static struct roost_fair fair;
static char handle[1 << 16]; /* the address of each is a handle */

static void push_all(uint32_t client, uint32_t len_bytes)
{
	while (roost_fair_has_room(&fair, client))
		roost_fair_push(&fair, client, &handle[client], len_bytes);
}

static void begin(void)
{
	assert_int_equal(roost_fair_init(&fair, NB), 0);
}

static void end(void)
{
	for (uint32_t i = 0; i < NB; i++)
		while (roost_fair_flush(&fair, i))
			;
	roost_fair_fini(&fair);
}

/* Send for nb_frames, with all queues kept full; bytes on the wire by client.
 */
static void run(const uint32_t *len_bytes, uint32_t nb_clients,
		uint32_t nb_frames, uint64_t *bytes)
{
	uint32_t client, len;

	for (uint32_t i = 0; i < nb_clients; i++)
		push_all(i, len_bytes[i]);
	for (uint32_t i = 0; i < nb_frames; i++) {
		void *frame = roost_fair_head(&fair, 0, &client, &len);

		assert_ptr_equal(frame, &handle[client]);
		assert_int_equal(len, len_bytes[client]);
		/* It stays until it is taken. */
		assert_ptr_equal(roost_fair_head(&fair, 0, &client, &len),
				 frame);
		roost_fair_pop(&fair);
		bytes[client] += len + ROOST_FAIR_WIRE_BYTES;
		push_all(client, len_bytes[client]);
	}
}

static void round__bytes_not_frames(void **state)
{
	static const uint32_t lens[] = { 64, 256, 1024, 4300, 9000 };
	uint64_t bytes[5] = { 0 };

	begin();
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(roost_fair_add(&fair, i, 1, 0, 0), 0);
	run(lens, 5, 200000, bytes);
	for (uint32_t i = 1; i < 5; i++)
		assert_in_range(bytes[i], bytes[0] * 98 / 100,
				bytes[0] * 102 / 100);
	end();
}

static void round__weights(void **state)
{
	static const uint32_t lens[] = { 1500, 64, 4300 };
	uint64_t bytes[3] = { 0 };

	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 0, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 2, 0, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 2, 5, 0, 0), 0);
	run(lens, 3, 100000, bytes);
	assert_in_range(bytes[1], 2 * bytes[0] * 98 / 100,
			2 * bytes[0] * 102 / 100);
	assert_in_range(bytes[2], 5 * bytes[0] * 98 / 100,
			5 * bytes[0] * 102 / 100);
	end();
}

static void queue__order_and_bound(void **state)
{
	uint32_t client, len;

	begin();
	assert_int_equal(roost_fair_add(&fair, 3, 1, 0, 0), 0);
	assert_null(roost_fair_head(&fair, 0, &client, &len));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < ROOST_FAIR_QUEUE_LEN; i++) {
			assert_true(roost_fair_has_room(&fair, 3));
			roost_fair_push(&fair, 3, &handle[i], 100 + i);
		}
		assert_false(roost_fair_has_room(&fair, 3));
		for (uint32_t i = 0; i < ROOST_FAIR_QUEUE_LEN; i++) {
			assert_ptr_equal(roost_fair_head(&fair, 0, &client,
							 &len),
					 &handle[i]);
			assert_int_equal(len, 100 + i);
			roost_fair_pop(&fair);
		}
		assert_null(roost_fair_head(&fair, 0, &client, &len));
	}
	end();
}

static void idle__keeps_no_credit(void **state)
{
	static const uint32_t lens[] = { 1000, 1000 };
	uint64_t bytes[2] = { 0 };
	uint32_t client, len, first = 0;

	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 0, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 1, 0, 0), 0);
	run(lens, 1, 1000, bytes);
	/* The one that was idle gets its share, and not what it missed. */
	push_all(1, 1000);
	for (uint32_t i = 0; i < 40; i++) {
		roost_fair_head(&fair, 0, &client, &len);
		first += client == 1;
		roost_fair_pop(&fair);
	}
	assert_in_range(first, 16, 24);
	end();
}

/* One frame at a time leaves most of a quantum, each time. */
static void idle__often_keeps_no_credit(void **state)
{
	uint32_t client, len, nb = 0;

	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 0, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 1, 0, 0), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		roost_fair_push(&fair, 1, &handle[1], 64);
		assert_non_null(roost_fair_head(&fair, 0, &client, &len));
		roost_fair_pop(&fair);
	}
	push_all(0, 1000);
	push_all(1, 1000);
	for (unsigned int i = 0; i < 40; i++) {
		assert_non_null(roost_fair_head(&fair, 0, &client, &len));
		roost_fair_pop(&fair);
		nb += client;
	}
	assert_in_range(nb, 16, 24);
	end();
}

/* A limit above one's share, with the port free and then not: what was not
 * sent for the limit is no credit.
 */
static void rate__keeps_no_credit(void **state)
{
	uint64_t bytes[2] = { 0 }, now_ns = 0;
	uint32_t client, len;

	begin();
	/* 6 MB/s on a port of 10 MB/s. */
	assert_int_equal(roost_fair_add(&fair, 0, 1, 6000000, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 1, 0, 0), 0);
	while (now_ns < 2 * SECOND) {
		push_all(0, 1000);
		if (now_ns >= SECOND)
			push_all(1, 1000);
		if (!roost_fair_head(&fair, now_ns, &client, &len)) {
			now_ns = roost_fair_ready_ns(&fair);
			continue;
		}
		roost_fair_pop(&fair);
		if (now_ns >= SECOND)
			bytes[client] += len + ROOST_FAIR_WIRE_BYTES;
		now_ns += (len + ROOST_FAIR_WIRE_BYTES) * 100;
	}
	assert_in_range(bytes[1], 4900000, 5100000);
	end();
}

static void rate__is_kept(void **state)
{
	uint64_t bytes[2] = { 0 }, now_ns = 0;
	uint32_t client, len;

	begin();
	/* 1 MB/s beside one without a limit, on a port of 10 MB/s. */
	assert_int_equal(roost_fair_add(&fair, 0, 1, 1000000, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 1, 0, 0), 0);
	while (now_ns < 10 * SECOND) {
		push_all(0, 1000);
		push_all(1, 1000);
		assert_non_null(roost_fair_head(&fair, now_ns, &client, &len));
		roost_fair_pop(&fair);
		bytes[client] += len + ROOST_FAIR_WIRE_BYTES;
		now_ns += (len + ROOST_FAIR_WIRE_BYTES) * 100;
	}
	assert_in_range(bytes[0], 9900000, 10100000);
	assert_in_range(bytes[1], 89000000, 91000000);
	end();
}

static void rate__alone_says_when(void **state)
{
	uint64_t now_ns = 0, ready_ns;
	uint32_t client, len, nb = 0;

	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 1000000, 0), 0);
	assert_int_equal(roost_fair_ready_ns(&fair), UINT64_MAX);
	push_all(0, 976);
	while (nb < ROOST_FAIR_QUEUE_LEN) {
		if (roost_fair_head(&fair, now_ns, &client, &len)) {
			roost_fair_pop(&fair);
			nb++;
			continue;
		}
		ready_ns = roost_fair_ready_ns(&fair);
		assert_true(ready_ns > now_ns);
		/* Not before. */
		assert_null(
			roost_fair_head(&fair, ready_ns - 1, &client, &len));
		now_ns = ready_ns;
	}
	/* 64 frames of 1000 bytes at 1 MB/s, the first at 1 ms. */
	assert_in_range(now_ns, 63000000, 65000000);
	assert_null(roost_fair_head(&fair, now_ns, &client, &len));
	end();
}

/* Bytes that a client sends in a second, of which it has enough. */
static uint64_t sends(uint64_t from_ns)
{
	uint64_t bytes = 0;
	uint32_t client, len;

	for (uint64_t t = from_ns; t < from_ns + SECOND; t += 10000) {
		push_all(0, 976);
		if (roost_fair_head(&fair, t, &client, &len)) {
			roost_fair_pop(&fair);
			bytes += len + ROOST_FAIR_WIRE_BYTES;
		}
	}
	return bytes;
}

/* While it has frames, also such that wait for the rate of before. */
static void change__takes_effect_at_once(void **state)
{
	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 1000000, 0), 0);
	assert_in_range(sends(0), 990000, 1010000);
	roost_fair_change(&fair, 0, 1, 5000000, SECOND);
	assert_in_range(sends(SECOND), 4950000, 5060000);
	roost_fair_change(&fair, 0, 1, 10000, 2 * SECOND);
	assert_in_range(sends(2 * SECOND), 9000, 62000);
	roost_fair_change(&fair, 0, 1, 0, 3 * SECOND);
	assert_int_equal(sends(3 * SECOND), 100000 * 1000);
	/* It was without tokens, and has not saved any meanwhile. */
	roost_fair_change(&fair, 0, 1, 1000000, 4 * SECOND);
	assert_in_range(sends(4 * SECOND), 990000, 1020000);
	end();
}

static void flush__of_one_that_goes(void **state)
{
	uint32_t client, len, nb = 0;

	begin();
	assert_int_equal(roost_fair_add(&fair, 0, 1, 0, 0), 0);
	assert_int_equal(roost_fair_add(&fair, 1, 1, 100, 0), 0);
	push_all(0, 100);
	push_all(1, 100);
	/* 1 waits for its rate. */
	assert_non_null(roost_fair_head(&fair, 0, &client, &len));
	roost_fair_pop(&fair);
	while (roost_fair_flush(&fair, 1))
		nb++;
	assert_int_equal(nb, ROOST_FAIR_QUEUE_LEN);
	nb = 0;
	while (roost_fair_head(&fair, SECOND, &client, &len)) {
		assert_int_equal(client, 0);
		roost_fair_pop(&fair);
		nb++;
	}
	assert_int_equal(nb, ROOST_FAIR_QUEUE_LEN - 1);
	assert_null(roost_fair_flush(&fair, 5));
	end();
}

/* All queues together: who has more than the share has no room. */
static void queue__all_have_a_bound(void **state)
{
	uint32_t client, len;

	begin();
	fair.most_kept = 80;
	for (uint32_t i = 0; i < NB; i++)
		assert_int_equal(roost_fair_add(&fair, i, 1, 0, 0), 0);
	push_all(0, 100);
	assert_int_equal(fair.queues[0]->nb, ROOST_FAIR_QUEUE_LEN);
	/* What is left, and then the share. */
	for (uint32_t i = 1; i < NB; i++) {
		push_all(i, 100);
		assert_in_range(fair.queues[i]->nb, 80 / NB, 80 / 2);
	}
	assert_in_range(fair.nb_kept, 80, 2 * 80 + 80 / 2);
	/* The first waits until it has no more than its share. */
	while (fair.nb_kept > 80) {
		assert_non_null(roost_fair_head(&fair, 0, &client, &len));
		roost_fair_pop(&fair);
	}
	assert_false(roost_fair_has_room(&fair, 0));
	assert_int_equal(roost_fair_flush(&fair, 7) != NULL, true);
	while (roost_fair_flush(&fair, 7))
		;
	assert_int_equal(roost_fair_add(&fair, 7, 1, 0, 0), 0);
	/* However many there are, there is room for some. */
	fair.most_kept = 8;
	for (uint32_t i = 0; i < ROOST_FAIR_SHARE_MIN; i++) {
		assert_true(roost_fair_has_room(&fair, 7));
		roost_fair_push(&fair, 7, &handle[7], 100);
	}
	assert_false(roost_fair_has_room(&fair, 7));
	end();
	assert_int_equal(fair.nb_kept, 0);
	assert_int_equal(fair.nb_busy, 0);
	memset(&fair, 0, sizeof(fair));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round__bytes_not_frames),
		cmocka_unit_test(round__weights),
		cmocka_unit_test(queue__order_and_bound),
		cmocka_unit_test(queue__all_have_a_bound),
		cmocka_unit_test(idle__keeps_no_credit),
		cmocka_unit_test(idle__often_keeps_no_credit),
		cmocka_unit_test(rate__keeps_no_credit),
		cmocka_unit_test(rate__is_kept),
		cmocka_unit_test(rate__alone_says_when),
		cmocka_unit_test(change__takes_effect_at_once),
		cmocka_unit_test(flush__of_one_that_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
