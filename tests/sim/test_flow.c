/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Raw packet QPs: what is sent, and which frames flow rules lead where. */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>

#include "lib/engine/core/flow.h"
#include "lib/wire/bytes.h"
#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define ETH 14u
#define RAW_LEN 200u
#define PORT 7000u

/* A QP of type RAW at one end, with a CQ of its own. */
struct raw_qp {
	struct sim *sim;
	struct sim_end *end;
	struct roost_cq *cq;
	struct roost_qp *qp;
	struct sim_qp as; /* for raw_send() and raw_recv() */
};

static uint8_t store_flags; /* of the next one */

static void open_qp(struct raw_qp *r, struct sim *sim, int side)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RAW,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.store_flags = store_flags,
	};
	struct roost_qp_attr attr = { .state = ROOST_QPS_INIT, .port_num = 1 };

	*r = (struct raw_qp){ .sim = sim, .end = &sim->ends[side] };
	r->end->sends_any = true;
	sim->nobody_polls = true;
	assert_int_equal(roost_cq_create(r->end->ctx, 64, NULL, NULL, &r->cq),
			 0);
	init.send_cq = init.recv_cq = r->cq;
	assert_int_equal(roost_qp_create(r->end->ctx, r->end->pd, &init,
					 &r->qp),
			 0);
	/* A port, and nothing else. */
	assert_int_equal(roost_qp_modify(r->qp, &attr, ROOST_QP_STATE),
			 -EINVAL);
	assert_int_equal(roost_qp_modify(r->qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PORT),
			 0);
	attr.state = ROOST_QPS_RTR;
	assert_int_equal(roost_qp_modify(r->qp, &attr, ROOST_QP_STATE), 0);
	attr.state = ROOST_QPS_RTS;
	assert_int_equal(roost_qp_modify(r->qp, &attr, ROOST_QP_STATE), 0);
	r->as = (struct sim_qp){ .sim = sim, .end = r->end, .qp = r->qp };
}

static void close_qp(struct raw_qp *r)
{
	assert_int_equal(roost_qp_destroy(r->qp, NULL), 0);
	assert_int_equal(roost_cq_destroy(r->cq, NULL, NULL), 0);
}

static struct roost_flow_rule *add(struct raw_qp *r,
				   struct roost_flow_rule_init init)
{
	struct roost_flow_rule *rule;

	init.port_num = 1;
	assert_int_equal(roost_flow_rule_create(r->qp, &init, &rule), 0);
	return rule;
}

/* UDP over IPv4 to that port. */
static struct roost_flow_rule_init udp_rule(uint16_t port)
{
	struct roost_flow_rule_init init = {
		.type = ROOST_FLOW_NORMAL,
		.value = { .ip_version = 4, .l4 = IPPROTO_UDP },
		.mask = { .ip_version = 0xff,
			  .l4 = 0xff,
			  .dst_port = { 0xff, 0xff } },
	};

	roost_be16_put(init.value.dst_port, port);
	return init;
}

static void fill_udp(uint8_t *f, uint16_t port)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 2, 2,   0,
					0, 0, 0, 1, 8, 0, 0x45 };

	memset(f, 0, RAW_LEN);
	memcpy(f, head, sizeof(head));
	roost_be16_put(f + ETH + 2, RAW_LEN - ETH);
	f[ETH + 8] = 64;
	f[ETH + 9] = IPPROTO_UDP;
	memcpy(f + ETH + 12, (uint8_t[8]){ 10, 0, 0, 1, 10, 0, 0, 2 }, 8);
	roost_be16_put(f + ETH + 22, port);
	roost_be16_put(f + ETH + 24, RAW_LEN - ETH - 20);
	for (unsigned int i = ETH + 28; i < RAW_LEN; i++)
		f[i] = (uint8_t)i;
}

/* From the wire to B; the checksum of IP is wrong. */
static void put_udp(struct sim *sim, uint16_t port)
{
	uint8_t f[RAW_LEN];

	fill_udp(f, port);
	sim_link_put(sim, SIM_A, f, sizeof(f));
	sim_run_for(sim, 10 * SIM_US);
}

static void send_one(struct raw_qp *r, uint64_t wr_id, uint32_t flags,
		     struct sim_slice slice)
{
	raw_send(&r->as,
		 (struct roost_send_wr){
			 .wr_id = wr_id,
			 .opcode = ROOST_WR_SEND,
			 .flags = ROOST_SEND_SIGNALED | flags,
		 },
		 slice);
	sim_run_for(r->sim, 10 * SIM_US);
}

