/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"

static struct roost_lease_state disk;

static void qpn__is_its_owners(void **state)
{
	struct roost_lease *lease;
	uint32_t block[2];
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	b = add_client(lease, 1001, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(roost_lease_block(lease, a, 0, &block[0]), 0);
	assert_int_equal(roost_lease_block(lease, b, 0, &block[1]), 0);
	/* Each index, in each generation. */
	for (uint32_t i = 0; i < 16 * ROOST_LEASE_BLOCK_LEN; i++) {
		const uint32_t qpn[2] = { qpn_of(lease, block[0], i),
					  qpn_of(lease, block[1], i) };

		if (qpn[0] > 1 && qpn[0] < 0xffffff)
			assert_int_equal(roost_lease_qpn_owner(lease, qpn[0]),
					 a);
		if (qpn[1] > 1 && qpn[1] < 0xffffff)
			assert_int_equal(roost_lease_qpn_owner(lease, qpn[1]),
					 b);
	}
	assert_int_equal(roost_lease_qpn_owner(lease,
					       qpn_of(lease, block[1] + 1, 0)),
			 ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_qpn_owner(lease, 0), ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_qpn_owner(lease, 1), ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_qpn_owner(lease, 0xffffff),
			 ROOST_CLIENT_NONE);
	roost_lease_destroy(lease);
}

/* Their indices are in somebody's block, but no QP has them. */
static void qpn__of_no_qp(void **state)
{
	static const uint32_t qpns[] = { 0, 1, 0xffffff };
	struct roost_lease *lease;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	for (unsigned int i = 0; i < 3; i++) {
		const uint32_t index =
			roost_idmap_invert(&lease->qpns, qpns[i]) & 0xfffff;

		assert_int_equal(
			roost_pool_take_this(&lease->blocks, a, 1000,
					     &lease->clients[a].blocks,
					     index >> ROOST_LEASE_BLOCK_SHIFT),
			0);
		assert_int_equal(roost_lease_qpn_owner(lease, qpns[i]),
				 ROOST_CLIENT_NONE);
	}
	roost_lease_destroy(lease);
}

static void comm_id__is_its_owners(void **state)
{
	struct roost_lease *lease;
	uint32_t prefix;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	assert_int_equal(roost_lease_prefix(lease, a, 0, &prefix), 0);
	assert_int_equal(roost_lease_comm_owner(lease,
						comm_of(lease, prefix, 1)),
			 a);
	assert_int_equal(roost_lease_comm_owner(lease, comm_of(lease, prefix,
							       0x7ffff)),
			 a);
	assert_int_equal(roost_lease_comm_owner(lease,
						comm_of(lease, prefix + 1, 1)),
			 ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_comm_owner(lease, 0), ROOST_CLIENT_NONE);
	assert_int_equal(roost_lease_prefix(lease, a, 0, &prefix), 0);
	assert_int_equal(roost_lease_prefix(lease, a, 0, &prefix), -EDQUOT);
	roost_lease_destroy(lease);
}

static void block__limit_of_qps(void **state)
{
	struct roost_lease *lease;
	uint32_t block;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	/* 1000 QPs are 15.6 blocks. */
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(roost_lease_block(lease, a, 0, &block), 0);
	assert_int_equal(roost_lease_block(lease, a, 0, &block), -EDQUOT);
	roost_lease_destroy(lease);
}

static void remove__numbers_in_quarantine(void **state)
{
	struct roost_lease *lease;
	uint32_t first, block = 0;
	struct roost_client_conf conf = client_conf(1);
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	assert_int_equal(roost_lease_block(lease, a, 0, &first), 0);
	roost_lease_client_remove(lease, a, SECOND);
	assert_int_equal(roost_lease_qpn_owner(lease, qpn_of(lease, first, 3)),
			 ROOST_CLIENT_NONE);
	conf.max_qps = 2 * ROOST_LEASE_BLOCKS * ROOST_LEASE_BLOCK_LEN;
	assert_int_equal(roost_lease_client_add(lease, &conf, SECOND, &b), 0);
	for (uint32_t i = 1; i < ROOST_LEASE_BLOCKS; i++) {
		/* As if of many users, each with its share. */
		lease->clients[b].conf.uid = i;
		assert_int_equal(roost_lease_block(lease, b, SECOND, &block),
				 0);
		assert_int_not_equal(block, first);
	}
	assert_int_equal(roost_lease_block(lease, b, SECOND, &block), -EAGAIN);
	assert_int_equal(roost_lease_block(lease, b, SECOND + QUARANTINE_NS - 1,
					   &block),
			 -EAGAIN);
	assert_int_equal(roost_lease_block(lease, b, SECOND + QUARANTINE_NS,
					   &block),
			 0);
	assert_int_equal(block, first);
	assert_int_equal(roost_lease_block(lease, b, 9 * SECOND, &block),
			 -ENOSPC);
	roost_lease_destroy(lease);
}

/* Who starts and ends clients without end uses up its own share: others begin
 * as ever.
 */
static void remove__a_churning_user(void **state)
{
	struct roost_lease *lease;
	uint32_t unit, nb = 0;
	int ret = 0;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	while (ret == 0 && nb <= ROOST_LEASE_PREFIXES) {
		a = add_client(lease, 1000, 0);
		ret = roost_lease_prefix(lease, a, 0, &unit);
		roost_lease_client_remove(lease, a, 0);
		nb++;
	}
	assert_int_equal(ret, -EAGAIN);
	for (uint32_t i = 0; i < 100; i++) {
		a = add_client(lease, 1001, 0);
		assert_int_equal(roost_lease_prefix(lease, a, 0, &unit), 0);
	}
	a = add_client(lease, 1000, QUARANTINE_NS);
	assert_int_equal(roost_lease_prefix(lease, a, QUARANTINE_NS, &unit), 0);
	roost_lease_destroy(lease);
}

static void address__shared_or_own(void **state)
{
	struct roost_client_conf conf = client_conf(1);
	struct roost_lease *lease;
	uint16_t a, b, c;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_client(lease, 1000, 0);
	conf.nb_gids = 1;
	conf.gids[0] = gid_own;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &b), 0);
	assert_true(roost_lease_addr_is_of(
		lease, roost_lease_addr_find(lease, &gid_v4), a));
	assert_false(roost_lease_addr_is_of(
		lease, roost_lease_addr_find(lease, &gid_v4), b));
	assert_true(roost_lease_addr_is_of(
		lease, roost_lease_addr_find(lease, &gid_own), b));
	assert_false(roost_lease_addr_is_of(
		lease, roost_lease_addr_find(lease, &gid_own), a));
	/* Nobody gets what another has, and nothing stays half-done. */
	conf.nb_gids = 2;
	conf.gids[0] = (struct roost_gid){ .b = { 0xfd, [15] = 7 } };
	conf.gids[1] = gid_own;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &c),
			 -EADDRINUSE);
	conf.gids[1] = gid_v4;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &c),
			 -EADDRINUSE);
	assert_null(roost_lease_addr_find(lease, &conf.gids[0]));
	assert_int_equal(roost_lease_addr_add(lease, &gid_own), -EEXIST);
	roost_lease_client_remove(lease, b, 0);
	assert_int_equal(roost_lease_addr_add(lease, &gid_own), 0);
	roost_lease_addr_del(lease, &gid_own);
	assert_null(roost_lease_addr_find(lease, &gid_own));
	roost_lease_destroy(lease);
}

