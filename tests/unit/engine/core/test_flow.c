/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The fields of frames, and what a port is told of rules. */

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/flow.h"
#include "lib/wire/bytes.h"
#include "tests/unit/engine/fixture.h"

/* ---- fields ------------------------------------------------------------- */

static const uint8_t tagged_udp[] = {
	2,    0,    0,    0,    0,  2,  2,    0, 0,  0,  0, 1, /* MACs */
	0x81, 0,    0x60, 5,    8,  0, /* VLAN 5, priority 3 */
	0x45, 0x12, 0,    32,   0,  0,  0x40, 0, 63, 17, 0, 0, /* DF */
	10,   0,    0,    1,    10, 0,  0,    2,               /* addresses */
	0x12, 0x34, 0x1b, 0x58, 0,  12, 0,    0                /* UDP */
};

static void flow__fields_of_ipv4(void **state)
{
	struct roost_flow_key key;

	roost_flow_key_read(&key, tagged_udp, sizeof(tagged_udp));
	assert_memory_equal(key.dst_mac, tagged_udp, 6);
	assert_memory_equal(key.src_mac, tagged_udp + 6, 6);
	assert_int_equal(roost_be16_get(key.ether_type), 0x0800);
	assert_int_equal(key.is_tagged, 0xff);
	assert_int_equal(roost_be16_get(key.vlan_tci), 0x6005);
	assert_int_equal(key.ip_version, 4);
	assert_memory_equal(key.src_ip, tagged_udp + 30, 4);
	assert_memory_equal(key.dst_ip, tagged_udp + 34, 4);
	assert_int_equal(key.tclass, 0x12);
	assert_int_equal(key.ttl, 63);
	assert_int_equal(key.ip_flags, 2);
	assert_int_equal(key.ip_proto, IPPROTO_UDP);
	assert_int_equal(key.l4, IPPROTO_UDP);
	assert_int_equal(roost_be16_get(key.src_port), 0x1234);
	assert_int_equal(roost_be16_get(key.dst_port), 7000);
}

/* A fragment that is not the first has data where the ports would be. */
static void flow__fragment_has_no_ports(void **state)
{
	struct roost_flow_key key;
	uint8_t f[sizeof(tagged_udp)];

	memcpy(f, tagged_udp, sizeof(f));
	f[18 + 7] = 1;
	roost_flow_key_read(&key, f, sizeof(f));
	assert_int_equal(key.ip_proto, IPPROTO_UDP);
	assert_int_equal(key.l4, 0);
	assert_int_equal(roost_be16_get(key.dst_port), 0);
}

static void flow__fields_of_ipv6(void **state)
{
	uint8_t f[14 + 40 + 20] = {
		2, [12] = 0x86, 0xdd, 0x6a, 0xbc, 0xde, 0xf0
	};
	struct roost_flow_key key;

	f[14 + 6] = IPPROTO_TCP;
	f[14 + 7] = 9;
	f[14 + 8] = 0xfd;
	f[14 + 24] = 0xfe;
	f[14 + 40 + 3] = 80;
	roost_flow_key_read(&key, f, sizeof(f));
	assert_int_equal(key.ip_version, 6);
	assert_int_equal(key.tclass, 0xab);
	assert_int_equal(roost_be32_get(key.flow_label), 0xcdef0);
	assert_int_equal(key.ttl, 9);
	assert_int_equal(key.src_ip[0], 0xfd);
	assert_int_equal(key.dst_ip[0], 0xfe);
	assert_int_equal(key.l4, IPPROTO_TCP);
	assert_int_equal(roost_be16_get(key.dst_port), 80);
}

/* ASan sees a read behind the end. */
static void flow__fields_of_any_length(void **state)
{
	struct roost_flow_key key;

	for (size_t len = 0; len <= sizeof(tagged_udp); len++) {
		uint8_t *f = malloc(len + 1);

		memcpy(f, tagged_udp, len);
		f = realloc(f, len ? len : 1);
		roost_flow_key_read(&key, f, len);
		assert_int_equal(key.l4 != 0, len >= sizeof(tagged_udp) - 4);
		free(f);
	}
}

/* ---- promiscuous mode --------------------------------------------------- */

