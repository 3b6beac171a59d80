/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The policy as clients meet it, also those that ask for more than they may. */

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/roostd/admit.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct client a, b, c;
static struct roostd_service service;
static struct roostd_policy *const guests = &service.policies[0];

static int setup_policy(void **state)
{
	if (setup(state))
		return -1;
	roostd_service_init(&service);
	service.nb_policies = 1;
	strcpy(guests->name, "guests");
	port.service = &service;
	return 0;
}

/* Ask for a seat, and return the status. */
static int try(struct client *who)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = 1,
		.attach = { .command = "test", .seat = SEAT },
	};
	int status;

	c_connect(who);
	assert_int_equal(roost_shm_memory_make(&client_shape, &who->ours), 0);
	assert_int_equal(roost_share_send(who->socket, &msg, NULL, 0,
					  &who->ours.fd),
			 0);
	pump();
	assert_int_equal(c_receive(who), 0);
	assert_int_equal(who->packet.msg.type, ROOST_SHARE_ATTACHED);
	status = who->packet.msg.status;
	roost_share_packet_close(&who->packet);
	return status;
}

static void assert_refused(struct client *who, int status, const char *text)
{
	char line[ROOST_SHARE_TAIL_MAX + 1] = "";

	assert_int_equal(try(who), status);
	memcpy(line, who->packet.tail, who->packet.msg.tail_bytes);
	assert_string_equal(line, text);
	assert_true(c_is_cut_off(who));
	c_close(who);
}

static void admit__so_many_clients_of_a_user(void **state)
{
	char line[128];

	guests->max_clients = 2;
	snprintf(line, sizeof(line),
		 "policy 'guests' allows 2 clients of user %u; end one of them",
		 getuid());
	c_attach(&a);
	c_attach(&b);
	for (int i = 0; i < 100; i++)
		assert_refused(&c, -EDQUOT, line);
	assert_int_equal(port.nb_attached, 2);
	/* One that goes makes room, at once. */
	c_close(&a);
	c_attach(&a);
	assert_refused(&c, -EDQUOT, line);
	c_close(&a);
	c_close(&b);
}

/* Six are less than three times as many as the two that are left. */
static void admit__places_for_other_users(void **state)
{
	struct client many[6];
	char line[128];

	snprintf(line, sizeof(line),
		 "user %u has 6 of 8 places, and others get the rest; end one, "
		 "or let a policy say how many clients",
		 getuid());
	port.is_hub = false;
	port.max_attached = 8;
	for (int i = 0; i < 6; i++)
		c_attach(&many[i]);
	assert_refused(&c, -EDQUOT, line);
	c_close(&many[0]);
	c_attach(&many[0]);
	assert_refused(&c, -EDQUOT, line);
	/* Who has a number in the policy has that many. */
	guests->max_clients = 7;
	c_attach(&a);
	c_close(&a);
	/* All of a hub is one user's. */
	guests->max_clients = UINT32_MAX;
	port.is_hub = true;
	c_attach(&a);
	c_close(&a);
	for (int i = 0; i < 6; i++)
		c_close(&many[i]);
}

static void admit__nobody_of_a_user(void **state)
{
	char line[128];

	guests->max_clients = 0;
	snprintf(line, sizeof(line),
		 "policy 'guests' allows 0 clients of user %u; ask the "
		 "administrator",
		 getuid());
	assert_refused(&a, -EDQUOT, line);
}

static void admit__no_policy_is_no_entrance(void **state)
{
	char line[128];

	guests->users.nb = 1;
	guests->users.v[0] = getuid() + 1;
	snprintf(line, sizeof(line),
		 "no policy is for user %u or a group of the user's; ask the "
		 "administrator for one",
		 getuid());
	assert_refused(&a, -EACCES, line);
}

