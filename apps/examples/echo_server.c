/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "echo_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <roost/cm.h>
#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>

#define MSG_MAX_BYTES 4096u
#define SLOTS 16u /* messages of one connection at a time */
#define PEERS_MAX 64u
#define CQ_ENTRIES (PEERS_MAX * 2 * SLOTS)
#define POLL_CQES 32u
#define MAX_RD_ATOMIC 16u
#define PSN_MASK 0xffffffu

struct slot {
	struct peer *peer;
	uint8_t bytes[MSG_MAX_BYTES];
};

/* One connection. Owner: the connection's callback. */
struct peer {
	struct roost_qp *qp;
	struct roost_mr *mr; /* slots */
	struct slot slots[SLOTS];
};

static struct {
	pthread_mutex_t lock; /* QPs against completions; the next two */
	unsigned int nb_peers;
	unsigned int nb_ended;
	void (*ended)(void);
	struct roost_cm *cm;
	struct roost_cm_listener *listener;
	struct roost_ctx *ctx;
	struct roost_cq *cq;
	struct roost_pd *pd;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- messages ----------------------------------------------------------- */

static struct roost_sge sge_of(const struct slot *slot, uint32_t len_bytes)
{
	return (struct roost_sge){
		.addr = (uintptr_t)slot->bytes,
		.len_bytes = len_bytes,
		.lkey = roost_mr_lkey(slot->peer->mr),
	};
}

static int post_recv(struct slot *slot)
{
	const struct roost_sge sge = sge_of(slot, MSG_MAX_BYTES);
	const struct roost_recv_wr wr = {
		.wr_id = (uintptr_t)slot,
		.sges = &sge,
		.nb_sges = 1,
	};
	struct roost_qp *qp = slot->peer->qp;
	int ret;

	roost_qp_recv_begin(qp);
	ret = roost_qp_recv_add(qp, &wr);
	roost_qp_recv_end(qp);
	return ret;
}

static int post_send(struct slot *slot, uint32_t len_bytes)
{
	const struct roost_sge sge = sge_of(slot, len_bytes);
	const struct roost_send_wr wr = {
		.wr_id = (uintptr_t)slot,
		.sges = &sge,
		.nb_sges = 1,
		.opcode = ROOST_WR_SEND,
		.flags = ROOST_SEND_SIGNALED,
	};
	struct roost_qp *qp = slot->peer->qp;
	int ret;

	roost_qp_send_begin(qp);
	ret = roost_qp_send_add(qp, &wr);
	roost_qp_send_end(qp);
	return ret;
}

/* Take a completion. A received message is sent back; after a send the slot
 * receives again. A QP in state ERR flushes its requests; the CM reports the
 * end of its connection.
 */
static void take(const struct roost_cqe *cqe)
{
	struct slot *slot = (struct slot *)(uintptr_t)cqe->wr_id;

	if (cqe->status != ROOST_WC_SUCCESS)
		return;
	if (cqe->opcode == ROOST_WC_RECV)
		post_send(slot, cqe->byte_len);
	else
		post_recv(slot);
}

/* ---- connections -------------------------------------------------------- */

/* Destroy the parts that were created. The CQ then has no completion of the QP.
 */
static void destroy_peer(struct peer *peer)
{
	pthread_mutex_lock(&server.lock);
	if (peer->qp)
		roost_qp_destroy(peer->qp, NULL);
	if (peer->mr)
		roost_mr_dereg(peer->mr);
	server.nb_peers--;
	server.nb_ended++;
	pthread_mutex_unlock(&server.lock);
	free(peer);
	if (server.ended)
		server.ended();
}

static int move_qp(struct peer *peer, struct roost_cm_conn *conn,
		   enum roost_qp_state to, const struct roost_cm_rep_param *rep)
{
	struct roost_qp_attr attr;
	uint32_t mask;
	int ret = roost_cm_conn_qp_attr(conn, to, &attr, &mask);

	/* Before roost_cm_accept() the server sets these values. */
	attr.rq_psn = rep->starting_psn;
	attr.max_dest_rd_atomic = rep->responder_resources;
	attr.max_rd_atomic = rep->initiator_depth;
	return ret != 0 ? ret : roost_qp_modify(peer->qp, &attr, mask);
}

/* Make the QP ready to receive before the CM replies to the client. */
static int make_qp(struct peer *peer, struct roost_cm_conn *conn,
		   struct roost_cm_rep_param *rep)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RC,
		.send_cq = server.cq,
		.recv_cq = server.cq,
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int ret = roost_mr_reg(server.pd, peer->slots, sizeof(peer->slots),
			       (uintptr_t)peer->slots, ROOST_ACCESS_LOCAL_WRITE,
			       &peer->mr);

