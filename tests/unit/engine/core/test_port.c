/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/qp_priv.h"
#include <roost/wq.h>
#include "tests/unit/engine/fixture.h"

static const struct roost_gid no_gid;

static void port_query__number_and_index(void **state)
{
	struct fixture *f = *state;
	struct roost_port_attr attr;
	struct roost_gid gid;
	uint16_t pkey;

	assert_int_equal(roost_port_query(f->dev, 0, &attr), -EINVAL);
	assert_int_equal(roost_port_query(f->dev, 2, &attr), -EINVAL);
	assert_int_equal(roost_port_query_gid(f->dev, 0, 0, &gid), -EINVAL);
	assert_int_equal(roost_port_query_gid(f->dev, 1, ROOST_GID_TABLE_LEN,
					      &gid),
			 -EINVAL);
	assert_int_equal(roost_port_query_gid(f->dev, 1,
					      ROOST_GID_TABLE_LEN - 1, &gid),
			 0);
	assert_true(roost_gid_is_zero(&gid));
	assert_int_equal(roost_port_query_pkey(f->dev, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(roost_port_query_pkey(f->dev, 1, 1, &pkey), 0);
	assert_int_equal(pkey, 0);
	assert_int_equal(roost_port_query_pkey(f->dev, 1, ROOST_PKEY_TABLE_LEN,
					       &pkey),
			 -EINVAL);
	assert_int_equal(roost_port_query_pkey(f->dev, 2, 0, &pkey), -EINVAL);
}

static void port_set_gid__table(void **state)
{
	struct fixture *f = *state;
	struct roost_gid gid;

	assert_int_equal(roost_port_set_gid(f->dev, 2, 0, &f->peer), -EINVAL);
	assert_int_equal(roost_port_set_gid(f->dev, 1, ROOST_GID_TABLE_LEN,
					    &f->peer),
			 -EINVAL);
	/* The same again in its own place is nothing new, elsewhere it is. */
	assert_int_equal(roost_port_set_gid(f->dev, 1, 0, &f->gid), 0);
	assert_int_equal(roost_port_set_gid(f->dev, 1, 5, &f->gid), -EEXIST);
	assert_int_equal(roost_port_query_gid(f->dev, 1, 5, &gid), 0);
	assert_true(roost_gid_is_zero(&gid));
	assert_int_equal(roost_port_set_gid(f->dev, 1, ROOST_GID_TABLE_LEN - 1,
					    &f->peer6),
			 0);
	assert_true(roost_port_owns(&f->dev->ports[0], &f->peer6));
	assert_int_equal(roost_port_set_gid(f->dev, 1, 0, &no_gid), 0);
	assert_false(roost_port_owns(&f->dev->ports[0], &f->gid));
	assert_true(roost_port_owns(&f->dev->ports[0], &f->gid6));
	assert_true(roost_port_owns(&f->dev->ports[0], &f->peer6));
	assert_int_equal(roost_port_set_gid(f->dev, 1, ROOST_GID_TABLE_LEN - 1,
					    &no_gid),
			 0);
	assert_false(roost_port_owns(&f->dev->ports[0], &f->peer6));
	/* Many zeros may stand in the table. */
	assert_int_equal(roost_port_set_gid(f->dev, 1, 1, &no_gid), 0);
	assert_false(roost_port_owns(&f->dev->ports[0], &no_gid));
}

/* Path MTU and the headers of RoCE must fit what IP may send (IPv6: 40, UDP 8,
 * BTH 12, XRCETH 4, RETH 16, ImmDt 4, ICRC 4).
 */
static void port_query__active_mtu(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t ip_mtu_bytes;
		int mtu;
	} rows[] = {
		{ 9000, ROOST_MTU_4096 },
		{ 4096 + 88, ROOST_MTU_4096 },
		{ 4096 + 87, ROOST_MTU_2048 },
		{ 2048 + 88, ROOST_MTU_2048 },
		{ 2048 + 87, ROOST_MTU_1024 },
		{ 1500, ROOST_MTU_1024 },
		{ 1024 + 87, ROOST_MTU_512 },
		{ 512 + 87, ROOST_MTU_256 },
		{ 256 + 88, ROOST_MTU_256 },
		{ 256 + 87, 0 },
		{ 0, 0 },
	};
	struct roost_port_attr attr;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_port_set_link(f->dev, 1, ROOST_PORT_DOWN,
				    rows[i].ip_mtu_bytes, 1000);
		assert_int_equal(roost_port_query(f->dev, 1, &attr), 0);
		assert_int_equal(attr.active_mtu, rows[i].mtu);
		assert_int_equal(attr.max_mtu, ROOST_MTU_4096);
		assert_int_equal(attr.state, ROOST_PORT_DOWN);
		assert_int_equal(attr.speed_mbps, 1000);
	}
}

