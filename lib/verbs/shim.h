/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_SHIM_H
#define ROOST_VERBS_SHIM_H

/*
 * The objects behind the structs of verbs.h, for lib/verbs alone.
 *
 * Each object begins with (a context: ends with) the struct that the program
 * sees, and holds a pointer to the engine's object. The shim checks arguments,
 * translates values (map.h) and uses the errno dialect; state and locking are
 * the engine's. The program decides the lifetime: an object lives from its
 * create to its destroy call, and a destroy call that the engine refuses with
 * EBUSY changes nothing.
 *
 * Dialect: calls that create an object return NULL and set errno; the others
 * return an errno value and set errno too, because programs that print errno
 * after ibv_modify_qp() and its like are common. An exception is named at its
 * function.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "lib/engine/core/flow.h"
#include "lib/engine/core/shim.h"
#include "lib/event/process.h"
#include <roost/roost.h>
#include "lib/face/shim.h"
#include "lib/verbs/abi.h"
#include "lib/verbs/dead.h"
#include "lib/verbs/mapping.h"

#define roost_container_of(ptr, type, member)                                  \
	((type *)((char *)(ptr)-offsetof(type, member)))

struct roost_verbs_device {
	struct roost_verbs_abi_device abi; /* first */
	unsigned int index;                /* of the configuration's devices */
	uint64_t guid;                     /* host order */
};

/* Objects of a program in a context: ibv_close_device() ends the ones that are
 * left.
 */
enum roost_verbs_kind {
	ROOST_VERBS_PD, /* parent domains, too */
	ROOST_VERBS_TD,
	ROOST_VERBS_MR,
	ROOST_VERBS_MW,
	ROOST_VERBS_DM,
	ROOST_VERBS_AH,
	ROOST_VERBS_CQ,
	ROOST_VERBS_SRQ,
	ROOST_VERBS_WQ,
	ROOST_VERBS_IND_TABLE,
	ROOST_VERBS_XRCD,
	ROOST_VERBS_QP,
	ROOST_VERBS_COUNTERS,
	ROOST_VERBS_FLOW,
};

struct roost_verbs_object {
	TAILQ_ENTRY(roost_verbs_object) link;
	void *ibv; /* the struct that the program has */
	enum roost_verbs_kind kind;
};

TAILQ_HEAD(roost_verbs_objects, roost_verbs_object);

struct roost_verbs_context {
	struct roost_device *device;
	struct roost_ctx *ctx;
	uint32_t process; /* the process that opened it; dead in others
			   * (dead.h) */
	LIST_ENTRY(roost_verbs_context) link;
	/* Newest first; under roost_process_fork_hold(). */
	struct roost_verbs_objects objects;
	/* Imports in this process use the device and the ctx of the context
	 * that was opened, which is their root; NULL: this one is a root.
	 */
	struct roost_verbs_context *root;
	uint32_t nb_imports; /* of a root; under roost_process_fork_hold() */
	bool closed;         /* a root that the program has closed, while it
			      * has imports; likewise */
	bool foreign;        /* imported from another process */
	uint64_t cookie;     /* of the socket cmd_fd, in every process */
	int door_fd;         /* a root's end of cmd_fd; -1: none */
	struct roost_watch *watch;      /* of door_fd; or NULL */
	_Atomic uint32_t nb_ind_tables; /* number of tables ever created; gives
					 * their handles */
	struct verbs_context vctx;      /* .context is what the program has */
};

/* A thread domain is a promise about threads; no code here depends on it. */
struct roost_verbs_td {
	struct ibv_td ibv; /* first */
	struct roost_verbs_object object;
	_Atomic uint32_t refs; /* parent domains */
};

struct roost_verbs_pd {
	struct ibv_pd ibv; /* first */
	struct roost_verbs_object object;
	struct roost_pd *pd;
	struct roost_verbs_pd *parent; /* parent domain: its PD; else NULL */
	struct roost_verbs_td *td;     /* parent domain: its thread domain, or
					* NULL */
	/* Objects and parent domains made with it; with ROOST_VERBS_PD_LEAVES
	 * once it is unimported.
	 */
	_Atomic uint32_t refs;
};

