/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/real/fork/fork.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>

/* One of each kind, made by the parent. */
static struct {
	struct ibv_device *device;
	struct ibv_device **list;
	struct ibv_pd *pd, *parent;
	struct ibv_td *td;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	void *buf, *buf_bytes;
	struct tour_pair p;
	struct ibv_async_event event; /* read, not acked */
} o;

static struct ibv_qp *wq_and_table(void)
{
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 8,
		.max_sge = 1,
		.pd = tour.pd,
		.cq = o.cq,
	};
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &o.wq };

	o.wq = ibv_create_wq(tour.context, &wq);
	assert_non_null(o.wq);
	o.table = ibv_create_rwq_ind_table(tour.context, &table);
	assert_non_null(o.table);
	return NULL;
}

static void make_domains(void)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr parent = { .pd = tour.pd };
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	o.pd = tour.pd;
	o.mr = tour.mr;
	o.td = ibv_alloc_td(tour.context, &td);
	o.parent = ibv_alloc_parent_domain(tour.context, &parent);
	o.dm = ibv_alloc_dm(tour.context, &dm);
	o.mw = ibv_alloc_mw(tour.pd, IBV_MW_TYPE_1);
	o.xrcd = ibv_open_xrcd(tour.context, &xrcd);
	assert_true(o.td && o.parent && o.dm && o.mw && o.xrcd);
}

static void make_queues(void)
{
	struct ibv_cq_init_attr_ex cq_ex = { .cqe = 8 };
	struct ibv_srq_init_attr srq = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr_ex qp = tour_init_attr(IBV_QPT_RC);
	struct ibv_ah_attr ah = tour_to_ourselves();

	o.channel = ibv_create_comp_channel(tour.context);
	assert_non_null(o.channel);
	o.cq = ibv_create_cq(tour.context, 64, NULL, o.channel, 0);
	o.cq_ex = ibv_create_cq_ex(tour.context, &cq_ex);
	o.srq = ibv_create_srq(tour.pd, &srq);
	o.ah = ibv_create_ah(tour.pd, &ah);
	assert_true(o.cq && o.cq_ex && o.srq && o.ah);
	wq_and_table();
	qp.recv_cq = o.cq;
	qp.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp.send_ops_flags = IBV_QP_EX_WITH_SEND;
	o.p = tour_pair_connected(qp);
}