/* ---- changes and their events ---------------------------------------------
 */

static struct roost_ctx *open_ctx(struct fixture *f)
{
	struct roost_ctx *ctx;

	assert_int_equal(roost_ctx_open(f->dev, &ctx), 0);
	fcntl(roost_channel_fd(roost_ctx_async_channel(ctx)), F_SETFL,
	      O_NONBLOCK);
	return ctx;
}

/* Exactly these, in this order, of port 1; ends with -1. */
static void assert_events(struct roost_ctx *ctx, const int *types)
{
	struct roost_channel *channel = roost_ctx_async_channel(ctx);
	struct roost_event event;

	for (; *types >= 0; types++) {
		assert_int_equal(roost_channel_read(channel, &event), 0);
		assert_int_equal(event.type, *types);
		assert_int_equal(event.arg, 1);
	}
	assert_int_equal(roost_channel_read(channel, &event), -EAGAIN);
}

#define EVENTS(...) ((const int[]){ __VA_ARGS__, -1 })
#define NO_EVENTS ((const int[]){ -1 })

static void port_set__each_has_its_event(void **state)
{
	struct fixture *f = *state;
	struct roost_gid other = { { 0xfd, [15] = 9 } };
	struct roost_ctx *ctx, *ctx2;

	ctx = open_ctx(f);
	ctx2 = open_ctx(f);
	roost_port_set_gid(f->dev, 1, 9, &other);
	assert_events(ctx, EVENTS(ROOST_EVENT_GID_CHANGE));
	roost_port_set_gid(f->dev, 1, 9, &other); /* nothing new */
	assert_int_equal(roost_port_set_gid(f->dev, 1, 8, &other), -EEXIST);
	assert_events(ctx, NO_EVENTS);
	roost_port_set_gid(f->dev, 1, 9, &no_gid);
	roost_port_set_pkey(f->dev, 1, 1, 0x8001);
	roost_port_set_pkey(f->dev, 1, 1, 0x8001);
	roost_port_set_lid(f->dev, 1, 77);
	roost_port_set_lid(f->dev, 1, 77);
	roost_port_set_sm_lid(f->dev, 1, 5);
	roost_port_set_sm_lid(f->dev, 1, 5);
	roost_port_reregister(f->dev, 1);
	roost_port_set_link(f->dev, 1, ROOST_PORT_DOWN, 9000, 0);
	roost_port_set_link(f->dev, 1, ROOST_PORT_DOWN, 9000, 1000);
	roost_port_set_link(f->dev, 1, ROOST_PORT_ACTIVE, 9000, 1000);
	assert_events(ctx,
		      EVENTS(ROOST_EVENT_GID_CHANGE, ROOST_EVENT_PKEY_CHANGE,
			     ROOST_EVENT_LID_CHANGE, ROOST_EVENT_SM_CHANGE,
			     ROOST_EVENT_CLIENT_REREGISTER,
			     ROOST_EVENT_PORT_ERR, ROOST_EVENT_PORT_ACTIVE));
	/* Every context is told. */
	assert_events(ctx2,
		      EVENTS(ROOST_EVENT_GID_CHANGE, ROOST_EVENT_GID_CHANGE,
			     ROOST_EVENT_PKEY_CHANGE, ROOST_EVENT_LID_CHANGE,
			     ROOST_EVENT_SM_CHANGE,
			     ROOST_EVENT_CLIENT_REREGISTER,
			     ROOST_EVENT_PORT_ERR, ROOST_EVENT_PORT_ACTIVE));
	assert_int_equal(roost_ctx_close(ctx), 0);
	assert_int_equal(roost_ctx_close(ctx2), 0);
}

static void port_set__unknown_port(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(roost_port_set_pkey(f->dev, 2, 0, 1), -EINVAL);
	assert_int_equal(roost_port_set_pkey(f->dev, 1, ROOST_PKEY_TABLE_LEN,
					     1),
			 -EINVAL);
	assert_int_equal(roost_port_set_lid(f->dev, 0, 1), -EINVAL);
	assert_int_equal(roost_port_set_sm_lid(f->dev, 2, 1), -EINVAL);
	assert_int_equal(roost_port_reregister(f->dev, 2), -EINVAL);
	roost_port_remove(f->dev, 2);
	assert_false(roost_dev_failed(f->dev));
}

