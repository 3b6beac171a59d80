/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/loop_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/quirks/import.h"
#include "tests/unit/engine/eal.h"

struct loop_world loop_world;

static struct loop_world *const w = &loop_world;

/* ---- in place of ethdev's ------------------------------------------------ */

int rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	const struct loop_port *p = &w->ports[port_id];

	*link = (struct rte_eth_link){
		.link_status = p->is_up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
		.link_speed = p->is_up ? p->speed_mbps : 0,
	};
	return 0;
}

int rte_eth_dev_get_mtu(uint16_t port_id, uint16_t *mtu)
{
	*mtu = w->ports[port_id].mtu_bytes;
	return 0;
}

int rte_eth_macaddr_get(uint16_t port_id, struct rte_ether_addr *addr)
{
	memcpy(addr->addr_bytes, port_id == 0 ? mac_b : mac_a, 6);
	return port_id < LOOP_PORTS ? 0 : -ENODEV;
}

/* ---- the world ----------------------------------------------------------- */

static int open_port(unsigned int i)
{
	int (*from_rings)(const char *name, struct rte_ring *const rx[],
			  unsigned int nb_rx, struct rte_ring *const tx[],
			  unsigned int nb_tx, unsigned int node);
	const struct rte_eth_conf conf = { 0 };
	char name[16];
	int id;

	*(void **)&from_rings =
		roost_import_find("librte_net_ring.so", "rte_eth_from_rings");
	assert_non_null(from_rings);
	snprintf(name, sizeof(name), "rx%u", i);
	w->ports[i].rx = rte_ring_create(name, LOOP_RING_LEN, 0, 0);
	snprintf(name, sizeof(name), "tx%u", i);
	w->ports[i].tx = rte_ring_create(name, LOOP_RING_LEN, 0, 0);
	snprintf(name, sizeof(name), "port%u", i);
	id = from_rings(name, &w->ports[i].rx, 1, &w->ports[i].tx, 1, 0);
	assert_int_equal(id, i);
	assert_int_equal(rte_eth_dev_configure((uint16_t)id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup((uint16_t)id, 0, LOOP_RING_LEN,
						0, NULL, w->pool),
			 0);
	assert_int_equal(rte_eth_tx_queue_setup((uint16_t)id, 0, LOOP_RING_LEN,
						0, NULL),
			 0);
	return rte_eth_dev_start((uint16_t)id);
}

int loop_world_start(void **state)
{
	eal_start();
	w->pool = rte_pktmbuf_pool_create("loop", 2047, 0, 0,
					  RTE_PKTMBUF_HEADROOM +
						  ROOST_LOOP_DATA_ROOM_BYTES,
					  0);
	assert_non_null(w->pool);
	for (unsigned int i = 0; i < LOOP_PORTS; i++)
		if (open_port(i))
			return -1;
	return 0;
}

int loop_world_setup(void **state)
{
	w->now_ns = roost_now_ns();
	for (unsigned int i = 0; i < LOOP_PORTS; i++) {
		w->ports[i].is_up = true;
		w->ports[i].speed_mbps = 10000;
		w->ports[i].mtu_bytes = 1500;
	}
	return 0;
}

int loop_world_teardown(void **state)
{
	rte_pktmbuf_free_bulk(w->punts, w->nb_punts);
	w->nb_punts = 0;
	for (uint16_t i = 0; i < LOOP_PORTS; i++)
		loop_forget_sent(i);
	assert_int_equal(rte_mempool_in_use_count(w->pool), 0);
	return 0;
}

static void keep(void *arg, struct rte_mbuf *frame)
{
	assert_ptr_equal(arg, w);
	assert_true(w->nb_punts < LOOP_PUNTS_MAX);
	w->punts[w->nb_punts++] = frame;
}

struct roost_loop_conf loop_conf(uint16_t port_id)
{
	return (struct roost_loop_conf){
		.name = port_id == 0 ? "b" : "a",
		.pool = w->pool,
		.port_id = port_id,
		.rx_queue = ROOST_LOOP_NO_QUEUE,
		.addrs = {
			.nb = 2,
			.v = {
				{ addr(port_id == 0 ? "198.18.0.2"
						    : "198.18.0.1"), 24 },
				{ addr(port_id == 0 ? "fd00::2" : "fd00::1"),
				  64 },
			},
		},
		.punt = keep,
		.arg = w,
	};
}

struct roost_loop *loop_new(const struct roost_loop_conf *conf)
{
	struct roost_loop *loop = NULL;

	assert_int_equal(roost_loop_create(conf, &loop), 0);
	/* It announces its addresses. */
	loop_run(loop, NULL, 0);
	assert_int_equal(loop_forget_sent(conf->port_id),
			 conf->silent ? 0 : conf->addrs.nb + 1);
	return loop;
}

struct roost_loop *loop_new_b(void)
{
	const struct roost_loop_conf conf = loop_conf(0);

	return loop_new(&conf);
}

void loop_destroy(struct roost_loop *loop)
{
	assert_int_equal(roost_loop_destroy(loop), 0);
}

unsigned int loop_run(struct roost_loop *loop, struct rte_mbuf **frames,
		      uint16_t n)
{
	loop_pass(1000);
	return roost_loop_run(loop, frames, n, w->now_ns);
}

void loop_pass(uint64_t ns)
{
	w->now_ns += ns;
}

/* ---- frames -------------------------------------------------------------- */

struct rte_mbuf *loop_mbuf(const void *bytes, size_t len_bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(w->pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)len_bytes), bytes, len_bytes);
	return mbuf;
}

