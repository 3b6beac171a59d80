/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A port behind a switch: a real one of EAL, whose frames come back to it. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <roost/config.h>
#include "lib/config/resolve.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/uplink.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define MS 1000000ull
#define MARK 0xfe /* the last byte of our own frames */

static struct roost_config config;
static struct roost_uplink *up;
static struct {
	unsigned int nb_ours, nb_others;
	unsigned int to_send;
	const uint8_t *frame; /* what is sent; NULL: one of ours */
	size_t frame_bytes;
	bool wants_all;          /* the host gets nothing */
	unsigned int nb_reports; /* of the group, to routers */
} world;

static const uint8_t group[4] = { 239, 1, 2, 3 };

static bool receive(void *arg, unsigned int worker, const uint8_t *frame,
		    uint32_t len_bytes, const uint8_t *rest,
		    uint32_t rest_bytes)
{
	assert_null(rest);
	assert_int_equal(rest_bytes, 0);
	assert_ptr_equal(arg, &world);
	if (frame[len_bytes - 1] == MARK) {
		world.nb_ours++;
		return false;
	}
	world.nb_others++;
	if (frame[12] == 0x08 && frame[23] == 2 &&
	    memmem(frame + 34, len_bytes - 34, group, sizeof(group)))
		world.nb_reports++;
	return !world.wants_all;
}

static void transmit(void *arg, unsigned int worker)
{
	uint8_t ours[100] = { [12] = 0x88, [13] = 0xb5, [99] = MARK };
	const uint8_t *bytes = world.frame ? world.frame : ours;
	const size_t len = world.frame ? world.frame_bytes : sizeof(ours);

	while (world.to_send > 0) {
		struct rte_mbuf *pkt =
			roost_uplink_copy(up, bytes, 14, bytes + 14,
					  (uint32_t)len - 14);

		assert_non_null(pkt);
		if (!roost_uplink_send(up, worker, pkt)) {
			roost_uplink_discard(pkt);
			return;
		}
		world.to_send--;
	}
}

static const struct roost_uplink_ops ops = {
	.receive = receive,
	.transmit = transmit,
};

static int setup(void **state)
{
	static unsigned int nb_rings;

	memset(&world, 0, sizeof(world));
	/* One is all that it has. */
	config = (struct roost_config){ .nb_ports = 1, .nb_workers = 4 };
	/* Another one for each test: frames stay in the ring of the last. */
	snprintf(config.ports[0].devargs, sizeof(config.ports[0].devargs),
		 "net_ring%u", nb_rings++);
	config.ports[0].ips.nb = 1;
	config.ports[0].ips.v[0] = (struct roost_prefix){
		.gid = addr("198.18.0.1"),
		.len_bits = 24,
	};
	return roost_uplink_open(&config, 0, &ops, &world, &up);
}

static int teardown(void **state)
{
	roost_uplink_close(up);
	return 0;
}

