/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Two processes with checked traffic between them, while one of them forks
 * children that do with what they inherited all that they should not. Every
 * message is a WRITE into one of the peer's slots and a SEND that tells of it;
 * the peer looks at every byte, then answers. What a child took from its parent
 * would be missing there.
 *
 * usage: fork_pair server|client ADDRESS [-f|-F|SECONDS [TIMEOUT]]
 *        fork_pair both
 *
 * -f: it forks; -F: at a hub. both: the server is forked from the client before
 * a device is open. TIMEOUT: the local ACK timeout, as of ibv_modify_qp(); the
 * client says what its longest wait for a message was.
 */
#include "tests/real/fork/pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#define PORT 7471
#define SLOTS 16u
#define WINDOW 8u
#define SLOT_BYTES 4096u
/* No message for so long: something is lost. Longer than eight local ACK
 * timeouts of 2.1 s, because a QP may lose the same packet seven times.
 */
#define TIMEOUT_S 20

struct pair_end end;

static int run_s = 8;
static uint8_t ack_timeout; /* 0: the default */
static double longest_s;    /* wait for a message */

static struct {
	uint64_t addr;
	uint32_t rkey;
} remote;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- messages ------------------------------------------------------------
 */

static uint8_t *slot(uint32_t seq)
{
	return end.buf + (seq % SLOTS) * SLOT_BYTES;
}

static void fill(uint8_t *at, uint32_t seq)
{
	uint32_t *word = (uint32_t *)(void *)at;

	for (uint32_t i = 0; i < SLOT_BYTES / sizeof(*word); i++)
		word[i] = seq * 2654435761u + i;
}

static bool is_filled(const uint8_t *at, uint32_t seq)
{
	const uint32_t *word = (const uint32_t *)(const void *)at;

	for (uint32_t i = 0; i < SLOT_BYTES / sizeof(*word); i++)
		if (word[i] != seq * 2654435761u + i)
			return false;
	return true;
}

static void post_recv(void)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	must(ibv_post_recv(end.id->qp, &wr, &bad) == 0, "post_recv");
}

static void post_send(uint32_t imm)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(imm),
	};
	struct ibv_send_wr *bad;

	must(ibv_post_send(end.id->qp, &wr, &bad) == 0, "post_send");
}

static void post_message(uint32_t seq)
{
	struct ibv_sge sge = { (uintptr_t)slot(seq), SLOT_BYTES, end.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { remote.addr + (seq % SLOTS) * SLOT_BYTES,
			     remote.rkey },
	};
	struct ibv_send_wr *bad;

	fill(slot(seq), seq);
	must(ibv_post_send(end.id->qp, &wr, &bad) == 0, "post_write");
	post_send(seq);
}

/* The number that the next message brings. */
static uint32_t next_recv(void)
{
	const double began = now_s(), until = began + TIMEOUT_S;
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = ibv_poll_cq(end.id->send_cq, 1, &wc);
		must(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS),
		     "a send failed");
		n = ibv_poll_cq(end.id->recv_cq, 1, &wc);
		must(n >= 0, "poll");
		if (n == 1)
			break;
		must(now_s() < until, "a message is missing");
	}
	must(wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_IMM,
	     "receive");
	if (now_s() - began > longest_s)
		longest_s = now_s() - began;
	post_recv();
	return ntohl(wc.imm_data);
}

/* ---- the two ends --------------------------------------------------------
 */

static void serve(void)
{
	uint32_t got = 0, seq;

	while ((seq = next_recv()) != UINT32_MAX) {
		must(seq == got, "a message is out of order");
		must(is_filled(slot(seq), seq), "a WRITE is not there");
		got++;
		post_send(seq);
	}
	post_send(got);
	printf("server: %u messages, %u children\n", got, end.nb_children);
}

static void ask(void)
{
	const double until = now_s() + run_s;
	uint32_t sent = 0, answered = 0;

	while (now_s() < until || answered < sent) {
		if (sent - answered < WINDOW && now_s() < until) {
			post_message(sent++);
			continue;
		}
		must(next_recv() == answered++, "answers");
	}
	post_send(UINT32_MAX);
	must(next_recv() == sent, "the server counts otherwise");
	printf("client: %u messages, %u children\n", sent, end.nb_children);
	if (ack_timeout != 0)
		printf("longest wait %.0f ms\n", 1000 * longest_s);
}

