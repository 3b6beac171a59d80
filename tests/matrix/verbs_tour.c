/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * A walk through the verbs that Debian's programs do not use, as a program:
 * linked with the system's libibverbs and run by `roost run --link`. Both ends
 * of every connection are in this process, on one port.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define BUF_BYTES 65536
#define GRH_BYTES 40
#define PATIENCE_NS INT64_C(5000000000)
#define QKEY 0x11111111

#define ALL_ACCESS                                                             \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |                   \
	 IBV_ACCESS_MW_BIND)

/* As the verbs.h of rdma-core 45 has it. */
#define ACCESS_FLUSH_GLOBAL (1 << 8)
#define ACCESS_FLUSH_PERSISTENT (1 << 9)
#define QP_EX_WITH_FLUSH (1 << 11)
#define WC_FLUSH 8

struct qp_ex_45 {
	struct ibv_qp_ex ex;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
			 uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level);
};

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *scq, *rcq;
static struct ibv_mr *mr;
static uint8_t *buf; /* [0, half) is ours, [half, end) the peer's */
static uint8_t *peer;
static union ibv_gid gid; /* IPv4 */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int setup(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)state;
	assert_non_null(list);
	assert_non_null(list[0]);
	c = ibv_open_device(list[0]);
	assert_non_null(c);
	ibv_free_device_list(list);
	assert_int_equal(ibv_query_gid(c, 1, 1, &gid), 0);
	pd = ibv_alloc_pd(c);
	scq = ibv_create_cq(c, 128, NULL, NULL, 0);
	rcq = ibv_create_cq(c, 128, NULL, NULL, 0);
	buf = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(buf != MAP_FAILED);
	peer = buf + BUF_BYTES / 2;
	mr = ibv_reg_mr(pd, buf, BUF_BYTES, ALL_ACCESS);
	assert_non_null(mr);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(rcq), 0);
	assert_int_equal(ibv_destroy_cq(scq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(c), 0);
	munmap(buf, BUF_BYTES);
	return 0;
}

/* ---- connections -----------------------------------------------------------
 */

static struct ibv_qp_init_attr_ex init_attr(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = {
			.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
}

static struct ibv_ah_attr to_ourselves(void)
{
	struct ibv_ah_attr attr = {
		.grh = { .dgid = gid, .sgid_index = 1, .hop_limit = 1 },
		.is_global = 1,
		.port_num = 1,
	};

	return attr;
}

static void connect_to(struct ibv_qp *qp, uint32_t dest_qpn)
{
	const bool ud = qp->qp_type == IBV_QPT_UD;
	const bool reliable = !ud && qp->qp_type != IBV_QPT_UC;
	struct ibv_qp_attr attr = {
		.path_mtu = IBV_MTU_1024,
		.qkey = QKEY,
		.dest_qp_num = dest_qpn,
		.qp_access_flags = (ALL_ACCESS & ~IBV_ACCESS_MW_BIND) |
				   ACCESS_FLUSH_GLOBAL |
				   ACCESS_FLUSH_PERSISTENT,
		.ah_attr = to_ourselves(),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
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
				      (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC |
							  IBV_QP_MIN_RNR_TIMER
						: 0)),
		0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN |
				      (reliable
					       ? IBV_QP_TIMEOUT |
							 IBV_QP_RETRY_CNT |
							 IBV_QP_RNR_RETRY |
							 IBV_QP_MAX_QP_RD_ATOMIC
					       : 0)),
		0);
}

struct pair {
	struct ibv_qp *a, *b;
};

static struct pair connected(struct ibv_qp_init_attr_ex attr)
{
	struct ibv_qp_init_attr_ex attr_b = attr;
	struct pair p = { .a = ibv_create_qp_ex(c, &attr) };

	p.b = ibv_create_qp_ex(c, &attr_b);
	assert_non_null(p.a);
	assert_non_null(p.b);
	connect_to(p.a, p.b->qp_num);
	connect_to(p.b, p.a->qp_num);
	return p;
}

static void part(struct pair p)
{
	assert_int_equal(ibv_destroy_qp(p.a), 0);
	assert_int_equal(ibv_destroy_qp(p.b), 0);
}

/* ---- doing and waiting ------------------------------------------------------
 */

