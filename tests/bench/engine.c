/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The engine alone: both ends in one thread, frames handed over as they are,
 * no port, no other core, no shim. What a message costs here is what the
 * transport itself costs, requester and responder together.
 *
 * usage: engine [-n MESSAGES] [-q QPS] [-k KERNEL] CASE...
 *   -k  the loops for the ICRC (lib/wire/kernel.h), or "none": no ICRC at all,
 *       neither made nor looked at
 * Prints "engine CASE ns NANOSECONDS gbps GIGABITS" per case: per message, and
 * of payload.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/engine/cq.h"
#include "lib/engine/dev.h"
#include "lib/engine/mr.h"
#include "lib/engine/qp.h"
#include "lib/engine/worker.h"
#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"
#include "tests/unit/engine/eal.h"

#define BUF_BYTES (1u << 20)
#define BATCH 32u
#define CQ_ENTRIES 4096u
#define POOL_MBUFS 8191u
#define POOL_CACHE 256u
#define QPS_MAX 16384u
#define WIRE_LEN 4096u

static const struct bench_case {
	const char *name;
	enum roost_wr_opcode opcode;
	uint32_t len_bytes;
	uint32_t flags;
	unsigned int batch;
} cases[] = {
	{ "send16", ROOST_WR_SEND, 16, ROOST_SEND_INLINE, BATCH },
	{ "write16", ROOST_WR_WRITE, 16, ROOST_SEND_INLINE, BATCH },
	{ "send64", ROOST_WR_SEND, 64, 0, BATCH },
	{ "send64-one", ROOST_WR_SEND, 64, 0, 1 },
	{ "write4k", ROOST_WR_WRITE, 4096, 0, BATCH },
	{ "write64k", ROOST_WR_WRITE, 65536, 0, 4 },
	{ "read64k", ROOST_WR_READ, 65536, 0, 4 },
	{ "send64k", ROOST_WR_SEND, 65536, 0, 4 },
};

struct wire {
	struct rte_mbuf *frames[WIRE_LEN];
	uint32_t head, tail;
};

struct end {
	struct wire *in, *out;
	struct roost_neigh peer;
	struct roost_gid gid;
	struct roost_dev *dev;
	struct roost_worker *worker;
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_mr *mr;
	struct roost_cq *cq;
	struct roost_qp **qps;
	uint8_t *buf;
	uint64_t nb_done;
};

static struct wire wires[2];
static struct end ends[2];
static unsigned int nb_qps = 1;

static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "engine: %s: %s\n", what, strerror(-rc));
	exit(EXIT_FAILURE);
}

/* ---- the port --------------------------------------------------------- */

static uint16_t rx_burst(void *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire *wire = ((struct end *)ctx)->in;
	uint16_t i = 0;

	while (i < n && wire->tail != wire->head)
		pkts[i++] = wire->frames[wire->tail++ % WIRE_LEN];
	return i;
}

static uint16_t tx_burst(void *ctx, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire *wire = ((struct end *)ctx)->out;
	uint16_t i = 0;

	while (i < n && wire->head - wire->tail < WIRE_LEN)
		wire->frames[wire->head++ % WIRE_LEN] = pkts[i++];
	return i;
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
	*neigh = &((struct end *)ctx)->peer;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	(void)ctx;
	(void)neigh;
}

/* ---- ends ------------------------------------------------------------- */

static void open_end(int side, struct rte_mempool *pool)
{
	const uint8_t v4[4] = { 198, 18, 0, (uint8_t)(side + 1) };
	struct end *end = &ends[side];
	struct roost_dev_conf conf = {
		.name = side == 0 ? "a" : "b",
		.pool = pool,
		.nb_ports = 1,
		.io = { { .ctx = end,
			  .rx_burst = rx_burst,
			  .tx_burst = tx_burst,
			  .punt = punt,
			  .resolve = resolve,
			  .neigh_put = neigh_put } },
		.mac = { { 2, 0, 0, 0, 0, (uint8_t)side } },
		.node_guid = (uint64_t)side + 1,
		.seed = { 1, 2 }, /* the same numbers in every run */
	};

	end->in = &wires[side];
	end->out = &wires[!side];
	atomic_store(&end->peer.mac_gen, (uint64_t)2 << 56 | 1);
	end->gid = roost_gid_from_v4(v4);
	must(roost_dev_create(&conf, &end->dev), "device");
	must(roost_port_set_gid(end->dev, 1, 0, &end->gid), "GID");
	roost_port_set_link(end->dev, 1, ROOST_PORT_ACTIVE, 4500, 0);
	end->worker = roost_dev_worker(end->dev);
	must(roost_ctx_open(end->dev, &end->ctx), "context");
	must(roost_pd_alloc(end->ctx, &end->pd), "PD");
	end->buf = aligned_alloc(4096, BUF_BYTES);
	memset(end->buf, side + 1, BUF_BYTES);
	must(roost_mr_reg(end->pd, end->buf, BUF_BYTES, (uintptr_t)end->buf,
			  ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |
				  ROOST_ACCESS_REMOTE_READ,
			  &end->mr),
	     "MR");
	must(roost_cq_create(end->ctx, CQ_ENTRIES, NULL, end, &end->cq), "CQ");
	end->qps = calloc(nb_qps, sizeof(end->qps[0]));
}

