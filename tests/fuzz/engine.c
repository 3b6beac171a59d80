/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/fuzz/engine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <sanitizer/asan_interface.h>

#include "lib/engine/core/port.h"
#include "lib/event/source.h"
#include "lib/engine/transport/gsi.h"
#include "lib/engine/sched/worker.h"
#include "tests/qp_masks.h"
#include "tests/unit/engine/busy.h"
#include "tests/unit/engine/eal.h"

#define POOL_MBUFS 1023u
#define GUARD_BYTE 0xee
#define SETTLE_TURNS 64u
/* The most frames that one iteration may make: what its queue to the port
 * holds, and as much again that the port took in between.
 */
#define TURN_FRAMES_MAX 1024u

struct engine engine;
static struct rte_mempool *tx_pool, *rx_pool;
static unsigned int tx_before, rx_before;
static struct roost_neigh neigh;
static int neigh_refs, neigh_refs_before;
static uint8_t *memory;
static uint8_t guard_bytes[ENGINE_GUARD_BYTES];

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
static uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static struct roost_gid gid_of(bool ours, bool v6)
{
	const uint8_t v4[4] = { 198, 18, 0, ours ? 1 : 2 };

	if (v6)
		return (struct roost_gid){ { 0xfd, [15] = ours ? 1 : 2 } };
	return roost_gid_from_v4(v4);
}

/* ---- the port --------------------------------------------------------- */

/* A read behind the frame is one that ASan sees. */
static struct rte_mbuf *mbuf_of(const uint8_t *frame, size_t len_bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rx_pool);
	uint8_t *data;

	FUZZ_CHECK(mbuf != NULL);
	ASAN_UNPOISON_MEMORY_REGION(mbuf->buf_addr, mbuf->buf_len);
	data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(data, frame, len_bytes);
	mbuf->data_len = (uint16_t)len_bytes;
	mbuf->pkt_len = (uint32_t)len_bytes;
	ASAN_POISON_MEMORY_REGION(data + len_bytes, rte_pktmbuf_tailroom(mbuf));
	return mbuf;
}

static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	uint16_t got = 0;

	(void)ctx;
	FUZZ_CHECK(queue == 0);
	for (; got < n && engine.nb_read < engine.nb_in; engine.nb_read++)
		pkts[got++] = mbuf_of(engine.in[engine.nb_read].bytes,
				      engine.in[engine.nb_read].len_bytes);
	return got;
}

bool engine_is_peer(uint32_t qpn)
{
	return qpn >= ENGINE_PEER_QPN && qpn < ENGINE_PEER_QPN + ENGINE_QPS;
}

