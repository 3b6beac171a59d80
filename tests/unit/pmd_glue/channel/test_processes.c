/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A channel between processes, one of which may be killed, stopped or hostile.
 * EAL is never initialised here.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "pmd_glue/channel/meet.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define QPN 0x1234u
#define BURST 32
#define WAIT_MS 10000
#ifndef __SANITIZE_ADDRESS__
#define FRAMES 1000000u
#else
#define FRAMES 100000u
#endif
#define KILLS 20
#define HOSTILE_MS 2000u
/* Longer than this machine may keep a process waiting. */
#define LONG_NS UINT64_C(10000000000)
#define STOPPED_NS UINT64_C(500000000)

struct party {
	struct roost_shm_channel *ch;
	struct roost_shm_meeting m;
};

/* A frame of number i: most are short. */
static uint32_t len_of(uint32_t i)
{
	return i % 64 == 0 ? 4160 : 60 + i * 7 % 300;
}

/* ---- processes
 * ----------------------------------------------------------------- */

static void wait_for_hello(struct party *p)
{
	struct pollfd fd = { .fd = p->m.fd, .events = POLLIN };

	if (poll(&fd, 1, WAIT_MS) != 1 || roost_shm_meet_look(&p->m, 0) != 1 ||
	    roost_shm_peer_join(p->ch, p->m.seat, &p->m.peer) != 0) {
		perror("no HELLO");
		abort();
	}
}

static void meet(struct party *p, int fd, bool accepted, uint8_t party)
{
	const struct roost_shm_self self = {
		.mac.addr_bytes = { 2, 0, 0, 0, 0, party },
		.mtu_bytes = 1500,
	};

	if (roost_shm_meet_begin(&p->m, p->ch, fd, accepted, &self, 0) != 0)
		abort();
	wait_for_hello(p);
}

/* A child that does what it is told, as party `number`. *p is the parent's end,
 * party 1.
 */
static pid_t start(struct party *p, uint8_t number, void (*run)(struct party *))
{
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
				    fds),
			 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct party child = { .ch = pair_open(1) };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		meet(&child, fds[1], false, number);
		run(&child);
		_exit(0);
	}
	close(fds[1]);
	meet(p, fds[0], true, 1);
	return pid;
}

static void end(struct party *p, pid_t pid)
{
	kill(pid, SIGKILL);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	roost_shm_peer_leave(p->ch, p->m.seat);
	roost_shm_meet_end(&p->m, p->ch);
	assert_int_equal(roost_shm_channel_reap(p->ch), 0);
}

/* ---- traffic
 * ------------------------------------------------------------------- */

static void send_one(struct party *p, uint8_t from, uint8_t to, uint32_t i)
{
	struct rte_mbuf *mbuf, *none;

	while (!(mbuf = pair_frame(p->ch, from, to, QPN, len_of(i), i)))
		roost_shm_rx_burst(p->ch, &none, 0);
	while (pair_send(p->ch, p->m.seat, &mbuf, 1) == 0) {
		sched_yield();
		roost_shm_rx_burst(p->ch, &none, 0);
	}
}

static void pump(struct party *p)
{
	for (uint32_t i = 0; i < FRAMES; i++)
		send_one(p, 2, 1, i);
	pause();
}

static void pump_for_ever(struct party *p)
{
	for (uint32_t i = 0;; i++)
		send_one(p, 2, 1, i);
}

/* Sleep until a peer rings. */
static void rest(struct roost_shm_channel *ch)
{
	struct pollfd fd = { .fd = roost_shm_channel_fd(ch), .events = POLLIN };

	if (!roost_shm_sleep(ch))
		return;
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	roost_shm_awake(ch);
}

