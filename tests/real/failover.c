/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary verbs program: two processes, a device of two ports each, and
 * one RC connection with an alternate path. Both send as fast as they can and
 * compare every byte that comes; somebody outside takes the first path away.
 * Each ends when its QP has migrated and traffic went on behind that.
 *
 * usage: failover -p TCP-PORT [HOST]
 *
 * It says "armed" when the QP may migrate, and "migrated" when it has. Exit
 * status 0: one PATH_MIG, no PATH_MIG_ERR, no completion failed, no byte
 * differs, and the QP is on port 2.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PORTS 2
#define SLOTS 16u
#define MSG_BYTES 32768u
#define MSG_WORDS (MSG_BYTES / sizeof(uint64_t))
/* Sent behind the migration before it counts as a success. */
#define AFTERWARDS 500u
#define WAIT_S 40
#define LAST (1ull << 63)

/* 67 ms, seven times more: a dead path is known after half a second, and a
 * process that waits for a processor is not taken for one.
 */
#define TIMEOUT 14
#define RETRY_CNT 7

/* What each tells the other. */
struct card {
	uint32_t qpn_be;
	uint32_t psn_be;
	union ibv_gid gids[PORTS];
};

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint64_t (*out)[MSG_WORDS]; /* SLOTS of them */
	uint64_t (*in)[MSG_WORDS];
	int gid_index[PORTS];
	struct card mine, peer;
	uint64_t sent, acked, received;
	uint64_t migrated_at; /* messages sent by then */
	unsigned int nb_mig, nb_mig_err;
	bool armed, last_sent, last_received;
} me;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "failover: %s (errno: %s)\n", what, strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (!good)
		fail(what);
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

/* ---- the other one ---------------------------------------------------- */

static int meet(const char *host, const char *port)
{
	const struct addrinfo hints = {
		.ai_flags = host ? 0 : AI_PASSIVE,
		.ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *to;
	int fd, one = 1, peer;

	check(getaddrinfo(host, port, &hints, &to) == 0, "getaddrinfo");
	fd = socket(to->ai_family, to->ai_socktype, 0);
	check(fd >= 0, "socket");
	if (host) {
		check(connect(fd, to->ai_addr, to->ai_addrlen) == 0, "connect");
		freeaddrinfo(to);
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	check(bind(fd, to->ai_addr, to->ai_addrlen) == 0, "bind");
	freeaddrinfo(to);
	check(listen(fd, 1) == 0, "listen");
	peer = accept(fd, NULL, NULL);
	check(peer >= 0, "accept");
	close(fd);
	return peer;
}

static void exchange(int fd, const void *mine, void *peer, size_t len)
{
	check(write(fd, mine, len) == (ssize_t)len, "write to the peer");
	check(recv(fd, peer, len, MSG_WAITALL) == (ssize_t)len,
	      "read from the peer");
}

/* ---- set-up ----------------------------------------------------------- */

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static void find_gids(void)
{
	for (int p = 0; p < PORTS; p++) {
		union ibv_gid *gid = &me.mine.gids[p];
		int i = 0;

		while (ibv_query_gid(me.context, (uint8_t)(p + 1), i, gid) ==
			       0 &&
		       !is_ipv4(gid))
			i++;
		check(is_ipv4(gid), "no IPv4 address on a port");
		me.gid_index[p] = i;
	}
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr attr;

	check(list && list[0], "no device");
	me.context = ibv_open_device(list[0]);
	check(me.context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	check(ibv_query_device(me.context, &attr) == 0, "ibv_query_device");
	check(attr.phys_port_cnt == PORTS, "the device has not two ports");
	check(fcntl(me.context->async_fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	find_gids();
}

static void create_qp(void)
{
	size_t bytes = 2 * SLOTS * MSG_BYTES;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	void *memory = aligned_alloc(4096, bytes);

	check(memory != NULL, "memory");
	me.out = memory;
	me.in = me.out + SLOTS;
	me.pd = ibv_alloc_pd(me.context);
	me.mr = ibv_reg_mr(me.pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	me.cq = ibv_create_cq(me.context, 2 * SLOTS, NULL, NULL, 0);
	check(me.pd && me.mr && me.cq, "objects");
	init.send_cq = me.cq;
	init.recv_cq = me.cq;
	me.qp = ibv_create_qp(me.pd, &init);
	check(me.qp != NULL, "ibv_create_qp");
	srand48(getpid());
	me.mine.qpn_be = htonl(me.qp->qp_num);
	me.mine.psn_be = htonl((uint32_t)lrand48() & 0xffffff);
}

static struct ibv_ah_attr address(int p)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = (uint8_t)(p + 1),
		.grh = { .dgid = me.peer.gids[p],
			 .sgid_index = (uint8_t)me.gid_index[p],
			 .hop_limit = 64 },
	};
}

static void modify(struct ibv_qp_attr *attr, int mask, const char *what)
{
	check(ibv_modify_qp(me.qp, attr, mask) == 0, what);
}

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)me.in[slot], MSG_BYTES, me.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	check(ibv_post_recv(me.qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void connect_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	modify(&attr,
	       IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
		       IBV_QP_ACCESS_FLAGS,
	       "to INIT");
	for (uint64_t i = 0; i < SLOTS; i++)
		post_recv(i);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.ah_attr = address(0),
		.alt_ah_attr = address(1),
		.alt_port_num = 2,
		.alt_timeout = TIMEOUT,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = ntohl(me.peer.qpn_be),
		.rq_psn = ntohl(me.peer.psn_be),
		.min_rnr_timer = 12,
	};
	modify(&attr,
	       IBV_QP_STATE | IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_PATH_MTU |
		       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	       "to RTR, with an alternate path");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.path_mig_state = IBV_MIG_REARM,
		.sq_psn = ntohl(me.mine.psn_be),
		.timeout = TIMEOUT,
		.retry_cnt = RETRY_CNT,
		.rnr_retry = 7,
	};
	modify(&attr,
	       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_PATH_MIG_STATE,
	       "to RTS, to be armed");
}

/* ---- traffic ---------------------------------------------------------- */

static uint64_t word(uint64_t number, uint64_t i)
{
	return (number + 1) * 0x9e3779b97f4a7c15u + i;
}

/* The first word is the message's number, and whether it is the last. */
static void post_send(bool last)
{
	uint64_t slot = me.sent % SLOTS, *out = me.out[slot];
	struct ibv_sge sge = { (uintptr_t)out, MSG_BYTES, me.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = me.sent,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	out[0] = me.sent | (last ? LAST : 0);
	for (uint64_t i = 1; i < MSG_WORDS; i++)
		out[i] = word(me.sent, i);
	check(ibv_post_send(me.qp, &wr, &bad) == 0, "ibv_post_send");
	me.sent++;
	me.last_sent = last;
}

static void take_message(uint64_t slot)
{
	const uint64_t *in = me.in[slot];

	check((in[0] & ~LAST) == me.received, "a message is not the next one");
	for (uint64_t i = 1; i < MSG_WORDS; i++)
		check(in[i] == word(me.received, i), "a byte differs");
	me.received++;
	me.last_received = in[0] & LAST;
	post_recv(slot);
}

static void take_completions(void)
{
	struct ibv_wc wcs[SLOTS];
	int n = ibv_poll_cq(me.cq, SLOTS, wcs);

	check(n >= 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		check(wcs[i].status == IBV_WC_SUCCESS,
		      ibv_wc_status_str(wcs[i].status));
		if (wcs[i].opcode & IBV_WC_RECV)
			take_message(wcs[i].wr_id);
		else
			check(wcs[i].wr_id == me.acked++, "out of order");
	}
}

static void take_events(void)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(me.context, &event) == 0) {
		if (event.event_type == IBV_EVENT_PATH_MIG) {
			me.nb_mig++;
			me.migrated_at = me.sent;
			say("migrated");
		}
		me.nb_mig_err += event.event_type == IBV_EVENT_PATH_MIG_ERR;
		ibv_ack_async_event(&event);
	}
	check(errno == EAGAIN, "ibv_get_async_event");
}

static struct ibv_qp_attr query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(ibv_query_qp(me.qp, &attr, IBV_QP_PATH_MIG_STATE | IBV_QP_PORT,
			   &init) == 0,
	      "ibv_query_qp");
	return attr;
}

