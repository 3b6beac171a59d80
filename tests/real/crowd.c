/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Many processes open the device, each with a QP; then they exchange messages
 * in pairs and check each byte, asleep while they wait.
 *
 * usage: crowd [-o] [-w] [-s BYTES] [-n MESSAGES] CLIENTS
 *
 * -o  one after another; without it all open the device at once
 * -w  wait for SIGUSR1 before the messages, and again before the end
 *
 * Says on stdout, a line each:
 *   attached N us LEAST MEDIAN MOST at NS
 *       from ibv_get_device_list() to the QP; when the last one had it
 *       (monotonic)
 *   exchanged N in US                  all messages of all pairs
 *   rss KIB                            the most that one client has more than
 *                                      before it opened the device
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define CLIENTS_MAX 4000
#define GID_INDEX 1
#define PHASE_MS 100000
/* 4.3 s: two cores are not much for a thousand. */
#define TIMEOUT 20

enum phase {
	ATTACHED,
	CONNECTED,
	EXCHANGED,
	PHASES
};

static struct client {
	uint32_t qpn;
	uint32_t attach_us;
	uint64_t attached_ns;
	uint32_t rss_kib;
} * clients;

static struct {
	bool in_turn, waits;
	uint32_t len_bytes;
	int messages;
	int clients;
} options = { .len_bytes = 2000, .messages = 4 };

