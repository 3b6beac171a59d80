/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <fcntl.h>

#include "lib/event/source.h"
#include "tests/cmocka.h"

static struct roost_channel *channel;
static struct roost_event_source a, b;
static struct roost_event_batch batch;

static int setup(void **state)
{
	assert_int_equal(roost_channel_create(64, &channel), 0);
	fcntl(roost_channel_fd(channel), F_SETFL, O_NONBLOCK);
	roost_event_source_init(&a, channel, &a);
	roost_event_source_init(&b, channel, &b);
	TAILQ_INIT(&batch);
	return 0;
}

static int teardown(void **state)
{
	roost_channel_destroy(channel);
	return 0;
}

static void expect(struct roost_event_source *source, uint32_t type)
{
	struct roost_event event;

	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_ptr_equal(event.source, source);
	assert_int_equal(event.type, type);
	assert_int_equal(event.arg, 0);
}

static void batch__keeps_the_order_of_a_source(void **state)
{
	roost_event_hold(&batch, &a, 7);
	roost_event_hold(&batch, &b, 5);
	roost_event_hold(&batch, &a, 3);
	roost_event_hold(&batch, &a, 7);
	assert_int_equal(roost_channel_waiting(channel), 0);
	roost_event_batch_raise(&batch);
	assert_true(TAILQ_EMPTY(&batch));
	expect(&a, 7);
	expect(&a, 3);
	expect(&a, 7);
	expect(&b, 5);
	assert_int_equal(roost_channel_waiting(channel), 0);
	/* Again, from empty. */
	roost_event_hold(&batch, &b, 1);
	roost_event_batch_raise(&batch);
	roost_event_batch_raise(&batch);
	expect(&b, 1);
	assert_int_equal(roost_channel_waiting(channel), 0);
}

static void batch__loses_none_of_many(void **state)
{
	const uint32_t nb = ROOST_EVENT_HELD_MAX + 3;

	for (uint32_t i = 0; i < nb; i++)
		roost_event_hold(&batch, &a, i);
	roost_event_batch_raise(&batch);
	for (uint32_t i = 0; i < nb; i++)
		expect(&a, i);
	assert_int_equal(roost_channel_waiting(channel), 0);
}

/* Those that are held later stay, in their order, also of the same source. */
static void batch__raises_what_is_due(void **state)
{
	struct roost_event_source mark = { 0 };

	roost_event_hold(&batch, &a, 1);
	roost_event_hold(&batch, &a, 2);
	roost_event_hold(&batch, &b, 3);
	roost_event_batch_close(&batch, &mark);
	roost_event_hold(&batch, &a, 4);
	assert_true(roost_event_batch_raise_due(&batch, &mark));
	expect(&a, 1);
	expect(&a, 2);
	assert_int_equal(roost_channel_waiting(channel), 0);
	roost_event_hold(&batch, &a, 5);
	assert_true(roost_event_batch_raise_due(&batch, &mark));
	expect(&b, 3);
	roost_event_hold(&batch, &b, 6);
	assert_false(roost_event_batch_raise_due(&batch, &mark));
	assert_int_equal(roost_channel_waiting(channel), 0);
	roost_event_batch_raise(&batch);
	expect(&a, 4);
	expect(&a, 5);
	expect(&b, 6);
	assert_int_equal(roost_channel_waiting(channel), 0);
}

/* A source that had more than it can hold has raised what was due. */
static void batch__raises_what_is_due_of_many(void **state)
{
	struct roost_event_source mark = { 0 };

	roost_event_hold(&batch, &a, 0);
	roost_event_hold(&batch, &b, 3);
	roost_event_batch_close(&batch, &mark);
	for (uint32_t i = 1; i <= ROOST_EVENT_HELD_MAX; i++)
		roost_event_hold(&batch, &a, i);
	for (uint32_t i = 0; i < ROOST_EVENT_HELD_MAX; i++)
		expect(&a, i);
	while (roost_event_batch_raise_due(&batch, &mark))
		;
	expect(&b, 3);
	assert_int_equal(roost_channel_waiting(channel), 0);
	roost_event_batch_raise(&batch);
	expect(&a, ROOST_EVENT_HELD_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			batch__keeps_the_order_of_a_source, setup, teardown),
		cmocka_unit_test_setup_teardown(batch__loses_none_of_many,
						setup, teardown),
		cmocka_unit_test_setup_teardown(batch__raises_what_is_due,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			batch__raises_what_is_due_of_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
