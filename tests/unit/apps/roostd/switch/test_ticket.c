/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"

#define TICKET_MAX 4096u

static struct roost_lease_state disk;

struct ticket {
	uint8_t bytes[TICKET_MAX];
	size_t len;
};

static void issue(struct roost_lease *lease, uint16_t client,
		  struct ticket *ticket)
{
	ptrdiff_t len = roost_lease_issue(lease, client, ticket->bytes,
					  sizeof(ticket->bytes));

	assert_true(len > 0);
	assert_int_equal(len, roost_lease_ticket_max(lease, client));
	ticket->len = (size_t)len;
}

/* A client with two blocks, a prefix and two claims. */
static uint16_t add_full(struct roost_lease *lease, uint32_t uid,
			 uint64_t service_id, uint64_t now_ns)
{
	const uint16_t client = add_client(lease, uid, now_ns);
	struct roost_claim claim = { .service_id = service_id,
				     .listens = true };
	uint32_t unit;

	assert_int_equal(roost_lease_block(lease, client, now_ns, &unit), 0);
	assert_int_equal(roost_lease_block(lease, client, now_ns, &unit), 0);
	assert_int_equal(roost_lease_prefix(lease, client, now_ns, &unit), 0);
	assert_int_equal(roost_lease_claim(lease, client, &claim, now_ns), 0);
	claim = (struct roost_claim){ .service_id =
					      0x1234567800000000u | service_id,
				      .family = ROOST_CM_FAMILY_IPV6,
				      .addr = gid_v6,
				      .reuseaddr = true,
				      .afonly = true };
	assert_int_equal(roost_lease_claim(lease, client, &claim, now_ns), 0);
	return client;
}

static int present(struct roost_lease *lease, const struct ticket *ticket,
		   uint32_t uid, uint64_t now_ns, uint16_t *client)
{
	const struct roost_client_conf conf = client_conf(uid);

	return roost_lease_present(lease, ticket->bytes, ticket->len, &conf,
				   now_ns, client);
}

static struct roost_lease *restart(struct roost_lease *lease, uint64_t now_ns)
{
	roost_lease_destroy(lease);
	return start_lease(&disk, now_ns);
}

static void present__has_all_back(void **state)
{
	struct ticket before, after;
	struct roost_lease *lease;
	uint16_t a, again;
	uint32_t qpn;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	qpn = qpn_of(lease, lease->clients[a].blocks.first, 9);
	issue(lease, a, &before);
	roost_lease_commit(lease, a);
	lease = restart(lease, SECOND);
	assert_int_equal(roost_lease_qpn_owner(lease, qpn), ROOST_CLIENT_NONE);
	assert_true(roost_lease_recovering(lease, SECOND));
	assert_int_equal(present(lease, &before, 1000, SECOND, &again), 0);
	assert_int_equal(again, a);
	assert_false(roost_lease_recovering(lease, SECOND));
	assert_int_equal(roost_lease_qpn_owner(lease, qpn), a);
	assert_int_equal(lease->clients[a].blocks.nb, 2);
	assert_int_equal(lease->clients[a].prefixes.nb, 1);
	assert_int_equal(roost_lease_listener(lease, 7,
					      roost_lease_addr_find(lease,
								    &gid_v4),
					      true),
			 a);
	issue(lease, a, &after);
	assert_int_equal(after.len, before.len);
	roost_lease_destroy(lease);
}

/* The daemon could not send the ticket that it issued: the one of before counts
 * still. If it could, that one is void.
 */
static void await__the_ticket_of_before(void **state)
{
	struct ticket before, after;
	struct roost_lease *lease;
	uint32_t serial;
	uint16_t a, again;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &before);
	roost_lease_commit(lease, a);
	lease = restart(lease, SECOND);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(present(lease, &before, 1000, SECOND, &again),
				 0);
		issue(lease, a, &after);
		if (i == 2)
			roost_lease_commit(lease, a);
		serial = disk.slots[a].serial;
		roost_lease_client_remove(lease, a, SECOND);
		assert_true(roost_lease_client_await(lease, a, serial, SECOND));
	}
	assert_int_equal(present(lease, &before, 1000, SECOND, &again),
			 -ESTALE);
	assert_int_equal(present(lease, &after, 1000, SECOND, &again), 0);
	roost_lease_destroy(lease);
}

