/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <infiniband/ib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct rdma_cm_id *bound(enum rdma_port_space ps)
{
	struct sockaddr_storage at = addr_of("198.18.0.1", 0);
	struct rdma_cm_id *id;

	assert_ok(rdma_create_id(fake_channel, &id, NULL, ps));
	assert_ok(rdma_bind_addr(id, (struct sockaddr *)&at));
	return id;
}

static int join(struct rdma_cm_id *id, const char *group, void *context)
{
	struct sockaddr_storage addr = addr_of(group, 0);

	return rdma_join_multicast(id, (struct sockaddr *)&addr, context);
}

static int leave(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage addr = addr_of(group, 0);

	return rdma_leave_multicast(id, (struct sockaddr *)&addr);
}

static void join__attaches_when_it_is_read(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	static const uint8_t mgid[16] = {
		[10] = 0xff, [11] = 0xff, 239, 1, 2, 3
	};
	struct rdma_cm_event *event;
	struct rdma_ud_param *ud;
	int context;

	fake_give_qp(id);
	assert_ok(join(id, "239.1.2.3", &context));
	assert_int_equal(fake.nb_attached, 0);
	event = fake_event(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(fake.nb_attached, 1);
	assert_memory_equal(fake.attached.raw, mgid, 16);
	ud = &event->param.ud;
	assert_ptr_equal(ud->private_data, &context);
	assert_int_equal(ud->qp_num, 0xffffff);
	assert_int_equal(ud->qkey, RDMA_UDP_QKEY);
	assert_int_equal(ud->ah_attr.is_global, 1);
	assert_int_equal(ud->ah_attr.port_num, 1);
	assert_int_equal(ud->ah_attr.grh.sgid_index, 1);
	assert_int_equal(ud->ah_attr.grh.hop_limit, 64);
	assert_memory_equal(ud->ah_attr.grh.dgid.raw, mgid, 16);
	assert_ok(rdma_ack_cm_event(event));
	assert_fails(leave(id, "239.1.2.4"), EADDRNOTAVAIL);
	assert_ok(leave(id, "239.1.2.3"));
	assert_int_equal(fake.nb_attached, 0);
	assert_fails(leave(id, "239.1.2.3"), EADDRNOTAVAIL);
	rdma_destroy_qp(id);
	assert_ok(rdma_destroy_id(id));
}

static void join__group_by_its_gid(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	struct sockaddr_ib group = { .sib_family = AF_IB };
	struct rdma_cm_event *event;

	group.sib_addr.sib_raw[0] = 0xff;
	group.sib_addr.sib_raw[1] = 0x0e;
	group.sib_addr.sib_raw[15] = 7;
	assert_ok(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	event = fake_event(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_memory_equal(event->param.ud.ah_attr.grh.dgid.raw,
			    group.sib_addr.sib_raw, 16);
	assert_int_equal(event->param.ud.ah_attr.grh.hop_limit, 1);
	assert_ok(rdma_ack_cm_event(event));
	assert_ok(rdma_leave_multicast(id, (struct sockaddr *)&group));
	assert_ok(rdma_destroy_id(id));
}

static void join__send_only_is_not_attached(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	struct sockaddr_storage addr = addr_of("239.1.2.3", 0);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *)&addr,
	};
	struct rdma_cm_id left;

	fake_give_qp(id);
	assert_ok(rdma_join_multicast_ex(id, &attr, NULL));
	fake_expect(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_int_equal(fake.nb_attached, 0);
	assert_ok(rdma_leave_multicast(id, attr.addr));
	attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	assert_ok(rdma_join_multicast_ex(id, &attr, NULL));
	fake_expect(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_int_equal(fake.nb_attached, 1);
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	assert_fails(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	assert_fails(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	assert_fails(rdma_join_multicast_ex(id, &attr, NULL), ENOTSUP);
	/* Destroying the id leaves its groups; the QP is the program's. */
	left = *id;
	assert_ok(rdma_destroy_id(id));
	assert_int_equal(fake.nb_attached, 0);
	rdma_destroy_qp(&left);
}

static void join__failure_is_an_event(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);

	fake_give_qp(id);
	fake.attach_error = ENOSPC;
	assert_ok(join(id, "239.1.2.3", NULL));
	fake_expect(fake_channel, RDMA_CM_EVENT_MULTICAST_ERROR, -1);
	rdma_destroy_qp(id);
	assert_ok(rdma_destroy_id(id));
}

static void join__what_cannot_be(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP), *idle;

	assert_fails(join(id, "239.1.2.3", NULL), EINVAL);
	assert_ok(rdma_destroy_id(id));
	id = bound(RDMA_PS_UDP);
	assert_fails(join(id, "198.18.0.2", NULL), EINVAL);
	assert_fails(rdma_join_multicast(id, NULL, NULL), EINVAL);
	assert_ok(rdma_destroy_id(id));
	assert_ok(rdma_create_id(fake_channel, &idle, NULL, RDMA_PS_UDP));
	assert_fails(join(idle, "239.1.2.3", NULL), EINVAL);
	assert_ok(rdma_destroy_id(idle));
}

static void leave__before_the_join_is_read(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);

	assert_ok(join(id, "ff0e::5", NULL));
	assert_ok(join(id, "239.1.2.3", NULL));
	assert_ok(leave(id, "ff0e::5"));
	fake_expect(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_false(fake_readable(fake_channel));
	assert_ok(rdma_destroy_id(id));
}

static atomic_bool left;

static void *leave_thread(void *arg)
{
	assert_ok(leave(arg, "239.1.2.3"));
	left = true;
	return NULL;
}

static void leave__waits_for_the_ack(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	struct rdma_cm_event *event;
	pthread_t thread;

	assert_ok(join(id, "239.1.2.3", NULL));
	event = fake_event(fake_channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ok(pthread_create(&thread, NULL, leave_thread, id));
	usleep(20000);
	assert_false(left);
	assert_ok(rdma_ack_cm_event(event));
	pthread_join(thread, NULL);
	assert_true(left);
	assert_ok(rdma_destroy_id(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(join__attaches_when_it_is_read),
		FAKE_CHANNEL_TEST(join__group_by_its_gid),
		FAKE_CHANNEL_TEST(join__send_only_is_not_attached),
		FAKE_CHANNEL_TEST(join__failure_is_an_event),
		FAKE_CHANNEL_TEST(join__what_cannot_be),
		FAKE_CHANNEL_TEST(leave__before_the_join_is_read),
		FAKE_CHANNEL_TEST(leave__waits_for_the_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
