/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Calls of verbs in any order, against a model: which object is in use by
 * which, the states of a QP and what each change of them needs and takes, and
 * what was posted and has to complete. The shim on the real engine; its worker
 * gets no turn of its own, so that what is posted stays until it is flushed.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/verbs/real_engine.h"

#define SOME 3u
#define QPS 4u
#define WRS 8u
#define CQES 2048
#define OPS_MAX 64u
#define MEMORY_BYTES 256u

struct used {
	void *ibv; /* NULL: there is none */
	unsigned int refs;
};

struct model_qp {
	struct ibv_qp *ibv;
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	unsigned int pd, send_cq, recv_cq, srq; /* srq: SOME if it has none */
	/* Numbers of requests: posted, and completed or dropped. */
	uint32_t sent, send_done;
	uint32_t received, recv_done;
};

static struct ibv_context *context;
static struct used pds[SOME], cqs[SOME], mrs[SOME], srqs[SOME], ahs[SOME];
static unsigned int mr_pd[SOME], srq_pd[SOME], ah_pd[SOME];
static unsigned int srq_posted[SOME];
static struct model_qp qps[QPS];
static uint8_t memory[MEMORY_BYTES];

static struct ibv_ah_attr to_self(void)
{
	const union ibv_gid gid = {
		.raw = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 },
	};

	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = gid, .hop_limit = 64 },
	};
}

/* ---- objects that others use ------------------------------------------ */

static void pd_op(unsigned int i)
{
	int rc;

	if (pds[i].ibv == NULL) {
		pds[i].ibv = ibv_alloc_pd(context);
		FUZZ_CHECK(pds[i].ibv != NULL);
		return;
	}
	rc = ibv_dealloc_pd(pds[i].ibv);
	FUZZ_CHECK(rc == (pds[i].refs > 0 ? EBUSY : 0));
	if (rc == 0)
		pds[i].ibv = NULL;
}

static void cq_op(unsigned int i)
{
	int rc;

	if (cqs[i].ibv == NULL) {
		cqs[i].ibv = ibv_create_cq(context, CQES, NULL, NULL, 0);
		FUZZ_CHECK(cqs[i].ibv != NULL);
		return;
	}
	rc = ibv_destroy_cq(cqs[i].ibv);
	FUZZ_CHECK(rc == (cqs[i].refs > 0 ? EBUSY : 0));
	if (rc == 0)
		cqs[i].ibv = NULL;
}

static void mr_op(struct fuzz_in *in, unsigned int i)
{
	const unsigned int pd = fuzz_below(in, SOME);
	const unsigned int access = fuzz_u8(in) & 15;
	const bool is_valid = access & IBV_ACCESS_LOCAL_WRITE ||
			      !(access & (IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_ATOMIC));

	if (mrs[i].ibv != NULL) {
		FUZZ_CHECK(ibv_dereg_mr(mrs[i].ibv) == 0);
		pds[mr_pd[i]].refs--;
		mrs[i].ibv = NULL;
		return;
	}
	if (pds[pd].ibv == NULL)
		return;
	mrs[i].ibv = ibv_reg_mr(pds[pd].ibv, memory, sizeof(memory), access);
	FUZZ_CHECK((mrs[i].ibv != NULL) == is_valid);
	mr_pd[i] = pd;
	pds[pd].refs += is_valid;
}

static void srq_op(struct fuzz_in *in, unsigned int i)
{
	const unsigned int pd = fuzz_below(in, SOME);
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = WRS, .max_sge = 1 },
	};
	int rc;

	if (srqs[i].ibv == NULL) {
		if (pds[pd].ibv == NULL)
			return;
		srqs[i].ibv = ibv_create_srq(pds[pd].ibv, &attr);
		FUZZ_CHECK(srqs[i].ibv != NULL && attr.attr.max_wr == WRS);
		srq_pd[i] = pd;
		srq_posted[i] = 0;
		pds[pd].refs++;
		return;
	}
	rc = ibv_destroy_srq(srqs[i].ibv);
	FUZZ_CHECK(rc == (srqs[i].refs > 0 ? EBUSY : 0));
	if (rc != 0)
		return;
	pds[srq_pd[i]].refs--;
	srqs[i].ibv = NULL;
}

