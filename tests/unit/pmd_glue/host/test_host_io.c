/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/host/groups.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

/* The host is 198.18.0.2; its groups only count. */
static struct {
	struct roost_host *host;
	struct roost_groups groups;
	unsigned int nb_sent, nb_wakes, nb_joined, nb_unreached;
} world;

int roost_groups_join(struct roost_groups *groups,
		      const struct roost_gid *group)
{
	assert_ptr_equal(groups, &world.groups);
	assert_int_equal(group->b[12], 224);
	world.nb_joined++;
	return -ENOSPC;
}

void roost_groups_leave(struct roost_groups *groups,
			const struct roost_gid *group)
{
	assert_ptr_equal(groups, &world.groups);
	assert_int_equal(group->b[12], 224);
	world.nb_joined--;
}

static void count_sent(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	(void)frame;
	(void)len_bytes;
	assert_ptr_equal(ctx, &world);
	world.nb_sent++;
}

static void count_wake(void *ctx)
{
	assert_ptr_equal(ctx, &world);
	world.nb_wakes++;
}

static void count_unreached(void *ctx, const struct roost_unreached *what,
			    const struct roost_gid *hop)
{
	(void)hop;
	assert_ptr_equal(ctx, &world);
	assert_int_equal(what->cause, ROOST_UNREACHED_NO_ROUTE);
	world.nb_unreached++;
}

static struct roost_addr_io create(bool groups)
{
	struct roost_host_conf conf = {
		.routes.on_link = {
			.nb = 1,
			.v = { { addr("198.18.0.2"), 24 } },
		},
		.send = count_sent,
		.wake = count_wake,
		.unreached = count_unreached,
		.groups = groups ? &world.groups : NULL,
		.ctx = &world,
	};

	memset(&world, 0, sizeof(world));
	memcpy(conf.mac, mac_b, 6);
	assert_int_equal(roost_host_create(&conf, &world.host), 0);
	return roost_host_addr_io(world.host);
}

static void host_io__finds_hops_and_sources(void **state)
{
	struct roost_addr_io io = create(false);
	struct roost_gid own = addr("198.18.0.2"), sgid;
	struct roost_gid near = addr("198.18.0.1"), far = addr("198.19.0.1");
	struct roost_neigh *neigh;
	uint8_t mac[6];

	assert_int_equal(io.resolve(io.ctx, &own, &own, &neigh), 0);
	roost_neigh_mac(atomic_load(&neigh->mac_gen), mac);
	assert_memory_equal(mac, mac_b, 6);
	io.neigh_put(io.ctx, neigh);
	assert_int_equal(io.source(io.ctx, &near, &sgid), 0);
	assert_memory_equal(&sgid, &own, sizeof(own));
	assert_int_equal(io.meet(io.ctx, &own, &near, NULL), -EAGAIN);
	assert_int_equal(io.meet(io.ctx, &own, &near, mac_a), 0);
	assert_int_equal(io.ask(io.ctx, &own, &near, NULL, &neigh), 0);
	roost_neigh_mac(atomic_load(&neigh->mac_gen), mac);
	assert_memory_equal(mac, mac_a, 6);
	assert_int_equal(world.nb_wakes, 1);
	/* Then it knows of the neighbour's timer. */
	roost_host_tick(world.host, roost_now_ns());
	assert_int_equal(io.ask(io.ctx, &own, &near, NULL, &neigh), 0);
	io.neigh_put(io.ctx, neigh);
	io.neigh_put(io.ctx, neigh);
	assert_int_equal(world.nb_wakes, 1);
	io.wake(io.ctx);
	assert_int_equal(world.nb_wakes, 2);
	assert_int_equal(io.ask(io.ctx, &own, &far, NULL, &neigh),
			 -EHOSTUNREACH);
	assert_int_equal(world.nb_unreached, 1);
	io.unreached(io.ctx, &(struct roost_unreached){
				     .cause = ROOST_UNREACHED_NO_ROUTE,
			     });
	assert_int_equal(world.nb_unreached, 2);
	roost_host_destroy(world.host);
}

static void host_io__joins_where_there_are_groups(void **state)
{
	const struct roost_gid group = addr("224.1.2.3");
	struct roost_addr_io io = create(true);

	assert_int_equal(io.mcast_join(io.ctx, &group), -ENOSPC);
	assert_int_equal(world.nb_joined, 1);
	io.mcast_leave(io.ctx, &group);
	assert_int_equal(world.nb_joined, 0);
	roost_host_destroy(world.host);
	io = create(false);
	assert_null(io.mcast_join);
	assert_null(io.mcast_leave);
	roost_host_destroy(world.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_io__finds_hops_and_sources),
		cmocka_unit_test(host_io__joins_where_there_are_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
