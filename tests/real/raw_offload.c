/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary verbs program with a raw packet QP that leaves work to the
 * device. It knows nothing of Roost, so that a ConnectX can run it.
 *
 * usage: raw_offload tso
 *   Sends BYTES over TCP as segments of MSS bytes, by IPv4 with ibv_post_send,
 *   by IPv6 in a VLAN with ibv_wr_send_tso. Nobody answers.
 * usage: raw_offload spread PORT COUNT
 *   Receives COUNT datagrams to a UDP port in WQS queues, by the Toeplitz hash
 *   of their ports; each must be in the queue that the hash says, with its
 *   FCS.
 * usage: raw_offload store PORT COUNT
 *   Receives COUNT datagrams to a UDP port, without the tag and with the FCS;
 *   prints the tag's TCI and the bytes of each, in hexadecimal digits.
 *
 * Exit status 77: no CAP_NET_RAW.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/real/user.h"

#define BYTES 10000u
#define MSS 1400u
#define WQS 4u
#define SLOTS 64u
#define SLOT_BYTES 2048u
#define WAIT_S 60

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void open_device(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	user_check(devices && devices[0], "ibv_get_device_list");
	context = ibv_open_device(devices[0]);
	user_check(context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
	pd = ibv_alloc_pd(context);
	user_check(pd != NULL, "ibv_alloc_pd");
	cq = ibv_create_cq(context, (int)(WQS * SLOTS), NULL, NULL, 0);
	user_check(cq != NULL, "ibv_create_cq");
}

static struct ibv_qp *create(struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp *qp = ibv_create_qp_ex(context, init);

	if (!qp && errno == EPERM) {
		fprintf(stderr, "raw_offload: no CAP_NET_RAW\n");
		exit(77);
	}
	user_check(qp != NULL, "ibv_create_qp_ex");
	return qp;
}

static bool next(struct ibv_wc *wc)
{
	const time_t end = time(NULL) + WAIT_S;
	int n = 0;

	while (n == 0 && time(NULL) < end)
		n = ibv_poll_cq(cq, 1, wc);
	return n == 1;
}

/* ---- TSO ----------------------------------------------------------------- */

/* From 198.19.0.77 port 5000 to 198.19.0.2 port 7001, sequence number 1000,
 * with CWR, ACK, PSH and FIN; identification 0xfffe. Lengths and checksums are
 * the device's.
 */
/* clang-format off */
static uint8_t ipv4[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, /* Ethernet */
	0x45, 0, 0xee, 0xee, 0xff, 0xfe, 0x40, 0, 64, 6, 0xee, 0xee, /* IPv4 */
	198, 19, 0, 77, 198, 19, 0, 2,
	0x13, 0x88, 0x1b, 0x59, 0, 0, 3, 0xe8, 0, 0, 0, 1, /* TCP */
	0x60, 0x99, 0x10, 0, 0xee, 0xee, 0, 0,
	2, 4, 5, 0x78, /* MSS 1400 */
};
/* From fd00::77 to fd00::2, VLAN 5, with ACK and PSH. */
static uint8_t ipv6[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5, 0x86, 0xdd,
	0x60, 0, 0, 0, 0xee, 0xee, 6, 64, /* IPv6 */
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77,
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	0x13, 0x88, 0x1b, 0x59, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, /* TCP */
	0x50, 0x18, 0x10, 0, 0xee, 0xee, 0, 0,
};
/* clang-format on */

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	user_check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT) == 0,
		   "INIT");
	for (int to = IBV_QPS_RTR; to <= IBV_QPS_RTS; to++) {
		attr.qp_state = (enum ibv_qp_state)to;
		user_check(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "RTS");
	}
}

static void sent(uint64_t id)
{
	struct ibv_wc wc;

	user_check(next(&wc) && wc.status == IBV_WC_SUCCESS &&
			   wc.opcode == IBV_WC_TSO && wc.wr_id == id,
		   "the completion");
}

static void refused(struct ibv_qp *qp, struct ibv_send_wr wr, const char *what)
{
	struct ibv_send_wr *bad;

	user_check(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr, what);
}

static void refuse_all(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr wrong = wr;

	wrong.tso.mss = 0;
	refused(qp, wrong, "an MSS of 0");
	wrong = wr;
	wrong.tso.hdr_sz = sizeof(ipv4) - 1;
	refused(qp, wrong, "half a header");
	wrong.tso.hdr_sz = sizeof(ipv4) + 1;
	refused(qp, wrong, "more than a header");
	ipv4[23] = 17;
	refused(qp, wr, "a header of UDP");
	ipv4[23] = 6;
	wrong = wr;
	wrong.send_flags |= IBV_SEND_INLINE;
	refused(qp, wrong, "inline data");
}

