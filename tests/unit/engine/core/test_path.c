/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "lib/engine/core/qp_priv.h"
#include "tests/unit/engine/fixture.h"

static struct roost_av good_av(const struct fixture *f)
{
	return (struct roost_av){
		.is_global = true,
		.dgid = f->peer,
		.port_num = 1,
		.hop_limit = 64,
	};
}

static int resolve(struct fixture *f, const struct roost_av *av,
		   struct roost_path *path)
{
	return roost_path_resolve(f->dev, av, 0x111111, 0x222222, path);
}

/* The first headers of a packet on this path. */
static struct roost_frame headers(const struct roost_path *path,
				  uint8_t dst_mac[6])
{
	static uint8_t buf[ROOST_FRAME_OVERHEAD_MAX];
	const struct roost_bth bth = { .opcode = ROOST_OPCODE_RC_SEND_ONLY };
	struct roost_frame frame;
	size_t len = roost_hdr_emit(&path->template, buf, &bth, 0);

	roost_frame_seal(&path->template, buf, len);
	assert_int_equal(roost_frame_parse(buf, len + ROOST_ICRC_LEN, &frame),
			 ROOST_FRAME_ROCE);
	memcpy(dst_mac, buf, 6);
	return frame;
}

static void path_resolve__ipv4(void **state)
{
	struct fixture *f = *state;
	const uint8_t neigh_mac[6] = { 2, 0, 0, 0, 0, 2 };
	const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct roost_frame frame;
	struct roost_path path;
	struct roost_av av;
	uint8_t mac[6];

	av = good_av(f);
	av.traffic_class = 0x68;
	av.hop_limit = 7;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_true(path.valid);
	assert_false(path.loopback);
	assert_int_equal(f->neigh_refs, 1);
	frame = headers(&path, mac);
	assert_memory_equal(mac, neigh_mac, 6);
	assert_memory_equal(frame.src_mac, own_mac, 6);
	assert_memory_equal(&frame.sgid, &f->gid, 16);
	assert_memory_equal(&frame.dgid, &f->peer, 16);
	assert_int_equal(frame.tclass, 0x68);
	assert_int_equal(frame.hop_limit, 7);
	assert_true(frame.udp_src >= 0xc000);
	roost_path_release(f->dev, &path);
	assert_int_equal(f->neigh_refs, 0);
	/* Twice is once. */
	roost_path_release(f->dev, &path);
	assert_int_equal(f->neigh_refs, 0);
}

static void path_resolve__ipv6(void **state)
{
	struct fixture *f = *state;
	struct roost_frame frame;
	struct roost_path path;
	struct roost_av av;
	uint8_t mac[6];

	av = good_av(f);
	av.sgid_index = 1;
	av.dgid = f->peer6;
	av.flow_label = 0xfff12345;
	assert_int_equal(resolve(f, &av, &path), 0);
	frame = headers(&path, mac);
	assert_true(frame.ipv6);
	assert_memory_equal(&frame.sgid, &f->gid6, 16);
	assert_memory_equal(&frame.dgid, &f->peer6, 16);
	assert_int_equal(frame.flow_label, 0x12345);
	roost_path_release(f->dev, &path);
}

/* A hop limit of 0 would not leave the host: programs mean the default. */
static void path_resolve__hop_limit_zero(void **state)
{
	struct fixture *f = *state;
	struct roost_path path;
	struct roost_av av;
	uint8_t mac[6];

	av = good_av(f);
	av.hop_limit = 0;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_true(headers(&path, mac).hop_limit > 0);
	roost_path_release(f->dev, &path);
}

static void path_resolve__wrong_av(void **state)
{
	struct fixture *f = *state;
	struct roost_path path;
	struct roost_av av;

#define WRONG(field, value)                                                    \
	do {                                                                   \
		av = good_av(f);                                               \
		av.field = (value);                                            \
		assert_int_equal(resolve(f, &av, &path), -EINVAL);             \
	} while (0)
	WRONG(port_num, 0);
	WRONG(port_num, 2);
	WRONG(sgid_index, 2);
	WRONG(sgid_index, 255);
	WRONG(sgid_index, 1);  /* IPv6, and the peer's is IPv4 */
	WRONG(dgid, f->peer6); /* the other way round */
	WRONG(dgid, ((struct roost_gid){ { 0 } }));
	assert_int_equal(f->neigh_refs, 0);
}

/* An entry that was cleared in the middle of the table. */
static void path_resolve__empty_gid(void **state)
{
	struct fixture *f = *state;
	const struct roost_gid zero = { { 0 } };
	struct roost_path path;
	struct roost_av av;

	assert_int_equal(roost_port_set_gid(f->dev, 1, 0, &zero), 0);
	av = good_av(f);
	assert_int_equal(resolve(f, &av, &path), -EINVAL);
}

static void path_resolve__neighbour_not_found(void **state)
{
	struct fixture *f = *state;
	struct roost_path path;
	struct roost_av av;

	av = good_av(f);
	f->resolve_rc = -EHOSTUNREACH;
	assert_int_equal(resolve(f, &av, &path), -EHOSTUNREACH);
	f->resolve_rc = -ETIMEDOUT;
	assert_int_equal(resolve(f, &av, &path), -ETIMEDOUT);
}

