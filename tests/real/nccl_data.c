/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Messages as NCCL's net plugin (net_ib) moves them, in both directions between
 * two processes. A receiver posts receives without memory, and WRITEs where a
 * message may go into a slot of the sender's memory, which the sender polls.
 * The sender WRITEs a part of the message by each of its QPs, and behind it
 * nothing with the length as immediate data. The receiver READs from itself by
 * a QP that is connected to itself (NCCL's flush), and then looks at the data.
 *
 * usage: nccl_data
 * Prints "N messages each way".
 */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/real/user.h"

#define QPS 2u
#define SLOTS 32u /* requests that NCCL has at most */
#define MESSAGES 1000u
#define BUFFER_BYTES (256u << 10)
#define PAGE_BYTES 4096u
#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING)

enum kind {
	SENT,
	RECEIVED,
	FLUSHED,
	SLOT_WRITTEN,
};

/* Where message idx - 1 may go. */
struct slot {
	uint64_t addr;
	uint32_t key;
	uint32_t len_bytes;
	uint64_t unused;
	_Atomic uint64_t idx; /* the last word; 0: none */
};

/* What a process tells the other one. */
struct peer {
	union ibv_gid gid;
	uint32_t send_qpn[QPS], recv_qpn[QPS];
	uint64_t slots;
	uint32_t slots_key;
};

/* One message, being sent or received. */
struct request {
	struct ibv_mr *mr;
	uint8_t *buf;
	unsigned int left;  /* completions that it waits for */
	uint32_t len_bytes; /* received: told by the sender */
	bool is_done;       /* and it may be used for the next message */
};

static struct {
	unsigned int rank;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *send_qp[QPS], *recv_qp[QPS], *flush_qp;
	struct ibv_mr *slots_mr, *flush_mr;
	struct peer peer;
	struct request sends[SLOTS], recvs[SLOTS];
	unsigned int nb_sent, nb_asked, nb_received;
} us;

static _Alignas(64) struct slot slots[SLOTS];
static uint32_t flushed;

static uint32_t length_of(unsigned int n)
{
	static const uint32_t lengths[] = { 1,     8192,  0,      100003,
					    65536, 4095,  17,     BUFFER_BYTES,
					    4096,  12345, 1 << 17 };

	return lengths[n % (sizeof(lengths) / sizeof(lengths[0]))];
}

static uint8_t byte_of(unsigned int rank, unsigned int n, uint32_t at)
{
	return (uint8_t)(n * 31 + at * 7 + (at >> 8) + rank * 101);
}

static uint64_t id_of(enum kind kind, unsigned int n)
{
	return (uint64_t)kind << 32 | n;
}

/* ---- objects --------------------------------------------------------------
 */

static struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = us.cq,
		.recv_cq = us.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = sizeof(struct slot) },
	};
	struct ibv_qp *qp = ibv_create_qp(us.pd, &init);

	user_check(qp != NULL, "ibv_create_qp");
	user_check(user_to_init(qp, IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ) == 0,
		   "INIT");
	return qp;
}

static void connect_qp(struct ibv_qp *qp, union ibv_gid gid, uint32_t qpn)
{
	const struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = gid, .hop_limit = 255 },
	};

	user_check(user_to_rtr(qp, qpn, &ah, 0) == 0, "RTR");
	user_check(user_to_rts(qp, 0) == 0, "RTS");
}

/* regMr */
static struct request make_request(void)
{
	struct request r = {
		.buf = aligned_alloc(PAGE_BYTES, BUFFER_BYTES),
		.is_done = true,
	};

	user_check(r.buf != NULL, "aligned_alloc");
	r.mr = ibv_reg_mr(us.pd, r.buf, BUFFER_BYTES, ACCESS);
	user_check(r.mr != NULL, "ibv_reg_mr");
	return r;
}

