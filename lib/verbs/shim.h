/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_SHIM_H
#define ROOST_VERBS_SHIM_H

/*
 * What stands behind the structs of verbs.h, for this folder alone.
 *
 * Each object begins with (or, for a context, ends with) the struct that the
 * program sees and holds a pointer to the engine's object. The shim checks
 * arguments, translates words (map.h) and speaks the errno dialect; state and
 * locking are the engine's. Lifetime is the program's: an object lives from
 * its create to its destroy call, and destroy calls that the engine refuses
 * with EBUSY change nothing.
 *
 * Dialect: calls that make something return NULL and set errno; the others
 * return an errno value and set errno too, because programs that print errno
 * after ibv_modify_qp() and its like are common. Exceptions stand where they
 * are made.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "lib/roost.h"
#include "lib/verbs/abi.h"

#define roost_container_of(ptr, type, member)                                  \
	((type *)((char *)(ptr)-offsetof(type, member)))

struct roost_verbs_device {
	struct roost_verbs_abi_device abi; /* first */
	unsigned int index;                /* of the configuration's ports */
	uint64_t guid;                     /* host order */
};

struct roost_verbs_context {
	struct roost_device *device;
	struct roost_ctx *ctx;
	struct verbs_context vctx; /* .context is what the program has */
};

struct roost_verbs_pd {
	struct ibv_pd ibv; /* first */
	struct roost_pd *pd;
};

struct roost_verbs_mr {
	struct ibv_mr ibv; /* first */
	struct roost_mr *mr;
};

struct roost_verbs_channel {
	struct ibv_comp_channel ibv; /* first; refcnt under context->mutex */
	struct roost_channel *channel;
};

struct roost_verbs_cq {
	struct ibv_cq_ex ibv; /* first; a struct ibv_cq too */
	struct roost_cq *cq;
	struct roost_device *device;
	/* The completion that the read_ calls are about; valid between
	 * start_poll and end_poll, for the thread that polls.
	 */
	const struct roost_cqe *current;
};

/* What ibv_wr_start() to ibv_wr_complete() collect. Under the send queue's
 * lock, which the engine holds in between.
 */
struct roost_verbs_batch {
	struct roost_send_wr wr; /* begun and waiting for its data */
	bool open;               /* wr is such a one */
	int error;               /* first one, negative; 0: none */
};

struct roost_verbs_qp {
	struct ibv_qp_ex ibv; /* first; a struct ibv_qp too */
	bool has_ex;          /* created for the ibv_wr_ calls */
	struct roost_qp *qp;
	struct roost_device *device;
	struct roost_verbs_batch batch;
};

static inline struct roost_verbs_context *
roost_verbs_context(struct ibv_context *context)
{
	return roost_container_of(context, struct roost_verbs_context,
				  vctx.context);
}

static inline struct roost_verbs_device *
roost_verbs_device(struct ibv_device *device)
{
	return (struct roost_verbs_device *)device;
}

static inline struct roost_verbs_pd *roost_verbs_pd(struct ibv_pd *pd)
{
	return (struct roost_verbs_pd *)pd;
}

static inline struct roost_verbs_cq *roost_verbs_cq(struct ibv_cq *cq)
{
	return (struct roost_verbs_cq *)cq;
}

static inline struct roost_verbs_qp *roost_verbs_qp(struct ibv_qp *qp)
{
	return (struct roost_verbs_qp *)qp;
}

static inline struct roost_dev *roost_verbs_dev(struct ibv_context *context)
{
	return roost_device_dev(roost_verbs_context(context)->device);
}

/* 0 or -errno in; 0 or the errno value out, and in errno. */
static inline int roost_verbs_result(int rc)
{
	if (rc < 0)
		errno = -rc;
	return -rc;
}

/* -errno in; NULL out, and errno. */
static inline void *roost_verbs_null(int rc)
{
	errno = -rc;
	return NULL;
}

/* The configuration of the process; loaded by ibv_get_device_list(). */
const struct roost_config *roost_verbs_config(void);

/*
 * Operations of struct verbs_context and ibv_context_ops that are supported,
 * by the file that has them.
 */
/* query.c */
int roost_verbs_query_device_ex(struct ibv_context *context,
				const struct ibv_query_device_ex_input *input,
				struct ibv_device_attr_ex *attr,
				size_t attr_size);
int roost_verbs_query_port(struct ibv_context *context, uint8_t port_num,
			   struct ibv_port_attr *attr, size_t attr_size);
/* cq.c */
int roost_verbs_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int roost_verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* Takes nothing of attr; returns NULL and errno. */
struct roost_verbs_cq *
roost_verbs_cq_new(struct ibv_context *context,
		   const struct ibv_cq_init_attr_ex *attr);
/* cq_ex.c */
struct ibv_cq_ex *roost_verbs_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr);
/* qp.c */
struct ibv_qp *roost_verbs_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr);
/* qp_ex.c: fill the ibv_wr_ calls. Returns 0, or -EOPNOTSUPP (an operation
 * in send_ops that this type of QP has not).
 */
int roost_verbs_qp_ex_init(struct roost_verbs_qp *qp, uint64_t send_ops);
/* post.c */
int roost_verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr);
int roost_verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);

#endif
