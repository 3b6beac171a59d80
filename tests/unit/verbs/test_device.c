/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <unistd.h>

#include "lib/verbs/abi.h"
#include "verbs_test.h"

static void device__list_ends_with_null_and_starts_nothing(void **state)
{
	struct ibv_device **list;
	int n = -1;

	fake_reset();
	list = ibv_get_device_list(&n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_non_null(list[0]);
	assert_null(list[1]);
	assert_int_equal(fake.device_opens, 0);
	ibv_free_device_list(list);
}

static void device__has_a_name_and_paths_that_are_nobodys(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *d = list[0];

	assert_string_equal(ibv_get_device_name(d), "roost0");
	assert_string_equal(d->dev_name, "uverbs_roost0");
	assert_string_equal(d->ibdev_path, "/sys/class/infiniband/roost0");
	assert_int_not_equal(access(d->ibdev_path, F_OK), 0);
	assert_int_not_equal(access(d->dev_path, F_OK), 0);
	assert_int_equal(d->node_type, IBV_NODE_CA);
	assert_int_equal(d->transport_type, IBV_TRANSPORT_IB);
	assert_int_equal(ibv_get_device_index(d), -1);
	ibv_free_device_list(list);
}

static void device__stays_the_same_after_its_list_is_freed(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *d = list[0];
	const __be64 guid = ibv_get_device_guid(d);

	ibv_free_device_list(list);
	assert_string_equal(ibv_get_device_name(d), "roost0");
	list = ibv_get_device_list(NULL);
	assert_ptr_equal(list[0], d);
	assert_true(ibv_get_device_guid(d) == guid);
	ibv_free_device_list(list);
}

static void device__guid_is_local_and_of_one_station(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const __be64 guid = ibv_get_device_guid(list[0]);
	const uint8_t first = *(const uint8_t *)&guid;

	assert_int_equal(first & 0x03, 0x02);
	ibv_free_device_list(list);
}

/* libmlx5 reads ops of every device to find out whether it is its own. */
static void device__has_ops_of_its_own_behind_it(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const struct roost_verbs_abi_device *abi =
		(const struct roost_verbs_abi_device *)list[0];

	assert_non_null(abi->ops);
	ibv_free_device_list(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			device__list_ends_with_null_and_starts_nothing),
		cmocka_unit_test(device__has_a_name_and_paths_that_are_nobodys),
		cmocka_unit_test(
			device__stays_the_same_after_its_list_is_freed),
		cmocka_unit_test(device__guid_is_local_and_of_one_station),
		cmocka_unit_test(device__has_ops_of_its_own_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