	if (ret == 0)
		ret = roost_qp_create(server.ctx, server.pd, &init, &peer->qp);
	if (ret == 0)
		ret = move_qp(peer, conn, ROOST_QPS_INIT, rep);
	for (unsigned int i = 0; ret == 0 && i < SLOTS; i++) {
		peer->slots[i].peer = peer;
		ret = post_recv(&peer->slots[i]);
	}
	if (ret == 0)
		ret = move_qp(peer, conn, ROOST_QPS_RTR, rep);
	if (ret == 0)
		ret = move_qp(peer, conn, ROOST_QPS_RTS, rep);
	if (ret == 0)
		rep->qpn = roost_qp_num(peer->qp);
	return ret;
}

static void on_peer(void *arg, struct roost_cm_conn *conn,
		    const struct roost_cm_event *event)
{
	struct peer *peer = arg;

	switch ((int)event->type) {
	case ROOST_CM_DREQ_RECEIVED:
		roost_cm_disconnect(conn, NULL, 0);
		break;
	case ROOST_CM_REP_ERROR:
	case ROOST_CM_REJ_RECEIVED:
		break;
	default:
		return;
	}
	/* The CM keeps the state for timewait. */
	roost_cm_conn_destroy(conn);
	destroy_peer(peer);
}

/* Returns NULL: the CQ has no room for another connection, or no memory. */
static struct peer *new_peer(void)
{
	struct peer *peer = NULL;

	pthread_mutex_lock(&server.lock);
	if (server.nb_peers < PEERS_MAX)
		peer = calloc(1, sizeof(*peer));
	if (peer)
		server.nb_peers++;
	pthread_mutex_unlock(&server.lock);
	return peer;
}

static uint8_t at_most(uint8_t value, uint8_t max)
{
	return value < max ? value : max;
}

/*
 * The PSN that the client's first packet has. Random, as the initial sequence
 * number of TCP is (RFC 9293, 3.4.1; RFC 6528): a packet of an earlier
 * connection that is late, or that somebody forges without seeing the traffic,
 * then hardly ever has a PSN that the new connection expects.
 */
static int draw_psn(uint32_t *psn)
{
	if (getrandom(psn, sizeof(*psn), 0) != sizeof(*psn))
		return -errno;
	*psn &= PSN_MASK;
	return 0;
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	struct roost_cm_rep_param rep = {
		.responder_resources =
			at_most(event->peer.responder_resources, MAX_RD_ATOMIC),
		.initiator_depth =
			at_most(event->peer.initiator_depth, MAX_RD_ATOMIC),
		.rnr_retry_count = 7,
		.failover_accepted = 1,
	};
	struct peer *peer = new_peer();
	int ret = !peer ? -ENOMEM : draw_psn(&rep.starting_psn);

	(void)arg;
	if (ret == 0) {
		roost_cm_conn_set_owner(conn, on_peer, peer);
		ret = make_qp(peer, conn, &rep);
	}
	roost_cm_conn_fetched(conn);
	if (ret == 0)
		ret = roost_cm_accept(conn, &rep);
	if (ret == 0)
		return;
	/* Rejects the request. */
	roost_cm_conn_destroy(conn);
	if (peer)
		destroy_peer(peer);
}

/* ---- API ---------------------------------------------------------------- */

int echo_start(struct roost_dev *dev, uint16_t service,
	       struct roost_channel *channel, void (*ended)(void))
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, service),
	};
	int ret = roost_cm_get(dev, &server.cm);

	server.ended = ended;
	if (ret == 0)
		ret = roost_ctx_open(dev, &server.ctx);
	if (ret == 0)
		ret = roost_pd_alloc(server.ctx, &server.pd);
	if (ret == 0)
		ret = roost_cq_create(server.ctx, CQ_ENTRIES, channel, NULL,
				      &server.cq);
	if (ret == 0)
		ret = roost_cm_listen(server.cm, &param, on_request, NULL,
				      &server.listener);
	return ret;
}

int echo_stop(void)
{
	int ret;

	roost_cm_listener_destroy(server.listener);
	roost_cm_put(server.cm);
	ret = roost_cq_destroy(server.cq, NULL, NULL);
	if (ret == 0)
		ret = roost_pd_dealloc(server.pd);
	if (ret == 0)
		ret = roost_ctx_close(server.ctx);
	return ret;
}

struct roost_cq *echo_cq(void)
{
	return server.cq;
}

int echo_poll(void)
{
	struct roost_cqe cqes[POLL_CQES];
	int n;

	pthread_mutex_lock(&server.lock);
	n = roost_cq_poll(server.cq, POLL_CQES, cqes);
	for (int i = 0; i < n; i++)
		take(&cqes[i]);
	pthread_mutex_unlock(&server.lock);
	return n;
}

unsigned int echo_nb_ended(void)
{
	unsigned int nb;

	pthread_mutex_lock(&server.lock);
	nb = server.nb_ended;
	pthread_mutex_unlock(&server.lock);
	return nb;
}
