/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/engine/core/port_io.h"
#include "pmd_glue/host/arp.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/nd.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

/*
 * The host under test is b of the golden frames: 198.18.0.2 and fd00::2. What
 * it sends is kept here.
 */
#define SENT_MAX 16u

static struct {
	atomic_uint nb;
	struct golden_frame frames[SENT_MAX];
	bool kernel_owns; /* all addresses, if so */
} wire;

static struct roost_host *host;

static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	struct golden_frame *f = &wire.frames[wire.nb];

	assert_ptr_equal(ctx, &wire);
	if (wire.nb == SENT_MAX)
		return;
	assert_true(len_bytes <= sizeof(f->bytes));
	f->len_bytes = len_bytes;
	memcpy(f->bytes, frame, len_bytes);
	wire.nb++;
}

static void wake(void *ctx)
{
	(void)ctx;
}

static bool kernel_owns(void *ctx, const struct roost_gid *a)
{
	(void)ctx;
	(void)a;
	return wire.kernel_owns;
}

static int setup(void **state)
{
	struct roost_host_conf conf = {
		.routes.on_link = {
			.nb = 2,
			.v = {
				{ addr("198.18.0.2"), 24 },
				{ addr("fd00::2"), 64 },
			},
		},
		.routes.gw.v6 = addr("fe80::1"),
		.send = send_frame,
		.wake = wake,
		.kernel_owns = kernel_owns,
		.ctx = &wire,
	};

	memset(&wire, 0, sizeof(wire));
	memcpy(conf.mac, mac_b, 6);
	return roost_host_create(&conf, &host);
}

static int teardown(void **state)
{
	roost_host_destroy(host);
	return 0;
}

static void input(const struct golden_frame *f)
{
	struct golden_frame copy = *f;

	roost_host_input(host, copy.bytes, copy.len_bytes, roost_now_ns());
}

static void check_sent(const struct golden_frame *want)
{
	assert_int_equal(wire.nb, 1);
	assert_int_equal(wire.frames[0].len_bytes, want->len_bytes);
	assert_memory_equal(wire.frames[0].bytes, want->bytes, want->len_bytes);
}

static void host__answers_arp(void **state)
{
	input(&arp_request);
	check_sent(&arp_reply);
}

static void host__answers_solicitation(void **state)
{
	input(&nd_solicit);
	check_sent(&nd_advert);
}

static void host__defends_its_address(void **state)
{
	input(&nd_solicit_dad);
	check_sent(&nd_advert_all);
}

static void host__answers_ping(void **state)
{
	input(&echo4_request);
	check_sent(&echo4_reply);
	wire.nb = 0;
	input(&echo6_request);
	check_sent(&echo6_reply);
}

static void host__keeps_silent_for_the_kernel(void **state)
{
	wire.kernel_owns = true;
	input(&arp_request);
	input(&nd_solicit);
	input(&nd_solicit_dad);
	input(&echo4_request);
	input(&echo6_request);
	assert_int_equal(wire.nb, 0);
}

static void host__keeps_silent_for_others(void **state)
{
	struct golden_frame f = arp_request;

	f.bytes[41] = 77; /* asks for 198.18.0.77 */
	input(&f);
	input(&arp_reply); /* of its own MAC */
	input(&echo4_reply);
	f = echo4_request;
	f.bytes[5] ^= 1; /* to another station */
	input(&f);
	assert_int_equal(wire.nb, 0);
}

static int resolve(const char *sgid, const char *dgid,
		   struct roost_neigh **neigh)
{
	struct roost_gid s = addr(sgid), d = addr(dgid);

	return roost_host_resolve(host, &s, &d, neigh);
}

/* Who asked us for our address is known without asking back. */
static void host__learns_from_questions(void **state)
{
	struct roost_neigh *n;
	uint8_t mac[6];

	input(&arp_request);
	wire.nb = 0;
	assert_int_equal(resolve("198.18.0.2", "198.18.0.1", &n), 0);
	assert_int_equal(wire.nb, 0);
	roost_neigh_mac(n->mac_gen, mac);
	assert_memory_equal(mac, mac_a, 6);
	roost_host_neigh_put(host, n);
	input(&nd_solicit);
	wire.nb = 0;
	assert_int_equal(resolve("fd00::2", "fd00::1", &n), 0);
	assert_int_equal(wire.nb, 0);
	roost_host_neigh_put(host, n);
}

static void host__own_address_is_own_mac(void **state)
{
	struct roost_neigh *n;
	uint8_t mac[6];

	assert_int_equal(resolve("198.18.0.2", "198.18.0.2", &n), 0);
	roost_neigh_mac(n->mac_gen, mac);
	assert_memory_equal(mac, mac_b, 6);
	roost_host_neigh_put(host, n);
	assert_int_equal(wire.nb, 0);
}

