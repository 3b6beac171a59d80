/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/ports.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "cm/rdmacm/random.h"

#define BUCKETS 1024u
#define EPHEMERAL_FIRST 32768u
#define EPHEMERAL_NB 28232u
/* Numbers that are asked for beyond this process before port 0 fails. */
#define EPHEMERAL_TRIES 1024u

LIST_HEAD(claims, roost_rdmacm_claim);

static struct {
	pthread_mutex_t lock;
	struct claims buckets[ROOST_RDMACM_PORT_SPACES][BUCKETS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct claims *bucket(enum roost_rdmacm_port_space space, uint16_t port)
{
	return &table.buckets[space][port % BUCKETS];
}

static int conflict(const struct roost_rdmacm_claim *a,
		    const struct roost_rdmacm_claim *b)
{
	if (a->afonly && b->afonly && a->family != b->family)
		return 0;
	if (a->any || b->any)
		return -EADDRNOTAVAIL;
	return roost_gid_eq(&a->addr, &b->addr) ? -EADDRINUSE : 0;
}

/* Under the lock. */
static int check(const struct roost_rdmacm_claim *claim, uint16_t port,
		 bool reuseaddr)
{
	const struct roost_rdmacm_claim *other;
	int ret = 0;

	LIST_FOREACH(other, bucket(claim->space, port), link) {
		if (other == claim || other->port != port ||
		    (reuseaddr && other->reuseaddr))
			continue;
		ret = conflict(claim, other);
		if (ret)
			return ret;
	}
	return 0;
}

/* Under the lock: true if no claim has the port, at any address. */
static bool is_free(enum roost_rdmacm_port_space space, uint16_t port)
{
	const struct roost_rdmacm_claim *other;

	LIST_FOREACH(other, bucket(space, port), link)
		if (other->port == port)
			return false;
	return true;
}

/* Under the lock: the first free number from number *at of the ephemeral ones
 * on, which is then behind it. Returns 0: none is free.
 */
static uint16_t ephemeral(enum roost_rdmacm_port_space space, uint32_t *at)
{
	for (uint32_t i = 0; i < EPHEMERAL_NB; i++) {
		const uint32_t port = EPHEMERAL_FIRST + (*at)++ % EPHEMERAL_NB;

		if (is_free(space, (uint16_t)port))
			return (uint16_t)port;
	}
	return 0;
}

/* Take port in the table; 0: a free one. */
static int take_here(struct roost_rdmacm_claim *claim, uint16_t port,
		     uint32_t *at)
{
	int ret = 0;

	pthread_mutex_lock(&table.lock);
	if (port == 0) {
		port = ephemeral(claim->space, at);
		ret = port ? 0 : -EADDRNOTAVAIL;
	} else {
		ret = check(claim, port, claim->reuseaddr);
	}
	if (ret == 0) {
		claim->port = port;
		LIST_INSERT_HEAD(bucket(claim->space, port), claim, link);
	}
	pthread_mutex_unlock(&table.lock);
	return ret;
}

static void drop_here(struct roost_rdmacm_claim *claim)
{
	pthread_mutex_lock(&table.lock);
	LIST_REMOVE(claim, link);
	claim->port = 0;
	pthread_mutex_unlock(&table.lock);
}

void roost_rdmacm_ports_forget(void)
{
	pthread_mutex_init(&table.lock, NULL);
	for (unsigned int i = 0; i < ROOST_RDMACM_PORT_SPACES; i++)
		for (unsigned int j = 0; j < BUCKETS; j++)
			if (!LIST_EMPTY(&table.buckets[i][j]))
				LIST_INIT(&table.buckets[i][j]);
}

int roost_rdmacm_port_take(struct roost_rdmacm_claim *claim, uint16_t port)
{
	uint32_t at = roost_rdmacm_random() % EPHEMERAL_NB;
	int ret;

	for (unsigned int tries = 0; tries < EPHEMERAL_TRIES; tries++) {
		ret = take_here(claim, port, &at);
		if (ret || !claim->beyond)
			return ret;
		ret = claim->beyond->take(claim);
		if (ret == 0)
			return 0;
		drop_here(claim);
		/* Another process has it: the next one. */
		if (port != 0 || (ret != -EADDRINUSE && ret != -EADDRNOTAVAIL))
			return ret;
	}
	return -EADDRNOTAVAIL;
}

int roost_rdmacm_port_alone(const struct roost_rdmacm_claim *claim)
{
	int ret;

	pthread_mutex_lock(&table.lock);
	ret = check(claim, claim->port, false);
	pthread_mutex_unlock(&table.lock);
	return ret;
}

void roost_rdmacm_port_drop(struct roost_rdmacm_claim *claim)
{
	if (!claim->port)
		return;
	if (claim->beyond)
		claim->beyond->drop(claim);
	drop_here(claim);
}