/* The last reference that goes ends the PD. */
#define ROOST_VERBS_PD_LEAVES (1u << 31)

struct roost_verbs_mr {
	struct ibv_mr ibv; /* first */
	struct roost_verbs_object object;
	struct roost_mr *mr;
	struct roost_verbs_dm *dm; /* device memory of the region; NULL: none */
	struct roost_verbs_mapping mapping; /* its memory, if it is ours */
	bool is_null;
	bool is_alias; /* imported in this process: mr is NULL */
};

struct roost_verbs_mw {
	struct ibv_mw ibv; /* first */
	struct roost_verbs_object object;
	struct roost_mw *mw;
};

struct roost_verbs_dm {
	struct ibv_dm ibv; /* first */
	struct roost_verbs_object object;
	uint8_t *memory;
	size_t len_bytes;
	_Atomic uint32_t refs; /* MRs of this memory */
};

struct roost_verbs_ah {
	struct ibv_ah ibv; /* first */
	struct roost_verbs_object object;
	struct roost_ah *ah;
};

struct roost_verbs_channel {
	struct ibv_comp_channel ibv; /* first; refcnt under context->mutex */
	struct roost_channel *channel;
};

struct roost_verbs_cq {
	struct ibv_cq_ex ibv; /* first; a struct ibv_cq too */
	struct roost_verbs_object object;
	struct roost_cq *cq;
	struct roost_device *device;
	struct roost_verbs_pd *parent_domain; /* or NULL */
	/* The completion that the ibv_wc_read_ calls read; valid between
	 * start_poll and end_poll, for the thread that polls.
	 */
	const struct roost_cqe *current;
};

struct roost_verbs_srq {
	struct ibv_srq ibv; /* first */
	struct roost_verbs_object object;
	struct roost_srq *srq;
	enum ibv_srq_type type;
};

struct roost_verbs_wq {
	struct ibv_wq ibv; /* first */
	struct roost_verbs_object object;
	struct roost_wq *wq;
};

struct roost_verbs_ind_table {
	struct ibv_rwq_ind_table ibv; /* first */
	struct roost_verbs_object object;
	struct roost_ind_table *table;
};

/* One opening of an XRC domain. */
struct roost_verbs_xrcd {
	struct ibv_xrcd ibv; /* first */
	struct roost_verbs_object object;
	struct roost_xrcd *xrcd;
	uint64_t domain_id;    /* the same in all openings of a domain */
	int fd;                /* keeps its inode number in use; -1: a domain
				* without a file */
	int mark_fd;           /* of the domain, at one of its openings; -1 */
	bool elsewhere;        /* another process has a domain of the file */
	_Atomic uint32_t refs; /* QP handles that were opened with it */
	LIST_ENTRY(roost_verbs_xrcd) link;
};

/* Which of what flow rules count is where in the answer of ibv_read_counters.
 */
#define ROOST_VERBS_COUNTERS_MAX 16u

struct roost_verbs_counters {
	struct ibv_counters ibv; /* first */
	struct roost_verbs_object object;
	struct roost_flow_counters counted;
	/* enum ibv_counter_description plus 1; 0: nothing. Any thread. */
	_Atomic uint8_t places[ROOST_VERBS_COUNTERS_MAX];
};

struct roost_verbs_flow {
	struct ibv_flow ibv; /* first */
	struct roost_verbs_object object;
	struct roost_flow_rule *rule;
};

/* Zero a request, but for the last two members, which belong to an opcode each
 * and are set with it. In halves: 96 bytes or more at once the compiler would
 * zero by rep stos, which takes longer than the rest of a post.
 */
static inline void roost_verbs_clear_wr(struct roost_send_wr *wr)
{
	const size_t half = offsetof(struct roost_send_wr, swap_add);

	memset(wr, 0, half);
	memset((uint8_t *)wr + half, 0,
	       offsetof(struct roost_send_wr, bind) - half);
}