static void host__no_route_is_told_at_once(void **state)
{
	struct roost_neigh *n;

	assert_int_equal(resolve("198.18.0.2", "10.0.0.1", &n), -EHOSTUNREACH);
	assert_int_equal(wire.nb, 0);
}

/* A link-local address would not come back from there. */
static void host__source_for_what_is_off_link(void **state)
{
	struct roost_gid d = addr("2001:db8::1"), own = addr("fd00::2"), s;

	assert_int_equal(roost_host_source(host, &d, &s), 0);
	assert_true(roost_gid_eq(&s, &own));
	d = addr("fe80::1");
	assert_int_equal(roost_host_source(host, &d, &s), 0);
	assert_true(roost_gid_is_link_local(&s));
}

/* Turns the host's timers while another thread waits in resolve. */
static void *answer_when_asked(void *arg)
{
	const struct golden_frame *answer = arg;
	struct golden_frame copy = *answer;

	while (atomic_load(&wire.nb) == 0)
		;
	roost_host_input(host, copy.bytes, copy.len_bytes, roost_now_ns());
	return NULL;
}

static void check_asks(const char *sgid, const char *dgid,
		       const struct golden_frame *answer)
{
	struct roost_neigh *n;
	pthread_t thread;
	uint8_t mac[6];

	wire.nb = 0;
	pthread_create(&thread, NULL, answer_when_asked,
		       (void *)(uintptr_t)answer);
	assert_int_equal(resolve(sgid, dgid, &n), 0);
	pthread_join(thread, NULL);
	roost_neigh_mac(n->mac_gen, mac);
	assert_memory_equal(mac, mac_a, 6);
	roost_host_neigh_put(host, n);
}

static void host__resolve_waits_for_the_answer(void **state)
{
	struct roost_arp arp = {
		.sender_ip = addr("198.18.0.1"),
		.target_ip = addr("198.18.0.2"),
	};
	struct roost_nd nd = {
		.type = ROOST_ND_ADVERT,
		.src = addr("fd00::1"),
		.dst = addr("fd00::2"),
		.target = addr("fd00::1"),
		.has_mac = true,
		.solicited = true,
		.override = true,
	};
	struct golden_frame answer = { 0 };

	memcpy(arp.sender_mac, mac_a, 6);
	memcpy(arp.target_mac, mac_b, 6);
	answer.len_bytes = roost_arp_build(&arp, mac_b, answer.bytes);
	check_asks("198.18.0.2", "198.18.0.1", &answer);
	memcpy(nd.mac, mac_a, 6);
	answer.len_bytes = roost_nd_build(&nd, mac_a, mac_b, answer.bytes);
	check_asks("fd00::2", "fd00::1", &answer);
}

static void *turn_timers(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
		roost_host_tick(host, roost_now_ns());
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return NULL;
}

static void host__nobody_answers(void **state)
{
	struct roost_neigh *n;
	pthread_t thread;
	int stop = 0;

	pthread_create(&thread, NULL, turn_timers, &stop);
	assert_int_equal(resolve("198.18.0.2", "198.18.0.99", &n), -ETIMEDOUT);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(wire.nb, 5);
	/* That is known now; the timers need not run to say so. */
	assert_int_equal(resolve("198.18.0.2", "198.18.0.99", &n), -ETIMEDOUT);
	assert_int_equal(wire.nb, 5);
}

static int meet(const char *sgid, const char *dgid, const uint8_t *mac)
{
	struct roost_gid s = addr(sgid), d = addr(dgid);

	return roost_host_meet(host, &s, &d, mac);
}

static void check_mac(const char *sgid, const char *dgid, const uint8_t *want)
{
	struct roost_neigh *n;
	uint8_t mac[6];

	assert_int_equal(resolve(sgid, dgid, &n), 0);
	roost_neigh_mac(n->mac_gen, mac);
	assert_memory_equal(mac, want, 6);
	roost_host_neigh_put(host, n);
}

/* Who speaks to us from the link need not be asked for; what we were told
 * before by itself, or in answer to us, counts more.
 */
static void host__meets_its_peers(void **state)
{
	static const uint8_t group[6] = { 1, 0, 0x5e, 1, 2, 3 };
	static const uint8_t other[6] = { 2, 9, 9, 9, 9, 9 };

	assert_int_equal(meet("198.18.0.2", "198.18.0.50", mac_a), 0);
	assert_int_equal(meet("fd00::2", "fd00::50", mac_a), 0);
	check_mac("198.18.0.2", "198.18.0.50", mac_a);
	check_mac("fd00::2", "fd00::50", mac_a);
	assert_int_equal(meet("198.18.0.2", "198.18.0.50", other), 0);
	check_mac("198.18.0.2", "198.18.0.50", mac_a);
	input(&arp_request); /* 198.18.0.1 is at mac_a */
	assert_int_equal(meet("198.18.0.2", "198.18.0.1", other), 0);
	check_mac("198.18.0.2", "198.18.0.1", mac_a);
	/* Nobody can be at these. */
	assert_int_equal(meet("198.18.0.2", "198.18.0.51", group), -EAGAIN);
	assert_int_equal(meet("198.18.0.2", "198.18.0.51", mac_b), -EAGAIN);
	/* Ourselves, always. */
	assert_int_equal(meet("198.18.0.2", "198.18.0.2", other), 0);
	check_mac("198.18.0.2", "198.18.0.2", mac_b);
}

