/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary verbs program with a raw packet QP. It knows nothing of Roost, so
 * that a ConnectX can run it.
 *
 * usage: raw stack ADDRESS PORT COUNT
 *   A stack for ARP and UDP over IPv4: answers for ADDRESS, and sends back each
 *   datagram that comes to PORT, COUNT in all. Checksums are the device's.
 * usage: raw sniff COUNT FILE
 *   Writes COUNT frames of the port to FILE, in the format of pcap; the calls
 *   are those of libpcap's pcap-rdmasniff.c.
 * usage: raw rules
 *   What ibv_create_flow and its like refuse, and how.
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

#define SLOTS 256u
#define SLOT_BYTES 10240u
#define WAIT_S 60
#define ETH 14u
#define TAG 0x123456u

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *slots;
	uint8_t mac[6];
} raw;

static uint8_t *slot(uint64_t i)
{
	return raw.slots + i * SLOT_BYTES;
}

static void post_recv(uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)slot(i), SLOT_BYTES, raw.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	user_check(ibv_post_recv(raw.qp, &wr, &bad) == 0, "ibv_post_recv");
}

/* Slots from SLOTS on are to send. */
static void post_send(uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)slot(SLOTS), len, raw.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SLOTS,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM,
	};
	struct ibv_send_wr *bad;

	user_check(ibv_post_send(raw.qp, &wr, &bad) == 0, "ibv_post_send");
}

static void open_qp(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 2 * SLOTS,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG,
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	user_check(devices && devices[0], "ibv_get_device_list");
	raw.context = ibv_open_device(devices[0]);
	user_check(raw.context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
	raw.pd = ibv_alloc_pd(raw.context);
	user_check(raw.pd != NULL, "ibv_alloc_pd");
	raw.cq = ibv_create_cq_ex(raw.context, &cq);
	user_check(raw.cq != NULL, "ibv_create_cq_ex");
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(raw.cq);
	raw.qp = ibv_create_qp(raw.pd, &init);
	if (!raw.qp && errno == EPERM) {
		fprintf(stderr, "raw: no CAP_NET_RAW\n");
		exit(77);
	}
	user_check(raw.qp != NULL, "ibv_create_qp");
	raw.slots = aligned_alloc(4096, (SLOTS + 1) * SLOT_BYTES);
	user_check(raw.slots != NULL, "aligned_alloc");
	raw.mr = ibv_reg_mr(raw.pd, raw.slots, (SLOTS + 1) * SLOT_BYTES,
			    IBV_ACCESS_LOCAL_WRITE);
	user_check(raw.mr != NULL, "ibv_reg_mr");
	user_check(ibv_modify_qp(raw.qp, &attr, IBV_QP_STATE | IBV_QP_PORT) ==
			   0,
		   "INIT");
	attr.qp_state = IBV_QPS_RTR;
	user_check(ibv_modify_qp(raw.qp, &attr, IBV_QP_STATE) == 0, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	user_check(ibv_modify_qp(raw.qp, &attr, IBV_QP_STATE) == 0, "RTS");
	for (uint64_t i = 0; i < SLOTS; i++)
		post_recv(i);
}

/* The MAC in the link-local GID (RFC 4291, EUI-64). */
static void find_mac(void)
{
	union ibv_gid gid;

	user_check(ibv_query_gid(raw.context, 1, 0, &gid) == 0,
		   "ibv_query_gid");
	user_check(gid.raw[0] == 0xfe && gid.raw[11] == 0xff, "GID 0");
	memcpy(raw.mac, gid.raw + 8, 3);
	memcpy(raw.mac + 3, gid.raw + 13, 3);
	raw.mac[0] ^= 2;
}

/* The next received frame; its slot is the caller's until it is posted again.
 */
static uint64_t next_frame(uint32_t *len, unsigned int *flags, uint32_t *tag)
{
	const time_t end = time(NULL) + WAIT_S;
	struct ibv_poll_cq_attr attr = { 0 };

	while (time(NULL) < end) {
		enum ibv_wc_opcode opcode;
		uint64_t id;

		if (ibv_start_poll(raw.cq, &attr) != 0)
			continue;
		user_check(raw.cq->status == IBV_WC_SUCCESS, "completion");
		opcode = ibv_wc_read_opcode(raw.cq);
		*len = ibv_wc_read_byte_len(raw.cq);
		*flags = ibv_wc_read_wc_flags(raw.cq);
		*tag = ibv_wc_read_flow_tag(raw.cq);
		id = raw.cq->wr_id;
		ibv_end_poll(raw.cq);
		if (opcode == IBV_WC_RECV)
			return id;
	}
	errno = ETIMEDOUT;
	user_check(false, "no frame");
	return 0;
}

/* ---- rules --------------------------------------------------------------- */

/* A rule and up to two specs, as they stand in memory. */
struct rule {
	struct ibv_flow_attr attr;
	uint8_t specs[2 * sizeof(struct ibv_flow_spec)];
};

static void add_spec(struct rule *rule, const void *spec, uint16_t len)
{
	memcpy((uint8_t *)rule + rule->attr.size, spec, len);
	rule->attr.size = (uint16_t)(rule->attr.size + len);
	rule->attr.num_of_specs++;
}

static struct rule new_rule(enum ibv_flow_attr_type type)
{
	return (struct rule){ .attr = {
				      .type = type,
				      .size = sizeof(struct ibv_flow_attr),
				      .port = 1,
			      } };
}

static struct ibv_flow *create(struct rule *rule)
{
	struct ibv_flow *flow = ibv_create_flow(raw.qp, &rule->attr);

	user_check(flow != NULL, "ibv_create_flow");
	return flow;
}

static struct ibv_flow *take_arp(void)
{
	struct rule rule = new_rule(IBV_FLOW_ATTR_NORMAL);
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val.ether_type = htons(0x0806),
		.mask.ether_type = 0xffff,
	};

	add_spec(&rule, &eth, sizeof(eth));
	return create(&rule);
}

static struct ibv_flow *take_udp(uint32_t address, uint16_t port,
				 struct ibv_counters *counters)
{
	struct {
		struct ibv_flow_attr attr;
		uint8_t specs[4 * sizeof(struct ibv_flow_spec)];
	} rule = { .attr = new_rule(IBV_FLOW_ATTR_NORMAL).attr };
	struct ibv_flow_spec_ipv4 ip = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(ip),
		.val.dst_ip = address,
		.mask.dst_ip = 0xffffffff,
	};
	struct ibv_flow_spec_tcp_udp udp = {
		.type = IBV_FLOW_SPEC_UDP,
		.size = sizeof(udp),
		.val.dst_port = htons(port),
		.mask.dst_port = 0xffff,
	};
	struct ibv_flow_spec_action_tag tag = {
		.type = IBV_FLOW_SPEC_ACTION_TAG,
		.size = sizeof(tag),
		.tag_id = TAG,
	};
	struct ibv_flow_spec_counter_action count = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT,
		.size = sizeof(count),
		.counters = counters,
	};

	add_spec((struct rule *)&rule, &ip, sizeof(ip));
	add_spec((struct rule *)&rule, &udp, sizeof(udp));
	add_spec((struct rule *)&rule, &tag, sizeof(tag));
	add_spec((struct rule *)&rule, &count, sizeof(count));
	return create((struct rule *)&rule);
}

