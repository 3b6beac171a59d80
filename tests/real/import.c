/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A device, a PD and regions that one process has and another one imports: the
 * parent registers shared and private memory, the child gets the parent's
 * cmd_fd and the handles. Peers use the keys of the parent at the child's QP.
 *
 * usage: import
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define BYTES (4u * 4096)
#define SKIP 4100u /* into the file: the region begins amid a page */
#define ACCESS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                    \
	 IBV_ACCESS_REMOTE_READ)

struct facts {
	uint32_t pd, shared, private, other; /* handles */
	uint32_t rkey, private_rkey;
	uint64_t addr, private_addr;
	uint32_t qpn;
	union ibv_gid gid;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int peer; /* the socket between the two */

static void tell(const struct facts *facts, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)facts, sizeof(*facts) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	user_check(sendmsg(peer, &msg, 0) == sizeof(*facts), "sendmsg");
}

static int hear(struct facts *facts)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { facts, sizeof(*facts) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	user_check(recvmsg(peer, &msg, 0) == sizeof(*facts), "recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void say(char c)
{
	user_check(write(peer, &c, 1) == 1, "write");
}

static void wait_for(char c)
{
	char got;

	user_check(read(peer, &got, 1) == 1 && got == c, "the other process");
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c =
		list && list[0] ? ibv_open_device(list[0]) : NULL;

	user_check(c != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	return c;
}

static void make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { 8, 8, 1, 1, 0 },
		.sq_sig_all = 1,
	};

	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	user_check(cq && qp && user_to_init(qp, ACCESS) == 0, "QP");
}

static enum ibv_wc_status completion(void)
{
	struct timespec began, now;
	struct ibv_wc wc;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (ibv_poll_cq(cq, 1, &wc) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		user_check(now.tv_sec - began.tv_sec < 10, "no completion");
	}
	return wc.status;
}

static enum ibv_wc_status request(enum ibv_wr_opcode opcode, struct ibv_sge sge,
				  uint64_t to, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { to, rkey },
	};

	user_check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	return completion();
}

/* ---- the process that has the objects ------------------------------------ */

static void *memory_of(int fd)
{
	void *at =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		     fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	user_check(at != MAP_FAILED, "mmap");
	return at;
}

static void parent(void)
{
	int fd = memfd_create("import", MFD_CLOEXEC);
	struct ibv_mr *shared, *private, *other;
	uint8_t *at, *mine = memory_of(-1);
	struct facts facts, theirs;
	struct ibv_pd *second;

	user_check(ftruncate(fd, BYTES) == 0, "memfd");
	at = memory_of(fd);
	at += SKIP;
	context = open_first();
	pd = ibv_alloc_pd(context);
	second = ibv_alloc_pd(context);
	shared = ibv_reg_mr(pd, at, 8192, ACCESS);
	other = ibv_reg_mr(second, at, 8192, ACCESS);
	private = ibv_reg_mr(pd, mine, BYTES, ACCESS);
	user_check(shared && other && private, "ibv_reg_mr");
	make_qp();
	facts = (struct facts){
		.pd = pd->handle,
		.shared = shared->handle,
		.private = private->handle,
		.other = other->handle,
		.rkey = shared->rkey,
		.private_rkey = private->rkey,
		.addr = (uintptr_t)at,
		.private_addr = (uintptr_t)mine,
		.qpn = qp->qp_num,
	};
	user_check(!ibv_query_gid(context, 1, 1, &facts.gid), "ibv_query_gid");
	tell(&facts, context->cmd_fd);
	close(hear(&theirs));
	user_connect_to(qp, &theirs.gid, theirs.qpn);
	/* the child's QP, this process's key */
	memcpy(mine, "from the parent", 16);
	user_check(
		request(IBV_WR_RDMA_WRITE,
			(struct ibv_sge){ (uintptr_t)mine, 16, private->lkey },
			(uintptr_t)at + 4090, shared->rkey) == IBV_WC_SUCCESS,
		"write to the child");
	user_check(memcmp(at + 4090, "from the parent", 16) == 0, "data");
	say('w');
	/* and the child's QP sends from this process's memory */
	wait_for('s');
	user_check(memcmp(mine + 64, "from the parent", 16) == 0, "data back");
	say('u');
	wait_for('g');
	user_check(
		request(IBV_WR_RDMA_WRITE,
			(struct ibv_sge){ (uintptr_t)mine, 16, private->lkey },
			(uintptr_t)at, shared->rkey) == IBV_WC_REM_ACCESS_ERR,
		"write after unimport");
	user_check(ibv_close_device(context) == 0, "ibv_close_device");
	say('e');
}

/* ---- the process that imports -------------------------------------------- */

static void refused(struct ibv_mr *mr, int error, const char *what)
{
	user_check(!mr && errno == error, what);
}

static void child(void)
{
	struct facts facts, ours = { 0 };
	int cmd_fd = hear(&facts);
	struct ibv_mr *mr;

	context = ibv_import_device(cmd_fd);
	user_check(context != NULL, "ibv_import_device");
	user_check(!ibv_import_pd(context, 0xfffff) && errno == EINVAL,
		   "a PD that is not there");
	pd = ibv_import_pd(context, facts.pd);
	user_check(pd && pd->handle == facts.pd, "ibv_import_pd");
	refused(ibv_import_mr(pd, facts.private), EOPNOTSUPP, "private");
	refused(ibv_import_mr(pd, facts.other), EINVAL, "another PD's");
	refused(ibv_import_mr(pd, facts.shared ^ 1), EINVAL, "no region");
	mr = ibv_import_mr(pd, facts.shared);
	user_check(mr && mr->rkey == facts.rkey && mr->length == 8192 &&
			   !mr->addr,
		   "ibv_import_mr");
	refused(ibv_import_mr(pd, facts.shared), EEXIST, "imported twice");
	make_qp();
	ours.qpn = qp->qp_num;
	user_check(!ibv_query_gid(context, 1, 1, &ours.gid), "ibv_query_gid");
	user_connect_to(qp, &facts.gid, facts.qpn);
	tell(&ours, context->cmd_fd);
	wait_for('w');
	/* the parent's address and key name the memory here, too */
	user_check(request(IBV_WR_RDMA_WRITE,
			   (struct ibv_sge){ facts.addr + 4090, 16, mr->lkey },
			   facts.private_addr + 64,
			   facts.private_rkey) == IBV_WC_SUCCESS,
		   "write to the parent");
	say('s');
	wait_for('u');
	ibv_unimport_mr(mr);
	say('g');
	wait_for('e');
	/* there is nobody to ask any more; what was imported stays */
	user_check(!ibv_import_pd(context, facts.pd) && errno == EIO,
		   "a PD of nobody");
	user_check(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq), "destroy");
	ibv_unimport_pd(pd);
	user_check(ibv_close_device(context) == 0, "ibv_close_device");
}

int main(void)
{
	int ends[2], status;
	pid_t pid;

	user_check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0,
		   "socketpair");
	pid = fork();
	peer = ends[pid == 0];
	close(ends[pid != 0]);
	if (pid == 0) {
		child();
		return 0;
	}
	parent();
	user_check(waitpid(pid, &status, 0) == pid && status == 0, "child");
	return 0;
}