static void set_up(void)
{
	end.buf = calloc(SLOTS, SLOT_BYTES);
	must(end.buf, "memory");
	end.mr = ibv_reg_mr(end.id->pd, end.buf, SLOTS * SLOT_BYTES,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(end.mr, "reg_mr");
	must(ack_timeout == 0 ||
		     rdma_set_option(end.id, RDMA_OPTION_ID,
				     RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
				     sizeof(ack_timeout)) == 0,
	     "timeout");
	for (unsigned int i = 0; i < 2 * SLOTS; i++)
		post_recv();
}

static struct rdma_conn_param param(void)
{
	static struct {
		uint64_t addr;
		uint32_t rkey;
	} mine;

	mine.addr = (uintptr_t)end.buf;
	mine.rkey = end.mr->rkey;
	return (struct rdma_conn_param){
		.private_data = &mine,
		.private_data_len = sizeof(mine),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void create(const char *address, int flags, struct rdma_cm_id **id)
{
	struct rdma_addrinfo hints = { .ai_flags = flags,
				       .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = {
		.cap = { 4 * SLOTS, 4 * SLOTS, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info;
	char service[8];

	snprintf(service, sizeof(service), "%d", PORT);
	must(rdma_getaddrinfo(address, service, &hints, &info) == 0, "address");
	must(rdma_create_ep(id, info, NULL, &attr) == 0, "create_ep");
	rdma_freeaddrinfo(info);
}

static void be_server(const char *address)
{
	struct rdma_conn_param answer;
	struct rdma_cm_id *listener;

	create(address, RAI_PASSIVE, &listener);
	must(rdma_listen(listener, 1) == 0, "listen");
	puts("ready");
	fflush(stdout);
	must(rdma_get_request(listener, &end.id) == 0, "get_request");
	set_up();
	answer = param();
	must(rdma_accept(end.id, &answer) == 0, "accept");
	end.other = listener;
}

static void be_client(const char *address)
{
	struct rdma_conn_param request;

	create(address, 0, &end.id);
	set_up();
	request = param();
	must(rdma_connect(end.id, &request) == 0, "connect");
	memcpy(&remote, end.id->event->param.conn.private_data, sizeof(remote));
}

static void tear_down(void)
{
	/* Both have got all by then. */
	sleep(1);
	rdma_disconnect(end.id);
	must(rdma_dereg_mr(end.mr) == 0, "dereg_mr");
	rdma_destroy_ep(end.id);
	if (end.other)
		rdma_destroy_ep(end.other);
	free(end.buf);
}

/* ---- children ------------------------------------------------------------
 */

static atomic_bool over;

static void *fork_on(void *arg)
{
	while (!atomic_load(&over)) {
		must(pair_child(end.nb_children), "a child");
		end.nb_children++;
		usleep(2000);
	}
	return arg;
}

static void run(bool is_server, const char *address, bool forks)
{
	pthread_t forker;

	if (is_server)
		be_server(address);
	else
		be_client(address);
	if (forks)
		must(pthread_create(&forker, NULL, fork_on, NULL) == 0,
		     "thread");
	if (is_server)
		serve();
	else
		ask();
	atomic_store(&over, true);
	if (forks)
		pthread_join(forker, NULL);
	tear_down();
}

/* The address of this end of the link, which is there once it is opened. */
static const char *own_address(void)
{
	static char text[INET_ADDRSTRLEN];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	union ibv_gid gid;

	must(list, "list");
	context = ibv_open_device(list[0]);
	must(context, "open");
	must(ibv_query_gid(context, 1, 1, &gid) == 0, "gid");
	ibv_free_device_list(list);
	inet_ntop(AF_INET, gid.raw + 12, text, sizeof(text));
	return text;
}

static void run_grandchild(int fd)
{
	const char *address = own_address();

	must(write(fd, address, INET_ADDRSTRLEN) == INET_ADDRSTRLEN, "write");
	run(true, address, true);
}

/* The grandchild serves, so that two forks lie in between. */
static void run_both(void)
{
	char address[INET_ADDRSTRLEN];
	int fds[2], status;
	pid_t pid;

	must(ibv_get_device_list(NULL), "list");
	must(pipe(fds) == 0, "pipe");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0) {
			run_grandchild(fds[1]);
			exit(0);
		}
		must(waitpid(pid, &status, 0) == pid, "wait");
		exit(status != 0);
	}
	must(read(fds[0], address, sizeof(address)) == sizeof(address), "read");
	run(false, address, true);
	must(waitpid(pid, &status, 0) == pid && status == 0, "the child");
}

int main(int argc, char **argv)
{
	const bool forks = argc > 3 && strcasecmp(argv[3], "-f") == 0;

	end.is_at_hub = forks && argv[3][1] == 'F';
	if (argc > 3 && !forks)
		run_s = atoi(argv[3]);
	if (argc > 4)
		ack_timeout = (uint8_t)atoi(argv[4]);
	if (argc == 2 && strcmp(argv[1], "both") == 0)
		run_both();
	else if (argc > 2)
		run(strcmp(argv[1], "server") == 0, argv[2], forks);
	else
		return 2;
	return 0;
}
