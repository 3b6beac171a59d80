/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <roost/config.h>
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include <roost/roost.h>
#include "lib/face/shim.h"
#include "lib/wire/frame.h"
#include "tests/cmocka.h"

/*
 * Devices on a net_ring port, which gives back what it is given: a frame of
 * any VLAN that one of them sends is for the device on that VLAN. The frames
 * are RoCEv2 for an address that nobody has; so they are counted, and exactly.
 */
#define DEVICES 3u
#define UNTAGGED 0u
#define VLAN_5 1u
#define VLAN_6 2u
/* Of which there is no device. */
#define VLAN_7_ID 7u

static const uint16_t vlan_ids[DEVICES] = { 0, 5, 6 };
static struct roost_config config;
static struct roost_device *devices[DEVICES];
static uint64_t before[DEVICES], before_vlan;
static struct rte_mempool *pool;

static struct roost_device *open_device(unsigned int i)
{
	struct roost_device *device;

	assert_int_equal(roost_device_open(&config, i, &device), 0);
	return device;
}

static int open_all(void **state)
{
	config = (struct roost_config){ .nb_ports = DEVICES };
	for (unsigned int i = 0; i < DEVICES; i++) {
		strcpy(config.ports[i].devargs, "net_ring0");
		config.ports[i].vlan_id = vlan_ids[i];
		devices[i] = open_device(i);
	}
	if (!pool)
		pool = rte_pktmbuf_pool_create("test_shared_port", 4095, 0, 0,
					       2048, SOCKET_ID_ANY);
	assert_non_null(pool);
	return 0;
}

static int close_all(void **state)
{
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i])
			roost_device_close(devices[i]);
	assert_int_equal(rte_eth_dev_count_total(), 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return 0;
}

static void close_one(unsigned int i)
{
	roost_device_close(devices[i]);
	devices[i] = NULL;
}

/* ---- frames ---------------------------------------------------------------
 */

static void send_one(unsigned int from, bool tagged, uint16_t tci)
{
	struct roost_dev *dev = roost_device_dev(devices[from]);
	const struct roost_flow flow = {
		.src_mac = { 2, 0, 0, 0, 0, 1 },
		.dst_mac = { 2, 0, 0, 0, 0, 2 },
		.tagged = tagged,
		.vlan_tci = tci,
		.sgid = roost_gid_from_v4((const uint8_t[]){ 192, 0, 2, 1 }),
		.dgid = roost_gid_from_v4((const uint8_t[]){ 192, 0, 2, 2 }),
		.hop_limit = 64,
		.udp_src = 0xc000,
	};
	const struct roost_bth bth = { .opcode = ROOST_OPCODE_RC_ACK };
	struct roost_hdr_template t;
	struct rte_mbuf *mbuf;
	uint8_t *frame;
	size_t len;

	do {
		mbuf = rte_pktmbuf_alloc(pool);
	} while (!mbuf);
	frame = (uint8_t *)rte_pktmbuf_append(mbuf, 128);
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, frame, &bth, 0);
	roost_frame_seal(&t, frame, len);
	rte_pktmbuf_trim(mbuf, (uint16_t)(128 - len - ROOST_ICRC_LEN));
	while (roost_worker_send_frame(roost_dev_worker(dev), 1, mbuf) != 0)
		fail();
	roost_device_attend(devices[from]);
}

static struct roost_dev_counters counters(unsigned int i)
{
	struct roost_dev_counters c;

	roost_dev_counters(roost_device_dev(devices[i]), &c);
	return c;
}

/* Frames of its own VLAN that a device has had. */
static uint64_t had(unsigned int i)
{
	return devices[i] ? counters(i).drops[ROOST_DROP_NOT_OURS] : 0;
}

/* Those that were of nobody's VLAN, whoever found them. */
static uint64_t strays(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i])
			sum += counters(i).drops[ROOST_DROP_VLAN];
	return sum;
}

/* What a device that was closed said at last is on its way for a moment. */
static void start_counting(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	for (unsigned int i = 0; i < DEVICES; i++)
		before[i] = had(i);
	before_vlan = strays();
}