/* The request that ibv_wr_start() to ibv_wr_complete() build. Under the send
 * queue's lock, which the engine holds in between.
 */
struct roost_verbs_batch {
	struct roost_send_wr wr; /* in progress; posted when missing is 0 */
	uint8_t missing;         /* setters that it waits for; 0: no request is
				  * in progress */
	int error;               /* first error, negative errno; 0: none */
	/* Data that was set before the other setter ran; UD and XRC only. */
	struct roost_verbs_kept *kept;
};

struct roost_verbs_qp {
	struct roost_verbs_object object;
	bool has_ex;                       /* created for the ibv_wr_ calls */
	struct roost_verbs_target *target; /* XRC_RECV: open_qp.c; or NULL */
	struct roost_device *device;
	struct roost_qp *qp;
	/* What the program has: a struct ibv_qp, which is the end of those that
	 * have no has_ex. A program has thousands of them.
	 */
	struct roost_verbs_abi_qp_ex ibv;
	struct roost_verbs_batch batch;
};
#define ROOST_VERBS_PLAIN_QP_BYTES                                             \
	(offsetof(struct roost_verbs_qp, ibv) + sizeof(struct ibv_qp))

/* The last step of its destruction. */
static inline void roost_verbs_qp_memory_free(struct roost_verbs_qp *qp)
{
	if (qp->has_ex)
		free(qp->batch.kept);
	free(qp);
}

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

static inline struct roost_verbs_mr *roost_verbs_mr(struct ibv_mr *mr)
{
	return (struct roost_verbs_mr *)mr;
}

static inline struct roost_verbs_mw *roost_verbs_mw(struct ibv_mw *mw)
{
	return (struct roost_verbs_mw *)mw;
}

static inline struct roost_verbs_ah *roost_verbs_ah(struct ibv_ah *ah)
{
	return (struct roost_verbs_ah *)ah;
}

static inline struct roost_verbs_cq *roost_verbs_cq(struct ibv_cq *cq)
{
	return (struct roost_verbs_cq *)cq;
}

static inline struct roost_verbs_srq *roost_verbs_srq(struct ibv_srq *srq)
{
	return (struct roost_verbs_srq *)srq;
}

static inline struct roost_verbs_wq *roost_verbs_wq(struct ibv_wq *wq)
{
	return (struct roost_verbs_wq *)wq;
}

static inline struct roost_verbs_ind_table *
roost_verbs_ind_table(struct ibv_rwq_ind_table *table)
{
	return (struct roost_verbs_ind_table *)table;
}

static inline struct roost_verbs_xrcd *roost_verbs_xrcd(struct ibv_xrcd *xrcd)
{
	return (struct roost_verbs_xrcd *)xrcd;
}

static inline struct roost_verbs_qp *roost_verbs_qp(struct ibv_qp *qp)
{
	return roost_container_of(qp, struct roost_verbs_qp, ibv.ex.qp_base);
}

static inline struct roost_dev *roost_verbs_dev(struct ibv_context *context)
{
	return roost_device_dev(roost_verbs_context(context)->device);
}

/*
 * An object was created with this PD or parent domain. The engine knows real
 * PDs only, so references to a parent domain are counted here.
 */
static inline void roost_verbs_pd_hold(struct ibv_pd *pd)
{
	atomic_fetch_add(&roost_verbs_pd(pd)->refs, 1);
}

/* pd.c: nothing refers to an unimported PD any more. */
void roost_verbs_pd_leave(struct roost_verbs_pd *pd);

static inline void roost_verbs_pd_release(struct ibv_pd *ibv)
{
	struct roost_verbs_pd *pd = roost_verbs_pd(ibv);

	if (atomic_fetch_sub(&pd->refs, 1) == ROOST_VERBS_PD_LEAVES + 1)
		roost_verbs_pd_leave(pd);
}

/* Add an object to, or remove it from, the list of its context. */
static inline void roost_verbs_object_add(struct ibv_context *context,
					  enum roost_verbs_kind kind, void *ibv,
					  struct roost_verbs_object *object)
{
	struct roost_verbs_context *c = roost_verbs_context(context);

