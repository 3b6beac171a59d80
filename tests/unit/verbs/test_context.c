/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_test.h"

static void open__context_is_extended_and_complete(void **state)
{
	struct ibv_context *c = open_roost0();
	struct verbs_context *v = verbs_get_ctx(c);

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
	char bytes[100] = { 0 };

	assert_int_equal(fcntl(c->cmd_fd, F_GETFD), FD_CLOEXEC);
	for (size_t n = 1; n < sizeof(bytes); n++)
		assert_int_equal(write(c->cmd_fd, bytes, n), n);
	for (size_t n = 1; n < sizeof(bytes); n++)
		fake.on_question(fake.on_question_arg);
	assert_int_equal(recv(c->cmd_fd, bytes, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(fake.door_fd, bytes, 1, MSG_DONTWAIT), -1);
	close_roost0(c);
}

/* More descriptors than a question has. */
static void door__keeps_nothing_that_is_sent(void **state)
{
	struct ibv_context *c = open_roost0();
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control = { .header = { CMSG_LEN(4 * sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	uint32_t question[2] = { 1, 0 };
	struct iovec iov = { question, sizeof(question) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	int fds[4] = { 0, 1, 2, 0 }, before = dup(0), after;

	close(before);
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	assert_int_equal(sendmsg(c->cmd_fd, &msg, 0), sizeof(question));
	fake.on_question(fake.on_question_arg);
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
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

	for (size_t i = 0; i < NB(rows); i++) {
		fake_reset();
		fake.fail_call = rows[i].call;
		fake.fail_rc = rows[i].rc;
		assert_null_errno(ibv_open_device(list[0]), -rows[i].rc);
		assert_int_equal(fake.device_closes, rows[i].device_closes);
	}
	ibv_free_device_list(list);
}

static void close__refused_changes_nothing(void **state)
{
	struct ibv_context *c = open_roost0();

	fake.fail_call = "roost_ctx_close";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_close_device(c), EBUSY);
	assert_int_equal(fake.device_closes, 0);
	fake.fail_call = NULL;
	close_roost0(c);
}

/* As when the kernel closes a device's file: nothing may stay that a peer can
 * still reach, and nobody is waited for.
 */
static void close__ends_what_the_program_left(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c), *parent;
	struct ibv_parent_domain_init_attr parent_attr = { .pd = pd };
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_alloc_dm_attr dm_attr = { .length = 8 };
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_UD };
	struct ibv_ah_attr ah_attr = { .port_num = 1 };
	struct ibv_dm *dm;
	char buf[8];

	parent_attr.td = ibv_alloc_td(c, &td_attr);
	parent = ibv_alloc_parent_domain(c, &parent_attr);
	/* a window that is older than the region it could be bound to */
	ibv_alloc_mw(parent, IBV_MW_TYPE_1);
	dm = ibv_alloc_dm(c, &dm_attr);
	ibv_reg_dm_mr(parent, dm, 0, 8, IBV_ACCESS_ZERO_BASED);
	ibv_reg_mr(parent, buf, 8, 0);
	qp_attr.send_cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	qp_attr.recv_cq = qp_attr.send_cq;
	qp_attr.srq = ibv_create_srq(parent, &srq_attr);
	assert_non_null(ibv_create_qp(parent, &qp_attr));
	assert_non_null(ibv_create_ah(parent, &ah_attr));
	assert_non_null(ibv_open_xrcd(c, &xrcd_attr));

	assert_int_equal(ibv_close_device(c), 0);
	assert_int_equal(fake.qps + fake.srqs + fake.cqs + fake.xrcds, 0);
	assert_int_equal(fake.mrs + fake.mws + fake.ahs + fake.pds, 0);
	/* a CQ has two sources of events, SRQ and QP one each */
	assert_int_equal(fake.abandoned, 4);
	assert_int_equal(fake.detach_alls, 1);
	assert_int_equal(fake.ctx_closes, 1);
	assert_int_equal(fake.device_closes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__context_is_extended_and_complete),
		cmocka_unit_test(open__no_operation_is_null),
		cmocka_unit_test(open__cmd_fd_is_open_and_obeys_nothing),
		cmocka_unit_test(door__keeps_nothing_that_is_sent),
		cmocka_unit_test(
			open__each_failure_gives_its_errno_and_undoes_the_rest),
		cmocka_unit_test(close__refused_changes_nothing),
		cmocka_unit_test(close__ends_what_the_program_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
