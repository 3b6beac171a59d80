/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What the port is told of groups, and in which order. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/core/worker_base.h"
#include "tests/unit/engine/fixture.h"

static const struct roost_gid group = { { 0xff, 0x0e, [15] = 9 } };

/* A port that knows what it was told. */
struct port {
	_Atomic int members; /* 1: in the group */
	_Atomic int nb_joins, nb_wrong;
	_Atomic bool slow;
	int join_rc;
};

static int join(void *ctx, const struct roost_gid *gid)
{
	struct port *p = ctx;

	assert_true(roost_gid_eq(gid, &group));
	if (p->slow)
		usleep(1);
	p->nb_joins++;
	if (p->join_rc != 0)
		return p->join_rc;
	p->nb_wrong += atomic_fetch_add(&p->members, 1) != 0;
	return 0;
}

static void leave(void *ctx, const struct roost_gid *gid)
{
	struct port *p = ctx;

	assert_true(roost_gid_eq(gid, &group));
	if (p->slow)
		usleep(1);
	p->nb_wrong += atomic_fetch_sub(&p->members, 1) != 1;
}

/* The receive and transmit calls of the fixture are not used here. */
static void open_ports(struct fixture *f, struct port *ports)
{
	fixture_open(f, NULL);
	f->dev->nb_ports = 2;
	for (int i = 0; i < 2; i++) {
		f->dev->ports[i].addr_io.ctx = &ports[i];
		f->dev->ports[i].addr_io.mcast_join = join;
		f->dev->ports[i].addr_io.mcast_leave = leave;
		f->dev->ports[i].pkeys[0] = 0xffff;
	}
}

static struct roost_qp *ud_qp(struct fixture *f, uint8_t port_num)
{
	struct roost_qp_init init = {
		.type = ROOST_QPT_UD,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct roost_qp_attr attr = {
		.state = ROOST_QPS_INIT,
		.port_num = port_num,
	};
	struct roost_qp *qp;