static struct ibv_wc completion(struct ibv_cq *cq)
{
	const int64_t until = now_ns() + PATIENCE_NS;
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0 && now_ns() < until);
	assert_int_equal(n, 1);
	return wc;
}

/* Nothing comes, for as long as anything should take. */
static void silence(struct ibv_cq *cq)
{
	const int64_t until = now_ns() + 20000000;
	struct ibv_wc wc;

	while (now_ns() < until)
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

static enum ibv_wc_status done(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	post(qp, wr);
	return completion(scq).status;
}

static struct ibv_sge sge(void *addr, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)addr, length, mr->lkey };
}

static void receive(struct ibv_qp *qp, struct ibv_sge *list)
{
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* A write of 8 bytes at [to] with this key. */
static enum ibv_wc_status write8(struct ibv_qp *qp, uint64_t to, uint32_t rkey)
{
	struct ibv_sge from = sge(buf, 8);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	};

	memcpy(buf, "abcdefgh", 8);
	return done(qp, &wr);
}

static struct ibv_async_event event(enum ibv_event_type type)
{
	struct pollfd p = { .fd = c->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(ibv_get_async_event(c, &e), 0);
	assert_int_equal(e.event_type, type);
	return e;
}

/* ---- memory -----------------------------------------------------------------
 */

static void mw__type_2_until_it_is_invalidated(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr bind = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = rkey,
			.bind_info = {
				.mr = mr,
				.addr = (uintptr_t)peer,
				.length = 64,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	struct ibv_sge into = sge(peer + 128, 8);
	struct ibv_send_wr inval = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = rkey,
	};
	struct ibv_wc wc;

	(void)state;
	/* B binds, A writes, and takes the right away from itself */
	assert_int_equal(done(p.b, &bind), IBV_WC_SUCCESS);
	assert_int_equal(write8(p.a, (uintptr_t)peer + 56, rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(peer + 56, "abcdefgh", 8);
	assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	receive(p.b, &into);
	assert_int_equal(done(p.a, &inval), IBV_WC_SUCCESS);
	wc = completion(rcq);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	assert_int_equal(write8(p.a, (uintptr_t)peer, rkey),
			 IBV_WC_REM_ACCESS_ERR);
	{
		struct ibv_async_event e = event(IBV_EVENT_QP_ACCESS_ERR);

		assert_ptr_equal(e.element.qp, p.b);
		ibv_ack_async_event(&e);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	part(p);
}

static void mw__outside_of_the_window(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = mr,
			.addr = (uintptr_t)peer,
			.length = 64,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};
	struct ibv_async_event e;
	uint32_t old;

	(void)state;
	assert_int_equal(ibv_bind_mw(p.b, mw, &bind), 0);
	assert_int_equal(completion(scq).opcode, IBV_WC_BIND_MW);
	assert_int_equal(write8(p.a, (uintptr_t)peer, mw->rkey),
			 IBV_WC_SUCCESS);
	/* bound anew: the old key is dead, the new one lives */
	old = mw->rkey;
	bind.bind_info.addr += 8;
	assert_int_equal(ibv_bind_mw(p.b, mw, &bind), 0);
	assert_int_equal(completion(scq).status, IBV_WC_SUCCESS);
	assert_int_not_equal(mw->rkey, old);
	assert_int_equal(write8(p.a, (uintptr_t)peer + 8, mw->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(write8(p.a, (uintptr_t)peer, mw->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	e = event(IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	part(p);
}

static void null_mr__zeros_and_a_bin(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_mr *null = ibv_alloc_null_mr(pd);
	struct ibv_sge from = { 0x1234, 100, null->lkey };
	struct ibv_sge into = sge(peer, 100);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	static const uint8_t zeros[100];

	(void)state;
	memset(peer, 0xee, 100);
	receive(p.b, &into);
	assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
	assert_int_equal(completion(rcq).byte_len, 100);
	assert_memory_equal(peer, zeros, 100);
	/* and the other way round: 3000 bytes into nowhere */
	from = sge(buf, 3000);
	into = (struct ibv_sge){ UINT64_MAX - 5000, 4000, null->lkey };
	receive(p.b, &into);
	assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
	assert_int_equal(completion(rcq).byte_len, 3000);
	assert_int_equal(ibv_dereg_mr(null), 0);
	part(p);
}

static void mr__zero_based_iova_and_rereg(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_mr *r =
		ibv_reg_mr(pd, peer, 64, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	(void)state;
	assert_int_equal(write8(p.a, 8, r->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(peer + 8, "abcdefgh", 8);
	/* the same key, other memory */
	assert_int_equal(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      peer + 64, 64, 0),
			 0);
	assert_int_equal(write8(p.a, 0, r->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(peer + 64, "abcdefgh", 8);
	ibv_dereg_mr(r);
	r = ibv_reg_mr_iova(pd, peer, 64, 0x700000000001, ALL_ACCESS);
	memset(peer, 0, 64);
	assert_int_equal(write8(p.a, 0x700000000005, r->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(peer + 4, "abcdefgh", 8);
	ibv_dereg_mr(r);
	part(p);
}

static void mr__the_whole_address_space(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_mr *all =
		ibv_reg_mr(pd, NULL, SIZE_MAX,
			   IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char text[] = "text in read-only memory";
	struct ibv_sge from = { (uintptr_t)text, sizeof(text), 0 };
	struct ibv_sge into = sge(peer, 64);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	struct ibv_sge advised = { (uintptr_t)gone, 4096, 0 };

	(void)state;
	assert_non_null(all);
	from.lkey = all->lkey;
	advised.lkey = all->lkey;
	receive(p.b, &into);
	assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
	completion(rcq);
	assert_string_equal((char *)peer, text);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &advised, 1),
			 0);
	munmap(gone, 4096);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
				       &advised, 1),
			 EFAULT);
	/* what is not there is an error, not a crash */
	from.addr = (uintptr_t)gone;
	assert_int_equal(done(p.a, &wr), IBV_WC_LOC_PROT_ERR);
	part(p);
	ibv_dereg_mr(all);
}

static void mr__not_there_is_efault(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *r;

	(void)state;
	munmap(page + 4096, 4096);
	errno = 0;
	assert_null(ibv_reg_mr(pd, page, 8192, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mprotect(page, 4096, PROT_READ);
	errno = 0;
	assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	r = ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_READ);
	assert_non_null(r);
	ibv_dereg_mr(r);
	munmap(page, 4096);
}

static void dm__is_written_by_the_peer(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(c, &attr);
	struct ibv_mr *r =
		ibv_reg_dm_mr(pd, dm, 1024, 1024,
			      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				      IBV_ACCESS_REMOTE_WRITE);
	char got[8];

	(void)state;
	assert_non_null(r);
	assert_int_equal(write8(p.a, 16, r->rkey), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 1040, 8), 0);
	assert_memory_equal(got, "abcdefgh", 8);
	ibv_dereg_mr(r);
	assert_int_equal(ibv_free_dm(dm), 0);
	part(p);
}

/* ---- operations
 * -------------------------------------------------------------- */

static void atomics__both_and_the_write(void **state)
{
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	uint64_t *const word = (uint64_t *)peer, *const found = (uint64_t *)buf;
	const uint64_t value = 0x1122334455667788;
	struct ibv_qp_ex *x;
	struct pair p;

	(void)state;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			      IBV_QP_EX_WITH_ATOMIC_WRITE;
	p = connected(attr);
	x = ibv_qp_to_qp_ex(p.a);
	*word = 40;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(x);
	ibv_wr_atomic_fetch_add(x, mr->rkey, (uintptr_t)word, 2);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)&found[0], 8);
	ibv_wr_atomic_cmp_swp(x, mr->rkey, (uintptr_t)word, 42, 7);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)&found[1], 8);
	ibv_wr_atomic_cmp_swp(x, mr->rkey, (uintptr_t)word, 42, 8);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)&found[2], 8);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(completion(scq).opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(completion(scq).opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(completion(scq).status, IBV_WC_SUCCESS);
	assert_int_equal(found[0], 40);
	assert_int_equal(found[1], 42);
	assert_int_equal(found[2], 7);
	assert_int_equal(*word, 7);
	ibv_wr_start(x);
	ibv_wr_atomic_write(x, mr->rkey, (uintptr_t)word, &value);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(completion(scq).opcode, IBV_WC_ATOMIC_WRITE);
	assert_true(*word == value);
	part(p);
}

static void flush__what_the_region_allows(void **state)
{
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	struct ibv_mr *r =
		ibv_reg_mr(pd, peer, 64, ALL_ACCESS | ACCESS_FLUSH_GLOBAL);
	struct qp_ex_45 *x;
	struct ibv_wc wc;
	struct pair p;

	(void)state;
	assert_non_null(r);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = QP_EX_WITH_FLUSH;
	p = connected(attr);
	x = (struct qp_ex_45 *)ibv_qp_to_qp_ex(p.a);
	x->ex.wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(&x->ex);
	x->wr_flush(&x->ex, r->rkey, (uintptr_t)peer, 64, 1, 0);
	assert_int_equal(ibv_wr_complete(&x->ex), 0);
	wc = completion(scq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, WC_FLUSH);
	/* persistence is promised by nobody */
	ibv_wr_start(&x->ex);
	x->wr_flush(&x->ex, r->rkey, (uintptr_t)peer, 64, 2, 0);
	assert_int_equal(ibv_wr_complete(&x->ex), 0);
	assert_int_equal(completion(scq).status, IBV_WC_REM_ACCESS_ERR);
	{
		struct ibv_async_event e = event(IBV_EVENT_QP_ACCESS_ERR);

		ibv_ack_async_event(&e);
	}
	part(p);
	ibv_dereg_mr(r);
	assert_null(ibv_reg_mr(pd, peer, 64, ACCESS_FLUSH_PERSISTENT));
}

static void read__many_at_a_time_and_a_fence(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_sge into[9];
	struct ibv_send_wr wr[9] = { 0 }, *bad;

	(void)state;
	for (int i = 0; i < BUF_BYTES / 2; i++)
		peer[i] = (uint8_t)(i * 7);
	/* eight READs, then a WRITE of what they brought */
	for (int i = 0; i < 8; i++) {
		into[i] = sge(buf + 3000 * i, 3000);
		wr[i].next = &wr[i + 1];
		wr[i].sg_list = &into[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_READ;
		wr[i].wr.rdma.remote_addr =
			(uintptr_t)peer + 3000 * (unsigned)i;
		wr[i].wr.rdma.rkey = mr->rkey;
	}
	into[8] = sge(buf, 3000);
	wr[8].sg_list = &into[8];
	wr[8].num_sge = 1;
	wr[8].opcode = IBV_WR_RDMA_WRITE;
	wr[8].send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	wr[8].wr.rdma.remote_addr = (uintptr_t)peer + 27000;
	wr[8].wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_post_send(p.a, wr, &bad), 0);
	assert_int_equal(completion(scq).opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(buf, peer, 24000);
	assert_memory_equal(peer + 27000, peer, 3000);
	part(p);
}

static void send__inline_and_imm_on_uc(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_UC));
	char word[] = "inline";
	struct ibv_sge from = { (uintptr_t)word, 7, 0 }, into = sge(peer, 64);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.imm_data = htonl(77),
		.wr.rdma = { .remote_addr = (uintptr_t)peer + 100,
			     .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	(void)state;
	receive(p.b, &into);
	post(p.a, &wr);
	memset(word, 'x', sizeof(word));
	assert_int_equal(completion(scq).status, IBV_WC_SUCCESS);
	wc = completion(rcq);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(77));
	assert_int_equal(wc.byte_len, 7);
	assert_string_equal((char *)peer + 100, "inline");
	part(p);
}

static void rate_limit__is_kept(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 10000 };
	struct ibv_sge from = sge(buf, 30000);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)peer, .rkey = mr->rkey },
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int64_t begun, took, best = PATIENCE_NS;

	(void)state;
	assert_int_equal(ibv_modify_qp_rate_limit(p.a, &limit), 0);
	assert_int_equal(ibv_query_qp(p.a, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 10000);
	begun = now_ns();
	for (int i = 0; i < 4; i++)
		assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
	took = now_ns() - begun;
	/* 120 KB and headers at 10 Mb/s: a tenth of a second */
	assert_true(took > 90000000);
	assert_true(took < 2000000000);
	limit.rate_limit = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(p.a, &limit), 0);
	for (int i = 0; i < 10; i++) {
		begun = now_ns();
		assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
		took = now_ns() - begun;
		best = took < best ? took : best;
	}
	assert_true(best < 20000000);
	part(p);
}

static void sqd__drained_is_told(void **state)
{
	struct pair p = connected(init_attr(IBV_QPT_RC));
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1,
	};
	struct ibv_async_event e;

	(void)state;
	assert_int_equal(ibv_modify_qp(p.a, &attr,
				       IBV_QP_STATE |
					       IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	e = event(IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(e.element.qp, p.a);
	ibv_ack_async_event(&e);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(p.a, &attr, IBV_QP_STATE), 0);
	assert_int_equal(write8(p.a, (uintptr_t)peer, mr->rkey),
			 IBV_WC_SUCCESS);
	part(p);
}

/* ---- datagrams
 * ----------------------------------------------------------------- */

static struct ibv_qp *datagrams(uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_UD);
	struct ibv_qp *qp;

	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = create_flags;
	qp = ibv_create_qp_ex(c, &attr);
	assert_non_null(qp);
	connect_to(qp, 0);
	return qp;
}

static void tell(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_sge from = sge(buf, 5);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY },
	};

	memcpy(buf, "hello", 5);
	assert_int_equal(done(qp, &wr), IBV_WC_SUCCESS);
}

static void ud__is_answered(void **state)
{
	struct ibv_ah_attr attr = to_ourselves();
	struct ibv_ah *ah = ibv_create_ah(pd, &attr), *back;
	struct ibv_qp *a = datagrams(0), *b = datagrams(0);
	struct ibv_sge into = sge(peer, 100);
	struct ibv_wc wc;

	(void)state;
	receive(b, &into);
	tell(a, ah, b->qp_num);
	wc = completion(rcq);
	assert_int_equal(wc.byte_len, GRH_BYTES + 5);
	assert_int_equal(wc.src_qp, a->qp_num);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_memory_equal(peer + GRH_BYTES, "hello", 5);
	back = ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)peer, 1);
	assert_non_null(back);
	into = sge(peer + 1000, 100);
	receive(a, &into);
	tell(b, back, wc.src_qp);
	assert_int_equal(completion(rcq).src_qp, b->qp_num);
	assert_memory_equal(peer + 1000 + GRH_BYTES, "hello", 5);
	ibv_destroy_ah(back);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
}

