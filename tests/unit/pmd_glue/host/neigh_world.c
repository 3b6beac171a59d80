/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/host/neigh_world.h"

#include <string.h>

struct neigh_asked asked;
struct neigh_told told;

static void ask(void *ctx, const struct roost_gid *a, const uint8_t *mac)
{
	assert_ptr_equal(ctx, &asked);
	asked.last_addr = *a;
	if (mac) {
		asked.to_one++;
		memcpy(asked.last_mac, mac, 6);
	} else {
		asked.to_all++;
	}
}

static void crowded(void *ctx, const uint8_t *mac)
{
	assert_ptr_equal(ctx, &asked);
	if (mac)
		asked.crowds_of_one++;
	else
		asked.crowds_of_all++;
}

static void silent(void *ctx, const struct roost_gid *a, uint64_t tried_ns)
{
	(void)ctx;
	told.nb++;
	told.addr = *a;
	told.tried_ns = tried_ns;
}

int setup(void **state)
{
	static const struct roost_neigh_conf conf = {
		.ask = ask,
		.crowded = crowded,
		.silent = silent,
		.ctx = &asked,
	};
	static struct fixture f;

	memset(&asked, 0, sizeof(asked));
	memset(&told, 0, sizeof(told));
	f.now_ns = 1000 * S;
	*state = &f;
	return roost_neigh_cache_create(&conf, &f.cache);
}

int teardown(void **state)
{
	struct fixture *f = *state;

	roost_neigh_cache_destroy(f->cache);
	return 0;
}

struct roost_neigh *get(struct fixture *f, const char *text)
{
	struct roost_gid a = addr(text);
	struct roost_neigh *n;

	assert_int_equal(roost_neigh_get(f->cache, &a, f->now_ns, &n), 0);
	return n;
}

bool advance(struct fixture *f, uint64_t ns)
{
	uint64_t end_ns = f->now_ns + ns;
	bool any_failed = false, failed;
	uint64_t next_ns;

	for (;;) {
		next_ns = roost_neigh_tick(f->cache, f->now_ns, &failed);
		any_failed = any_failed || failed;
		assert_true(next_ns > f->now_ns);
		if (next_ns > end_ns)
			break;
		f->now_ns = next_ns;
	}
	f->now_ns = end_ns;
	return any_failed;
}

struct roost_neigh_msg word(const char *text, const uint8_t mac[6],
			    bool solicited)
{
	struct roost_neigh_msg w = {
		.addr = addr(text),
		.solicited = solicited,
		.override = true,
	};

	memcpy(w.mac, mac, 6);
	return w;
}

bool update(struct fixture *f, struct roost_neigh_msg w)
{
	return roost_neigh_update(f->cache, &w, f->now_ns);
}