/* Frames come as they were sent, with the checksums that were asked for. */
static void flow__sends_and_receives(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_counters counters = { 0 };
	struct roost_flow_rule_init init = udp_rule(PORT);
	struct sim_slice out, in;
	struct roost_flow_rule *rule;
	struct raw_qp a, b;
	struct roost_cqe cqe;

	open_qp(&a, sim, SIM_A);
	open_qp(&b, sim, SIM_B);
	out = raw_blank(sim, RAW_LEN);
	in = raw_blank(sim, RAW_LEN + 50);
	fill_udp(out.data, PORT);
	init.tag = 0xabc;
	init.counters = &counters;
	rule = add(&b, init);
	raw_recv(&b.as, 7, in);
	send_one(&a, 3, ROOST_SEND_IP_CSUM, out);
	cqe = raw_expect(a.cq, 3, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.opcode, ROOST_WC_SEND);
	cqe = raw_expect(b.cq, 7, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.opcode, ROOST_WC_RECV);
	assert_int_equal(cqe.byte_len, RAW_LEN);
	assert_int_equal(cqe.imm_be, 0xabc);
	assert_int_equal(cqe.flags, ROOST_WC_IP_CSUM_OK);
	/* All but the two checksums. */
	assert_memory_equal(in.data, out.data, ETH + 10);
	assert_memory_equal(in.data + ETH + 12, out.data + ETH + 12, 14);
	assert_memory_equal(in.data + ETH + 28, out.data + ETH + 28,
			    RAW_LEN - ETH - 28);
	assert_int_not_equal(roost_be16_get(in.data + ETH + 10), 0);
	assert_int_not_equal(roost_be16_get(in.data + ETH + 26), 0);
	raw_assert_blank(in, RAW_LEN);
	assert_int_equal(counters.pkts, 1);
	assert_int_equal(counters.bytes, RAW_LEN);
	/* A wrong checksum comes, too, and says so. */
	raw_recv(&b.as, 8, in);
	send_one(&a, 4, 0, out);
	raw_expect(a.cq, 4, ROOST_WC_SUCCESS);
	cqe = raw_expect(b.cq, 8, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.flags, 0);
	assert_memory_equal(in.data, out.data, RAW_LEN);
	/* The QP has a rule, and the rule its counters. */
	assert_int_equal(roost_qp_destroy(b.qp, NULL), -EBUSY);
	assert_int_equal(counters.refs, 1);
	roost_flow_rule_destroy(rule);
	assert_int_equal(counters.refs, 0);
	close_qp(&a);
	close_qp(&b);
	sim_free(sim);
}

/* A frame that is too long for the port fails, and so does a runt; neither
 * leaves.
 */
static void flow__bad_lengths(void **state)
{
	struct sim *sim = sim_new();
	struct roost_send_wr wr = { .opcode = ROOST_WR_SEND, .nb_sges = 1 };
	struct roost_sge sge;
	struct sim_slice out;
	struct raw_qp a;

	open_qp(&a, sim, SIM_A);
	out = raw_random(sim, 9000);
	sge = (struct roost_sge){ (uintptr_t)out.data, ETH - 1,
				  roost_mr_lkey(a.end->mr) };
	wr.sges = &sge;
	roost_qp_send_begin(a.qp);
	assert_int_equal(roost_qp_send_add(a.qp, &wr), -EINVAL);
	roost_qp_send_end(a.qp);
	send_one(&a, 1, 0, out);
	raw_expect(a.cq, 1, ROOST_WC_LOC_LEN_ERR);
	assert_int_equal(roost_qp_state(a.qp), ROOST_QPS_SQE);
	close_qp(&a);
	sim_free(sim);
}

/* What no rule takes is the host's, as without rules; so is what comes behind
 * a rule that does not trap.
 */
