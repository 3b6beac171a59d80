/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The verbs half of the fake device. */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "fake.h"

#define NB_QPS 256
#define FIRST_QPN 17u
#define WC_RING 16384

struct wr {
	STAILQ_ENTRY(wr) link;
	struct ibv_send_wr send;
	struct ibv_recv_wr recv;
	struct ibv_sge sges[4];
	uint8_t data[FAKE_INLINE];
};
STAILQ_HEAD(wrs, wr);

struct qp {
	struct ibv_qp ibv;
	struct qp *peer; /* RC */
	bool error;
	bool cut;
	struct wrs sq;
	struct wrs rq;
};

struct cq {
	struct ibv_cq ibv;
	struct ibv_wc ring[WC_RING];
	unsigned int head;
	unsigned int nb;
	bool armed;
	unsigned int nb_events; /* reported, not acked */
};

struct mr {
	LIST_ENTRY(mr) link;
	struct ibv_mr ibv;
	int access;
};

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *send,
		     struct ibv_send_wr **bad);
static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *recv,
		     struct ibv_recv_wr **bad);
static int poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wcs);
static int req_notify_cq(struct ibv_cq *ibv, int solicited);

static struct ibv_device device;
static struct ibv_context context = {
	.device = &device,
	.ops.post_send = post_send,
	.ops.post_recv = post_recv,
	.ops.poll_cq = poll_cq,
	.ops.req_notify_cq = req_notify_cq,
};
static struct ibv_pd pd = { .context = &context };
static struct qp *qps[NB_QPS];
static LIST_HEAD(, mr) mrs;
static struct fake_count counts;
static unsigned int posted[32];

static void make_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
}

static void make_lock_once(void)
{
	make_lock();
	/* A fork finds the device at rest; its lock knows threads, and the
	 * child's is another one.
	 */
	pthread_atfork(fake_lock, fake_unlock, make_lock);
}