/* A completion and its event wait; an async event has been read. */
static void make_events(void)
{
	struct ibv_sge from = tour_sge(tour.buf, 8);
	struct ibv_sge into = tour_sge(tour.peer, 8);
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = 1 };

	assert_int_equal(ibv_req_notify_cq(o.cq, 0), 0);
	tour_receive(o.p.b, &into);
	assert_int_equal(tour_done(o.p.a, &wr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_modify_qp(o.p.a, &attr,
				       IBV_QP_STATE |
					       IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	o.event = tour_event(IBV_EVENT_SQ_DRAINED);
}

/* No header of rdma-core 44 declares the calls for it. */
static void make_buf(void)
{
	void *(*call)(struct ibv_pd *, size_t, void **);

	*(void **)&call = dlsym(RTLD_DEFAULT, "ibv_alloc_buf");
	assert_non_null(call);
	o.buf_bytes = call(o.pd, 8, &o.buf);
	assert_non_null(o.buf_bytes);
}

/* In a child it is memory as any other. */
static bool ibv_free_buf_(void)
{
	void (*call)(void *);

	*(void **)&call = dlsym(RTLD_DEFAULT, "ibv_free_buf");
	if (call)
		call(o.buf);
	return call;
}

static void make_all(void)
{
	o.list = ibv_get_device_list(NULL);
	assert_non_null(o.list);
	o.device = o.list[0];
	make_domains();
	make_queues();
	make_events();
	make_buf();
}

/* In the parent all is as if no child had been there: what waited waits. */
static void end_all(void)
{
	struct pollfd p = { .fd = o.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(ibv_get_cq_event(o.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(tour_completion(o.cq).status, IBV_WC_SUCCESS);
	ibv_ack_async_event(&o.event);
	tour_pair_part(o.p);
	assert_int_equal(ibv_destroy_rwq_ind_table(o.table), 0);
	assert_int_equal(ibv_destroy_wq(o.wq), 0);
	assert_int_equal(ibv_destroy_ah(o.ah), 0);
	assert_int_equal(ibv_destroy_srq(o.srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(o.cq_ex)), 0);
	assert_int_equal(ibv_destroy_cq(o.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(o.channel), 0);
	assert_int_equal(ibv_close_xrcd(o.xrcd), 0);
	assert_true(ibv_free_buf_());
	assert_int_equal(ibv_dealloc_mw(o.mw), 0);
	assert_int_equal(ibv_free_dm(o.dm), 0);
	assert_int_equal(ibv_dealloc_pd(o.parent), 0);
	assert_int_equal(ibv_dealloc_td(o.td), 0);
	ibv_free_device_list(o.list);
}

/* ---- calls by name -------------------------------------------------------
 */

#define CHECK(name, expression)                                                \
	static bool name##_(void)                                              \
	{                                                                      \
		return (expression);                                           \
	}
#define FAILS(name, call) CHECK(name, GIVES(call, EIO))
#define FAILS_NULL(name, call) CHECK(name, GIVES(call, NULL))
#define FAILS_MINUS_ONE(name, call) CHECK(name, GIVES(call, -1))
#define ENDS(name, call) CHECK(name, (call) == 0)
#define RETURNS(name, call) CHECK(name, (call, true))

static union {
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct ibv_qp_attr qp;
	struct ibv_srq_attr srq;
	struct ibv_ah_attr ah;
	struct ibv_wc wc;
	struct ibv_grh grh;
	struct ibv_async_event event;
	struct ibv_gid_entry gid_entry;
	union ibv_gid gid;
	uint8_t bytes[4096];
} a, b;
static struct ibv_cq *some_cq;
static void *some_context;

/* NULL and EBUSY, and the second time nothing is said any more. */
static bool ibv_open_device_(void)
{
	int fds[2], n;
	char text[1024];

	if (pipe(fds) != 0 || dup2(fds[1], STDERR_FILENO) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		errno = 0;
		if (ibv_open_device(o.device) || errno != EBUSY)
			return false;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	n = (int)read(fds[0], text, sizeof(text));
	return n > 0 && strncmp(text, "roost: ", 7) == 0 &&
	       memchr(text, '\n', (size_t)n) == text + n - 1;
}

/* What a program ends later is not there any more to be asked about. */
static bool ibv_close_device_(void)
{
	return ibv_close_device(tour.context) == 0 &&
	       ibv_destroy_qp(o.p.a) == 0 && ibv_dealloc_pd(o.pd) == 0 &&
	       ibv_dereg_mr(o.mr) == 0 && ibv_dealloc_td(o.td) == 0 &&
	       ibv_free_dm(o.dm) == 0 && ibv_dealloc_mw(o.mw) == 0 &&
	       ibv_destroy_rwq_ind_table(o.table) == 0 &&
	       ibv_destroy_wq(o.wq) == 0 && ibv_close_xrcd(o.xrcd) == 0 &&
	       ibv_destroy_comp_channel(o.channel) == 0 &&
	       ibv_destroy_cq(o.cq) == 0;
}

RETURNS(ibv_ack_async_event, ibv_ack_async_event(&o.event))
RETURNS(ibv_ack_cq_events, ibv_ack_cq_events(o.cq, 3))
FAILS_NULL(ibv_alloc_pd, ibv_alloc_pd(tour.context))
FAILS(ibv_attach_mcast, ibv_attach_mcast(o.p.a, &tour.gid, 0))
FAILS_NULL(ibv_create_ah, ibv_create_ah(o.pd, &a.ah))
FAILS_NULL(ibv_create_comp_channel, ibv_create_comp_channel(tour.context))
FAILS_NULL(ibv_create_cq, ibv_create_cq(tour.context, 4, NULL, NULL, 0))
FAILS_NULL(ibv_create_srq, ibv_create_srq(o.pd, (void *)a.bytes))
ENDS(ibv_dealloc_pd, ibv_dealloc_pd(o.pd) || ibv_dealloc_pd(o.parent))
ENDS(ibv_dereg_mr, ibv_dereg_mr(o.mr))
ENDS(ibv_destroy_ah, ibv_destroy_ah(o.ah))
ENDS(ibv_destroy_comp_channel, ibv_destroy_comp_channel(o.channel))
ENDS(ibv_destroy_cq,
     ibv_destroy_cq(o.cq) || ibv_destroy_cq(ibv_cq_ex_to_cq(o.cq_ex)))
ENDS(ibv_destroy_qp, ibv_destroy_qp(o.p.a) || ibv_destroy_qp(o.p.b))
ENDS(ibv_destroy_srq, ibv_destroy_srq(o.srq))
FAILS(ibv_detach_mcast, ibv_detach_mcast(o.p.a, &tour.gid, 0))
RETURNS(ibv_free_device_list, ibv_free_device_list(ibv_get_device_list(NULL)))
FAILS_MINUS_ONE(ibv_get_async_event,
		ibv_get_async_event(tour.context, &a.event))
FAILS_MINUS_ONE(ibv_get_cq_event,
		ibv_get_cq_event(o.channel, &some_cq, &some_context))
CHECK(ibv_get_device_guid, ibv_get_device_guid(o.device) != 0)
CHECK(ibv_get_device_index, ibv_get_device_index(o.device) == -1)
CHECK(ibv_get_device_list, ibv_get_device_list(NULL) != NULL)
CHECK(ibv_get_device_name, strcmp(ibv_get_device_name(o.device), "roost0") == 0)
FAILS(ibv_modify_qp, ibv_modify_qp(o.p.a, &a.qp, IBV_QP_STATE))
FAILS(ibv_modify_srq, ibv_modify_srq(o.srq, &a.srq, IBV_SRQ_LIMIT))
FAILS(ibv_query_device, ibv_query_device(tour.context, &a.device))
FAILS_MINUS_ONE(ibv_query_gid, ibv_query_gid(tour.context, 1, 1, &a.gid))
FAILS_MINUS_ONE(ibv_query_pkey,
		ibv_query_pkey(tour.context, 1, 0, (void *)a.bytes))
FAILS(ibv_query_port, (ibv_query_port)(tour.context, 1, (void *)a.bytes))
FAILS_NULL(ibv_import_mr, ibv_import_mr(o.pd, o.mr->handle))
FAILS_NULL(ibv_import_pd, ibv_import_pd(tour.context, o.pd->handle))
RETURNS(ibv_unimport_mr, ibv_unimport_mr(o.mr))
RETURNS(ibv_unimport_pd, ibv_unimport_pd(o.parent))
FAILS(ibv_query_ece, ibv_query_ece(o.p.a, (void *)a.bytes))
FAILS(ibv_set_ece, ibv_set_ece(o.p.a, (void *)a.bytes))
FAILS(ibv_query_qp, ibv_query_qp(o.p.a, &a.qp, 0, (void *)b.bytes))
FAILS(ibv_query_srq, ibv_query_srq(o.srq, &a.srq))
FAILS_NULL(ibv_reg_mr, (ibv_reg_mr)(o.pd, a.bytes, sizeof(a.bytes), 0))
FAILS(ibv_resize_cq, ibv_resize_cq(o.cq, 128))
FAILS_NULL(ibv_create_ah_from_wc,
	   (a.wc.wc_flags = IBV_WC_GRH,
	    ibv_create_ah_from_wc(o.pd, &a.wc, &b.grh, 1)))
FAILS_MINUS_ONE(ibv_init_ah_from_wc,
		ibv_init_ah_from_wc(tour.context, 1, &a.wc, &b.grh,
				    (void *)b.bytes))
CHECK(ibv_rereg_mr,
      GIVES(ibv_rereg_mr(o.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
	    IBV_REREG_MR_ERR_INPUT))
CHECK(ibv_resolve_eth_l2_from_gid,
      ibv_resolve_eth_l2_from_gid(tour.context, &a.ah, b.bytes, NULL) == -EIO)
FAILS_MINUS_ONE(ibv_get_pkey_index, ibv_get_pkey_index(tour.context, 1, 0xffff))
CHECK(ibv_qp_to_qp_ex, ibv_qp_to_qp_ex(o.p.a) != NULL)
FAILS_NULL(ibv_reg_dmabuf_mr, ibv_reg_dmabuf_mr(o.pd, 0, 8, 0, 0, 0))
FAILS_NULL(ibv_reg_mr_iova, (ibv_reg_mr_iova)(o.pd, a.bytes, 8, 0, 0))
FAILS_NULL(ibv_reg_mr_iova2, ibv_reg_mr_iova2(o.pd, a.bytes, 8, 0, 0))
FAILS(_ibv_query_gid_ex, _ibv_query_gid_ex(tour.context, 1, 1, &a.gid_entry, 0,
					   sizeof(a.gid_entry)))
CHECK(_ibv_query_gid_table,
      _ibv_query_gid_table(tour.context, &a.gid_entry, 1, 0,
			   sizeof(a.gid_entry)) == -EIO)
CHECK(ibv_fork_init, ibv_fork_init() == 0)

static bool ibv_create_qp_(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .send_cq = o.cq,
					 .recv_cq = o.cq };

	return GIVES(ibv_create_qp(o.pd, &attr), NULL);
}

/* No header declares these, or only a later one does. */
#define FIND(call, name) (*(void **)&call = dlsym(RTLD_DEFAULT, #name))

static bool ibv_query_gid_type_(void)
{
	int (*call)(struct ibv_context *, uint8_t, unsigned int,
		    unsigned int *);
	unsigned int type;

	return FIND(call, ibv_query_gid_type) &&
	       GIVES(call(tour.context, 1, 1, &type), -1);
}

static bool verbs_init_cq_(void)
{
	void (*call)(struct ibv_cq *, struct ibv_context *,
		     struct ibv_comp_channel *, void *);
	struct ibv_cq cq;

	if (FIND(call, verbs_init_cq))
		call(&cq, tour.context, o.channel, NULL);
	return call;
}

static bool ibv_reg_mr_ex_(void)
{
	struct ibv_mr *(*call)(struct ibv_pd *, const void *);
	/* length, access, comp_mask: an address */
	const uint64_t attr[16] = { 8, 0, 2, 0, (uintptr_t)a.bytes };

	return FIND(call, ibv_reg_mr_ex) && GIVES(call(o.pd, attr), NULL);
}

static bool ibv_query_port_speed_(void)
{
	int (*call)(struct ibv_context *, uint32_t, uint64_t *);
	uint64_t speed;

	return FIND(call, ibv_query_port_speed) &&
	       GIVES(call(tour.context, 1, &speed), EIO);
}

static bool ibv_alloc_buf_(void)
{
	void *(*call)(struct ibv_pd *, size_t, void **);
	void *buf;

	return FIND(call, ibv_alloc_buf) && GIVES(call(o.pd, 8, &buf), NULL);
}

static bool ibv_reg_buf_mr_(void)
{
	struct ibv_mr *(*call)(struct ibv_pd *, void *, void *, size_t, int);

	return FIND(call, ibv_reg_buf_mr) &&
	       GIVES(call(o.pd, o.buf, o.buf_bytes, 8, 0), NULL);
}

/* A variable. */
CHECK(verbs_allow_disassociate_destroy,
      dlsym(RTLD_DEFAULT, "verbs_allow_disassociate_destroy") != NULL)

#define ROW(name)                                                              \
	{                                                                      \
#name, name##_                                                 \
	}
#define PLAIN(name)                                                            \
	{                                                                      \
#name, NULL                                                    \
	}

static const struct fork_row rows[] = {
#include "tests/real/fork/verbs_rows.inc"
	{ NULL, NULL },
};

void fork__verbs_answer(void **state)
{
	(void)state;
	make_all();
	fork_calls(fork_verbs_map, rows, RTLD_DEFAULT);
	end_all();
}
