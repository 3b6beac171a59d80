/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What the engine takes from a client that has a channel to it: the checks that
 * a switch makes of all other frames.
 */

#include <string.h>

#include "tests/unit/engine/fixture.h"

#include <rte_mbuf.h>

#include <roost/drop.h>
#include <roost/mcast.h>
#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/in_place.h"
#include "lib/wire/frame.h"
#include "pmd_glue/channel/pool.h"

#define FROM 7u  /* the sender */
#define ITS 0x42 /* its QPN */
#define QKEY 5u
#define FRAME_MAX 256u

static struct roost_shm_pool *pool;
static struct rte_mbuf *next;
static struct roost_qp *qp;
static unsigned int nb_asked;

static bool may_send(void *ctx, uint32_t from, uint32_t qpn)
{
	nb_asked++;
	return from == FROM && qpn == ITS;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	if (!next)
		return 0;
	pkts[0] = next;
	next = NULL;
	return 1;
}

static void make_qp(struct fixture *f, enum roost_qp_type type)
{
	const bool ud = type == ROOST_QPT_UD;
	struct roost_qp_init init = {
		.type = type,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = { 4, 4, 1, 1, 0 },
	};
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
	};

	assert_int_equal(roost_qp_create(f->ctx, f->pd, &init, &qp), 0);
	assert_int_equal(roost_qp_modify(qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PORT |
						 ROOST_QP_PKEY_INDEX |
						 (ud ? ROOST_QP_QKEY
						     : ROOST_QP_ACCESS_FLAGS)),
			 0);
	attr = fixture_rtr_attr(f);
	attr.av.dgid = f->gid;
	attr.dest_qpn = ITS;
	assert_int_equal(roost_qp_modify(qp, &attr,
					 ud ? ROOST_QP_STATE
					    : ROOST_QP_STATE | ROOST_QP_AV |
							 ROOST_QP_PATH_MTU |
							 ROOST_QP_DEST_QPN |
							 ROOST_QP_RQ_PSN),
			 0);
}

static int setup(void **state)
{
	int ret = fixture_setup(state);
	struct fixture *f = *state;
	struct roost_frame_io *io = &f->dev->ports[0].frame_io;

	f->dev->shares_addrs = true;
	io->rx_burst = rx_burst;
	io->may_send = may_send;
	nb_asked = 0;
	return ret ? ret : roost_shm_pool_private(4, FRAME_MAX, &pool);
}

static int teardown(void **state)
{
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	roost_shm_pool_destroy(pool);
	return fixture_teardown(state);
}

/* A frame to that QPN; datagrams say that they come from src_qpn. */
struct spec {
	uint32_t from, dest_qpn, src_qpn;
	bool ud;
	const struct roost_gid *sgid, *dgid;
	uint8_t mac; /* the last byte of the source MAC */
};

static struct rte_mbuf *make(const struct spec *s)
{
	struct roost_flow flow = {
		.src_mac = { 2, 0, 0, 0, 0, s->mac },
		.dst_mac = { 2, 0, 0, 0, 0, 1 },
		.sgid = *s->sgid,
		.dgid = *s->dgid,
		.hop_limit = 9,
		.udp_src = 0xc000,
	};
	const struct roost_bth bth = {
		.opcode = s->ud ? ROOST_OPCODE_UD_SEND_ONLY
				: ROOST_OPCODE_UC_SEND_ONLY,
		.pkey = 0xffff,
		.dest_qpn = s->dest_qpn,
		.psn = roost_psn(100),
	};
	struct roost_hdr_template t;
	struct roost_in_place *p;
	struct rte_mbuf *mbuf;
	uint8_t *bytes;
	size_t len;

	assert_int_equal(roost_shm_pool_take(pool, &mbuf, 1), 0);
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, bytes, &bth, s->ud ? ROOST_DETH_LEN : 0);
	if (s->ud) {
		roost_deth_put(bytes + len, QKEY, s->src_qpn);
		len += ROOST_DETH_LEN;
	}
	roost_frame_seal(&t, bytes, len);
	len += ROOST_ICRC_LEN;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = (uint32_t)len;
	p = rte_mbuf_to_priv(mbuf);
	*p = (struct roost_in_place){ .from = s->from };
	return mbuf;
}

/* Why it is dropped; ROOST_DROP_NONE: the QP got it. */
static enum roost_drop drop_of(struct fixture *f, const struct spec *s)
{
	struct roost_dev_counters before, after;

	roost_dev_counters(f->dev, &before);
	next = make(s);
	fixture_iterate(f, 1000);
	roost_dev_counters(f->dev, &after);
	assert_int_equal(after.rx_pkts, before.rx_pkts + 1);
	assert_int_equal(roost_shm_pool_nb_free(pool), 4);
	if (after.drops[ROOST_DROP_QPN] != before.drops[ROOST_DROP_QPN])
		return ROOST_DROP_QPN;
	if (after.drops[ROOST_DROP_SRC_ADDR] !=
	    before.drops[ROOST_DROP_SRC_ADDR])
		return ROOST_DROP_SRC_ADDR;
	return ROOST_DROP_NONE;
}

static void sender__of_datagrams(void **state)
{
	static const struct roost_gid group = {
		{ [10] = 0xff, 0xff, 239, 1, 2, 3 }
	};
	struct fixture *f = *state;
	struct spec s;
	struct spec good;

	make_qp(f, ROOST_QPT_UD);
	good = (struct spec){ FROM,    roost_qp_num(qp), ITS, true,
			      &f->gid, &f->gid,          1 };
	assert_int_equal(drop_of(f, &good), ROOST_DROP_NONE);
	assert_int_equal(nb_asked, 1);
	/* Another client's number. */
	s = good;
	s.src_qpn++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_QPN);
	s = good;
	s.from++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_QPN);
	/* From the switch, all is checked. */
	nb_asked = 0;
	s.from = 0;
	s.src_qpn++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_NONE);
	assert_int_equal(nb_asked, 0);
	/* QP1 and groups are the switch's. */
	s = good;
	s.dest_qpn = 1;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_QPN);
	assert_int_equal(roost_mcast_attach(qp, &group), 0);
	s = good;
	s.dest_qpn = 0xffffff;
	s.dgid = &group;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_QPN);
	s.from = 0;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_NONE);
	assert_int_equal(roost_mcast_detach(qp, &group), 0);
	/* Other addresses. */
	s = good;
	s.sgid = &f->peer;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_SRC_ADDR);
	s = good;
	s.mac++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_SRC_ADDR);
	assert_int_equal(drop_of(f, &good), ROOST_DROP_NONE);
}

/* The QP's peer, and nobody else. */
static void sender__of_a_connection(void **state)
{
	struct fixture *f = *state;
	struct spec good, s;

	make_qp(f, ROOST_QPT_UC);
	good = (struct spec){ FROM,    roost_qp_num(qp), 0, false,
			      &f->gid, &f->gid,          1 };
	assert_int_equal(drop_of(f, &good), ROOST_DROP_NONE);
	assert_int_equal(nb_asked, 1);
	s = good;
	s.from++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_QPN);
	s = good;
	s.mac++;
	assert_int_equal(drop_of(f, &s), ROOST_DROP_SRC_ADDR);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sender__of_datagrams),
		TEST(sender__of_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
