/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary verbs program: one process, one device, two RC QPs that are
 * connected to each other. It knows nothing of Roost, so that any RDMA device
 * can run it.
 *
 * usage: loopback [-g GID-INDEX] [-e]
 *   -g  address the port by this GID (default: by its LID)
 *   -e  sleep on completion events (default: poll)
 */

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/real/user.h"

#define BUF_BYTES (2u << 20)
#define QUEUE_WRS 64u
#define SGES 4u
#define INLINE_BYTES 64u
#define WAIT_S 10

/* One QP and what belongs to it. */
struct end {
	const char *name;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of sends and receives */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct {
	int gid_index; /* -1: by LID */
	bool events;
} options = { .gid_index = -1 };

static const char *step = "start";
static unsigned int steps;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "loopback: %s: %s (errno: %s)\n", step, what,
		strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (!good)
		fail(what);
}

static void begin(const char *name)
{
	step = name;
	steps++;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- set-up ----------------------------------------------------------- */

static struct ibv_context *open_device(void)
{
	struct ibv_device **list;
	struct ibv_context *context;
	int nb;

	list = ibv_get_device_list(&nb);
	check(list && nb > 0, "no device");
	context = ibv_open_device(list[0]);
	check(context, "ibv_open_device");
	ibv_free_device_list(list);
	return context;
}

static void make_end(struct end *end, struct ibv_pd *pd, const char *name)
{
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = QUEUE_WRS,
			.max_recv_wr = QUEUE_WRS,
			.max_send_sge = SGES,
			.max_recv_sge = SGES,
			.max_inline_data = INLINE_BYTES,
		},
		.qp_type = IBV_QPT_RC,
	};

	end->name = name;
	end->buf = calloc(1, BUF_BYTES);
	check(end->buf, "memory");
	end->mr = ibv_reg_mr(pd, end->buf, BUF_BYTES, IBV_ACCESS_LOCAL_WRITE);
	check(end->mr, "ibv_reg_mr");
	end->channel = ibv_create_comp_channel(pd->context);
	check(end->channel, "ibv_create_comp_channel");
	end->cq =
		ibv_create_cq(pd->context, 2 * QUEUE_WRS, end, end->channel, 0);
	check(end->cq, "ibv_create_cq");
	check(ibv_req_notify_cq(end->cq, 0) == 0, "ibv_req_notify_cq");
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	check(end->qp, "ibv_create_qp");
}

static struct ibv_ah_attr address_of_port(struct ibv_context *context)
{
	struct ibv_ah_attr ah = { .port_num = 1 };
	struct ibv_port_attr port;

	check(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
	check(port.state == IBV_PORT_ACTIVE, "the port is not active");
	if (options.gid_index < 0) {
		check(port.lid != 0, "the port has no LID");
		ah.dlid = port.lid;
		return ah;
	}
	ah.is_global = 1;
	ah.grh.sgid_index = (uint8_t)options.gid_index;
	ah.grh.hop_limit = 1;
	check(ibv_query_gid(context, 1, options.gid_index, &ah.grh.dgid) == 0,
	      "ibv_query_gid");
	return ah;
}

static void connect_to(struct end *end, const struct end *peer, uint32_t psn,
		       uint32_t peer_psn)
{
	struct ibv_ah_attr ah = address_of_port(end->qp->context);

	check(user_to_rtr(end->qp, peer->qp->qp_num, &ah, peer_psn) == 0,
	      "to RTR");
	check(user_to_rts(end->qp, psn) == 0, "to RTS");
}

/* ---- work ------------------------------------------------------------- */

/* Cut [offset, offset + len) of the buffer into nb pieces. */
static void cut(const struct end *end, size_t offset, size_t len,
		unsigned int nb, struct ibv_sge sges[SGES])
{
	size_t piece = len / nb;

	for (unsigned int i = 0; i < nb; i++) {
		sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)end->buf + offset + i * piece,
			.length = (uint32_t)piece,
			.lkey = end->mr->lkey,
		};
	}
	sges[nb - 1].length = (uint32_t)(len - (nb - 1) * piece);
}

