/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The answers of inherited objects after a fork. They read none of their
 * arguments (except bad_wr), so one function per dialect serves calls of every
 * signature, as in unsupported.c.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/event/process.h"
#include "lib/verbs/dead.h"
#include "lib/verbs/shim.h"

/* ---- answers -------------------------------------------------------------
 */

static int err(void)
{
	errno = EIO;
	return EIO;
}

static int negative(void)
{
	errno = EIO;
	return -EIO;
}

static void *null(void)
{
	errno = EIO;
	return NULL;
}

static int bad_wr(void *queue, void *wr, void **bad)
{
	(void)queue;
	*bad = wr;
	return err();
}

static void nothing(void)
{
}

static uint64_t zero(void)
{
	return 0;
}

static int free_dm(struct ibv_dm *dm)
{
	free(((struct roost_verbs_dm *)dm)->memory);
	return roost_verbs_dead_destroy(dm);
}

static int close_xrcd(struct ibv_xrcd *ibv)
{
	struct roost_verbs_xrcd *x = roost_verbs_xrcd(ibv);

	if (x->fd >= 0)
		close(x->fd);
	if (x->mark_fd >= 0)
		close(x->mark_fd);
	return roost_verbs_dead_destroy(x);
}

/* ---- tables --------------------------------------------------------------
 */

struct slot {
	size_t offset;
	void (*answer)(void);
};

#define SLOT(type, member, fn)                                                 \
	{                                                                      \
		offsetof(type, member), (void (*)(void))fn                     \
	}
#define CONTEXT(op, fn) SLOT(struct verbs_context, op, fn)
#define OPS(op, fn) SLOT(struct verbs_context, context.ops.op, fn)
#define CQ(op, fn) SLOT(struct ibv_cq_ex, op, fn)
#define QP(op, fn) SLOT(struct roost_verbs_abi_qp_ex, ex.op, fn)

/* All operations that context.c sets; unsupported ones stay EOPNOTSUPP. */
static const struct slot context_slots[] = {
	CONTEXT(query_port, err),
	CONTEXT(read_counters, err),
	CONTEXT(attach_counters_point_flow, err),
	CONTEXT(create_counters, null),
	CONTEXT(destroy_counters, roost_verbs_dead_destroy),
	CONTEXT(ibv_create_flow, null),
	CONTEXT(ibv_destroy_flow, roost_verbs_dead_destroy),
	CONTEXT(ABI_placeholder1, null),
	CONTEXT(ABI_placeholder2, roost_verbs_dead_destroy),
	CONTEXT(advise_mr, err),
	CONTEXT(alloc_null_mr, null),
	CONTEXT(reg_dm_mr, null),
	CONTEXT(alloc_dm, null),
	CONTEXT(free_dm, free_dm),
	CONTEXT(modify_qp_rate_limit, err),
	CONTEXT(alloc_parent_domain, null),
	CONTEXT(dealloc_td, roost_verbs_dead_destroy),
	CONTEXT(alloc_td, null),
	CONTEXT(modify_cq, err),
	CONTEXT(destroy_rwq_ind_table, roost_verbs_dead_destroy),
	CONTEXT(create_rwq_ind_table, null),
	CONTEXT(destroy_wq, roost_verbs_dead_destroy),
	CONTEXT(modify_wq, err),
	CONTEXT(create_wq, null),
	CONTEXT(query_rt_values, err),
	CONTEXT(create_cq_ex, null),
	CONTEXT(query_device_ex, err),
	CONTEXT(open_qp, null),
	CONTEXT(create_qp_ex, null),
	CONTEXT(get_srq_num, err),
	CONTEXT(create_srq_ex, null),
	CONTEXT(open_xrcd, null),
	CONTEXT(close_xrcd, close_xrcd),
	OPS(alloc_mw, null),
	OPS(bind_mw, err),
	OPS(dealloc_mw, roost_verbs_dead_destroy),
	OPS(poll_cq, negative),
	OPS(req_notify_cq, err),
	OPS(post_srq_recv, bad_wr),
	OPS(post_send, bad_wr),
	OPS(post_recv, bad_wr),
};

static const struct slot cq_slots[] = {
	CQ(start_poll, err),           CQ(next_poll, err),
	CQ(end_poll, nothing),         CQ(read_opcode, zero),
	CQ(read_vendor_err, zero),     CQ(read_byte_len, zero),
	CQ(read_imm_data, zero),       CQ(read_qp_num, zero),
	CQ(read_src_qp, zero),         CQ(read_wc_flags, zero),
	CQ(read_slid, zero),           CQ(read_sl, zero),
	CQ(read_dlid_path_bits, zero), CQ(read_completion_ts, zero),
	CQ(read_cvlan, zero),          CQ(read_flow_tag, zero),
	CQ(read_tm_info, nothing),     CQ(read_completion_wallclock_ns, zero),
};

static const struct slot qp_slots[] = {
	QP(wr_atomic_cmp_swp, nothing),
	QP(wr_atomic_fetch_add, nothing),
	QP(wr_bind_mw, nothing),
	QP(wr_local_inv, nothing),
	QP(wr_rdma_read, nothing),
	QP(wr_rdma_write, nothing),
	QP(wr_rdma_write_imm, nothing),
	QP(wr_send, nothing),
	QP(wr_send_imm, nothing),
	QP(wr_send_inv, nothing),
	QP(wr_send_tso, nothing),
	QP(wr_set_ud_addr, nothing),
	QP(wr_set_xrc_srqn, nothing),
	QP(wr_set_inline_data, nothing),
	QP(wr_set_inline_data_list, nothing),
	QP(wr_set_sge, nothing),
	QP(wr_set_sge_list, nothing),
	QP(wr_start, nothing),
	QP(wr_complete, err),
	QP(wr_abort, nothing),
	QP(wr_atomic_write, nothing),
	SLOT(struct roost_verbs_abi_qp_ex, wr_flush, nothing),
};

