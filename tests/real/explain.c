/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * usage: explain CASE requester|responder DIR
 *
 * One of two processes with a QP each, which are made to fail in one of the
 * ways that the table names. They find each other by files in DIR, and the
 * requester posts when DIR/go is there. Both print their QP's number when they
 * are ready, and stay until they are killed, so that somebody can ask about
 * what is left.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/real/user.h"

#define WRONG_KEY 0x12345678u
#define QKEY 0x11111111u
#define MEMORY 8192
#define REMOTE                                                                 \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                    \
	 IBV_ACCESS_REMOTE_ATOMIC)
/* Messages of the case that fills a CQ. */
#define FLOOD 64

enum what {
	NOTHING,
	MTU,        /* that of the responder is smaller */
	DEAF,       /* the responder stays in INIT */
	OVERRUN,    /* of the responder's CQ */
	DATAGRAM,   /* UD, and another Q_Key */
	INVALIDATE, /* the responder's window */
	DEALLOCATE,
	RESET,      /* the responder, after it was ready */
	GONE,       /* the responder's QP is destroyed */
	SHORT,      /* receives of 10 bytes */
	UNFIT,      /* receives into memory that nobody registered */
	FORBIDDEN,  /* the responder's QP permits no access */
	READ_ONLY,  /* its region does not */
	RANGE,      /* one byte behind the end of its region */
	MISALIGNED, /* an atomic */
	NO_READS,   /* the responder has no resources for READs */
	LKEY,       /* the requester sends what nobody registered */
	PSN_BEFORE, /* of the one that the responder expects */
	PSN_BEHIND,
	ONCE, /* deaf, and the requester tries once */
};

static const struct kind {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum what what;
	bool no_receive;
	bool wrong_key;
} kinds[] = {
	{ "plain", IBV_WR_SEND, NOTHING, false, false },
	{ "key", IBV_WR_RDMA_WRITE, NOTHING, false, true },
	{ "receive", IBV_WR_SEND, NOTHING, true, false },
	{ "silent", IBV_WR_SEND, DEAF, false, false },
	{ "mtu", IBV_WR_SEND, MTU, false, false },
	{ "qkey", IBV_WR_SEND, DATAGRAM, false, false },
	{ "overrun", IBV_WR_SEND, OVERRUN, false, false },
	{ "invalidated", IBV_WR_RDMA_WRITE, INVALIDATE, false, false },
	{ "deallocated", IBV_WR_RDMA_WRITE, DEALLOCATE, false, false },
	{ "reset", IBV_WR_SEND, RESET, false, false },
	{ "gone", IBV_WR_SEND, GONE, false, false },
	{ "short", IBV_WR_SEND, SHORT, false, false },
	{ "unfit", IBV_WR_SEND, UNFIT, false, false },
	{ "forbidden", IBV_WR_RDMA_WRITE, FORBIDDEN, false, false },
	{ "read-only", IBV_WR_RDMA_WRITE, READ_ONLY, false, false },
	{ "range", IBV_WR_RDMA_WRITE, RANGE, false, false },
	{ "misaligned", IBV_WR_ATOMIC_FETCH_AND_ADD, MISALIGNED, false, false },
	{ "no-reads", IBV_WR_RDMA_READ, NO_READS, false, false },
	{ "lkey", IBV_WR_SEND, LKEY, false, false },
	{ "psn-before", IBV_WR_SEND, PSN_BEFORE, false, false },
	{ "psn-behind", IBV_WR_SEND, PSN_BEHIND, false, false },
	{ "once", IBV_WR_SEND, ONCE, false, false },
};

/* What an end tells the other one. */
struct card {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

static const struct kind *kind;
static const char *dir;
static bool is_requester;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static _Alignas(8) uint8_t memory[MEMORY];

static void path_of(char path[512], const char *name)
{
	snprintf(path, 512, "%s/%s", dir, name);
}

/* Until the file is there. */
static FILE *wait_for(const char *name)
{
	char path[512];
	FILE *file;

	path_of(path, name);
	while (!(file = fopen(path, "r")))
		usleep(10000);
	return file;
}

static void tell(const struct card *own)
{
	char path[512], temporary[512];
	FILE *file;

	path_of(path, is_requester ? "requester" : "responder");
	path_of(temporary, is_requester ? "requester.new" : "responder.new");
	file = fopen(temporary, "w");
	user_check(file && fwrite(own, sizeof(*own), 1, file) == 1 &&
			   fclose(file) == 0 && rename(temporary, path) == 0,
		   "the card");
}

static struct card hear(void)
{
	FILE *file = wait_for(is_requester ? "responder" : "requester");
	struct card card;

	user_check(fread(&card, sizeof(card), 1, file) == 1, "the other card");
	fclose(file);
	return card;
}

static void make(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = FLOOD,
			 .max_recv_wr = FLOOD,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = kind->what == DATAGRAM ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_device **list = ibv_get_device_list(NULL);

	user_check(list != NULL && list[0] != NULL, "no device");
	context = ibv_open_device(list[0]);
	user_check(context != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context,
			   kind->what == OVERRUN && !is_requester ? 1 : FLOOD,
			   NULL, NULL, 0);
	user_check(pd != NULL && cq != NULL, "PD and CQ");
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			kind->what == READ_ONLY
				? IBV_ACCESS_LOCAL_WRITE
				: IBV_ACCESS_LOCAL_WRITE | REMOTE |
					  IBV_ACCESS_MW_BIND);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	user_check(mr != NULL && qp != NULL, "MR and QP");
}

