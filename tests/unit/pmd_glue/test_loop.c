/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost/loop.h: creation and end of a device, frames that come back to the
 * program, and the link. test_loop_host.c has ARP, ND, ping and VLANs;
 * test_loop_traffic.c has QPs.
 */
#include "tests/unit/pmd_glue/loop_world.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <roost/channel.h>
#include <roost/cm.h>

#define OWN_TYPE 0x88b5u
#define OWN_LEN 60u

static struct loop_world *const w = &loop_world;

/* ---- create -------------------------------------------------------------- */

static void no_name(struct roost_loop_conf *conf)
{
	conf->name = NULL;
}

static void no_pool(struct roost_loop_conf *conf)
{
	conf->pool = NULL;
}

static void no_port(struct roost_loop_conf *conf)
{
	conf->port_id = LOOP_PORTS;
}

static void no_rx_queue(struct roost_loop_conf *conf)
{
	conf->rx_queue = 1;
}

static void no_tx_queue(struct roost_loop_conf *conf)
{
	conf->tx_queue = 1;
}

static void no_vlan(struct roost_loop_conf *conf)
{
	conf->vlan_id = 4095;
}

static void no_addr(struct roost_loop_conf *conf)
{
	conf->addrs.nb = 0;
}

static void too_many_addrs(struct roost_loop_conf *conf)
{
	conf->addrs.nb = ROOST_PORT_IPS_MAX + 1;
}

static void zero_addr(struct roost_loop_conf *conf)
{
	memset(&conf->addrs.v[1].gid, 0, sizeof(conf->addrs.v[1].gid));
}

static void group_addr(struct roost_loop_conf *conf)
{
	conf->addrs.v[0].gid = addr("239.1.1.1");
}

static void no_prefix(struct roost_loop_conf *conf)
{
	conf->addrs.v[0].len_bits = 0;
}

static void long_prefix(struct roost_loop_conf *conf)
{
	conf->addrs.v[0].len_bits = 33;
}

static void small_room(struct roost_loop_conf *conf)
{
	static struct rte_mempool *small;

	if (!small)
		small = rte_pktmbuf_pool_create("small", 63, 0, 0,
						RTE_PKTMBUF_HEADROOM + 4352 - 1,
						0);
	assert_non_null(small);
	conf->pool = small;
}

static void create__refuses(void **state)
{
	static void (*const spoil[])(struct roost_loop_conf * conf) = {
		no_name,     no_pool,   no_port,     no_rx_queue,
		no_tx_queue, no_vlan,   no_addr,     too_many_addrs,
		zero_addr,   no_prefix, long_prefix, small_room,
		group_addr,
	};

	for (size_t i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		struct roost_loop_conf conf = loop_conf(0);
		struct roost_loop *loop;

		spoil[i](&conf);
		if (roost_loop_create(&conf, &loop) != -EINVAL)
			fail_msg("conf %zu is taken", i);
	}
}

static struct roost_port_attr port_of(struct roost_loop *loop)
{
	struct roost_port_attr attr;

	assert_int_equal(roost_port_query(roost_loop_dev(loop), 1, &attr), 0);
	return attr;
}

/* QPs can be made before the first iteration. */
static void create__knows_the_port(void **state)
{
	const struct roost_loop_conf conf = loop_conf(0);
	struct roost_loop *loop;
	struct roost_gid gid;

	assert_int_equal(roost_loop_create(&conf, &loop), 0);
	assert_int_equal(port_of(loop).state, ROOST_PORT_ACTIVE);
	assert_int_equal(port_of(loop).active_mtu, ROOST_MTU_1024);
	assert_int_equal(port_of(loop).speed_mbps, 10000);
	roost_port_query_gid(roost_loop_dev(loop), 1, 2, &gid);
	assert_memory_equal(&gid, &conf.addrs.v[1].gid, sizeof(gid));
	loop_destroy(loop);
}