static void processes__millions_of_frames(void **state)
{
	struct party a = { .ch = pair_open(1) };
	struct rte_mbuf *mbufs[BURST];
	uint32_t nb = 0;
	pid_t pid;

	pid = start(&a, 2, pump);
	while (nb < FRAMES) {
		uint16_t n = roost_shm_rx_burst(a.ch, mbufs, BURST);

		if (n == 0)
			rest(a.ch);
		for (uint16_t i = 0; i < n; i++, nb++)
			if (!pair_is_frame(mbufs[i], 2, 1, QPN, len_of(nb), nb))
				fail_msg("frame %u", nb);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	assert_int_equal(roost_shm_counters(a.ch, 0)->rx_pkts, FRAMES);
	end(&a, pid);
	roost_shm_channel_close(a.ch);
}

/* ---- payload that changes
 * ---------------------------------------------------------- */

/* Behind the headers, in all slots, as long as it lives. */
static void *flip(void *party)
{
	struct party *p = party;
	const struct roost_shm_memory *mem = roost_shm_channel_memory(p->ch);

	for (uint32_t i = 0;; i++) {
		volatile uint8_t *slot = roost_shm_slot(mem, i % 64);

		slot[ROOST_SHM_HEADROOM + 128 + i * 7 % 4000] ^= 0xff;
	}
	return NULL;
}

static void pump_and_flip(struct party *p)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, flip, p) != 0)
		abort();
	for (uint32_t i = 0;; i++) {
		struct rte_mbuf *mbuf, *none;

		while (!(mbuf = pair_frame(p->ch, 2, 1, QPN, 1000, i)))
			roost_shm_rx_burst(p->ch, &none, 0);
		while (pair_send(p->ch, p->m.seat, &mbuf, 1) == 0)
			sched_yield();
	}
}

static void processes__only_payload_can_change(void **state)
{
	struct party a = { .ch = pair_open(1) };
	uint8_t frame[1000];
	uint32_t nb = 0, changed = 0;
	pid_t pid;

	pid = start(&a, 2, pump_and_flip);
	while (nb < FRAMES / 40) {
		struct rte_mbuf *mbuf;

		if (roost_shm_rx_burst(a.ch, &mbuf, 1) == 0)
			continue;
		pair_write_frame(frame, 2, 1, QPN, 1000, nb++);
		assert_true(roost_is_in_place(mbuf));
		assert_int_equal(mbuf->data_len, 128);
		assert_memory_equal(rte_pktmbuf_mtod(mbuf, void *), frame, 128);
		changed += memcmp(roost_in_place_frame(mbuf), frame, 1000) != 0;
		rte_pktmbuf_free(mbuf);
	}
	/* Else nothing was tried. */
	assert_true(changed > 0);
	end(&a, pid);
	roost_shm_channel_close(a.ch);
}

/* ---- peers that die, stop, or lie
 * ----------------------------------------------------- */

static void processes__peer_is_killed(void **state)
{
	struct party a = { .ch = pair_open(1) };

	for (int i = 0; i < KILLS; i++) {
		struct rte_mbuf *mbufs[BURST];
		pid_t pid = start(&a, 2, pump_for_ever);
		struct pollfd fd = { .fd = a.m.fd, .events = POLLIN };
		uint32_t nb = 0, until = 1 + (uint32_t)i * 37 % 100;

		/* Frames of the dead are read to the end. */
		while (!(fd.revents & POLLIN)) {
			uint16_t n = roost_shm_rx_burst(a.ch, mbufs, BURST);

			for (uint16_t k = 0; k < n; k++, nb++) {
				assert_true(pair_is_frame(mbufs[k], 2, 1, QPN,
							  len_of(nb), nb));
				if (nb == until)
					kill(pid, SIGKILL);
			}
			rte_pktmbuf_free_bulk(mbufs, n);
			if (n == 0)
				sched_yield();
			if (nb > until)
				poll(&fd, 1, 0);
		}
		assert_int_equal(roost_shm_meet_look(&a.m, 0), -ECONNRESET);
		end(&a, pid);
	}
	assert_int_equal(rte_mempool_avail_count(roost_shm_channel_pool(a.ch)),
			 64);
	roost_shm_channel_close(a.ch);
}

static void receive_for_ever(struct party *p)
{
	struct rte_mbuf *mbufs[BURST];

	for (;;) {
		uint16_t n = roost_shm_rx_burst(p->ch, mbufs, BURST);

		rte_pktmbuf_free_bulk(mbufs, n);
		if (n == 0)
			sched_yield();
	}
}

/* Of two peers, the one that is stopped loses frames, and the other one none.
 */
