/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Datagrams that are spread over receive work queues. */

#include "tests/real/events/events.h"

#define NB_WQS 4
#define FLOWS 32
#define SLOT_BYTES (TOUR_GRH_BYTES + RECV_BYTES)
#define WITH_PORT (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_UDP)

struct spread {
	struct ibv_cq *cqs[NB_WQS];
	struct ibv_wq *wqs[NB_WQS];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
};

static struct spread spread_open(uint64_t fields)
{
	struct spread s;

	for (int i = 0; i < NB_WQS; i++) {
		s.cqs[i] = ibv_create_cq(tour.context, 128, NULL, NULL, 0);
		s.wqs[i] = wq_new(s.cqs[i], 64);
		for (int n = 0; n < 64; n++)
			wq_receive(s.wqs[i], (uint64_t)n,
				   tour.peer + SLOT_BYTES * (64 * i + n),
				   tour.mr->lkey);
	}
	s.table = wq_table(s.wqs, 2);
	s.qp = wq_qp(s.table, fields);
	return s;
}

static void spread_close(struct spread *s)
{
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(s->table), 0);
	for (int i = 0; i < NB_WQS; i++) {
		assert_int_equal(ibv_destroy_wq(s->wqs[i]), 0);
		assert_int_equal(ibv_destroy_cq(s->cqs[i]), 0);
	}
}

/* The WQ that the next datagram came to, and its completion. */
static unsigned int arrival(struct spread *s, struct ibv_wc *wc)
{
	const int64_t until = tour_now_ns() + TOUR_TIMEOUT_NS;

	while (tour_now_ns() < until)
		for (unsigned int i = 0; i < NB_WQS; i++)
			if (ibv_poll_cq(s->cqs[i], 1, wc) == 1)
				return i;
	fail_msg("no datagram came");
	return 0;
}

/* A flow stays where it is, and flows are apart. */
static void wq__a_flow_has_its_wq(void **state)
{
	struct spread s = spread_open(WITH_PORT);
	unsigned int used = 0;
	struct ibv_wc wc;

	(void)state;
	for (uint32_t flow = 1; flow <= FLOWS; flow++) {
		unsigned int at, first = NB_WQS;

		for (unsigned int n = 0; n < 3; n++) {
			const uint32_t text[2] = { flow, n };
			uint8_t *slot;

			wq_datagram(s.qp->qp_num, flow, text, sizeof(text));
			at = arrival(&s, &wc);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.opcode, IBV_WC_RECV);
			assert_int_equal(wc.qp_num, s.wqs[at]->wq_num);
			assert_int_equal(wc.byte_len,
					 TOUR_GRH_BYTES + sizeof(text));
			assert_true(wc.wc_flags & IBV_WC_GRH);
			slot = tour.peer + SLOT_BYTES * (64 * at + wc.wr_id);
			assert_memory_equal(slot + TOUR_GRH_BYTES, text,
					    sizeof(text));
			if (n == 0)
				first = at;
			assert_int_equal(at, first);
			used |= 1u << at;
			wq_receive(s.wqs[at], wc.wr_id, slot, tour.mr->lkey);
		}
	}
	assert_int_equal(used, (1u << NB_WQS) - 1);
	spread_close(&s);
}

/* Nothing hashed: the first WQ has all. */
static void wq__without_fields(void **state)
{
	struct spread s = spread_open(0);
	struct ibv_wc wc;

	(void)state;
	for (uint32_t flow = 1; flow <= FLOWS; flow++) {
		wq_datagram(s.qp->qp_num, flow, "x", 1);
		assert_int_equal(arrival(&s, &wc), 0);
	}
	spread_close(&s);
}

static void set_state(struct ibv_wq *wq, enum ibv_wq_state to)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE,
				    .wq_state = to };

	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
}

/* A WQ that fails takes nothing along, and is back after RESET. */
static void wq__fails_alone(void **state)
{
	struct ibv_wq *wq = wq_new(tour.rcq, 8);
	struct ibv_rwq_ind_table *table = wq_table(&wq, 0);
	struct ibv_qp *qp = wq_qp(table, 0);
	struct ibv_async_event e;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;

	(void)state;
	wq_receive(wq, 1, tour.peer, tour.mr->lkey ^ 1);
	wq_receive(wq, 2, tour.peer, tour.mr->lkey);
	wq_datagram(qp->qp_num, 0, "x", 1);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.qp_num, wq->wq_num);
	e = tour_event(IBV_EVENT_WQ_FATAL);
	assert_ptr_equal(e.element.wq, wq);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	set_state(wq, IBV_WQS_RESET);
	set_state(wq, IBV_WQS_RDY);
	wq_receive(wq, 3, tour.peer, tour.mr->lkey);
	wq_datagram(qp->qp_num, 0, "y", 1);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(tour.peer[TOUR_GRH_BYTES], 'y');
	assert_quiet(tour.context->async_fd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* As for a QP: too long costs the datagram. Asked to be in ERR is no event. */
static void wq__too_long_and_asked_for(void **state)
{
	struct ibv_wq *wq = wq_new(tour.rcq, 8);
	struct ibv_rwq_ind_table *table = wq_table(&wq, 0);
	struct ibv_qp *qp = wq_qp(table, 0);
	static const uint8_t long_one[RECV_BYTES + 1];
	struct ibv_wc wc;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		wq_receive(wq, i, tour.peer, tour.mr->lkey);
	wq_datagram(qp->qp_num, 0, long_one, sizeof(long_one));
	assert_int_equal(tour_completion(tour.rcq).status, IBV_WC_LOC_LEN_ERR);
	wq_datagram(qp->qp_num, 0, "y", 1);
	assert_int_equal(tour_completion(tour.rcq).status, IBV_WC_SUCCESS);
	set_state(wq, IBV_WQS_ERR);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	wq_receive(wq, 4, tour.peer, tour.mr->lkey);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wr_id, 4);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	wq_datagram(qp->qp_num, 0, "z", 1);
	tour_silence(tour.rcq);
	assert_quiet(tour.context->async_fd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* What a device says that it can, it can. */
static void wq__caps(void **state)
{
	struct ibv_device_attr_ex attr;
	const uint64_t fields = WITH_PORT;

	(void)state;
	assert_int_equal(ibv_query_device_ex(tour.context, NULL, &attr), 0);
	assert_true(attr.max_wq_type_rq >= NB_WQS);
	assert_true(attr.rss_caps.supported_qpts & 1u << IBV_QPT_UD);
	assert_true(attr.rss_caps.max_rwq_indirection_tables >= 1);
	assert_true(attr.rss_caps.max_rwq_indirection_table_size >= NB_WQS);
	assert_true(attr.rss_caps.rx_hash_function & IBV_RX_HASH_FUNC_TOEPLITZ);
	assert_int_equal(attr.rss_caps.rx_hash_fields_mask & fields, fields);
}

const struct CMUnitTest events_wq[] = {
	TOUR_TEST(wq__a_flow_has_its_wq),
	TOUR_TEST(wq__without_fields),
	TOUR_TEST(wq__fails_alone),
	TOUR_TEST(wq__too_long_and_asked_for),
	TOUR_TEST(wq__caps),
	{ 0 },
};