/* ---- stack --------------------------------------------------------------- */

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t t[16];

	memcpy(t, a, len);
	memcpy(a, b, len);
	memcpy(b, t, len);
}

/* Returns true if the request was for us. */
static bool answer_arp(const uint8_t *f, uint32_t len, uint32_t address)
{
	uint8_t *out = slot(SLOTS);

	if (len < ETH + 28 || f[ETH + 7] != 1 ||
	    memcmp(f + ETH + 24, &address, 4) != 0)
		return false;
	memset(out, 0, 60);
	memcpy(out, f, ETH + 28);
	memcpy(out, f + 6, 6);
	memcpy(out + 6, raw.mac, 6);
	out[ETH + 7] = 2;
	memcpy(out + ETH + 8, raw.mac, 6);
	memcpy(out + ETH + 14, f + ETH + 24, 4);
	memcpy(out + ETH + 18, f + ETH + 8, 10);
	post_send(60);
	return true;
}

static void send_back(const uint8_t *f, uint32_t len)
{
	uint8_t *out = slot(SLOTS);

	memcpy(out, f, len);
	swap(out, out + 6, 6);
	swap(out + ETH + 12, out + ETH + 16, 4);
	swap(out + ETH + 20, out + ETH + 22, 2);
	/* The device's, whatever stood there. */
	memset(out + ETH + 10, 0xee, 2);
	memset(out + ETH + 26, 0xee, 2);
	post_send(len);
}