static void processes__peer_is_stopped(void **state)
{
	struct party b, c;
	pid_t pid_b, pid_c;
	int status;

	pair_patience_ns = STOPPED_NS;
	b = c = (struct party){ .ch = pair_open(2) };
	pair_patience_ns = LONG_NS;
	pid_b = start(&b, 2, receive_for_ever);
	pid_c = start(&c, 3, receive_for_ever);
	kill(pid_b, SIGSTOP);
	assert_int_equal(waitpid(pid_b, &status, WUNTRACED), pid_b);
	for (uint32_t i = 0; i < 20000; i++) {
		send_one(&b, 1, 2, i);
		send_one(&c, 1, 3, i);
	}
	assert_int_equal(roost_shm_counters(b.ch, c.m.seat)->tx_pkts, 20000);
	assert_true(roost_shm_counters(b.ch, b.m.seat)->tx_unread_pkts > 19000);
	kill(pid_b, SIGCONT);
	while (roost_shm_counters(b.ch, b.m.seat)->tx_pkts < 100)
		send_one(&b, 1, 2, 0);
	end(&b, pid_b);
	end(&c, pid_c);
	roost_shm_channel_close(b.ch);
}

/* Words near to what a peer expects, and any words, everywhere. */
static void lie(struct party *p)
{
	const struct roost_shm_memory *mem = roost_shm_channel_memory(p->ch);
	_Atomic uint64_t *ring = roost_shm_ring(mem, 0);
	uint64_t random = 88172645463325252u ^ (uint64_t)getpid(), at = 0;

	for (;;) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (random % 1024 == 0)
			atomic_store(ring + at % 32, random);
		else if (random % 4 == 0)
			atomic_store(ring + at % 32,
				     (at + 1) << 32 | (random >> 8 & 63) << 16 |
					     (14 + random % 4200)),
				at++;
		else if (random % 4 == 1)
			atomic_store(roost_shm_count(mem, 0),
				     (uint32_t)(random >> 40) % 512);
		else if (random % 4 == 2)
			atomic_store(roost_shm_sleeps(mem), random);
		else
			memcpy(roost_shm_slot(mem, (uint32_t)(random % 64)) +
				       random / 64 % 4000,
			       &random, 8);
	}
}

static void processes__peer_lies(void **state)
{
	struct party a = { .ch = pair_open(1) };
	uint64_t until = roost_now_ns() + HOSTILE_MS * UINT64_C(1000000);
	uint32_t nb_broken = 0, nb_pkts = 0;

	while (roost_now_ns() < until || nb_pkts == 0 || nb_broken == 0) {
		uint32_t seat = ROOST_SHM_NO_SEAT;
		enum roost_shm_fault fault;
		pid_t pid = start(&a, 2, lie);

		while (seat == ROOST_SHM_NO_SEAT &&
		       (roost_now_ns() < until || nb_pkts == 0 ||
			nb_broken == 0)) {
			struct rte_mbuf *mbufs[BURST];
			uint16_t n = roost_shm_rx_burst(a.ch, mbufs, BURST);

			for (uint16_t i = 0; i < n; i++) {
				assert_in_range(mbufs[i]->pkt_len, 14, 4224);
				mbufs[i] = roost_shm_keep(a.ch, mbufs[i]);
				rte_pktmbuf_free(mbufs[i]);
			}
			nb_pkts += n;
			mbufs[0] = pair_frame(a.ch, 1, 2, QPN, 500, 0);
			if (mbufs[0] &&
			    pair_send(a.ch, a.m.seat, mbufs, 1) == 0)
				rte_pktmbuf_free(mbufs[0]);
			seat = roost_shm_next_broken(a.ch, &fault);
		}
		nb_broken += seat != ROOST_SHM_NO_SEAT;
		end(&a, pid);
	}
	assert_true(nb_broken > 0);
	assert_true(nb_pkts > 0);
	assert_int_equal(rte_mempool_avail_count(roost_shm_channel_pool(a.ch)),
			 64);
	roost_shm_channel_close(a.ch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes__millions_of_frames),

		cmocka_unit_test(processes__only_payload_can_change),
		cmocka_unit_test(processes__peer_is_killed),
		cmocka_unit_test(processes__peer_is_stopped),
		cmocka_unit_test(processes__peer_lies),
	};

	pair_patience_ns = LONG_NS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