static void ah_op(struct fuzz_in *in, unsigned int i)
{
	const unsigned int pd = fuzz_below(in, SOME);
	struct ibv_ah_attr attr = to_self();

	if (ahs[i].ibv != NULL) {
		FUZZ_CHECK(ibv_destroy_ah(ahs[i].ibv) == 0);
		pds[ah_pd[i]].refs--;
		ahs[i].ibv = NULL;
		return;
	}
	if (pds[pd].ibv == NULL)
		return;
	ahs[i].ibv = ibv_create_ah(pds[pd].ibv, &attr);
	FUZZ_CHECK(ahs[i].ibv != NULL);
	ah_pd[i] = pd;
	pds[pd].refs++;
}

/* ---- completions ------------------------------------------------------ */

static uint64_t wr_id(unsigned int qp, bool is_recv, uint32_t number)
{
	return (uint64_t)qp << 40 | (uint64_t)is_recv << 32 | number;
}

/* All that completes here is flushed, and in order. */
static void take_wc(unsigned int cq, const struct ibv_wc *wc)
{
	struct model_qp *qp = &qps[wc->wr_id >> 40];
	const bool is_recv = wc->wr_id >> 32 & 1;
	uint32_t *done = is_recv ? &qp->recv_done : &qp->send_done;

	FUZZ_CHECK(wc->wr_id >> 40 < QPS && qp->ibv != NULL);
	FUZZ_CHECK(wc->status == IBV_WC_WR_FLUSH_ERR);
	FUZZ_CHECK(wc->qp_num == qp->ibv->qp_num);
	FUZZ_CHECK(cq == (is_recv ? qp->recv_cq : qp->send_cq));
	FUZZ_CHECK((uint32_t)wc->wr_id == *done);
	FUZZ_CHECK(*done < (is_recv ? qp->received : qp->sent));
	++*done;
}

static void poll_all(void)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < SOME; i++)
		while (cqs[i].ibv != NULL &&
		       ibv_poll_cq(cqs[i].ibv, 1, &wc) == 1)
			take_wc(i, &wc);
}