struct rte_mbuf *loop_cut(struct rte_mbuf *mbuf, unsigned int bytes)
{
	const uint8_t *p = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	unsigned int len = mbuf->pkt_len;
	struct rte_mbuf *head = loop_mbuf(p, RTE_MIN(len, bytes));

	assert_int_equal(mbuf->nb_segs, 1);
	for (unsigned int off = bytes; off < len; off += bytes)
		assert_int_equal(rte_pktmbuf_chain(head,
						   loop_mbuf(p + off,
							     RTE_MIN(len - off,
								     bytes))),
				 0);
	rte_pktmbuf_free(mbuf);
	return head;
}

struct rte_mbuf *loop_tag(struct rte_mbuf *mbuf, uint16_t ethertype,
			  uint16_t tci)
{
	uint8_t *p = (uint8_t *)rte_pktmbuf_prepend(mbuf, 4);

	if (!p)
		abort();
	memmove(p, p + 4, 12);
	p[12] = (uint8_t)(ethertype >> 8);
	p[13] = (uint8_t)ethertype;
	p[14] = (uint8_t)(tci >> 8);
	p[15] = (uint8_t)tci;
	return mbuf;
}

void loop_hear(struct roost_loop *loop, const struct golden_frame *f)
{
	struct rte_mbuf *mbuf = loop_mbuf(f->bytes, f->len_bytes);

	loop_run(loop, &mbuf, 1);
}

struct rte_mbuf *loop_sent(uint16_t port_id)
{
	void *mbuf = NULL;

	rte_ring_dequeue(w->ports[port_id].tx, &mbuf);
	return mbuf;
}

unsigned int loop_forget_sent(uint16_t port_id)
{
	struct rte_mbuf *mbuf;
	unsigned int nb = 0;

	for (; (mbuf = loop_sent(port_id)) != NULL; nb++)
		rte_pktmbuf_free(mbuf);
	return nb;
}

void loop_expect_sent(uint16_t port_id, const struct golden_frame *f)
{
	struct rte_mbuf *mbuf = loop_sent(port_id);

	assert_non_null(mbuf);
	assert_int_equal(mbuf->pkt_len, f->len_bytes);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), f->bytes,
			    f->len_bytes);
	rte_pktmbuf_free(mbuf);
	assert_null(loop_sent(port_id));
}

void loop_expect_punts(unsigned int nb)
{
	assert_int_equal(w->nb_punts, nb);
	rte_pktmbuf_free_bulk(w->punts, nb);
	w->nb_punts = 0;
}