static void post_recv(struct end *end, size_t offset, size_t len,
		      unsigned int nb_sges, uint64_t id)
{
	struct ibv_sge sges[SGES];
	struct ibv_recv_wr wr = {
		.wr_id = id,
		.sg_list = sges,
		.num_sge = (int)nb_sges,
	};
	struct ibv_recv_wr *bad;

	if (nb_sges > 0)
		cut(end, offset, len, nb_sges, sges);
	check(ibv_post_recv(end->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void post_send(struct end *end, size_t offset, size_t len,
		      unsigned int nb_sges, uint64_t id, unsigned int flags)
{
	struct ibv_sge sges[SGES];
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = sges,
		.num_sge = (int)nb_sges,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = flags,
		.imm_data = (uint32_t)id,
	};
	struct ibv_send_wr *bad;

	if (nb_sges > 0)
		cut(end, offset, len, nb_sges, sges);
	check(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Sleep until the CQ has had an event, and arm it again. */
static void sleep_on(struct end *end)
{
	struct pollfd pollfd = { .fd = end->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	check(poll(&pollfd, 1, WAIT_S * 1000) == 1, "no completion event");
	check(ibv_get_cq_event(end->channel, &cq, &context) == 0,
	      "ibv_get_cq_event");
	check(cq == end->cq && context == end, "an event of another CQ");
	ibv_ack_cq_events(cq, 1);
	check(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
}

/* The next completion, whatever its status. */
static struct ibv_wc take(struct end *end)
{
	double deadline_ms = now_ms() + WAIT_S * 1e3;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(end->cq, 1, &wc)) == 0) {
		if (options.events)
			sleep_on(end);
		check(now_ms() < deadline_ms, "no completion");
	}
	check(n == 1, "ibv_poll_cq");
	check(wc.qp_num == end->qp->qp_num, "a completion of another QP");
	return wc;
}

static void take_nothing(struct end *end)
{
	struct ibv_wc wc;

	check(ibv_poll_cq(end->cq, 1, &wc) == 0, "one completion too many");
}

static void take_send(struct end *end, uint64_t id)
{
	struct ibv_wc wc = take(end);

	check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	check(wc.opcode == IBV_WC_SEND && wc.wr_id == id,
	      "not the completion of this send");
}

static void take_recv(struct end *end, uint64_t id, size_t len)
{
	struct ibv_wc wc = take(end);

	check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	check(wc.opcode == IBV_WC_RECV && wc.wr_id == id,
	      "not the completion of this receive");
	check(wc.byte_len == len, "wrong length");
	check(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == (uint32_t)id,
	      "wrong immediate data");
}

/* ---- checks ----------------------------------------------------------- */

static void fill(struct end *end, size_t offset, size_t len, unsigned int seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		end->buf[offset + i] = (uint8_t)(x >> 24);
	}
}

/* One message; the byte behind it in the receiver's buffer stays. */
static void message(struct end *from, struct end *to, size_t len,
		    unsigned int send_sges, unsigned int recv_sges,
		    unsigned int flags)
{
	uint64_t id = 100 + steps;

	fill(from, 0, len, steps);
	memset(to->buf, 0x5a, len + 1);
	post_recv(to, 0, len, recv_sges, id);
	post_send(from, 0, len, send_sges, id, flags | IBV_SEND_SIGNALED);
	take_recv(to, id, len);
	take_send(from, id);
	check(memcmp(from->buf, to->buf, len) == 0, "data differ");
	check(to->buf[len] == 0x5a, "a byte too many was written");
}

static void check_messages(struct end *a, struct end *b)
{
	static const size_t sizes[] = { 1,    2,    3,    63,    1023,
					1024, 1025, 4096, 65537, 1048579 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin("messages of many sizes");
		message(a, b, sizes[i], 1, 1, 0);
		message(b, a, sizes[i], 1, 1, 0);
	}
	begin("an empty message");
	message(a, b, 0, 0, 0, 0);
	begin("inline data");
	message(a, b, INLINE_BYTES, 1, 1, IBV_SEND_INLINE);
	begin("several pieces to several others");
	message(a, b, 5003, 3, 4, 0);
	message(b, a, 5003, 4, 2, 0);
	begin("a solicited message");
	message(a, b, 10, 1, 1, IBV_SEND_SOLICITED);
}

static void check_unsignalled(struct end *a, struct end *b)
{
	begin("unsignalled sends");
	for (uint64_t i = 0; i < 8; i++)
		post_recv(b, i * 64, 64, 1, i);
	for (uint64_t i = 0; i < 8; i++)
		post_send(a, i * 64, 64, 1, i, i == 7 ? IBV_SEND_SIGNALED : 0);
	for (uint64_t i = 0; i < 8; i++)
		take_recv(b, i, 64);
	take_send(a, 7);
	take_nothing(a);
}

static void check_inline_is_copied(struct end *a, struct end *b)
{
	begin("inline data is the application's again at once");
	for (uint64_t i = 0; i < 8; i++)
		post_recv(b, i, 1, 1, i);
	for (uint64_t i = 0; i < 8; i++) {
		a->buf[0] = (uint8_t)(0x10 + i);
		post_send(a, 0, 1, 1, i, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
		a->buf[0] = 0;
	}
	for (uint64_t i = 0; i < 8; i++) {
		take_recv(b, i, 1);
		take_send(a, i);
		check(b->buf[i] == 0x10 + i, "data differ");
	}
}

/* Receives come after the messages that want them. */
static void check_late_receive(struct end *a, struct end *b)
{
	begin("a receiver that is not ready");
	fill(a, 0, 3000, steps);
	post_send(a, 0, 3000, 1, 1, IBV_SEND_SIGNALED);
	usleep(2000);
	take_nothing(b);
	post_recv(b, 0, 3000, 1, 1);
	take_recv(b, 1, 3000);
	take_send(a, 1);
	check(memcmp(a->buf, b->buf, 3000) == 0, "data differ");
}

static void check_both_ways(struct end *a, struct end *b)
{
	struct end *ends[] = { a, b };
	unsigned int sent[2] = { 0 }, got[2] = { 0 };

	begin("both ways at once");
	for (unsigned int i = 0; i < 2 * 32; i++)
		post_recv(ends[i % 2], 0, 10000, 1, i);
	for (unsigned int i = 0; i < 2 * 32; i++)
		post_send(ends[i % 2], 1 << 20, 10000, 1, i, IBV_SEND_SIGNALED);
	for (unsigned int i = 0; i < 4 * 32; i++) {
		struct ibv_wc wc = take(ends[i % 2]);

		check(wc.status == IBV_WC_SUCCESS,
		      ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV)
			got[i % 2]++;
		else
			sent[i % 2]++;
	}
	check(sent[0] == 32 && sent[1] == 32 && got[0] == 32 && got[1] == 32,
	      "some came twice");
}

static enum ibv_qp_state state_of(struct end *end)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	check(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == 0,
	      "ibv_query_qp");
	return attr.qp_state;
}

static void take_status(struct end *end, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = take(end);

	check(wc.status == status, ibv_wc_status_str(wc.status));
	check(wc.wr_id == id, "a completion of another request");
}

/* The last check: both QPs are in ERR after it. */
static void check_too_long(struct end *a, struct end *b)
{
	begin("a message longer than its receive");
	post_recv(b, 0, 99, 1, 1);
	post_recv(b, 0, 100, 1, 2);
	post_send(a, 0, 100, 1, 3, IBV_SEND_SIGNALED);
	take_status(b, 1, IBV_WC_LOC_LEN_ERR);
	take_status(b, 2, IBV_WC_WR_FLUSH_ERR);
	take_status(a, 3, IBV_WC_REM_INV_REQ_ERR);
	check(state_of(a) == IBV_QPS_ERR, "the sender is not in ERR");
	check(state_of(b) == IBV_QPS_ERR, "the receiver is not in ERR");
	begin("requests after an error");
	post_send(a, 0, 100, 1, 4, 0);
	take_status(a, 4, IBV_WC_WR_FLUSH_ERR);
	post_recv(b, 0, 100, 1, 5);
	take_status(b, 5, IBV_WC_WR_FLUSH_ERR);
}

static void destroy_end(struct end *end)
{
	check(ibv_destroy_qp(end->qp) == 0, "ibv_destroy_qp");
	check(ibv_destroy_cq(end->cq) == 0, "ibv_destroy_cq");
	check(ibv_destroy_comp_channel(end->channel) == 0,
	      "ibv_destroy_comp_channel");
	check(ibv_dereg_mr(end->mr) == 0, "ibv_dereg_mr");
	free(end->buf);
}

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "g:e")) != -1) {
		if (opt == 'g') {
			options.gid_index = atoi(optarg);
		} else if (opt == 'e') {
			options.events = true;
		} else {
			fprintf(stderr, "usage: loopback [-g INDEX] [-e]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct end a, b;
	double start_ms, first_ms;
	struct ibv_pd *pd;

	parse_options(argc, argv);
	begin("set-up");
	start_ms = now_ms();
	context = open_device();
	pd = ibv_alloc_pd(context);
	check(pd, "ibv_alloc_pd");
	make_end(&a, pd, "a");
	make_end(&b, pd, "b");
	check(user_to_init(a.qp, 0) == 0, "to INIT");
	check(user_to_init(b.qp, 0) == 0, "to INIT");
	/* The PSNs of one direction wrap in the large messages. */
	connect_to(&a, &b, 0xfffff0, 0x000010);
	connect_to(&b, &a, 0x000010, 0xfffff0);
	begin("the first message");
	message(&a, &b, 64, 1, 1, 0);
	first_ms = now_ms() - start_ms;

	check_messages(&a, &b);
	check_unsignalled(&a, &b);
	check_inline_is_copied(&a, &b);
	check_late_receive(&a, &b);
	check_both_ways(&a, &b);
	check_too_long(&a, &b);

	begin("clean-up");
	destroy_end(&a);
	destroy_end(&b);
	check(ibv_dealloc_pd(pd) == 0, "ibv_dealloc_pd");
	check(ibv_close_device(context) == 0, "ibv_close_device");
	printf("%u checks passed\n", steps);
	printf("open to first completion: %.0f ms\n", first_ms);
	return 0;
}
