/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Frames in pieces. net_ring hands on what it was given, piece by piece, and
 * to itself: so frames come in as a NIC with small buffers delivers them.
 */

#include <stdio.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "pmd_glue/port/eal.h"
#include "pmd_glue/port/ethport_priv.h"
#include "pmd_glue/quirks/import.h"
#include "pmd_glue/netif/shared_port.h"
#include "tests/cmocka.h"

#define FRAME_MAX 9000u

static struct roost_shared_port shared_port;
static struct roost_ethport *const port = &shared_port.port;

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

	assert_int_equal(roost_ethport_rx(port, 0, got, 4), 1);
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

	hand_over(frame(60, 60, 1));
	hand_over(frame(FRAME_MAX, 2048, 2048));
	hand_over(frame(61, 20, 20));
	assert_int_equal(roost_ethport_rx(port, 0, got, 4), 2);
	assert_int_equal(got[0]->pkt_len, 60);
	assert_int_equal(got[1]->pkt_len, 61);
	assert_int_equal(got[1]->nb_segs, 1);
	rte_pktmbuf_free_bulk(got, 2);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
}

static void rx__down_takes_nothing_and_keeps_nothing(void **state)
{
	struct rte_mbuf *got[4];
	struct roost_subport subport = {
		.shared_port = &shared_port,
		.running = true,
		.admin_down = true,
	};

	hand_over(frame(74, 14, 20));
	assert_int_equal(roost_subport_rx(&subport, 0, got, 4), 0);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
	subport.admin_down = false;
	hand_over(frame(74, 14, 20));
	assert_int_equal(roost_subport_rx(&subport, 0, got, 4), 1);
	rte_pktmbuf_free(got[0]);
}

/* ---- several queues ------------------------------------------------------ */

#define QUEUES 5u

/* A port of five queues, of which two workers receive. */
static struct roost_ethport several;
static struct rte_ring *rings[QUEUES];

static void open_several(void)
{
	int (*from_rings)(const char *name, struct rte_ring *const rx[],
			  unsigned int nb_rx, struct rte_ring *const tx[],
			  unsigned int nb_tx, unsigned int node);
	char name[16];
	int id;

	for (unsigned int i = 0; i < QUEUES; i++) {
		snprintf(name, sizeof(name), "several%u", i);
		rings[i] = rte_ring_create(name, 64, 0, 0);
		assert_non_null(rings[i]);
	}
	*(void **)&from_rings =
		roost_import_find("librte_net_ring.so", "rte_eth_from_rings");
	assert_non_null(from_rings);
	id = from_rings("several", rings, QUEUES, rings, QUEUES, 0);
	assert_true(id >= 0);
	several = (struct roost_ethport){
		.id = (uint16_t)id,
		.driver = roost_driver_find("net_ring"),
		.queues = { .nb = QUEUES },
		.nb_worker_queues = 2,
		.last_queue = { 0, 1 },
		.pool = port->pool,
	};
	assert_int_equal(roost_ethport_configure(&several), 0);
	assert_int_equal(rte_eth_dev_start(several.id), 0);
	several.started = true;
}

static void close_several(void)
{
	struct rte_eth_dev_info info;

	rte_eth_dev_stop(several.id);
	assert_int_equal(rte_eth_dev_info_get(several.id, &info), 0);
	rte_eth_dev_close(several.id);
	assert_int_equal(rte_dev_remove(info.device), 0);
	for (unsigned int i = 0; i < QUEUES; i++)
		rte_ring_free(rings[i]);
}

/* Which queues that worker's next burst of so many comes from, as bits. */
static unsigned int burst(uint16_t worker, uint16_t most)
{
	struct rte_mbuf *got[8];
	unsigned int from = 0;
	uint16_t n = roost_ethport_rx(&several, worker, got, most);

	for (uint16_t i = 0; i < n; i++)
		from |= 1u << (rte_pktmbuf_pkt_len(got[i]) - 64);
	rte_pktmbuf_free_bulk(got, n);
	return from;
}

