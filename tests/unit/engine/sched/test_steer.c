/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Which frames of a burst a worker keeps. What becomes of the others is in
 * tests/sim.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/sched/steer.h"
#include "lib/wire/fields.h"
#include "lib/wire/frame.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

#define FRAME_BYTES 74u /* Ethernet, IPv4 or IPv6, UDP and BTH, and more */
#define NO_QPN 0xabcdefu

struct steered {
	struct fixture f;
	struct rte_mempool *pool;
	struct roost_worker *workers[2];
	struct roost_qp *qps[2]; /* one of each worker */
	struct rte_mbuf *burst[16];
	uint16_t nb;
};

static void open_steered(struct steered *s)
{
	memset(s, 0, sizeof(*s));
	s->pool = eal_pool("steered", 63);
	fixture_open_workers(&s->f, NULL, 2);
	for (unsigned int i = 0; i < 2; i++) {
		s->workers[i] = roost_dev_worker_at(s->f.dev, i);
		s->qps[i] = fixture_qp(&s->f, 1);
		assert_int_equal(roost_qp_worker(s->qps[i]), i);
	}
}

static void close_steered(struct steered *s)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(roost_qp_destroy(s->qps[i], NULL), 0);
	fixture_close(&s->f);
	/* What was handed over went with the device. */
	rte_pktmbuf_free_bulk(s->burst, s->nb);
	assert_int_equal(rte_mempool_in_use_count(s->pool), 0);
	rte_mempool_free(s->pool);
}

/* As much of a frame as steering reads. l3: where the IP header begins. */
static void add(struct steered *s, uint16_t ethertype, size_t l3, size_t l3_len,
		uint16_t udp_port, uint32_t qpn)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(s->pool);
	uint8_t *p = (uint8_t *)rte_pktmbuf_append(mbuf, FRAME_BYTES);
	uint8_t *bth = p + l3 + l3_len + ROOST_UDP_LEN;

	memset(p, 0, FRAME_BYTES);
	if (l3 > ROOST_ETH_LEN)
		p[12] = 0x81; /* a VLAN tag */
	p[l3 - 2] = (uint8_t)(ethertype >> 8);
	p[l3 - 1] = (uint8_t)ethertype;
	bth[-6] = (uint8_t)(udp_port >> 8);
	bth[-5] = (uint8_t)udp_port;
	bth[5] = (uint8_t)(qpn >> 16);
	bth[6] = (uint8_t)(qpn >> 8);
	bth[7] = (uint8_t)qpn;
	mbuf->port = 0;
	s->burst[s->nb++] = mbuf;
}

static void add_v4(struct steered *s, uint32_t qpn)
{
	add(s, ETHERTYPE_IPV4, ROOST_ETH_LEN, ROOST_IPV4_LEN, ROOST_UDP_PORT,
	    qpn);
}

/* Of the burst, these are kept, in order, by the first worker. */
static void expect_kept(struct steered *s, uint16_t n, const uint16_t *kept)
{
	struct rte_mbuf *all[16];

	memcpy(all, s->burst, sizeof(all));
	assert_true(roost_worker_turn_try(s->workers[0]));
	s->nb = roost_steer_burst(s->workers[0], s->burst, s->nb);
	roost_worker_turn_release(s->workers[0]);
	assert_int_equal(s->nb, n);
	for (uint16_t i = 0; i < n; i++)
		assert_ptr_equal(s->burst[i], all[kept[i]]);
}

static void steer__frames_go_to_the_worker_of_their_qp(void **state)
{
	struct steered s;
	uint32_t own, other;

	(void)state;
	open_steered(&s);
	own = roost_qp_num(s.qps[0]);
	other = roost_qp_num(s.qps[1]);
	add_v4(&s, own);
	add_v4(&s, other);
	add_v4(&s, other);
	add_v4(&s, own);
	add(&s, ETHERTYPE_IPV6, ROOST_ETH_LEN, ROOST_IPV6_LEN, ROOST_UDP_PORT,
	    other);
	add(&s, ETHERTYPE_IPV4, ROOST_ETH_LEN + ROOST_VLAN_LEN, ROOST_IPV4_LEN,
	    ROOST_UDP_PORT, other);
	add_v4(&s, own);
	expect_kept(&s, 3, (const uint16_t[]){ 0, 3, 6 });
	assert_true(roost_steer_has_work(s.workers[1]));
	close_steered(&s);
}

/* Also behind a frame for a QP of another worker. */
static void steer__a_frame_for_no_qp_stays(void **state)
{
	struct steered s;
	uint32_t other;

	(void)state;
	open_steered(&s);
	other = roost_qp_num(s.qps[1]);
	add_v4(&s, other);
	add_v4(&s, NO_QPN);
	add_v4(&s, other);
	/* No RoCE. */
	add(&s, ETHERTYPE_IPV4, ROOST_ETH_LEN, ROOST_IPV4_LEN, 53, other);
	add(&s, 0x0806, ROOST_ETH_LEN, ROOST_IPV4_LEN, ROOST_UDP_PORT, other);
	add_v4(&s, other);
	/* Too short. */
	add_v4(&s, other);
	rte_pktmbuf_trim(s.burst[6], FRAME_BYTES - 44);
	add_v4(&s, ROOST_MCAST_QPN); /* nobody is in a group */
	expect_kept(&s, 5, (const uint16_t[]){ 1, 3, 4, 6, 7 });
	close_steered(&s);
}

static int start(void **state)
{
	(void)state;
	eal_start();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steer__frames_go_to_the_worker_of_their_qp),
		cmocka_unit_test(steer__a_frame_for_no_qp_stays),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