	assert_int_equal(roost_qp_create(f->ctx, f->pd, &init, &qp), 0);
	assert_int_equal(roost_qp_modify(qp, &attr,
					 ROOST_QP_STATE | ROOST_QP_PORT |
						 ROOST_QP_PKEY_INDEX |
						 ROOST_QP_QKEY),
			 0);
	return qp;
}

static void mcast__counted_per_port(void **state)
{
	struct port ports[2] = { 0 };
	struct fixture f;
	struct roost_qp *a, *b, *c;

	open_ports(&f, ports);
	a = ud_qp(&f, 1);
	b = ud_qp(&f, 2);
	c = ud_qp(&f, 2);
	assert_int_equal(roost_mcast_attach(a, &group), 0);
	assert_int_equal(ports[0].members, 1);
	assert_int_equal(ports[1].members, 0);
	assert_int_equal(roost_mcast_attach(b, &group), 0);
	assert_int_equal(roost_mcast_attach(c, &group), 0);
	assert_int_equal(ports[1].members, 1);
	assert_int_equal(ports[1].nb_joins, 1);
	assert_int_equal(roost_qp_destroy(a, NULL), -EBUSY);
	assert_int_equal(roost_mcast_detach(a, &group), 0);
	assert_int_equal(ports[0].members, 0);
	assert_int_equal(ports[1].members, 1);
	assert_int_equal(roost_mcast_detach(b, &group), 0);
	assert_int_equal(ports[1].members, 1);
	roost_mcast_detach_all(c);
	assert_int_equal(ports[1].members, 0);
	assert_int_equal(roost_qp_destroy(a, NULL), 0);
	assert_int_equal(roost_qp_destroy(b, NULL), 0);
	assert_int_equal(roost_qp_destroy(c, NULL), 0);
	fixture_close(&f);
}

static void mcast__port_without_room(void **state)
{
	struct port ports[2] = { { .join_rc = -ENOSPC } };
	struct fixture f;
	struct roost_qp *a, *b;

	open_ports(&f, ports);
	a = ud_qp(&f, 1);
	b = ud_qp(&f, 1);
	assert_int_equal(roost_mcast_attach(a, &group), -ENOSPC);
	assert_int_equal(roost_mcast_attach(b, &group), -ENOSPC);
	assert_int_equal(ports[0].nb_joins, 2);
	assert_int_equal(roost_mcast_detach(a, &group), -EINVAL);
	assert_int_equal(roost_qp_destroy(a, NULL), 0);
	assert_int_equal(roost_qp_destroy(b, NULL), 0);
	fixture_close(&f);
}

/* ---- the table ----------------------------------------------------------- */

static struct roost_gid numbered(uint32_t i)
{
	return (struct roost_gid){
		{ 0xff, 0x0e, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i }
	};
}

static void mcast__attached_is_attached(void **state)
{
	struct port ports[2] = { 0 };
	struct fixture f;
	struct roost_qp *qp;

	open_ports(&f, ports);
	qp = ud_qp(&f, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(roost_mcast_attach(qp, &group), 0);
	assert_int_equal(ports[0].nb_joins, 1);
	assert_int_equal(roost_mcast_detach(qp, &group), 0);
	assert_int_equal(ports[0].members, 0);
	assert_int_equal(roost_mcast_detach(qp, &group), -EINVAL);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	fixture_close(&f);
}

/* As many groups as the device says, and no more; each is found. */
static void mcast__groups_of_a_device(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *a, *b;
	struct roost_gid gid;
	uint32_t max;

	max = roost_dev_limits(f->dev)->max_mcast_grp;
	a = ud_qp(f, 1);
	b = ud_qp(f, 1);
	for (uint32_t i = 0; i < max; i++) {
		gid = numbered(i);
		assert_int_equal(roost_mcast_attach(a, &gid), 0);
	}
	gid = numbered(max);
	assert_int_equal(roost_mcast_attach(a, &gid), -ENOMEM);
	assert_int_equal(roost_mcast_attach(b, &gid), -ENOMEM);
	/* Who joins one that is there needs no new one. */
	for (uint32_t i = 0; i < max; i++) {
		gid = numbered(i);
		assert_int_equal(roost_mcast_find(f->dev, 0, &gid)->nb_members,
				 1);
		assert_null(roost_mcast_find(f->dev, 1, &gid));
		assert_int_equal(roost_mcast_attach(b, &gid), 0);
	}
	roost_mcast_detach_all(b);
	gid = numbered(17);
	assert_int_equal(roost_mcast_detach(a, &gid), 0);
	assert_null(roost_mcast_find(f->dev, 0, &gid));
	gid = numbered(max);
	assert_int_equal(roost_mcast_attach(b, &gid), 0);
	roost_mcast_detach_all(a);
	roost_mcast_detach_all(b);
	assert_int_equal(f->dev->nb_mcast_groups, 0);
	for (unsigned int i = 0; i < ROOST_MCAST_BUCKETS; i++)
		assert_null(roost_turn_list_next(&f->dev->mcast_buckets[i]));
	assert_int_equal(roost_qp_destroy(a, NULL), 0);
	assert_int_equal(roost_qp_destroy(b, NULL), 0);
}

static void mcast__members_of_a_group(void **state)
{
	struct fixture *f = *state;
	struct roost_qp **qps;
	uint32_t max;

	max = roost_dev_limits(f->dev)->max_mcast_qp_attach;
	qps = calloc(max + 1, sizeof(*qps));
	for (uint32_t i = 0; i <= max; i++) {
		qps[i] = ud_qp(f, 1);
		assert_int_equal(roost_mcast_attach(qps[i], &group),
				 i < max ? 0 : -ENOMEM);
	}
	assert_int_equal(roost_mcast_attach(qps[0], &group), 0);
	assert_int_equal(roost_mcast_detach(qps[0], &group), 0);
	assert_int_equal(roost_mcast_attach(qps[max], &group), 0);
	for (uint32_t i = 0; i <= max; i++) {
		roost_mcast_detach_all(qps[i]);
		assert_int_equal(roost_qp_destroy(qps[i], NULL), 0);
	}
	free(qps);
}

/* ---- threads ------------------------------------------------------------- */

#define ROUNDS 3000

static void *come_and_go(void *arg)
{
	struct roost_qp *qp = arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (roost_mcast_attach(qp, &group) != 0 ||
		    roost_mcast_detach(qp, &group) != 0)
			return qp;
	}
	return NULL;
}

/* Joins and leaves reach the port one by one, in the right order. */
static void mcast__two_threads(void **state)
{
	struct port ports[2] = { { .slow = true } };
	struct fixture f;
	struct roost_qp *qps[2];
	pthread_t threads[2];
	void *failed;

	open_ports(&f, ports);
	for (int i = 0; i < 2; i++) {
		qps[i] = ud_qp(&f, 1);
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go,
						qps[i]),
				 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(ports[0].nb_wrong, 0);
	assert_int_equal(ports[0].members, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(roost_qp_destroy(qps[i], NULL), 0);
	fixture_close(&f);
}

/* While the first member is being refused, there is no second. */
static void *attach(void *arg)
{
	return (void *)(intptr_t)roost_mcast_attach(arg, &group);
}

static void mcast__refused_together(void **state)
{
	struct port ports[2] = { { .slow = true, .join_rc = -ENOSPC } };
	struct fixture f;
	struct roost_qp *qps[2];
	pthread_t threads[2];
	void *rc;

	open_ports(&f, ports);
	qps[0] = ud_qp(&f, 1);
	qps[1] = ud_qp(&f, 1);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							attach, qps[i]),
					 0);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(pthread_join(threads[i], &rc), 0);
			assert_int_equal((intptr_t)rc, -ENOSPC);
		}
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(roost_qp_destroy(qps[i], NULL), 0);
	fixture_close(&f);
}

/* Only datagrams come to groups; another QP's memberships lie where a connected
 * one that is armed has its place among these.
 */
static void mcast__not_of_a_connected_qp(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp(f, 1);

	LIST_INSERT_HEAD(&qp->worker->armed_qps, qp, armed_link);
	assert_int_equal(roost_mcast_attach(qp, &group), -EINVAL);
	assert_int_equal(roost_mcast_detach(qp, &group), -EINVAL);
	roost_mcast_detach_all(qp);
	LIST_REMOVE(qp, armed_link);
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mcast__counted_per_port),
		cmocka_unit_test(mcast__port_without_room),
		cmocka_unit_test(mcast__attached_is_attached),
		FIXTURE_TEST(mcast__groups_of_a_device),
		FIXTURE_TEST(mcast__members_of_a_group),
		FIXTURE_TEST(mcast__not_of_a_connected_qp),
		cmocka_unit_test(mcast__two_threads),
		cmocka_unit_test(mcast__refused_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