static void mcast__members_hear_it(void **state)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_ah_attr attr = to_ourselves();
	struct ibv_qp *a = datagrams(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	struct ibv_qp *b = datagrams(0);
	struct ibv_sge into = sge(peer, 100);
	struct ibv_ah *ah;

	(void)state;
	attr.grh.dgid = group;
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_attach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(b, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(b), EBUSY);
	receive(a, &into);
	receive(b, &into);
	/* A does not want to hear itself, B hears */
	tell(a, ah, 0xffffff);
	assert_int_equal(completion(rcq).qp_num, b->qp_num);
	silence(rcq);
	receive(b, &into);
	/* both hear B */
	tell(b, ah, 0xffffff);
	completion(rcq);
	completion(rcq);
	assert_int_equal(ibv_detach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(a, &group, 0), EINVAL);
	assert_int_equal(ibv_detach_mcast(b, &group, 0), 0);
	receive(a, &into);
	receive(b, &into);
	tell(a, ah, 0xffffff);
	silence(rcq);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
}

/* ---- shared receive queues
 * ------------------------------------------------------ */

static void srq__limit_is_told_once(void **state)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_sge into;
	struct ibv_recv_wr recv = { .sg_list = &into, .num_sge = 1 }, *bad;
	struct ibv_async_event e;
	struct pair p;

	(void)state;
	attr.srq = ibv_create_srq(pd, &srq_attr);
	p = connected(attr);
	for (int i = 0; i < 3; i++) {
		into = sge(peer + 64 * i, 64);
		assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	}
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_LIMIT), 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

		assert_int_equal(done(p.a, &wr), IBV_WC_SUCCESS);
		completion(rcq);
	}
	e = event(IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(e.element.srq, attr.srq);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_query_srq(attr.srq, &limit), 0);
	assert_int_equal(limit.srq_limit, 0);
	/* more room, with a receive in it */
	limit.max_wr = 64;
	assert_int_equal(ibv_modify_srq(attr.srq, &limit, IBV_SRQ_MAX_WR), 0);
	for (int i = 0; i < 63; i++)
		assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(attr.srq, &recv, &bad), ENOMEM);
	assert_int_equal(ibv_destroy_srq(attr.srq), EBUSY);
	part(p);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
}