static uint16_t lid_of(struct fixture *f)
{
	struct roost_port_attr attr;

	assert_int_equal(roost_port_query(f->dev, 1, &attr), 0);
	return attr.lid;
}

/* It follows from the first IPv4 address, unless it was set. */
static void port_set_lid__and_addresses(void **state)
{
	struct fixture *f = *state;
	struct roost_ctx *ctx;

	ctx = open_ctx(f);
	assert_int_equal(lid_of(f), 1);
	roost_port_set_gid(f->dev, 1, 0, &f->peer);
	assert_int_equal(lid_of(f), 2);
	assert_events(ctx,
		      EVENTS(ROOST_EVENT_GID_CHANGE, ROOST_EVENT_LID_CHANGE));
	roost_port_set_lid(f->dev, 1, 2); /* as it is */
	assert_events(ctx, NO_EVENTS);
	roost_port_set_gid(f->dev, 1, 0, &f->gid);
	assert_int_equal(lid_of(f), 2);
	assert_events(ctx, EVENTS(ROOST_EVENT_GID_CHANGE));
	roost_port_set_lid(f->dev, 1, 0);
	assert_int_equal(lid_of(f), 1);
	assert_events(ctx, EVENTS(ROOST_EVENT_LID_CHANGE));
	assert_int_equal(roost_ctx_close(ctx), 0);
}

static void port_set_pkey__qps_follow(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp, *other;
	uint16_t pkey;

	assert_int_equal(roost_port_set_pkey(f->dev, 1, 1, 0x8001), 0);
	assert_int_equal(roost_port_set_pkey(f->dev, 1, 2, 0x8001), -EEXIST);
	/* Equal but for membership is another P_Key. */
	assert_int_equal(roost_port_set_pkey(f->dev, 1, 2, 0x0001), 0);
	qp = fixture_qp(f, 4);
	other = fixture_qp(f, 4);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(qp->pkey, 0xffff);
	assert_int_equal(roost_port_set_pkey(f->dev, 1, 0, 0x8005), 0);
	assert_int_equal(qp->pkey, 0x8005);
	assert_int_equal(other->pkey, 0); /* RESET: it names none */
	assert_int_equal(roost_port_set_pkey(f->dev, 1, 0, 0x8000), 0);
	assert_int_equal(roost_port_query_pkey(f->dev, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0);
	assert_int_equal(qp->pkey, 0);
	/* Nothing can be made with an entry that is empty. */
	assert_int_equal(fixture_to_init(other), -EINVAL);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_qp_destroy(other, NULL), 0);
}

/* ---- removal ----------------------------------------------------------------
 */

static void port_remove__flushes_and_tells(void **state)
{
	struct fixture *f = *state;
	struct roost_recv_wr wr = { .wr_id = 42 };
	struct roost_qp *qp, *idle, *late;
	struct roost_ctx *ctx, *none;
	struct roost_event event;
	struct roost_cqe cqe;

	ctx = open_ctx(f);
	qp = fixture_qp_in_rts(f, 4);
	idle = fixture_qp(f, 4);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	roost_port_remove(f->dev, 1);
	assert_true(roost_dev_failed(f->dev));
	assert_int_equal(roost_cq_poll(f->cq, 1, &cqe), 1);
	assert_int_equal(cqe.wr_id, 42);
	assert_int_equal(cqe.status, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_qp_state(qp), ROOST_QPS_ERR);
	assert_int_equal(roost_qp_state(idle), ROOST_QPS_RESET);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 0);
	assert_int_equal(event.type, ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(ctx),
					    &event),
			 -EIO);
	/* What is posted from here on flushes, too; nothing comes alive. */
	assert_int_equal(fixture_recv(qp, &wr), 0);
	fixture_iterate(f, 1000);
	assert_int_equal(roost_cq_poll(f->cq, 1, &cqe), 1);
	assert_int_equal(cqe.status, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	assert_int_equal(fixture_to_init(qp), -EIO);
	late = fixture_qp(f, 4);
	assert_int_equal(fixture_to_init(late), -EIO);
	assert_int_equal(roost_ctx_open(f->dev, &none), -ENODEV);
	roost_port_remove(f->dev, 1);
	/* Its link cannot come back. */
	roost_port_set_link(f->dev, 1, ROOST_PORT_ACTIVE, 9000, 0);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_int_equal(roost_qp_destroy(idle, NULL), 0);
	assert_int_equal(roost_qp_destroy(late, NULL), 0);
	assert_int_equal(roost_ctx_close(ctx), 0);
}

