/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/bench/writes.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "tests/real/user.h"

#define POLLED 16
#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ)
/* The ports of a link are active when both are there. */
#define ACTIVE_TRIES 500u
#define ACTIVE_PAUSE_US 10000u

void writes_open(struct writes_end *end, struct ibv_device *device)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = WRITES_OUTSTANDING_MAX,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = WRITES_BYTES_MAX },
	};

	end->context = ibv_open_device(device);
	user_check(end->context, "ibv_open_device");
	end->pd = ibv_alloc_pd(end->context);
	user_check(end->pd, "ibv_alloc_pd");
	end->mr = ibv_reg_mr(end->pd, end->buf, sizeof(end->buf), ACCESS);
	user_check(end->mr, "ibv_reg_mr");
	end->cq = ibv_create_cq(end->context, (int)WRITES_OUTSTANDING_MAX, NULL,
				NULL, 0);
	user_check(end->cq, "ibv_create_cq");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	user_check(end->qp, "ibv_create_qp");
	user_check(ibv_query_gid(end->context, 1, 0, &end->gid) == 0,
		   "ibv_query_gid");
}

struct writes_peer writes_tell(const struct writes_end *end)
{
	return (struct writes_peer){
		.gid = end->gid,
		.addr = (uintptr_t)end->buf,
		.qpn = end->qp->qp_num,
		.rkey = end->mr->rkey,
	};
}

static void wait_until_active(struct writes_end *end)
{
	struct ibv_port_attr attr = { .state = IBV_PORT_DOWN };

	for (unsigned int i = 0; i < ACTIVE_TRIES; i++) {
		user_check(ibv_query_port(end->context, 1, &attr) == 0,
			   "ibv_query_port");
		if (attr.state == IBV_PORT_ACTIVE)
			return;
		usleep(ACTIVE_PAUSE_US);
	}
	user_check(false, "the port does not become active");
}

/* With 1 s for an answer, eight times: where twenty other programs run, the
 * peer may get no processor for half a second.
 */
static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

void writes_connect(struct writes_end *end, const struct writes_peer *peer)
{
	const struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = peer->gid, .hop_limit = 64 },
	};

	wait_until_active(end);
	user_check(user_to_init(end->qp, ACCESS) == 0, "to INIT");
	user_check(user_to_rtr(end->qp, peer->qpn, &ah, 0) == 0, "to RTR");
	user_check(to_rts(end->qp) == 0, "to RTS");
}

void writes_join(struct writes_end *end, int fd, struct writes_peer *peer)
{
	struct ibv_device **list;
	struct writes_peer own;
	char ready = 0;
	int nb;

	list = ibv_get_device_list(&nb);
	user_check(list && nb == 1, "not one device");
	writes_open(end, list[0]);
	ibv_free_device_list(list);
	own = writes_tell(end);
	user_check(write(fd, &own, sizeof(own)) == sizeof(own) &&
			   read(fd, peer, sizeof(*peer)) == sizeof(*peer),
		   "the other process is gone");
	writes_connect(end, peer);
	user_check(write(fd, &ready, 1) == 1 && read(fd, &ready, 1) == 1,
		   "the other process is gone");
}

void writes_check(const struct writes *writes)
{
	errno = EINVAL;
	user_check(writes->count > 0, "count");
	user_check(writes->bytes > 0 && writes->bytes <= WRITES_BYTES_MAX,
		   "bytes");
	user_check(writes->outstanding <= WRITES_OUTSTANDING_MAX,
		   "outstanding");
	user_check(writes->list > 0 && writes->list <= WRITES_LIST_MAX &&
			   writes->list < writes->outstanding,
		   "list");
	user_check(writes->signal_every > 0 &&
			   writes->signal_every + writes->list <=
				   writes->outstanding,
		   "signalled");
}

/* Posts the ones from number on, as one list. */
static void post(struct ibv_qp *qp, struct ibv_send_wr *wrs,
		 const struct writes *writes, unsigned long number,
		 unsigned int nb)
{
	struct ibv_send_wr *bad;

	for (unsigned int i = 0; i < nb; i++, number++) {
		bool signalled = (number + 1) % writes->signal_every == 0 ||
				 number == writes->count - 1;

		wrs[i].wr_id = number;
		wrs[i].send_flags =
			signalled ? IBV_SEND_INLINE | IBV_SEND_SIGNALED
				  : IBV_SEND_INLINE;
		wrs[i].next = i + 1 < nb ? &wrs[i + 1] : NULL;
	}
	user_check(ibv_post_send(qp, wrs, &bad) == 0, "ibv_post_send");
}

/* How many are complete, as far as the last signalled one says. */
static unsigned long poll_done(struct ibv_cq *cq, unsigned long done)
{
	struct ibv_wc wc[POLLED];
	int n = ibv_poll_cq(cq, POLLED, wc);

	user_check(n >= 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		user_check(wc[i].status == IBV_WC_SUCCESS,
			   ibv_wc_status_str(wc[i].status));
		done = wc[i].wr_id + 1;
	}
	return done;
}

void writes_run(struct writes_end *end, const struct writes_peer *peer,
		const struct writes *writes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buf,
			       .length = writes->bytes };
	struct ibv_send_wr wrs[WRITES_LIST_MAX];
	unsigned long posted = 0, done = 0;

	for (unsigned int i = 0; i < writes->list; i++)
		wrs[i] = (struct ibv_send_wr){
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { .remote_addr = peer->addr,
				     .rkey = peer->rkey },
		};
	while (done < writes->count) {
		while (posted < writes->count &&
		       posted - done + writes->list <= writes->outstanding) {
			unsigned long left = writes->count - posted;
			unsigned int nb = left < writes->list
						  ? (unsigned int)left
						  : writes->list;

			post(end->qp, wrs, writes, posted, nb);
			posted += nb;
		}
		if (writes->idle != NULL)
			writes->idle();
		done = poll_done(end->cq, done);
	}
}