static void destroy__is_busy(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct roost_ctx *ctx;
	struct roost_cm *cm;

	assert_int_equal(roost_ctx_open(roost_loop_dev(loop), &ctx), 0);
	assert_int_equal(roost_loop_destroy(loop), -EBUSY);
	assert_int_equal(roost_ctx_close(ctx), 0);
	assert_int_equal(roost_cm_get(roost_loop_dev(loop), &cm), 0);
	assert_int_equal(roost_loop_destroy(loop), -EBUSY);
	loop_hear(loop, &arp_request);
	roost_cm_put(cm);
	loop_destroy(loop);
	loop_expect_punts(1);
}

/* The host's answer waits for an iteration that does not come. */
static void destroy__sends_what_is_left(void **state)
{
	struct roost_loop *loop = loop_new_b();

	loop_hear(loop, &arp_request);
	assert_null(loop_sent(0));
	loop_destroy(loop);
	loop_expect_sent(0, &arp_reply);
}

/* The teardown finds them if they are not freed. */
static void destroy__frees_what_is_not_taken(void **state)
{
	struct roost_loop *loop = loop_new_b();

	for (unsigned int i = 0; i < 3 * LOOP_RING_LEN; i++)
		loop_hear(loop, &arp_request);
	assert_int_equal(rte_ring_count(w->ports[0].tx), LOOP_RING_LEN - 1);
	loop_destroy(loop);
	assert_int_equal(loop_forget_sent(0), LOOP_RING_LEN - 1);
}

/* ---- frames that come back ----------------------------------------------- */

/* A frame of the program's own, with a number. */
static struct rte_mbuf *own(uint16_t number)
{
	uint8_t bytes[OWN_LEN] = {
		[12] = OWN_TYPE >> 8,
		[13] = OWN_TYPE & 0xff,
		[14] = (uint8_t)(number >> 8),
		[15] = (uint8_t)number,
	};

	return loop_mbuf(bytes, sizeof(bytes));
}

static void check_numbers(unsigned int nb)
{
	assert_int_equal(w->nb_punts, nb);
	for (unsigned int i = 0; i < nb; i++) {
		const uint8_t *p =
			rte_pktmbuf_mtod(w->punts[i], const uint8_t *);

		assert_int_equal(w->punts[i]->pkt_len, OWN_LEN);
		assert_int_equal(p[14] << 8 | p[15], i);
	}
	loop_expect_punts(nb);
}

/* More than any burst. */
static void punt__keeps_the_order(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct rte_mbuf *frames[200];

	for (uint16_t i = 0; i < 200; i++)
		frames[i] = own(i);
	assert_int_equal(loop_run(loop, frames, 200), 200);
	check_numbers(200);
	loop_destroy(loop);
}

/* Those that the program hands over come before those of the queue. */
static void punt__from_the_queue_and_from_the_program(void **state)
{
	struct roost_loop_conf conf = loop_conf(0);
	struct rte_mbuf *frames[50];
	struct roost_loop *loop;

	conf.rx_queue = 0;
	loop = loop_new(&conf);
	for (uint16_t i = 0; i < 60; i++) {
		struct rte_mbuf *frame = own(i);

		if (i < 50)
			frames[i] = frame;
		else
			rte_ring_enqueue(w->ports[0].rx, frame);
	}
	loop_run(loop, frames, 50);
	check_numbers(60);
	rte_ring_enqueue(w->ports[0].rx, own(0));
	assert_int_equal(loop_run(loop, NULL, 0), 1);
	check_numbers(1);
	loop_destroy(loop);
}

static void punt__null_frees(void **state)
{
	struct roost_loop_conf conf = loop_conf(0);
	struct rte_mbuf *frames[2] = { own(0), own(1) };
	struct roost_loop *loop;

	conf.punt = NULL;
	loop = loop_new(&conf);
	loop_run(loop, frames, 2);
	loop_destroy(loop);
	assert_int_equal(w->nb_punts, 0);
}