/* A frame into each, whose length says which. */
static void fill_queues(unsigned int times)
{
	while (times-- > 0)
		for (unsigned int i = 0; i < QUEUES; i++)
			assert_int_equal(rte_ring_enqueue(rings[i],
							  frame(64 + i, 128,
								1)),
					 0);
}

static void queues__each_has_one_worker(void **state)
{
	open_several();
	fill_queues(1);
	assert_int_equal(burst(0, 8), 1 << 0 | 1 << 2 | 1 << 4);
	assert_int_equal(burst(1, 8), 1 << 1 | 1 << 3);
	assert_int_equal(burst(0, 8) | burst(1, 8), 0);
	close_several();
}

/* One that always has frames does not keep the others from theirs. */
static void queues__take_turns(void **state)
{
	unsigned int seen = 0;

	open_several();
	fill_queues(4);
	for (unsigned int i = 0; i < 3; i++)
		seen |= burst(0, 4);
	assert_int_equal(seen, 1 << 0 | 1 << 2 | 1 << 4);
	for (unsigned int i = 0; i < 2; i++)
		seen |= burst(1, 4);
	assert_int_equal(seen, (1 << QUEUES) - 1);
	close_several();
}

/* The driver could not start with what it had promised: workers send by the
 * queue that is left, and the first one receives.
 */
static void queues__one_is_left(void **state)
{
	struct rte_mbuf *sent = frame(64, 128, 1);
	struct roost_subport subport = { .shared_port = &shared_port,
					 .running = true };

	open_several();
	rte_eth_dev_stop(several.id);
	assert_int_equal(roost_ethport_take_one_queue(&several), 0);
	assert_int_equal(several.queues.nb, 1);
	assert_true(several.tx_locked);
	assert_int_equal(rte_eth_dev_start(several.id), 0);
	fill_queues(1);
	assert_int_equal(burst(1, 8), 0);
	assert_int_equal(burst(0, 8), 1 << 0);
	for (unsigned int i = 1; i < QUEUES; i++) {
		struct rte_mbuf *rest = NULL;

		assert_int_equal(rte_ring_dequeue(rings[i], (void **)&rest), 0);
		rte_pktmbuf_free(rest);
	}
	close_several();
	port->tx_locked = true;
	assert_int_equal(roost_subport_tx(&subport, 1, &sent, 1), 1);
	port->tx_locked = false;
	assert_int_equal(rte_eth_rx_burst(port->id, 0, &sent, 1), 1);
	rte_pktmbuf_free(sent);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
}

/* Their turns are taken in the order in which they came. */
static void workers__stay_in_order(void **state)
{
	static char place[4];
	struct roost_ethport p = { .driver = roost_driver_find("net_ring") };
	struct roost_worker *w[4];

	for (unsigned int i = 0; i < 4; i++) {
		w[i] = (struct roost_worker *)(void *)&place[i];
		roost_ethport_add_worker(&p, w[i], NULL);
	}
	roost_ethport_del_worker(&p, w[1], NULL);
	assert_int_equal(p.nb_workers, 3);
	assert_ptr_equal(p.workers[0], w[0]);
	assert_ptr_equal(p.workers[1], w[2]);
	assert_ptr_equal(p.workers[2], w[3]);
}

static int setup(void **state)
{
	const struct roost_eal_conf eal = { .nb_queues = 1 };
	const struct roost_ethport_conf conf = {
		.label = "ring",
		.devargs = "net_ring0",
	};

	if (roost_eal_start(&eal) || roost_ethport_open(port, &conf))
		return -1;
	return roost_ethport_start(port, 0);
}

static int teardown(void **state)
{
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
		cmocka_unit_test(queues__each_has_one_worker),
		cmocka_unit_test(queues__take_turns),
		cmocka_unit_test(queues__one_is_left),
		cmocka_unit_test(workers__stay_in_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