static void flow__rules_in_their_order(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_rule *rules[4];
	struct roost_flow_rule_init init;
	struct raw_qp r[4];

	for (int i = 0; i < 4; i++) {
		open_qp(&r[i], sim, SIM_B);
		for (unsigned int n = 0; n < 8; n++)
			raw_recv(&r[i].as, n, raw_blank(sim, RAW_LEN));
	}
	/* 0 looks, and lets all pass; 1 and 2 share the next rank; 3 would come
	 * behind them.
	 */
	init = udp_rule(PORT);
	init.priority = 3;
	rules[3] = add(&r[3], init);
	init.priority = 2;
	rules[1] = add(&r[1], init);
	rules[2] = add(&r[2], init);
	init.priority = 1;
	init.dont_trap = true;
	rules[0] = add(&r[0], init);
	put_udp(sim, PORT);
	for (int i = 0; i < 3; i++)
		raw_expect(r[i].cq, 0, ROOST_WC_SUCCESS);
	raw_expect_nothing(r[3].cq);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 0);
	put_udp(sim, PORT + 1);
	for (int i = 0; i < 4; i++)
		raw_expect_nothing(r[i].cq);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 1);
	roost_flow_rule_destroy(rules[1]);
	roost_flow_rule_destroy(rules[2]);
	put_udp(sim, PORT);
	raw_expect(r[0].cq, 1, ROOST_WC_SUCCESS);
	raw_expect(r[3].cq, 0, ROOST_WC_SUCCESS);
	roost_flow_rule_destroy(rules[3]);
	put_udp(sim, PORT);
	raw_expect(r[0].cq, 2, ROOST_WC_SUCCESS);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 2);
	roost_flow_rule_destroy(rules[0]);
	put_udp(sim, PORT);
	raw_expect_nothing(r[0].cq);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 3);
	for (int i = 0; i < 4; i++)
		close_qp(&r[i]);
	sim_free(sim);
}

static void flow__drops(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_counters counters = { 0 };
	struct roost_flow_rule_init init = udp_rule(PORT);
	struct roost_flow_rule *rule;
	struct raw_qp b;

	open_qp(&b, sim, SIM_B);
	raw_recv(&b.as, 1, raw_blank(sim, RAW_LEN));
	init.drops = true;
	init.counters = &counters;
	rule = add(&b, init);
	put_udp(sim, PORT);
	raw_expect_nothing(b.cq);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 0);
	assert_int_equal(counters.pkts, 1);
	roost_flow_rule_destroy(rule);
	close_qp(&b);
	sim_free(sim);
}

/* Default rules copy: the host must have its ARP and ND. */
static void flow__defaults_copy(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_rule *all, *groups;
	uint8_t arp[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
			    0,    0,    0,    0,    1,    8,    6 };
	struct raw_qp a, b;

	open_qp(&a, sim, SIM_B);
	open_qp(&b, sim, SIM_B);
	for (unsigned int n = 0; n < 4; n++) {
		raw_recv(&a.as, n, raw_blank(sim, RAW_LEN));
		raw_recv(&b.as, n, raw_blank(sim, RAW_LEN));
	}
	all = add(&a, (struct roost_flow_rule_init){
			      .type = ROOST_FLOW_ALL_DEFAULT });
	groups = add(&b, (struct roost_flow_rule_init){
				 .type = ROOST_FLOW_MCAST_DEFAULT });
	sim_link_put(sim, SIM_A, arp, sizeof(arp));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(a.cq, 0, ROOST_WC_SUCCESS);
	raw_expect(b.cq, 0, ROOST_WC_SUCCESS);
	put_udp(sim, PORT);
	raw_expect(a.cq, 1, ROOST_WC_SUCCESS);
	raw_expect_nothing(b.cq);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 2);
	roost_flow_rule_destroy(all);
	roost_flow_rule_destroy(groups);
	close_qp(&a);
	close_qp(&b);
	sim_free(sim);
}

/* What a QP sends rules of other contexts on the port have, too, as in
 * ConnectX; its own context's do not.
 */