static bool is(const uint64_t want[DEVICES], uint64_t want_strays)
{
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i] && had(i) - before[i] != want[i])
			return false;
	return strays() - before_vlan == want_strays;
}

/* Nobody helps: their threads do it. */
static void expect(uint64_t untagged, uint64_t vlan_5, uint64_t vlan_6,
		   uint64_t want_strays)
{
	const uint64_t want[DEVICES] = { untagged, vlan_5, vlan_6 };

	for (int i = 0; i < 500 && !is(want, want_strays); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i])
			assert_int_equal(had(i) - before[i], want[i]);
	assert_int_equal(strays() - before_vlan, want_strays);
}

/* ---- tests ----------------------------------------------------------------
 */

static void shared_port__frames_reach_their_vlan(void **state)
{
	for (unsigned int from = 0; from < DEVICES; from++) {
		start_counting();
		send_one(from, false, 0);
		for (unsigned int i = 0; i < 2; i++)
			send_one(from, true, 5);
		for (unsigned int i = 0; i < 3; i++)
			send_one(from, true, 6);
		for (unsigned int i = 0; i < 4; i++)
			send_one(from, true, VLAN_7_ID);
		send_one(from, true, 0xf000);     /* of VLAN 0 */
		send_one(from, true, 0xe000 | 5); /* the priority is no VLAN */
		expect(2, 3, 3, 4);
	}
}

static void shared_port__is_one_port(void **state)
{
	struct roost_port_attr attr;

	assert_int_equal(rte_eth_dev_count_total(), 1);
	for (unsigned int i = 0; i < DEVICES; i++) {
		assert_int_equal(roost_port_query(roost_device_dev(devices[i]),
						  1, &attr),
				 0);
		assert_int_equal(attr.vlan_id, vlan_ids[i]);
		assert_int_equal(attr.state, ROOST_PORT_ACTIVE);
	}
}

/* The first one, which had opened the port, is no different from the others. */
static void shared_port__outlives_each(void **state)
{
	close_one(UNTAGGED);
	start_counting();
	send_one(VLAN_5, true, 6);
	send_one(VLAN_5, true, 5);
	send_one(VLAN_6, true, 5);
	send_one(VLAN_6, false, 0);
	expect(0, 2, 1, 1);
	close_one(VLAN_6);
	start_counting();
	send_one(VLAN_5, true, 5);
	send_one(VLAN_5, true, 6);
	expect(0, 1, 0, 1);
	devices[UNTAGGED] = open_device(UNTAGGED);
	start_counting();
	send_one(VLAN_5, false, 0);
	send_one(UNTAGGED, true, 5);
	expect(1, 1, 0, 0);
}

#define ROUNDS 300u
#define BURST 16u
#define TRIES_MAX 1000000u

struct crowd {
	pthread_t thread;
	unsigned int from;
};

/* Sends to the next one, and polls. */
static void *crowd_main(void *arg)
{
	const struct crowd *c = arg;
	unsigned int to = (c->from + 1) % DEVICES;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < BURST; i++)
			send_one(c->from, to != UNTAGGED, vlan_ids[to]);
		/* The one before is a round behind at most; what is lost ends
		 * the test, too.
		 */
		for (unsigned int i = 0;
		     i < TRIES_MAX &&
		     had(c->from) - before[c->from] < (uint64_t)BURST * round;
		     i++)
			roost_device_attend(devices[c->from]);
	}
	return NULL;
}

/* All send, poll and hand over at the same time, and nothing is lost. */
static void shared_port__in_a_crowd(void **state)
{
	struct crowd crowd[DEVICES];

	start_counting();
	for (unsigned int i = 0; i < DEVICES; i++) {
		crowd[i].from = i;
		assert_int_equal(pthread_create(&crowd[i].thread, NULL,
						crowd_main, &crowd[i]),
				 0);
	}
	for (unsigned int i = 0; i < DEVICES; i++)
		pthread_join(crowd[i].thread, NULL);
	expect(ROUNDS * BURST, ROUNDS * BURST, ROUNDS * BURST, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shared_port__frames_reach_their_vlan),
		TEST(shared_port__is_one_port),
		TEST(shared_port__outlives_each),
		TEST(shared_port__in_a_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
