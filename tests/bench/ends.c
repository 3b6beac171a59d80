/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/port.h"
#include "lib/wire/frame.h"
#include "tests/bench/ends.h"
#include "tests/unit/engine/eal.h"

#define CQ_ENTRIES 4096u
#define POLL_ENTRIES 32
#define POOL_MBUFS 8191u
#define POOL_PER_SENDER 256u
#define POOL_PER_WORKER 1536u
#define POOL_CACHE 256u

struct bench_end bench_ends[BENCH_SENDERS_MAX + 1];
bool bench_selective;
bool bench_ect;
bool bench_uc;
unsigned int bench_nb_workers = 1;
bool bench_crossed;

void bench_must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(-rc));
	exit(EXIT_FAILURE);
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	(void)ctx;
	rte_pktmbuf_free(pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **neigh)
{
	(void)sgid;
	(void)dgid;
	*neigh = &((struct bench_end *)ctx)->peer;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	(void)ctx;
	(void)neigh;
}

/* ---- ends ------------------------------------------------------------- */

static void open_end(int side, struct rte_mempool *pool,
		     const struct bench_bursts *bursts, unsigned int nb_qps)
{
	const uint8_t v4[4] = { 198, 18, 0, (uint8_t)(side + 1) };
	struct bench_end *end = &bench_ends[side];
	struct roost_dev_conf conf = {
		.selective_repeat = bench_selective,
		.name = side == 0 ? "a" : "b",
		.pool = pool,
		.nb_ports = 1,
		.nb_workers = bench_nb_workers,
		.frame_io = { { .ctx = end,
				.nb_queues = bench_nb_workers,
				.rx_burst = bursts->rx,
				.tx_burst = bursts->tx,
				.punt = punt } },
		.addr_io = { { .ctx = end,
			       .resolve = resolve,
			       .neigh_put = neigh_put } },
		.mac = { { 2, 0, 0, 0, 0, (uint8_t)side } },
		.node_guid = (uint64_t)side + 1,
		.seed = { 1, 2 }, /* the same numbers in every run */
	};

	atomic_store(&end->peer.mac_gen, (uint64_t)2 << 56 | 1);
	end->gid = roost_gid_from_v4(v4);
	bench_must(roost_dev_create(&conf, &end->dev), "device");
	bench_must(roost_port_set_gid(end->dev, 1, 0, &end->gid), "GID");
	roost_port_set_link(end->dev, 1, ROOST_PORT_ACTIVE, 4500, 0);
	end->worker = roost_dev_worker(end->dev);
	bench_must(roost_ctx_open(end->dev, &end->ctx), "context");
	bench_must(roost_pd_alloc(end->ctx, &end->pd), "PD");
	end->buf = aligned_alloc(4096, BENCH_BUF_BYTES);
	memset(end->buf, side + 1, BENCH_BUF_BYTES);
	bench_must(roost_mr_reg(end->pd, end->buf, BENCH_BUF_BYTES,
				(uintptr_t)end->buf,
				ROOST_ACCESS_LOCAL_WRITE |
					ROOST_ACCESS_REMOTE_WRITE |
					ROOST_ACCESS_REMOTE_READ,
				&end->mr),
		   "MR");
	for (unsigned int w = 0; w < bench_nb_workers; w++)
		bench_must(roost_cq_create(end->ctx, CQ_ENTRIES, NULL, end,
					   &end->cqs[w]),
			   "CQ");
	end->qps = calloc(nb_qps, sizeof(end->qps[0]));
}

static void create_qp(struct bench_end *end, unsigned int i)
{
	struct roost_cq *cq = end->cqs[i % bench_nb_workers];
	struct roost_qp_init init = {
		.type = bench_uc ? ROOST_QPT_UC : ROOST_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = BENCH_QUEUE_LEN,
			 .max_recv_wr = BENCH_QUEUE_LEN,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_bytes = 64 },
	};

	bench_must(roost_qp_create(end->ctx, end->pd, &init, &end->qps[i]),
		   "QP");
}

/* What modify needs for UC, and more for RC. */
#define RTR_UC                                                                 \
	(ROOST_QP_STATE | ROOST_QP_AV | ROOST_QP_PATH_MTU |                    \
	 ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN)
#define RTR_RC (ROOST_QP_MAX_DEST_RD_ATOMIC | ROOST_QP_MIN_RNR_TIMER)
#define RTS_UC (ROOST_QP_STATE | ROOST_QP_SQ_PSN)
#define RTS_RC                                                                 \
	(ROOST_QP_TIMEOUT | ROOST_QP_RETRY_CNT | ROOST_QP_RNR_RETRY |          \
	 ROOST_QP_MAX_QP_RD_ATOMIC)

