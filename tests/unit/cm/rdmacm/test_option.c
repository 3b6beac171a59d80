/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <endian.h>

#include <infiniband/sa.h>

static int set(struct rdma_cm_id *id, int level, int name, const void *value,
	       size_t len)
{
	return rdma_set_option(id, level, name, (void *)(uintptr_t)value, len);
}

static void option__unknown_is_enosys(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	int value = 0;

	assert_fails(set(id, 9, 0, &value, sizeof(value)), ENOSYS);
	assert_fails(set(id, RDMA_OPTION_ID, 17, &value, 4), ENOSYS);
	assert_fails(set(id, RDMA_OPTION_IB, 0, &value, 4), ENOSYS);
	assert_ok(rdma_destroy_id(id));
}

static void option__lengths(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	uint64_t value = 0;

	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, 2),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &value,
			 1),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &value, 8),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &value,
			 4),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &value, 8),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1),
		     EFAULT);
	assert_ok(rdma_destroy_id(id));
}

static void option__when_it_is_too_late(void **state)
{
	struct rdma_cm_id *id = fake_listening(fake_channel, RDMA_PS_TCP), *ud;
	int on = 1, off = 0;
	uint8_t timeout = 14;

	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off, 4),
		     EINVAL);
	assert_fails(set(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4),
		     EINVAL);
	assert_ok(rdma_destroy_id(id));
	assert_ok(rdma_create_id(fake_channel, &ud, NULL, RDMA_PS_UDP));
	assert_fails(set(ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
			 &timeout, 1),
		     EINVAL);
	assert_ok(rdma_destroy_id(ud));
}

static void option__path_of_the_programs_own(void **state)
{
	struct sockaddr_storage to = addr_of("198.18.0.2", 7000);
	struct ibv_path_data paths[2] = {
		{ .flags = IBV_PATH_FLAG_GMP },
		{ .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
			   IBV_PATH_FLAG_BIDIRECTIONAL },
	};
	struct rdma_cm_id *id;

	paths[1].path.flowlabel_hoplimit = htobe32(0x12345 << 8 | 17);
	paths[1].path.tclass = 0x60;
	assert_ok(rdma_create_id(fake_channel, &id, NULL, RDMA_PS_TCP));
	assert_fails(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
			 sizeof(paths)),
		     EINVAL);
	assert_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1));
	fake_tell(fake_conn(), ROOST_CM_ADDR_RESOLVED, 0);
	fake_expect(fake_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	/* None of them is primary. */
	assert_fails(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
			 sizeof(paths[0])),
		     EINVAL);
	assert_ok(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
		      sizeof(paths)));
	fake_expect(fake_channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.path_rec->hop_limit, 17);
	assert_int_equal(be32toh(id->route.path_rec->flow_label), 0x12345);
	assert_int_equal(id->route.path_rec->traffic_class, 0x60);
	assert_fails(set(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
			 sizeof(paths)),
		     EINVAL);
	assert_ok(rdma_destroy_id(id));
}

static void ece__what_may_be_set(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_ece ece = { .vendor_id = 1, .comp_mask = 1 };

	assert_fails(rdma_set_local_ece(NULL, &ece), EINVAL);
	assert_fails(rdma_set_local_ece(id, NULL), EINVAL);
	assert_fails(rdma_set_local_ece(id, &ece), EINVAL);
	ece = (struct ibv_ece){ .options = 1 };
	assert_fails(rdma_set_local_ece(id, &ece), EINVAL);
	assert_ok(rdma_destroy_id(id));
}

/* What ece holds before does not matter: a program need not clear it. */
static void ece__what_the_peer_said_is_out_only(void **state)
{
	struct rdma_cm_id *id = fake_routed(fake_channel, RDMA_PS_TCP);
	struct ibv_ece ece = { 1, 2, 3 };

	assert_fails(rdma_get_remote_ece(NULL, &ece), EINVAL);
	assert_fails(rdma_get_remote_ece(id, NULL), EINVAL);
	assert_ok(rdma_get_remote_ece(id, &ece));
	assert_int_equal(ece.vendor_id, 0);
	assert_int_equal(ece.options, 0);
	assert_int_equal(ece.comp_mask, 0);
	assert_ok(rdma_destroy_id(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_CHANNEL_TEST(option__unknown_is_enosys),
		FAKE_CHANNEL_TEST(option__lengths),
		FAKE_CHANNEL_TEST(option__when_it_is_too_late),
		FAKE_CHANNEL_TEST(option__path_of_the_programs_own),
		FAKE_CHANNEL_TEST(ece__what_may_be_set),
		FAKE_CHANNEL_TEST(ece__what_the_peer_said_is_out_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
