/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A connection that is to be refused. */

#include <pthread.h>
#include <time.h>

#include <roost/cm.h>
#include <roost/cq.h>
#include <roost/dev.h>
#include <roost/mr.h>
#include <roost/qp.h>

#include "apps/probe/measure.h"
#include "pmd_glue/process/clock.h"

/* Of port space IB, where no program of rdma_cm's IP port spaces listens. */
#define SERVICE 0xd0c7u
/* 4.096 us << these: half a second for the peer, and 17 ms for each way. */
#define ANSWER_TIME 17u
#define LIFETIME 12u
#define TRIES 4u
#define RESOLVE_MS 4000u
#define WAIT_S 10
#define PSN 0x1d0c7u

struct call {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool resolved, done;
	enum roost_probe_cm answer;
	int status;
};

/* The QP of the request: a daemon lets only those of the client pass. */
struct end {
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_cq *cq;
	struct roost_qp *qp;
};

static void close_end(const struct end *e)
{
	if (e->qp)
		roost_qp_destroy(e->qp, NULL);
	if (e->cq)
		roost_cq_destroy(e->cq, NULL, NULL);
	if (e->pd)
		roost_pd_dealloc(e->pd);
	if (e->ctx)
		roost_ctx_close(e->ctx);
}

static int open_end(struct roost_dev *dev, struct end *e)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	int ret = roost_ctx_open(dev, &e->ctx);

	if (ret == 0)
		ret = roost_pd_alloc(e->ctx, &e->pd);
	if (ret == 0)
		ret = roost_cq_create(e->ctx, 1, NULL, NULL, &e->cq);
	init.send_cq = init.recv_cq = e->cq;
	return ret ? ret : roost_qp_create(e->ctx, e->pd, &init, &e->qp);
}

/* The event ends the call. */
static void end_with(struct call *c, enum roost_probe_cm answer, int status)
{
	c->answer = answer;
	c->status = status;
	c->done = true;
}

static void on_event(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	struct call *c = arg;

	(void)conn;
	pthread_mutex_lock(&c->lock);
	if (event->type == ROOST_CM_ADDR_RESOLVED)
		c->resolved = true;
	else if (event->type == ROOST_CM_ADDR_ERROR)
		end_with(c, ROOST_PROBE_CM_FAILED, event->status);
	else if (event->type == ROOST_CM_REJ_RECEIVED)
		end_with(c, ROOST_PROBE_CM_REFUSED, event->status);
	else if (event->type == ROOST_CM_REP_RECEIVED)
		end_with(c, ROOST_PROBE_CM_ACCEPTED, 0);
	else if (event->type == ROOST_CM_REQ_ERROR)
		end_with(c, ROOST_PROBE_CM_SILENT, event->status);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Until that, or the end of the call. */
static bool wait_until(struct call *c, const bool *what)
{
	struct timespec until;
	int ret = 0;
	bool is;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&c->lock);
	while (!*what && !c->done && ret == 0)
		ret = pthread_cond_timedwait(&c->changed, &c->lock, &until);
	is = *what;
	pthread_mutex_unlock(&c->lock);
	return is;
}

static int request(struct roost_cm_conn *conn, struct call *c,
		   const struct end *end, uint64_t *ns)
{
	struct roost_cm_req_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_IB, SERVICE),
		.qpn = roost_qp_num(end->qp),
		.starting_psn = PSN,
		.remote_cm_response_timeout = ANSWER_TIME,
		.local_cm_response_timeout = ANSWER_TIME,
		.max_cm_retries = TRIES,
	};
	const uint64_t begun_ns = roost_now_ns();
	int ret;

	roost_cm_conn_path(conn, &param.path);
	param.path.packet_lifetime = LIFETIME;
	ret = roost_cm_connect(conn, &param);
	if (ret == 0)
		wait_until(c, &c->done);
	*ns = roost_now_ns() - begun_ns;
	return ret;
}

static int call(struct roost_cm *cm, struct call *c, const struct end *end,
		const struct roost_gid *sgid, const struct roost_gid *dgid,
		uint64_t *ns)
{
	struct roost_cm_conn *conn;
	int ret = roost_cm_conn_create(cm, on_event, c, &conn);

	if (ret)
		return ret;
	ret = roost_cm_resolve(conn, sgid, dgid, RESOLVE_MS);
	if (ret == 0 && wait_until(c, &c->resolved))
		ret = request(conn, c, end, ns);
	/* If it was accepted, this rejects it. */
	roost_cm_conn_destroy(conn);
	return ret;
}

void roost_probe_call(struct roost_dev *dev, const struct roost_gid *sgid,
		      const struct roost_gid *dgid,
		      struct roost_probe_facts *facts)
{
	struct call c = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.answer = ROOST_PROBE_CM_SILENT,
	};
	struct end end = { NULL, NULL, NULL, NULL };
	struct roost_cm *cm;
	int ret = open_end(dev, &end);

	if (ret == 0)
		ret = roost_cm_get(dev, &cm);
	if (ret == 0) {
		ret = call(cm, &c, &end, sgid, dgid, &facts->cm_ns);
		roost_cm_put(cm);
	}
	close_end(&end);
	facts->cm = ret ? ROOST_PROBE_CM_FAILED : c.answer;
	facts->cm_status = ret ? ret : c.status;
}