/* The program's own frames may be long, and in any number of segments. */
static void punt__segments_come_back_as_they_are(void **state)
{
	static uint8_t bytes[8000] = { [12] = OWN_TYPE >> 8, OWN_TYPE & 0xff };
	struct roost_loop *loop = loop_new_b();
	struct rte_mbuf *big = loop_mbuf(bytes, 4000), *frames[4];

	rte_pktmbuf_chain(big, loop_mbuf(bytes + 4000, 4000));
	frames[0] = own(0);
	frames[1] = big;
	frames[2] = loop_cut(own(2), 7);
	frames[3] = own(3);
	loop_run(loop, frames, 4);
	assert_int_equal(w->nb_punts, 4);
	assert_memory_equal(w->punts, frames, sizeof(frames));
	assert_int_equal(big->nb_segs, 2);
	assert_int_equal(big->pkt_len, 8000);
	assert_int_equal(frames[2]->nb_segs, 9);
	loop_expect_punts(4);
	loop_destroy(loop);
}

/* ---- the link ------------------------------------------------------------ */

static void look_at_the_link(struct roost_loop *loop)
{
	loop_pass(LOOP_S / 2);
	loop_run(loop, NULL, 0);
}

static void expect_event(struct roost_ctx *ctx, int type)
{
	struct roost_channel *channel = roost_ctx_async_channel(ctx);
	struct roost_event event;

	fcntl(roost_channel_fd(channel), F_SETFL, O_NONBLOCK);
	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(event.type, type);
	roost_event_ack(event.source, 1);
}

static void link__goes_down_and_comes_up(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct roost_ctx *ctx;

	roost_ctx_open(roost_loop_dev(loop), &ctx);
	w->ports[0].is_up = false;
	look_at_the_link(loop);
	expect_event(ctx, ROOST_EVENT_PORT_ERR);
	assert_int_equal(port_of(loop).state, ROOST_PORT_DOWN);
	/* UD QPs keep their MTU. */
	assert_int_equal(port_of(loop).active_mtu, ROOST_MTU_1024);
	loop_hear(loop, &arp_request);
	loop_run(loop, NULL, 0);
	assert_null(loop_sent(0));
	w->ports[0].is_up = true;
	look_at_the_link(loop);
	expect_event(ctx, ROOST_EVENT_PORT_ACTIVE);
	loop_run(loop, NULL, 0);
	/* It announces its addresses, for switches. */
	assert_int_equal(loop_forget_sent(0), 3);
	loop_expect_punts(1);
	roost_ctx_close(ctx);
	loop_destroy(loop);
}

static void link__mtu_and_speed_change(void **state)
{
	struct roost_loop *loop = loop_new_b();

	w->ports[0].mtu_bytes = 9000;
	look_at_the_link(loop);
	assert_int_equal(port_of(loop).active_mtu, ROOST_MTU_4096);
	w->ports[0].speed_mbps = 100000;
	look_at_the_link(loop);
	assert_int_equal(port_of(loop).speed_mbps, 100000);
	w->ports[0].speed_mbps = UINT32_MAX;
	look_at_the_link(loop);
	assert_int_equal(port_of(loop).speed_mbps, 0);
	assert_int_equal(port_of(loop).state, ROOST_PORT_ACTIVE);
	assert_int_equal(loop_forget_sent(0), 0);
	loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(create__refuses),
		LOOP_TEST(create__knows_the_port),
		LOOP_TEST(destroy__is_busy),
		LOOP_TEST(destroy__sends_what_is_left),
		LOOP_TEST(destroy__frees_what_is_not_taken),
		LOOP_TEST(punt__keeps_the_order),
		LOOP_TEST(punt__from_the_queue_and_from_the_program),
		LOOP_TEST(punt__null_frees),
		LOOP_TEST(punt__segments_come_back_as_they_are),
		LOOP_TEST(link__goes_down_and_comes_up),
		LOOP_TEST(link__mtu_and_speed_change),
	};

	return cmocka_run_group_tests(tests, loop_world_start, NULL);
}