void fake_lock(void)
{
	pthread_once(&once, make_lock_once);
	pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct ibv_pd *fake_pd(void)
{
	return &pd;
}

struct fake_count *fake_counts(void)
{
	return &counts;
}

struct fake_count fake_count(void)
{
	struct fake_count copy;

	fake_lock();
	copy = counts;
	fake_unlock();
	return copy;
}

unsigned int fake_posted(enum ibv_wr_opcode opcode)
{
	unsigned int nb;

	fake_lock();
	nb = posted[opcode];
	posted[opcode] = 0;
	fake_unlock();
	return nb;
}

static void complete(struct ibv_cq *ibv, struct ibv_wc wc)
{
	struct cq *cq = (struct cq *)ibv;

	assert(cq->nb < (unsigned int)cq->ibv.cqe);
	cq->ring[(cq->head + cq->nb++) % WC_RING] = wc;
	if (cq->armed) {
		cq->armed = false;
		eventfd_write(cq->ibv.channel->fd, 1);
	}
}

/* The memory behind a key; NULL: it may not be touched so. */
static void *memory(uint64_t addr, uint32_t length, uint32_t key, int access)
{
	struct mr *mr;

	LIST_FOREACH(mr, &mrs, link) {
		if (mr->ibv.lkey == key && (mr->access & access) == access &&
		    addr >= (uintptr_t)mr->ibv.addr &&
		    addr + length <= (uintptr_t)mr->ibv.addr + mr->ibv.length)
			return (void *)(uintptr_t)addr;
	}
	return NULL;
}

void fake_qp_error(struct ibv_qp *ibv)
{
	struct qp *qp = (struct qp *)ibv;
	struct wr *wr;

	fake_lock();
	qp->error = true;
	while ((wr = STAILQ_FIRST(&qp->sq)) != NULL) {
		STAILQ_REMOVE_HEAD(&qp->sq, link);
		complete(ibv->send_cq,
			 (struct ibv_wc){ .wr_id = wr->send.wr_id,
					  .status = IBV_WC_WR_FLUSH_ERR });
		free(wr);
	}
	while ((wr = STAILQ_FIRST(&qp->rq)) != NULL) {
		STAILQ_REMOVE_HEAD(&qp->rq, link);
		complete(ibv->recv_cq,
			 (struct ibv_wc){ .wr_id = wr->recv.wr_id,
					  .status = IBV_WC_WR_FLUSH_ERR });
		free(wr);
	}
	fake_unlock();
}

static uint32_t gather(const struct wr *wr, uint8_t *out)
{
	uint32_t bytes = 0;

	for (int i = 0; i < wr->send.num_sge; i++) {
		const struct ibv_sge *sge = &wr->sges[i];
		const void *from = (void *)(uintptr_t)sge->addr;

		if (!(wr->send.send_flags & IBV_SEND_INLINE))
			from = memory(sge->addr, sge->length, sge->lkey, 0);
		assert(from != NULL);
		memcpy(out + bytes, from, sge->length);
		bytes += sge->length;
	}
	return bytes;
}

static enum ibv_wc_status write_rc(struct qp *qp, const struct wr *wr)
{
	static uint8_t data[1 << 20];
	const uint32_t bytes = gather(wr, data);
	struct wr *recv;
	void *to;

	if (qp->cut || qp->peer == NULL || qp->peer->error)
		return IBV_WC_RETRY_EXC_ERR;
	if (bytes > 0) {
		to = memory(wr->send.wr.rdma.remote_addr, bytes,
			    wr->send.wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE);
		if (to == NULL) {
			fake_qp_error(&qp->peer->ibv);
			return IBV_WC_REM_ACCESS_ERR;
		}
		memcpy(to, data, bytes);
	}
	if (wr->send.opcode == IBV_WR_RDMA_WRITE)
		return IBV_WC_SUCCESS;
	recv = STAILQ_FIRST(&qp->peer->rq);
	STAILQ_REMOVE_HEAD(&qp->peer->rq, link);
	complete(qp->peer->ibv.recv_cq,
		 (struct ibv_wc){ .wr_id = recv->recv.wr_id,
				  .wc_flags = IBV_WC_WITH_IMM,
				  .imm_data = wr->send.imm_data,
				  .byte_len = bytes });
	free(recv);
	return IBV_WC_SUCCESS;
}

static bool is_lying;

void fake_lie(bool lies)
{
	is_lying = lies;
}

/* A GRH as a peer with the header's address would give, or one that lies. */
static void put_grh(uint8_t *grh, const uint8_t *message)
{
	memset(grh, 0, 40);
	if (message[0] == 4) {
		grh[20] = 0x45;
		memcpy(grh + 32, message + 4, 4);
	} else {
		grh[0] = 0x60;
		memcpy(grh + 8, message + 8, 16);
	}
	if (is_lying)
		grh[message[0] == 4 ? 35 : 23] ^= 1;
}

static void send_ud(struct qp *qp, const struct wr *wr)
{
	const uint32_t index = wr->send.wr.ud.remote_qpn - FIRST_QPN;
	struct qp *peer = index < NB_QPS ? qps[index] : NULL;
	static uint8_t data[8192];
	const uint32_t bytes = gather(wr, data);
	struct wr *recv;
	uint8_t *to;

	assert(wr->send.wr.ud.ah != NULL);
	assert(wr->send.wr.ud.remote_qkey == RDMA_UDP_QKEY);
	recv = peer != NULL ? STAILQ_FIRST(&peer->rq) : NULL;
	if (recv == NULL)
		return;
	STAILQ_REMOVE_HEAD(&peer->rq, link);
	to = memory(recv->sges[0].addr, bytes + 40, recv->sges[0].lkey, 0);
	assert(to != NULL && recv->sges[0].length >= bytes + 40);
	put_grh(to, data);
	memcpy(to + 40, data, bytes);
	complete(peer->ibv.recv_cq, (struct ibv_wc){ .wr_id = recv->recv.wr_id,
						     .wc_flags = IBV_WC_GRH,
						     .src_qp = qp->ibv.qp_num,
						     .byte_len = bytes + 40 });
	free(recv);
}

/* Executes what can be executed. */
static void pump(struct qp *qp)
{
	struct wr *wr;

	while ((wr = STAILQ_FIRST(&qp->sq)) != NULL) {
		enum ibv_wc_status status = IBV_WC_SUCCESS;

		if (qp->ibv.qp_type == IBV_QPT_UD) {
			send_ud(qp, wr);
		} else {
			if (wr->send.opcode == IBV_WR_RDMA_WRITE_WITH_IMM &&
			    !qp->cut && qp->peer != NULL && !qp->peer->error &&
			    STAILQ_EMPTY(&qp->peer->rq))
				return;
			status = write_rc(qp, wr);
		}
		STAILQ_REMOVE_HEAD(&qp->sq, link);
		complete(qp->ibv.send_cq,
			 (struct ibv_wc){ .wr_id = wr->send.wr_id,
					  .status = status });
		free(wr);
		if (status != IBV_WC_SUCCESS) {
			fake_qp_error(&qp->ibv);
			return;
		}
	}
}

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *send,
		     struct ibv_send_wr **bad)
{
	struct qp *qp = (struct qp *)ibv;
	struct wr *wr = calloc(1, sizeof(*wr));
	uint32_t at = 0;

	(void)bad;
	fake_lock();
	posted[send->opcode]++;
	wr->send = *send;
	for (int i = 0; i < send->num_sge; i++)
		wr->sges[i] = send->sg_list[i];
	for (int i = 0;
	     (send->send_flags & IBV_SEND_INLINE) && i < send->num_sge; i++) {
		struct ibv_sge *sge = &wr->sges[i];

		assert(at + sge->length <= FAKE_INLINE);
		memcpy(wr->data + at, (void *)(uintptr_t)sge->addr,
		       sge->length);
		sge->addr = (uintptr_t)(wr->data + at);
		at += sge->length;
	}
	STAILQ_INSERT_TAIL(&qp->sq, wr, link);
	if (qp->error)
		fake_qp_error(ibv);
	else
		pump(qp);
	fake_unlock();
	return 0;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *recv,
		     struct ibv_recv_wr **bad)
{
	struct qp *qp = (struct qp *)ibv;
	struct wr *wr = calloc(1, sizeof(*wr));