static void open_all(int fd)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct peer own = { .slots = (uintptr_t)slots };

	user_check(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	user_check(context != NULL, "ibv_open_device");
	us.pd = ibv_alloc_pd(context);
	us.cq = ibv_create_cq(context, 8 * SLOTS, NULL, NULL, 0);
	user_check(us.pd && us.cq, "PD and CQ");
	us.slots_mr = ibv_reg_mr(us.pd, slots, sizeof(slots), ACCESS);
	us.flush_mr = ibv_reg_mr(us.pd, &flushed, sizeof(flushed), ACCESS);
	user_check(us.slots_mr && us.flush_mr, "ibv_reg_mr");
	own.slots_key = us.slots_mr->rkey;
	user_check(ibv_query_gid(context, 1, 0, &own.gid) == 0, "GID");
	for (unsigned int i = 0; i < SLOTS; i++) {
		us.sends[i] = make_request();
		us.recvs[i] = make_request();
	}
	for (unsigned int i = 0; i < QPS; i++) {
		us.send_qp[i] = make_qp();
		us.recv_qp[i] = make_qp();
		own.send_qpn[i] = us.send_qp[i]->qp_num;
		own.recv_qpn[i] = us.recv_qp[i]->qp_num;
	}
	us.flush_qp = make_qp();
	connect_qp(us.flush_qp, own.gid, us.flush_qp->qp_num);
	user_check(write(fd, &own, sizeof(own)) == sizeof(own) &&
			   read(fd, &us.peer, sizeof(own)) == sizeof(own),
		   "the other process is gone");
	for (unsigned int i = 0; i < QPS; i++) {
		connect_qp(us.send_qp[i], us.peer.gid, us.peer.recv_qpn[i]);
		connect_qp(us.recv_qp[i], us.peer.gid, us.peer.send_qpn[i]);
	}
	ibv_free_device_list(list);
}

static void close_all(void)
{
	struct ibv_context *context = us.pd->context;

	for (unsigned int i = 0; i < QPS; i++)
		user_check(ibv_destroy_qp(us.send_qp[i]) == 0 &&
				   ibv_destroy_qp(us.recv_qp[i]) == 0,
			   "ibv_destroy_qp");
	user_check(ibv_destroy_qp(us.flush_qp) == 0, "ibv_destroy_qp");
	for (unsigned int i = 0; i < SLOTS; i++)
		user_check(ibv_dereg_mr(us.sends[i].mr) == 0 &&
				   ibv_dereg_mr(us.recvs[i].mr) == 0,
			   "ibv_dereg_mr");
	user_check(ibv_dereg_mr(us.slots_mr) == 0 &&
			   ibv_dereg_mr(us.flush_mr) == 0 &&
			   ibv_destroy_cq(us.cq) == 0 &&
			   ibv_dealloc_pd(us.pd) == 0 &&
			   ibv_close_device(context) == 0,
		   "an object stays");
}

/* ---- messages -------------------------------------------------------------
 */

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	user_check(ibv_post_send(qp, wr, &bad) == 0, "ibv_post_send");
}

static void irecv(unsigned int n)
{
	const unsigned int at = n % SLOTS;
	struct request *r = &us.recvs[at];
	struct slot slot = { .addr = (uintptr_t)r->buf,
			     .key = r->mr->rkey,
			     .len_bytes = BUFFER_BYTES,
			     .idx = n + 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)&slot,
			       .length = sizeof(slot) };
	struct ibv_recv_wr *bad, empty = { .wr_id = id_of(RECEIVED, n) };
	struct ibv_send_wr wr = {
		.wr_id = id_of(SLOT_WRITTEN, n),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.wr.rdma = { us.peer.slots + at * sizeof(slot),
			     us.peer.slots_key },
	};

	r->is_done = false;
	r->left = QPS;
	memset(r->buf, 0xee, BUFFER_BYTES);
	for (unsigned int i = 0; i < QPS; i++)
		user_check(ibv_post_recv(us.recv_qp[i], &empty, &bad) == 0,
			   "ibv_post_recv");
	if (at == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	post(us.recv_qp[0], &wr);
}