static void recovering__nothing_new(void **state)
{
	const struct roost_client_conf conf = client_conf(5);
	struct roost_claim claim = { .service_id = 99 };
	struct ticket a_ticket, b_ticket;
	struct roost_lease *lease;
	uint16_t a, b, c;
	uint32_t unit;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	b = add_full(lease, 1001, 8, 0);
	issue(lease, a, &a_ticket);
	roost_lease_commit(lease, a);
	issue(lease, b, &b_ticket);
	roost_lease_commit(lease, b);
	lease = restart(lease, 0);
	assert_int_equal(present(lease, &a_ticket, 1000, 1, &a), 0);
	assert_int_equal(roost_lease_block(lease, a, 1, &unit), -EAGAIN);
	assert_int_equal(roost_lease_prefix(lease, a, 1, &unit), -EAGAIN);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 1), -EAGAIN);
	assert_int_equal(roost_lease_client_add(lease, &conf, 1, &c), -EAGAIN);
	assert_int_equal(present(lease, &b_ticket, 1001, 1, &b), 0);
	/* All are back. */
	assert_int_equal(roost_lease_client_add(lease, &conf, 1, &c), 0);
	assert_int_equal(roost_lease_block(lease, a, 1, &unit), 0);
	assert_int_equal(roost_lease_claim(lease, a, &claim, 1), 0);
	roost_lease_destroy(lease);
}

static void recovering__ends_with_the_grace(void **state)
{
	struct roost_lease *lease;
	struct ticket ticket;
	uint32_t block, other;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	block = lease->clients[a].blocks.first;
	issue(lease, a, &ticket);
	roost_lease_commit(lease, a);
	lease = restart(lease, 0);
	assert_true(roost_lease_recovering(lease, GRACE_NS - 1));
	assert_false(roost_lease_recovering(lease, GRACE_NS));
	assert_int_equal(present(lease, &ticket, 1000, GRACE_NS, &a),
			 -ETIMEDOUT);
	/* Its numbers are in quarantine; others are there at once. */
	b = add_client(lease, 1001, GRACE_NS);
	assert_int_equal(roost_lease_block(lease, b, GRACE_NS, &other), 0);
	assert_true(other > block);
	assert_true(lease->blocks.free_at_ns[block] ==
		    GRACE_NS + QUARANTINE_NS);
	/* Nor is it taken by the daemon after this one. */
	lease = restart(lease, GRACE_NS);
	assert_int_equal(present(lease, &ticket, 1000, GRACE_NS, &a), -ESTALE);
	roost_lease_destroy(lease);
}

static void present__forged(void **state)
{
	struct roost_lease_state other;
	struct ticket good, bad;
	struct roost_lease *lease;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &good);
	roost_lease_commit(lease, a);
	lease = restart(lease, 0);
	for (size_t i = 0; i < 8 * good.len; i++) {
		bad = good;
		bad.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(present(lease, &bad, 1000, 1, &a), -EBADMSG);
	}
	for (size_t len = 0; len < good.len; len++) {
		bad = good;
		bad.len = len;
		assert_int_equal(present(lease, &bad, 1000, 1, &a), -EBADMSG);
	}
	assert_int_equal(present(lease, &good, 1001, 1, &a), -EPERM);
	assert_int_equal(present(lease, &good, 1000, 1, &a), 0);
	/* Under another key. */
	other = disk;
	other.mac_key[0] ^= 1;
	roost_lease_destroy(lease);
	lease = start_lease(&other, 0);
	assert_int_equal(present(lease, &good, 1000, 1, &a), -EBADMSG);
	roost_lease_destroy(lease);
}

static void present__twice(void **state)
{
	struct roost_lease *lease;
	struct ticket ticket;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &ticket);
	roost_lease_commit(lease, a);
	/* To the daemon that wrote it. */
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), -EALREADY);
	lease = restart(lease, 0);
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), 0);
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), -EALREADY);
	/* The client goes, and somebody kept its ticket. */
	roost_lease_client_remove(lease, a, 0);
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), -ESTALE);
	lease = restart(lease, 0);
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), -ESTALE);
	roost_lease_destroy(lease);
}

static void present__of_a_dead_client(void **state)
{
	struct ticket dead, alive;
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &dead);
	roost_lease_commit(lease, a);
	roost_lease_client_remove(lease, a, 0);
	/* The next client is in the same slot, has the same claims and, after
	 * the quarantine, might have the same numbers.
	 */
	b = add_full(lease, 1000, 7, 2 * QUARANTINE_NS);
	assert_int_equal(a, b);
	issue(lease, b, &alive);
	roost_lease_commit(lease, b);
	lease = restart(lease, 0);
	assert_int_equal(present(lease, &dead, 1000, 0, &a), -ESTALE);
	assert_int_equal(present(lease, &alive, 1000, 0, &b), 0);
	roost_lease_destroy(lease);
}

