/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * XRC domains by one file in two processes. Each has its own, and messages go
 * from one process to the SRQ of the other by the other's target; what would
 * take one domain of both is refused.
 *
 * usage: xrc_domain FILE
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define TEXT "by an XRC target"

/* What the other process needs to send here. */
struct facts {
	uint32_t ini, tgt, srqn;
	union ibv_gid gid;
};

static struct {
	int peer, fd;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *ini, *tgt;
	struct ibv_mr *mr;
	char buf[4096];
} me;

/* Both processes are here; facts, if there are some, cross over. */
static struct facts meet(const struct facts *facts)
{
	struct facts theirs = { 0 };

	if (facts)
		theirs = *facts;
	user_check(write(me.peer, &theirs, sizeof(theirs)) == sizeof(theirs) &&
			   read(me.peer, &theirs, sizeof(theirs)) ==
				   sizeof(theirs),
		   "the other process");
	return theirs;
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	me.context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	user_check(me.context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	me.pd = ibv_alloc_pd(me.context);
	me.cq = ibv_create_cq(me.context, 16, NULL, NULL, 0);
	me.mr = ibv_reg_mr(me.pd, me.buf, sizeof(me.buf),
			   IBV_ACCESS_LOCAL_WRITE);
	user_check(me.pd && me.cq && me.mr, "PD, CQ, MR");
}

static struct ibv_xrcd *open_domain(int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = me.fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(me.context, &attr);
}

static void refused(int oflags, int error, const char *what)
{
	errno = 0;
	user_check(!open_domain(oflags) && errno == error, what);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	bool target = type == IBV_QPT_XRC_RECV;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask =
			target ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = target ? NULL : me.pd,
		.xrcd = target ? me.xrcd : NULL,
		.send_cq = target ? NULL : me.cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(me.context, &attr);

	user_check(qp && user_to_init(qp, 0) == 0, "XRC QP");
	return qp;
}

static void make_ends(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = me.pd,
		.xrcd = me.xrcd,
		.cq = me.cq,
	};
	struct ibv_sge into = { (uintptr_t)me.buf, 64, me.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &into, .num_sge = 1 };

	me.srq = ibv_create_srq_ex(me.context, &attr);
	user_check(me.srq && ibv_post_srq_recv(me.srq, &wr, &bad) == 0, "SRQ");
	me.ini = make_qp(IBV_QPT_XRC_SEND);
	me.tgt = make_qp(IBV_QPT_XRC_RECV);
}

static struct facts exchange(void)
{
	struct facts mine = { .ini = me.ini->qp_num, .tgt = me.tgt->qp_num };
	struct facts theirs;

	user_check(!ibv_get_srq_num(me.srq, &mine.srqn) &&
			   !ibv_query_gid(me.context, 1, 1, &mine.gid),
		   "numbers");
	theirs = meet(&mine);
	user_connect_to(me.ini, &theirs.gid, theirs.tgt);
	user_connect_to(me.tgt, &theirs.gid, theirs.ini);
	meet(NULL);
	return theirs;
}

static struct ibv_wc completion(void)
{
	struct timespec began, now;
	struct ibv_wc wc;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (ibv_poll_cq(me.cq, 1, &wc) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		user_check(now.tv_sec - began.tv_sec < 10, "no completion");
	}
	return wc;
}

static void post(uint32_t srqn)
{
	char *text = me.buf + 2048;
	struct ibv_sge from = { (uintptr_t)text, sizeof(TEXT), me.mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &from,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.qp_type.xrc.remote_srqn = srqn };

	memcpy(text, TEXT, sizeof(TEXT));
	user_check(ibv_post_send(me.ini, &wr, &bad) == 0, "ibv_post_send");
}

/* Each sends to the SRQ of the other, by the other's target. */
static void messages(uint32_t srqn)
{
	post(srqn);
	for (int i = 0; i < 2; i++)
		user_check(completion().status == IBV_WC_SUCCESS, "message");
	user_check(memcmp(me.buf, TEXT, sizeof(TEXT)) == 0, "data");
	meet(NULL);
}

/* The SRQ is of this process, the target that it is named to of the other. */
static void wrong_process(void)
{
	uint32_t srqn;

	user_check(ibv_get_srq_num(me.srq, &srqn) == 0, "ibv_get_srq_num");
	post(srqn);
	user_check(completion().status == IBV_WC_REM_INV_REQ_ERR,
		   "the SRQ of another process than the target's");
}

static void open_target(uint32_t number)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = number,
		.xrcd = me.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	user_check(!ibv_open_qp(me.context, &attr) && errno == EOPNOTSUPP,
		   "the target of another process");
}

static void close_all(void)
{
	user_check(!ibv_destroy_qp(me.ini) && !ibv_destroy_qp(me.tgt) &&
			   !ibv_destroy_srq(me.srq) && !ibv_close_xrcd(me.xrcd),
		   "destroy");
}

static void first(void)
{
	open_device();
	refused(0, EAGAIN, "no domain yet");
	me.xrcd = open_domain(O_CREAT | O_EXCL);
	user_check(me.xrcd != NULL, "the first domain");
	meet(NULL); /* it has one */
	meet(NULL); /* the other has one, too */
	make_ends();
	messages(exchange().srqn);
	meet(NULL); /* the other has tried what does not work */
	close_all();
	meet(NULL); /* it has none */
}

static void second(void)
{
	struct facts theirs;

	open_device();
	meet(NULL);
	refused(0, EOPNOTSUPP, "the domain of another process");
	refused(O_CREAT | O_EXCL, EINVAL, "the only domain");
	me.xrcd = open_domain(O_CREAT);
	user_check(me.xrcd != NULL, "a domain of its own");
	meet(NULL);
	make_ends();
	theirs = exchange();
	messages(theirs.srqn);
	open_target(theirs.tgt);
	wrong_process();
	meet(NULL);
	close_all();
	meet(NULL);
	refused(0, EAGAIN, "no domain any more");
	me.xrcd = open_domain(O_CREAT | O_EXCL);
	user_check(me.xrcd && ibv_close_xrcd(me.xrcd) == 0, "the only one");
}

int main(int argc, char **argv)
{
	int ends[2], status;
	pid_t pid;

	user_check(argc == 2, "usage: xrc_domain FILE");
	user_check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0,
		   "socketpair");
	pid = fork();
	me.peer = ends[pid == 0];
	close(ends[pid != 0]);
	me.fd = open(argv[1], O_RDONLY | O_CREAT, 0600);
	user_check(me.fd >= 0, argv[1]);
	if (pid == 0) {
		second();
		return 0;
	}
	first();
	user_check(waitpid(pid, &status, 0) == pid && status == 0, "child");
	return 0;
}
