/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <poll.h>

#include "tests/real/tour/tour.h"

struct tour tour;

int64_t tour_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int tour_setup(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)state;
	assert_non_null(list);
	assert_non_null(list[0]);
	tour.context = ibv_open_device(list[0]);
	assert_non_null(tour.context);
	ibv_free_device_list(list);
	assert_int_equal(ibv_query_gid(tour.context, 1, 1, &tour.gid), 0);
	tour.pd = ibv_alloc_pd(tour.context);
	tour.scq = ibv_create_cq(tour.context, 128, NULL, NULL, 0);
	tour.rcq = ibv_create_cq(tour.context, 128, NULL, NULL, 0);
	tour.buf = mmap(NULL, TOUR_BUF_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(tour.buf != MAP_FAILED);
	tour.peer = tour.buf + TOUR_BUF_BYTES / 2;
	tour.mr =
		ibv_reg_mr(tour.pd, tour.buf, TOUR_BUF_BYTES, TOUR_ALL_ACCESS);
	assert_non_null(tour.mr);
	return 0;
}

int tour_teardown(void **state)
{
	(void)state;
	assert_int_equal(ibv_dereg_mr(tour.mr), 0);
	assert_int_equal(ibv_destroy_cq(tour.rcq), 0);
	assert_int_equal(ibv_destroy_cq(tour.scq), 0);
	assert_int_equal(ibv_dealloc_pd(tour.pd), 0);
	assert_int_equal(ibv_close_device(tour.context), 0);
	munmap(tour.buf, TOUR_BUF_BYTES);
	return 0;
}

/* ---- connections -----------------------------------------------------------
 */

struct ibv_qp_init_attr_ex tour_init_attr(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = tour.scq,
		.recv_cq = tour.rcq,
		.cap = {
			.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = tour.pd,
	};
}

struct ibv_ah_attr tour_to_ourselves(void)
{
	struct ibv_ah_attr attr = {
		.grh = { .dgid = tour.gid, .sgid_index = 1, .hop_limit = 1 },
		.is_global = 1,
		.port_num = 1,
	};

	return attr;
}

static bool is_reliable(const struct ibv_qp *qp)
{
	return qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_UC;
}

void tour_to_rtr(struct ibv_qp *qp, uint32_t dest_qpn)
{
	const bool ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.path_mtu = IBV_MTU_1024,
		.qkey = TOUR_QKEY,
		.dest_qp_num = dest_qpn,
		.qp_access_flags = (TOUR_ALL_ACCESS & ~IBV_ACCESS_MW_BIND) |
				   ACCESS_FLUSH_GLOBAL |
				   ACCESS_FLUSH_PERSISTENT,
		.ah_attr = tour_to_ourselves(),
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
	};
	const int connected =
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | (ud ? 0 : connected) |
				      (is_reliable(qp)
					       ? IBV_QP_MAX_DEST_RD_ATOMIC |
							 IBV_QP_MIN_RNR_TIMER
					       : 0)),
		0);
}

void tour_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.max_rd_atomic = 4,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN |
				      (is_reliable(qp)
					       ? IBV_QP_TIMEOUT |
							 IBV_QP_RETRY_CNT |
							 IBV_QP_RNR_RETRY |
							 IBV_QP_MAX_QP_RD_ATOMIC
					       : 0)),
		0);
}

void tour_connect(struct ibv_qp *qp, uint32_t dest_qpn)
{
	tour_to_rtr(qp, dest_qpn);
	tour_to_rts(qp);
}

struct tour_pair tour_pair_connected(struct ibv_qp_init_attr_ex attr)
{
	struct ibv_qp_init_attr_ex attr_b = attr;
	struct tour_pair p = { .a = ibv_create_qp_ex(tour.context, &attr) };

	p.b = ibv_create_qp_ex(tour.context, &attr_b);
	assert_non_null(p.a);
	assert_non_null(p.b);
	tour_connect(p.a, p.b->qp_num);
	tour_connect(p.b, p.a->qp_num);
	return p;
}

void tour_pair_part(struct tour_pair p)
{
	assert_int_equal(ibv_destroy_qp(p.a), 0);
	assert_int_equal(ibv_destroy_qp(p.b), 0);
}

struct ibv_qp *tour_datagrams(uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_UD);
	struct ibv_qp *qp;

	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = create_flags;
	qp = ibv_create_qp_ex(tour.context, &attr);
	assert_non_null(qp);
	tour_connect(qp, 0);
	return qp;
}

/* ---- doing and waiting ------------------------------------------------------
 */

struct ibv_wc tour_completion(struct ibv_cq *cq)
{
	const int64_t until = tour_now_ns() + TOUR_TIMEOUT_NS;
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0 && tour_now_ns() < until);
	assert_int_equal(n, 1);
	return wc;
}

/* Nothing comes, for as long as anything should take. */
void tour_silence(struct ibv_cq *cq)
{
	const int64_t until = tour_now_ns() + 20000000;
	struct ibv_wc wc;

	while (tour_now_ns() < until)
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

void tour_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

enum ibv_wc_status tour_done(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	tour_post(qp, wr);
	return tour_completion(tour.scq).status;
}

struct ibv_sge tour_sge(void *addr, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)addr, length, tour.mr->lkey };
}

void tour_receive(struct ibv_qp *qp, struct ibv_sge *list)
{
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* A write of 8 bytes at [to] with this key. */
enum ibv_wc_status tour_write8(struct ibv_qp *qp, uint64_t to, uint32_t rkey)
{
	struct ibv_sge from = tour_sge(tour.buf, 8);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	};

	memcpy(tour.buf, "abcdefgh", 8);
	return tour_done(qp, &wr);
}

struct ibv_async_event tour_event(enum ibv_event_type type)
{
	struct pollfd p = { .fd = tour.context->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(ibv_get_async_event(tour.context, &e), 0);
	assert_int_equal(e.event_type, type);
	return e;
}