	object->ibv = ibv;
	object->kind = kind;
	roost_process_fork_hold();
	TAILQ_INSERT_HEAD(&c->objects, object, link);
	roost_process_fork_release();
}

static inline void roost_verbs_object_del(struct ibv_context *context,
					  struct roost_verbs_object *object)
{
	struct roost_verbs_context *c = roost_verbs_context(context);

	roost_process_fork_hold();
	TAILQ_REMOVE(&c->objects, object, link);
	roost_process_fork_release();
}

/* 0 or -errno in; 0 or the errno value out, and in errno. */
static inline int roost_verbs_result(int ret)
{
	if (ret < 0)
		errno = -ret;
	return -ret;
}

/* 0 or -errno in; 0 or -1 out, and errno. */
static inline int roost_verbs_minus_one(int ret)
{
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

/* -errno in; NULL out, and errno. */
static inline void *roost_verbs_null(int ret)
{
	errno = -ret;
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
int roost_verbs_query_rt_values(struct ibv_context *context,
				struct ibv_values_ex *values);
/* pd.c */
struct ibv_pd *
roost_verbs_alloc_parent_domain(struct ibv_context *context,
				struct ibv_parent_domain_init_attr *attr);
struct ibv_td *roost_verbs_alloc_td(struct ibv_context *context,
				    struct ibv_td_init_attr *attr);
int roost_verbs_dealloc_td(struct ibv_td *td);
/* A PD of context that is another PD of the same device: parent, which the
 * caller has held, and which the call releases on failure; td may be NULL.
 */
struct ibv_pd *roost_verbs_pd_like(struct ibv_context *context,
				   struct roost_verbs_pd *parent,
				   struct ibv_td *td);
/* context.c: a context on the root's device that takes cmd_fd over; the caller
 * has counted it in root->nb_imports. Or one of the caller's own, if root is
 * NULL. Returns NULL and errno, with cmd_fd still the caller's.
 */
struct ibv_context *roost_verbs_context_import(struct ibv_device *device,
					       struct roost_verbs_context *root,
					       int cmd_fd);
/* mr.c */
/* Add a region that has all but the PD's part. */
struct ibv_mr *roost_verbs_mr_add(struct roost_verbs_mr *mr, struct ibv_pd *pd);
struct ibv_mr *roost_verbs_alloc_null_mr(struct ibv_pd *pd);
int roost_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			  uint32_t flags, struct ibv_sge *sg_list,
			  uint32_t num_sges);
/* Register memory that the caller has checked. dm: its device memory, or NULL.
 * mapping: memory that the caller has mapped, which becomes the region's if the
 * call succeeds; or NULL.
 */
struct ibv_mr *roost_verbs_mr_new(struct ibv_pd *pd, void *addr, size_t length,
				  uint64_t iova, unsigned int access,
				  struct roost_verbs_dm *dm,
				  const struct roost_verbs_mapping *mapping);
/* dm.c */
struct ibv_dm *roost_verbs_alloc_dm(struct ibv_context *context,
				    struct ibv_alloc_dm_attr *attr);
int roost_verbs_free_dm(struct ibv_dm *dm);
struct ibv_mr *roost_verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				     uint64_t dm_offset, size_t length,
				     unsigned int access);
/* Largest length of a device memory allocation. */
#define ROOST_VERBS_DM_MAX_BYTES (UINT64_C(256) << 20)
/* mw.c */
struct ibv_mw *roost_verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int roost_verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
			struct ibv_mw_bind *bind);
int roost_verbs_dealloc_mw(struct ibv_mw *mw);
/* Translate the arguments of a BIND_MW request. Returns 0, -EINVAL (no window,
 * or not of the type that is bound this way).
 */
int roost_verbs_map_bind(struct ibv_mw *mw, enum ibv_mw_type type,
			 uint32_t rkey, const struct ibv_mw_bind_info *info,
			 struct roost_mw_bind *bind);
