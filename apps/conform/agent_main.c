/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * roost-conform-agent: commands on stdin, a line each, as words NAME=VALUE; an
 * answer to each on stdout, "ok NAME=VALUE..." or "error TEXT". The table of
 * commands is at the end. A tester is trusted: it is who started the agent.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/conform/agent.h"
#include "apps/conform/agent_words.h"

#define WAIT_MS_MAX 60000
#define READ_MAX 4096

static const struct agent_mr *mr_of(const struct agent *a,
				    const struct words *w, bool *bad)
{
	uint64_t index = words_number(w, "mr", AGENT_MRS, bad);

	if (*bad || index >= a->nb_mrs) {
		*bad = true;
		return NULL;
	}
	return &a->mrs[index];
}

/* connect type= gid= qpn= psn= qkey= access= rnr= mtu= */
static void do_connect(struct agent *a, const struct words *w)
{
	struct agent_peer peer;
	bool bad = false;

	peer.type = (enum ibv_qp_type)words_number(w, "type", IBV_QPT_XRC_RECV,
						   &bad);
	peer.qpn = (uint32_t)words_number(w, "qpn", 0xffffff, &bad);
	peer.qkey = (uint32_t)words_number(w, "qkey", UINT32_MAX, &bad);
	peer.rq_psn = (uint32_t)words_number(w, "psn", 0xffffff, &bad);
	peer.access = (unsigned int)words_number(w, "access", 0xfffff, &bad);
	peer.rnr_timer = (uint8_t)words_number(w, "rnr", 31, &bad);
	peer.mtu = (enum ibv_mtu)words_number(w, "mtu", IBV_MTU_4096, &bad);
	if (bad || !agent_knows(peer.type) ||
	    words_bytes(words_text(w, "gid"), peer.gid.raw, 16) != 16)
		say_error("bad words");
	else if (!agent_connect(a, &peer))
		say_errno();
	else
		printf("ok qpn=%" PRIu32 " srqn=%" PRIu32 "\n", a->qp->qp_num,
		       a->xrc.srqn);
}

/* ready psn= timeout= retry= rnr_retry= */
static void do_ready(struct agent *a, const struct words *w)
{
	struct agent_sender sender;
	bool bad = a->qp == NULL;

	sender.sq_psn = (uint32_t)words_number(w, "psn", 0xffffff, &bad);
	sender.timeout = (uint8_t)words_number(w, "timeout", 31, &bad);
	sender.retry_cnt = (uint8_t)words_number(w, "retry", 7, &bad);
	sender.rnr_retry = (uint8_t)words_number(w, "rnr_retry", 7, &bad);
	if (bad)
		say_error("bad words");
	else
		say_done(agent_ready(a, &sender));
}

/* modify state= [notify=] [access=] */
static void do_modify(struct agent *a, const struct words *w)
{
	struct ibv_qp_attr attr = { 0 };
	bool bad = a->qp == NULL;
	int mask = 0;

	attr.qp_state =
		(enum ibv_qp_state)words_number(w, "state", IBV_QPS_ERR, &bad);
	if (words_text(w, "notify") != NULL) {
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
		attr.en_sqd_async_notify =
			(uint8_t)words_number(w, "notify", 1, &bad);
	}
	if (words_text(w, "access") != NULL) {
		mask |= IBV_QP_ACCESS_FLAGS;
		attr.qp_access_flags =
			(unsigned int)words_number(w, "access", 0xfffff, &bad);
	}
	if (bad)
		say_error("bad words");
	else
		say_done(agent_modify(a, &attr, mask));
}

/* rearm gid= */
static void do_rearm(struct agent *a, const struct words *w)
{
	union ibv_gid gid;

	if (a->qp == NULL ||
	    words_bytes(words_text(w, "gid"), gid.raw, 16) != 16)
		say_error("bad words");
	else
		say_done(agent_rearm(a, &gid));
}

static void do_migrate(struct agent *a, const struct words *w)
{
	(void)w;
	if (a->qp == NULL)
		say_error("no QP");
	else
		say_done(agent_migrate(a));
}

/* attach gid= */
static void do_attach(struct agent *a, const struct words *w)
{
	union ibv_gid group;

	if (a->qp == NULL ||
	    words_bytes(words_text(w, "gid"), group.raw, 16) != 16)
		say_error("bad words");
	else
		say_done(agent_attach(a, &group));
}

