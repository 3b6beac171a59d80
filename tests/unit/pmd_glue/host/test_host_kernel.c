/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A host beside a kernel and beside stations that want its addresses: whose
 * routes it goes by, whom it defends, and what it is after a change of MAC.
 */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/port_io.h"
#include "pmd_glue/host/arp.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/nd.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define SENT_MAX 16u

static struct {
	unsigned int nb_sent;
	struct golden_frame sent[SENT_MAX];
	unsigned int nb_conflicts;
	struct roost_gid claimed;
	uint8_t claimer[6];
	bool kernel_owns;
	/* What the kernel says of a route; asked: so often. */
	unsigned int nb_asked;
	int route_ret;
	struct roost_nl_link_route route;
} world;

static struct roost_host *host;

static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct golden_frame *f = &world.sent[world.nb_sent];

	(void)ctx;
	assert_true(world.nb_sent < SENT_MAX && len_bytes <= sizeof(f->bytes));
	f->len_bytes = len_bytes;
	memcpy(f->bytes, frame, len_bytes);
	world.nb_sent++;
}

static void wake(void *ctx)
{
	(void)ctx;
}

static bool kernel_owns(void *ctx, const struct roost_gid *a)
{
	(void)ctx;
	(void)a;
	return world.kernel_owns;
}

static int kernel_route(void *ctx, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route)
{
	(void)ctx;
	(void)sgid;
	world.nb_asked++;
	*route = world.route;
	if (roost_gid_is_zero(&route->hop))
		route->hop = *dgid;
	return world.route_ret;
}

static void conflict(void *ctx, const struct roost_gid *a, const uint8_t mac[6])
{
	(void)ctx;
	world.nb_conflicts++;
	world.claimed = *a;
	memcpy(world.claimer, mac, 6);
}

static struct roost_host_conf conf(void)
{
	struct roost_host_conf c = {
		.routes.on_link = {
			.nb = 2,
			.v = {
				{ addr("198.18.0.2"), 24 },
				{ addr("fd00::2"), 64 },
			},
		},
		.send = send_frame,
		.wake = wake,
		.kernel_owns = kernel_owns,
		.kernel_route = kernel_route,
		.conflict = conflict,
	};

	memcpy(c.mac, mac_b, 6);
	return c;
}

static int make(const struct roost_host_conf *c)
{
	memset(&world, 0, sizeof(world));
	return roost_host_create(c, &host);
}

static int setup(void **state)
{
	struct roost_host_conf c = conf();

	return make(&c);
}

static int setup_kernels_addrs(void **state)
{
	struct roost_host_conf c = conf();

	c.addrs_are_kernels = true;
	return make(&c);
}

static int setup_with_gateway(void **state)
{
	struct roost_host_conf c = conf();

	c.addrs_are_kernels = true;
	c.routes.gw.v4 = addr("198.18.0.254");
	return make(&c);
}

static int teardown(void **state)
{
	roost_host_destroy(host);
	return 0;
}

/* ---- routes -------------------------------------------------------------- */

/* Who is asked for, on the way to dgid. */
static void check_hop(const char *sgid, const char *dgid, const char *hop)
{
	struct roost_gid s = addr(sgid), d = addr(dgid), h = addr(hop);
	struct roost_neigh *n;
	struct roost_arp arp;
	struct roost_nd nd;

	world.nb_sent = 0;
	assert_int_equal(roost_host_ask(host, &s, &d, NULL, &n), 0);
	roost_host_tick(host, roost_now_ns());
	assert_int_equal(world.nb_sent, 1);
	if (roost_gid_is_v4(&h)) {
		assert_int_equal(roost_arp_parse(world.sent[0].bytes,
						 world.sent[0].len_bytes, &arp),
				 0);
		assert_true(roost_gid_eq(&arp.target_ip, &h));
	} else {
		assert_int_equal(roost_nd_parse(world.sent[0].bytes,
						world.sent[0].len_bytes, &nd),
				 0);
		assert_true(roost_gid_eq(&nd.target, &h));
	}
	roost_host_neigh_put(host, n);
}

static void check_source(const char *dgid, int ret, const char *source)
{
	struct roost_gid d = addr(dgid), s;

	assert_int_equal(roost_host_source(host, &d, &s), ret);
	if (ret == 0) {
		struct roost_gid want = addr(source);

		assert_true(roost_gid_eq(&s, &want));
	}
}

