/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary verbs program: two processes whose UD QPs are attached to one
 * multicast group. Each sends to the group, and each receives what both sent;
 * then one leaves and hears nothing more. It knows nothing of Roost, so that
 * any RDMA device can run it.
 *
 * usage: mcast [-g GID-INDEX] [-n COUNT] [-p PORT] [-w SECONDS] GROUP [HOST]
 *   GROUP  an IPv4 or IPv6 multicast address
 *   HOST   where the other process is, which has none
 *   -g     address of the port to send from (default: 0)
 *   -n     messages to send (default: 100)
 *   -p     TCP port of the side channel (default: 18515)
 *   -w     stay in the group for so long, doing nothing (default: 0)
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define MSG_BYTES 512u
#define GRH_BYTES 40u
#define SLOT_BYTES (GRH_BYTES + MSG_BYTES)
#define QKEY 0x11223344u
#define MCAST_QPN 0xffffffu
#define COUNT_MAX 1000u
#define WAIT_S 10.0
#define SILENCE_S 0.2

static struct {
	uint8_t gid_index;
	unsigned int count;
	const char *port;
	unsigned int wait_s;
	const char *group;
	const char *host; /* NULL: we are the server */
} options = { .count = 100, .port = "18515" };

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf; /* slots to receive, then one to send */
	union ibv_gid group;
	struct ibv_ah *ah;
	uint32_t peer_qpn;
	int peer;                        /* TCP */
	unsigned int seen[2][COUNT_MAX]; /* from the client, from the server */
} me;

static const char *step = "start";

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "mcast: %s: %s (errno: %s)\n", step, what,
		strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (!good)
		fail(what);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- side channel ----------------------------------------------------- */