/* A WQ is no QP, and what was posted to it flushes, too. */
static void port_remove__fails_wqs(void **state)
{
	struct fixture *f = *state;
	struct roost_recv_wr wr = { .wr_id = 43 };
	struct roost_wq_init init = { .max_wr = 4, .max_sge = 1 };
	struct roost_event event;
	struct roost_cqe cqe;
	struct roost_wq *wq, *idle;

	init.cq = f->cq;
	assert_int_equal(roost_wq_create(f->pd, &init, &wq), 0);
	assert_int_equal(roost_wq_create(f->pd, &init, &idle), 0);
	assert_int_equal(roost_wq_modify(wq, ROOST_WQS_RDY), 0);
	roost_wq_recv_begin(wq);
	assert_int_equal(roost_wq_recv_add(wq, &wr), 0);
	roost_wq_recv_end(wq);
	roost_port_remove(f->dev, 1);
	assert_int_equal(roost_cq_poll(f->cq, 1, &cqe), 1);
	assert_int_equal(cqe.wr_id, 43);
	assert_int_equal(cqe.status, ROOST_WC_WR_FLUSH_ERR);
	assert_int_equal(roost_wq_state(wq), ROOST_WQS_ERR);
	assert_int_equal(roost_wq_state(idle), ROOST_WQS_RESET);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(f->ctx),
					    &event),
			 0);
	assert_int_equal(event.type, ROOST_EVENT_WQ_FATAL);
	roost_event_ack(event.source, 1);
	assert_int_equal(roost_channel_read(roost_ctx_async_channel(f->ctx),
					    &event),
			 0);
	assert_int_equal(event.type, ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(roost_wq_destroy(wq, NULL), 0);
	assert_int_equal(roost_wq_destroy(idle, NULL), 0);
}

static struct roost_qp *ud_in_rtr(struct fixture *f)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_UD,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct roost_qp_attr attr = { .state = ROOST_QPS_INIT, .port_num = 1 };
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(f->ctx, f->pd, &init, &qp), 0);
	assert_int_equal(roost_qp_modify(qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PORT |
						 ROOST_QP_PKEY_INDEX |
						 ROOST_QP_QKEY),
			 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_RTR), 0);
	return qp;
}

static void set_mtu(struct fixture *f, uint32_t ip_mtu_bytes)
{
	roost_port_set_link(f->dev, 1, ROOST_PORT_ACTIVE, ip_mtu_bytes, 0);
}

/* Datagrams follow the port, both ways; what is connected does not, and is
 * counted when it is left behind.
 */
static void port_set_link__mtu(void **state)
{
	struct fixture *f = *state;
	struct roost_port_attr attr;
	struct roost_qp *rc, *ud;
	uint32_t path_mtu = 0;
	struct roost_ctx *ctx;

	ctx = open_ctx(f);
	rc = fixture_qp_in_rts(f, 1); /* path MTU 1024 */
	ud = ud_in_rtr(f);
	set_mtu(f, 4200);
	assert_int_equal(ud->mtu_bytes, 4096);
	assert_int_equal(roost_port_nb_above_mtu(f->dev, 1, &path_mtu), 0);
	assert_int_equal(path_mtu, 0);
	set_mtu(f, 600);
	assert_int_equal(roost_port_query(f->dev, 1, &attr), 0);
	assert_int_equal(attr.active_mtu, ROOST_MTU_512);
	assert_int_equal(ud->mtu_bytes, 512);
	assert_int_equal(rc->mtu_bytes, 1024);
	assert_int_equal(roost_port_nb_above_mtu(f->dev, 1, &path_mtu), 1);
	assert_int_equal(path_mtu, 1024);
	set_mtu(f, 1500);
	assert_int_equal(ud->mtu_bytes, 1024);
	assert_int_equal(roost_port_nb_above_mtu(f->dev, 1, &path_mtu), 0);
	assert_int_equal(roost_port_nb_above_mtu(f->dev, 2, &path_mtu), 0);
	/* As with Soft-RoCE, nobody is told by an event. */
	assert_events(ctx, NO_EVENTS);
	assert_int_equal(roost_ctx_close(ctx), 0);
	assert_int_equal(roost_qp_destroy(rc, NULL), 0);
	assert_int_equal(roost_qp_destroy(ud, NULL), 0);
}

