/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int wq_context;

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	fake.fail_call = NULL;
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static struct ibv_wq_init_attr init_attr(void)
{
	return (struct ibv_wq_init_attr){
		.wq_context = &wq_context,
		.wq_type = IBV_WQT_RQ,
		.max_wr = 10,
		.max_sge = 2,
		.pd = pd,
		.cq = cq,
	};
}

static struct ibv_wq *create_wq(void)
{
	struct ibv_wq_init_attr attr = init_attr();
	struct ibv_wq *wq = ibv_create_wq(c, &attr);

	assert_non_null(wq);
	return wq;
}

static void create_wq__fills_what_the_program_reads(void **state)
{
	struct ibv_wq_init_attr attr = init_attr();
	struct ibv_wq *wq = ibv_create_wq(c, &attr);

	assert_non_null(wq);
	assert_int_equal(attr.max_wr, 11);
	assert_ptr_equal(wq->context, c);
	assert_ptr_equal(wq->wq_context, &wq_context);
	assert_ptr_equal(wq->pd, pd);
	assert_ptr_equal(wq->cq, cq);
	assert_int_equal(wq->wq_num, 0x777000);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_int_equal(wq->wq_type, IBV_WQT_RQ);
	assert_int_equal(fake.wq_init.max_sge, 2);
	assert_non_null(fake.wq_init.cq);
	assert_ptr_equal(fake.wq_init.owner, wq);
	assert_errno(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(fake.wqs, 0);
}

static void create_wq__what_there_is_not(void **state)
{
	struct ibv_wq_init_attr attr = init_attr();

	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	attr.create_flags = IBV_WQ_FLAGS_DELAY_DROP;
	assert_null_errno(ibv_create_wq(c, &attr), EOPNOTSUPP);
	attr.create_flags = IBV_WQ_FLAGS_PCI_WRITE_END_PADDING;
	assert_null_errno(ibv_create_wq(c, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_WQ_INIT_ATTR_RESERVED;
	assert_null_errno(ibv_create_wq(c, &attr), EOPNOTSUPP);
	attr = init_attr();
	attr.cq = NULL;
	assert_null_errno(ibv_create_wq(c, &attr), EINVAL);
	attr = init_attr();
	fake.fail_call = "roost_wq_create";
	fake.fail_rc = -ENOMEM;
	assert_null_errno(ibv_create_wq(c, &attr), ENOMEM);
}

static void modify_wq__states(void **state)
{
	struct ibv_wq *wq = create_wq();
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_RDY,
		.curr_wq_state = IBV_WQS_ERR,
	};

	assert_errno(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(fake.wq_state, ROOST_WQS_RESET);
	attr.curr_wq_state = IBV_WQS_RESET;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(fake.wq_state, ROOST_WQS_RDY);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	attr.attr_mask = IBV_WQ_ATTR_STATE;
	attr.wq_state = IBV_WQS_UNKNOWN;
	assert_errno(ibv_modify_wq(wq, &attr), EINVAL);
	attr.wq_state = IBV_WQS_ERR;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_ERR);
	attr.attr_mask = 0;
	assert_errno(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* Both flags at create; at modify the tag's alone, and no other change beside
 * what is refused.
 */
static void wq__flags(void **state)
{
	struct ibv_wq_init_attr init = init_attr();
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_FLAGS | IBV_WQ_ATTR_STATE,
		.wq_state = IBV_WQS_RDY,
		.flags = IBV_WQ_FLAGS_SCATTER_FCS,
		.flags_mask = IBV_WQ_FLAGS_SCATTER_FCS,
	};
	struct ibv_wq *wq;

	init.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
	wq = ibv_create_wq(c, &init);
	assert_int_equal(fake.wq_init.store_flags, 0); /* no comp_mask */
	assert_int_equal(ibv_destroy_wq(wq), 0);
	init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	wq = ibv_create_wq(c, &init);
	assert_int_equal(fake.wq_init.store_flags, ROOST_STORE_FCS);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	init.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	wq = ibv_create_wq(c, &init);
	assert_int_equal(fake.wq_init.store_flags, ROOST_STORE_STRIP_CVLAN);
	assert_errno(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	assert_int_equal(fake.wq_state, ROOST_WQS_RESET);
	attr.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	assert_int_equal(fake.wq_store_flags, 0);
	assert_int_equal(fake.wq_store_mask, ROOST_STORE_STRIP_CVLAN);
	attr.attr_mask = IBV_WQ_ATTR_FLAGS;
	attr.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(fake.wq_store_flags, ROOST_STORE_STRIP_CVLAN);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static void post_wq_recv__until_the_first_bad_one(void **state)
{
	struct ibv_wq *wq = create_wq();
	struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 5 };
	struct ibv_recv_wr second = { .wr_id = 2 };
	struct ibv_recv_wr first = {
		.wr_id = 1, .next = &second, .sg_list = &sge, .num_sge = 1
	};
	struct ibv_recv_wr *bad = NULL;

	assert_int_equal(ibv_post_wq_recv(wq, &first, &bad), 0);
	assert_int_equal(fake.nb_recvs, 2);
	assert_int_equal(fake.recvs[0].wr.wr_id, 1);
	assert_int_equal(fake.recvs[1].wr.wr_id, 2);
	fake.fail_call = "roost_wq_recv_add";
	fake.fail_wr = 3;
	fake.fail_rc = -ENOMEM;
	assert_int_equal(ibv_post_wq_recv(wq, &first, &bad), ENOMEM);
	assert_ptr_equal(bad, &second);
	assert_int_equal(fake.wq_begins, 2);
	assert_int_equal(fake.wq_ends, 2);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static struct ibv_rwq_ind_table *create_table(struct ibv_wq *a,
					      struct ibv_wq *b)
{
	struct ibv_wq *wqs[] = { a, b, b, a };
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = 2,
		.ind_tbl = wqs,
	};

	return ibv_create_rwq_ind_table(c, &attr);
}

static void ind_table__of_two(void **state)
{
	struct ibv_wq *a = create_wq(), *b = create_wq();
	struct ibv_rwq_ind_table *table = create_table(a, b);
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 31 };

	assert_non_null(table);
	assert_ptr_equal(table->context, c);
	assert_int_equal(fake.table_log_size, 2);
	assert_ptr_equal(fake.table_wqs[0], fake.table_wqs[3]);
	assert_ptr_equal(fake.table_wqs[1], fake.table_wqs[2]);
	assert_ptr_not_equal(fake.table_wqs[0], fake.table_wqs[1]);
	assert_null_errno(ibv_create_rwq_ind_table(c, &attr), EINVAL);
	attr.comp_mask = 1;
	assert_null_errno(ibv_create_rwq_ind_table(c, &attr), EOPNOTSUPP);
	fake.fail_call = "roost_ind_table_destroy";
	fake.fail_rc = -EBUSY;
	assert_errno(ibv_destroy_rwq_ind_table(table), EBUSY);
	fake.fail_call = NULL;
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(a), 0);
	assert_int_equal(ibv_destroy_wq(b), 0);
}

/* What a program asks of the hash, and the answer. */
static const struct {
	int answer;
	uint8_t function, key_len;
	uint64_t fields;
} hashes[] = {
	{ 0, IBV_RX_HASH_FUNC_TOEPLITZ, 40,
	  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_UDP },
	{ 0, IBV_RX_HASH_FUNC_TOEPLITZ, 40,
	  IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 },
	{ 0, 0, 0, 0 },
	{ EINVAL, IBV_RX_HASH_FUNC_TOEPLITZ, 39, IBV_RX_HASH_SRC_IPV4 },
	{ EINVAL, IBV_RX_HASH_FUNC_TOEPLITZ, 40,
	  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6 },
	{ EOPNOTSUPP, 2, 40, IBV_RX_HASH_SRC_IPV4 },
	{ EOPNOTSUPP, IBV_RX_HASH_FUNC_TOEPLITZ, 40, IBV_RX_HASH_SRC_PORT_TCP },
	{ EOPNOTSUPP, IBV_RX_HASH_FUNC_TOEPLITZ, 40, IBV_RX_HASH_INNER },
};

static void create_qp__with_a_table(void **state)
{
	struct ibv_wq *wq = create_wq();
	struct ibv_rwq_ind_table *table = create_table(wq, wq);
	uint8_t key[40] = { [0] = 0xab, [39] = 0xcd };

	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = IBV_QPT_UD,
			.send_cq = cq,
			.comp_mask = IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_IND_TABLE |
				     IBV_QP_INIT_ATTR_RX_HASH,
			.pd = pd,
			.rwq_ind_tbl = table,
			.rx_hash_conf = {
				.rx_hash_function = hashes[i].function,
				.rx_hash_key_len = hashes[i].key_len,
				.rx_hash_key = key,
				.rx_hash_fields_mask = hashes[i].fields,
			},
		};
		struct ibv_qp *qp;

		print_message("row %zu\n", i);
		if (hashes[i].answer) {
			assert_null_errno(ibv_create_qp_ex(c, &attr),
					  hashes[i].answer);
			continue;
		}
		qp = ibv_create_qp_ex(c, &attr);
		assert_non_null(qp);
		assert_non_null(fake.qp_init.ind_table);
		assert_int_equal(fake.qp_init.hash.fields, hashes[i].fields);
		if (hashes[i].fields)
			assert_memory_equal(fake.qp_init.hash.key, key, 40);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		attr.qp_type = IBV_QPT_RC;
		assert_null_errno(ibv_create_qp_ex(c, &attr), EOPNOTSUPP);
		attr.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_RX_HASH;
		assert_null_errno(ibv_create_qp_ex(c, &attr), EINVAL);
	}
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static void ack__counts_for_the_wq(void **state)
{
	struct ibv_wq *wq = create_wq();
	struct ibv_async_event event;

	fake.event = (struct roost_event){ .source = &fake.wq_async,
					   .type = ROOST_EVENT_WQ_FATAL };
	assert_int_equal(ibv_get_async_event(c, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_WQ_FATAL);
	assert_ptr_equal(event.element.wq, wq);
	ibv_ack_async_event(&event);
	assert_ptr_equal(fake.acked_source, &fake.wq_async);
	assert_int_equal(fake.acked, 1);
	assert_int_equal(wq->events_completed, 1);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* Both go with the context, the table before what it is of. */
static void close__ends_what_is_left(void **state)
{
	struct ibv_context *other = ibv_open_device(c->device);
	struct ibv_pd *other_pd = ibv_alloc_pd(other);
	struct ibv_wq_init_attr attr = init_attr();
	struct ibv_rwq_ind_table_init_attr table_attr = { 0 };
	struct ibv_wq *wq;

	attr.pd = other_pd;
	wq = ibv_create_wq(other, &attr);
	table_attr.ind_tbl = &wq;
	assert_non_null(ibv_create_rwq_ind_table(other, &table_attr));
	fake.abandoned = 0;
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(fake.wqs, 0);
	assert_int_equal(fake.ind_tables, 0);
	assert_int_equal(fake.abandoned, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_wq__fills_what_the_program_reads),
		TEST(create_wq__what_there_is_not),
		TEST(modify_wq__states),
		TEST(wq__flags),
		TEST(post_wq_recv__until_the_first_bad_one),
		TEST(ind_table__of_two),
		TEST(create_qp__with_a_table),
		TEST(ack__counts_for_the_wq),
		TEST(close__ends_what_is_left),
	};

	return cmocka_run_group_tests_name("verbs-wq", tests, NULL, NULL);
}