static struct ibv_xrcd *open_xrcd(int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(c, &attr);
}

/* The SRQ is made with one opening of the domain, the target with another. */
static void xrc__by_two_openings_of_a_domain(void **state)
{
	int fd = open("/tmp", O_RDONLY);
	struct ibv_xrcd *one = open_xrcd(fd, O_CREAT);
	struct ibv_xrcd *two = open_xrcd(fd, 0);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = one,
		.cq = rcq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(c, &srq_attr);
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_XRC_SEND);
	struct ibv_qp *ini = ibv_create_qp_ex(c, &attr), *tgt, *handle;
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = one,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_sge from = sge(buf, 8), into = sge(peer, 64);
	struct ibv_recv_wr recv = { .sg_list = &into, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	(void)state;
	assert_non_null(srq);
	attr = init_attr(IBV_QPT_XRC_RECV);
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = two;
	tgt = ibv_create_qp_ex(c, &attr);
	assert_non_null(tgt);
	connect_to(tgt, ini->qp_num);
	connect_to(ini, tgt->qp_num);
	open_attr.qp_num = tgt->qp_num;
	handle = ibv_open_qp(c, &open_attr);
	assert_non_null(handle);
	/* who created it goes, the target stays */
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_int_equal(ibv_get_srq_num(srq, &wr.qp_type.xrc.remote_srqn), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	memcpy(buf, "abcdefgh", 8);
	assert_int_equal(done(ini, &wr), IBV_WC_SUCCESS);
	wc = completion(rcq);
	assert_int_equal(wc.qp_num, handle->qp_num);
	assert_memory_equal(peer, "abcdefgh", 8);
	assert_int_equal(ibv_close_xrcd(one), EBUSY);
	assert_int_equal(ibv_destroy_qp(handle), 0);
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(one), 0);
	assert_int_equal(ibv_close_xrcd(two), 0);
	close(fd);
}

