/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/cable/cable_world.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "pmd_glue/cable/link.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define WAIT_NS 5000000000u
static char name[32]; /* nobody else's */
struct end cable_ends[3];
pid_t cable_pids[2];
struct roost_cable_conf cable_next;

/* ---- cable_ends
 * ---------------------------------------------------------------- */

void cable_hold(void *ctx)
{
	struct end *e = ctx;

	pthread_mutex_lock(&e->turn);
}

void cable_release(void *ctx)
{
	struct end *e = ctx;

	pthread_mutex_unlock(&e->turn);
}

static void receive(void *ctx)
{
	struct end *e = ctx;
	struct rte_mbuf *mbufs[4];
	uint16_t n = roost_cable_rx(e->cable, mbufs, 4);

	rte_pktmbuf_free_bulk(mbufs, n);
	e->nb_got += n;
}

int cable_try_end(void *arg)
{
	struct end *e = arg;
	struct roost_cable_conf conf = cable_next;
	int ret;

	conf.name = name;
	conf.label = "a link";
	conf.hold = cable_hold;
	conf.release = cable_release;
	conf.receive = receive;
	conf.ctx = e;
	ret = roost_cable_open(&conf, &e->cable, cable_pids);
	if (ret == 0)
		roost_cable_start(e->cable);
	return ret;
}

static int stop_on_control(void *arg)
{
	struct end *e = arg;

	cable_hold(e);
	roost_cable_stop(e->cable);
	cable_release(e);
	return 0;
}

int cable_has_peer(void *arg)
{
	const struct end *e = arg;

	return roost_cable_has_peer(e->cable);
}

struct end *cable_open_end(unsigned int i)
{
	assert_int_equal(roost_control_call(cable_try_end, &cable_ends[i]), 0);
	return &cable_ends[i];
}

void cable_close_end(struct end *e)
{
	roost_control_call(stop_on_control, e);
	roost_cable_free(e->cable);
	e->cable = NULL;
}

void cable_sleep_ns(long ns)
{
	const struct timespec t = { .tv_sec = ns / 1000000000,
				    .tv_nsec = ns % 1000000000 };

	nanosleep(&t, NULL);
}

/* Wait until it has a peer, or none. Returns the time in ns. */
uint64_t cable_wait_for_peer(struct end *e, bool wanted)
{
	const uint64_t begin_ns = roost_now_ns();

	while (roost_control_call(cable_has_peer, e) != wanted) {
		assert_true(roost_now_ns() - begin_ns < WAIT_NS);
		cable_sleep_ns(1000000);
	}
	return roost_now_ns() - begin_ns;
}

int cable_setup(void **state)
{
	static unsigned int count;

	snprintf(name, sizeof(name), "cable-%d-%u", getpid(), count++);
	cable_next = (struct roost_cable_conf){
		.ip_mtu_bytes = ROOST_CABLE_IP_MTU_BYTES,
		.nb_users = 1,
	};
	for (unsigned int i = 0; i < 3; i++) {
		cable_ends[i] = (struct end){ .nb_got = 0 };
		pthread_mutex_init(&cable_ends[i].turn, NULL);
	}
	return roost_control_get();
}

int cable_teardown(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		if (cable_ends[i].cable)
			cable_close_end(&cable_ends[i]);
	roost_control_put();
	return 0;
}

/* ---- frames -------------------------------------------------------------- */

static struct rte_mbuf *make(struct rte_mempool *pool, uint32_t len,
			     uint32_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	assert_non_null(rte_pktmbuf_append(mbuf, (uint16_t)len));
	pair_write_frame(rte_pktmbuf_mtod(mbuf, uint8_t *), 1, 2, 0x1234, len,
			 number);
	return mbuf;
}

void cable_send_one(struct end *e, uint32_t len, uint32_t number)
{
	struct rte_mbuf *mbuf = make(roost_cable_pool(e->cable), len, number);

	cable_hold(e);
	assert_int_equal(roost_cable_tx(e->cable, &mbuf, 1), 1);
	cable_release(e);
}

struct rte_mbuf *cable_take_one(struct end *e)
{
	const uint64_t begin_ns = roost_now_ns();
	struct rte_mbuf *mbuf;
	uint16_t n;

	do {
		cable_hold(e);
		n = roost_cable_rx(e->cable, &mbuf, 1);
		cable_release(e);
		assert_true(roost_now_ns() - begin_ns < WAIT_NS);
	} while (n == 0);
	return mbuf;
}

void cable_expect_one(struct end *e, uint32_t len, uint32_t number)
{
	struct rte_mbuf *mbuf = cable_take_one(e);

	assert_true(pair_is_frame(mbuf, 1, 2, 0x1234, len, number));
	rte_pktmbuf_free(mbuf);
}

void cable_check_both_ways(struct end *a, struct end *b)
{
	cable_send_one(a, CABLE_LEN, 1);
	cable_expect_one(b, CABLE_LEN, 1);
	cable_send_one(b, CABLE_LEN, 2);
	cable_expect_one(a, CABLE_LEN, 2);
}

/* ---- peers by hand ------------------------------------------------------- */

void cable_wait_readable(int fd)
{
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1,
			      5000),
			 1);
}

int cable_connect_to(unsigned int end)
{
	char address[ROOST_LINK_ADDRESS_MAX];
	int fd;

	roost_link_address(name, end, address);
	fd = roost_shm_connect(address, NULL);
	assert_true(fd >= 0);
	return fd;
}

/* Sits at end 1 of our link, at our end 0. */
void cable_meet(struct peer *p)
{
	const struct roost_shm_self self = { .mtu_bytes = 1500 };
	const uint64_t now_ns = roost_now_ns();

	p->ch = pair_open(1);
	assert_int_equal(roost_shm_meet_begin(&p->m, p->ch, cable_connect_to(0),
					      false, &self, now_ns),
			 0);
	cable_wait_readable(p->m.fd);
	assert_int_equal(roost_shm_meet_look(&p->m, now_ns), 1);
	p->m.peer.is_default = true;
	assert_int_equal(roost_shm_peer_join(p->ch, p->m.seat, &p->m.peer), 0);
}

/* As the kernel cable_ends who is killed: without BYE. */
void cable_die(struct peer *p)
{
	close(p->m.fd);
	p->m.fd = -1;
	roost_shm_channel_close(p->ch);
}

void cable_send_from(struct peer *p, uint32_t number)
{
	struct rte_mbuf *mbuf =
		make(roost_shm_channel_pool(p->ch), CABLE_LEN, number);

	assert_int_equal(roost_shm_tx_burst(p->ch, NULL, &mbuf, 1), 1);
}