/* Any address of our own is reached without the network. */
static void path_resolve__loopback(void **state)
{
	struct fixture *f = *state;
	struct roost_path path;
	struct roost_av av;

	f->resolve_rc = -EHOSTUNREACH;
	av = good_av(f);
	av.dgid = f->gid;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_true(path.loopback);
	roost_path_release(f->dev, &path);
	av.sgid_index = 1;
	av.dgid = f->gid6;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_true(path.loopback);
	roost_path_release(f->dev, &path);
}

/* Programs that exchange LIDs only. */
static void path_resolve__lid(void **state)
{
	struct fixture *f = *state;
	struct roost_av av = { .port_num = 1, .dlid = 0x0002 };
	struct roost_port_attr port;
	const struct roost_gid zero = { { 0 } };
	struct roost_path path;

	assert_int_equal(roost_port_query(f->dev, 1, &port), 0);
	assert_int_equal(port.lid, 0x0001);
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_memory_equal(&path.sgid, &f->gid, 16);
	assert_memory_equal(&path.dgid, &f->peer, 16);
	roost_path_release(f->dev, &path);
	/* 198.18.171.205 */
	av.dlid = 0xabcd;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_int_equal(path.dgid.b[12], 198);
	assert_int_equal(path.dgid.b[13], 18);
	assert_int_equal(path.dgid.b[14], 0xab);
	assert_int_equal(path.dgid.b[15], 0xcd);
	roost_path_release(f->dev, &path);
	/* Our own. */
	av.dlid = port.lid;
	assert_int_equal(resolve(f, &av, &path), 0);
	assert_true(path.loopback);
	roost_path_release(f->dev, &path);
	av.dlid = 0;
	assert_int_equal(resolve(f, &av, &path), -EINVAL);
	/* Without an IPv4 address there are no LIDs. */
	assert_int_equal(roost_port_set_gid(f->dev, 1, 0, &zero), 0);
	assert_int_equal(roost_port_query(f->dev, 1, &port), 0);
	assert_int_equal(port.lid, 0);
	av.dlid = 2;
	assert_int_equal(resolve(f, &av, &path), -EINVAL);
}

/* One source port for one QP, at either end, many for many. */
static void path_resolve__source_port(void **state)
{
	struct fixture *f = *state;
	struct roost_path path;
	struct roost_av av;
	uint16_t first = 0;
	unsigned int equal = 0;
	uint8_t mac[6];

	av = good_av(f);
	for (uint32_t qpn = 1000; qpn < 1256; qpn++) {
		uint16_t port, again;

		assert_int_equal(roost_path_resolve(f->dev, &av, qpn, 5, &path),
				 0);
		port = headers(&path, mac).udp_src;
		roost_path_release(f->dev, &path);
		assert_int_equal(roost_path_resolve(f->dev, &av, 5, qpn, &path),
				 0);
		again = headers(&path, mac).udp_src;
		roost_path_release(f->dev, &path);
		assert_int_equal(port, again);
		if (qpn == 1000)
			first = port;
		equal += port == first;
	}
	assert_true(equal < 5);
}

/* A flow label chooses the port, whoever speaks; the numbers are Linux's. */
static void path_resolve__source_port_of_a_label(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t label;
		uint16_t port;
	} rows[] = {
		{ 1, 0xc001 },
		{ 0x4000, 0xc001 },
		{ 0xfffff, 0xffc0 },
		{ 0x12345, 0xe341 },
	};
	struct roost_path path;
	struct roost_av av;
	uint8_t mac[6];

	av = good_av(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t qpn = 1000; qpn < 1002; qpn++) {
			av.flow_label = rows[i].label;
			assert_int_equal(roost_path_resolve(f->dev, &av, qpn, 5,
							    &path),
					 0);
			assert_int_equal(headers(&path, mac).udp_src,
					 rows[i].port);
			roost_path_release(f->dev, &path);
		}
}

/* The neighbour has a new MAC: the next packet goes there. */
static void path_refresh__follows_the_neighbour(void **state)
{
	struct fixture *f = *state;
	const uint8_t old_mac[6] = { 2, 0, 0, 0, 0, 2 };
	const uint8_t new_mac[6] = { 2, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
	struct roost_path path;
	struct roost_av av;
	uint8_t mac[6];

	av = good_av(f);
	assert_int_equal(resolve(f, &av, &path), 0);
	roost_path_refresh(&path);
	headers(&path, mac);
	assert_memory_equal(mac, old_mac, 6);
	atomic_store(&f->neigh.mac_gen, 0x02aabbccddee0002u);
	roost_path_refresh(&path);
	headers(&path, mac);
	assert_memory_equal(mac, new_mac, 6);
	/* It is being looked for again: the last known MAC is used. */
	atomic_store(&f->neigh.mac_gen, 0);
	roost_path_refresh(&path);
	headers(&path, mac);
	assert_memory_equal(mac, new_mac, 6);
	roost_path_release(f->dev, &path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(path_resolve__ipv4),
		FIXTURE_TEST(path_resolve__ipv6),
		FIXTURE_TEST(path_resolve__hop_limit_zero),
		FIXTURE_TEST(path_resolve__wrong_av),
		FIXTURE_TEST(path_resolve__empty_gid),
		FIXTURE_TEST(path_resolve__neighbour_not_found),
		FIXTURE_TEST(path_resolve__loopback),
		FIXTURE_TEST(path_resolve__lid),
		FIXTURE_TEST(path_resolve__source_port),
		FIXTURE_TEST(path_resolve__source_port_of_a_label),
		FIXTURE_TEST(path_refresh__follows_the_neighbour),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