	(void)bad;
	fake_lock();
	wr->recv = *recv;
	for (int i = 0; i < recv->num_sge; i++)
		wr->sges[i] = recv->sg_list[i];
	STAILQ_INSERT_TAIL(&qp->rq, wr, link);
	if (qp->error)
		fake_qp_error(ibv);
	else if (qp->peer != NULL)
		pump(qp->peer);
	fake_unlock();
	return 0;
}

static int poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wcs)
{
	struct cq *cq = (struct cq *)ibv;
	int nb = 0;

	fake_lock();
	for (; nb < max && cq->nb > 0; nb++, cq->nb--) {
		wcs[nb] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % WC_RING;
	}
	fake_unlock();
	return nb;
}

static int req_notify_cq(struct ibv_cq *ibv, int solicited)
{
	(void)solicited;
	fake_lock();
	((struct cq *)ibv)->armed = true;
	fake_unlock();
	return 0;
}

struct ibv_context *fake_context(void)
{
	return &context;
}

struct ibv_qp *fake_qp_create(struct ibv_qp_init_attr *attr)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	for (unsigned int i = 0; i < NB_QPS; i++) {
		if (qps[i] != NULL)
			continue;
		qps[i] = qp;
		qp->ibv.qp_num = FIRST_QPN + i;
		break;
	}
	assert(qp->ibv.qp_num != 0);
	qp->ibv.context = fake_context();
	qp->ibv.pd = &pd;
	qp->ibv.send_cq = attr->send_cq;
	qp->ibv.recv_cq = attr->recv_cq;
	qp->ibv.qp_type = attr->qp_type;
	STAILQ_INIT(&qp->sq);
	STAILQ_INIT(&qp->rq);
	attr->cap.max_inline_data = FAKE_INLINE;
	counts.qps++;
	return &qp->ibv;
}

void fake_qp_destroy(struct ibv_qp *ibv)
{
	struct qp *qp = (struct qp *)ibv;

	fake_qp_error(ibv);
	qps[ibv->qp_num - FIRST_QPN] = NULL;
	if (qp->peer != NULL)
		qp->peer->peer = NULL;
	free(qp);
	counts.qps--;
}

void fake_qp_join(struct ibv_qp *a, struct ibv_qp *b)
{
	((struct qp *)a)->peer = (struct qp *)b;
	((struct qp *)b)->peer = (struct qp *)a;
}

void fake_cut(void)
{
	fake_lock();
	for (unsigned int i = 0; i < NB_QPS; i++) {
		if (qps[i] != NULL)
			qps[i]->cut = true;
	}
	fake_unlock();
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)ctx;
	memset(attr, 0, sizeof(*attr));
	attr->max_qp_wr = FAKE_MAX_WR;
	attr->max_cqe = 2 * FAKE_MAX_WR;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t port,
		   struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (void *)compat;

	(void)ctx;
	(void)port;
	attr->active_mtu = IBV_MTU_4096;
	return 0;
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index,
		  union ibv_gid *gid)
{
	(void)ctx;
	(void)port;
	if (index > 3)
		return -1;
	memset(gid, 0, sizeof(*gid));
	gid->raw[15] = (uint8_t)index;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->context = ctx;
	channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	counts.channels++;
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	fake_lock();
	counts.channels--;
	fake_unlock();
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *arg,
			     struct ibv_comp_channel *channel, int vector)
{
	struct cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->ibv.context = ctx;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = arg;
	cq->ibv.cqe = cqe;
	/* One CQ per channel is all that rsockets need. */
	channel->refcnt = 0;
	channel->context = (struct ibv_context *)(void *)cq;
	fake_lock();
	counts.cqs++;
	fake_unlock();
	return &cq->ibv;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct cq *cq = (struct cq *)ibv;

	assert(cq->nb_events == 0);
	free(cq);
	fake_lock();
	counts.cqs--;
	fake_unlock();
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **cq_context)
{
	eventfd_t value;

	if (eventfd_read(channel->fd, &value) != 0)
		return -1;
	*cq = (struct ibv_cq *)(void *)channel->context;
	*cq_context = (*cq)->cq_context;
	fake_lock();
	((struct cq *)*cq)->nb_events++;
	fake_unlock();
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nb)
{
	fake_lock();
	((struct cq *)cq)->nb_events -= nb;
	fake_unlock();
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *of, void *addr, size_t length,
			  int access)
{
	static uint32_t next_key = 0x1000;
	struct mr *mr = calloc(1, sizeof(*mr));

	fake_lock();
	mr->ibv.pd = of;
	mr->ibv.context = of->context;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.lkey = mr->ibv.rkey = next_key++;
	mr->access = access;
	LIST_INSERT_HEAD(&mrs, mr, link);
	counts.mrs++;
	fake_unlock();
	return &mr->ibv;
}

/* Not called; named by verbs.h where nothing is optimised away (-O0). */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *of, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(of, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct mr *mr =
		(struct mr *)((uint8_t *)ibv - offsetof(struct mr, ibv));

	fake_lock();
	LIST_REMOVE(mr, link);
	counts.mrs--;
	fake_unlock();
	free(mr);
	return 0;
}
