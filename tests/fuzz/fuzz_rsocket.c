/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A stream rsocket whose peer writes what it likes, over the fake device of the
 * unit tests; and the headers of datagrams. Input: the peer's hello, then
 * operations of the peer and of the program.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cm/rsocket/stream.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/cm/rsocket/fake.h"

#define RING_BYTES 512u
#define WRS 16u
#define IOMAPS 4u
#define OPS_MAX 64u
#define MEMORY_BYTES 4096u

static struct rdma_event_channel *channel;
static struct roost_rs_stream *st;
static struct ibv_comp_channel *peer_channel;
static struct ibv_cq *peer_cq;
static struct ibv_qp *peer;
static struct ibv_mr *peer_mr;
static uint8_t peer_memory[MEMORY_BYTES];
static uint8_t own_memory[MEMORY_BYTES];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	channel = rdma_create_event_channel();
	return 0;
}

/* ---- the two ends ----------------------------------------------------- */

static void open_stream(void)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xc6120001),
	};

	st = roost_rs_stream_alloc(AF_INET);
	FUZZ_CHECK(st != NULL);
	FUZZ_CHECK(rdma_create_id(channel, &st->id, NULL, RDMA_PS_TCP) == 0);
	FUZZ_CHECK(rdma_bind_addr(st->id, (struct sockaddr *)&addr) == 0);
	st->rs.flags |= O_NONBLOCK;
	st->rs.sizes.send_bytes = RING_BYTES;
	st->rs.sizes.recv_bytes = RING_BYTES;
	st->rs.sizes.send_wr = WRS;
	st->rs.sizes.recv_wr = WRS;
	st->rs.sizes.nb_iomaps = IOMAPS;
	FUZZ_CHECK(roost_rs_ep_create(st) == 0);
}

