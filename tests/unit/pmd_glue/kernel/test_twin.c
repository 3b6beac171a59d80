/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <rte_mbuf.h>

#include <roost/config.h>
#include "lib/engine/sched/worker.h"
#include "pmd_glue/progress/progress.h"
#include "pmd_glue/kernel/twin.h"
#include "tests/cmocka.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/pmd_glue/host/frames.h"
#include "tests/unit/pmd_glue/own_net.h"

/*
 * The twin of a port that is 02:11:22:33:44:01 with 198.18.0.1. Whoever is on
 * the wire, 198.18.0.2 and more, is this test, and so are worker and progress
 * engine.
 */
#define TIMEOUT_MS 5000
#define KEPT_MAX 64

static struct rte_mempool *pool;
static struct roost_twin *twin;

static struct {
	pthread_mutex_t lock;
	unsigned int nb_sent;
	struct rte_mbuf *sent[KEPT_MAX]; /* UDP and ARP of IPv4 alone */
	_Atomic unsigned int waiting;
	_Atomic unsigned int kicks;
} worker = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the worker ---------------------------------------------------------- */

unsigned int roost_worker_frames_waiting(const struct roost_worker *w)
{
	(void)w;
	return atomic_load(&worker.waiting);
}

static bool is_of_interest(const struct rte_mbuf *frame)
{
	const uint8_t *p = rte_pktmbuf_mtod(frame, const uint8_t *);

	return p[12] == 8 && (p[13] == 6 || (p[13] == 0 && p[23] == 17));
}

int roost_worker_send_frame(struct roost_worker *w, uint8_t port_num,
			    struct rte_mbuf *frame)
{
	assert_ptr_equal(w, &worker);
	assert_int_equal(port_num, 2);
	pthread_mutex_lock(&worker.lock);
	if (is_of_interest(frame) && worker.nb_sent < KEPT_MAX)
		worker.sent[worker.nb_sent++] = frame;
	else
		rte_pktmbuf_free(frame);
	pthread_mutex_unlock(&worker.lock);
	return 0;
}

void roost_progress_kick(struct roost_progress *progress)
{
	(void)progress;
	atomic_fetch_add(&worker.kicks, 1);
}

/* ---- the world ----------------------------------------------------------- */

static int open_twin(void **state)
{
	struct roost_twin_conf conf = {
		.name = "tw0",
		.ip_mtu_bytes = 1500,
	};

	memcpy(conf.mac, mac_a, 6);
	atomic_store(&worker.waiting, 0);
	atomic_store(&worker.kicks, 0);
	if (roost_twin_open(&conf, &twin))
		return -1;
	roost_twin_set_carrier(twin, true);
	return system("ip addr add 198.18.0.1/24 dev tw0 && "
		      "ip link set tw0 up");
}

static int start_twin(void **state)
{
	if (open_twin(state))
		return -1;
	return roost_twin_start(twin, (struct roost_worker *)&worker, 2, NULL);
}

static int close_twin(void **state)
{
	roost_twin_stop(twin);
	for (unsigned int i = 0; i < worker.nb_sent; i++)
		rte_pktmbuf_free(worker.sent[i]);
	worker.nb_sent = 0;
	roost_twin_free(twin);
	return if_nametoindex("tw0") == 0 ? 0 : -1;
}

static unsigned int nb_sent(void)
{
	unsigned int n;

	pthread_mutex_lock(&worker.lock);
	n = worker.nb_sent;
	pthread_mutex_unlock(&worker.lock);
	return n;
}

/* The nth frame that the kernel sent; waits for it. */
static struct rte_mbuf *sent(unsigned int n)
{
	for (int ms = 0; ms < TIMEOUT_MS && nb_sent() <= n; ms++)
		poll(NULL, 0, 1);
	assert_true(nb_sent() > n);
	return worker.sent[n];
}

static int udp_socket(void)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(7777),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static void say(int fd, const char *ip, const char *text)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
	};

	inet_pton(AF_INET, ip, &to.sin_addr);
	sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof(to));
}

/* From 198.18.0.2 to port 7777 of 198.18.0.1, without a UDP checksum. */
static const uint8_t datagram[60] = {
	0x02, 0x11, 0x22, 0x33, 0x44, 0x01, 0x02, 0x11, 0x22, 0x33, 0x44, 0x02,
	0x08, 0x00, 0x45, 0x00, 0x00, 0x21, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11,
	0xee, 0xa4, 0xc6, 0x12, 0x00, 0x02, 0xc6, 0x12, 0x00, 0x01, 0x00, 0x09,
	0x1e, 0x61, 0x00, 0x0d, 0x00, 0x00, 'h',  'e',  'l',  'l',  'o',
};