static void flow__sent_to_other_contexts(void **state)
{
	struct sim *sim = sim_new();
	struct sim_end *end = &sim->ends[SIM_A];
	struct roost_ctx *ctx, *home_ctx = end->ctx;
	struct roost_pd *pd, *home_pd = end->pd;
	struct roost_mr *mr, *home_mr = end->mr;
	struct roost_flow_rule *own, *other;
	struct sim_slice out, in;
	struct raw_qp a, b;

	open_qp(&a, sim, SIM_A);
	out = raw_blank(sim, RAW_LEN);
	in = raw_blank(sim, RAW_LEN);
	fill_udp(out.data, PORT);
	own = add(&a, udp_rule(PORT));
	raw_recv(&a.as, 1, in);
	assert_int_equal(roost_ctx_open(end->dev, &ctx), 0);
	assert_int_equal(roost_pd_alloc(ctx, &pd), 0);
	assert_int_equal(roost_mr_reg(pd, in.data, RAW_LEN, (uintptr_t)in.data,
				      ROOST_ACCESS_LOCAL_WRITE, &mr),
			 0);
	end->ctx = ctx;
	end->pd = pd;
	end->mr = mr;
	open_qp(&b, sim, SIM_A);
	other = add(&b, udp_rule(PORT));
	raw_recv(&b.as, 2, in);
	end->ctx = home_ctx;
	end->pd = home_pd;
	end->mr = home_mr;
	send_one(&a, 3, 0, out);
	raw_expect(a.cq, 3, ROOST_WC_SUCCESS);
	raw_expect(b.cq, 2, ROOST_WC_SUCCESS);
	raw_expect_nothing(a.cq);
	assert_memory_equal(in.data, out.data, RAW_LEN);
	roost_flow_rule_destroy(own);
	roost_flow_rule_destroy(other);
	close_qp(&b);
	assert_int_equal(roost_mr_dereg(mr), 0);
	assert_int_equal(roost_pd_dealloc(pd), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
	close_qp(&a);
	sim_free(sim);
}

/* A rule that would take ARP leaves it to the host, too. */
static void flow__host_keeps_arp(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_rule_init init = {
		.type = ROOST_FLOW_NORMAL,
		.value = { .ether_type = { 8, 6 } },
		.mask = { .ether_type = { 0xff, 0xff } },
	};
	uint8_t arp[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
			    0,    0,    0,    0,    1,    8,    6 };
	struct roost_flow_rule *rule;
	struct raw_qp b;

	open_qp(&b, sim, SIM_B);
	raw_recv(&b.as, 1, raw_blank(sim, RAW_LEN));
	rule = add(&b, init);
	sim_link_put(sim, SIM_A, arp, sizeof(arp));
	sim_run_for(sim, 10 * SIM_US);
	raw_expect(b.cq, 1, ROOST_WC_SUCCESS);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 1);
	roost_flow_rule_destroy(rule);
	close_qp(&b);
	sim_free(sim);
}

/* RoCE for the device is its QPs', whatever a rule says. A sniffer sees it, in
 * both directions, and takes nothing away.
 */
static void flow__sniffer_sees_roce(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_rule *rule, *sniffer;
	struct sim_qp *a, *b;
	struct raw_qp r, s;
	struct roost_cqe cqe;
	unsigned int n = 0;

	open_qp(&r, sim, SIM_B);
	open_qp(&s, sim, SIM_B);
	sim->nobody_polls = false;
	rule = add(&r, udp_rule(ROOST_UDP_PORT));
	sniffer = add(&s, (struct roost_flow_rule_init){
				  .type = ROOST_FLOW_SNIFFER });
	for (unsigned int i = 0; i < 16; i++) {
		raw_recv(&r.as, i, raw_blank(sim, 5000));
		raw_recv(&s.as, i, raw_blank(sim, 5000));
	}
	sim_pair(sim, NULL, &a, &b);
	sim_do_op(a, ROOST_WR_WRITE, 100);
	sim_run(sim);
	raw_expect_nothing(r.cq);
	/* The request and its acknowledgement. */
	while (roost_cq_poll(s.cq, 1, &cqe) == 1) {
		assert_int_equal(cqe.status, ROOST_WC_SUCCESS);
		n++;
	}
	assert_int_equal(n, 2);
	assert_int_equal(sim->ends[SIM_B].nb_punted, 0);
	roost_flow_rule_destroy(rule);
	roost_flow_rule_destroy(sniffer);
	close_qp(&r);
	close_qp(&s);
	sim_free(sim);
}