static void connect_qp(const struct bench_end *end, unsigned int i,
		       const struct bench_end *to, unsigned int k)
{
	struct roost_qp *qp = end->qps[i];
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
		.access = ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_READ,
		.path_mtu = ROOST_MTU_4096,
		.dest_qpn = roost_qp_num(to->qps[k]),
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.timeout = 14, /* 67 ms: as programs have it */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .is_global = true,
			.port_num = 1,
			.dgid = to->gid,
			.hop_limit = 64,
			.traffic_class = bench_ect ? ROOST_ECN_ECT0 : 0 },
	};

	bench_must(roost_qp_modify(qp, &attr,
				   ROOST_QP_STATE | ROOST_QP_PORT |
					   ROOST_QP_PKEY_INDEX |
					   ROOST_QP_ACCESS_FLAGS),
		   "INIT");
	attr.state = ROOST_QPS_RTR;
	bench_must(roost_qp_modify(qp, &attr, RTR_UC | (bench_uc ? 0 : RTR_RC)),
		   "RTR");
	attr.state = ROOST_QPS_RTS;
	bench_must(roost_qp_modify(qp, &attr, RTS_UC | (bench_uc ? 0 : RTS_RC)),
		   "RTS");
}

void bench_iterate(struct bench_end *end, uint64_t now_ns)
{
	if (!roost_worker_turn_try(end->worker))
		exit(EXIT_FAILURE);
	roost_worker_iterate(end->worker, now_ns);
	roost_worker_turn_release(end->worker);
}

void bench_end_turn(struct bench_end *end, uint64_t now_ns)
{
	struct roost_cqe cqes[POLL_ENTRIES];
	int n;

	bench_iterate(end, now_ns);
	n = roost_cq_poll(end->cqs[0], POLL_ENTRIES, cqes);
	for (int i = 0; i < n; i++) {
		if (cqes[i].status != ROOST_WC_SUCCESS) {
			fprintf(stderr, "bench: status %d\n", cqes[i].status);
			exit(EXIT_FAILURE);
		}
	}
	end->nb_done += (uint64_t)n;
}

int bench_post(struct bench_end *end, unsigned int i,
	       enum roost_wr_opcode opcode, const struct bench_end *to,
	       uint32_t len_bytes)
{
	struct roost_qp *qp = end->qps[i];
	const struct roost_sge sge = { (uintptr_t)end->buf, len_bytes,
				       roost_mr_lkey(end->mr) };
	const struct roost_send_wr wr = {
		.wr_id = i,
		.sges = &sge,
		.nb_sges = 1,
		.opcode = opcode,
		.flags = ROOST_SEND_SIGNALED,
		.remote_addr = (uintptr_t)to->buf,
		.rkey = roost_mr_rkey(to->mr),
	};
	int rc;

	roost_qp_send_begin(qp);
	rc = roost_qp_send_add(qp, &wr);
	roost_qp_send_end(qp);
	return rc;
}

int bench_write(struct bench_end *end, unsigned int i, uint32_t len_bytes)
{
	return bench_post(end, i, ROOST_WR_WRITE, &bench_ends[1], len_bytes);
}

static struct rte_mempool *make_pool(unsigned int nb_mbufs)
{
	return rte_pktmbuf_pool_create("bench", nb_mbufs, POOL_CACHE, 0,
				       RTE_PKTMBUF_HEADROOM +
					       ROOST_FRAME_OVERHEAD_MAX + 4096,
				       0);
}

/* The QP of the other end that QP i is joined to. */
static unsigned int joined_to(unsigned int i)
{
	const unsigned int n = bench_nb_workers, row = i / n;

	return bench_crossed ? row * n + (i + row) % n : i;
}

static void join(struct bench_end *from, unsigned int i, unsigned int k)
{
	struct bench_end *to = &bench_ends[1];

	connect_qp(from, i, to, k);
	connect_qp(to, k, from, i);
}

void bench_star_open(const struct bench_bursts *bursts, unsigned int nb_senders,
		     unsigned int nb_qps)
{
	struct rte_mempool *pool;

	if (nb_qps < 1 || nb_senders < 1 || nb_senders > BENCH_SENDERS_MAX ||
	    nb_qps > BENCH_QPS_MAX / nb_senders) {
		fprintf(stderr, "bench: 1 to %u QPs\n", BENCH_QPS_MAX);
		exit(EXIT_FAILURE);
	}
	eal_start();
	pool = make_pool(POOL_MBUFS + (nb_senders - 1) * POOL_PER_SENDER +
			 (bench_nb_workers - 1) * POOL_PER_WORKER);
	if (pool == NULL) {
		fprintf(stderr, "bench: no memory for frames\n");
		exit(EXIT_FAILURE);
	}
	open_end(1, pool, bursts, nb_senders * nb_qps);
	for (unsigned int s = 0; s < nb_senders; s++) {
		struct bench_end *end = bench_sender(s);

		open_end((int)(end - bench_ends), pool, bursts, nb_qps);
		for (unsigned int i = 0; i < nb_qps; i++) {
			create_qp(end, i);
			create_qp(&bench_ends[1], s * nb_qps + i);
		}
		for (unsigned int i = 0; i < nb_qps; i++)
			join(end, i, s * nb_qps + joined_to(i));
	}
}

void bench_ends_open(const struct bench_bursts *bursts,
		     struct bench_wire *wires[2], unsigned int nb_qps)
{
	for (int side = 0; side < 2; side++) {
		bench_ends[side].in = wires[!side];
		bench_ends[side].out = wires[side];
	}
	bench_star_open(bursts, 1, nb_qps);
}