static void create_qp(struct end *end, unsigned int i)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = 2 * BATCH,
			 .max_recv_wr = 2 * BATCH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_bytes = 64 },
	};

	must(roost_qp_create(end->ctx, end->pd, &init, &end->qps[i]), "QP");
}

static void connect_qp(struct end *end, const struct end *to, unsigned int i)
{
	struct roost_qp *qp = end->qps[i];
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = 1,
		.access = ROOST_ACCESS_REMOTE_WRITE | ROOST_ACCESS_REMOTE_READ,
		.path_mtu = ROOST_MTU_4096,
		.dest_qpn = roost_qp_num(to->qps[i]),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.timeout = 14, /* 67 ms: as programs have it */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .is_global = true,
			.port_num = 1,
			.dgid = to->gid,
			.hop_limit = 64 },
	};

	must(roost_qp_modify(qp, &attr,
			     ROOST_QP_STATE | ROOST_QP_PORT |
				     ROOST_QP_PKEY_INDEX |
				     ROOST_QP_ACCESS_FLAGS),
	     "INIT");
	attr.state = ROOST_QPS_RTR;
	must(roost_qp_modify(qp, &attr,
			     ROOST_QP_STATE | ROOST_QP_AV | ROOST_QP_PATH_MTU |
				     ROOST_QP_DEST_QPN | ROOST_QP_RQ_PSN |
				     ROOST_QP_MAX_DEST_RD_ATOMIC |
				     ROOST_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.state = ROOST_QPS_RTS;
	must(roost_qp_modify(qp, &attr,
			     ROOST_QP_STATE | ROOST_QP_SQ_PSN |
				     ROOST_QP_TIMEOUT | ROOST_QP_RETRY_CNT |
				     ROOST_QP_RNR_RETRY |
				     ROOST_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

/* ---- messages --------------------------------------------------------- */

static void post_receives(unsigned int i, unsigned int n)
{
	struct end *end = &ends[1];
	const struct roost_sge sge = { (uintptr_t)end->buf, BUF_BYTES,
				       roost_mr_lkey(end->mr) };
	const struct roost_recv_wr wr = { .sges = &sge, .nb_sges = 1 };

	roost_qp_recv_begin(end->qps[i]);
	while (n-- > 0)
		must(roost_qp_recv_add(end->qps[i], &wr), "receive");
	roost_qp_recv_end(end->qps[i]);
}

/* Each batch asks for one completion, of its last. */
static void post_sends(const struct bench_case *c, unsigned int i,
		       unsigned int n)
{
	struct end *end = &ends[0];
	const struct roost_sge sge = { (uintptr_t)end->buf, c->len_bytes,
				       roost_mr_lkey(end->mr) };
	struct roost_send_wr wr = {
		.sges = &sge,
		.nb_sges = 1,
		.opcode = c->opcode,
		.flags = c->flags,
		.remote_addr = (uintptr_t)ends[1].buf,
		.rkey = roost_mr_rkey(ends[1].mr),
	};

	roost_qp_send_begin(end->qps[i]);
	while (n-- > 0) {
		if (n == 0)
			wr.flags |= ROOST_SEND_SIGNALED;
		must(roost_qp_send_add(end->qps[i], &wr), "send");
	}
	roost_qp_send_end(end->qps[i]);
}

static void turn(struct end *end)
{
	static uint64_t now_ns = 1000000000;
	struct roost_cqe cqes[BATCH];
	int n;

	if (!roost_worker_turn_try(end->worker))
		exit(EXIT_FAILURE);
	roost_worker_iterate(end->worker, now_ns += 100);
	roost_worker_turn_release(end->worker);
	n = roost_cq_poll(end->cq, BATCH, cqes);
	for (int i = 0; i < n; i++) {
		if (cqes[i].status != ROOST_WC_SUCCESS) {
			fprintf(stderr, "engine: status %d\n", cqes[i].status);
			exit(EXIT_FAILURE);
		}
	}
	end->nb_done += (uint64_t)n;
}

static void exchange(const struct bench_case *c, unsigned int i)
{
	bool receives = c->opcode == ROOST_WR_SEND;
	uint64_t sent = ends[0].nb_done + 1;
	uint64_t received = ends[1].nb_done + (receives ? c->batch : 0);

	if (receives)
		post_receives(i, c->batch);
	post_sends(c, i, c->batch);
	while (ends[0].nb_done < sent || ends[1].nb_done < received) {
		turn(&ends[0]);
		turn(&ends[1]);
	}
}

/* Of this thread: what others do meanwhile is not in it. */
static double used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(const struct bench_case *c, unsigned long nb_msgs)
{
	unsigned long rounds = nb_msgs / c->batch;
	double ns;

	if (rounds == 0)
		rounds = 1;
	exchange(c, 0);
	ns = used_ns();
	for (unsigned long i = 0; i < rounds; i++)
		exchange(c, (unsigned int)(i % nb_qps));
	ns = (used_ns() - ns) / (double)(rounds * c->batch);
	printf("engine %s ns %.1f gbps %.1f\n", c->name, ns,
	       8 * c->len_bytes / ns);
	fflush(stdout);
}

/* ---- without an ICRC -------------------------------------------------- */

static uint32_t no_icrc(const struct roost_icrc_mask *mask, const uint8_t *l3,
			size_t len_bytes)
{
	(void)mask;
	(void)l3;
	(void)len_bytes;
	return 0;
}

static uint32_t only_copy(uint32_t crc, uint8_t *dst, const uint8_t *src,
			  size_t len_bytes)
{
	memcpy(dst, src, len_bytes);
	return crc;
}

static void choose_kernel(const char *name)
{
	static struct roost_kernel none;

	for (unsigned int i = 0; i < ROOST_NB_KERNELS; i++)
		if (strcmp(roost_kernels[i]->name, name) == 0 &&
		    roost_kernels[i]->usable()) {
			roost_kernel = roost_kernels[i];
			return;
		}
	if (strcmp(name, "none") != 0) {
		fprintf(stderr, "engine: -k %s: not on this machine\n", name);
		exit(EXIT_FAILURE);
	}
	none = *roost_kernel;
	none.icrc = no_icrc;
	none.crc_copy = only_copy;
	roost_kernel = &none;
}

static int run_named(const char *name, unsigned long nb_msgs)
{
	for (size_t i = 0; i < RTE_DIM(cases); i++)
		if (strcmp(cases[i].name, name) == 0) {
			run(&cases[i], nb_msgs);
			return 0;
		}
	fprintf(stderr, "engine: no case %s; there are:", name);
	for (size_t i = 0; i < RTE_DIM(cases); i++)
		fprintf(stderr, " %s", cases[i].name);
	fprintf(stderr, "\n");
	return EXIT_FAILURE;
}

static struct rte_mempool *make_pool(void)
{
	return rte_pktmbuf_pool_create("bench", POOL_MBUFS, POOL_CACHE, 0,
				       RTE_PKTMBUF_HEADROOM +
					       ROOST_FRAME_OVERHEAD_MAX + 4096,
				       0);
}

int main(int argc, char **argv)
{
	unsigned long nb_msgs = 100000;
	struct rte_mempool *pool;
	int option, rc = 0;

	while ((option = getopt(argc, argv, "n:q:k:")) != -1) {
		if (option == 'n')
			nb_msgs = strtoul(optarg, NULL, 0);
		else if (option == 'q')
			nb_qps = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'k')
			choose_kernel(optarg);
		else
			return EXIT_FAILURE;
	}
	if (nb_qps < 1 || nb_qps > QPS_MAX) {
		fprintf(stderr, "engine: -q: 1 to %u\n", QPS_MAX);
		return EXIT_FAILURE;
	}
	eal_start();
	pool = make_pool();
	if (pool == NULL) {
		fprintf(stderr, "engine: no memory for frames\n");
		return EXIT_FAILURE;
	}
	open_end(0, pool);
	open_end(1, pool);
	for (unsigned int i = 0; i < nb_qps; i++) {
		create_qp(&ends[0], i);
		create_qp(&ends[1], i);
		connect_qp(&ends[0], &ends[1], i);
		connect_qp(&ends[1], &ends[0], i);
	}
	for (int i = optind; i < argc && rc == 0; i++)
		rc = run_named(argv[i], nb_msgs);
	return rc;
}