/* Children say "done" in one pipe, and go on when the other one ends. */
static int done[2], go[PHASES][2];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t rss_kib(void)
{
	unsigned int pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	user_check(file && fscanf(file, "%*u %u", &pages) == 1, "statm");
	fclose(file);
	return pages * (uint32_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- a client ------------------------------------------------------------ */

struct end {
	struct user_end user;
	struct ibv_mr *mr;
	uint8_t *buf; /* to send, to receive */
};

static void post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + options.len_bytes,
			       options.len_bytes, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	user_check(ibv_post_recv(e->user.qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void connect_to(struct end *e, uint32_t qpn)
{
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = GID_INDEX, .hop_limit = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	e->buf = calloc(2, options.len_bytes);
	e->mr = ibv_reg_mr(e->user.pd, e->buf, 2 * (size_t)options.len_bytes,
			   IBV_ACCESS_LOCAL_WRITE);
	user_check(e->mr && ibv_query_gid(e->user.ctx, 1, GID_INDEX,
					  &ah.grh.dgid) == 0,
		   "ibv_reg_mr");
	user_check(user_to_init(e->user.qp, 0) == 0, "INIT");
	post_recv(e);
	user_check(user_to_rtr(e->user.qp, qpn, &ah, 0) == 0, "RTR");
	user_check(ibv_modify_qp(e->user.qp, &attr,
				 IBV_QP_STATE | IBV_QP_TIMEOUT |
					 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					 IBV_QP_SQ_PSN |
					 IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		   "RTS");
}

static void wait_one(struct end *e, enum ibv_wc_opcode *opcode)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *ctx;
	int n;

	while ((n = ibv_poll_cq(e->user.cq, 1, &wc)) == 0) {
		user_check(ibv_req_notify_cq(e->user.cq, 0) == 0, "arm");
		n = ibv_poll_cq(e->user.cq, 1, &wc);
		if (n != 0)
			break;
		user_check(ibv_get_cq_event(e->user.channel, &cq, &ctx) == 0,
			   "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	if (n == 1 && wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "crowd: %s\n", ibv_wc_status_str(wc.status));
	user_check(n == 1 && wc.status == IBV_WC_SUCCESS, "completion");
	*opcode = wc.opcode;
}

/* Each byte tells client and message. */
static uint8_t byte_of(int client, int message, uint32_t at)
{
	return (uint8_t)((uint32_t)client * 31 + (uint32_t)message * 7 + at);
}

static void send_one(struct end *e, int client, int message)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, options.len_bytes,
			       e->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	for (uint32_t k = 0; k < options.len_bytes; k++)
		e->buf[k] = byte_of(client, message, k);
	user_check(ibv_post_send(e->user.qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Both have sent and received. */
static void exchange(struct end *e, int client, int peer)
{
	enum ibv_wc_opcode opcode;

	for (int m = 0; m < options.messages; m++) {
		const uint8_t *in = e->buf + options.len_bytes;

		send_one(e, client, m);
		for (int got = 0; got < 2; got++) {
			wait_one(e, &opcode);
			if (opcode != IBV_WC_RECV)
				continue;
			for (uint32_t k = 0; k < options.len_bytes; k++)
				user_check(in[k] == byte_of(peer, m, k),
					   "bytes");
			if (m + 1 < options.messages)
				post_recv(e);
		}
	}
}

static void say(enum phase phase)
{
	char byte;

	user_check(write(done[1], "", 1) == 1, "write");
	user_check(read(go[phase][0], &byte, 1) == 0, "read");
}

static _Noreturn void be_client(int i)
{
	const int peer = i ^ 1;
	const uint32_t before_kib = rss_kib();
	const uint64_t start_ns = now_ns();
	struct end e = { 0 };

	user_open(&e.user, true);
	clients[i].attached_ns = now_ns();
	clients[i].attach_us =
		(uint32_t)((clients[i].attached_ns - start_ns) / 1000);
	clients[i].qpn = e.user.qp->qp_num;
	say(ATTACHED);
	connect_to(&e, clients[peer].qpn);
	say(CONNECTED);
	exchange(&e, i, peer);
	clients[i].rss_kib = rss_kib() - before_kib;
	say(EXCHANGED);
	user_close(&e.user, e.mr);
	exit(0);
}

/* ---- all of them --------------------------------------------------------- */

static void start(int i)
{
	pid_t child = fork();

	user_check(child >= 0, "fork");
	if (child > 0)
		return;
	/* With its parent it ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int phase = 0; phase < PHASES; phase++)
		close(go[phase][1]);
	be_client(i);
}

static void hear(int nb)
{
	struct pollfd watch = { .fd = done[0], .events = POLLIN };
	char bytes[CLIENTS_MAX];

	for (int n = 0; n < nb;) {
		ssize_t len;

		if (poll(&watch, 1, PHASE_MS) != 1) {
			fprintf(stderr, "crowd: %d of %d\n", n, nb);
			exit(1);
		}
		len = read(done[0], bytes, (size_t)(nb - n));
		user_check(len > 0, "read");
		n += (int)len;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct client *x = a, *y = b;

	return (x->attach_us > y->attach_us) - (x->attach_us < y->attach_us);
}

static void report_attached(void)
{
	static struct client sorted[CLIENTS_MAX];
	const size_t nb = (size_t)options.clients;
	uint64_t last_ns = 0;

	memcpy(sorted, clients, nb * sizeof(sorted[0]));
	qsort(sorted, nb, sizeof(sorted[0]), by_time);
	for (size_t i = 0; i < nb; i++)
		if (clients[i].attached_ns > last_ns)
			last_ns = clients[i].attached_ns;
	printf("attached %zu us %u %u %u at %llu\n", nb, sorted[0].attach_us,
	       sorted[nb / 2].attach_us, sorted[nb - 1].attach_us,
	       (unsigned long long)last_ns);
}

static void wait_for_signal(const sigset_t *set)
{
	int number;

	fflush(stdout);
	if (options.waits)
		sigwait(set, &number);
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "ows:n:")) != -1) {
		if (opt == 'o')
			options.in_turn = true;
		else if (opt == 'w')
			options.waits = true;
		else if (opt == 's')
			options.len_bytes = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'n')
			options.messages = atoi(optarg);
		else
			exit(2);
	}
	options.clients = optind < argc ? atoi(argv[optind]) : 0;
	if (options.clients < 2 || options.clients > CLIENTS_MAX ||
	    options.clients % 2 != 0) {
		fprintf(stderr, "crowd: an even number of clients, 2 to %d\n",
			CLIENTS_MAX);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	uint32_t most_kib = 0;
	uint64_t start_ns, exchanged_us;
	int status, failed = 0;
	sigset_t set;

	parse(argc, argv);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	clients =
		mmap(NULL, sizeof(*clients) * CLIENTS_MAX,
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	user_check(clients != MAP_FAILED && pipe(done) == 0, "pipe");
	for (int phase = 0; phase < PHASES; phase++)
		user_check(pipe(go[phase]) == 0, "pipe");
	for (int i = 0; i < options.clients; i++) {
		start(i);
		if (options.in_turn)
			hear(1);
	}
	hear(options.in_turn ? 0 : options.clients);
	report_attached();
	wait_for_signal(&set);
	close(go[ATTACHED][1]);
	hear(options.clients);
	start_ns = now_ns();
	close(go[CONNECTED][1]);
	hear(options.clients);
	exchanged_us = (now_ns() - start_ns) / 1000;
	for (int i = 0; i < options.clients; i++)
		if (clients[i].rss_kib > most_kib)
			most_kib = clients[i].rss_kib;
	printf("exchanged %d in %llu\nrss %u\n",
	       options.clients * options.messages,
	       (unsigned long long)exchanged_us, most_kib);
	wait_for_signal(&set);
	close(go[EXCHANGED][1]);
	while (wait(&status) > 0)
		failed += status != 0;
	user_check(failed == 0, "clients");
	return 0;
}
