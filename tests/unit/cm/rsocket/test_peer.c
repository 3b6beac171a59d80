/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An rsocket and a peer that is none: the test speaks the protocol by hand, as
 * another implementation would, big-endian and with a small buffer.
 */

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

#define HALF 100u
#define RECV_WR 32
#define OP(msg) ((msg) >> 29)
#define DATA(msg) ((msg)&0x1fffffff)

/* What the peer exposes: two slots, four I/O map entries, a buffer. */
struct memory {
	struct {
		uint64_t addr;
		uint32_t key;
		uint32_t length;
	} slots[2];
	struct {
		uint64_t offset;
		uint64_t addr;
		uint32_t key;
		uint32_t length;
	} iomaps[4];
	uint8_t buf[2 * HALF];
};

struct peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *cq_channel;
	struct ibv_cq *cq;
	struct memory memory;
	struct ibv_mr *mr;
	uint8_t hello[40]; /* of the rsocket */
	int fd;            /* the rsocket */
	int listener;
};

static struct rdma_cm_event *next_event(struct peer *peer,
					enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(peer->channel, &event), 0);
	assert_int_equal(event->event, type);
	return event;
}

static void ack_event(struct peer *peer, enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(next_event(peer, type));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return be32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static void make_hello(struct peer *peer, uint8_t *out)
{
	const uint64_t slots = (uintptr_t)peer->memory.slots;
	const uint64_t buf = (uintptr_t)peer->memory.buf;

	memset(out, 0, 40);
	out[0] = 1;
	out[1] = 3; /* big endian, I/O map */
	out[3] = RECV_WR;
	out[7] = 4;
	put32(out + 8, (uint32_t)(slots >> 32));
	put32(out + 12, (uint32_t)slots);
	put32(out + 16, peer->mr->rkey);
	put32(out + 20, 2);
	put32(out + 24, (uint32_t)(buf >> 32));
	put32(out + 28, (uint32_t)buf);
	put32(out + 32, peer->mr->rkey);
	put32(out + 36, HALF);
}

static void post_recv(struct peer *peer)
{
	struct ibv_recv_wr wr = { .wr_id = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(peer->id->qp, &wr, &bad), 0);
}

/* The receive queue of the next rsocket; 0: as configured. */
static int recv_wr;

/* The peer connects to a listening rsocket. */
static void peer_open(struct peer *peer, const uint8_t *hello)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct sockaddr_in addr = pair_addr(PORT);
	uint8_t own[40];
	struct rdma_conn_param param = { .private_data_len = 40 };
	struct rdma_cm_event *event;

	memset(peer, 0, sizeof(*peer));
	peer->listener = pair_listen(1);
	if (recv_wr > 0)
		rsetsockopt(peer->listener, SOL_RDMA, RDMA_RQSIZE, &recv_wr,
			    sizeof(recv_wr));
	peer->channel = rdma_create_event_channel();
	rdma_create_id(peer->channel, &peer->id, NULL, RDMA_PS_TCP);
	rdma_resolve_addr(peer->id, NULL, (struct sockaddr *)&addr, 1000);
	ack_event(peer, RDMA_CM_EVENT_ADDR_RESOLVED);
	rdma_resolve_route(peer->id, 1000);
	ack_event(peer, RDMA_CM_EVENT_ROUTE_RESOLVED);
	peer->cq_channel = ibv_create_comp_channel(peer->id->verbs);
	peer->cq =
		ibv_create_cq(peer->id->verbs, 256, NULL, peer->cq_channel, 0);
	attr.send_cq = attr.recv_cq = peer->cq;
	rdma_create_qp(peer->id, NULL, &attr);
	peer->mr = ibv_reg_mr(peer->id->pd, &peer->memory, sizeof(peer->memory),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	for (int i = 0; i < RECV_WR; i++)
		post_recv(peer);
	make_hello(peer, own);
	param.private_data = hello != NULL ? hello : own;
	rdma_connect(peer->id, &param);
	if (hello != NULL)
		return;
	event = next_event(peer, RDMA_CM_EVENT_ESTABLISHED);
	memcpy(peer->hello, event->param.conn.private_data, 40);
	rdma_ack_cm_event(event);
	peer->fd = raccept(peer->listener, NULL, NULL);
	assert_true(peer->fd >= 0);
}

static void peer_close(struct peer *peer)
{
	if (peer->fd > 0)
		assert_int_equal(rclose(peer->fd), 0);
	assert_int_equal(rclose(peer->listener), 0);
	rdma_destroy_qp(peer->id);
	ibv_destroy_cq(peer->cq);
	ibv_destroy_comp_channel(peer->cq_channel);
	ibv_dereg_mr(peer->mr);
	rdma_destroy_id(peer->id);
	rdma_destroy_event_channel(peer->channel);
	pair_assert_clean();
}

/* The next message that the rsocket sent; -1: none. */
static int64_t next_msg(struct peer *peer)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(peer->cq, 1, &wc) == 1) {
		if (!(wc.wc_flags & IBV_WC_WITH_IMM))
			continue;
		post_recv(peer);
		return be32toh(wc.imm_data);
	}
	return -1;
}