static void check_sent(const struct rte_mbuf *mbuf)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct roost_frame frame;
	struct roost_gid ours, peer;
	struct roost_pkt pkt;

	FUZZ_CHECK(mbuf->nb_segs == 1 && mbuf->pkt_len == mbuf->data_len);
	FUZZ_CHECK(roost_frame_parse(data, mbuf->data_len, &frame) ==
		   ROOST_FRAME_ROCE);
	FUZZ_CHECK((size_t)(frame.l3 - data) + frame.l3_len_bytes ==
		   mbuf->data_len);
	FUZZ_CHECK(roost_frame_icrc_ok(&frame));
	FUZZ_CHECK(roost_pkt_parse(&frame, &pkt) == ROOST_DROP_NONE);
	/* Of a move it may not have heard yet. */
	FUZZ_CHECK(memcmp(data, peer_mac, 5) == 0);
	FUZZ_CHECK(memcmp(data + 6, mac, 6) == 0);
	ours = gid_of(true, frame.ipv6);
	peer = gid_of(false, frame.ipv6);
	FUZZ_CHECK(roost_gid_eq(&frame.sgid, &ours));
	if (engine.take_mad != NULL && pkt.dest_qpn == ROOST_GSI_QPN)
		engine.take_mad(&frame, &pkt);
	else
		FUZZ_CHECK(roost_gid_eq(&frame.dgid, &peer) &&
			   engine_is_peer(pkt.dest_qpn));
	FUZZ_CHECK((pkt.payload_len_bytes + pkt.pad_bytes) % 4 == 0);
	for (unsigned int i = 0; i < pkt.pad_bytes; i++)
		FUZZ_CHECK(pkt.payload[pkt.payload_len_bytes + i] == 0);
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	(void)ctx;
	FUZZ_CHECK(queue == 0);
	if (n > engine.tx_room)
		n = engine.tx_room;
	for (uint16_t i = 0; i < n; i++) {
		check_sent(pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	engine.nb_out += n;
	return n;
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	(void)ctx;
	engine.nb_punted++;
	rte_pktmbuf_free(pkt);
}

static int resolve(void *ctx, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_neigh **found)
{
	(void)ctx;
	(void)sgid;
	(void)dgid;
	neigh_refs++;
	*found = &neigh;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *given)
{
	(void)ctx;
	FUZZ_CHECK(given == &neigh && neigh_refs > 0);
	neigh_refs--;
}

void engine_put(const uint8_t *frame, size_t len_bytes)
{
	if (engine.nb_in == ENGINE_FRAMES_MAX)
		return;
	FUZZ_CHECK(len_bytes <= ENGINE_FRAME_BYTES);
	memcpy(engine.in[engine.nb_in].bytes, frame, len_bytes);
	engine.in[engine.nb_in++].len_bytes = len_bytes;
}

void engine_move_peer(uint8_t number)
{
	static uint16_t gen;

	peer_mac[5] = (uint8_t)(number + 1);
	atomic_store(&neigh.mac_gen,
		     number == 0 ? 0 : roost_neigh_mac_gen(peer_mac, ++gen));
}

struct roost_flow engine_flow(enum engine_qp i)
{
	const bool loops = i == ENGINE_LOOP || i == ENGINE_LOOP_PEER;
	struct roost_flow flow = {
		.sgid = gid_of(loops, i == ENGINE_RC_SRQ),
		.dgid = gid_of(true, i == ENGINE_RC_SRQ),
		.hop_limit = 64,
		.udp_src = 0xc123,
	};

	memcpy(flow.src_mac, peer_mac, 6);
	memcpy(flow.dst_mac, mac, 6);
	return flow;
}

/* ---- the objects ------------------------------------------------------ */

#define ALL_ACCESS                                                             \
	(ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_WRITE |                \
	 ROOST_ACCESS_REMOTE_READ | ROOST_ACCESS_REMOTE_ATOMIC |               \
	 ROOST_ACCESS_FLUSH_GLOBAL | ROOST_ACCESS_MW_BIND)

static void open_dev(void)
{
	struct roost_dev_conf conf = {
		.name = "fuzz0",
		.pool = tx_pool,
		.nb_ports = 1,
		.frame_io = { {
			.rx_burst = rx_burst,
			.tx_burst = tx_burst,
			.punt = punt,
		} },
		.addr_io = { {
			.resolve = resolve,
			.neigh_put = neigh_put,
		} },
		.node_guid = 1,
		.seed = { 1, 2 },
	};
	struct roost_gid gid = gid_of(true, false), gid6 = gid_of(true, true);
	int fd;

	memcpy(conf.mac[0], mac, 6);
	FUZZ_CHECK(roost_dev_create(&conf, &engine.dev) == 0);
	FUZZ_CHECK(roost_port_set_gid(engine.dev, 1, 0, &gid) == 0);
	FUZZ_CHECK(roost_port_set_gid(engine.dev, 1, 1, &gid6) == 0);
	roost_port_set_link(engine.dev, 1, ROOST_PORT_ACTIVE, 9000, 0);
	FUZZ_CHECK(roost_ctx_open(engine.dev, &engine.ctx) == 0);
	fd = roost_channel_fd(roost_ctx_async_channel(engine.ctx));
	FUZZ_CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	FUZZ_CHECK(roost_channel_create(64, &engine.channel) == 0);
	fd = roost_channel_fd(engine.channel);
	FUZZ_CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	FUZZ_CHECK(roost_pd_alloc(engine.ctx, &engine.pd) == 0);
	FUZZ_CHECK(roost_pd_alloc(engine.ctx, &engine.other_pd) == 0);
	FUZZ_CHECK(roost_xrcd_open(engine.ctx, &engine.xrcd) == 0);
	FUZZ_CHECK(roost_cq_create(engine.ctx, 4096, engine.channel, &engine,
				   &engine.cq) == 0);
}

static struct roost_mr *reg(struct roost_pd *pd, uint8_t *at, uint32_t access)
{
	struct roost_mr *mr;

	FUZZ_CHECK(roost_mr_reg(pd, at, ENGINE_REGION_BYTES, (uintptr_t)at,
				access, &mr) == 0);
	return mr;
}

static void open_memory(void)
{
	static const uint32_t access[ENGINE_REGIONS] = {
		[ENGINE_ALL] = ALL_ACCESS,
		[ENGINE_READ_ONLY] =
			ROOST_ACCESS_LOCAL_WRITE | ROOST_ACCESS_REMOTE_READ,
		[ENGINE_LOCAL] = ROOST_ACCESS_LOCAL_WRITE,
		[ENGINE_OTHER_PD] = ALL_ACCESS,
	};
	const size_t step = ENGINE_REGION_BYTES + ENGINE_GUARD_BYTES;
	struct roost_mr *dead;

	memory =
		aligned_alloc(1024, ENGINE_REGIONS * step + ENGINE_GUARD_BYTES);
	FUZZ_CHECK(memory != NULL);
	memset(guard_bytes, GUARD_BYTE, sizeof(guard_bytes));
	memset(memory, GUARD_BYTE, ENGINE_REGIONS * step + ENGINE_GUARD_BYTES);
	for (unsigned int i = 0; i < ENGINE_REGIONS; i++) {
		engine.regions[i] = memory + ENGINE_GUARD_BYTES + i * step;
		engine.mrs[i] =
			reg(i == ENGINE_OTHER_PD ? engine.other_pd : engine.pd,
			    engine.regions[i], access[i]);
	}
	dead = reg(engine.pd, engine.regions[ENGINE_ALL], ALL_ACCESS);
	engine.dead_key = roost_mr_rkey(dead);
	FUZZ_CHECK(roost_mr_dereg(dead) == 0);
	FUZZ_CHECK(roost_mw_alloc(engine.pd, 2, &engine.mw) == 0);
	for (unsigned int i = 0; i <= ENGINE_REGIONS; i++)
		ASAN_POISON_MEMORY_REGION(memory + i * step,
					  ENGINE_GUARD_BYTES);
}

static void open_srqs(void)
{
	struct roost_srq_init init = { .max_wr = ENGINE_WRS,
				       .max_sge = 2,
				       .owner = &engine };

	FUZZ_CHECK(roost_srq_create(engine.pd, &init, &engine.srq) == 0);
	init.xrcd = engine.xrcd;
	init.cq = engine.cq;
	FUZZ_CHECK(roost_srq_create(engine.pd, &init, &engine.xrc_srq) == 0);
}

static void open_qp(enum engine_qp i)
{
	static const enum roost_qp_type types[ENGINE_QPS] = {
		[ENGINE_RC] = ROOST_QPT_RC,
		[ENGINE_RC_SRQ] = ROOST_QPT_RC,
		[ENGINE_UC] = ROOST_QPT_UC,
		[ENGINE_UD] = ROOST_QPT_UD,
		[ENGINE_XRC_INI] = ROOST_QPT_XRC_INI,
		[ENGINE_XRC_TGT] = ROOST_QPT_XRC_TGT,
		[ENGINE_LOOP] = ROOST_QPT_RC,
		[ENGINE_LOOP_PEER] = ROOST_QPT_RC,
	};
	const bool target = types[i] == ROOST_QPT_XRC_TGT;
	const bool receives = !target && types[i] != ROOST_QPT_XRC_INI;
	struct engine_end *end = &engine.ends[i];
	struct roost_qp_init init = {
		.type = types[i],
		.send_cq = target ? NULL : engine.cq,
		.recv_cq = receives ? engine.cq : NULL,
		.srq = i == ENGINE_RC_SRQ ? engine.srq : NULL,
		.xrcd = target ? engine.xrcd : NULL,
		.owner = end,
		.cap = { .max_send_wr = target ? 0 : 16,
			 .max_recv_wr = receives && i != ENGINE_RC_SRQ ? 16 : 0,
			 .max_send_sge = target ? 0 : 2,
			 .max_recv_sge = receives && i != ENGINE_RC_SRQ ? 2 : 0,
			 .max_inline_bytes = target ? 0 : 64 },
	};

	FUZZ_CHECK(roost_qp_create(engine.ctx, target ? NULL : engine.pd, &init,
				   &end->qp) == 0);
	end->qpn = roost_qp_num(end->qp);
	end->touched = true;
}

void engine_open(void)
{
	const struct roost_av av = {
		.is_global = true,
		.port_num = 1,
		.dgid = gid_of(false, false),
		.hop_limit = 64,
	};

	eal_start();
	tx_pool = eal_pool("fuzz_tx", POOL_MBUFS);
	rx_pool = eal_pool("fuzz_rx", POOL_MBUFS);
	atomic_store(&neigh.mac_gen, roost_neigh_mac_gen(peer_mac, 1));
	engine.now_ns = 1000000000ull;
	engine.tx_room = UINT16_MAX;
	open_dev();
	open_memory();
	open_srqs();
	FUZZ_CHECK(roost_ah_create(engine.pd, &av, &engine.ah) == 0);
	for (unsigned int i = 0; i < ENGINE_QPS; i++)
		open_qp((enum engine_qp)i);
	tx_before = rte_mempool_avail_count(tx_pool);
	rx_before = rte_mempool_avail_count(rx_pool);
	engine_reset();
	neigh_refs_before = neigh_refs;
}

uint32_t engine_key(enum engine_key key, uint32_t random)
{
	if (key < ENGINE_REGIONS)
		return roost_mr_rkey(engine.mrs[key]);
	if (key == ENGINE_WINDOW)
		return roost_mw_rkey(engine.mw);
	return key == ENGINE_DEAD ? engine.dead_key
				  : (key == ENGINE_ZERO ? 0 : random);
}

/* ---- states ----------------------------------------------------------- */

static void modify(struct engine_end *end, enum roost_qp_state state,
		   struct roost_qp_attr attr, uint32_t mask)
{
	attr.state = state;
	FUZZ_CHECK(roost_qp_modify(end->qp, &attr, ROOST_QP_STATE | mask) == 0);
}

static uint32_t peer_of(enum engine_qp i)
{
	if (i == ENGINE_LOOP)
		return engine.ends[ENGINE_LOOP_PEER].qpn;
	if (i == ENGINE_LOOP_PEER)
		return engine.ends[ENGINE_LOOP].qpn;
	return ENGINE_PEER_QPN + (uint32_t)i;
}

void engine_connect(enum engine_qp i, enum roost_qp_state state)
{
	const bool v6 = i == ENGINE_RC_SRQ;
	const bool loops = i == ENGINE_LOOP || i == ENGINE_LOOP_PEER;
	struct engine_end *end = &engine.ends[i];
	struct roost_qp_attr attr = {
		.port_num = 1,
		.access = ALL_ACCESS & ~ROOST_ACCESS_MW_BIND,
		.qkey = ENGINE_QKEY,
		.path_mtu = ENGINE_MTU,
		.min_rnr_timer = 1,
		.max_dest_rd_atomic = 2,
		.max_rd_atomic = 2,
		.timeout = 8,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff0,
		.dest_qpn = peer_of(i),
		.av = {
			.is_global = true,
			.port_num = 1,
			.dgid = gid_of(loops, v6),
			.sgid_index = v6 ? 1 : 0,
			.hop_limit = 64,
		},
	};
	struct roost_qp_init init;

	roost_qp_query(end->qp, &(struct roost_qp_attr){ 0 }, &init);
	if (state >= ROOST_QPS_INIT)
		modify(end, ROOST_QPS_INIT, attr,
		       ROOST_QP_PORT | ROOST_QP_PKEY_INDEX |
			       qp_masks[init.type].init);
	if (state >= ROOST_QPS_RTR)
		modify(end, ROOST_QPS_RTR, attr, qp_masks[init.type].rtr);
	if (state >= ROOST_QPS_RTS)
		modify(end, ROOST_QPS_RTS, attr, qp_masks[init.type].rts);
}

/* ---- what comes of it ------------------------------------------------- */

static void check_cqe(const struct roost_cqe *cqe)
{
	const uint32_t number = (uint32_t)cqe->wr_id;
	const unsigned int i = (unsigned int)(cqe->wr_id >> 56);
	const bool is_recv = cqe->wr_id >> 55 & 1;
	struct engine_end *end;

	FUZZ_CHECK(cqe->status <= ROOST_WC_RNR_RETRY_EXC_ERR);
	/* RESET and destroy have taken its completions along. */
	FUZZ_CHECK(cqe->qpn != engine.reset_qpn);
	if (i == ENGINE_QPS) {
		FUZZ_CHECK(is_recv && number < 64);
		FUZZ_CHECK(engine.srq_posted & 1ull << number);
		engine.srq_posted &= ~(1ull << number);
		return;
	}
	FUZZ_CHECK(i < ENGINE_QPS);
	end = &engine.ends[i];
	FUZZ_CHECK(cqe->qpn == end->qpn);
	if (is_recv) {
		FUZZ_CHECK(number == end->recv_done &&
			   number < end->nb_received);
		end->recv_done = number + 1;
	} else {
		FUZZ_CHECK(number >= end->send_done && number < end->nb_sent);
		end->send_done = number + 1;
	}
}

/* source: the only one that raises here; NULL: there are several. */
static void drain(struct roost_channel *channel,
		  const struct roost_event_source *source)
{
	struct roost_event event;

	if (roost_channel_waiting(channel) == 0)
		return;
	while (roost_channel_waiting(channel) > 0) {
		FUZZ_CHECK(roost_channel_read(channel, &event) == 0);
		FUZZ_CHECK(event.type <= ROOST_EVENT_WQ_FATAL);
		FUZZ_CHECK(source == NULL || event.source == source);
		roost_event_ack(event.source, 1);
	}
	FUZZ_CHECK(fuzz_is_quiet(roost_channel_fd(channel)));
}

void engine_poll(void)
{
	struct roost_cqe cqes[16];
	int n;

	while ((n = roost_cq_poll(engine.cq, 16, cqes)) > 0)
		for (int i = 0; i < n; i++)
			check_cqe(&cqes[i]);
	FUZZ_CHECK(n == 0);
	drain(roost_ctx_async_channel(engine.ctx), NULL);
	drain(engine.channel, roost_cq_comp_source(engine.cq));
}

void engine_turn(uint64_t ns)
{
	struct roost_worker *w = roost_dev_worker(engine.dev);
	unsigned int before = engine.nb_out;

	engine.now_ns += ns;
	FUZZ_CHECK(roost_worker_turn_try(w));
	roost_worker_iterate(w, engine.now_ns);
	roost_worker_turn_release(w);
	FUZZ_CHECK(engine.nb_out - before <= TURN_FRAMES_MAX);
}

/* ---- back to the beginning -------------------------------------------- */

static void check_guards(void)
{
	const size_t step = ENGINE_REGION_BYTES + ENGINE_GUARD_BYTES;

	for (unsigned int i = 0; i <= ENGINE_REGIONS; i++) {
		uint8_t *guard = memory + i * step;

		ASAN_UNPOISON_MEMORY_REGION(guard, ENGINE_GUARD_BYTES);
		FUZZ_CHECK(memcmp(guard, guard_bytes, ENGINE_GUARD_BYTES) == 0);
		ASAN_POISON_MEMORY_REGION(guard, ENGINE_GUARD_BYTES);
	}
}

static void reset_qp(enum engine_qp i)
{
	struct engine_end *end = &engine.ends[i];

	if (!end->touched)
		return;
	modify(end, ROOST_QPS_RESET, (struct roost_qp_attr){ 0 }, 0);
	engine.reset_qpn = end->qpn;
	engine_poll();
	engine.reset_qpn = 0;
	end->nb_sent = end->nb_received = 0;
	end->send_done = end->recv_done = 0;
	engine_connect(i, ROOST_QPS_RTS);
	end->touched = false;
}

/* Only QPs take out what waits in an SRQ: both are made anew. */
static void reset_srqs(void)
{
	if (engine.nb_srq_posted == 0)
		return;
	FUZZ_CHECK(roost_qp_destroy(engine.ends[ENGINE_RC_SRQ].qp, NULL) == 0);
	engine.reset_qpn = engine.ends[ENGINE_RC_SRQ].qpn;
	engine_poll();
	engine.reset_qpn = 0;
	FUZZ_CHECK(roost_srq_destroy(engine.srq, NULL) == 0);
	FUZZ_CHECK(roost_srq_destroy(engine.xrc_srq, NULL) == 0);
	engine_poll();
	engine.nb_srq_posted = 0;
	engine.srq_posted = 0;
	open_srqs();
	open_qp(ENGINE_RC_SRQ);
}

static void reset_window(void)
{
	if (!engine.window_touched)
		return;
	FUZZ_CHECK(roost_mw_dealloc(engine.mw) == 0);
	FUZZ_CHECK(roost_mw_alloc(engine.pd, 2, &engine.mw) == 0);
	engine.window_touched = false;
}

static void settle(void)
{
	engine.tx_room = UINT16_MAX;
	for (unsigned int i = 0; i < SETTLE_TURNS; i++) {
		engine_turn(1000);
		if (!worker_is_busy(roost_dev_worker(engine.dev)) &&
		    engine.nb_read == engine.nb_in)
			break;
	}
	engine_poll();
}

void engine_reset(void)
{
	settle();
	reset_srqs();
	for (unsigned int i = 0; i < ENGINE_QPS; i++)
		reset_qp((enum engine_qp)i);
	reset_window();
	engine.nb_in = engine.nb_read = 0;
	engine.nb_out = engine.nb_punted = 0;
	engine_turn(1000);
	engine_poll();
	FUZZ_CHECK(engine.nb_out == 0);
	FUZZ_CHECK(rte_mempool_avail_count(tx_pool) == tx_before);
	FUZZ_CHECK(rte_mempool_avail_count(rx_pool) == rx_before);
	FUZZ_CHECK(neigh_refs_before == 0 || neigh_refs == neigh_refs_before);
	check_guards();
	for (unsigned int i = 0; i < ENGINE_REGIONS; i++)
		memset(engine.regions[i], (int)(0x40 + i), ENGINE_REGION_BYTES);
}
