/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * rdma_resolve_addrinfo(): names are looked up on a thread for each call, since
 * getaddrinfo(3) may wait for servers, for minutes. Nobody waits for the
 * thread: an id that ends leaves its lookup, which then has no result.
 */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/newer.h"
#include "cm/rdmacm/rdmacm.h"

/* Of an id, from its first lookup on. */
struct lookups {
	struct roost_rdmacm_lookups base; /* first */
	_Atomic unsigned int refs;        /* of the id, and of the thread */
	pthread_mutex_t lock; /* guards what follows; taken before id->lock */
	struct roost_rdmacm_id *id; /* NULL: it has ended */
	bool is_running;
	struct rdma_addrinfo *info; /* result of the last one; NULL: none */
};

/* What a thread has to look up; its own. */
struct job {
	struct lookups *of;
	char *node, *service;        /* or NULL */
	struct rdma_addrinfo *hints; /* or NULL */
};

/* ---- copies ------------------------------------------------------------- */

/* Returns false without memory. */
static bool copy(void *to, const void *from, size_t len)
{
	void *made = NULL;

	if (from && len) {
		made = malloc(len);
		if (!made)
			return false;
		memcpy(made, from, len);
	}
	*(void **)to = made;
	return true;
}

static bool copy_text(char **to, const char *from)
{
	return copy(to, from, from ? strlen(from) + 1 : 0);
}

/* Of one entry. Returns NULL without memory. */
static struct rdma_addrinfo *copy_info(const struct rdma_addrinfo *from)
{
	struct rdma_addrinfo *to = calloc(1, sizeof(*to));

	if (!to)
		return NULL;
	to->ai_flags = from->ai_flags;
	to->ai_family = from->ai_family;
	to->ai_qp_type = from->ai_qp_type;
	to->ai_port_space = from->ai_port_space;
	to->ai_src_len = from->ai_src_len;
	to->ai_dst_len = from->ai_dst_len;
	if (copy(&to->ai_src_addr, from->ai_src_addr, from->ai_src_len) &&
	    copy(&to->ai_dst_addr, from->ai_dst_addr, from->ai_dst_len))
		return to;
	rdma_freeaddrinfo(to);
	return NULL;
}

/* ---- the thread --------------------------------------------------------- */

static void put(struct lookups *l)
{
	if (atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&l->lock);
	rdma_freeaddrinfo(l->info);
	free(l);
}

static void job_free(struct job *job)
{
	free(job->node);
	free(job->service);
	rdma_freeaddrinfo(job->hints);
	free(job);
}

/* Takes info. */
static void finish(struct lookups *l, int status, struct rdma_addrinfo *info)
{
	const int type = info ? ROOST_RDMACM_ADDRINFO_RESOLVED
			      : ROOST_RDMACM_ADDRINFO_ERROR;

	pthread_mutex_lock(&l->lock);
	rdma_freeaddrinfo(l->info);
	l->info = info;
	l->is_running = false;
	/* The id ends under the lock. */
	if (l->id)
		roost_rdmacm_tell(l->id, (enum rdma_cm_event_type)type, status);
	pthread_mutex_unlock(&l->lock);
	put(l);
}

static void *run(void *arg)
{
	struct job *job = arg;
	struct rdma_addrinfo *info = NULL;
	int status;

	pthread_setname_np(pthread_self(), "roost-addrinfo");
	status = rdma_getaddrinfo(job->node, job->service, job->hints, &info);
	if (status == -1)
		status = -errno;
	finish(job->of, status, info);
	job_free(job);
	return NULL;
}

/* The thread inherits a mask without signals: handlers are the program's. */
static int start(struct job *job)
{
	pthread_t thread;
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, NULL, run, job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret == 0)
		pthread_detach(thread);
	return -ret;
}

/* ---- calls -------------------------------------------------------------- */

static void end(struct roost_rdmacm_lookups *lookups, bool is_dead)
{
	struct lookups *l = (struct lookups *)lookups;

	/* Its thread is not in this process, and may hold the lock. */
	if (is_dead) {
		rdma_freeaddrinfo(l->info);
		free(l);
		return;
	}
	pthread_mutex_lock(&l->lock);
	l->id = NULL;
	pthread_mutex_unlock(&l->lock);
	put(l);
}

/* Under id->call. NULL: no memory. */
static struct lookups *lookups_of(struct roost_rdmacm_id *id)
{
	struct lookups *l = (struct lookups *)id->lookups;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->base.end = end;
	l->refs = 1;
	l->id = id;
	pthread_mutex_init(&l->lock, NULL);
	id->lookups = &l->base;
	return l;
}

static struct job *job_new(struct lookups *l, const char *node,
			   const char *service,
			   const struct rdma_addrinfo *hints)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->of = l;
	if (copy_text(&job->node, node) && copy_text(&job->service, service) &&
	    (!hints || (job->hints = copy_info(hints))))
		return job;
	job_free(job);
	return NULL;
}

/* Returns whether one runs from now on; false: one did. */
static bool set_running(struct lookups *l, bool is_running)
{
	bool is_new;

	pthread_mutex_lock(&l->lock);
	is_new = l->is_running != is_running;
	l->is_running = is_running;
	pthread_mutex_unlock(&l->lock);
	return is_new;
}

/* Under id->call. */
static int look_up(struct roost_rdmacm_id *id, const char *node,
		   const char *service, const struct rdma_addrinfo *hints)
{
	struct lookups *l = lookups_of(id);
	struct job *job = l ? job_new(l, node, service, hints) : NULL;
	int ret;

	if (!job)
		return -ENOMEM;
	if (!set_running(l, true)) {
		job_free(job);
		return -EBUSY;
	}
	atomic_fetch_add(&l->refs, 1);
	ret = start(job);
	if (ret) {
		job_free(job);
		set_running(l, false);
		put(l);
	}
	return ret;
}

int rdma_resolve_addrinfo(struct rdma_cm_id *rdma, const char *node,
			  const char *service,
			  const struct rdma_addrinfo *hints)
{
	const int either = ROOST_RDMACM_RAI_SA | ROOST_RDMACM_RAI_DNS;
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret;

	if ((!service && !node && !hints) ||
	    (hints && (hints->ai_flags & either) == either))
		return roost_rdmacm_result(-EINVAL);
	/* There is no subnet administration on Ethernet. */
	if (hints && hints->ai_flags & ROOST_RDMACM_RAI_SA)
		return roost_rdmacm_result(-EOPNOTSUPP);
	ret = roost_rdmacm_enter(id);
	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave_complete(id,
					   look_up(id, node, service, hints));
}

static int copy_last(struct lookups *l, struct rdma_addrinfo **info)
{
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	if (!l->info)
		ret = -ENODATA;
	else if (!(*info = copy_info(l->info)))
		ret = -ENOMEM;
	pthread_mutex_unlock(&l->lock);
	return ret;
}

int rdma_query_addrinfo(struct rdma_cm_id *rdma, struct rdma_addrinfo **info)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = info ? roost_rdmacm_enter_last(id) : -EINVAL;

	if (ret)
		return roost_rdmacm_result(ret);
	ret = id->lookups ? copy_last((struct lookups *)id->lookups, info)
			  : -ENODATA;
	return roost_rdmacm_leave(id, ret);
}