static int listen_for_peer(const struct addrinfo *ai)
{
	int on = 1;
	int fd, peer;

	fd = socket(ai->ai_family, SOCK_STREAM, 0);
	check(fd >= 0, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(bind(fd, ai->ai_addr, ai->ai_addrlen) == 0, "bind");
	check(listen(fd, 1) == 0, "listen");
	peer = accept(fd, NULL, NULL);
	close(fd);
	return peer;
}

static void meet(void)
{
	struct addrinfo hints = {
		.ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *ai;

	check(getaddrinfo(options.host, options.port, &hints, &ai) == 0,
	      "getaddrinfo");
	if (options.host) {
		me.peer = socket(ai->ai_family, SOCK_STREAM, 0);
		check(me.peer >= 0, "socket");
		check(connect(me.peer, ai->ai_addr, ai->ai_addrlen) == 0,
		      "connect");
	} else {
		me.peer = listen_for_peer(ai);
		check(me.peer >= 0, "accept");
	}
	freeaddrinfo(ai);
}

/* Both are at this step; a number goes each way. */
static uint32_t together(const char *name, uint32_t number)
{
	uint32_t other = 0;

	step = name;
	check(write(me.peer, &number, sizeof(number)) == sizeof(number),
	      "the other process is gone");
	check(recv(me.peer, &other, sizeof(other), MSG_WAITALL) ==
		      sizeof(other),
	      "the other process is gone");
	return other;
}

/* ---- set-up ----------------------------------------------------------- */

static void open_device(void)
{
	struct ibv_device **list;
	int nb;

	list = ibv_get_device_list(&nb);
	check(list && nb > 0, "no device");
	me.context = ibv_open_device(list[0]);
	check(me.context, "ibv_open_device");
	ibv_free_device_list(list);
	me.pd = ibv_alloc_pd(me.context);
	check(me.pd, "ibv_alloc_pd");
}

static void make_qp(void)
{
	unsigned int slots = 2 * options.count;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = slots,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
	};

	me.buf = calloc(slots + 1, SLOT_BYTES);
	check(me.buf, "memory");
	me.mr = ibv_reg_mr(me.pd, me.buf, (slots + 1) * SLOT_BYTES,
			   IBV_ACCESS_LOCAL_WRITE);
	check(me.mr, "ibv_reg_mr");
	me.send_cq = ibv_create_cq(me.context, 16, NULL, NULL, 0);
	me.recv_cq = ibv_create_cq(me.context, (int)slots, NULL, NULL, 0);
	check(me.send_cq && me.recv_cq, "ibv_create_cq");
	init.send_cq = me.send_cq;
	init.recv_cq = me.recv_cq;
	me.qp = ibv_create_qp(me.pd, &init);
	check(me.qp, "ibv_create_qp");
	check(ibv_modify_qp(me.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_QKEY) == 0,
	      "to INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(ibv_modify_qp(me.qp, &attr, IBV_QP_STATE) == 0, "to RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(ibv_modify_qp(me.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0,
	      "to RTS");
}

static void find_group(void)
{
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = options.gid_index, .hop_limit = 1 },
	};

	if (inet_pton(AF_INET6, options.group, me.group.raw) != 1) {
		me.group.raw[10] = 0xff;
		me.group.raw[11] = 0xff;
		check(inet_pton(AF_INET, options.group, &me.group.raw[12]) == 1,
		      "the group is no address");
	}
	ah.grh.dgid = me.group;
	me.ah = ibv_create_ah(me.pd, &ah);
	check(me.ah, "ibv_create_ah");
}

static void post_recv(unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(me.buf + slot * SLOT_BYTES),
		.length = SLOT_BYTES,
		.lkey = me.mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	check(ibv_post_recv(me.qp, &wr, &bad) == 0, "ibv_post_recv");
}

/* ---- messages --------------------------------------------------------- */

/* A message: who it is from, its number, and bytes that follow from both. */
static void fill(uint8_t *msg, bool from_server, uint32_t number)
{
	memcpy(msg, &number, sizeof(number));
	msg[4] = from_server;
	for (unsigned int i = 5; i < MSG_BYTES; i++)
		msg[i] = (uint8_t)(number * 31 + i + from_server);
}

static bool wait_for(struct ibv_cq *cq, struct ibv_wc *wc, double limit_s)
{
	double end_s = now_s() + limit_s;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		check(n >= 0, "ibv_poll_cq");
		if (n == 1) {
			check(wc->status == IBV_WC_SUCCESS,
			      ibv_wc_status_str(wc->status));
			return true;
		}
	} while (now_s() < end_s);
	return false;
}

static void send_one(uint32_t number)
{
	uint8_t *msg = me.buf + 2 * options.count * SLOT_BYTES;
	struct ibv_sge sge = {
		.addr = (uintptr_t)msg,
		.length = MSG_BYTES,
		.lkey = me.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = me.ah,
			   .remote_qpn = MCAST_QPN,
			   .remote_qkey = QKEY },
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	fill(msg, options.host == NULL, number);
	check(ibv_post_send(me.qp, &wr, &bad) == 0, "ibv_post_send");
	check(wait_for(me.send_cq, &wc, WAIT_S), "a send does not complete");
}

/* The group stands in the header in front, as GRH or at its end as IPv4. */
static bool names_group(const uint8_t grh[GRH_BYTES])
{
	if (me.group.raw[0] == 0xff)
		return memcmp(grh + 24, me.group.raw, 16) == 0;
	return memcmp(grh + 36, me.group.raw + 12, 4) == 0;
}

static void check_message(const struct ibv_wc *wc)
{
	const uint8_t *slot = me.buf + wc->wr_id * SLOT_BYTES;
	const uint8_t *msg = slot + GRH_BYTES;
	uint8_t want[MSG_BYTES];
	uint32_t number;

	memcpy(&number, msg, sizeof(number));
	check(wc->byte_len == SLOT_BYTES, "length");
	check(wc->wc_flags & IBV_WC_GRH, "no GRH");
	check(names_group(slot), "the GRH does not name the group");
	check(number < options.count && msg[4] <= 1, "not a message of ours");
	fill(want, msg[4], number);
	check(memcmp(msg, want, MSG_BYTES) == 0, "bytes differ");
	check(wc->src_qp == (msg[4] == (options.host == NULL) ? me.qp->qp_num
							      : me.peer_qpn),
	      "source QP");
	check(me.seen[msg[4]][number]++ == 0, "a message came twice");
	post_recv((unsigned int)wc->wr_id);
}