/* By all QPs; each of them tells the length. */
static void isend(unsigned int n, const struct slot *slot)
{
	struct request *r = &us.sends[n % SLOTS];
	uint32_t len = length_of(n), part = (len / QPS + 127) & ~127u;
	uint32_t done = 0;

	r->is_done = false;
	r->left = QPS;
	for (uint32_t i = 0; i < len; i++)
		r->buf[i] = byte_of(us.rank, n, i);
	for (unsigned int i = 0; i < QPS; i++) {
		uint32_t size = part < len - done ? part : len - done;
		struct ibv_sge sge = { .addr = (uintptr_t)r->buf + done,
				       .length = size,
				       .lkey = r->mr->lkey };
		struct ibv_send_wr last = {
			.wr_id = id_of(SENT, n),
			.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = IBV_SEND_SIGNALED,
			.imm_data = htonl(len),
		};
		struct ibv_send_wr data = {
			.next = &last,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma = { slot->addr + done, slot->key },
		};

		if (i == QPS - 1)
			sge.length = size = len - done;
		post(us.send_qp[i], size > 0 ? &data : &last);
		done += size;
	}
}

static void iflush(unsigned int n)
{
	const struct request *r = &us.recvs[n % SLOTS];
	struct ibv_sge sge = { .addr = (uintptr_t)&flushed,
			       .length = sizeof(flushed),
			       .lkey = us.flush_mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id_of(FLUSHED, n),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)r->buf, r->mr->rkey },
	};

	post(us.flush_qp, &wr);
}

static void look_at(unsigned int n)
{
	struct request *r = &us.recvs[n % SLOTS];

	user_check(r->len_bytes == length_of(n), "length of a message");
	for (uint32_t i = 0; i < BUFFER_BYTES; i++)
		user_check(r->buf[i] == (i < r->len_bytes
						 ? byte_of(!us.rank, n, i)
						 : 0xee),
			   "data of a message");
	r->is_done = true;
	us.nb_received++;
}

static void complete(const struct ibv_wc *wc)
{
	const unsigned int n = (uint32_t)wc->wr_id;
	struct request *r;

	user_check(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status));
	switch ((enum kind)(wc->wr_id >> 32)) {
	case SENT:
		r = &us.sends[n % SLOTS];
		r->is_done = --r->left == 0;
		break;
	case RECEIVED:
		r = &us.recvs[n % SLOTS];
		user_check(wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM,
			   "opcode of a completion");
		r->len_bytes = ntohl(wc->imm_data);
		if (--r->left == 0)
			iflush(n);
		break;
	case FLUSHED:
		look_at(n);
		break;
	case SLOT_WRITTEN:
		break;
	}
}

/* Is there room at the peer for the next message? */
static bool may_send(void)
{
	const struct slot *slot = &slots[us.nb_sent % SLOTS];

	return us.nb_sent < MESSAGES && us.sends[us.nb_sent % SLOTS].is_done &&
	       atomic_load_explicit(&slot->idx, memory_order_acquire) ==
		       us.nb_sent + 1;
}

static bool is_sent(void)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		if (!us.sends[i].is_done)
			return false;
	return us.nb_sent == MESSAGES;
}

static void play(unsigned int rank, int fd)
{
	struct ibv_wc wc[4];
	char byte = 0;
	int n;

	us.rank = rank;
	open_all(fd);
	while (us.nb_received < MESSAGES || !is_sent()) {
		if (us.nb_asked < MESSAGES &&
		    us.recvs[us.nb_asked % SLOTS].is_done)
			irecv(us.nb_asked++);
		if (may_send()) {
			isend(us.nb_sent, &slots[us.nb_sent % SLOTS]);
			us.nb_sent++;
		}
		n = ibv_poll_cq(us.cq, 4, wc);
		user_check(n >= 0, "ibv_poll_cq");
		for (int i = 0; i < n; i++)
			complete(&wc[i]);
	}
	user_check(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1,
		   "the other process is gone");
	close_all();
}

int main(void)
{
	int fds[2], status;
	pid_t child;

	user_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	child = fork();
	user_check(child >= 0, "fork");
	close(fds[child == 0]);
	play(child == 0, fds[child != 0]);
	if (child == 0)
		return 0;
	user_check(waitpid(child, &status, 0) == child && status == 0,
		   "the other process");
	printf("%u messages each way\n", MESSAGES);
	return 0;
}