static void look_at_state(void)
{
	if (me.armed || query().path_mig_state != IBV_MIG_ARMED)
		return;
	me.armed = true;
	say("armed");
}

static void run(void)
{
	time_t until = time(NULL) + WAIT_S;

	while (!me.last_sent || !me.last_received || me.acked < me.sent) {
		if (!me.last_sent && me.sent - me.acked < SLOTS)
			post_send(me.nb_mig > 0 &&
				  me.sent >= me.migrated_at + AFTERWARDS);
		take_completions();
		take_events();
		look_at_state();
		check(time(NULL) < until, "no migration, or no traffic behind");
	}
}

int main(int argc, char **argv)
{
	const char *port = NULL;
	struct ibv_qp_attr attr;
	int c, fd;

	while ((c = getopt(argc, argv, "p:")) == 'p')
		port = optarg;
	check(c == -1 && port != NULL, "usage: failover -p TCP-PORT [HOST]");
	open_device();
	create_qp();
	fd = meet(argv[optind], port);
	exchange(fd, &me.mine, &me.peer, sizeof(me.mine));
	connect_qp();
	exchange(fd, "go", (char[2]){ 0 }, 2);
	run();
	/* The peer may still wait for an acknowledgement. */
	exchange(fd, "ok", (char[2]){ 0 }, 2);
	take_events();
	attr = query();
	printf("%lu sent, %lu received, %u PATH_MIG, %u PATH_MIG_ERR, port "
	       "%u\n",
	       me.sent, me.received, me.nb_mig, me.nb_mig_err, attr.port_num);
	check(me.nb_mig == 1 && me.nb_mig_err == 0, "wrong number of events");
	check(attr.port_num == 2 && attr.path_mig_state == IBV_MIG_MIGRATED,
	      "not on port 2");
	ibv_destroy_qp(me.qp);
	ibv_destroy_cq(me.cq);
	ibv_dereg_mr(me.mr);
	ibv_dealloc_pd(me.pd);
	ibv_close_device(me.context);
	free(me.out);
	return 0;
}