static void poll_events(void)
{
	struct pollfd fd = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	while (poll(&fd, 1, 0) == 1) {
		FUZZ_CHECK(ibv_get_async_event(context, &event) == 0);
		FUZZ_CHECK(event.event_type == IBV_EVENT_SQ_DRAINED ||
			   event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
		ibv_ack_async_event(&event);
	}
}

/* ---- QPs -------------------------------------------------------------- */

static void destroy_qp(struct model_qp *qp)
{
	poll_all();
	FUZZ_CHECK(ibv_destroy_qp(qp->ibv) == 0);
	/* None of its completions is left. */
	qp->ibv = NULL;
	poll_all();
	pds[qp->pd].refs--;
	cqs[qp->send_cq].refs--;
	cqs[qp->recv_cq].refs--;
	if (qp->srq < SOME)
		srqs[qp->srq].refs--;
}

static void qp_op(struct fuzz_in *in, unsigned int i)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_UD };
	struct model_qp *qp = &qps[i];
	const uint8_t how = fuzz_u8(in);
	struct ibv_qp_init_attr attr = {
		.qp_type = types[how % 3],
		.cap = { .max_send_wr = WRS,
			 .max_recv_wr = WRS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (qp->ibv != NULL) {
		destroy_qp(qp);
		return;
	}
	*qp = (struct model_qp){
		.type = attr.qp_type,
		.state = IBV_QPS_RESET,
		.pd = fuzz_below(in, SOME),
		.send_cq = fuzz_below(in, SOME),
		.recv_cq = fuzz_below(in, SOME),
		.srq = how & 0x40 ? fuzz_below(in, SOME) : SOME,
	};
	if (pds[qp->pd].ibv == NULL || cqs[qp->send_cq].ibv == NULL ||
	    cqs[qp->recv_cq].ibv == NULL ||
	    (qp->srq < SOME && srqs[qp->srq].ibv == NULL))
		return;
	attr.send_cq = cqs[qp->send_cq].ibv;
	attr.recv_cq = cqs[qp->recv_cq].ibv;
	attr.srq = qp->srq < SOME ? srqs[qp->srq].ibv : NULL;
	qp->ibv = ibv_create_qp(pds[qp->pd].ibv, &attr);
	FUZZ_CHECK(qp->ibv != NULL);
	FUZZ_CHECK(attr.cap.max_send_wr == WRS);
	pds[qp->pd].refs++;
	cqs[qp->send_cq].refs++;
	cqs[qp->recv_cq].refs++;
	if (qp->srq < SOME)
		srqs[qp->srq].refs++;
}

/* ---- modify ----------------------------------------------------------- */

enum kind {
	RC,
	UC,
	UD
};

/* IBTA 11.2.4.2, as ibv_modify_qp(3) has it; without what depends on values:
 * alternate paths, migration, the current state.
 */
static const struct rule {
	enum ibv_qp_state from, to;
	int needs[3], takes[3];
} rules[] = {
	{ IBV_QPS_RESET,
	  IBV_QPS_INIT,
	  { IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	  { 0, 0, 0 } },
	{ IBV_QPS_INIT,
	  IBV_QPS_INIT,
	  { 0, 0, 0 },
	  { IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY } },
	{ IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, 0 },
	  { IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	{ IBV_QPS_RTR,
	  IBV_QPS_RTS,
	  { IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	    IBV_QP_SQ_PSN, IBV_QP_SQ_PSN },
	  { IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER, IBV_QP_ACCESS_FLAGS,
	    IBV_QP_QKEY } },
	{ IBV_QPS_RTS,
	  IBV_QPS_RTS,
	  { 0, 0, 0 },
	  { IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER, IBV_QP_ACCESS_FLAGS,
	    IBV_QP_QKEY } },
	{ IBV_QPS_RTS,
	  IBV_QPS_SQD,
	  { 0, 0, 0 },
	  { IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY,
	    IBV_QP_EN_SQD_ASYNC_NOTIFY } },
	{ IBV_QPS_SQD,
	  IBV_QPS_RTS,
	  { 0, 0, 0 },
	  { IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER, IBV_QP_ACCESS_FLAGS,
	    IBV_QP_QKEY } },
	{ IBV_QPS_SQD,
	  IBV_QPS_SQD,
	  { 0, 0, 0 },
	  { IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
		    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
		    IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER,
	    IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
};

static bool is_allowed(const struct model_qp *qp, enum ibv_qp_state to,
		       int mask)
{
	const enum kind kind = qp->type == IBV_QPT_RC   ? RC
			       : qp->type == IBV_QPT_UC ? UC
							: UD;

	mask &= ~IBV_QP_STATE;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return mask == 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];

		if (rule->from != qp->state || rule->to != to)
			continue;
		return (mask & rule->needs[kind]) == rule->needs[kind] &&
		       (mask & ~(rule->needs[kind] | rule->takes[kind])) == 0;
	}
	return false;
}

/* What the change needs, and bits that were chosen besides. */
static int mask_for(const struct model_qp *qp, enum ibv_qp_state to,
		    struct fuzz_in *in)
{
	static const int bits[] = {
		IBV_QP_EN_SQD_ASYNC_NOTIFY,
		IBV_QP_ACCESS_FLAGS,
		IBV_QP_PKEY_INDEX,
		IBV_QP_PORT,
		IBV_QP_QKEY,
		IBV_QP_AV,
		IBV_QP_PATH_MTU,
		IBV_QP_TIMEOUT,
		IBV_QP_RETRY_CNT,
		IBV_QP_RNR_RETRY,
		IBV_QP_RQ_PSN,
		IBV_QP_MAX_QP_RD_ATOMIC,
		IBV_QP_MIN_RNR_TIMER,
		IBV_QP_SQ_PSN,
		IBV_QP_DEST_QPN,
		IBV_QP_MAX_DEST_RD_ATOMIC,
	};
	const unsigned int kind = qp->type == IBV_QPT_RC   ? RC
				  : qp->type == IBV_QPT_UC ? UC
							   : UD;
	uint8_t flips = fuzz_u8(in);
	int mask = IBV_QP_STATE;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].from == qp->state && rules[i].to == to)
			mask |= rules[i].needs[kind];
	for (flips = flips < 128 ? 0 : flips & 3; flips > 0; flips--)
		mask ^= bits[fuzz_u8(in) & 15];
	return mask;
}

static void modify_qp(struct fuzz_in *in, unsigned int i)
{
	struct model_qp *qp = &qps[i];
	struct ibv_qp_attr attr = {
		.qp_state = fuzz_below(in, IBV_QPS_ERR + 1),
		.path_mtu = IBV_MTU_1024,
		.qkey = 0x11111111,
		.ah_attr = to_self(),
		.port_num = 1,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.en_sqd_async_notify = 1,
	};
	struct ibv_qp_init_attr init;
	bool allowed;
	int mask, rc;

	if (qp->ibv == NULL)
		return;
	mask = mask_for(qp, attr.qp_state, in);
	allowed = is_allowed(qp, attr.qp_state, mask);
	poll_all();
	rc = ibv_modify_qp(qp->ibv, &attr, mask);
	FUZZ_CHECK(rc == (allowed ? 0 : EINVAL));
	if (allowed && attr.qp_state == IBV_QPS_RESET) {
		qp->send_done = qp->sent;
		qp->recv_done = qp->received;
	} else if (allowed && attr.qp_state == IBV_QPS_ERR &&
		   qp->state != IBV_QPS_ERR) {
		/* What was posted to it since waits for the worker. */
		poll_all();
		FUZZ_CHECK(qp->send_done == qp->sent);
		FUZZ_CHECK(qp->recv_done == qp->received);
	}
	if (allowed)
		qp->state = attr.qp_state;
	FUZZ_CHECK(ibv_query_qp(qp->ibv, &attr, IBV_QP_STATE, &init) == 0);
	FUZZ_CHECK(attr.qp_state == qp->state);
}

/* ---- posting ---------------------------------------------------------- */

static void post_send(struct fuzz_in *in, unsigned int i)
{
	struct model_qp *qp = &qps[i];
	const unsigned int ah = fuzz_below(in, SOME);
	/* The address is of the same PD. */
	const bool may = qp->state >= IBV_QPS_RTS &&
			 (qp->type != IBV_QPT_UD || ah_pd[ah] == qp->pd);
	struct ibv_send_wr wr = {
		.wr_id = wr_id(i, false, qp->sent),
		.opcode = IBV_WR_SEND,
		.send_flags = fuzz_u8(in) & 1 ? IBV_SEND_SIGNALED : 0,
	};
	struct ibv_send_wr *bad = NULL;
	int rc, want;

	if (qp->ibv == NULL)
		return;
	wr.wr.ud.ah = ahs[ah].ibv;
	/* Without an address a datagram goes nowhere. */
	if (qp->type == IBV_QPT_UD && wr.wr.ud.ah == NULL)
		return;
	want = !may ? EINVAL : qp->sent - qp->send_done == WRS ? ENOMEM : 0;
	rc = ibv_post_send(qp->ibv, &wr, &bad);
	FUZZ_CHECK(rc == want && bad == (rc == 0 ? NULL : &wr));
	qp->sent += rc == 0;
}

static void post_recv(unsigned int i)
{
	struct model_qp *qp = &qps[i];
	struct ibv_recv_wr wr = { .wr_id = wr_id(i, true, qp->received) };
	struct ibv_recv_wr *bad = NULL;
	int rc, want;

	if (qp->ibv == NULL)
		return;
	want = qp->srq < SOME || qp->state == IBV_QPS_RESET ? EINVAL
	       : qp->received - qp->recv_done == WRS        ? ENOMEM
							    : 0;
	rc = ibv_post_recv(qp->ibv, &wr, &bad);
	FUZZ_CHECK(rc == want && bad == (rc == 0 ? NULL : &wr));
	qp->received += rc == 0;
}

static void post_srq(unsigned int i)
{
	struct ibv_recv_wr wr = { .wr_id = 1 };
	struct ibv_recv_wr *bad = NULL;
	int rc;

	if (srqs[i].ibv == NULL)
		return;
	rc = ibv_post_srq_recv(srqs[i].ibv, &wr, &bad);
	FUZZ_CHECK(rc == (srq_posted[i] == WRS ? ENOMEM : 0));
	srq_posted[i] += rc == 0;
}

/* ---- the input -------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ibv_device **list;

	(void)argc;
	(void)argv;
	unsetenv("ROOST_CONFIG");
	unsetenv("ROOST_LINK");
	list = ibv_get_device_list(NULL);
	FUZZ_CHECK(list != NULL && list[0] != NULL);
	context = ibv_open_device(list[0]);
	FUZZ_CHECK(context != NULL);
	ibv_free_device_list(list);
	return 0;
}

static void take_op(struct fuzz_in *in)
{
	const uint8_t op = fuzz_u8(in) & 15;
	const unsigned int i = fuzz_below(in, SOME);
	const unsigned int qp = fuzz_below(in, QPS);

	switch (op) {
	case 0:
		pd_op(i);
		break;
	case 1:
		cq_op(i);
		break;
	case 2:
		mr_op(in, i);
		break;
	case 3:
		srq_op(in, i);
		break;
	case 4:
		ah_op(in, i);
		break;
	case 5:
		qp_op(in, qp);
		break;
	case 6:
	case 7:
		post_send(in, qp);
		break;
	case 8:
		post_recv(qp);
		break;
	case 9:
		post_srq(i);
		break;
	case 10:
		poll_all();
		break;
	case 11:
		poll_events();
		break;
	default:
		modify_qp(in, qp);
		break;
	}
}

static void end(void)
{
	for (unsigned int i = 0; i < QPS; i++)
		if (qps[i].ibv != NULL)
			destroy_qp(&qps[i]);
	for (unsigned int i = 0; i < SOME; i++) {
		struct fuzz_in none = { NULL, 0 };

		if (srqs[i].ibv != NULL)
			srq_op(&none, i);
		if (ahs[i].ibv != NULL)
			ah_op(&none, i);
		if (mrs[i].ibv != NULL)
			mr_op(&none, i);
		if (cqs[i].ibv != NULL)
			cq_op(i);
	}
	for (unsigned int i = 0; i < SOME; i++)
		if (pds[i].ibv != NULL)
			pd_op(i);
	for (unsigned int i = 0; i < SOME; i++)
		FUZZ_CHECK(!pds[i].ibv && !cqs[i].ibv && !srqs[i].ibv);
	/* Events of what is gone are gone, with their tokens. */
	FUZZ_CHECK(fuzz_is_quiet(context->async_fd));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	for (unsigned int i = 0; i < SOME; i++) {
		pd_op(i);
		cq_op(i);
	}
	for (unsigned int n = 0; n < OPS_MAX && in.left_bytes > 0; n++)
		take_op(&in);
	end();
	return 0;
}