static int tso(void)
{
	static uint8_t data[BYTES];
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 2 },
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.max_tso_header = sizeof(ipv6),
		.send_ops_flags = IBV_QP_EX_WITH_TSO,
	};
	struct ibv_mr *mr = ibv_reg_mr(pd, data, sizeof(data), 0);
	struct ibv_qp *qp = create(&init);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	/* The border lies within a segment. */
	struct ibv_sge sges[] = {
		{ (uintptr_t)data, 3333, 0 },
		{ (uintptr_t)data + 3333, BYTES - 3333, 0 },
	};
	struct ibv_send_wr wr = {
		.wr_id = 4,
		.sg_list = sges,
		.num_sge = 2,
		.opcode = IBV_WR_TSO,
		.send_flags = IBV_SEND_SIGNALED,
		.tso = { .hdr = ipv4, .hdr_sz = sizeof(ipv4), .mss = MSS },
	};
	struct ibv_send_wr *bad;

	for (uint32_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i % 251);
	user_check(mr != NULL && ex != NULL, "ibv_reg_mr");
	sges[0].lkey = sges[1].lkey = mr->lkey;
	to_rts(qp);
	refuse_all(qp, wr);
	user_check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	sent(4);
	ibv_wr_start(ex);
	ex->wr_id = 6;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_tso(ex, ipv6, sizeof(ipv6), MSS);
	memset(ipv6, 0xff, sizeof(ipv6));
	ibv_wr_set_sge_list(ex, 2, sges);
	user_check(ibv_wr_complete(ex) == 0, "ibv_wr_complete");
	sent(6);
	return 0;
}

/* ---- receive queues ------------------------------------------------------ */

static const uint8_t key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* As Microsoft defines it: for each bit that is set, the 32 bits of the key
 * that begin there.
 */
static uint32_t toeplitz(const uint8_t *in, unsigned int len)
{
	uint32_t sum = 0;

	for (unsigned int bit = 0; bit < 8 * len; bit++) {
		uint32_t window = 0;

		if (!(in[bit / 8] & 0x80 >> bit % 8))
			continue;
		for (unsigned int i = bit; i < bit + 32; i++)
			window = window << 1 | (key[i / 8] >> (7 - i % 8) & 1);
		sum ^= window;
	}
	return sum;
}

static struct ibv_wq *create_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = SLOTS,
		.max_sge = 1,
		.pd = pd,
		.cq = cq,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = IBV_WQ_FLAGS_SCATTER_FCS,
	};
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_FLAGS,
		.wq_state = IBV_WQS_RDY,
		.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING,
	};
	struct ibv_wq *wq = ibv_create_wq(context, &init);

	user_check(wq != NULL && ibv_modify_wq(wq, &attr) == 0,
		   "ibv_create_wq");
	return wq;
}

static void post(struct ibv_wq *wq, uint8_t *slot, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)slot, SLOT_BYTES, lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)slot,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	user_check(ibv_post_wq_recv(wq, &wr, &bad) == 0, "ibv_post_wq_recv");
}

static struct ibv_qp *create_spread(struct ibv_wq **wqs)
{
	struct ibv_rwq_ind_table_init_attr table = {
		.log_ind_tbl_size = 2,
		.ind_tbl = wqs,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rwq_ind_tbl = ibv_create_rwq_ind_table(context, &table),
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = (uint8_t *)(uintptr_t)key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 |
					       IBV_RX_HASH_DST_IPV4 |
					       IBV_RX_HASH_SRC_PORT_UDP |
					       IBV_RX_HASH_DST_PORT_UDP,
		},
	};

	user_check(init.rwq_ind_tbl != NULL, "ibv_create_rwq_ind_table");
	return create(&init);
}

static void lead_udp(struct ibv_qp *qp, uint16_t port)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_tcp_udp udp;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(rule),
			  .num_of_specs = 1,
			  .port = 1 },
		.udp = { .type = IBV_FLOW_SPEC_UDP,
			 .size = sizeof(rule.udp),
			 .val.dst_port = htons(port),
			 .mask.dst_port = 0xffff },
	};

	user_check(ibv_create_flow(qp, &rule.attr) != NULL, "ibv_create_flow");
}

