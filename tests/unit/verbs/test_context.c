/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <fcntl.h>
#include <unistd.h>

#include "verbs_test.h"

static void open__context_is_extended_and_complete(void **state)
{
	struct ibv_context *c = open_roost0();
	struct verbs_context *v = verbs_get_ctx(c);

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->sz, sizeof(struct verbs_context));
	assert_string_equal(c->device->name, "roost0");
	assert_int_equal(c->num_comp_vectors, 1);
	assert_int_equal(c->async_fd, 1001);
	assert_int_equal(fake.opened_index, 0);
	close_roost0(c);
	assert_int_equal(fake.ctx_closes, 1);
	assert_int_equal(fake.device_closes, 1);
}

/* Every word up to sz is an operation, but for the private pointer, the size
 * and one placeholder; and so is every word of ibv_context_ops.
 */
static void open__no_operation_is_null(void **state)
{
	struct ibv_context *c = open_roost0();
	struct verbs_context *v = verbs_get_ctx(c);
	const size_t ops = offsetof(struct verbs_context, context.ops);

	(void)state;
	for (size_t at = 0; at < ops + sizeof(c->ops); at += sizeof(void *)) {
		void *const op = *(void **)((char *)v + at);

		if (at == offsetof(struct verbs_context, priv) ||
		    at == offsetof(struct verbs_context, _ABI_placeholder3) ||
		    at == offsetof(struct verbs_context, sz))
			continue;
		if (!op)
			fail_msg("operation at offset %zu is NULL", at);
	}
	close_roost0(c);
}

static void open__cmd_fd_is_open_and_obeys_nothing(void **state)
{
	struct ibv_context *c = open_roost0();
	char byte = 0;

	(void)state;
	assert_int_equal(fcntl(c->cmd_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(c->cmd_fd, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	close_roost0(c);
}

static void open__each_failure_gives_its_errno_and_undoes_the_rest(void **state)
{
	static const struct {
		const char *call;
		int rc;
		unsigned int device_closes;
	} rows[] = {
		{ "roost_device_open", -ENODEV, 0 },
		{ "roost_device_open", -EBUSY, 0 },
		{ "roost_device_open", -EACCES, 0 },
		{ "roost_ctx_open", -EMFILE, 1 },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)state;
	for (size_t i = 0; i < NB(rows); i++) {
		fake_reset();
		fake.fail_call = rows[i].call;
		fake.fail_rc = rows[i].rc;
		assert_null_errno(ibv_open_device(list[0]), -rows[i].rc);
		assert_int_equal(fake.device_closes, rows[i].device_closes);
	}
	ibv_free_device_list(list);
}

static void close__is_busy_while_objects_are_left(void **state)
{
	struct ibv_context *c = open_roost0();

	(void)state;
	fake.fail_call = "roost_ctx_close";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_close_device(c), EBUSY);
	assert_int_equal(fake.device_closes, 0);
	fake.fail_call = NULL;
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__context_is_extended_and_complete),
		cmocka_unit_test(open__no_operation_is_null),
		cmocka_unit_test(open__cmd_fd_is_open_and_obeys_nothing),
		cmocka_unit_test(
			open__each_failure_gives_its_errno_and_undoes_the_rest),
		cmocka_unit_test(close__is_busy_while_objects_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