/* cq.c */
int roost_verbs_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int roost_verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int roost_verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/* Keeps no reference to attr; returns NULL and errno. */
struct roost_verbs_cq *
roost_verbs_cq_new(struct ibv_context *context,
		   const struct ibv_cq_init_attr_ex *attr);
/* cq_ex.c */
struct ibv_cq_ex *roost_verbs_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr);
/* srq.c */
struct ibv_srq *roost_verbs_create_srq_ex(struct ibv_context *context,
					  struct ibv_srq_init_attr_ex *attr);
int roost_verbs_get_srq_num(struct ibv_srq *srq, uint32_t *num);
/* wq.c */
struct ibv_wq *roost_verbs_create_wq(struct ibv_context *context,
				     struct ibv_wq_init_attr *attr);
int roost_verbs_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int roost_verbs_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *
roost_verbs_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr);
int roost_verbs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/* Returns 0, -EOPNOTSUPP (function, fields), -EINVAL (key, both IPs). */
int roost_verbs_map_hash(const struct ibv_rx_hash_conf *conf,
			 struct roost_hash *hash);
/* xrcd.c */
struct ibv_xrcd *roost_verbs_open_xrcd(struct ibv_context *context,
				       struct ibv_xrcd_init_attr *attr);
int roost_verbs_close_xrcd(struct ibv_xrcd *xrcd);
/* qp.c */
struct ibv_qp *roost_verbs_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr);
int roost_verbs_modify_qp_rate_limit(struct ibv_qp *qp,
				     struct ibv_qp_rate_limit_attr *attr);
/* qp_ex.c: set the ibv_wr_ functions of a QP. Returns 0, -EOPNOTSUPP (an
 * operation in send_ops that this type of QP does not have), -ENOMEM. Does not
 * zero the QP's memory; the caller frees batch.kept in the end.
 */
int roost_verbs_qp_ex_init(struct roost_verbs_qp *qp, enum roost_qp_type type,
			   uint64_t send_ops);
/* Fill the members of a QP that programs see; pd may be NULL. */
void roost_verbs_qp_init_ibv(struct roost_verbs_qp *qp,
			     struct ibv_context *context, struct ibv_pd *pd,
			     const struct ibv_qp_init_attr_ex *attr);
/* Undo roost_verbs_qp_init_ibv(), and free the QP. */
void roost_verbs_qp_free(struct roost_verbs_qp *qp);
/* open_qp.c: handles of one XRC target. */
struct ibv_qp *roost_verbs_open_qp(struct ibv_context *context,
				   struct ibv_qp_open_attr *attr);
/* qp is the first handle of the target qp->qp. Returns 0, -ENOMEM. */
int roost_verbs_target_new(struct roost_verbs_qp *qp,
			   const struct roost_verbs_xrcd *xrcd);
/* Frees the handle, and with the last handle the target. Returns 0, or the
 * engine's error with nothing changed.
 */
int roost_verbs_target_close(struct roost_verbs_qp *qp);
/* True if the program still has this handle; events for a closed handle are
 * discarded.
 */
bool roost_verbs_target_is_open(const struct roost_verbs_qp *qp);
/* flow.c: frames of raw packet QPs. */
struct ibv_flow *roost_verbs_create_flow(struct ibv_qp *qp,
					 struct ibv_flow_attr *attr);
int roost_verbs_destroy_flow(struct ibv_flow *flow);
struct ibv_counters *
roost_verbs_create_counters(struct ibv_context *context,
			    struct ibv_counters_init_attr *attr);
int roost_verbs_destroy_counters(struct ibv_counters *counters);
int roost_verbs_attach_counters_point_flow(struct ibv_counters *counters,
					   struct ibv_counter_attach_attr *attr,
					   struct ibv_flow *flow);
int roost_verbs_read_counters(struct ibv_counters *counters, uint64_t *values,
			      uint32_t nb, uint32_t flags);
/* May this thread send and receive frames of its own? */
bool roost_verbs_may_raw(void);
/* post.c */
int roost_verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr);
int roost_verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);
int roost_verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr);

#endif
