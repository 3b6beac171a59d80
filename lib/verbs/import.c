/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Objects of another context, which this process has been given by its cmd_fd.
 *
 * A context of this process: the import uses the same device, PD and region.
 * Of another process: each process has an engine of its own, so the device is
 * one of this process's, on the same port of the same daemon; a PD is a new one
 * that has the handle of the other; and a region is the same shared memory,
 * mapped here, under the keys that it has there.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/resolve.h"
#include "lib/verbs/handover.h"
#include "lib/verbs/shim.h"

/* ---- device -------------------------------------------------------------- */

static bool is_same_port(struct ibv_device *device,
			 const struct roost_handover_told *told)
{
	const struct roost_config *config = roost_verbs_config();
	unsigned int first;

	roost_config_device_ports(config, roost_verbs_device(device)->index,
				  &first);
	return roost_verbs_device(device)->guid == told->guid &&
	       strcmp(config->ports[first].service, told->service) == 0;
}

static struct ibv_context *import_foreign(int cmd_fd)
{
	struct roost_handover_told told;
	struct ibv_device **list, *device = NULL;
	int file, ret, nb;

	ret = roost_handover_ask(cmd_fd, ROOST_HANDOVER_DEVICE, 0, &told,
				 &file);
	if (file >= 0)
		close(file);
	if (ret == -EOPNOTSUPP)
		fprintf(stderr,
			"roost: ibv_import_device(%d): the port belongs to the "
			"other process alone; use a port that a daemon shares "
			"(roost run --hub)\n",
			cmd_fd);
	if (ret)
		return roost_verbs_null(ret);
	list = ibv_get_device_list(&nb);
	for (int i = 0; list && i < nb && !device; i++)
		if (is_same_port(list[i], &told))
			device = list[i];
	ibv_free_device_list(list);
	if (!device)
		return roost_verbs_null(-ENODEV);
	return roost_verbs_context_import(device, NULL, cmd_fd);
}

/* cmd_fd is the new context's, which closes it. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct roost_verbs_context *root;
	struct ibv_context *ibv;
	uint64_t cookie;
	int ret = roost_handover_cookie(cmd_fd, &cookie);

	if (ret)
		return roost_verbs_null(ret);
	root = roost_verbs_root(cookie);
	if (!root)
		return import_foreign(cmd_fd);
	ibv = roost_verbs_context_import(root->vctx.context.device, root,
					 cmd_fd);
	if (!ibv)
		roost_verbs_root_put(root);
	return ibv;
}

/* ---- PD ------------------------------------------------------------------ */

/* Of the contexts of this process that share c's device and cmd_fd. A PD comes
 * held, and is no import or parent domain.
 */
static struct roost_verbs_pd *find_pd(const struct roost_verbs_context *c,
				      uint32_t handle)
{
	struct roost_verbs_object *object;
	struct roost_verbs_pd *pd = NULL;

	roost_process_fork_hold();
	object = roost_verbs_object_find(c->cookie, ROOST_VERBS_PD, handle);
	if (object) {
		pd = roost_verbs_pd(object->ibv);
		if (pd->parent)
			pd = pd->parent;
		roost_verbs_pd_hold(&pd->ibv);
	}
	roost_process_fork_release();
	return pd;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct roost_verbs_context *c = roost_verbs_context(context);
	struct roost_handover_told told;
	struct roost_verbs_pd *pd;
	struct ibv_pd *ibv;
	int file, ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_null(-EIO);
	if (!c->foreign) {
		pd = find_pd(c, handle);
		return pd ? roost_verbs_pd_like(context, pd, NULL)
			  : roost_verbs_null(-EINVAL);
	}
	ret = roost_handover_ask(context->cmd_fd, ROOST_HANDOVER_PD, handle,
				 &told, &file);
	if (file >= 0)
		close(file);
	if (ret)
		return roost_verbs_null(ret);
	ibv = ibv_alloc_pd(context);
	if (ibv)
		ibv->handle = handle;
	return ibv;
}

/* ---- MR ------------------------------------------------------------------ */

static int find_mr(const struct roost_verbs_context *c, uint32_t handle,
		   uint32_t pd_handle, struct ibv_mr *found)
{
	struct roost_verbs_object *object;
	int ret = -EINVAL;

	roost_process_fork_hold();
	object = roost_verbs_object_find(c->cookie, ROOST_VERBS_MR, handle);
	if (object) {
		*found = roost_verbs_mr(object->ibv)->ibv;
		if (found->pd->handle == pd_handle)
			ret = 0;
	}
	roost_process_fork_release();
	return ret;
}

/* Map the memory, and give it the key that it has at home. */
static int adopt(struct roost_verbs_mr *mr, struct ibv_pd *pd,
		 const struct roost_handover_told *told, int file)
{
	uint32_t access = told->access;
	void *host;
	int ret;

	if (told->pd_handle != pd->handle || file < 0)
		return -EINVAL;
	ret = roost_verbs_map(file, told->offset, (size_t)told->len_bytes,
			      access & ROOST_ACCESS_LOCAL_WRITE, &mr->mapping,
			      &host);
	if (ret) /* a file that is no shared memory is none of the caller's */
		return ret == -EINVAL ? -EOPNOTSUPP : ret;
	if (mr->mapping.dmabuf_fd >= 0)
		access |= ROOST_ACCESS_PRESENT;
	ret = roost_mr_reg_as(roost_verbs_pd(pd)->pd, host,
			      (size_t)told->len_bytes, told->iova, access,
			      told->key, &mr->mr);
	if (ret)
		roost_verbs_unmap(&mr->mapping);
	mr->ibv.length = (size_t)told->len_bytes;
	mr->ibv.lkey = told->key;
	mr->ibv.rkey = told->key;
	return ret;
}

static int import_foreign_mr(struct roost_verbs_mr *mr, struct ibv_pd *pd,
			     uint32_t handle)
{
	struct roost_handover_told told;
	int file, ret;

	ret = roost_handover_ask(pd->context->cmd_fd, ROOST_HANDOVER_MR, handle,
				 &told, &file);
	if (ret == 0)
		ret = adopt(mr, pd, &told, file);
	if (file >= 0)
		close(file);
	return ret;
}

/* addr is NULL, as in the kernel's: it is the address in the other process. */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct roost_verbs_context *c = roost_verbs_context(pd->context);
	struct roost_verbs_mr *mr;
	int ret;

	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return roost_verbs_null(-ENOMEM);
	if (c->foreign) {
		ret = import_foreign_mr(mr, pd, handle);
	} else {
		ret = find_mr(c, handle, pd->handle, &mr->ibv);
		mr->is_alias = true;
	}
	if (ret) {
		free(mr);
		return roost_verbs_null(ret);
	}
	mr->ibv.addr = NULL;
	return roost_verbs_mr_add(mr, pd);
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	ibv_dereg_mr(mr);
}
