/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/group.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"

static struct roost_lease_state disk;

static const struct roost_gid group_a = {
	.b = { [10] = 0xff, 0xff, 239, 0, 0, 1 }
};
static const struct roost_gid group_b = { .b = { 0xff, 0x12, [15] = 1 } };

static unsigned int nb_left;

static void left(void *arg, const struct roost_gid *gid)
{
	assert_ptr_equal(arg, &nb_left);
	assert_true(roost_gid_is_multicast(gid));
	nb_left++;
}

static void join__first_and_last(void **state)
{
	const struct roost_group *group;
	struct roost_lease *lease;
	uint16_t client[8];
	bool first, last;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	for (unsigned int i = 0; i < 8; i++)
		client[i] = add_client(lease, 1000, 0);
	/* Backwards, so that the members have to be sorted. */
	for (unsigned int i = 8; i-- > 0;) {
		assert_int_equal(roost_group_join(lease, client[i], &group_a,
						  &first),
				 0);
		assert_int_equal(first, i == 7);
		assert_int_equal(roost_group_join(lease, client[i], &group_a,
						  &first),
				 0);
		assert_false(first);
	}
	group = roost_lease_group(lease, &group_a);
	assert_int_equal(group->nb_members, 8);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(group->members[i], client[i]);
	assert_null(roost_lease_group(lease, &group_b));
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(roost_group_leave(lease, client[i], &group_a,
						   &last),
				 0);
		assert_int_equal(last, i == 7);
		assert_int_equal(roost_group_leave(lease, client[i], &group_a,
						   &last),
				 -ENOENT);
	}
	assert_null(roost_lease_group(lease, &group_a));
	roost_lease_destroy(lease);
}

static void leave_all__tells_what_the_port_leaves(void **state)
{
	struct roost_lease *lease;
	uint16_t a, b;
	bool first;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1000, 0);
	assert_int_equal(roost_group_join(lease, a, &group_a, &first), 0);
	assert_int_equal(roost_group_join(lease, a, &group_b, &first), 0);
	assert_int_equal(roost_group_join(lease, b, &group_b, &first), 0);
	nb_left = 0;
	roost_group_leave_all(lease, a, left, &nb_left);
	assert_int_equal(nb_left, 1);
	assert_null(roost_lease_group(lease, &group_a));
	assert_int_equal(roost_lease_group(lease, &group_b)->nb_members, 1);
	roost_lease_client_remove(lease, b, 0);
	assert_null(roost_lease_group(lease, &group_b));
	roost_lease_destroy(lease);
}

static void join__limits(void **state)
{
	struct roost_gid gid = group_a;
	struct roost_lease *lease;
	uint16_t a;
	bool first;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	assert_int_equal(roost_group_join(lease, a, &gid_v4, &first), -EINVAL);
	for (unsigned int i = 0; i < 4; i++) {
		gid.b[14]++;
		assert_int_equal(roost_group_join(lease, a, &gid, &first), 0);
	}
	gid.b[14]++;
	assert_int_equal(roost_group_join(lease, a, &gid, &first), -EDQUOT);
	roost_lease_destroy(lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join__first_and_last),
		cmocka_unit_test(leave_all__tells_what_the_port_leaves),
		cmocka_unit_test(join__limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
