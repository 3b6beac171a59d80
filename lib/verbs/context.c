/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Opening and closing a device.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/fail.h"
#include "lib/event/source.h"
#include "lib/verbs/handover.h"
#include "lib/verbs/shim.h"
#include "lib/verbs/unsupported.h"

static const struct verbs_context supported = {
	.query_port = roost_verbs_query_port,
	.read_counters = roost_verbs_read_counters,
	.attach_counters_point_flow = roost_verbs_attach_counters_point_flow,
	.create_counters = roost_verbs_create_counters,
	.destroy_counters = roost_verbs_destroy_counters,
	.advise_mr = roost_verbs_advise_mr,
	.alloc_null_mr = roost_verbs_alloc_null_mr,
	.reg_dm_mr = roost_verbs_reg_dm_mr,
	.alloc_dm = roost_verbs_alloc_dm,
	.free_dm = roost_verbs_free_dm,
	.modify_qp_rate_limit = roost_verbs_modify_qp_rate_limit,
	.alloc_parent_domain = roost_verbs_alloc_parent_domain,
	.dealloc_td = roost_verbs_dealloc_td,
	.alloc_td = roost_verbs_alloc_td,
	.modify_cq = roost_verbs_modify_cq,
	.destroy_rwq_ind_table = roost_verbs_destroy_rwq_ind_table,
	.create_rwq_ind_table = roost_verbs_create_rwq_ind_table,
	.destroy_wq = roost_verbs_destroy_wq,
	.modify_wq = roost_verbs_modify_wq,
	.create_wq = roost_verbs_create_wq,
	.query_rt_values = roost_verbs_query_rt_values,
	.create_cq_ex = roost_verbs_create_cq_ex,
	.query_device_ex = roost_verbs_query_device_ex,
	.ibv_create_flow = roost_verbs_create_flow,
	.ibv_destroy_flow = roost_verbs_destroy_flow,
	/* Programs from before the inlines had their present places look for
	 * the two here.
	 */
	.ABI_placeholder1 = (void (*)(void))roost_verbs_create_flow,
	.ABI_placeholder2 = (void (*)(void))roost_verbs_destroy_flow,
	.open_qp = roost_verbs_open_qp,
	.create_qp_ex = roost_verbs_create_qp_ex,
	.get_srq_num = roost_verbs_get_srq_num,
	.create_srq_ex = roost_verbs_create_srq_ex,
	.open_xrcd = roost_verbs_open_xrcd,
	.close_xrcd = roost_verbs_close_xrcd,
	.sz = ROOST_VERBS_CONTEXT_BYTES,
	.context = {
		.ops = {
			.alloc_mw = roost_verbs_alloc_mw,
			.bind_mw = roost_verbs_bind_mw,
			.dealloc_mw = roost_verbs_dealloc_mw,
			.poll_cq = roost_verbs_poll_cq,
			.req_notify_cq = roost_verbs_req_notify_cq,
			.post_srq_recv = roost_verbs_post_srq_recv,
			.post_send = roost_verbs_post_send,
			.post_recv = roost_verbs_post_recv,
			/* inline functions of old headers call these two */
			._compat_query_device = ibv_query_device,
			._compat_query_port = (ibv_query_port),
		},
		.cmd_fd = -1,
		.num_comp_vectors = 1,
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	},
};

/* Print a line for a failure; roost_device_open() prints its own. */
static void tell(const struct ibv_device *device, int ret)
{
	fprintf(stderr, "roost: device %s: cannot open it: %s; %s\n",
		device->name, strerror(-ret), roost_limit_fix(-ret));
}

static struct roost_verbs_context *new_context(struct ibv_device *device)
{
	struct roost_verbs_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->vctx = supported;
	c->door_fd = -1;
	roost_unsupported_fill(&c->vctx);
	c->vctx.context.device = device;
	pthread_mutex_init(&c->vctx.context.mutex, NULL);
	TAILQ_INIT(&c->objects);
	return c;
}