static void to_init(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = kind->what == FORBIDDEN ? 0 : REMOTE,
	};

	user_check(ibv_modify_qp(qp, &attr,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					 IBV_QP_PORT |
					 (kind->what == DATAGRAM
						  ? IBV_QP_QKEY
						  : IBV_QP_ACCESS_FLAGS)) == 0,
		   "INIT");
}

static struct ibv_ah_attr way_to(const struct card *peer)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1 };

	ah.grh.hop_limit = 64;
	ah.grh.dgid = peer->gid;
	ah.grh.sgid_index = 1;
	return ah;
}

static void to_rts(const struct card *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = kind->what == MTU && !is_requester ? IBV_MTU_512
							       : IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = kind->what == PSN_BEFORE   ? 100
			  : kind->what == PSN_BEHIND ? 0xffff00
						     : 0,
		.max_dest_rd_atomic = kind->what == NO_READS ? 0 : 1,
		.min_rnr_timer = 1,
		.ah_attr = way_to(peer),
	};
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	const bool ud = kind->what == DATAGRAM;

	user_check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (ud ? 0 : rtr)) == 0,
		   "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = kind->what == ONCE ? 0 : 2,
		.rnr_retry = 1,
		.max_rd_atomic = 1,
	};
	user_check(ibv_modify_qp(qp, &attr,
				 IBV_QP_STATE | IBV_QP_SQ_PSN |
					 (ud ? 0 : rts)) == 0,
		   "RTS");
}

static void take_one(void)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	user_check(n == 1, "ibv_poll_cq");
	printf("status %d\n", wc.status);
	fflush(stdout);
}

/* A window on the memory, that is revoked again. Returns its key. */
static uint32_t revoke_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;
	uint32_t rkey;

	user_check(mw != NULL, "ibv_alloc_mw");
	rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info.mr = mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)memory;
	wr.bind_mw.bind_info.length = sizeof(memory);
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	user_check(ibv_post_send(qp, &wr, &bad) == 0, "the bind");
	take_one();
	if (kind->what == DEALLOCATE) {
		user_check(ibv_dealloc_mw(mw) == 0, "ibv_dealloc_mw");
		return rkey;
	}
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
				   .invalidate_rkey = rkey };
	user_check(ibv_post_send(qp, &wr, &bad) == 0, "the invalidation");
	take_one();
	return rkey;
}

static void post_receives(void)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory,
		.length = kind->what == SHORT ? 10 : sizeof(memory),
		.lkey = kind->what == UNFIT ? WRONG_KEY : mr->lkey
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < FLOOD && !kind->no_receive; i++)
		user_check(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void request(const struct card *peer)
{
	const bool atomic = kind->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = { .addr = (uintptr_t)memory,
			       .length = kind->what == MTU ? 2000
					 : atomic          ? 8
							   : 100,
			       .lkey = kind->what == LKEY ? WRONG_KEY
							  : mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = kind->opcode };
	struct ibv_send_wr *bad;
	struct ibv_ah_attr way;
	int nb = kind->what == OVERRUN ? FLOOD : 1;

	if (atomic) {
		wr.wr.atomic.remote_addr = peer->addr + 4;
		wr.wr.atomic.rkey = peer->rkey;
	} else if (kind->opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr =
			peer->addr + (kind->what == RANGE ? MEMORY - 99 : 0);
		wr.wr.rdma.rkey = kind->wrong_key ? WRONG_KEY : peer->rkey;
	}
	if (kind->what == DATAGRAM) {
		way = way_to(peer);
		wr.wr.ud.ah = ibv_create_ah(pd, &way);
		wr.wr.ud.remote_qpn = peer->qpn;
		wr.wr.ud.remote_qkey = QKEY + 1;
		user_check(wr.wr.ud.ah != NULL, "ibv_create_ah");
	}
	for (int i = 0; i < nb; i++)
		user_check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	for (int i = 0; i < nb; i++)
		take_one();
}

int main(int argc, char **argv)
{
	struct card own, peer;
	bool deaf;

	user_check(argc == 4, "usage: explain CASE requester|responder DIR");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			kind = &kinds[i];
	user_check(kind != NULL, "unknown case");
	is_requester = strcmp(argv[2], "requester") == 0;
	dir = argv[3];
	make();
	own = (struct card){ .qpn = qp->qp_num,
			     .rkey = mr->rkey,
			     .addr = (uintptr_t)memory };
	user_check(ibv_query_gid(context, 1, 1, &own.gid) == 0,
		   "ibv_query_gid");
	to_init();
	post_receives();
	deaf = (kind->what == DEAF || kind->what == ONCE) && !is_requester;
	/* A window needs a QP that sends; it does without its peer. */
	if (is_requester) {
		tell(&own);
		peer = hear();
		to_rts(&peer);
	} else {
		peer = hear();
		if (!deaf)
			to_rts(&peer);
		if (kind->what == INVALIDATE || kind->what == DEALLOCATE)
			own.rkey = revoke_window();
		tell(&own);
	}
	if (!is_requester && kind->what == RESET) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

		user_check(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0,
			   "RESET");
	}
	printf("ready 0x%x\n", qp->qp_num);
	fflush(stdout);
	if (!is_requester && kind->what == GONE)
		user_check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
	if (is_requester) {
		fclose(wait_for("go"));
		request(&peer);
	}
	for (;;)
		pause();
}