static int stack(const char *address_text, uint16_t port, uint64_t count)
{
	struct ibv_counters_init_attr no_counters = { 0 };
	struct ibv_counter_attach_attr pkts = {
		.counter_desc = IBV_COUNTER_PACKETS,
		.index = 1,
	};
	struct ibv_counter_attach_attr bytes = {
		.counter_desc = IBV_COUNTER_BYTES,
		.index = 0,
	};
	uint64_t values[3], nb = 0, nb_bytes = 0;
	struct ibv_counters *counters;
	struct ibv_flow *arp, *udp;
	uint32_t address, len, tag;
	unsigned int flags;

	user_check(inet_pton(AF_INET, address_text, &address) == 1, "address");
	find_mac();
	counters = ibv_create_counters(raw.context, &no_counters);
	user_check(counters != NULL, "ibv_create_counters");
	user_check(ibv_attach_counters_point_flow(counters, &pkts, NULL) == 0 &&
			   ibv_attach_counters_point_flow(counters, &bytes,
							  NULL) == 0,
		   "ibv_attach_counters_point_flow");
	arp = take_arp();
	udp = take_udp(address, port, counters);
	fprintf(stderr, "raw: ready\n");
	while (nb < count) {
		uint64_t i = next_frame(&len, &flags, &tag);
		const uint8_t *f = slot(i);

		if (tag == 0) {
			answer_arp(f, len, address);
		} else {
			user_check(tag == TAG && f[ETH + 9] == 17, "the tag");
			nb_bytes += len;
			nb++;
			send_back(f, len);
		}
		post_recv(i);
	}
	user_check(ibv_destroy_counters(counters) == EBUSY, "counters in use");
	user_check(ibv_destroy_qp(raw.qp) == EBUSY, "QP with rules");
	user_check(ibv_destroy_flow(arp) == 0 && ibv_destroy_flow(udp) == 0,
		   "ibv_destroy_flow");
	user_check(ibv_read_counters(counters, values, 3, 0) == 0,
		   "ibv_read_counters");
	user_check(values[1] == nb && values[0] == nb_bytes && values[2] == 0,
		   "values of the counters");
	user_check(ibv_destroy_counters(counters) == 0, "ibv_destroy_counters");
	/* The last frame has left when its completion is there. */
	printf("%llu datagrams, %llu bytes\n", (unsigned long long)nb,
	       (unsigned long long)nb_bytes);
	return 0;
}

/* ---- sniff --------------------------------------------------------------- */

static int sniff(uint64_t count, const char *path)
{
	const uint32_t header[] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1 };
	struct rule rule = new_rule(IBV_FLOW_ATTR_SNIFFER);
	FILE *file = fopen(path, "wb");
	struct ibv_flow *flow = create(&rule);
	uint32_t len, tag;
	unsigned int flags;

	user_check(file != NULL, path);
	fwrite(header, sizeof(header), 1, file);
	fprintf(stderr, "raw: ready\n");
	for (uint64_t nb = 0; nb < count; nb++) {
		uint64_t i = next_frame(&len, &flags, &tag);
		const uint32_t record[] = { (uint32_t)time(NULL), 0, len, len };

		fwrite(record, sizeof(record), 1, file);
		fwrite(slot(i), len, 1, file);
		post_recv(i);
	}
	user_check(fclose(file) == 0, path);
	user_check(ibv_destroy_flow(flow) == 0, "ibv_destroy_flow");
	return 0;
}

/* ---- what is refused ----------------------------------------------------- */

static void refused(struct ibv_qp *qp, struct rule rule, int error,
		    const char *what)
{
	errno = 0;
	user_check(ibv_create_flow(qp, &rule.attr) == NULL && errno == error,
		   what);
}

static int rules(void)
{
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val.ether_type = htons(0x0806),
		.mask.ether_type = 0xffff,
	};
	struct ibv_flow_spec_tcp_udp udp = {
		.type = IBV_FLOW_SPEC_UDP,
		.size = sizeof(udp),
	};
	struct ibv_flow_spec_gre gre = {
		.type = IBV_FLOW_SPEC_GRE,
		.size = sizeof(gre),
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = ibv_cq_ex_to_cq(raw.cq),
		.recv_cq = ibv_cq_ex_to_cq(raw.cq),
	};
	struct ibv_qp *ud = ibv_create_qp(raw.pd, &init);
	struct rule rule = new_rule(IBV_FLOW_ATTR_NORMAL);

	user_check(ud != NULL, "ibv_create_qp");
	refused(ud, rule, EINVAL, "rule of a UD QP");
	rule.attr.port = 3;
	refused(raw.qp, rule, EINVAL, "port 3");
	rule = new_rule(IBV_FLOW_ATTR_NORMAL);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	refused(raw.qp, rule, EOPNOTSUPP, "egress");
	rule = new_rule(IBV_FLOW_ATTR_SNIFFER);
	add_spec(&rule, &eth, sizeof(eth));
	refused(raw.qp, rule, EINVAL, "a sniffer with a spec");
	rule = new_rule(IBV_FLOW_ATTR_NORMAL);
	add_spec(&rule, &gre, sizeof(gre));
	refused(raw.qp, rule, EOPNOTSUPP, "GRE");
	/* A length that lies. */
	rule = new_rule(IBV_FLOW_ATTR_NORMAL);
	udp.size = 0;
	add_spec(&rule, &udp, sizeof(udp));
	refused(raw.qp, rule, EINVAL, "a spec of no length");
	user_check(ibv_destroy_qp(ud) == 0, "ibv_destroy_qp");
	/* The program's end takes the rules along. */
	take_arp();
	user_check(ibv_close_device(raw.context) == 0, "ibv_close_device");
	printf("rules: ok\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	open_qp();
	if (strcmp(argv[1], "stack") == 0 && argc == 5)
		return stack(argv[2], (uint16_t)atoi(argv[3]),
			     strtoull(argv[4], NULL, 0));
	if (strcmp(argv[1], "sniff") == 0 && argc == 4)
		return sniff(strtoull(argv[2], NULL, 0), argv[3]);
	if (strcmp(argv[1], "rules") == 0)
		return rules();
	return 2;
}