static void check_macs(struct roost_path *path, const uint8_t dst[6],
		       const uint8_t src[6])
{
	roost_path_refresh(path);
	assert_memory_equal(path->template.bytes, dst, 6);
	assert_memory_equal(path->template.bytes + 6, src, 6);
}

/* Paths look again when their neighbour has a new generation, those to groups
 * by themselves.
 */
static void port_set_mac__paths_follow(void **state)
{
	struct fixture *f = *state;
	static const uint8_t peer[6] = { 2, 0, 0, 0, 0, 2 };
	static const uint8_t old[6] = { 2, 0, 0, 0, 0, 1 };
	static const uint8_t new[6] = { 2, 7, 7, 7, 7, 7 };
	static const uint8_t group_mac[6] = { 0x01, 0, 0x5e, 1, 2, 3 };
	static const uint8_t group[4] = { 224, 1, 2, 3 };
	struct roost_av av = { .is_global = true, .port_num = 1 };
	struct roost_ah *ah;
	struct roost_qp *qp;
	uint8_t mac[6];
	uint32_t gen;

	qp = fixture_qp_in_rts(f, 1);
	av.dgid = roost_gid_from_v4(group);
	assert_int_equal(roost_ah_create(f->pd, &av, &ah), 0);
	check_macs(&qp->path, peer, old);
	check_macs(roost_ah_path(ah), group_mac, old);
	gen = roost_dev_gid_gen(f->dev);
	assert_int_equal(roost_port_set_mac(f->dev, 1, new), 0);
	atomic_fetch_add(&f->neigh.mac_gen, 1);
	assert_int_not_equal(roost_dev_gid_gen(f->dev), gen);
	check_macs(&qp->path, peer, new);
	check_macs(roost_ah_path(ah), group_mac, new);
	assert_int_equal(roost_port_query_mac(f->dev, 1, mac), 0);
	assert_memory_equal(mac, new, 6);
	assert_int_equal(roost_port_set_mac(f->dev, 2, new), -EINVAL);
	assert_int_equal(roost_port_query_mac(f->dev, 2, mac), -EINVAL);
	assert_int_equal(roost_ah_destroy(ah), 0);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

/* With another port the device lives on. */
static void port_remove__one_of_two(void **state)
{
	struct roost_dev_conf conf = { .name = "x",
				       .nb_ports = 2,
				       .seed = { 1, 1 } };
	struct roost_channel *channel;
	struct roost_event event;
	struct roost_ctx *ctx;
	struct roost_dev *dev;

	assert_int_equal(roost_dev_create(&conf, &dev), 0);
	roost_port_set_link(dev, 1, ROOST_PORT_ACTIVE, 9000, 0);
	roost_port_set_link(dev, 2, ROOST_PORT_ACTIVE, 9000, 0);
	assert_int_equal(roost_ctx_open(dev, &ctx), 0);
	channel = roost_ctx_async_channel(ctx);
	roost_port_remove(dev, 2);
	assert_false(roost_dev_failed(dev));
	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(event.type, ROOST_EVENT_PORT_ERR);
	assert_int_equal(event.arg, 2);
	roost_port_remove(dev, 1);
	assert_true(roost_dev_failed(dev));
	assert_int_equal(roost_channel_read(channel, &event), 0);
	assert_int_equal(event.type, ROOST_EVENT_DEVICE_FATAL);
	assert_int_equal(roost_channel_read(channel, &event), -EIO);
	assert_int_equal(roost_ctx_close(ctx), 0);
	assert_int_equal(roost_dev_destroy(dev), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(port_query__number_and_index),
		FIXTURE_TEST(port_query__active_mtu),
		FIXTURE_TEST(port_set_gid__table),
		FIXTURE_TEST(port_set__each_has_its_event),
		FIXTURE_TEST(port_set__unknown_port),
		FIXTURE_TEST(port_set_link__mtu),
		FIXTURE_TEST(port_set_mac__paths_follow),
		FIXTURE_TEST(port_set_lid__and_addresses),
		FIXTURE_TEST(port_set_pkey__qps_follow),
		FIXTURE_TEST(port_remove__flushes_and_tells),
		FIXTURE_TEST(port_remove__fails_wqs),
		cmocka_unit_test(port_remove__one_of_two),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
