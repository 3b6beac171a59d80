/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <limits.h>

#include <rte_mbuf.h>

#include "tests/unit/engine/fixture.h"

#define IP_MTU_BYTES 9000u

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct fixture *f = ctx;

	(void)queue;
	(void)pkts;
	(void)n;
	f->nb_looks++;
	return 0;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct fixture *f = ctx;

	(void)queue;
	if (n > f->take_max)
		n = f->take_max;
	if (n > f->take_left)
		n = (uint16_t)f->take_left;
	f->take_left -= n;
	rte_pktmbuf_free_bulk(pkts, n);
	f->nb_sent += n;
	return n;
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	(void)ctx;
	rte_pktmbuf_free(pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	struct fixture *f = ctx;

	(void)sgid;
	(void)dgid;
	if (f->on_resolve != NULL)
		f->on_resolve(f);
	if (f->resolve_rc != 0)
		return f->resolve_rc;
	f->neigh_refs++;
	*neigh = &f->neigh;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct fixture *f = ctx;

	assert_ptr_equal(neigh, &f->neigh);
	f->neigh_refs--;
}

void fixture_open(struct fixture *f, struct rte_mempool *pool)
{
	fixture_open_workers(f, pool, 1);
}

void fixture_open_workers(struct fixture *f, struct rte_mempool *pool,
			  unsigned int nb_workers)
{
	const uint8_t v4[4] = { 198, 18, 0, 1 }, peer_v4[4] = { 198, 18, 0, 2 };
	struct roost_dev_conf conf = {
		.name = "roost0",
		.pool = pool,
		.nb_ports = 1,
		.nb_workers = nb_workers,
		.frame_io = { {
			.ctx = f,
			.rx_burst = rx_burst,
			.tx_burst = tx_burst,
			.punt = punt,
		} },
		.addr_io = { {
			.ctx = f,
			.resolve = resolve,
			.neigh_put = neigh_put,
		} },
		.mac = { { 2, 0, 0, 0, 0, 1 } },
		.node_guid = 0x0200000000000001u,
		.seed = { 1, 2 },
	};

	*f = (struct fixture){
		.take_max = UINT16_MAX,
		.take_left = UINT_MAX,
	};
	f->gid = roost_gid_from_v4(v4);
	f->peer = roost_gid_from_v4(peer_v4);
	f->gid6 = (struct roost_gid){ { 0xfd, [15] = 1 } };
	f->peer6 = (struct roost_gid){ { 0xfd, [15] = 2 } };
	atomic_store(&f->neigh.mac_gen, 0x0200000000020001u);
	assert_int_equal(roost_dev_create(&conf, &f->dev), 0);
	f->worker = roost_dev_worker(f->dev);
	assert_int_equal(roost_port_set_gid(f->dev, 1, 0, &f->gid), 0);
	assert_int_equal(roost_port_set_gid(f->dev, 1, 1, &f->gid6), 0);
	roost_port_set_link(f->dev, 1, ROOST_PORT_ACTIVE, IP_MTU_BYTES, 0);
	assert_int_equal(roost_ctx_open(f->dev, &f->ctx), 0);
	assert_int_equal(roost_pd_alloc(f->ctx, &f->pd), 0);
	assert_int_equal(roost_cq_create(f->ctx, 64, NULL, NULL, &f->cq), 0);
}

void fixture_close(struct fixture *f)
{
	assert_int_equal(roost_cq_destroy(f->cq, NULL, NULL), 0);
	assert_int_equal(roost_pd_dealloc(f->pd), 0);
	assert_int_equal(roost_ctx_close(f->ctx), 0);
	assert_int_equal(roost_dev_destroy(f->dev), 0);
	assert_int_equal(f->neigh_refs, 0);
}

int fixture_setup(void **state)
{
	static struct fixture f;

	fixture_open(&f, NULL);
	*state = &f;
	return 0;
}

int fixture_teardown(void **state)
{
	fixture_close(*state);
	return 0;
}

/* ---- QPs ------------------------------------------------------------ */

struct roost_qp *fixture_qp(struct fixture *f, uint32_t n)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = {
			.max_send_wr = n,
			.max_recv_wr = n,
			.max_send_sge = 4,
			.max_recv_sge = 4,
		},
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(f->ctx, f->pd, &init, &qp), 0);
	return qp;
}

int fixture_to_init(struct roost_qp *qp)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
	};

	return roost_qp_modify(qp, &attr,
			       ROOST_QP_STATE | ROOST_QP_PORT |
				       ROOST_QP_PKEY_INDEX |
				       ROOST_QP_ACCESS_FLAGS);
}

struct roost_qp_attr fixture_rtr_attr(const struct fixture *f)
{
	return (struct roost_qp_attr){
		.state = ROOST_QPS_RTR,
		.path_mtu = ROOST_MTU_1024,
		.rq_psn = 100,
		.dest_qpn = 0x123456,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.av = {
			.is_global = true,
			.port_num = 1,
			.dgid = f->peer,
			.hop_limit = 64,
		},
	};
}

int fixture_to_rtr(struct fixture *f, struct roost_qp *qp)
{
	struct roost_qp_attr attr = fixture_rtr_attr(f);

	return roost_qp_modify(qp, &attr, FIXTURE_RTR_MASK);
}

int fixture_to_rts(struct roost_qp *qp)
{
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_RTS,
		.sq_psn = 200,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return roost_qp_modify(qp, &attr, FIXTURE_RTS_MASK);
}

int fixture_to(struct roost_qp *qp, enum roost_qp_state state)
{
	struct roost_qp_attr attr = { .state = state };

	return roost_qp_modify(qp, &attr, ROOST_QP_STATE);
}

struct roost_qp *fixture_qp_in_rts(struct fixture *f, uint32_t n)
{
	struct roost_qp *qp = fixture_qp(f, n);

	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(fixture_to_rts(qp), 0);
	return qp;
}

int fixture_send(struct roost_qp *qp, const struct roost_send_wr *wr)
{
	int rc;

	roost_qp_send_begin(qp);
	rc = roost_qp_send_add(qp, wr);
	roost_qp_send_end(qp);
	return rc;
}

int fixture_recv(struct roost_qp *qp, const struct roost_recv_wr *wr)
{
	int rc;

	roost_qp_recv_begin(qp);
	rc = roost_qp_recv_add(qp, wr);
	roost_qp_recv_end(qp);
	return rc;
}

unsigned int fixture_iterate(struct fixture *f, uint64_t now_ns)
{
	unsigned int work;

	assert_true(roost_worker_turn_try(f->worker));
	work = roost_worker_iterate(f->worker, now_ns);
	roost_worker_turn_release(f->worker);
	return work;
}
