/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Opening and closing a device.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/verbs/shim.h"
#include "lib/verbs/unsupported.h"

static const struct verbs_context supported = {
	.query_port = roost_verbs_query_port,
	.query_device_ex = roost_verbs_query_device_ex,
	.create_cq_ex = roost_verbs_create_cq_ex,
	.create_qp_ex = roost_verbs_create_qp_ex,
	.sz = sizeof(struct verbs_context),
	.context = {
		.ops = {
			.poll_cq = roost_verbs_poll_cq,
			.req_notify_cq = roost_verbs_req_notify_cq,
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

ROOST_VERBS_LATEST(ibv_open_device, "IBVERBS_1.1");
struct ibv_context *roost_ibv_open_device(struct ibv_device *device)
{
	struct roost_verbs_context *c;
	struct ibv_context *ibv;
	int rc;

	c = calloc(1, sizeof(*c));
	if (!c)
		return roost_verbs_null(-ENOMEM);
	c->vctx = supported;
	roost_unsupported_fill(&c->vctx);
	ibv = &c->vctx.context;
	ibv->device = device;
	pthread_mutex_init(&ibv->mutex, NULL);

	/* Programs set flags on it, stat it or send it to another process. It
	 * must be an open file, but nothing that understands commands.
	 */
	ibv->cmd_fd = open("/", O_PATH | O_CLOEXEC);
	if (ibv->cmd_fd < 0) {
		rc = -errno;
		goto err_free;
	}
	rc = roost_device_open(roost_verbs_config(),
			       roost_verbs_device(device)->index, &c->device);
	if (rc)
		goto err_fd;
	rc = roost_ctx_open(roost_device_dev(c->device), &c->ctx);
	if (rc)
		goto err_device;
	ibv->async_fd = roost_channel_fd(roost_ctx_async_channel(c->ctx));
	return ibv;

err_device:
	roost_device_close(c->device);
err_fd:
	close(ibv->cmd_fd);
err_free:
	pthread_mutex_destroy(&ibv->mutex);
	free(c);
	return roost_verbs_null(rc);
}

/*
 * EBUSY while objects are left: the kernel would end them, but events of
 * theirs may be read and not acked yet, and that wait is the program's.
 */
ROOST_VERBS_LATEST(ibv_close_device, "IBVERBS_1.1");
int roost_ibv_close_device(struct ibv_context *context)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	int rc;

	rc = roost_ctx_close(c->ctx);
	if (rc)
		return roost_verbs_result(rc);
	roost_device_close(c->device);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}
