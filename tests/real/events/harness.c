/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "tests/real/events/events.h"

#define CQ_ENTRIES 128

struct line line_open(struct ibv_comp_channel *channel)
{
	struct ibv_qp_init_attr_ex attr = tour_init_attr(IBV_QPT_RC);
	struct line l = { .channel = channel };

	if (!l.channel)
		l.channel = ibv_create_comp_channel(tour.context);
	assert_non_null(l.channel);
	l.cq = ibv_create_cq(tour.context, CQ_ENTRIES, &tour, l.channel, 0);
	assert_non_null(l.cq);
	attr.recv_cq = l.cq;
	l.p = tour_pair_connected(attr);
	return l;
}

void line_hang_up(struct line *l)
{
	tour_pair_part(l->p);
}

void line_close(struct line *l)
{
	line_hang_up(l);
	assert_int_equal(ibv_destroy_cq(l->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(l->channel), 0);
}

void line_arm(struct line *l, int solicited_only)
{
	assert_int_equal(ibv_req_notify_cq(l->cq, solicited_only), 0);
}

void line_send(struct line *l, bool solicited)
{
	struct ibv_sge from = tour_sge(tour.buf, 8);
	struct ibv_sge into = tour_sge(tour.peer, RECV_BYTES);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = solicited ? IBV_SEND_SOLICITED : 0,
	};

	tour_receive(l->p.b, &into);
	assert_int_equal(tour_done(l->p.a, &wr), IBV_WC_SUCCESS);
}

void line_ring(struct line *l)
{
	line_arm(l, 0);
	line_send(l, false);
}

void line_get(struct line *l)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	assert_int_equal(ibv_get_cq_event(l->channel, &cq, &context), 0);
	assert_ptr_equal(cq, l->cq);
	assert_ptr_equal(context, &tour);
}

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, ms);

	assert_true(n >= 0);
	return n == 1 && p.revents == POLLIN;
}

void set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	assert_true(flags >= 0);
	assert_int_equal(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
}

void assert_quiet(int fd)
{
	assert_false(readable(fd, QUIET_MS));
}

/* ---- destroys that wait ------------------------------------------------- */

static void *destroy_main(void *arg)
{
	struct destroyer *d = arg;

	d->rc = d->destroy(d->object);
	atomic_store(&d->done, true);
	return NULL;
}

void destroy_begin(struct destroyer *d, int (*destroy)(void *), void *object)
{
	d->destroy = destroy;
	d->object = object;
	atomic_store(&d->done, false);
	assert_int_equal(pthread_create(&d->thread, NULL, destroy_main, d), 0);
}

void destroy_assert_waits(struct destroyer *d)
{
	usleep(QUIET_MS * 1000);
	assert_false(atomic_load(&d->done));
}

void destroy_end(struct destroyer *d)
{
	const int64_t until = tour_now_ns() + TOUR_TIMEOUT_NS;

	while (!atomic_load(&d->done) && tour_now_ns() < until)
		usleep(1000);
	assert_true(atomic_load(&d->done));
	pthread_join(d->thread, NULL);
	assert_int_equal(d->rc, 0);
}

int destroy_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

int destroy_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

int destroy_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

int destroy_wq(void *wq)
{
	return ibv_destroy_wq(wq);
}

/* ---- receive work queues --------------------------------------------------
 */

struct ibv_wq *wq_new(struct ibv_cq *cq, uint32_t max_wr)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = max_wr,
		.max_sge = 1,
		.pd = tour.pd,
		.cq = cq,
	};
	struct ibv_wq_attr ready = {
		.attr_mask = IBV_WQ_ATTR_STATE,
		.wq_state = IBV_WQS_RDY,
	};
	struct ibv_wq *wq = ibv_create_wq(tour.context, &attr);

	assert_non_null(wq);
	assert_int_equal(ibv_modify_wq(wq, &ready), 0);
	return wq;
}

void wq_receive(struct ibv_wq *wq, uint64_t wr_id, void *addr, uint32_t lkey)
{
	struct ibv_sge into = { (uintptr_t)addr, TOUR_GRH_BYTES + RECV_BYTES,
				lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id,
				  .sg_list = &into,
				  .num_sge = 1 },
			   *bad;

	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
}

struct ibv_rwq_ind_table *wq_table(struct ibv_wq **wqs, uint32_t log_size)
{
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = log_size,
		.ind_tbl = wqs,
	};
	struct ibv_rwq_ind_table *table =
		ibv_create_rwq_ind_table(tour.context, &attr);

	assert_non_null(table);
	return table;
}

struct ibv_qp *wq_qp(struct ibv_rwq_ind_table *table, uint64_t fields)
{
	static uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e,
				   0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
				   0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = tour.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = fields,
		},
	};
	struct ibv_qp *qp = ibv_create_qp_ex(tour.context, &attr);

	assert_non_null(qp);
	tour_connect(qp, 0);
	return qp;
}

void wq_datagram(uint32_t qpn, uint32_t flow_label, const void *data,
		 uint32_t len)
{
	struct ibv_ah_attr ah_attr = tour_to_ourselves();
	struct ibv_qp *qp = tour_datagrams(0);
	struct ibv_sge from = tour_sge(tour.buf, len);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .remote_qpn = qpn, .remote_qkey = TOUR_QKEY },
	};

	memcpy(tour.buf, data, len);
	ah_attr.grh.flow_label = flow_label;
	wr.wr.ud.ah = ibv_create_ah(tour.pd, &ah_attr);
	assert_non_null(wr.wr.ud.ah);
	assert_int_equal(tour_done(qp, &wr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}