/* Lets the rsocket take completions. */
static void turn(struct peer *peer)
{
	struct pollfd pollfd = { .fd = peer->fd, .events = 0 };

	rpoll(&pollfd, 1, 0);
}

static void write_imm(struct peer *peer, const void *from, uint32_t length,
		      uint64_t to, uint32_t key, uint32_t msg)
{
	struct ibv_sge sge = { (uintptr_t)from, length, 0 };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = length > 0,
		.imm_data = htobe32(msg),
		.wr.rdma.remote_addr = to,
		.wr.rdma.rkey = key,
	};

	assert_int_equal(ibv_post_send(peer->id->qp, &wr, &bad), 0);
}

static void peer__hello_of_the_rsocket(void **state)
{
	struct peer peer;

	peer_open(&peer, NULL);
	assert_int_equal(peer.hello[0], 1);
	assert_int_equal(peer.hello[1], __BYTE_ORDER == __BIG_ENDIAN ? 3 : 2);
	assert_int_equal(get32(peer.hello) & 0xffff, 384);
	assert_int_equal(get32(peer.hello + 20), 2);
	assert_int_equal(get32(peer.hello + 36), 1 << 16);
	peer_close(&peer);
}

/* The second half of the buffer is told at once, with the credits. */
static void peer__second_half_at_once(void **state)
{
	struct peer peer;
	int64_t msg;

	peer_open(&peer, NULL);
	msg = next_msg(&peer);
	assert_int_equal(OP(msg), 4);
	assert_int_equal(DATA(msg), 384);
	assert_int_equal(be64toh(peer.memory.slots[1].addr),
			 get64(peer.hello + 24) + (1 << 16));
	assert_int_equal(be32toh(peer.memory.slots[1].key),
			 get32(peer.hello + 32));
	assert_int_equal(be32toh(peer.memory.slots[1].length), 1 << 16);
	assert_int_equal(peer.memory.slots[0].length, 0);
	assert_int_equal(next_msg(&peer), -1);
	peer_close(&peer);
}

static void peer__sends_into_what_it_was_given(void **state)
{
	uint8_t data[300];
	struct {
		uint64_t addr;
		uint32_t key;
		uint32_t length;
	} slot;
	struct peer peer;

	peer_open(&peer, NULL);
	next_msg(&peer);
	pair_fill(data, sizeof(data), 1);
	/* 100 bytes of buffer are known: no more is taken. */
	assert_int_equal(rsend(peer.fd, data, 300, MSG_DONTWAIT), HALF);
	assert_int_equal(next_msg(&peer), HALF);
	assert_memory_equal(peer.memory.buf, data, HALF);
	assert_int_equal(rsend(peer.fd, data, 1, MSG_DONTWAIT), -1);

	/* The other half, into the rsocket's slot 1, in its byte order. */
	slot.addr = (uintptr_t)peer.memory.buf + HALF;
	slot.key = peer.mr->rkey;
	slot.length = HALF;
	write_imm(&peer, &slot, 16, get64(peer.hello + 8) + 16,
		  get32(peer.hello + 16), 0x80000000 | (RECV_WR + 1));
	assert_int_equal(rsend(peer.fd, data + HALF, 30, 0), 30);
	assert_int_equal(rsend(peer.fd, data + HALF + 30, 200, MSG_DONTWAIT),
			 70);
	assert_int_equal(next_msg(&peer), 30);
	assert_int_equal(next_msg(&peer), 70);
	assert_memory_equal(peer.memory.buf, data, 2 * HALF);

	/* And the first again, into slot 0. */
	slot.addr = (uintptr_t)peer.memory.buf;
	write_imm(&peer, &slot, 16, get64(peer.hello + 8),
		  get32(peer.hello + 16), 0x80000000 | (RECV_WR + 3));
	assert_int_equal(rsend(peer.fd, data, 300, MSG_DONTWAIT), HALF);
	peer_close(&peer);
}

static void peer__stops_without_credits(void **state)
{
	struct peer peer;
	int nb = 0;

	peer_open(&peer, NULL);
	while (rsend(peer.fd, "x", 1, MSG_DONTWAIT) == 1)
		nb++;
	assert_int_equal(nb, RECV_WR);
	/* 16 bits count: the limit may lie behind the turn. */
	write_imm(&peer, NULL, 0, 0, 0, 0x80000000 | (RECV_WR + 2));
	while (rsend(peer.fd, "x", 1, MSG_DONTWAIT) == 1)
		nb++;
	assert_int_equal(nb, RECV_WR + 2);
	/* rclose() waits until the peer has room for everything. */
	while (nb > 0)
		nb -= next_msg(&peer) == 1;
	peer_close(&peer);
}