static void do_detach(struct agent *a, const struct words *w)
{
	(void)w;
	if (!a->is_member)
		say_error("in no group");
	else
		say_done(agent_detach(a));
}

/* mr bytes= access= */
static void do_mr(struct agent *a, const struct words *w)
{
	const struct agent_mr *m;
	bool bad = false;
	size_t bytes = words_number(w, "bytes", AGENT_MR_MAX, &bad);
	unsigned int access =
		(unsigned int)words_number(w, "access", 0xfffff, &bad);

	if (bad) {
		say_error("bad words");
		return;
	}
	m = agent_register(a, bytes, access);
	if (m == NULL)
		say_errno();
	else
		printf("ok mr=%u addr=0x%" PRIxPTR " rkey=0x%" PRIx32
		       " lkey=0x%" PRIx32 "\n",
		       a->nb_mrs - 1, (uintptr_t)m->memory, m->mr->rkey,
		       m->mr->lkey);
}

/* recv mr= offset= bytes= lkey= id= */
static void do_recv(struct agent *a, const struct words *w)
{
	bool bad = a->qp == NULL;
	const struct agent_mr *m = mr_of(a, w, &bad);
	size_t offset = words_number(w, "offset", AGENT_MR_MAX, &bad);
	uint32_t bytes = (uint32_t)words_number(w, "bytes", UINT32_MAX, &bad);
	uint32_t lkey = (uint32_t)words_number(w, "lkey", UINT32_MAX, &bad);
	uint64_t id = words_number(w, "id", UINT64_MAX, &bad);

	if (bad)
		say_error("bad words");
	else
		say_done(agent_receive(a, m, offset, bytes, lkey, id));
}

/* What a request names at the other end: of UD a QP and its Q_Key. */
static void name_remote(struct ibv_send_wr *wr, const struct agent *a,
			const struct words *w, bool *bad)
{
	uint64_t remote = words_number(w, "remote", UINT64_MAX, bad);
	uint32_t key = (uint32_t)words_number(w, "rkey", UINT32_MAX, bad);
	uint64_t add = words_number(w, "add", UINT64_MAX, bad);

	if (a->ah != NULL) {
		wr->wr.ud.ah = a->ah;
		wr->wr.ud.remote_qpn = (uint32_t)remote;
		wr->wr.ud.remote_qkey = key;
	} else if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = key;
		wr->wr.atomic.compare_add = add;
	} else {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = key;
	}
}

/* post opcode= id= mr= bytes= lkey= remote= rkey= add= imm= [srqn=] */
static void do_post(struct agent *a, const struct words *w)
{
	struct ibv_send_wr wr = { .send_flags = IBV_SEND_SIGNALED,
				  .num_sge = 1 };
	bool bad = a->qp == NULL;
	const struct agent_mr *m = mr_of(a, w, &bad);
	struct ibv_sge sge;

	sge.length = (uint32_t)words_number(w, "bytes", UINT32_MAX, &bad);
	sge.lkey = (uint32_t)words_number(w, "lkey", UINT32_MAX, &bad);
	wr.wr_id = words_number(w, "id", UINT64_MAX, &bad);
	wr.opcode =
		(enum ibv_wr_opcode)words_number(w, "opcode",
						 IBV_WR_ATOMIC_FETCH_AND_ADD,
						 &bad);
	wr.imm_data =
		htobe32((uint32_t)words_number(w, "imm", UINT32_MAX, &bad));
	name_remote(&wr, a, w, &bad);
	if (words_text(w, "srqn") != NULL)
		wr.qp_type.xrc.remote_srqn =
			(uint32_t)words_number(w, "srqn", 0xffffff, &bad);
	if (bad) {
		say_error("bad words");
		return;
	}
	sge.addr = (uintptr_t)m->memory;
	wr.sg_list = &sge;
	say_done(agent_post(a, &wr));
}

static void do_window(struct agent *a, const struct words *w)
{
	(void)w;
	if (!agent_window(a))
		say_errno();
	else
		printf("ok rkey=0x%" PRIx32 "\n", a->mw->rkey);
}