static unsigned int receive(unsigned int most, double limit_s)
{
	unsigned int n = 0;
	struct ibv_wc wc;

	while (n < most && wait_for(me.recv_cq, &wc, limit_s)) {
		check_message(&wc);
		n++;
	}
	return n;
}

/* ---- the run ---------------------------------------------------------- */

static void all_hear_all(void)
{
	unsigned int n;

	for (uint32_t i = 0; i < options.count; i++)
		send_one(i);
	n = receive(2 * options.count, WAIT_S);
	if (n != 2 * options.count) {
		fprintf(stderr, "mcast: %u of %u messages came\n", n,
			2 * options.count);
		fail("messages are missing");
	}
	memset(me.seen, 0, sizeof(me.seen));
}

/* The server leaves; the client still hears itself. */
static void who_left_hears_nothing(void)
{
	bool server = options.host == NULL;
	unsigned int want;

	if (server)
		check(ibv_detach_mcast(me.qp, &me.group, 0) == 0,
		      "ibv_detach_mcast");
	together("the server has left", 0);
	if (!server)
		send_one(0);
	want = server ? 0 : 1;
	check(receive(2, SILENCE_S) == want,
	      server ? "a message came although we left"
		     : "we do not hear ourselves");
	together("all is quiet", 0);
	if (!server)
		check(ibv_detach_mcast(me.qp, &me.group, 0) == 0,
		      "ibv_detach_mcast");
}

static void clean_up(void)
{
	step = "clean-up";
	check(ibv_destroy_ah(me.ah) == 0, "ibv_destroy_ah");
	check(ibv_destroy_qp(me.qp) == 0, "ibv_destroy_qp");
	check(ibv_destroy_cq(me.send_cq) == 0, "ibv_destroy_cq");
	check(ibv_destroy_cq(me.recv_cq) == 0, "ibv_destroy_cq");
	check(ibv_dereg_mr(me.mr) == 0, "ibv_dereg_mr");
	check(ibv_dealloc_pd(me.pd) == 0, "ibv_dealloc_pd");
	check(ibv_close_device(me.context) == 0, "ibv_close_device");
}

static void parse_args(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "g:n:p:w:")) != -1) {
		switch (c) {
		case 'g':
			options.gid_index = (uint8_t)atoi(optarg);
			break;
		case 'n':
			options.count = (unsigned int)atoi(optarg);
			break;
		case 'p':
			options.port = optarg;
			break;
		case 'w':
			options.wait_s = (unsigned int)atoi(optarg);
			break;
		default:
			exit(2);
		}
	}
	check(optind < argc, "which group?");
	check(options.count >= 1 && options.count <= COUNT_MAX, "count");
	options.group = argv[optind];
	options.host = argv[optind + 1];
}

int main(int argc, char **argv)
{
	parse_args(argc, argv);
	step = "set-up";
	open_device();
	make_qp();
	find_group();
	for (unsigned int i = 0; i < 2 * options.count; i++)
		post_recv(i);
	meet();
	me.peer_qpn = together("QP numbers", me.qp->qp_num);
	check(ibv_attach_mcast(me.qp, &me.group, 0) == 0, "ibv_attach_mcast");
	together("attached", 0);
	sleep(options.wait_s);
	together("ready", 0);
	all_hear_all();
	together("all heard all", 0);
	who_left_hears_nothing();
	together("end", 0);
	clean_up();
	printf("%s: %u messages each way\n", options.group, options.count);
	return 0;
}