static const struct slot wq_slots[] = {
	SLOT(struct ibv_wq, post_recv, bad_wr),
};

static const struct slot dm_slots[] = {
	SLOT(struct ibv_dm, memcpy_to_dm, err),
	SLOT(struct ibv_dm, memcpy_from_dm, err),
};

static void fill(void *object, const struct slot *slots, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		void (**op)(void) =
			(void (**)(void))((char *)object + slots[i].offset);

		*op = slots[i].answer;
	}
}

#define FILL(object, slots)                                                    \
	fill(object, slots, sizeof(slots) / sizeof((slots)[0]))

/* ---- inherited contexts --------------------------------------------------
 */

/* Contexts of this process; under roost_process_fork_hold(). */
static LIST_HEAD(, roost_verbs_context) contexts;
/* The first inherited context: leak checkers find the others through it. */
static struct roost_verbs_context *buried __attribute__((used));

bool roost_verbs_is_dead(const struct ibv_context *context)
{
	const struct roost_verbs_context *c =
		roost_container_of(context, const struct roost_verbs_context,
				   vctx.context);

	return c->process != roost_process();
}

void roost_verbs_context_add(struct ibv_context *context)
{
	struct roost_verbs_context *c = roost_verbs_context(context);

	c->process = roost_process();
	roost_process_fork_hold();
	LIST_INSERT_HEAD(&contexts, c, link);
	roost_process_fork_release();
}

void roost_verbs_context_del(struct ibv_context *context)
{
	roost_process_fork_hold();
	LIST_REMOVE(roost_verbs_context(context), link);
	roost_process_fork_release();
}

struct roost_verbs_context *roost_verbs_root(uint64_t cookie)
{
	struct roost_verbs_context *c;

	roost_process_fork_hold();
	LIST_FOREACH(c, &contexts, link)
		if (c->cookie == cookie && !c->foreign) {
			if (c->root)
				c = c->root;
			c->nb_imports++;
			break;
		}
	roost_process_fork_release();
	return c;
}

static uint32_t handle_of(const struct roost_verbs_object *object)
{
	return object->kind == ROOST_VERBS_PD
		       ? roost_verbs_pd(object->ibv)->ibv.handle
		       : roost_verbs_mr(object->ibv)->ibv.handle;
}

struct roost_verbs_object *roost_verbs_object_find(uint64_t cookie, int kind,
						   uint32_t handle)
{
	struct roost_verbs_object *object;
	struct roost_verbs_context *c;

	LIST_FOREACH(c, &contexts, link) {
		if (c->cookie != cookie)
			continue;
		TAILQ_FOREACH(object, &c->objects, link)
			if ((int)object->kind == kind &&
			    handle_of(object) == handle)
				return object;
	}
	return NULL;
}

static void bury_object(struct roost_verbs_object *object)
{
	switch (object->kind) {
	case ROOST_VERBS_CQ:
		if (roost_verbs_cq(object->ibv)->ibv.start_poll)
			FILL(object->ibv, cq_slots);
		break;
	case ROOST_VERBS_QP:
		if (roost_verbs_qp(object->ibv)->has_ex)
			FILL(object->ibv, qp_slots);
		break;
	case ROOST_VERBS_WQ:
		FILL(object->ibv, wq_slots);
		break;
	case ROOST_VERBS_DM:
		FILL(object->ibv, dm_slots);
		break;
	case ROOST_VERBS_PD:
	case ROOST_VERBS_TD:
	case ROOST_VERBS_MR:
	case ROOST_VERBS_MW:
	case ROOST_VERBS_AH:
	case ROOST_VERBS_SRQ:
	case ROOST_VERBS_IND_TABLE:
	case ROOST_VERBS_XRCD:
	case ROOST_VERBS_COUNTERS:
	case ROOST_VERBS_FLOW:
		break;
	}
}

static void bury_all(void)
{
	struct roost_verbs_object *object;
	struct roost_verbs_context *c;

	LIST_FOREACH(c, &contexts, link) {
		pthread_mutex_init(&c->vctx.context.mutex, NULL);
		FILL(&c->vctx, context_slots);
		TAILQ_FOREACH(object, &c->objects, link)
			bury_object(object);
	}
	if (!LIST_EMPTY(&contexts))
		buried = LIST_FIRST(&contexts);
	LIST_INIT(&contexts);
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = bury_all };

	roost_process_at_child(&child);
}

/* ---- ending inherited objects --------------------------------------------
 */

/* The struct stays, because objects that are destroyed later read it. */
int roost_verbs_dead_close(struct ibv_context *context)
{
	struct roost_verbs_context *c = roost_verbs_context(context);

	close(context->cmd_fd);
	if (c->door_fd >= 0)
		close(c->door_fd);
	/* Those of imports are their root's. */
	if (!c->root)
		close(context->async_fd);
	context->cmd_fd = -1;
	context->async_fd = -1;
	return 0;
}

int roost_verbs_dead_channel_destroy(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return roost_verbs_dead_destroy(channel);
}

int roost_verbs_dead_destroy(void *object)
{
	free(object);
	return 0;
}

int roost_verbs_dead_qp_destroy(struct ibv_qp *qp)
{
	roost_verbs_qp_memory_free(roost_verbs_qp(qp));
	return 0;
}
