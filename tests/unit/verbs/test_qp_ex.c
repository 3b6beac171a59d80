/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/verbs/abi.h"
#include "verbs_test.h"

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_qp *qp;
static struct ibv_qp_ex *x;

#define ALL_RC                                                                 \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |      \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |                  \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |        \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |      \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV | 1 << 11 |     \
	 IBV_QP_EX_WITH_ATOMIC_WRITE)
#define ALL_XRC (ALL_RC & ~(uint64_t)(1 << 11 | IBV_QP_EX_WITH_ATOMIC_WRITE))
#define ALL_UC                                                                 \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |      \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |                  \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define ALL_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

static struct ibv_qp *create(enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = send_ops,
	};

	return ibv_create_qp_ex(c, &attr);
}

static int setup(void **state)
{
	c = open_roost0();
	pd = ibv_alloc_pd(c);
	qp = create(IBV_QPT_RC, ALL_RC);
	assert_non_null(qp);
	x = ibv_qp_to_qp_ex(qp);
	fake.helps = 0;
	return 0;
}

static int teardown(void **state)
{
	ibv_destroy_qp(qp);
	ibv_dealloc_pd(pd);
	close_roost0(c);
	return 0;
}

static void create__operations_of_each_type(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} rows[] = {
		{ IBV_QPT_RC, ALL_RC },
		{ IBV_QPT_UC, ALL_UC },
		{ IBV_QPT_UD, ALL_UD },
		{ IBV_QPT_XRC_SEND, ALL_XRC },
	};

	assert_ptr_equal(x, qp);
	for (size_t i = 0; i < NB(rows); i++) {
		struct ibv_qp *all = create(rows[i].type, rows[i].ops);

		assert_non_null(all);
		assert_ptr_equal(ibv_qp_to_qp_ex(all), all);
		ibv_destroy_qp(all);
		for (int bit = 0; bit < 64; bit++) {
			const uint64_t op = UINT64_C(1) << bit;

			if (!(rows[i].ops & op))
				assert_null_errno(create(rows[i].type, op),
						  EOPNOTSUPP);
		}
	}
}

static void create__a_target_sends_nothing(void **state)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask =
			IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.xrcd = ibv_open_xrcd(c, &xrcd_attr),
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	assert_null_errno(ibv_create_qp_ex(c, &attr), EOPNOTSUPP);
	ibv_close_xrcd(attr.xrcd);
}

static void wr__no_call_is_null(void **state)
{
	const size_t first = offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp);

	for (size_t at = first; at < sizeof(*x); at += sizeof(void *))
		assert_non_null(*(void **)((char *)x + at));
}

static void wr_send__one_request(void **state)
{
	ibv_wr_start(x);
	x->wr_id = 42;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(x);
	assert_int_equal(fake.nb_sends, 0);
	ibv_wr_set_sge(x, 5, 0x1000, 64);
	assert_int_equal(fake.nb_sends, 1);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.send_begins, 1);
	assert_int_equal(fake.send_ends, 1);
	assert_int_equal(fake.helps, 1);
	assert_int_equal(fake.sends[0].wr.wr_id, 42);
	assert_int_equal(fake.sends[0].wr.opcode, ROOST_WR_SEND);
	assert_int_equal(fake.sends[0].wr.flags, ROOST_SEND_SIGNALED);
	assert_int_equal(fake.sends[0].wr.nb_sges, 1);
	assert_true(fake.sends[0].sges[0].addr == 0x1000);
	assert_int_equal(fake.sends[0].sges[0].len_bytes, 64);
	assert_int_equal(fake.sends[0].sges[0].lkey, 5);
}

/* ibv_rc_pingpong -N sets the flag and then gives an ordinary element. */
static void wr_set_sge__inline_flag_means_nothing(void **state)
{
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 5, 0x1000, 64);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.sends[0].wr.flags, ROOST_SEND_SIGNALED);
}

static void wr__batch_with_every_setter(void **state)
{
	char a[] = "abc", b[] = "defg";
	struct ibv_data_buf bufs[2] = { { a, 3 }, { b, 4 } };
	struct ibv_sge sges[2] = { { 0x1, 2, 3 }, { 0x4, 5, 6 } };

	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_sge_list(x, 2, sges);
	ibv_wr_send_imm(x, 0x11223344);
	ibv_wr_set_inline_data(x, a, 3);
	ibv_wr_send(x);
	ibv_wr_set_inline_data_list(x, 2, bufs);
	ibv_wr_send(x); /* no data at all */
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.nb_sends, 4);
	assert_int_equal(fake.sends[0].wr.nb_sges, 2);
	assert_int_equal(fake.sends[0].wr.flags, 0);
	assert_int_equal(fake.sends[0].sges[1].lkey, 6);
	assert_int_equal(fake.sends[1].wr.opcode, ROOST_WR_SEND_IMM);
	assert_int_equal(fake.sends[1].wr.imm_be, 0x11223344);
	assert_int_equal(fake.sends[1].wr.flags, ROOST_SEND_INLINE);
	assert_true(fake.sends[1].sges[0].addr == (uintptr_t)a);
	assert_int_equal(fake.sends[2].wr.nb_sges, 2);
	assert_int_equal(fake.sends[2].sges[1].len_bytes, 4);
	assert_int_equal(fake.sends[3].wr.nb_sges, 0);
	assert_int_equal(fake.send_ends, 1);
}