/* bind mr= offset= bytes= access= */
static void do_bind(struct agent *a, const struct words *w)
{
	bool bad = a->qp == NULL || a->mw == NULL;
	const struct agent_mr *m = mr_of(a, w, &bad);
	size_t offset = words_number(w, "offset", AGENT_MR_MAX, &bad);
	size_t bytes = words_number(w, "bytes", AGENT_MR_MAX, &bad);
	unsigned int access =
		(unsigned int)words_number(w, "access", 0xfffff, &bad);

	if (bad)
		say_error("bad words");
	else if (!agent_bind(a, m, offset, bytes, access))
		say_errno();
	else
		printf("ok rkey=0x%" PRIx32 "\n", a->mw->rkey);
}

/* invalidate rkey= */
static void do_invalidate(struct agent *a, const struct words *w)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED };
	bool bad = a->qp == NULL;

	wr.invalidate_rkey =
		(uint32_t)words_number(w, "rkey", UINT32_MAX, &bad);
	if (bad)
		say_error("bad words");
	else
		say_done(agent_post(a, &wr));
}

/* True where offset and bytes lie in the region. */
static bool inside(const struct agent_mr *m, size_t offset, size_t bytes)
{
	return m != NULL && offset <= m->bytes && bytes <= m->bytes - offset;
}

/* read mr= offset= bytes= */
static void do_read(struct agent *a, const struct words *w)
{
	bool bad = false;
	const struct agent_mr *m = mr_of(a, w, &bad);
	size_t offset = words_number(w, "offset", AGENT_MR_MAX, &bad);
	size_t bytes = words_number(w, "bytes", READ_MAX, &bad);

	if (bad || !inside(m, offset, bytes))
		say_error("bad words");
	else
		say_bytes(m->memory + offset, bytes);
}

/* fill mr= offset= hex= */
static void do_fill(struct agent *a, const struct words *w)
{
	bool bad = false;
	const struct agent_mr *m = mr_of(a, w, &bad);
	size_t offset = words_number(w, "offset", AGENT_MR_MAX, &bad);
	uint8_t bytes[READ_MAX];
	int n = words_bytes(words_text(w, "hex"), bytes, sizeof(bytes));

	if (bad || n < 0 || !inside(m, offset, (size_t)n)) {
		say_error("bad words");
		return;
	}
	memcpy(m->memory + offset, bytes, (size_t)n);
	puts("ok");
}

/* poll ms= */
static void do_poll(struct agent *a, const struct words *w)
{
	bool bad = a->qp == NULL;
	int ms = (int)words_number(w, "ms", WAIT_MS_MAX, &bad);
	struct ibv_wc wc;
	int n;

	if (bad) {
		say_error("bad words");
		return;
	}
	n = agent_poll(a, &wc, ms);
	if (n < 0)
		say_error("ibv_poll_cq fails");
	else if (n == 0)
		puts("ok none=1");
	else if (wc.status != IBV_WC_SUCCESS)
		printf("ok status=%d id=%" PRIu64 "\n", wc.status, wc.wr_id);
	else
		printf("ok status=0 id=%" PRIu64 " opcode=%d bytes=%" PRIu32
		       " flags=%u imm=0x%" PRIx32 " source=%" PRIu32 "\n",
		       wc.wr_id, wc.opcode, wc.byte_len, wc.wc_flags,
		       wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey
						     : be32toh(wc.imm_data),
		       wc.src_qp);
}

/* event ms= */
static void do_event(struct agent *a, const struct words *w)
{
	bool bad = false;
	int ms = (int)words_number(w, "ms", WAIT_MS_MAX, &bad);
	int type = bad ? -1 : agent_event(a, ms);

	if (bad)
		say_error("bad words");
	else if (type < 0)
		puts("ok none=1");
	else
		printf("ok event=%d\n", type);
}

/* listen port= */
static void do_listen(struct agent *a, const struct words *w)
{
	bool bad = false;
	uint16_t port = (uint16_t)words_number(w, "port", UINT16_MAX, &bad);
	uint32_t addr_be;

	memcpy(&addr_be, a->gid.raw + 12, sizeof(addr_be));
	if (bad)
		say_error("bad words");
	else
		say_done(agent_cm_listen(&a->cm, addr_be, port));
}