static void peer__gives_credits_as_it_reads(void **state)
{
	struct peer peer;
	uint64_t to;
	int64_t msg;
	char byte;

	peer_open(&peer, NULL);
	next_msg(&peer);
	to = get64(peer.hello + 24);
	for (int i = 0; i < 192; i++) {
		write_imm(&peer, "y", 1, to++, get32(peer.hello + 32), 1);
		turn(&peer);
	}
	/* Nothing was read: nothing is given. */
	assert_int_equal(next_msg(&peer), -1);
	for (int i = 0; i < 191; i++)
		assert_int_equal(rrecv(peer.fd, &byte, 1, 0), 1);
	assert_int_equal(next_msg(&peer), -1);
	assert_int_equal(rrecv(peer.fd, &byte, 1, 0), 1);
	msg = next_msg(&peer);
	assert_int_equal(OP(msg), 4);
	assert_int_equal(DATA(msg), 192 + 384);
	peer_close(&peer);
}

static void peer__shutdown_and_disconnect(void **state)
{
	struct peer peer;
	char byte;

	peer_open(&peer, NULL);
	next_msg(&peer);
	assert_int_equal(rshutdown(peer.fd, SHUT_WR), 0);
	assert_int_equal(next_msg(&peer), 0xe0000002);
	assert_int_equal(rshutdown(peer.fd, SHUT_WR), 0);
	assert_int_equal(next_msg(&peer), -1);
	write_imm(&peer, NULL, 0, 0, 0, 0xe0000000);
	assert_int_equal(rrecv(peer.fd, &byte, 1, 0), 0);
	peer_close(&peer);

	peer_open(&peer, NULL);
	next_msg(&peer);
	assert_int_equal(rshutdown(peer.fd, SHUT_RD), 0);
	assert_int_equal(next_msg(&peer), -1);
	assert_int_equal(rshutdown(peer.fd, SHUT_RDWR), 0);
	assert_int_equal(next_msg(&peer), 0xe0000000);
	peer_close(&peer);
}

struct shutting {
	int fd;
	atomic_bool done;
};

static void *shut_down(void *arg)
{
	struct shutting *s = arg;

	assert_int_equal(rshutdown(s->fd, SHUT_WR), 0);
	atomic_store(&s->done, true);
	return NULL;
}

/* A peer that sends no more still reads: what waits for it is not given up. */
static void peer__shutdown_of_both_ends(void **state)
{
	struct shutting shutting = { 0 };
	struct peer peer;
	pthread_t thread;
	unsigned int nb = 1;
	int64_t msg = 0;

	peer_open(&peer, NULL);
	fake_posted(IBV_WR_RDMA_WRITE_WITH_IMM);
	/* One more message than the peer has receive requests. */
	while (rsend(peer.fd, "x", 1, MSG_DONTWAIT) == 1)
		nb++;
	assert_int_equal(nb, RECV_WR + 1);
	shutting.fd = peer.fd;
	pthread_create(&thread, NULL, shut_down, &shutting);
	while (nb > 0)
		nb -= fake_posted(IBV_WR_RDMA_WRITE_WITH_IMM);
	write_imm(&peer, NULL, 0, 0, 0, 0xe0000002);
	usleep(20000);
	assert_false(atomic_load(&shutting.done));
	while (msg != 0xe0000002)
		msg = next_msg(&peer);
	pthread_join(thread, NULL);
	peer_close(&peer);
}

/* The peer's SHUTDOWN is there, but no call has seen it: ours goes out still.
 */
static void peer__shutdown_that_nobody_has_seen(void **state)
{
	struct peer peer;
	char byte;

	peer_open(&peer, NULL);
	next_msg(&peer);
	write_imm(&peer, NULL, 0, 0, 0, 0xe0000002);
	assert_int_equal(rshutdown(peer.fd, SHUT_WR), 0);
	assert_int_equal(next_msg(&peer), 0xe0000002);
	assert_int_equal(rrecv(peer.fd, &byte, 1, 0), 0);
	peer_close(&peer);
}

static void *close_it(void *arg)
{
	struct shutting *s = arg;

	assert_int_equal(rclose(s->fd), 0);
	atomic_store(&s->done, true);
	return NULL;
}

static void *shut_down_or_not(void *arg)
{
	/* EBADF, if rclose() ends first. */
	rshutdown(((struct shutting *)arg)->fd, SHUT_WR);
	return NULL;
}