static int spread(uint16_t port, unsigned int count)
{
	uint8_t *slots = aligned_alloc(4096, WQS * SLOTS * SLOT_BYTES);
	struct ibv_mr *mr = ibv_reg_mr(pd, slots, WQS * SLOTS * SLOT_BYTES,
				       IBV_ACCESS_LOCAL_WRITE);
	unsigned int got[WQS] = { 0 };
	struct ibv_wq *wqs[WQS];

	user_check(slots != NULL && mr != NULL, "ibv_reg_mr");
	for (unsigned int i = 0; i < WQS; i++) {
		wqs[i] = create_wq();
		for (unsigned int n = 0; n < SLOTS; n++)
			post(wqs[i], slots + (i * SLOTS + n) * SLOT_BYTES,
			     mr->lkey);
	}
	lead_udp(create_spread(wqs), port);
	fprintf(stderr, "raw: ready\n");
	for (unsigned int n = 0; n < count; n++) {
		struct ibv_wc wc;
		unsigned int at;
		uint8_t *slot;

		user_check(next(&wc) && wc.status == IBV_WC_SUCCESS &&
				   wc.opcode == IBV_WC_RECV,
			   "a datagram");
		slot = (uint8_t *)(uintptr_t)wc.wr_id;
		/* Addresses and ports stand side by side. */
		at = toeplitz(slot + 26, 12) % WQS;
		user_check(wc.qp_num == wqs[at]->wq_num, "the queue");
		/* Ethernet, the length that IP says, the FCS. */
		user_check(wc.byte_len ==
				   14u + (uint32_t)(slot[16] << 8 | slot[17]) +
					   4,
			   "the FCS");
		got[at]++;
		post(wqs[at], slot, mr->lkey);
	}
	for (unsigned int i = 0; i < WQS; i++)
		user_check(got[i] > 0, "a queue without a datagram");
	printf("%u %u %u %u\n", got[0], got[1], got[2], got[3]);
	return 0;
}

/* ---- tag and FCS --------------------------------------------------------- */

static void print_stored(struct ibv_cq_ex *ex, const uint8_t *slot)
{
	const time_t end = time(NULL) + WAIT_S;
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = ENOENT;

	while (ret == ENOENT && time(NULL) < end)
		ret = ibv_start_poll(ex, &attr);
	user_check(ret == 0 && ex->status == IBV_WC_SUCCESS, "a datagram");
	printf("%04x ", ibv_wc_read_cvlan(ex));
	for (uint32_t i = 0; i < ibv_wc_read_byte_len(ex); i++)
		printf("%02x", slot[ex->wr_id * SLOT_BYTES + i]);
	printf("\n");
	ibv_end_poll(ex);
}

static int store(uint16_t port, unsigned int count)
{
	struct ibv_cq_init_attr_ex cq_init = {
		.cqe = SLOTS,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN,
	};
	struct ibv_cq_ex *ex = ibv_create_cq_ex(context, &cq_init);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = ibv_cq_ex_to_cq(ex),
		.recv_cq = ibv_cq_ex_to_cq(ex),
		.cap = { .max_recv_wr = SLOTS, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING |
				IBV_QP_CREATE_SCATTER_FCS,
	};
	uint8_t *slots = aligned_alloc(4096, SLOTS * SLOT_BYTES);
	struct ibv_mr *mr = ibv_reg_mr(pd, slots, SLOTS * SLOT_BYTES,
				       IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = create(&init);

	user_check(mr != NULL && count <= SLOTS, "ibv_reg_mr");
	to_rts(qp);
	for (unsigned int i = 0; i < count; i++) {
		struct ibv_sge sge = { (uintptr_t)slots + i * SLOT_BYTES,
				       SLOT_BYTES, mr->lkey };
		struct ibv_recv_wr *bad,
			wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		user_check(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
	}
	lead_udp(qp, port);
	fprintf(stderr, "raw: ready\n");
	for (unsigned int i = 0; i < count; i++)
		print_stored(ex, slots);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	open_device();
	if (strcmp(argv[1], "tso") == 0)
		return tso();
	if (strcmp(argv[1], "spread") == 0 && argc == 4)
		return spread((uint16_t)atoi(argv[2]),
			      (unsigned int)atoi(argv[3]));
	if (strcmp(argv[1], "store") == 0 && argc == 4)
		return store((uint16_t)atoi(argv[2]),
			     (unsigned int)atoi(argv[3]));
	return 2;
}