/* Addresses of our own: what is on the link is no question for the kernel. */
static void host_kernel__routes_beside_our_own(void **state)
{
	check_hop("198.18.0.2", "198.18.0.7", "198.18.0.7");
	assert_int_equal(world.nb_asked, 0);
	world.route.hop = addr("198.18.0.253");
	check_hop("198.18.0.2", "10.0.0.1", "198.18.0.253");
	check_source("10.0.0.2", 0, "198.18.0.2");
	world.route_ret = -EHOSTUNREACH;
	check_source("10.0.0.3", -EHOSTUNREACH, NULL);
}

/* Addresses of the kernel's: it may know of a closer route. */
static void host_kernel__routes_of_its_own_addresses(void **state)
{
	check_hop("198.18.0.2", "198.18.0.7", "198.18.0.7");
	assert_int_equal(world.nb_asked, 1);
	world.route.hop = addr("198.18.0.253");
	check_hop("198.18.0.2", "198.18.0.8", "198.18.0.253");
	world.route.hop = addr("fe80::9");
	check_hop("fd00::2", "fd00:9::1", "fe80::9");
	/* RFC 5549: an IPv4 address behind an IPv6 neighbour. */
	world.route.hop = addr("fe80::a");
	check_hop("198.18.0.2", "10.0.0.1", "fe80::a");
	/* One that an administrator added is unknown to it. */
	world.route_ret = -EHOSTUNREACH;
	check_hop("198.18.0.2", "198.18.0.9", "198.18.0.9");
}

static void host_kernel__configured_gateway_goes_first(void **state)
{
	world.route.hop = addr("198.18.0.253");
	check_hop("198.18.0.2", "10.0.0.1", "198.18.0.254");
	world.route.hop = addr("fe80::9");
	check_hop("fd00::2", "fd00:9::1", "fe80::9");
}

static void host_kernel__source_as_it_prefers(void **state)
{
	world.route.hop = addr("198.18.0.253");
	world.route.source = addr("198.18.0.2");
	check_source("10.0.0.1", 0, "198.18.0.2");
	/* One that is not ours is of no use. */
	world.route.source = addr("198.18.0.99");
	check_source("10.0.0.1", 0, "198.18.0.2");
}

static void host_kernel__is_not_asked_for_the_link_local(void **state)
{
	world.route.hop = addr("fe80::9");
	check_hop("fd00::2", "fe80::7", "fe80::7");
	assert_int_equal(world.nb_asked, 0);
}

/* ---- others that have our address ---------------------------------------- */

static void input_at(const struct golden_frame *f, uint64_t now_ns)
{
	struct golden_frame copy = *f;

	roost_host_input(host, copy.bytes, copy.len_bytes, now_ns);
}

/* From the station a: that 198.18.0.2 is at its own MAC. */
static struct golden_frame arp_claim(bool is_request, const char *target)
{
	struct roost_arp arp = {
		.is_request = is_request,
		.sender_ip = addr("198.18.0.2"),
		.target_ip = addr(target),
	};
	struct golden_frame f;

	memcpy(arp.sender_mac, mac_a, 6);
	f.len_bytes = roost_arp_build(&arp, mac_b, f.bytes);
	return f;
}

static void check_defence(const char *claimed)
{
	struct roost_gid gid = addr(claimed);

	assert_int_equal(world.nb_conflicts, 1);
	assert_true(roost_gid_eq(&world.claimed, &gid));
	assert_memory_equal(world.claimer, mac_a, 6);
	assert_int_equal(world.nb_sent, 1);
}

static void host_kernel__defends_by_one_announcement(void **state)
{
	struct golden_frame f = arp_claim(true, "198.18.0.2");
	struct roost_arp arp;

	input_at(&f, 1);
	check_defence("198.18.0.2");
	assert_int_equal(roost_arp_parse(world.sent[0].bytes,
					 world.sent[0].len_bytes, &arp),
			 0);
	assert_true(roost_gid_eq(&arp.sender_ip, &arp.target_ip));
	assert_memory_equal(arp.sender_mac, mac_b, 6);
	/* In whatever words, and once. */
	input_at(&f, 2);
	f = arp_claim(false, "198.18.0.3");
	input_at(&f, 3);
	assert_int_equal(world.nb_sent, 1);
	assert_int_equal(world.nb_conflicts, 1);
}