/* Zlib's CRC-32, which is that of Ethernet, bit by bit. */
static uint32_t crc32_of(const uint8_t *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* With these tags, outermost first, and flags of the QP: the outer tag of
 * 802.1Q is left out, the FCS of the whole frame is behind the rest.
 */
static const struct {
	uint8_t flags;
	unsigned int nb_tags, nb_stripped;
	uint16_t tpid;
} stores[] = {
	{ 0, 1, 0, 0x8100 },
	{ ROOST_STORE_STRIP_CVLAN, 0, 0, 0 },
	{ ROOST_STORE_STRIP_CVLAN, 1, 1, 0x8100 },
	{ ROOST_STORE_STRIP_CVLAN, 2, 1, 0x8100 },
	{ ROOST_STORE_STRIP_CVLAN, 1, 0, 0x88a8 },
	{ ROOST_STORE_FCS, 1, 0, 0x8100 },
	{ ROOST_STORE_KNOWN, 2, 1, 0x8100 },
};

static void check_stored(struct sim *sim, size_t row)
{
	const uint32_t tags = 4 * stores[row].nb_tags, len = RAW_LEN + tags;
	const uint32_t left_out = 4 * stores[row].nb_stripped;
	const bool fcs = stores[row].flags & ROOST_STORE_FCS;
	const uint32_t stored = len - left_out + (fcs ? 4 : 0);
	uint8_t udp[RAW_LEN], f[RAW_LEN + 8];
	struct roost_flow_rule *rule;
	struct sim_slice in;
	struct raw_qp b;
	struct roost_cqe cqe;
	uint32_t crc;

	print_message("row %zu\n", row);
	store_flags = stores[row].flags;
	open_qp(&b, sim, SIM_B);
	store_flags = 0;
	rule = add(&b, udp_rule(PORT));
	fill_udp(udp, PORT);
	memcpy(f, udp, 12);
	for (unsigned int i = 0; i < stores[row].nb_tags; i++) {
		roost_be16_put(f + 12 + 4 * i, stores[row].tpid);
		roost_be16_put(f + 14 + 4 * i, (uint16_t)(0x6005 + i));
	}
	memcpy(f + 12 + tags, udp + 12, RAW_LEN - 12);
	raw_recv(&b.as, 1, raw_blank(sim, stored - 1));
	in = raw_blank(sim, stored + 10);
	raw_recv(&b.as, 2, in);
	for (int i = 0; i < 2; i++) {
		sim_link_put(sim, SIM_A, f, len);
		sim_run_for(sim, 10 * SIM_US);
	}
	raw_expect(b.cq, 1, ROOST_WC_LOC_LEN_ERR);
	cqe = raw_expect(b.cq, 2, ROOST_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, stored);
	assert_int_equal(cqe.vlan_tci, tags != 0 ? 0x6005 : 0);
	assert_memory_equal(in.data, f, 12);
	assert_memory_equal(in.data + 12, f + 12 + left_out,
			    len - 12 - left_out);
	crc = rte_le_to_cpu_32(*(unaligned_uint32_t *)(in.data + stored - 4));
	if (fcs)
		assert_int_equal(crc, crc32_of(f, len));
	raw_assert_blank(in, stored);
	roost_flow_rule_destroy(rule);
	close_qp(&b);
}

static void flow__stores(void **state)
{
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		struct sim *sim = sim_new();

		check_stored(sim, i);
		sim_free(sim);
	}
}

/* Without a receive the frame is lost; one that is too short fails alone. */
static void flow__receives(void **state)
{
	struct sim *sim = sim_new();
	struct roost_flow_rule *rule;
	struct raw_qp b;

	open_qp(&b, sim, SIM_B);
	rule = add(&b, udp_rule(PORT));
	put_udp(sim, PORT);
	raw_expect_nothing(b.cq);
	assert_int_equal(sim_counters(sim, SIM_B)->drops[ROOST_DROP_RNR_WAIT],
			 1);
	raw_recv(&b.as, 1, raw_blank(sim, RAW_LEN - 1));
	raw_recv(&b.as, 2, raw_blank(sim, RAW_LEN));
	put_udp(sim, PORT);
	raw_expect(b.cq, 1, ROOST_WC_LOC_LEN_ERR);
	put_udp(sim, PORT);
	raw_expect(b.cq, 2, ROOST_WC_SUCCESS);
	roost_flow_rule_destroy(rule);
	close_qp(&b);
	sim_free(sim);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow__sends_and_receives),
		cmocka_unit_test(flow__bad_lengths),
		cmocka_unit_test(flow__rules_in_their_order),
		cmocka_unit_test(flow__drops),
		cmocka_unit_test(flow__defaults_copy),
		cmocka_unit_test(flow__sent_to_other_contexts),
		cmocka_unit_test(flow__host_keeps_arp),
		cmocka_unit_test(flow__sniffer_sees_roce),
		cmocka_unit_test(flow__stores),
		cmocka_unit_test(flow__receives),
	};

	return sim_main(argc, argv, "flow", tests,
			sizeof(tests) / sizeof(tests[0]));
}