/* ---- completion queues
 * ------------------------------------------------------------ */

static void cq_ex__timestamps_are_of_the_raw_clock(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 8,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(c, &cq_attr);
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	struct ibv_values_ex before = { .comp_mask =
						IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_values_ex after = before;
	struct ibv_poll_cq_attr poll_attr = { 0 };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_RDMA_WRITE };
	const int64_t until = now_ns() + PATIENCE_NS;
	struct timespec wall;
	int64_t at, wall_at;
	struct pair p;
	int rc;

	(void)state;
	attr.send_cq = ibv_cq_ex_to_cq(cq);
	p = connected(attr);
	assert_int_equal(ibv_query_rt_values_ex(c, &before), 0);
	post(p.a, &wr);
	do
		rc = ibv_start_poll(cq, &poll_attr);
	while (rc == ENOENT && now_ns() < until);
	assert_int_equal(rc, 0);
	assert_int_equal(ibv_query_rt_values_ex(c, &after), 0);
	clock_gettime(CLOCK_REALTIME, &wall);
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	assert_int_equal(ibv_wc_read_qp_num(cq), p.a->qp_num);
	at = (int64_t)ibv_wc_read_completion_ts(cq);
	assert_true(at >= before.raw_clock.tv_nsec);
	assert_true(at <= after.raw_clock.tv_nsec);
	wall_at = (int64_t)ibv_wc_read_completion_wallclock_ns(cq);
	at = wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec;
	assert_true(wall_at <= at && wall_at > at - PATIENCE_NS);
	ibv_end_poll(cq);
	part(p);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

/* Eight sends for a CQ of two: the rest is lost, and nothing else happens. */
static void cq_ex__overrun_is_ignored(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 2,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(c, &cq_attr));
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp_attr;
	struct pair p;

	(void)state;
	attr.send_cq = cq;
	p = connected(attr);
	for (int i = 0; i < 8; i++)
		post(p.a, &wr);
	silence(rcq);
	assert_int_equal(completion(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(completion(cq).status, IBV_WC_SUCCESS);
	silence(cq);
	assert_int_equal(ibv_query_qp(p.a, &qp_attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(qp_attr.qp_state, IBV_QPS_RTS);
	post(p.a, &wr);
	assert_int_equal(completion(cq).status, IBV_WC_SUCCESS);
	part(p);
	ibv_destroy_cq(cq);
}

static void cq__overrun_is_told(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(c, 2, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = init_attr(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_async_event e;
	struct pair p;

	(void)state;
	attr.send_cq = cq;
	p = connected(attr);
	for (int i = 0; i < 8; i++)
		post(p.a, &wr);
	silence(rcq);
	e = event(IBV_EVENT_CQ_ERR);
	assert_ptr_equal(e.element.cq, cq);
	ibv_ack_async_event(&e);
	for (int i = 0; i < 2; i++) {
		e = event(IBV_EVENT_QP_FATAL);
		ibv_ack_async_event(&e);
	}
	part(p);
	ibv_destroy_cq(cq);
}

/* ---- the end
 * ------------------------------------------------------------------------ */

static struct world {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
} take_world(void)
{
	return (struct world){ c, pd, scq, rcq, mr };
}

static void put_world(const struct world *w)
{
	c = w->c;
	pd = w->pd;
	scq = w->scq;
	rcq = w->rcq;
	mr = w->mr;
}

/* Everything of a context goes with it, and nothing of another. */
static void close__with_everything_open(void **state)
{
	const struct world ours = take_world();
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 4 } };
	struct ibv_mw_bind bind = { .bind_info = { .length = 8 } };
	struct pair p;

	(void)state;
	for (int i = 0; i < 3; i++) {
		c = ibv_open_device(ours.c->device);
		assert_non_null(c);
		pd = ibv_alloc_pd(c);
		scq = ibv_create_cq(c, 16, NULL, NULL, 0);
		rcq = ibv_create_cq(c, 16, NULL, NULL, 0);
		p = connected(init_attr(IBV_QPT_RC));
		/* a window that is older than its region */
		{
			struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

			mr = ibv_reg_mr(pd, buf, BUF_BYTES, ALL_ACCESS);
			bind.bind_info.mr = mr;
			bind.bind_info.addr = (uintptr_t)buf;
			assert_int_equal(ibv_bind_mw(p.a, mw, &bind), 0);
		}
		assert_int_equal(ibv_attach_mcast(datagrams(0), &group, 0), 0);
		/* an event that is read and never acked */
		assert_int_equal(write8(p.a, 0, 0), IBV_WC_REM_ACCESS_ERR);
		assert_ptr_equal(event(IBV_EVENT_QP_ACCESS_ERR).element.qp,
				 p.b);
		assert_int_equal(ibv_close_device(c), 0);
	}
	put_world(&ours);
	p = connected(init_attr(IBV_QPT_RC));
	assert_int_equal(write8(p.a, (uintptr_t)peer, mr->rkey),
			 IBV_WC_SUCCESS);
	part(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mw__type_2_until_it_is_invalidated),
		TEST(mw__outside_of_the_window),
		TEST(null_mr__zeros_and_a_bin),
		TEST(mr__zero_based_iova_and_rereg),
		TEST(mr__the_whole_address_space),
		TEST(mr__not_there_is_efault),
		TEST(dm__is_written_by_the_peer),
		TEST(atomics__both_and_the_write),
		TEST(flush__what_the_region_allows),
		TEST(read__many_at_a_time_and_a_fence),
		TEST(send__inline_and_imm_on_uc),
		TEST(rate_limit__is_kept),
		TEST(sqd__drained_is_told),
		TEST(ud__is_answered),
		TEST(mcast__members_hear_it),
		TEST(srq__limit_is_told_once),
		TEST(xrc__by_two_openings_of_a_domain),
		TEST(cq_ex__timestamps_are_of_the_raw_clock),
		TEST(cq_ex__overrun_is_ignored),
		TEST(cq__overrun_is_told),
		TEST(close__with_everything_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