static void wr_complete__first_error_and_nothing_posted(void **state)
{
	fake.fail_wr = 1;
	x->wr_flags = 0;
	ibv_wr_start(x);
	for (int i = 0; i < 3; i++) {
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
	}
	assert_errno(ibv_wr_complete(x), ENOMEM);
	assert_int_equal(fake.send_aborts, 1);
	assert_int_equal(fake.send_ends, 0);

	/* and the next batch begins afresh */
	fake.fail_wr = -1;
	ibv_wr_start(x);
	ibv_wr_send(x);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.nb_sends, 1);
}

static void wr_complete__bad_flag(void **state)
{
	ibv_wr_start(x);
	x->wr_flags = 1 << 5;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 1, 0, 1);
	assert_errno(ibv_wr_complete(x), EINVAL);
	assert_int_equal(fake.nb_sends, 0);
}

static void wr_set_inline__too_much(void **state)
{
	struct ibv_data_buf bufs[65] = { 0 };

	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_inline_data_list(x, 65, bufs);
	assert_errno(ibv_wr_complete(x), EINVAL);
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_inline_data(x, bufs, (size_t)UINT32_MAX + 1);
	assert_errno(ibv_wr_complete(x), EINVAL);
}

static void wr_abort__forgets(void **state)
{
	x->wr_flags = 0;
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_sge(x, 1, 0, 1);
	ibv_wr_send(x);
	ibv_wr_abort(x);
	assert_int_equal(fake.send_aborts, 1);
	assert_int_equal(fake.send_ends, 0);
	assert_int_equal(fake.nb_sends, 0);
}

/* ---- what each builder says ---------------------------------------------- */

static struct ibv_mw *mw;
static uint64_t value = 0x1122334455667788;