/* Whoever connects has its groups of that moment. */
static void admit__groups_are_the_kernels_word(void **state)
{
	const gid_t groups[] = { 4711, 4712 };
	gid_t before[64];
	int nb = getgroups(64, before);

	if (nb < 0 || setgroups(2, groups) != 0)
		skip();
	guests->groups.nb = 1;
	guests->groups.v[0] = 4712;
	assert_int_equal(try(&a), 0);
	assert_string_equal(LIST_FIRST(&port.clients)->policy, "guests");
	assert_int_equal(setgroups((size_t)nb, before), 0);
	assert_int_equal(try(&b), -EACCES);
	c_close(&a);
	c_close(&b);
}

/* A client that asks for more numbers than it may, again and again. */
static void admit__queue_pairs(void **state)
{
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };

	guests->max_qps = 2 * ROOST_LEASE_BLOCK_LEN;
	c_attach(&a);
	assert_int_equal(a.granted.max_qps, 128);
	assert_int_equal(c_ask(&a, qpns), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(c_ask(&a, qpns), -EDQUOT);
		assert_string_equal(a.packet.msg.reply.reason,
				    "policy 'guests' allows 128 queue pairs a "
				    "client; use fewer");
	}
	assert_int_equal(port.lease->clients[a.granted.client].blocks.nb, 2);
	c_close(&a);
}

static void admit__services_and_memberships(void **state)
{
	struct roost_share_msg claim = {
		.type = ROOST_SHARE_CLAIM,
		.claim = { .service_id = 0x01060000 + 7471,
			   .family = ROOST_CM_FAMILY_IPV4,
			   .listens = 1 },
	};
	struct roost_share_msg join = { .type = ROOST_SHARE_JOIN };

	guests->max_services = 1;
	guests->max_memberships = 1;
	c_attach(&a);
	assert_int_equal(c_ask(&a, claim), 0);
	claim.claim.service_id++;
	assert_int_equal(c_ask(&a, claim), -EDQUOT);
	assert_string_equal(a.packet.msg.reply.reason,
			    "policy 'guests' allows 1 service a client; use "
			    "fewer port numbers");
	join.addr.dgid = gid_group;
	assert_int_equal(c_ask(&a, join), 0);
	join.addr.dgid.b[15]++;
	assert_int_equal(c_ask(&a, join), -EDQUOT);
	assert_string_equal(a.packet.msg.reply.reason,
			    "policy 'guests' allows 1 multicast group a "
			    "client; leave one");
	c_close(&a);
}

static void admit__little_memory_is_a_small_ring(void **state)
{
	guests->memory_bytes = 512 << 10;
	c_attach(&a);
	assert_true(a.theirs.size_bytes <= 512 << 10);
	assert_int_equal(a.theirs.shape.nb_slots, 32);
	c_close(&a);
}

/* Each client has an address of its own, and there is one. */
static void admit__an_address_of_its_own(void **state)
{
	const struct roost_gid own = port.facts.gids[1];

	roost_lease_addr_del(port.lease, &own);
	guests->addrs = (struct roost_prefixes){ .nb = 2, .v[1].gid = own };
	guests->addrs.v[0].gid = gid_peer_v4; /* not the port's */
	c_attach(&a);
	assert_true(roost_gid_eq(&a.granted.own_gid, &own));
	assert_refused(&b, -EDQUOT,
		       "policy 'guests' allows 2 addresses, one a client; end "
		       "a client that has one");
	c_close(&a);
	c_attach(&b);
	assert_true(roost_gid_eq(&b.granted.own_gid, &own));
	c_close(&b);
}

/* A client of the daemon before has the one again that it had, and counts as
 * little as it did then.
 */