struct port {
	unsigned int nb_calls;
	bool on;
	int ret;
};

static int set(void *ctx, bool on)
{
	struct port *port = ctx;

	port->nb_calls++;
	port->on = port->ret == 0 && on;
	return port->ret;
}

static struct roost_qp *raw_qp(struct fixture *f)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_RAW,
		.send_cq = f->cq,
		.recv_cq = f->cq,
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(f->ctx, f->pd, &init, &qp), 0);
	return qp;
}

static void open_port(struct fixture *f, struct port *port)
{
	f->dev->ports[0].frame_io.ctx = port;
	f->dev->ports[0].frame_io.promiscuous = set;
}

static struct roost_flow_rule_init mac_rule(uint8_t last, uint8_t mask)
{
	struct roost_flow_rule_init init = {
		.type = ROOST_FLOW_NORMAL,
		.port_num = 1,
		.value.dst_mac = { 2, 0, 0, 0, 0, last },
	};

	memset(init.mask.dst_mac, mask, sizeof(init.mask.dst_mac));
	return init;
}

/* The port hears others as long as a rule wants them. */
static void flow__promiscuous_while_wanted(void **state)
{
	struct fixture *f = *state;
	struct roost_flow_rule_init init = mac_rule(0x77, 0xff);
	struct roost_flow_rule *other, *own, *any, *all;
	struct port port = { 0 };
	struct roost_qp *qp;
	uint8_t mac[6];

	open_port(f, &port);
	qp = raw_qp(f);
	assert_int_equal(roost_port_query_mac(f->dev, 1, mac), 0);
	assert_int_equal(roost_flow_rule_create(qp, &init, &other), 0);
	assert_true(port.on);
	init.type = ROOST_FLOW_ALL_DEFAULT;
	assert_int_equal(roost_flow_rule_create(qp, &init, &all), 0);
	assert_int_equal(port.nb_calls, 1);
	roost_flow_rule_destroy(other);
	assert_true(port.on);
	roost_flow_rule_destroy(all);
	assert_false(port.on);
	/* For frames to its own MAC, or to any that it receives anyway. */
	init = mac_rule(0, 0xff);
	memcpy(init.value.dst_mac, mac, sizeof(mac));
	assert_int_equal(roost_flow_rule_create(qp, &init, &own), 0);
	init = mac_rule(0x77, 0);
	assert_int_equal(roost_flow_rule_create(qp, &init, &any), 0);
	assert_int_equal(port.nb_calls, 2);
	roost_flow_rule_destroy(own);
	roost_flow_rule_destroy(any);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

static void flow__port_that_cannot(void **state)
{
	struct fixture *f = *state;
	struct roost_flow_rule_init init = mac_rule(0x77, 0xff);
	struct port port = { .ret = -ENOTSUP };
	struct roost_flow_rule *rule;
	struct roost_qp *qp;

	open_port(f, &port);
	qp = raw_qp(f);
	assert_int_equal(roost_flow_rule_create(qp, &init, &rule), -ENOTSUP);
	assert_false(f->dev->ports[0].has_flows);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

/* Rules are for raw packet QPs, and these for ports where any frame passes. */
static void flow__refuses(void **state)
{
	struct fixture *f = *state;
	struct roost_flow_rule_init init = mac_rule(1, 0xff);
	struct roost_qp *qp = fixture_qp(f, 1), *raw = raw_qp(f);
	struct roost_qp_init qp_init = {
		.type = ROOST_QPT_RAW,
		.send_cq = f->cq,
		.recv_cq = f->cq,
	};
	struct roost_flow_rule *rule;

	assert_int_equal(roost_flow_rule_create(qp, &init, &rule), -EINVAL);
	init.port_num = 2;
	assert_int_equal(roost_flow_rule_create(raw, &init, &rule), -EINVAL);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_qp_destroy(raw, NULL), 0);
	f->dev->ports[0].frame_io.roce_only = true;
	assert_int_equal(roost_qp_create(f->ctx, f->pd, &qp_init, &raw),
			 -EOPNOTSUPP);
}

/* ---- in the NIC --------------------------------------------------------- */

#define PLACED_MAX 8u

struct nic {
	struct roost_flow_key placed[PLACED_MAX]; /* their values */
	bool used[PLACED_MAX];
};

static void *place_rule(void *ctx, const struct roost_flow_rule_init *rule)
{
	struct nic *nic = ctx;
	unsigned int i = 0;

	while (nic->used[i])
		i++;
	assert_true(i < PLACED_MAX);
	nic->used[i] = true;
	nic->placed[i] = rule->value;
	return &nic->placed[i];
}

static void displace_rule(void *ctx, void *placed)
{
	struct nic *nic = ctx;
	struct roost_flow_key *key = placed;

	assert_true(nic->used[key - nic->placed]);
	nic->used[key - nic->placed] = false;
}

/* Has it a rule for this port? */
static bool has(const struct nic *nic, uint16_t dst_port)
{
	for (unsigned int i = 0; i < PLACED_MAX; i++)
		if (nic->used[i] &&
		    roost_be16_get(nic->placed[i].dst_port) == dst_port)
			return true;
	return false;
}

static void open_nic(struct fixture *f, struct nic *nic)
{
	f->dev->ports[0].frame_io.ctx = nic;
	f->dev->ports[0].frame_io.place_rule = place_rule;
	f->dev->ports[0].frame_io.displace_rule = displace_rule;
}

static struct roost_flow_rule *create(struct roost_qp *qp,
				      const struct roost_flow_rule_init *init)
{
	struct roost_flow_rule *rule;

	assert_int_equal(roost_flow_rule_create(qp, init, &rule), 0);
	return rule;
}

/* For a port of TCP or UDP over IPv4, or for any (0). */
static struct roost_flow_rule_init l4_rule(uint8_t l4, uint16_t dst_port)
{
	struct roost_flow_rule_init init = {
		.type = ROOST_FLOW_NORMAL,
		.port_num = 1,
		.value = { .ip_version = 4, .l4 = l4 },
		.mask = { .ip_version = 0xff, .l4 = 0xff },
	};

	roost_be16_put(init.value.dst_port, dst_port);
	if (dst_port != 0)
		memset(init.mask.dst_port, 0xff, 2);
	return init;
}

/* One rule alone: is it in the NIC, until it is destroyed? */
static void flow__placed_unless_roce(void **state)
{
	struct fixture *f = *state;
	struct roost_flow_counters counters = { 0 };
	struct nic nic = { 0 };
	struct roost_qp *qp = raw_qp(f);
	struct {
		struct roost_flow_rule_init init;
		bool drops, dont_trap, counts, placed;
	} rows[] = {
		{ l4_rule(IPPROTO_TCP, 0), .placed = true },
		{ l4_rule(IPPROTO_UDP, 7000), .placed = true },
		{ l4_rule(IPPROTO_UDP, 4791), .placed = false },
		{ l4_rule(IPPROTO_UDP, 0), .placed = false },
		{ mac_rule(1, 0xff), .placed = false },
		{ { .type = ROOST_FLOW_ALL_DEFAULT, .port_num = 1 },
		  .placed = false },
		{ { .type = ROOST_FLOW_SNIFFER, .port_num = 1 },
		  .placed = false },
		{ l4_rule(IPPROTO_TCP, 0), .counts = true, .placed = true },
		{ l4_rule(IPPROTO_TCP, 0), .drops = true, .placed = true },
		{ l4_rule(IPPROTO_TCP, 0), .drops = true, .counts = true,
		  .placed = false },
		{ l4_rule(IPPROTO_TCP, 0), .drops = true, .dont_trap = true,
		  .placed = false },
	};

	open_nic(f, &nic);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roost_flow_rule *rule;

		rows[i].init.drops = rows[i].drops;
		rows[i].init.dont_trap = rows[i].dont_trap;
		rows[i].init.counters = rows[i].counts ? &counters : NULL;
		rule = create(qp, &rows[i].init);
		assert_int_equal(nic.used[0], rows[i].placed);
		if (rows[i].placed)
			assert_memory_equal(&nic.placed[0], &rows[i].init.value,
					    sizeof(nic.placed[0]));
		roost_flow_rule_destroy(rule);
		assert_false(nic.used[0]);
	}
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

/* ARP, ICMPv6, and what lies behind extension headers. */
static void flow__drops_nothing_of_the_host(void **state)
{
	static const struct {
		uint16_t ether_type;
		uint8_t ip_version, ip_proto, l4;
		bool placed;
	} rows[] = {
		{ 0x0806, 0, 0, 0, false }, { 0x88cc, 0, 0, 0, true },
		{ 0, 6, 58, 0, false },     { 0, 6, 59, 0, true },
		{ 0, 4, 58, 0, true },      { 0, 6, 0, IPPROTO_TCP, false },
	};
	struct fixture *f = *state;
	struct nic nic = { 0 };
	struct roost_qp *qp = raw_qp(f);

	open_nic(f, &nic);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roost_flow_rule_init init = {
			.port_num = 1,
			.drops = true,
			.value = { .ip_version = rows[i].ip_version,
				   .ip_proto = rows[i].ip_proto,
				   .l4 = rows[i].l4 },
			.mask = { .ip_version = rows[i].ip_version ? 0xff : 0,
				  .ip_proto = rows[i].ip_proto ? 0xff : 0,
				  .l4 = rows[i].l4 ? 0xff : 0 },
		};
		struct roost_flow_rule *rule;

		roost_be16_put(init.value.ether_type, rows[i].ether_type);
		if (rows[i].ether_type)
			memset(init.mask.ether_type, 0xff, 2);
		rule = create(qp, &init);
		assert_int_equal(nic.used[0], rows[i].placed);
		roost_flow_rule_destroy(rule);
	}
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

/* The NIC drops only while nobody else wants to see the frames. */
static void flow__drops_what_nobody_wants(void **state)
{
	struct fixture *f = *state;
	struct nic nic = { 0 };
	struct roost_qp *qp = raw_qp(f);
	struct roost_flow_rule_init init = l4_rule(IPPROTO_TCP, 80);
	struct roost_flow_rule *drop, *other;

	open_nic(f, &nic);
	init.drops = true;
	init.priority = 1;
	drop = create(qp, &init);
	assert_true(has(&nic, 80));
	/* Another drops them, too. */
	init.priority = 0;
	other = create(qp, &init);
	assert_true(nic.used[0] && nic.used[1]);
	roost_flow_rule_destroy(other);
	/* One before it, and one of the same rank. */
	for (uint16_t priority = 0; priority < 2; priority++) {
		init = l4_rule(IPPROTO_TCP, 0);
		init.priority = priority;
		other = create(qp, &init);
		assert_false(has(&nic, 80));
		roost_flow_rule_destroy(other);
		assert_true(has(&nic, 80));
	}
	/* One behind it, and one for other frames. */
	init.priority = 2;
	other = create(qp, &init);
	assert_true(has(&nic, 80));
	roost_flow_rule_destroy(other);
	init = l4_rule(IPPROTO_TCP, 81);
	other = create(qp, &init);
	assert_true(has(&nic, 80));
	roost_flow_rule_destroy(other);
	/* A sniffer, and a tap. */
	init = (struct roost_flow_rule_init){ .type = ROOST_FLOW_SNIFFER,
					      .port_num = 1 };
	other = create(qp, &init);
	assert_false(has(&nic, 80));
	roost_flow_rule_destroy(other);
	assert_true(has(&nic, 80));
	roost_flow_set_shown(f->dev, true);
	assert_false(has(&nic, 80));
	roost_flow_set_shown(f->dev, false);
	assert_true(has(&nic, 80));
	roost_flow_rule_destroy(drop);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow__fields_of_ipv4),
		cmocka_unit_test(flow__fragment_has_no_ports),
		cmocka_unit_test(flow__fields_of_ipv6),
		cmocka_unit_test(flow__fields_of_any_length),
		FIXTURE_TEST(flow__promiscuous_while_wanted),
		FIXTURE_TEST(flow__port_that_cannot),
		FIXTURE_TEST(flow__refuses),
		FIXTURE_TEST(flow__placed_unless_roce),
		FIXTURE_TEST(flow__drops_nothing_of_the_host),
		FIXTURE_TEST(flow__drops_what_nobody_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