static void host_kernel__defends_ipv6(void **state)
{
	struct roost_nd nd = {
		.type = ROOST_ND_ADVERT,
		.src = addr("fd00::2"),
		.dst = addr("ff02::1"),
		.target = addr("fd00::2"),
		.has_mac = true,
		.override = true,
	};
	struct golden_frame f;
	struct roost_nd said;

	memcpy(nd.mac, mac_a, 6);
	f.len_bytes = roost_nd_build(&nd, mac_a, mac_b, f.bytes);
	input_at(&f, 1);
	check_defence("fd00::2");
	assert_int_equal(roost_nd_parse(world.sent[0].bytes,
					world.sent[0].len_bytes, &said),
			 0);
	assert_true(said.override);
	assert_memory_equal(said.mac, mac_b, 6);
}

static void host_kernel__our_own_voice_is_no_claim(void **state)
{
	input_at(&arp_reply, 1);
	input_at(&nd_advert, 1);
	assert_int_equal(world.nb_conflicts, 0);
}

static void host_kernel__the_kernel_defends_its_own(void **state)
{
	struct golden_frame f = arp_claim(true, "198.18.0.2");

	world.kernel_owns = true;
	input_at(&f, 1);
	assert_int_equal(world.nb_conflicts, 0);
	assert_int_equal(world.nb_sent, 0);
}

/* ---- another MAC --------------------------------------------------------- */

static void host_kernel__another_mac(void **state)
{
	static const uint8_t mac[6] = { 2, 9, 9, 9, 9, 9 };
	struct roost_gid s = addr("198.18.0.2"), d = addr("198.18.0.1");
	struct roost_gid own = roost_nd_link_local(mac), self;
	struct roost_neigh *n;
	struct roost_arp arp;
	struct roost_nd nd;
	uint64_t before;

	input_at(&arp_request, roost_now_ns());
	assert_int_equal(roost_host_ask(host, &s, &d, NULL, &n), 0);
	before = n->mac_gen;
	world.nb_sent = 0;
	/* The kernel's addresses, too. */
	world.kernel_owns = true;
	roost_host_set_mac(host, mac);
	assert_int_equal(world.nb_sent, 3);
	assert_int_equal(roost_nd_parse(world.sent[0].bytes,
					world.sent[0].len_bytes, &nd),
			 0);
	assert_true(roost_gid_eq(&nd.target, &own));
	assert_int_equal(roost_arp_parse(world.sent[1].bytes,
					 world.sent[1].len_bytes, &arp),
			 0);
	assert_memory_equal(arp.sender_mac, mac, 6);
	/* The same neighbour, but paths have to look. */
	assert_int_equal(n->mac_gen >> 16, before >> 16);
	assert_int_not_equal(n->mac_gen, before);
	roost_host_neigh_put(host, n);
	assert_int_equal(roost_host_source(host, &own, &self), 0);
	assert_true(roost_gid_eq(&self, &own));
	assert_int_equal(roost_host_ask(host, &s, &s, NULL, &n), 0);
	assert_int_equal(n->mac_gen >> 16, roost_neigh_mac_gen(mac, 0) >> 16);
	/* It answers with it. */
	world.kernel_owns = false;
	world.nb_sent = 0;
	input_at(&arp_request, roost_now_ns());
	assert_int_equal(world.nb_sent, 1);
	assert_memory_equal(world.sent[0].bytes + 6, mac, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(host_kernel__routes_beside_our_own),
		cmocka_unit_test_setup_teardown(
			host_kernel__routes_of_its_own_addresses,
			setup_kernels_addrs, teardown),
		cmocka_unit_test_setup_teardown(
			host_kernel__configured_gateway_goes_first,
			setup_with_gateway, teardown),
		cmocka_unit_test_setup_teardown(
			host_kernel__source_as_it_prefers, setup_kernels_addrs,
			teardown),
		cmocka_unit_test_setup_teardown(
			host_kernel__is_not_asked_for_the_link_local,
			setup_kernels_addrs, teardown),
		TEST(host_kernel__defends_by_one_announcement),
		TEST(host_kernel__defends_ipv6),
		TEST(host_kernel__our_own_voice_is_no_claim),
		TEST(host_kernel__the_kernel_defends_its_own),
		TEST(host_kernel__another_mac),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
