/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * XRC domains. A file identifies a domain: openings with descriptors of the
 * same file, on the same device and in the same process, share it. The engine
 * that receives for a target QP has the SRQs of its own process alone, so the
 * domain of another process cannot be shared. Who may create one (O_CREAT) gets
 * one of his own and a line, because programs that reach their own SRQs by
 * their own targets need no more; who asks for the other's gets EOPNOTSUPP. A
 * domain with a file binds an abstract socket, its mark, by which processes see
 * each other's domains.
 */

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
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

static void tell_of_another(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&told))
		return;
	fprintf(stderr,
		"roost: ibv_open_xrcd: another process than %d has a domain of "
		"this file: a target QP reaches the SRQs of its own process "
		"only; keep both in one process\n",
		getpid());
}

/* Bind the mark of the file's domain, or connect to another process's. Returns
 * the socket; or -1, errno: EADDRINUSE: another has it; ECONNREFUSED: nobody.
 */
static int with_mark(const struct ibv_context *context, int fd,
		     int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1;
	struct stat st;
	int s, ret;

	if (fstat(fd, &st))
		return -1;
	len += (socklen_t)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
				   "roost/xrcd/%" PRIx64 "/%x:%x/%llu",
				   be64toh(ibv_get_device_guid(
					   context->device)),
				   major(st.st_dev), minor(st.st_dev),
				   (unsigned long long)st.st_ino);
	s = roost_high_fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (s < 0 || call(s, (struct sockaddr *)&name, len) == 0)
		return s;
	ret = errno;
	close(s);
	errno = ret;
	return -1;
}

static bool another_has(const struct ibv_context *context, int fd)
{
	int s = with_mark(context, fd, connect);

	if (s >= 0)
		close(s);
	return s >= 0;
}

/* Of a file that this process has no domain of. Without a mark, because no
 * socket is to be had, others do not see the domain. Returns 0 or -errno.
 */
static int meet_others(struct roost_verbs_xrcd *x,
		       const struct ibv_context *context, int oflags)
{
	bool create = oflags & O_CREAT;

	x->mark_fd = create ? with_mark(context, x->fd, bind) : -1;
	x->elsewhere = create ? x->mark_fd < 0 && errno == EADDRINUSE
			      : another_has(context, x->fd);
	if (x->elsewhere && oflags & O_EXCL)
		return -EINVAL;
	if (x->elsewhere)
		tell_of_another();
	if (create)
		return 0;
	return x->elsewhere ? -EOPNOTSUPP : -EAGAIN;
}

/* The domain's mark goes over to one of its other openings. Under the lock. */
static void leave_mark(struct roost_verbs_xrcd *x)
{
	struct roost_verbs_xrcd *other;

	LIST_FOREACH(other, &process.openings, link)
		if (other->domain_id == x->domain_id) {
			other->mark_fd = x->mark_fd;
			return;
		}
	close(x->mark_fd);
}

/* Under the lock. */
static int open_domain(struct roost_verbs_xrcd *x, struct ibv_context *context,
		       int oflags)
{
	struct roost_ctx *ctx = roost_verbs_context(context)->ctx;
	struct roost_verbs_xrcd *with = find(context, x->fd);
	int ret = 0;

	if (with && oflags & O_EXCL)
		return -EINVAL;
	if (with)
		x->elsewhere = with->elsewhere;
	else if (x->fd >= 0)
		ret = meet_others(x, context, oflags);
	if (ret)
		return ret;
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
	x->mark_fd = -1;
	if (attr->fd != -1) {
		x->fd = roost_high_fd(fcntl(attr->fd, F_DUPFD_CLOEXEC, 0));
		if (x->fd < 0)
			ret = -errno;
	}
	if (ret == 0) {
		pthread_mutex_lock(&process.lock);
		ret = open_domain(x, context, attr->oflags);
		pthread_mutex_unlock(&process.lock);
	}
	if (ret) {
		if (x->mark_fd >= 0)
			close(x->mark_fd);
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
	if (ret == 0) {
		LIST_REMOVE(x, link);
		if (x->mark_fd >= 0)
			leave_mark(x);
	}
	pthread_mutex_unlock(&process.lock);
	if (ret)
		return roost_verbs_result(ret);
	roost_verbs_object_del(ibv->context, &x->object);
	if (x->fd >= 0)
		close(x->fd);
	free(x);
	return 0;
}