static void admit__an_address_that_it_had(void **state)
{
	const struct roost_gid first = port.facts.gids[0];
	const struct roost_gid own = port.facts.gids[1];
	struct roostd_admission admission;
	char refusal[ROOSTD_REFUSAL_MAX];
	struct roostd_client *session;

	roost_lease_addr_del(port.lease, &first);
	roost_lease_addr_del(port.lease, &own);
	guests->addrs.nb = 2;
	guests->addrs.v[0].gid = first;
	guests->addrs.v[1].gid = own;
	guests->max_clients = 0;
	c_connect(&a);
	pump();
	session = LIST_FIRST(&port.clients);
	assert_int_equal(roostd_admit(&port, session, NULL, &admission,
				      refusal),
			 -EDQUOT);
	assert_int_equal(roostd_admit(&port, session, &own, &admission,
				      refusal),
			 0);
	assert_true(roost_gid_eq(&admission.conf.gids[0], &own));
	/* That of nobody: another one. */
	assert_int_equal(roostd_admit(&port, session, &gid_peer_v4, &admission,
				      refusal),
			 0);
	assert_true(roost_gid_eq(&admission.conf.gids[0], &first));
	c_close(&a);
}

/* ---- policies that change ------------------------------------------------ */

static void admit__new_limits_drop_nobody(void **state)
{
	struct roost_share_msg qpns = { .type = ROOST_SHARE_QPNS };
	const struct roost_client_conf *conf;

	c_attach(&a);
	c_attach(&b);
	assert_int_equal(c_ask(&a, qpns), 0);
	conf = &port.lease->clients[a.granted.client].conf;
	strcpy(guests->name, "fewer");
	guests->max_qps = 64;
	guests->max_clients = 1;
	guests->weight = 5;
	guests->rate_bits_per_s = 8000000;
	guests->direct = false;
	roostd_admit_again(&port);
	assert_int_equal(port.nb_attached, 2);
	assert_int_equal(port.lease->clients[a.granted.client].blocks.nb, 2);
	assert_int_equal(conf->weight, 5);
	assert_int_equal(conf->rate_bytes_per_s, 1000000);
	assert_int_equal(conf->uid, getuid());
	assert_false(port.by_slot[a.granted.client]->direct);
	assert_int_equal(c_ask(&a, qpns), -EDQUOT);
	assert_string_equal(a.packet.msg.reply.reason,
			    "policy 'fewer' allows 64 queue pairs a client; "
			    "use fewer");
	/* One of the two goes, and there is still no room. */
	c_close(&b);
	assert_int_equal(try(&b), -EDQUOT);
	c_close(&b);
	/* No policy is for it any more: it keeps what it had. */
	guests->users.nb = 1;
	guests->users.v[0] = getuid() + 1;
	guests->weight = 9;
	roostd_admit_again(&port);
	assert_int_equal(conf->weight, 5);
	assert_int_equal(port.nb_attached, 1);
	c_close(&a);
}

/* What the service forbids is forbidden to those without a policy too. */
static void admit__without_a_policy_no_direct_rings(void **state)
{
	c_attach(&a);
	assert_true(port.by_slot[a.granted.client]->direct);
	guests->users.nb = 1;
	guests->users.v[0] = getuid() + 1;
	roostd_admit_again(&port);
	assert_true(port.by_slot[a.granted.client]->direct);
	service.direct = false;
	roostd_admit_again(&port);
	assert_false(port.by_slot[a.granted.client]->direct);
	assert_int_equal(port.nb_attached, 1);
	c_close(&a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_policy, teardown)
	const struct CMUnitTest tests[] = {
		TEST(admit__so_many_clients_of_a_user),
		TEST(admit__places_for_other_users),
		TEST(admit__nobody_of_a_user),
		TEST(admit__no_policy_is_no_entrance),
		TEST(admit__groups_are_the_kernels_word),
		TEST(admit__queue_pairs),
		TEST(admit__services_and_memberships),
		TEST(admit__little_memory_is_a_small_ring),
		TEST(admit__an_address_of_its_own),
		TEST(admit__an_address_that_it_had),
		TEST(admit__new_limits_drop_nobody),
		TEST(admit__without_a_policy_no_direct_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