static void build(int which)
{
	struct ibv_mw_bind_info info = {
		.addr = 0x1000,
		.length = 32,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct roost_verbs_abi_qp_ex *flush = (void *)x;

	switch (which) {
	case ROOST_WR_SEND:
		ibv_wr_send(x);
		break;
	case ROOST_WR_SEND_IMM:
		ibv_wr_send_imm(x, 55);
		break;
	case ROOST_WR_SEND_INV:
		ibv_wr_send_inv(x, 55);
		break;
	case ROOST_WR_WRITE:
		ibv_wr_rdma_write(x, 66, 0x9000);
		break;
	case ROOST_WR_WRITE_IMM:
		ibv_wr_rdma_write_imm(x, 66, 0x9000, 55);
		break;
	case ROOST_WR_READ:
		ibv_wr_rdma_read(x, 66, 0x9000);
		break;
	case ROOST_WR_CMP_SWAP:
		ibv_wr_atomic_cmp_swp(x, 66, 0x9000, 11, 22);
		break;
	case ROOST_WR_FETCH_ADD:
		ibv_wr_atomic_fetch_add(x, 66, 0x9000, 33);
		break;
	case ROOST_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(x, 66, 0x9000, &value);
		break;
	case ROOST_WR_FLUSH:
		flush->wr_flush(x, 66, 0x9000, 77, 1, 1);
		break;
	case ROOST_WR_LOCAL_INV:
		ibv_wr_local_inv(x, 55);
		break;
	case ROOST_WR_BIND_MW:
		ibv_wr_bind_mw(x, mw, 66, &info);
		break;
	}
}

static const struct {
	struct roost_send_wr wr;
	bool data;
} builders[] = {
	{ { .opcode = ROOST_WR_SEND }, true },
	{ { .opcode = ROOST_WR_SEND_IMM, .imm_be = 55 }, true },
	{ { .opcode = ROOST_WR_SEND_INV, .imm_be = 55 }, true },
	{ { .opcode = ROOST_WR_WRITE, .rkey = 66, .remote_addr = 0x9000 },
	  true },
	{ { .opcode = ROOST_WR_WRITE_IMM,
	    .rkey = 66,
	    .remote_addr = 0x9000,
	    .imm_be = 55 },
	  true },
	{ { .opcode = ROOST_WR_READ, .rkey = 66, .remote_addr = 0x9000 },
	  true },
	{ { .opcode = ROOST_WR_CMP_SWAP,
	    .rkey = 66,
	    .remote_addr = 0x9000,
	    .compare = 11,
	    .swap_add = 22 },
	  true },
	{ { .opcode = ROOST_WR_FETCH_ADD,
	    .rkey = 66,
	    .remote_addr = 0x9000,
	    .swap_add = 33 },
	  true },
	{ { .opcode = ROOST_WR_ATOMIC_WRITE,
	    .rkey = 66,
	    .remote_addr = 0x9000,
	    .flags = ROOST_SEND_INLINE },
	  false },
	{ { .opcode = ROOST_WR_FLUSH,
	    .rkey = 66,
	    .remote_addr = 0x9000,
	    .flush_len_bytes = 77,
	    .flush_type = 1,
	    .flush_level = 1 },
	  false },
	{ { .opcode = ROOST_WR_LOCAL_INV, .imm_be = 55 }, false },
	{ { .opcode = ROOST_WR_BIND_MW,
	    .bind = { .addr = 0x1000,
		      .len_bytes = 32,
		      .access = ROOST_ACCESS_REMOTE_WRITE,
		      .rkey = 66 } },
	  false },
};

static void wr__every_builder(void **state)
{
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	x->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	x->wr_id = 99;
	for (size_t i = 0; i < NB(builders); i++) {
		const struct roost_send_wr *want = &builders[i].wr;
		const struct roost_send_wr *got = &fake.sends[0].wr;

		fake.nb_sends = 0;
		ibv_wr_start(x);
		build((int)want->opcode);
		/* who needs no setter is posted at once */
		assert_int_equal(fake.nb_sends, builders[i].data ? 0 : 1);
		ibv_wr_set_sge(x, 7, 0x2000, 8);
		assert_int_equal(ibv_wr_complete(x), 0);
		assert_int_equal(fake.nb_sends, 1);
		assert_int_equal(got->opcode, want->opcode);
		assert_int_equal(got->wr_id, 99);
		assert_int_equal(got->flags, want->flags | ROOST_SEND_SIGNALED |
						     ROOST_SEND_FENCE);
		assert_int_equal(got->imm_be, want->imm_be);
		assert_int_equal(got->rkey, want->rkey);
		assert_int_equal(got->remote_addr, want->remote_addr);
		assert_int_equal(got->compare, want->compare);
		assert_int_equal(got->swap_add, want->swap_add);
		assert_int_equal(got->flush_len_bytes, want->flush_len_bytes);
		assert_int_equal(got->flush_type, want->flush_type);
		assert_int_equal(got->flush_level, want->flush_level);
		assert_int_equal(got->bind.addr, want->bind.addr);
		assert_int_equal(got->bind.len_bytes, want->bind.len_bytes);
		assert_int_equal(got->bind.access, want->bind.access);
		assert_int_equal(got->bind.rkey, want->bind.rkey);
		if (builders[i].data)
			assert_int_equal(fake.sends[0].sges[0].lkey, 7);
	}
	ibv_dealloc_mw(mw);
}

static void wr_atomic_write__brings_its_bytes(void **state)
{
	x->wr_flags = 0;
	ibv_wr_start(x);
	build(ROOST_WR_ATOMIC_WRITE);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(fake.sends[0].data_len, 8);
	assert_memory_equal(fake.sends[0].data, &value, 8);
}

static void wr__mistakes_end_the_batch(void **state)
{
	struct ibv_mw *type1 = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw *type2 = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = { 0 };
	struct roost_verbs_abi_qp_ex *flush = (void *)x;

	x->wr_flags = 0;
	for (int which = 0; which < 7; which++) {
		ibv_wr_start(x);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
		info.mw_access_flags = which == 3 ? 1 << 12 : 0;
		if (which == 0)
			ibv_wr_send_tso(x, NULL, 0, 0);
		else if (which == 1)
			ibv_wr_bind_mw(x, NULL, 0, &info);
		else if (which == 2)
			ibv_wr_bind_mw(x, type1, 0, &info);
		else if (which == 3)
			ibv_wr_bind_mw(x, type2, 0, &info);
		else if (which == 4)
			flush->wr_flush(x, 0, 0, (size_t)UINT32_MAX + 1, 1, 0);
		else if (which == 5)
			ibv_wr_set_ud_addr(x, NULL, 0, 0);
		else
			ibv_wr_set_xrc_srqn(x, 0);
		ibv_wr_set_sge(x, 1, 0, 1);
		ibv_wr_send(x);
		ibv_wr_set_sge(x, 1, 0, 1);
		assert_errno(ibv_wr_complete(x), EINVAL);
		assert_int_equal(fake.nb_sends, 0);
	}
	ibv_dealloc_mw(type2);
	ibv_dealloc_mw(type1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__operations_of_each_type),
		TEST(create__a_target_sends_nothing),
		TEST(wr__no_call_is_null),
		TEST(wr_send__one_request),
		TEST(wr_set_sge__inline_flag_means_nothing),
		TEST(wr__batch_with_every_setter),
		TEST(wr_complete__first_error_and_nothing_posted),
		TEST(wr_complete__bad_flag),
		TEST(wr_set_inline__too_much),
		TEST(wr_abort__forgets),
		TEST(wr__every_builder),
		TEST(wr_atomic_write__brings_its_bytes),
		TEST(wr__mistakes_end_the_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