static void free_context(struct roost_verbs_context *c)
{
	pthread_mutex_destroy(&c->vctx.context.mutex);
	free(c);
}

/* A device and an engine's context of its own. Prints a line on failure. */
static int open_own(struct roost_verbs_context *c)
{
	struct ibv_device *device = c->vctx.context.device;
	int ret;

	ret = roost_device_open(roost_verbs_config(),
				roost_verbs_device(device)->index, &c->device);
	if (ret)
		return ret;
	ret = roost_ctx_open(roost_device_dev(c->device), &c->ctx);
	if (ret) {
		tell(device, ret);
		roost_device_close(c->device);
	}
	return ret;
}

static struct ibv_context *publish(struct roost_verbs_context *c)
{
	struct ibv_context *ibv = &c->vctx.context;

	ibv->async_fd = roost_channel_fd(roost_ctx_async_channel(c->ctx));
	roost_verbs_context_add(ibv);
	return ibv;
}

ROOST_VERBS_LATEST(ibv_open_device, "IBVERBS_1.1");
struct ibv_context *roost_ibv_open_device(struct ibv_device *device)
{
	struct roost_verbs_context *c = new_context(device);
	int ret;

	if (!c)
		return roost_verbs_null(-ENOMEM);
	ret = open_own(c);
	if (ret)
		goto err_free;
	ret = roost_handover_open(c);
	if (ret) {
		tell(device, ret);
		goto err_device;
	}
	return publish(c);

err_device:
	roost_ctx_close(c->ctx);
	roost_device_close(c->device);
err_free:
	free_context(c);
	return roost_verbs_null(ret);
}

struct ibv_context *roost_verbs_context_import(struct ibv_device *device,
					       struct roost_verbs_context *root,
					       int cmd_fd)
{
	struct roost_verbs_context *c = new_context(device);
	int ret = 0;

	if (!c)
		return roost_verbs_null(-ENOMEM);
	c->root = root;
	c->foreign = !root;
	if (root) {
		c->device = root->device;
		c->ctx = root->ctx;
	} else {
		ret = open_own(c);
	}
	if (ret) {
		free_context(c);
		return roost_verbs_null(ret);
	}
	roost_handover_cookie(cmd_fd, &c->cookie);
	c->vctx.context.cmd_fd = cmd_fd;
	return publish(c);
}

/* Count all events of the object as acked, and leave all groups: the program
 * will not do so any more.
 */
static void release(struct roost_verbs_object *object)
{
	struct roost_verbs_cq *cq;
	struct roost_verbs_qp *qp;

	switch (object->kind) {
	case ROOST_VERBS_CQ:
		cq = roost_verbs_cq(object->ibv);
		roost_event_source_abandon(roost_cq_comp_source(cq->cq));
		roost_event_source_abandon(roost_cq_async_source(cq->cq));
		break;
	case ROOST_VERBS_SRQ:
		roost_event_source_abandon(roost_srq_async_source(
			roost_verbs_srq(object->ibv)->srq));
		break;
	case ROOST_VERBS_WQ:
		roost_event_source_abandon(
			roost_wq_async_source(roost_verbs_wq(object->ibv)->wq));
		break;
	case ROOST_VERBS_QP:
		qp = roost_verbs_qp(object->ibv);
		roost_event_source_abandon(roost_qp_async_source(qp->qp));
		roost_mcast_detach_all(qp->qp);
		break;
	case ROOST_VERBS_PD:
	case ROOST_VERBS_TD:
	case ROOST_VERBS_MR:
	case ROOST_VERBS_MW:
	case ROOST_VERBS_DM:
	case ROOST_VERBS_AH:
	case ROOST_VERBS_IND_TABLE:
	case ROOST_VERBS_XRCD:
	case ROOST_VERBS_COUNTERS:
	case ROOST_VERBS_FLOW:
		break;
	}
}