static void open_peer(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	peer_channel = ibv_create_comp_channel(fake_context());
	peer_cq = ibv_create_cq(fake_context(), 256, NULL, peer_channel, 0);
	attr.send_cq = attr.recv_cq = peer_cq;
	peer = fake_qp_create(&attr);
	fake_qp_join(st->id->qp, peer);
	peer_mr = ibv_reg_mr(fake_pd(), peer_memory, sizeof(peer_memory),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	FUZZ_CHECK(peer_mr != NULL);
}

/* Its own, if the one that came would not be taken. */
static void meet(struct fuzz_in *in)
{
	struct roost_rs_hello hello = {
		.credits = WRS,
		.nb_iomaps = IOMAPS,
		.has_iomap = true,
		.slots_addr = (uintptr_t)peer_memory,
		.nb_slots = ROOST_RS_SLOTS,
		.buf.addr = (uintptr_t)peer_memory + 512,
		.buf.length_bytes = 256,
	};
	uint8_t bytes[ROOST_RS_HELLO_BYTES + 1];
	struct roost_rs_hello other;
	size_t len;

	hello.slots_key = hello.buf.key = peer_mr->rkey;
	if (fuzz_u8(in) & 1) {
		len = fuzz_take(in, bytes, sizeof(bytes));
		if (roost_rs_hello_get(&other, bytes, len) == 0) {
			FUZZ_CHECK(other.nb_slots > 0 &&
				   other.buf.length_bytes > 0);
			FUZZ_CHECK(other.nb_iomaps <= ROOST_RS_IOMAPS_MAX);
			hello = other;
		}
	}
	roost_rs_ep_meet(st, &hello);
	st->state = ROOST_RS_CONNECTED;
	st->readable = st->writable = true;
}

static void close_all(void)
{
	static const struct fake_count none;
	struct fake_count count;

	fake_qp_error(st->id->qp);
	pthread_mutex_lock(&st->rs.lock);
	roost_rs_stream_progress(&st->rs);
	pthread_mutex_unlock(&st->rs.lock);
	roost_rs_put(&st->rs);
	fake_qp_destroy(peer);
	ibv_destroy_cq(peer_cq);
	ibv_destroy_comp_channel(peer_channel);
	ibv_dereg_mr(peer_mr);
	count = fake_count();
	FUZZ_CHECK(memcmp(&count, &none, sizeof(none)) == 0);
}

/* ---- what must hold --------------------------------------------------- */

static void check(void)
{
	const struct roost_rs_ep *ep = &st->ep;
	uint32_t bytes = 0;

	FUZZ_CHECK(ep->recv_bytes <= ep->recv_ring_bytes);
	FUZZ_CHECK(ep->recv_at < ep->recv_ring_bytes);
	FUZZ_CHECK(ep->nb_msgs <= WRS);
	for (uint32_t i = 0; i < ep->nb_msgs; i++)
		bytes += ep->msgs[(ep->msgs_head + i) % WRS];
	FUZZ_CHECK(bytes == ep->recv_bytes);
	FUZZ_CHECK(ep->send_free_bytes <= ep->send_ring_bytes);
	FUZZ_CHECK(ep->send_free_wr <= WRS - ROOST_RS_CTRL_WR);
	FUZZ_CHECK(ep->ctrl_free_wr <= ROOST_RS_CTRL_WR);
	FUZZ_CHECK(ep->recv_read_bytes <= 2 * ep->recv_ring_bytes);
	FUZZ_CHECK(st->state >= ROOST_RS_CONNECTED);
}

/* ---- the peer --------------------------------------------------------- */

static uint32_t msg_of(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	uint32_t data = fuzz_u8(in);

	if (how & 0x40)
		data = fuzz_u32(in);
	return roost_rs_msg((enum roost_rs_op)(how & 7), data);
}

static uint64_t place_of(struct fuzz_in *in)
{
	const struct roost_rs_ep *ep = &st->ep;

	switch (fuzz_u8(in) & 3) {
	case 0:
		return (uintptr_t)ep->slots + fuzz_u8(in) % 64;
	case 1:
		return (uintptr_t)ep->iomaps + fuzz_u8(in);
	case 2:
		return (uintptr_t)ep->recv_ring + fuzz_u16(in) % RING_BYTES;
	default:
		return (uintptr_t)ep->recv_mem + fuzz_u16(in);
	}
}

static void peer_write(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	uint8_t bytes[FAKE_INLINE];
	struct ibv_sge sge = { (uintptr_t)bytes, 0, 0 };
	struct ibv_send_wr wr = {
		.opcode = how & 1 ? IBV_WR_RDMA_WRITE
				  : IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(msg_of(in)),
		.wr.rdma.rkey = st->ep.recv_mr->rkey,
	};
	struct ibv_send_wr *bad;
	struct roost_rs_slot slot = {
		.addr = (uintptr_t)peer_memory + fuzz_u16(in) % MEMORY_BYTES,
		.key = peer_mr->rkey,
		.length_bytes = fuzz_u16(in),
	};

	wr.wr.rdma.remote_addr = place_of(in);
	/* A buffer of ours, or anything. */
	if (how & 2) {
		memcpy(bytes, &slot, sizeof(slot));
		sge.length = sizeof(slot);
	} else {
		sge.length = (uint32_t)fuzz_take(in, bytes,
						 fuzz_u8(in) % sizeof(bytes));
	}
	ibv_post_send(peer, &wr, &bad);
}

static void peer_recv(struct fuzz_in *in)
{
	struct ibv_recv_wr wr = { .wr_id = 1 };
	struct ibv_recv_wr *bad;
	struct ibv_wc wcs[16];

	while (ibv_poll_cq(peer_cq, 16, wcs) > 0)
		;
	for (unsigned int n = fuzz_u8(in) & 15; n > 0; n--)
		ibv_post_recv(peer, &wr, &bad);
}

/* ---- the program ------------------------------------------------------ */

static void program_recv(struct fuzz_in *in)
{
	static const int flags[] = { 0, MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT };
	const size_t len = fuzz_u16(in) % sizeof(own_memory);
	const struct iovec iov[2] = { { own_memory, len / 2 },
				      { own_memory + len / 2, len - len / 2 } };
	ssize_t ret = roost_rs_stream_recv(&st->rs, iov, 2,
					   flags[fuzz_u8(in) & 3], NULL);

	FUZZ_CHECK(ret <= (ssize_t)len);
}

static void program_send(struct fuzz_in *in)
{
	const struct iovec iov = { own_memory,
				   fuzz_u16(in) % sizeof(own_memory) };
	ssize_t ret =
		roost_rs_stream_send(&st->rs, &iov, 1, MSG_DONTWAIT, NULL, 0);

	FUZZ_CHECK(ret <= (ssize_t)iov.iov_len);
}

static void program_write(struct fuzz_in *in)
{
	const size_t len = fuzz_u16(in) % sizeof(own_memory);
	const uint64_t offset =
		fuzz_u8(in) & 1 ? fuzz_u64(in) : (uint64_t)fuzz_u8(in);
	ssize_t ret =
		roost_rs_map_write(st, own_memory, len, offset, MSG_DONTWAIT);

	FUZZ_CHECK(ret <= (ssize_t)len);
}

static void program_map(struct fuzz_in *in)
{
	uint8_t *at = own_memory + 64u * (fuzz_u8(in) & 31);

	if (fuzz_u8(in) & 1)
		roost_rs_map_remove(st, at, 64);
	else
		roost_rs_map_add(st, at, 64, PROT_READ | PROT_WRITE,
				 fuzz_u8(in) & 1 ? -1 : fuzz_u16(in));
}

static void look(void)
{
	pthread_mutex_lock(&st->rs.lock);
	roost_rs_stream_progress(&st->rs);
	st->rs.ops->events(&st->rs, POLLIN | POLLOUT);
	pthread_mutex_unlock(&st->rs.lock);
}

static void take_op(struct fuzz_in *in)
{
	switch (fuzz_u8(in) & 15) {
	case 0:
	case 1:
		peer_recv(in);
		break;
	case 2:
	case 3:
		program_recv(in);
		break;
	case 4:
	case 5:
		program_send(in);
		break;
	case 6:
		program_write(in);
		break;
	case 7:
		program_map(in);
		break;
	case 8:
		roost_rs_stream_keepalive(&st->rs);
		break;
	case 9:
		look();
		break;
	default:
		peer_write(in);
		break;
	}
	check();
}

/* ---- headers of datagrams --------------------------------------------- */

static void take_headers(struct fuzz_in in)
{
	uint8_t *copy = malloc(in.left_bytes + 1);
	const size_t bytes = in.left_bytes;
	struct sockaddr_storage from;
	struct roost_rs_side side;
	int ret;

	FUZZ_CHECK(copy != NULL);
	copy = realloc(copy, bytes == 0 ? 1 : bytes);
	fuzz_take(&in, copy, bytes);
	ret = roost_rs_dgram_get(&from, copy, bytes);
	FUZZ_CHECK(ret == -EINVAL || (ret > 0 && (size_t)ret <= bytes));
	for (unsigned int i = 0; i < 2; i++) {
		ret = roost_rs_side_get(&side, i ? AF_INET : AF_INET6, copy,
					bytes);
		FUZZ_CHECK(ret == -EINVAL || (ret > 0 && (size_t)ret <= bytes));
		FUZZ_CHECK(ret < 0 || side.qpn <= 0xffffff);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	take_headers(in);
	open_stream();
	open_peer();
	meet(&in);
	for (unsigned int n = 0; n < OPS_MAX && in.left_bytes > 0; n++)
		take_op(&in);
	close_all();
	return 0;
}