static bool is_ready(int timeout_ms)
{
	struct pollfd fd = { .fd = roost_uplink_fd(up, 0), .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static void run(unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++)
		roost_uplink_run(up, 0, roost_now_ns());
}

/* Until *word is not zero, or for 5 s. */
static void run_until(bool (*is_done)(void))
{
	const uint64_t until_ns = roost_now_ns() + 5000 * MS;

	while (!is_done() && roost_now_ns() < until_ns) {
		run(1);
		usleep(200);
	}
	assert_true(is_done());
}

static void uplink__frames_go_and_come(void **state)
{
	run(10);
	world.nb_ours = 0;
	/* More than a burst. */
	world.to_send = 100;
	run(20);
	assert_int_equal(world.to_send, 0);
	assert_int_equal(world.nb_ours, 100);
}

static void uplink__a_frame_that_does_not_fit_is_none(void **state)
{
	static uint8_t large[70000];

	assert_null(roost_uplink_copy(up, large, 14, large, 20000));
	assert_null(roost_uplink_copy(up, large, 14, large, 65536));
}

/* ---- the host ------------------------------------------------------------ */

static struct roost_neigh *neigh;

static bool is_resolved(void)
{
	return atomic_load(&neigh->mac_gen) != 0;
}

static void uplink__the_host_lives_on_what_is_left(void **state)
{
	const struct roost_addr_io *addrs = roost_uplink_addrs(up);
	const struct roost_gid a = addr("198.18.0.1"), b = addr("198.18.0.2");
	uint8_t mac[6];

	assert_int_equal(addrs->ask(addrs->ctx, &a, &b, NULL, &neigh), 0);
	roost_uplink_watch(up, 7, neigh);
	roost_uplink_news(up);
	/* The switch keeps the answer to itself. */
	world.wants_all = true;
	world.frame = arp_reply.bytes;
	world.frame_bytes = arp_reply.len_bytes;
	world.to_send = 1;
	run(20);
	assert_int_equal(world.to_send, 0);
	assert_true(world.nb_others > 0);
	assert_false(is_resolved());
	world.wants_all = false;
	world.to_send = 1;
	run_until(is_resolved);
	roost_neigh_mac(atomic_load(&neigh->mac_gen), mac);
	assert_memory_equal(mac, mac_b, 6);
	assert_true(is_ready(5000));
	assert_true(roost_uplink_news(up));
	roost_uplink_watch(up, 7, NULL);
	addrs->neigh_put(addrs->ctx, neigh);
}

/* ---- what the port is ---------------------------------------------------- */

static int set(void *arg)
{
	char line[128];
	size_t len;
	char *answer;

	snprintf(line, sizeof(line), "%s", (const char *)arg);
	answer = roost_ctl_answer(line, &len);
	assert_non_null(answer);
	assert_memory_equal(answer, "ok", 2);
	free(answer);
	return 0;
}

static void await_news(void)
{
	const uint64_t until_ns = roost_now_ns() + 5000 * MS;

	while (!roost_uplink_news(up)) {
		assert_true(roost_now_ns() < until_ns);
		is_ready(100);
	}
}

static void uplink__changes_are_news(void **state)
{
	struct roost_share_facts facts;
	const struct roost_gid added = addr("198.18.7.1");
	bool found = false;

	roost_uplink_facts(up, &facts);
	assert_int_equal(facts.is_active, 1);
	assert_true(facts.ip_mtu_bytes >= 1500);
	assert_int_equal(facts.gids[0].b[0], 0xfe);
	assert_int_equal(facts.gid_len_bits[0], 64);
	assert_int_equal(facts.gid_len_bits[1], 24);
	assert_int_equal(facts.pkeys[0], 0xffff);
	assert_int_equal(facts.is_gone, 0);
	while (roost_uplink_news(up))
		;
	roost_control_call(set, (char[]){ "set - - address add "
					  "198.18.7.1/16" });
	await_news();
	roost_uplink_facts(up, &facts);
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (roost_gid_eq(&facts.gids[i], &added)) {
			assert_int_equal(facts.gid_len_bits[i], 16);
			found = true;
		}
	assert_true(found);
	roost_control_call(set, (char[]){ "set - - pkey 1 0x8001" });
	await_news();
	roost_uplink_facts(up, &facts);
	assert_int_equal(facts.pkeys[1], 0x8001);
	roost_control_call(set, (char[]){ "set - - link down" });
	await_news();
	roost_uplink_facts(up, &facts);
	assert_int_equal(facts.is_active, 0);
	roost_control_call(set, (char[]){ "set - - remove" });
	await_news();
	roost_uplink_facts(up, &facts);
	assert_int_equal(facts.is_gone, 1);
	/* Frames go nowhere, and nothing breaks. */
	world.to_send = 10;
	run(5);
	assert_int_equal(world.to_send, 0);
}

/* ---- groups -------------------------------------------------------------- */

static atomic_bool holds, lets_go;

static int hold(void *arg)
{
	(void)arg;
	atomic_store(&holds, true);
	while (!atomic_load(&lets_go))
		usleep(100);
	return 0;
}

static void *hold_control(void *arg)
{
	roost_control_call(hold, NULL);
	return arg;
}

static bool is_reported(void)
{
	return world.nb_reports > 0;
}

/* The control thread may wait for the caller meanwhile, with a request of roost
 * ctl: whoever waited for it would never end.
 */
static void uplink__groups_change_while_the_control_thread_waits(void **state)
{
	const struct roost_gid gid = roost_gid_from_v4(group);
	pthread_t thread;

	for (int joins = 1; joins >= 0; joins--) {
		atomic_store(&holds, false);
		atomic_store(&lets_go, false);
		assert_int_equal(pthread_create(&thread, NULL, hold_control,
						NULL),
				 0);
		while (!atomic_load(&holds))
			usleep(100);
		world.nb_reports = 0;
		if (joins)
			assert_int_equal(roost_uplink_join(up, &gid), 0);
		else
			roost_uplink_leave(up, &gid);
		atomic_store(&lets_go, true);
		run_until(is_reported);
		pthread_join(thread, NULL);
	}
	/* One of them is left to the end. */
	assert_int_equal(roost_uplink_join(up, &gid), 0);
}

/* ---- sleep --------------------------------------------------------------- */

static void uplink__sleeps_in_short_naps_without_an_interrupt(void **state)
{
	uint64_t until_ns, now_ns = roost_now_ns();

	run(10);
	assert_true(roost_uplink_sleep(up, 0, now_ns, now_ns, &until_ns));
	assert_int_equal(until_ns, now_ns + MS / 20);
	roost_uplink_awake(up, 0);
	assert_true(roost_uplink_sleep(up, 0, now_ns, now_ns - 1000 * MS,
				       &until_ns));
	assert_int_equal(until_ns, now_ns + MS);
	roost_uplink_awake(up, 0);
	/* A second one is nothing. */
	roost_uplink_awake(up, 0);
}

static void uplink__a_frame_forbids_a_sleep(void **state)
{
	uint64_t until_ns, now_ns = roost_now_ns();

	run(10);
	world.to_send = 1;
	run(1); /* it comes back now */
	world.nb_ours = 0;
	assert_false(roost_uplink_sleep(up, 0, now_ns, now_ns, &until_ns));
	assert_int_equal(world.nb_ours, 1);
	roost_uplink_awake(up, 0);
}

/* The host's frames want to be sent. */
static void uplink__the_host_ends_a_sleep(void **state)
{
	const struct roost_addr_io *addrs = roost_uplink_addrs(up);
	const struct roost_gid a = addr("198.18.0.1"), b = addr("198.18.0.2");
	uint64_t until_ns, now_ns;
	unsigned int before;

	do {
		run(10);
		usleep(1000);
		now_ns = roost_now_ns();
	} while (!roost_uplink_sleep(up, 0, now_ns, now_ns, &until_ns));
	while (roost_uplink_news(up))
		;
	assert_int_equal(addrs->ask(addrs->ctx, &a, &b, NULL, &neigh), 0);
	assert_true(is_ready(5000));
	roost_uplink_awake(up, 0);
	before = world.nb_others;
	run(10);
	assert_true(world.nb_others > before);
	assert_false(is_ready(0));
	addrs->neigh_put(addrs->ctx, neigh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(uplink__frames_go_and_come),
		TEST(uplink__a_frame_that_does_not_fit_is_none),
		TEST(uplink__the_host_lives_on_what_is_left),
		TEST(uplink__changes_are_news),
		TEST(uplink__groups_change_while_the_control_thread_waits),
		TEST(uplink__sleeps_in_short_naps_without_an_interrupt),
		TEST(uplink__a_frame_forbids_a_sleep),
		TEST(uplink__the_host_ends_a_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