static void take(const void *bytes, size_t len_bytes)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);

	memcpy(rte_pktmbuf_append(frame, (uint16_t)len_bytes), bytes,
	       len_bytes);
	roost_twin_take(twin, frame);
}

static void hear(int fd, const char *expected)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char text[64] = "";

	assert_int_equal(poll(&pfd, 1, TIMEOUT_MS), 1);
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, expected);
}

/* ---- tests --------------------------------------------------------------- */

/* An ARP request, as long as the shortest frame; the datagram it was for; and
 * the worker was told.
 */
static void twin__kernel_speaks(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	int fd = udp_socket();
	const uint8_t *p;

	say(fd, "198.18.0.2", "hello");
	p = rte_pktmbuf_mtod(sent(0), const uint8_t *);
	assert_int_equal(rte_pktmbuf_data_len(worker.sent[0]), 60);
	assert_memory_equal(p + 6, mac_a, 6);
	assert_memory_equal(p, arp_request.bytes, 42);
	take(arp_reply.bytes, arp_reply.len_bytes);
	p = rte_pktmbuf_mtod(sent(1), const uint8_t *);
	assert_memory_equal(p, mac_b, 6);
	assert_memory_equal(p + 6, mac_a, 6);
	assert_memory_equal(p + 42, "hello", 5);
	assert_true(atomic_load(&worker.kicks) > 0);
	close(fd);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

static void twin__kernel_hears(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	int fd = udp_socket();

	for (int i = 0; i < 100; i++) {
		take(datagram, sizeof(datagram));
		hear(fd, "hello");
	}
	close(fd);
	for (int ms = 0;
	     ms < TIMEOUT_MS && rte_mempool_avail_count(pool) != before; ms++)
		poll(NULL, 0, 1);
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* Frames that come before there is a thread wait; too many are dropped. */
static void twin__frames_wait_for_the_start(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);
	int fd = udp_socket();

	for (int i = 0; i < 1000; i++)
		take(datagram, sizeof(datagram));
	assert_true(rte_mempool_avail_count(pool) > before - 600);
	assert_int_equal(roost_twin_start(twin, (struct roost_worker *)&worker,
					  2, NULL),
			 0);
	hear(fd, "hello");
	close(fd);
}

/* Those that nobody read when it ends are given back. */
static void twin__never_started(void **state)
{
	unsigned int before = rte_mempool_avail_count(pool);

	take(datagram, sizeof(datagram));
	close_twin(NULL);
	assert_int_equal(rte_mempool_avail_count(pool), before);
	assert_int_equal(open_twin(NULL), 0);
}

/* The worker has enough: what the kernel has waits in the kernel. */
static void twin__worker_has_enough(void **state)
{
	int fd = udp_socket();
	unsigned int kicks;

	atomic_store(&worker.waiting, 64);
	kicks = atomic_load(&worker.kicks);
	say(fd, "198.18.0.2", "hello");
	poll(NULL, 0, 100);
	assert_int_equal(nb_sent(), 0);
	/* It says that there is work, again and again, in case it was missed.
	 */
	assert_true(atomic_load(&worker.kicks) > kicks);
	atomic_store(&worker.waiting, 63);
	sent(0);
	close(fd);
}

/* A twin at rest does nothing: no read, no kick, no wake. */
static void twin__rests(void **state)
{
	unsigned int kicks;

	/* The kernel's own questions about its IPv6 address. */
	poll(NULL, 0, 2500);
	kicks = atomic_load(&worker.kicks);
	poll(NULL, 0, 300);
	assert_true(atomic_load(&worker.kicks) - kicks <= 2);
}

/* It stops reading, and goes on taking. */
static void twin__deleted(void **state)
{
	unsigned int kicks;

	assert_int_equal(system("ip link del tw0"), 0);
	poll(NULL, 0, 100);
	kicks = atomic_load(&worker.kicks);
	for (int i = 0; i < 100; i++)
		take(datagram, sizeof(datagram));
	poll(NULL, 0, 100);
	assert_int_equal(atomic_load(&worker.kicks), kicks);
}

#define WITH_TWIN(test)                                                        \
	cmocka_unit_test_setup_teardown(test, start_twin, close_twin)
#define WITH_OPEN_TWIN(test)                                                   \
	cmocka_unit_test_setup_teardown(test, open_twin, close_twin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TWIN(twin__kernel_speaks),
		WITH_TWIN(twin__kernel_hears),
		WITH_OPEN_TWIN(twin__frames_wait_for_the_start),
		WITH_OPEN_TWIN(twin__never_started),
		WITH_TWIN(twin__worker_has_enough),
		WITH_TWIN(twin__rests),
		WITH_TWIN(twin__deleted),
	};

	own_net_enter();
	eal_start();
	pool = eal_pool("twin", 2047);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