static void client__policy_must_make_sense(void **state)
{
	struct roost_client_conf conf = client_conf(1);
	struct roost_lease *lease;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	conf.weight = 0;
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &a), -EINVAL);
	conf = client_conf(1);
	conf.nb_gids = 1;
	conf.gids[0] = (struct roost_gid){ .b = { 0xff, 2, [15] = 1 } };
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &a), -EINVAL);
	conf = client_conf(1);
	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++)
		assert_int_equal(roost_lease_client_add(lease, &conf, 0, &a),
				 0);
	assert_int_equal(roost_lease_client_add(lease, &conf, 0, &a), -ENOSPC);
	roost_lease_destroy(lease);
}

/* Clients see whose each block is, now and after a restart. */
static void marks__are_those_of_the_lessees(void **state)
{
	static _Atomic uint32_t marks[ROOST_LEASE_BLOCKS];
	struct roost_lease *lease;
	uint32_t block, more, mark;
	uint8_t ticket[4096];
	uint16_t a, b;
	ptrdiff_t len;
	struct roost_client_conf conf = client_conf(1000);

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	roost_lease_show(lease, marks);
	a = add_client(lease, 1000, 0);
	assert_int_equal(roost_lease_block(lease, a, 0, &block), 0);
	assert_int_equal(roost_lease_block(lease, a, 0, &more), 0);
	mark = roost_lease_mark(lease, a);
	assert_int_not_equal(mark, 0);
	assert_int_equal(marks[block], mark);
	assert_int_equal(marks[more], mark);
	assert_int_equal(marks[more + 1], 0);
	len = roost_lease_issue(lease, a, ticket, sizeof(ticket));
	roost_lease_commit(lease, a);
	roost_lease_destroy(lease);
	lease = start_lease(&disk, SECOND);
	marks[block] = marks[more] = 0;
	roost_lease_show(lease, marks);
	assert_int_equal(marks[block], 0);
	assert_int_equal(roost_lease_present(lease, ticket, (size_t)len, &conf,
					     SECOND, &b),
			 0);
	assert_int_equal(b, a);
	assert_int_equal(marks[block], mark);
	assert_int_equal(marks[more], mark);
	roost_lease_client_remove(lease, a, SECOND);
	assert_int_equal(marks[block], 0);
	assert_int_equal(marks[more], 0);
	/* The next one in the slot has another mark. */
	b = add_client(lease, 1000, SECOND);
	assert_int_equal(b, a);
	assert_int_not_equal(roost_lease_mark(lease, b), mark);
	roost_lease_destroy(lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qpn__is_its_owners),
		cmocka_unit_test(qpn__of_no_qp),
		cmocka_unit_test(comm_id__is_its_owners),
		cmocka_unit_test(block__limit_of_qps),
		cmocka_unit_test(remove__numbers_in_quarantine),
		cmocka_unit_test(remove__a_churning_user),
		cmocka_unit_test(address__shared_or_own),
		cmocka_unit_test(client__policy_must_make_sense),
		cmocka_unit_test(marks__are_those_of_the_lessees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
