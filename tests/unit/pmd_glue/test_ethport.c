/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Frames in pieces. net_ring hands on what it was given, piece by piece, and
 * to itself: so frames come in as a NIC with small buffers delivers them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pmd_glue/eal.h"
#include "pmd_glue/trunk.h"

#define FRAME_MAX 9000u

static struct roost_trunk trunk;
static struct roost_ethport *const port = &trunk.port;

static uint8_t byte_at(unsigned int i)
{
	return (uint8_t)(i * 7 + i / 256);
}

/* A frame of len bytes, first of them in one mbuf, and each of the rest. */
static struct rte_mbuf *frame(unsigned int len, unsigned int first,
			      unsigned int rest)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(port->pool);
	struct rte_mbuf *last = head;
	unsigned int room = first;

	assert_non_null(head);
	for (unsigned int i = 0; i < len; i++, room--) {
		if (room == 0) {
			struct rte_mbuf *next = rte_pktmbuf_alloc(port->pool);

			assert_non_null(next);
			assert_int_equal(rte_pktmbuf_chain(head, next), 0);
			last = next;
			room = rest;
		}
		*(rte_pktmbuf_mtod(last, uint8_t *) + last->data_len) =
			byte_at(i);
		last->data_len++;
		head->pkt_len++;
	}
	return head;
}

static void hand_over(struct rte_mbuf *mbuf)
{
	assert_int_equal(rte_eth_tx_burst(port->id, 0, &mbuf, 1), 1);
}

static void check_whole(unsigned int len)
{
	struct rte_mbuf *got[4];

	assert_int_equal(roost_ethport_rx(port, got, 4), 1);
	assert_int_equal(got[0]->nb_segs, 1);
	assert_int_equal(got[0]->data_len, len);
	assert_int_equal(got[0]->pkt_len, len);
	for (unsigned int i = 0; i < len; i++)
		assert_int_equal(rte_pktmbuf_mtod(got[0], uint8_t *)[i],
				 byte_at(i));
	rte_pktmbuf_free(got[0]);
}

static void rx__pieces_become_whole(void **state)
{
	static const struct {
		unsigned int len, first, rest;
	} shapes[] = {
		{ 74, 14, 20 },       { 74, 42, 1 },    { 4154, 4096, 58 },
		{ 4154, 2048, 2048 }, { 1500, 1, 128 }, { 60, 60, 1 },
		{ 4154, 128, 128 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		hand_over(
			frame(shapes[i].len, shapes[i].first, shapes[i].rest));
		check_whole(shapes[i].len);
	}
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
}

/* Longer than any RoCEv2 packet, and than a buffer: nobody wants it. */
static void rx__too_long_is_dropped_and_freed(void **state)
{
	struct rte_mbuf *got[4];

	(void)state;
	hand_over(frame(60, 60, 1));
	hand_over(frame(FRAME_MAX, 2048, 2048));
	hand_over(frame(61, 20, 20));
	assert_int_equal(roost_ethport_rx(port, got, 4), 2);
	assert_int_equal(got[0]->pkt_len, 60);
	assert_int_equal(got[1]->pkt_len, 61);
	assert_int_equal(got[1]->nb_segs, 1);
	rte_pktmbuf_free_bulk(got, 2);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
}

static void rx__down_takes_nothing_and_keeps_nothing(void **state)
{
	struct rte_mbuf *got[4];
	struct roost_lane lane = {
		.trunk = &trunk,
		.running = true,
		.admin_down = true,
	};

	(void)state;
	hand_over(frame(74, 14, 20));
	assert_int_equal(roost_lane_rx(&lane, got, 4), 0);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
	lane.admin_down = false;
	hand_over(frame(74, 14, 20));
	assert_int_equal(roost_lane_rx(&lane, got, 4), 1);
	rte_pktmbuf_free(got[0]);
}

static int setup(void **state)
{
	const struct roost_eal_conf eal = { .nb_queues = 1 };
	const struct roost_ethport_conf conf = {
		.label = "ring",
		.devargs = "net_ring0",
	};

	(void)state;
	if (roost_eal_start(&eal) || roost_ethport_open(port, &conf))
		return -1;
	return roost_ethport_start(port, 0);
}

static int teardown(void **state)
{
	(void)state;
	roost_ethport_close(port);
	roost_ethport_free_pool(port);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__pieces_become_whole),
		cmocka_unit_test(rx__too_long_is_dropped_and_freed),
		cmocka_unit_test(rx__down_takes_nothing_and_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