static int destroy(struct roost_verbs_object *object)
{
	switch (object->kind) {
	case ROOST_VERBS_PD:
		return ibv_dealloc_pd(object->ibv);
	case ROOST_VERBS_TD:
		return roost_verbs_dealloc_td(object->ibv);
	case ROOST_VERBS_MR:
		return ibv_dereg_mr(object->ibv);
	case ROOST_VERBS_MW:
		return roost_verbs_dealloc_mw(object->ibv);
	case ROOST_VERBS_DM:
		return roost_verbs_free_dm(object->ibv);
	case ROOST_VERBS_AH:
		return ibv_destroy_ah(object->ibv);
	case ROOST_VERBS_CQ:
		return ibv_destroy_cq(object->ibv);
	case ROOST_VERBS_SRQ:
		return ibv_destroy_srq(object->ibv);
	case ROOST_VERBS_WQ:
		return roost_verbs_destroy_wq(object->ibv);
	case ROOST_VERBS_IND_TABLE:
		return roost_verbs_destroy_rwq_ind_table(object->ibv);
	case ROOST_VERBS_XRCD:
		return roost_verbs_close_xrcd(object->ibv);
	case ROOST_VERBS_QP:
		return ibv_destroy_qp(object->ibv);
	case ROOST_VERBS_COUNTERS:
		return roost_verbs_destroy_counters(object->ibv);
	case ROOST_VERBS_FLOW:
		return roost_verbs_destroy_flow(object->ibv);
	}
	return EINVAL;
}

/*
 * End the objects that the program left, as the kernel does when a device's
 * file is closed: the memory of its regions may be used for something else from
 * now on. Newest first, and repeated as long as objects go: a window may be
 * older than the region that it is bound to.
 */
static void end_objects(struct roost_verbs_context *c)
{
	struct roost_verbs_object *object, *next;
	bool any;

	do {
		any = false;
		for (object = TAILQ_FIRST(&c->objects); object; object = next) {
			next = TAILQ_NEXT(object, link);
			release(object);
			any |= destroy(object) == 0;
		}
	} while (any);
}

static void end_root(struct roost_verbs_context *c)
{
	roost_ctx_close(c->ctx);
	roost_device_close(c->device);
	free_context(c);
}

void roost_verbs_root_put(struct roost_verbs_context *root)
{
	bool last;

	roost_process_fork_hold();
	last = --root->nb_imports == 0 && root->closed;
	roost_process_fork_release();
	if (last)
		end_root(root);
}

/* Its last import ends a root that has imports now. Returns false: has none. */
static bool leave_to_imports(struct roost_verbs_context *c)
{
	bool any;

	roost_process_fork_hold();
	any = c->nb_imports != 0;
	c->closed = any;
	roost_process_fork_release();
	return any;
}

static void end_import(struct roost_verbs_context *c)
{
	struct roost_verbs_context *root = c->root;

	free_context(c);
	roost_verbs_root_put(root);
}

/*
 * EBUSY while another context has a handle of an XRC target of this one, or has
 * imported a PD of it.
 */
ROOST_VERBS_LATEST(ibv_close_device, "IBVERBS_1.1");
int roost_ibv_close_device(struct ibv_context *context)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	bool has_engine = !c->root;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_dead_close(context);
	end_objects(c);
	if (!TAILQ_EMPTY(&c->objects))
		return roost_verbs_result(-EBUSY);
	if (has_engine && c->nb_imports == 0) {
		ret = roost_ctx_close(c->ctx);
		if (ret)
			return roost_verbs_result(ret);
		has_engine = false;
	}
	roost_verbs_context_del(context);
	if (c->watch)
		roost_handover_close(c);
	close(context->cmd_fd);
	if (c->root) {
		end_import(c);
	} else if (!has_engine) {
		roost_device_close(c->device);
		free_context(c);
	} else if (!leave_to_imports(c)) {
		end_root(c);
	}
	return 0;
}
