/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/apps/roostd/fake_uplink.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pmd_glue/netif/gid_table.h"
#include "pmd_glue/uplink.h"
#include "tests/cmocka.h"

struct fake_uplink fake;

#define QUEUE_LEN 64u

/* One writer, the test; one reader, who turns the worker. */
struct queue {
	int fd; /* of the workers beside the first */
	_Atomic uint32_t head, tail;
	unsigned int room; /* for what is sent in this round */
	struct {
		uint32_t len;
		uint8_t bytes[FAKE_FRAME_MAX];
	} frames[QUEUE_LEN];
};

static struct queue queues[ROOST_WORKERS_MAX];

static struct roost_uplink {
	const struct roost_uplink_ops *ops;
	void *arg;
	int fd;
	const struct roost_neigh *watched[ROOST_SHARE_NEIGHS];
} uplink;

struct rte_mbuf {
	uint32_t len;
	uint8_t bytes[FAKE_FRAME_MAX];
};

/* ---- the test ------------------------------------------------------------ */

void fake_reset(void)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	const uint8_t ip[4] = { 198, 18, 0, 1 };
	const struct roost_prefixes addrs = {
		.nb = 1,
		.v[0] = { .gid = roost_gid_from_v4(ip), .len_bits = 24 },
	};

	fake = (struct fake_uplink){
		.facts = { .is_active = 1, .ip_mtu_bytes = 4200 },
	};
	memcpy(fake.facts.mac, mac, 6);
	fake.facts.pkeys[0] = 0xffff;
	roost_gid_table_fill(fake.facts.gids, mac, &addrs);
}

struct fake_neigh *fake_neigh(const struct roost_gid *addr)
{
	struct fake_neigh *n;

	for (uint32_t i = 0; i < fake.nb_neighs; i++)
		if (roost_gid_eq(&fake.neighs[i].addr, addr))
			return &fake.neighs[i];
	assert_true(fake.nb_neighs < FAKE_NEIGHS_MAX);
	n = &fake.neighs[fake.nb_neighs++];
	n->addr = *addr;
	return n;
}

unsigned int fake_refs(void)
{
	unsigned int nb = 0;

	for (uint32_t i = 0; i < fake.nb_neighs; i++)
		nb += fake.neighs[i].refs;
	return nb;
}

void fake_news(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(uplink.fd, &one, sizeof(one)), sizeof(one));
}

bool fake_receive(const uint8_t *frame, uint32_t len_bytes)
{
	return uplink.ops->receive(uplink.arg, 0, frame, len_bytes, NULL, 0);
}

static int fd_of(unsigned int worker)
{
	return worker == 0 ? uplink.fd : queues[worker].fd;
}

bool fake_arrive(unsigned int worker, const uint8_t *frame, uint32_t len_bytes)
{
	struct queue *q = &queues[worker];
	const uint32_t tail = atomic_load(&q->tail);
	const uint64_t one = 1;

	if (tail - atomic_load(&q->head) == QUEUE_LEN)
		return false;
	q->frames[tail % QUEUE_LEN].len = len_bytes;
	memcpy(q->frames[tail % QUEUE_LEN].bytes, frame, len_bytes);
	atomic_store(&q->tail, tail + 1);
	(void)!write(fd_of(worker), &one, sizeof(one));
	return true;
}

static bool is_empty(const struct queue *q)
{
	return atomic_load(&q->head) == atomic_load(&q->tail);
}

static unsigned int take_all(unsigned int worker)
{
	struct queue *q = &queues[worker];
	unsigned int nb = 0;
	uint64_t tokens;

	if (worker > 0 && !is_empty(q))
		(void)!read(q->fd, &tokens, sizeof(tokens));
	for (; !is_empty(q); nb++) {
		const uint32_t head = atomic_load(&q->head);

		uplink.ops->receive(uplink.arg, worker,
				    q->frames[head % QUEUE_LEN].bytes,
				    q->frames[head % QUEUE_LEN].len, NULL, 0);
		atomic_store(&q->head, head + 1);
	}
	return nb;
}

/* ---- the host ------------------------------------------------------------ */

static bool has_route(const struct roost_gid *dgid)
{
	return !roost_gid_is_v4(dgid) || dgid->b[12] != 203;
}

static int meet(void *ctx, const struct roost_gid *sgid,
		const struct roost_gid *dgid, const uint8_t from_mac[6])
{
	const struct fake_neigh *n;

	fake.nb_from_macs += from_mac != NULL;
	if (!has_route(dgid))
		return -EHOSTUNREACH;
	n = fake_neigh(dgid);
	if (n->is_dead)
		return -ETIMEDOUT;
	return atomic_load(&n->pub.mac_gen) != 0 ? 0 : -EAGAIN;
}

static int ask(void *ctx, const struct roost_gid *sgid,
	       const struct roost_gid *dgid, const uint8_t *from_mac,
	       struct roost_neigh **neigh)
{
	struct fake_neigh *n = fake_neigh(dgid);

	assert_true(has_route(dgid));
	fake.nb_from_macs += from_mac != NULL;
	fake.nb_asked++;
	n->refs++;
	*neigh = &n->pub;
	return 0;
}

static void neigh_put(void *ctx, struct roost_neigh *neigh)
{
	struct fake_neigh *n = (struct fake_neigh *)neigh;

	assert_true(n->refs > 0);
	n->refs--;
	/* Nobody looks at what may be free. */
	if (n->refs == 0)
		for (uint32_t i = 0; i < ROOST_SHARE_NEIGHS; i++)
			assert_ptr_not_equal(uplink.watched[i], neigh);
}