/* cm-event ms= */
static void do_cm_event(struct agent *a, const struct words *w)
{
	bool bad = a->cm.channel == NULL;
	int ms = (int)words_number(w, "ms", WAIT_MS_MAX, &bad);
	int type = bad ? -1 : agent_cm_event(&a->cm, ms);

	if (bad)
		say_error("bad words");
	else if (type < 0)
		puts("ok none=1");
	else
		printf("ok event=%d\n", type);
}

static void answer_conn(struct agent *a, bool (*answer)(struct agent_cm *cm))
{
	if (a->cm.conn == NULL)
		say_error("nobody has asked");
	else
		say_done(answer(&a->cm));
}

static void do_accept(struct agent *a, const struct words *w)
{
	(void)w;
	answer_conn(a, agent_cm_accept);
}

static void do_disconnect(struct agent *a, const struct words *w)
{
	(void)w;
	answer_conn(a, agent_cm_disconnect);
}

static void do_reject(struct agent *a, const struct words *w)
{
	(void)w;
	answer_conn(a, agent_cm_reject);
}

static void do_state(struct agent *a, const struct words *w)
{
	int state = a->qp == NULL ? (int)IBV_QPS_RESET : agent_state(a);

	(void)w;
	if (state < 0)
		say_errno();
	else
		printf("ok state=%d\n", state);
}

static void do_reset(struct agent *a, const struct words *w)
{
	(void)w;
	agent_reset(a);
	puts("ok");
}

static const struct command {
	const char *name;
	void (*run)(struct agent *a, const struct words *w);
} commands[] = {
	{ "accept", do_accept },
	{ "cm-event", do_cm_event },
	{ "listen", do_listen },
	{ "reject", do_reject },
	{ "window", do_window },
	{ "bind", do_bind },
	{ "invalidate", do_invalidate },
	{ "attach", do_attach },
	{ "connect", do_connect },
	{ "detach", do_detach },
	{ "disconnect", do_disconnect },
	{ "event", do_event },
	{ "fill", do_fill },
	{ "migrate", do_migrate },
	{ "modify", do_modify },
	{ "mr", do_mr },
	{ "poll", do_poll },
	{ "post", do_post },
	{ "read", do_read },
	{ "ready", do_ready },
	{ "rearm", do_rearm },
	{ "recv", do_recv },
	{ "reset", do_reset },
	{ "state", do_state },
};

static void obey(struct agent *a, char *line)
{
	struct words w = { .nb = 0 };
	char *rest;
	char *name = strtok_r(line, " \n", &rest);
	char *word;

	while (w.nb < WORDS_MAX &&
	       (word = strtok_r(NULL, " \n", &rest)) != NULL)
		w.word[w.nb++] = word;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (name != NULL && strcmp(name, commands[i].name) == 0) {
			commands[i].run(a, &w);
			return;
		}
	}
	say_error("no such command");
}

static void say_gid(const union ibv_gid *gid)
{
	for (int i = 0; i < 16; i++)
		printf("%02x", gid->raw[i]);
}

static int usage(const char *program)
{
	fprintf(stderr, "usage: %s [-d DEVICE] [-p PORT] [-g GID-INDEX]\n",
		program);
	return 2;
}

int main(int argc, char **argv)
{
	const char *device = NULL;
	int port = 1, gid_index = -1, c;
	struct agent agent;
	char *line = NULL;
	size_t room = 0;

	while ((c = getopt(argc, argv, "d:p:g:")) != -1) {
		if (c == 'd')
			device = optarg;
		else if (c == 'p')
			port = atoi(optarg);
		else if (c == 'g')
			gid_index = atoi(optarg);
		else
			return usage(argv[0]);
	}
	if (optind != argc || port < 1 || port > 255)
		return usage(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!agent_open(&agent, device, (uint8_t)port, gid_index)) {
		say_errno();
		return 1;
	}
	printf("ok device=%s gid=", ibv_get_device_name(agent.context->device));
	say_gid(&agent.gid);
	if (agent.gid6_index >= 0) {
		printf(" gid6=");
		say_gid(&agent.gid6);
	}
	putchar('\n');
	while (getline(&line, &room, stdin) > 0)
		obey(&agent, line);
	free(line);
	agent_reset(&agent);
	ibv_dealloc_pd(agent.pd);
	ibv_close_device(agent.context);
	return 0;
}