/* Whose addresses these are, a frame cannot say; nor can an ARP request. */
static void host__meets_nobody_at_a_broadcast_address(void **state)
{
	static const uint8_t senders[][4] = {
		{ 198, 18, 0, 255 }, { 255, 255, 255, 255 }, { 127, 0, 0, 1 },
		{ 224, 0, 0, 1 },    { 0, 0, 0, 1 },
	};
	struct roost_neigh *n;

	assert_int_equal(meet("198.18.0.2", "198.18.0.255", mac_a),
			 -EHOSTUNREACH);
	for (size_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++) {
		struct golden_frame f = arp_request;

		memcpy(f.bytes + 28, senders[i], 4);
		input(&f);
		assert_int_equal(wire.nb, 0);
	}
	assert_int_equal(resolve("198.18.0.2", "127.0.0.1", &n), -EHOSTUNREACH);
}

/* A frame from off the link has the MAC of a router, and not always of ours. */
static void host__meets_nobody_from_off_link(void **state)
{
	wire.nb = 0;
	assert_int_equal(meet("198.18.0.2", "10.0.0.1", mac_a), -EHOSTUNREACH);
	assert_int_equal(meet("fd00::2", "2001:db8::1", mac_a), -EAGAIN);
	assert_int_equal(meet("fd00::2", "fe80::1", mac_a), 0);
	assert_int_equal(meet("fd00::2", "2001:db8::1", mac_a), 0);
	assert_int_equal(wire.nb, 0);
}

static void host__announces_itself(void **state)
{
	struct roost_arp arp;
	struct roost_nd nd;
	struct roost_gid b4 = addr("198.18.0.2"), b6 = addr("fd00::2");

	roost_host_link_up(host, roost_now_ns());
	assert_int_equal(wire.nb, 3); /* link-local, IPv4, IPv6 */
	assert_int_equal(roost_nd_parse(wire.frames[0].bytes,
					wire.frames[0].len_bytes, &nd),
			 0);
	assert_true(roost_gid_is_link_local(&nd.target));
	assert_int_equal(roost_arp_parse(wire.frames[1].bytes,
					 wire.frames[1].len_bytes, &arp),
			 0);
	assert_true(roost_gid_eq(&arp.sender_ip, &b4));
	assert_true(roost_gid_eq(&arp.target_ip, &b4));
	assert_int_equal(roost_nd_parse(wire.frames[2].bytes,
					wire.frames[2].len_bytes, &nd),
			 0);
	assert_true(roost_gid_eq(&nd.target, &b6));
	assert_true(nd.override);
	assert_false(nd.solicited);
}

/* What is new is announced and answered for, what is gone is neither. */
static void host__has_other_addresses(void **state)
{
	struct roost_prefixes addrs = {
		.nb = 2,
		.v = {
			{ addr("fd00::2"), 64 },
			{ addr("198.18.0.7"), 24 },
		},
	};
	struct roost_arp arp;

	roost_host_set_addrs(host, &addrs);
	assert_int_equal(wire.nb, 1);
	assert_int_equal(roost_arp_parse(wire.frames[0].bytes,
					 wire.frames[0].len_bytes, &arp),
			 0);
	assert_true(roost_gid_eq(&arp.sender_ip, &addrs.v[1].gid));
	wire.nb = 0;
	input(&arp_request); /* for 198.18.0.2 */
	assert_int_equal(wire.nb, 0);
	input(&nd_solicit);
	check_sent(&nd_advert);
	addrs.nb = 1;
	wire.nb = 0;
	roost_host_set_addrs(host, &addrs);
	assert_int_equal(wire.nb, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(host__answers_arp),
		TEST(host__answers_solicitation),
		TEST(host__defends_its_address),
		TEST(host__answers_ping),
		TEST(host__keeps_silent_for_the_kernel),
		TEST(host__keeps_silent_for_others),
		TEST(host__learns_from_questions),
		TEST(host__own_address_is_own_mac),
		TEST(host__no_route_is_told_at_once),
		TEST(host__source_for_what_is_off_link),
		TEST(host__resolve_waits_for_the_answer),
		TEST(host__nobody_answers),
		TEST(host__meets_its_peers),
		TEST(host__meets_nobody_at_a_broadcast_address),
		TEST(host__meets_nobody_from_off_link),
		TEST(host__announces_itself),
		TEST(host__has_other_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
