/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/wire/bytes.h"
#include "tests/unit/pmd_glue/host/membership_world.h"

#include "tests/cmocka.h"

struct world world;

static void note(enum word word, struct roost_gid group,
		 unsigned int nb_sources)
{
	assert_true(world.nb < SAID_MAX);
	world.v[world.nb++] =
		(struct said){ word, group, nb_sources, world.now_ns };
}

static struct roost_gid gid_at(const uint8_t *p, size_t addr_bytes)
{
	struct roost_gid gid;

	if (addr_bytes == 4)
		return roost_gid_from_v4(p);
	memcpy(gid.b, p, 16);
	return gid;
}

static void note_records(const uint8_t *p, size_t addr_bytes)
{
	unsigned int nb = roost_be16_get(p + 6);

	for (p += 8; nb--;) {
		unsigned int nb_sources = roost_be16_get(p + 2);

		note(p[0], gid_at(p + 4, addr_bytes), nb_sources);
		p += 4 + (1 + nb_sources) * addr_bytes;
	}
}

static void hear_send(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	const uint8_t *igmp = frame + 38, *mld = frame + 62;

	assert_ptr_equal(ctx, &world);
	world.nb_frames++;
	if (len_bytes > world.longest_bytes)
		world.longest_bytes = len_bytes;
	if (roost_be16_get(frame + 12) == 0x0800) {
		if (igmp[0] == 0x22)
			note_records(igmp, 4);
		else
			note(igmp[0], gid_at(igmp + 4, 4), 0);
	} else {
		if (mld[0] == 143)
			note_records(mld, 16);
		else
			note(mld[0], gid_at(mld + 8, 16), 0);
	}
}

int world_create(uint64_t seed, uint32_t mtu_bytes)
{
	struct roost_membership_conf conf = {
		.ipv4 = group_host_v4().ip,
		.ipv6 = group_host_v6().ip,
		.ip_mtu_bytes = mtu_bytes,
		.seed = seed,
		.send = hear_send,
		.ctx = &world,
	};

	memset(&world, 0, sizeof(world));
	memcpy(conf.mac, group_host_v4().mac, 6);
	world.now_ns = 1000 * S;
	return roost_membership_create(&conf, &world.m);
}

int world_setup(void **state)
{
	return world_create(1, 1500);
}

int world_teardown(void **state)
{
	roost_membership_destroy(world.m);
	return 0;
}

int world_join(const char *text)
{
	struct roost_gid group = addr(text);

	return roost_membership_join(world.m, &group, world.now_ns);
}

void world_leave(const char *text)
{
	struct roost_gid group = addr(text);

	roost_membership_leave(world.m, &group, world.now_ns);
}

bool world_leave_all(void)
{
	unsigned int before = world.nb;

	roost_membership_leave_all(world.m, world.now_ns);
	return world.nb != before;
}

void world_advance(uint64_t ns)
{
	uint64_t end_ns = world.now_ns + ns;
	uint64_t next_ns;

	for (;;) {
		next_ns = roost_membership_tick(world.m, world.now_ns);
		assert_true(next_ns > world.now_ns);
		if (next_ns > end_ns)
			break;
		world.now_ns = next_ns;
	}
	world.now_ns = end_ns;
}

void world_input(const struct golden_frame *f)
{
	assert_true(roost_membership_input(world.m, f->bytes, f->len_bytes,
					   world.now_ns));
}

void world_forget_said(void)
{
	world.nb = 0;
	world.nb_frames = 0;
}

void world_settle(const char *text)
{
	assert_int_equal(world_join(text), 0);
	world_advance(30 * S);
	world_forget_said();
}

unsigned int world_count(enum word word, const char *text)
{
	struct roost_gid group = addr(text);
	unsigned int n = 0;

	for (unsigned int i = 0; i < world.nb; i++)
		n += world.v[i].word == word &&
		     roost_gid_eq(&world.v[i].group, &group);
	return n;
}

void world_assert_said(unsigned int i, enum word word, const char *text,
		       uint64_t from_ns, uint64_t within_ns)
{
	struct roost_gid group = addr(text);

	assert_true(i < world.nb);
	assert_int_equal(world.v[i].word, word);
	assert_memory_equal(&world.v[i].group, &group, sizeof(group));
	assert_in_range(world.v[i].at_ns, from_ns, from_ns + within_ns);
}