static void present__last_ticket_only(void **state)
{
	struct roost_claim claim = { .service_id = 7, .listens = true };
	struct ticket old, last, next;
	struct roost_lease *lease;
	uint16_t a, b;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &old);
	roost_lease_commit(lease, a);
	assert_int_equal(roost_lease_unclaim(lease, a, &claim), 0);
	issue(lease, a, &last);
	roost_lease_commit(lease, a);
	b = add_full(lease, 1001, 7, 0);
	issue(lease, b, &next);
	roost_lease_commit(lease, b);
	/* The claim is another's now. */
	lease = restart(lease, 0);
	assert_int_equal(present(lease, &old, 1000, 0, &a), -ESTALE);
	assert_int_equal(present(lease, &next, 1001, 0, &b), 0);
	assert_int_equal(present(lease, &last, 1000, 0, &a), 0);
	roost_lease_destroy(lease);
}

/* The daemon ended between the giving of a ticket and its commit: the client
 * has the one or the other.
 */
static void present__given_but_not_committed(void **state)
{
	struct ticket before, given, next;

	for (unsigned int has_it = 0; has_it < 2; has_it++) {
		struct roost_lease *lease;
		uint32_t unit;
		uint16_t a;

		fresh_state(&disk);
		lease = start_lease(&disk, 0);
		a = add_full(lease, 1000, 7, 0);
		issue(lease, a, &before);
		roost_lease_commit(lease, a);
		assert_int_equal(roost_lease_block(lease, a, 0, &unit), 0);
		issue(lease, a, &given);
		lease = restart(lease, 0);
		assert_int_equal(present(lease, has_it ? &given : &before, 1000,
					 0, &a),
				 0);
		assert_int_equal(lease->clients[a].blocks.nb, 2 + has_it);
		/* The one that comes next voids both. */
		issue(lease, a, &next);
		roost_lease_commit(lease, a);
		lease = restart(lease, 0);
		assert_int_equal(present(lease, &before, 1000, 0, &a), -ESTALE);
		assert_int_equal(present(lease, &given, 1000, 0, &a), -ESTALE);
		assert_int_equal(present(lease, &next, 1000, 0, &a), 0);
		roost_lease_destroy(lease);
	}
}

/* What the client leases does not fit: the ticket before says too much. */
static void issue__without_room_voids(void **state)
{
	struct roost_claim claim = { .service_id = 7, .listens = true };
	struct roost_lease *lease;
	struct ticket ticket;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &ticket);
	roost_lease_commit(lease, a);
	assert_int_equal(roost_lease_unclaim(lease, a, &claim), 0);
	assert_int_equal(roost_lease_issue(lease, a, (uint8_t[8]){ 0 }, 8),
			 -ENOSPC);
	lease = restart(lease, 0);
	assert_false(roost_lease_recovering(lease, 0));
	assert_int_equal(present(lease, &ticket, 1000, 0, &a), -ESTALE);
	roost_lease_destroy(lease);
}

static void present__addresses_by_the_policy_of_now(void **state)
{
	struct roost_client_conf conf = client_conf(1000);
	struct roost_lease *lease;
	struct ticket ticket;
	uint16_t a;

	fresh_state(&disk);
	lease = start_lease(&disk, 0);
	a = add_full(lease, 1000, 7, 0);
	issue(lease, a, &ticket);
	roost_lease_commit(lease, a);
	lease = restart(lease, 0);
	conf.nb_gids = 1;
	conf.gids[0] = gid_v4;
	assert_int_equal(roost_lease_present(lease, ticket.bytes, ticket.len,
					     &conf, 0, &a),
			 -EADDRINUSE);
	conf.gids[0] = gid_own;
	assert_int_equal(roost_lease_present(lease, ticket.bytes, ticket.len,
					     &conf, 0, &a),
			 0);
	roost_lease_destroy(lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(present__has_all_back),
		cmocka_unit_test(await__the_ticket_of_before),
		cmocka_unit_test(recovering__nothing_new),
		cmocka_unit_test(recovering__ends_with_the_grace),
		cmocka_unit_test(present__forged),
		cmocka_unit_test(present__twice),
		cmocka_unit_test(present__of_a_dead_client),
		cmocka_unit_test(present__last_ticket_only),
		cmocka_unit_test(present__given_but_not_committed),
		cmocka_unit_test(issue__without_room_voids),
		cmocka_unit_test(present__addresses_by_the_policy_of_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