static int source(void *ctx, const struct roost_gid *dgid,
		  struct roost_gid *sgid)
{
	if (!has_route(dgid))
		return -EHOSTUNREACH;
	*sgid = fake.facts.gids[1];
	return 0;
}

static const struct roost_addr_io addrs = {
	.neigh_put = neigh_put,
	.ask = ask,
	.meet = meet,
	.source = source,
};

/* ---- the uplink ---------------------------------------------------------- */

int roost_uplink_open(const struct roost_config *config, unsigned int index,
		      const struct roost_uplink_ops *ops, void *arg,
		      struct roost_uplink **up)
{
	uplink = (struct roost_uplink){
		.ops = ops,
		.arg = arg,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	for (unsigned int i = 0; i < ROOST_WORKERS_MAX; i++) {
		atomic_store(&queues[i].head, 0);
		atomic_store(&queues[i].tail, 0);
		queues[i].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	fake.nb_open++;
	*up = &uplink;
	return 0;
}

void roost_uplink_close(struct roost_uplink *up)
{
	fake.nb_open--;
	close(up->fd);
	for (unsigned int i = 0; i < ROOST_WORKERS_MAX; i++)
		close(queues[i].fd);
}

bool roost_uplink_thread_begin(void)
{
	return false;
}

void roost_uplink_thread_end(void)
{
}

unsigned int roost_uplink_nb_workers(const struct roost_uplink *up)
{
	return fake.nb_workers > 0 ? fake.nb_workers : 1;
}

const char *roost_uplink_label(const struct roost_uplink *up)
{
	return "port0 (fake)";
}

uint16_t roost_uplink_vlan_id(const struct roost_uplink *up)
{
	return 0;
}

unsigned int roost_uplink_run(struct roost_uplink *up, unsigned int worker,
			      uint64_t now_ns)
{
	const unsigned int before = atomic_load(&fake.nb_sent_by[worker]);
	unsigned int nb = take_all(worker);

	if (worker == 0 && fake.arrives)
		fake_receive(fake.arrives, fake.arrives_bytes);
	queues[worker].room = fake.most_in_round;
	up->ops->transmit(up->arg, worker);
	return nb + atomic_load(&fake.nb_sent_by[worker]) - before;
}

struct rte_mbuf *roost_uplink_copy(struct roost_uplink *up, const void *head,
				   uint32_t head_len_bytes, const void *rest,
				   uint32_t rest_len_bytes)
{
	struct rte_mbuf *pkt = malloc(sizeof(*pkt));

	assert_non_null(pkt);
	pkt->len = head_len_bytes + rest_len_bytes;
	assert_true(pkt->len <= FAKE_FRAME_MAX);
	memcpy(pkt->bytes, head, head_len_bytes);
	if (rest_len_bytes > 0)
		memcpy(pkt->bytes + head_len_bytes, rest, rest_len_bytes);
	return pkt;
}

void roost_uplink_discard(struct rte_mbuf *pkt)
{
	fake.nb_discarded++;
	free(pkt);
}

static void record(const struct rte_mbuf *pkt)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	fake.nb_sent++;
	fake.sent_bytes = pkt->len;
	memcpy(fake.sent, pkt->bytes, pkt->len);
	pthread_mutex_unlock(&lock);
}

bool roost_uplink_send(struct roost_uplink *up, unsigned int worker,
		       struct rte_mbuf *pkt)
{
	if (fake.is_full ||
	    (fake.most_in_round > 0 && queues[worker].room == 0))
		return false;
	queues[worker].room--;
	record(pkt);
	atomic_fetch_add(&fake.nb_sent_by[worker], 1);
	if (fake.on_sent)
		fake.on_sent(pkt->bytes, pkt->len);
	free(pkt);
	return true;
}

int roost_uplink_fd(const struct roost_uplink *up, unsigned int worker)
{
	return fd_of(worker);
}

bool roost_uplink_sleep(struct roost_uplink *up, unsigned int worker,
			uint64_t now_ns, uint64_t idle_since_ns,
			uint64_t *until_ns)
{
	*until_ns = UINT64_MAX;
	return is_empty(&queues[worker]);
}

void roost_uplink_awake(struct roost_uplink *up, unsigned int worker)
{
}

bool roost_uplink_news(struct roost_uplink *up)
{
	uint64_t tokens;

	return read(up->fd, &tokens, sizeof(tokens)) > 0;
}

void roost_uplink_facts(struct roost_uplink *up,
			struct roost_share_facts *facts)
{
	*facts = fake.facts;
}

const struct roost_addr_io *roost_uplink_addrs(const struct roost_uplink *up)
{
	return &addrs;
}

void roost_uplink_watch(struct roost_uplink *up, uint32_t place,
			const struct roost_neigh *neigh)
{
	assert_true(place > 0 && place < ROOST_SHARE_NEIGHS);
	up->watched[place] = neigh;
}

int roost_uplink_join(struct roost_uplink *up, const struct roost_gid *group)
{
	if (fake.join_error)
		return fake.join_error;
	fake.nb_joined++;
	fake.group = *group;
	return 0;
}

void roost_uplink_leave(struct roost_uplink *up, const struct roost_gid *group)
{
	fake.nb_left++;
	fake.group = *group;
}
