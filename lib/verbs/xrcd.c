/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * XRC domains. A file identifies a domain: openings with descriptors of the
 * same file, on the same device and in the same process, share it.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/verbs/shim.h"

#define XRCD_MASK (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, roost_verbs_xrcd) openings;
	uint64_t last_domain_id;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* An opening of the domain of this file; NULL: none. Under the lock. */
static struct roost_verbs_xrcd *find(struct ibv_context *context, int fd)
{
	struct roost_verbs_xrcd *x;
	struct stat want, have;

	if (fd < 0 || fstat(fd, &want))
		return NULL;
	LIST_FOREACH(x, &process.openings, link)
		if (x->fd >= 0 &&
		    roost_verbs_dev(x->ibv.context) ==
			    roost_verbs_dev(context) &&
		    fstat(x->fd, &have) == 0 && have.st_dev == want.st_dev &&
		    have.st_ino == want.st_ino)
			return x;
	return NULL;
}

/* Under the lock. */
static int open_domain(struct roost_verbs_xrcd *x, struct ibv_context *context,
		       int oflags)
{
	struct roost_ctx *ctx = roost_verbs_context(context)->ctx;
	struct roost_verbs_xrcd *with = find(context, x->fd);
	int ret;

	if (with && oflags & O_EXCL)
		return -EINVAL;
	if (!with && x->fd >= 0 && !(oflags & O_CREAT))
		return -EAGAIN;
	if (with)
		ret = roost_xrcd_share(ctx, with->xrcd, &x->xrcd);
	else
		ret = roost_xrcd_open(ctx, &x->xrcd);
	if (ret)
		return ret;
	x->domain_id = with ? with->domain_id : ++process.last_domain_id;
	LIST_INSERT_HEAD(&process.openings, x, link);
	return 0;
}

struct ibv_xrcd *roost_verbs_open_xrcd(struct ibv_context *context,
				       struct ibv_xrcd_init_attr *attr)
{
	struct roost_verbs_xrcd *x;
	int ret = 0;

	if (attr->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED)
		return roost_verbs_null(-EOPNOTSUPP);
	if ((attr->comp_mask & XRCD_MASK) != XRCD_MASK)
		return roost_verbs_null(-EINVAL);
	x = calloc(1, sizeof(*x));
	if (!x)
		return roost_verbs_null(-ENOMEM);
	x->ibv.context = context;
	x->fd = -1;
	if (attr->fd != -1) {
		x->fd = fcntl(attr->fd, F_DUPFD_CLOEXEC, 0);
		if (x->fd < 0)
			ret = -errno;
	}
	if (ret == 0) {
		pthread_mutex_lock(&process.lock);
		ret = open_domain(x, context, attr->oflags);
		pthread_mutex_unlock(&process.lock);
	}
	if (ret) {
		if (x->fd >= 0)
			close(x->fd);
		free(x);
		return roost_verbs_null(ret);
	}
	roost_verbs_object_add(context, ROOST_VERBS_XRCD, &x->ibv, &x->object);
	return &x->ibv;
}

int roost_verbs_close_xrcd(struct ibv_xrcd *ibv)
{
	struct roost_verbs_xrcd *x = roost_verbs_xrcd(ibv);
	int ret;

	pthread_mutex_lock(&process.lock);
	ret = atomic_load(&x->refs) ? -EBUSY : roost_xrcd_close(x->xrcd);
	if (ret == 0)
		LIST_REMOVE(x, link);
	pthread_mutex_unlock(&process.lock);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &x->object);
	if (x->fd >= 0)
		close(x->fd);
	free(x);
	return 0;
}