/* rclose() gives up nothing that another thread's rshutdown() waits for. */
static void peer__closed_while_shutting_down(void **state)
{
	struct shutting closing = { 0 };
	struct peer peer;
	pthread_t threads[2];
	unsigned int nb = 1;
	unsigned int nb_came = 0;
	int64_t msg = 0;

	peer_open(&peer, NULL);
	next_msg(&peer);
	fake_posted(IBV_WR_RDMA_WRITE_WITH_IMM);
	while (rsend(peer.fd, "x", 1, MSG_DONTWAIT) == 1)
		nb++;
	closing.fd = peer.fd;
	pthread_create(&threads[0], NULL, shut_down_or_not, &closing);
	while (nb > 0)
		nb -= fake_posted(IBV_WR_RDMA_WRITE_WITH_IMM);
	write_imm(&peer, NULL, 0, 0, 0, 0xe0000002);
	usleep(20000);
	pthread_create(&threads[1], NULL, close_it, &closing);
	usleep(20000);
	assert_false(atomic_load(&closing.done));
	while (msg != 0xe0000002) {
		msg = next_msg(&peer);
		nb_came += msg == 1;
	}
	assert_int_equal(nb_came, RECV_WR);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	peer.fd = 0;
	peer_close(&peer);
}

static unsigned int nb_writes_done(struct peer *peer)
{
	unsigned int nb = 0;
	struct ibv_wc wc;

	while (ibv_poll_cq(peer->cq, 1, &wc) == 1)
		nb += !(wc.wc_flags & IBV_WC_WITH_IMM);
	return nb;
}

/* Credits that crossed our SHUTDOWN: the peer waits until they have arrived. */
static void peer__credits_after_the_last_shutdown(void **state)
{
	struct peer peer;
	char bytes[16];

	recv_wr = 16;
	peer_open(&peer, NULL);
	recv_wr = 0;
	assert_int_equal(rshutdown(peer.fd, SHUT_WR), 0);
	for (unsigned int i = 0; i < 15; i++)
		write_imm(&peer, "y", 1, get64(peer.hello + 24) + i,
			  get32(peer.hello + 32), 1);
	write_imm(&peer, NULL, 0, 0, 0, 0xe0000002);
	write_imm(&peer, NULL, 0, 0, 0, 0x80000000 | (2 * RECV_WR));
	assert_int_equal(rrecv(peer.fd, bytes, 16, MSG_WAITALL), 15);
	assert_int_equal(nb_writes_done(&peer), 17);
	peer_close(&peer);
}

static void peer__iomap_in_its_order(void **state)
{
	static uint8_t window[4096];
	struct peer peer;
	int64_t msg;

	peer_open(&peer, NULL);
	next_msg(&peer);
	assert_int_equal(riomap(peer.fd, window, sizeof(window), PROT_WRITE, 0,
				0x5000),
			 0x5000);
	assert_int_equal(next_msg(&peer), -1);
	assert_int_equal(rsend(peer.fd, "x", 1, 0), 1);
	msg = next_msg(&peer);
	assert_int_equal(OP(msg), 6);
	assert_int_equal(DATA(msg), 0);
	assert_int_equal(be64toh(peer.memory.iomaps[0].offset), 0x5000);
	assert_int_equal(be64toh(peer.memory.iomaps[0].addr),
			 (uintptr_t)window);
	assert_int_equal(be32toh(peer.memory.iomaps[0].length), 4096);
	assert_int_equal(next_msg(&peer), 1);
	assert_int_equal(riounmap(peer.fd, window, sizeof(window)), 0);
	peer_close(&peer);
}

static void peer__more_than_was_offered(void **state)
{
	struct peer peer;
	char byte;

	peer_open(&peer, NULL);
	write_imm(&peer, NULL, 0, 0, 0, (1 << 17) + 1);
	assert_int_equal(rrecv(peer.fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EPROTO);
	peer_close(&peer);
}

static void peer__without_a_hello(void **state)
{
	static const uint8_t garbage[40] = { 9 };
	struct peer peer;

	peer_open(&peer, garbage);
	usleep(10000);
	ack_event(&peer, RDMA_CM_EVENT_REJECTED);
	peer_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peer__hello_of_the_rsocket),
		cmocka_unit_test(peer__second_half_at_once),
		cmocka_unit_test(peer__sends_into_what_it_was_given),
		cmocka_unit_test(peer__stops_without_credits),
		cmocka_unit_test(peer__gives_credits_as_it_reads),
		cmocka_unit_test(peer__shutdown_and_disconnect),
		cmocka_unit_test(peer__shutdown_of_both_ends),
		cmocka_unit_test(peer__shutdown_that_nobody_has_seen),
		cmocka_unit_test(peer__closed_while_shutting_down),
		cmocka_unit_test(peer__credits_after_the_last_shutdown),
		cmocka_unit_test(peer__iomap_in_its_order),
		cmocka_unit_test(peer__more_than_was_offered),
		cmocka_unit_test(peer__without_a_hello),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
