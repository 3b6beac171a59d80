/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Two clients, and a daemon between them that takes its time: each sends
 * numbered frames to the other one, and sleeps when there is nothing, while
 * they get a channel of their own and lose it again.
 */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "lib/engine/core/idmap.h"
#include "lib/engine/core/in_place.h"
#include "pmd_glue/channel/sleep.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/direct.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define FRAMES 1000000u /* each way */
#define BURST 32u
#define WAIT_NS 20000000000ull /* longer than this machine may pause */
#define WAIT_MS 20000
#define MARK(i) (0x10001u + (i))

static const struct roost_share_attached granted = {
	.qpn_seed = { 5, 6 },
	.qpn_index_bits = 20,
	.qpn_block_shift = 6,
};

struct end {
	unsigned int number;
	struct roost_shm_channel *channel;
	struct roost_direct *direct;
	pthread_mutex_t turn;
	uint32_t qpn; /* a QP of this end */
	int kicks;    /* eventfd */
	uint32_t seat;
	struct roost_share_msg said; /* last */
	unsigned int nb_said;
	struct roost_share_packet heard[4]; /* to be taken */
	unsigned int nb_heard;
	struct roost_shm_memory ours, theirs; /* the daemon's side */
	struct roost_shm_in in;
	struct roost_shm_out out;
	uint64_t rung;
	int doorbell;
	uint32_t sent;
	_Atomic uint32_t got;
	uint32_t got_directly;
	atomic_bool failed;
};

static struct end ends[2];
static struct roost_share_page *page;
static atomic_bool finished, over;

/* ---- the session --------------------------------------------------------- */

static struct end *end_of(const struct roost_share_session *session)
{
	return (struct end *)(uintptr_t)session;
}

int __wrap_roost_share_tell(struct roost_share_session *session,
			    struct roost_share_msg *msg);
bool __wrap_roost_share_session_peer(struct roost_share_session *session,
				     struct roost_share_packet *packet);

int __wrap_roost_share_tell(struct roost_share_session *session,
			    struct roost_share_msg *msg)
{
	end_of(session)->said = *msg;
	end_of(session)->nb_said++;
	return 0;
}

bool __wrap_roost_share_session_peer(struct roost_share_session *session,
				     struct roost_share_packet *packet)
{
	struct end *e = end_of(session);

	if (e->nb_heard == 0)
		return false;
	*packet = e->heard[0];
	e->nb_heard--;
	memmove(&e->heard[0], &e->heard[1], e->nb_heard * sizeof(e->heard[0]));
	return true;
}

static uint64_t run(struct end *e)
{
	enum roost_shm_fault fault;
	uint64_t next_ns;

	pthread_mutex_lock(&e->turn);
	next_ns = roost_direct_run(e->direct, roost_now_ns(), &fault);
	pthread_mutex_unlock(&e->turn);
	assert_int_equal(fault, ROOST_SHM_OK);
	return next_ns;
}

static void say(struct end *e, enum roost_share_type type,
		struct roost_share_peer peer)
{
	struct roost_share_packet *p = &e->heard[e->nb_heard++];

	p->msg = (struct roost_share_msg){ .type = (uint16_t)type,
					   .peer = peer };
	p->msg.peer.mark = MARK(1 - e->number);
	p->nb_fds = 0;
}

/* ---- the daemon ---------------------------------------------------------- */

/* Copy a frame. Returns false: there is none, or no room. */
static bool pass(struct end *from, struct end *to)
{
	const uint32_t n = to->out.published % to->ours.shape.nb_slots;
	struct roost_shm_entry entry;

	roost_shm_out_free(&to->out, roost_shm_out_collect(&to->out));
	if (roost_shm_out_pending(&to->out) == to->ours.shape.ring_len ||
	    roost_shm_in_take(&from->in, &entry, 1) == 0)
		return false;
	memcpy(roost_shm_slot(&to->ours, n) + ROOST_SHM_HEADROOM,
	       roost_shm_slot(&from->theirs, entry.slot) + ROOST_SHM_HEADROOM,
	       entry.len_bytes);
	roost_shm_out_publish(&to->out, n, entry.len_bytes);
	roost_shm_in_give(&from->in, 1);
	if (roost_shm_must_ring(roost_shm_sleeps(&to->theirs), &to->rung))
		(void)!send(to->doorbell, "", 1, MSG_DONTWAIT);
	return true;
}

static void *daemon_main(void *arg)
{
	uint32_t random = 1;

	while (!atomic_load(&over)) {
		bool moved = false;

		random = random * 1664525 + 1013904223;
		for (uint32_t i = 0; i < random >> 26; i++)
			moved |= (int)pass(&ends[0], &ends[1]) |
				 (int)pass(&ends[1], &ends[0]);
		if (!moved || random >> 28 == 0)
			sched_yield();
	}
	return arg;
}

static void attach(struct end *e)
{
	const struct roost_shm_shape shape = { 64, ROOST_SHM_SLOT_BYTES, 1,
					       64 };
	struct roost_shm_peer peer = { .is_default = true,
				       .patience_ns = WAIT_NS };
	int fds[2];

	assert_int_equal(roost_shm_memory_make(&shape, &e->ours), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			 0);
	e->seat = (uint32_t)roost_shm_seat_take(e->channel);
	assert_int_equal(roost_shm_memory_map(e->ours.fd, &peer.memory), 0);
	assert_int_equal(
		roost_shm_memory_map(roost_shm_channel_memory(e->channel)->fd,
				     &e->theirs),
		0);
	peer.doorbell = fds[0];
	e->doorbell = fds[1];
	roost_shm_in_open(&e->in, &e->ours, 0, &e->theirs, e->seat);
	roost_shm_out_open(&e->out, &e->ours, 0, &e->theirs, e->seat);
	assert_int_equal(roost_shm_peer_join(e->channel, e->seat, &peer), 0);
}

/* ---- the ends ------------------------------------------------------------ */

static void kick(void *ctx)
{
	struct end *e = ctx;

	(void)!eventfd_write(e->kicks, 1);
}

static void open_end(struct end *e, unsigned int number, uint32_t qpn)
{
	struct roost_direct_conf conf = {
		.session = (struct roost_share_session *)(void *)e,
		.page = page,
		.granted = &granted,
		.patience_ns = WAIT_NS,
	};

	*e = (struct end){ .number = number, .qpn = qpn };
	pthread_mutex_init(&e->turn, NULL);
	e->kicks = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->channel = pair_open(3);
	attach(e);
	conf.channel = e->channel;
	conf.daemon_seat = e->seat;
	assert_int_equal(roost_direct_create(&conf, &e->direct), 0);
	roost_direct_set_worker(e->direct, NULL, kick, e);
}

static void close_end(struct end *e)
{
	roost_direct_destroy(e->direct);
	roost_shm_channel_close(e->channel);
	roost_shm_memory_close(&e->ours);
	roost_shm_memory_close(&e->theirs);
	close(e->doorbell);
	close(e->kicks);
}

static int setup(void **state)
{
	struct roost_idmap map;
	uint32_t qpns[2];
	int fd;

	if (roost_share_page_make(&page, &fd) != 0)
		return -1;
	close(fd);
	/* Client i leases block i. */
	if (roost_idmap_init(&map, 24, granted.qpn_index_bits, granted.qpn_seed,
			     NULL) != 0)
		return -1;
	for (uint32_t i = 0; i < 2; i++) {
		atomic_store(&page->lessees[i], MARK(i));
		qpns[i] = roost_idmap_permute(&map, i << 6 | 7);
	}
	roost_idmap_fini(&map);
	for (unsigned int i = 0; i < 2; i++)
		open_end(&ends[i], i, qpns[i]);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		close_end(&ends[i]);
	roost_share_page_close(page);
	return 0;
}

static uint32_t len_of(uint32_t i)
{
	return i % 5 == 0 ? 300 + i % 500 : 64 + i % 100;
}

static bool send_some(struct end *e)
{
	const struct end *to = &ends[1 - e->number];
	struct rte_mbuf *mbufs[8];
	uint16_t n = 0, went;

	while (n < 1 + e->sent % 8 && e->sent + n < FRAMES) {
		mbufs[n] = pair_frame(e->channel, 1, 1, to->qpn,
				      len_of(e->sent + n), e->sent + n);
		if (!mbufs[n])
			break;
		n++;
	}
	went = roost_direct_tx_burst(e->direct, mbufs, n);
	e->sent += went;
	rte_pktmbuf_free_bulk(&mbufs[went], n - went);
	return went > 0;
}

static bool receive_some(struct end *e)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = roost_shm_rx_burst(e->channel, mbufs, BURST);

	for (uint16_t i = 0; i < n; i++) {
		if (!pair_is_frame(mbufs[i], 1, 1, e->qpn, len_of(e->got),
				   e->got))
			e->failed = true;
		e->got_directly += roost_in_place_from(mbufs[i]) != 0;
		e->got++;
	}
	rte_pktmbuf_free_bulk(mbufs, n);
	return n > 0;
}

/* As a worker's thread that dozes: until a peer or the control thread rings. */
static void rest(struct end *e)
{
	struct pollfd fds[2] = {
		{ .fd = roost_shm_channel_fd(e->channel), .events = POLLIN },
		{ .fd = e->kicks, .events = POLLIN },
	};
	eventfd_t count;
	bool sleeps;

	pthread_mutex_lock(&e->turn);
	sleeps = roost_shm_sleep(e->channel);
	pthread_mutex_unlock(&e->turn);
	if (sleeps && poll(fds, 2, WAIT_MS) == 0)
		e->failed = true; /* a lost wake-up */
	(void)!eventfd_read(e->kicks, &count);
	pthread_mutex_lock(&e->turn);
	if (sleeps)
		roost_shm_awake(e->channel);
	pthread_mutex_unlock(&e->turn);
}

static void *end_main(void *arg)
{
	struct end *e = arg;
	bool worked;

	while (!atomic_load(&finished)) {
		pthread_mutex_lock(&e->turn);
		worked = receive_some(e);
		worked |= e->sent < FRAMES && send_some(e);
		pthread_mutex_unlock(&e->turn);
		if (worked)
			continue;
		/* Who has frames that did not go waits for no ring. */
		if (e->sent == FRAMES)
			rest(e);
		else
			sched_yield();
	}
	return NULL;
}

/* ---- introductions ------------------------------------------------------- */

static void introduce(void)
{
	int bells[2];

	for (unsigned int i = 0; i < 2; i++) {
		ends[i].nb_said = 0;
		say(&ends[i], ROOST_SHARE_MEET, (struct roost_share_peer){ 0 });
		run(&ends[i]);
		assert_int_equal(ends[i].nb_said, 1);
		assert_int_equal(ends[i].said.type, ROOST_SHARE_SEAT);
		assert_int_equal(ends[i].said.peer.mark, MARK(1 - i));
		assert_int_not_equal(ends[i].said.peer.seat,
				     ROOST_SHARE_NO_SEAT);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				    bells),
			 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct roost_share_packet *p = &ends[i].heard[0];

		say(&ends[i], ROOST_SHARE_PEER,
		    (struct roost_share_peer){
			    .seat = ends[i].said.peer.seat,
			    .peer_seat = ends[1 - i].said.peer.seat });
		p->fds[0] =
			dup(roost_shm_channel_memory(ends[1 - i].channel)->fd);
		p->fds[1] = bells[i];
		p->nb_fds = 2;
		/* The other one may send before this one has joined. */
		usleep(i * 300);
		run(&ends[i]);
	}
}

static void await_parted(void)
{
	const uint64_t until_ns = roost_now_ns() + WAIT_NS;

	for (unsigned int i = 0; i < 2; i++) {
		while (ends[i].nb_said == 0) {
			assert_true(roost_now_ns() < until_ns);
			run(&ends[i]);
			usleep(50);
		}
		assert_int_equal(ends[i].said.type, ROOST_SHARE_PARTED);
	}
}

/* Seats come back when no frame in them is used. */
static void await_seats(void)
{
	for (unsigned int i = 0; i < 2; i++)
		while (run(&ends[i]) != UINT64_MAX)
			usleep(50);
}

static void part(enum roost_share_part how)
{
	for (unsigned int i = 0; i < 2; i++) {
		ends[i].nb_said = 0;
		say(&ends[i], ROOST_SHARE_PART,
		    (struct roost_share_peer){ .how = how });
	}
	await_parted();
}

static bool is_done(void)
{
	return (ends[0].got == FRAMES && ends[1].got == FRAMES) ||
	       ends[0].failed || ends[1].failed;
}

static void change_over__keeps_the_order(void **state)
{
	pthread_t threads[3];
	unsigned int nb = 0;

	atomic_store(&over, false);
	pthread_create(&threads[2], NULL, daemon_main, NULL);
	for (unsigned int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, end_main, &ends[i]);
	for (; !is_done(); nb++) {
		introduce();
		usleep(1000 + nb % 7 * 3000);
		part(ROOST_SHARE_PART_STOP);
		part(ROOST_SHARE_PART_LEAVE);
		await_seats();
		usleep(nb % 5 * 500);
	}
	atomic_store(&finished, true);
	for (unsigned int i = 0; i < 2; i++) {
		kick(&ends[i]);
		pthread_join(threads[i], NULL);
	}
	atomic_store(&over, true);
	pthread_join(threads[2], NULL);
	for (unsigned int i = 0; i < 2; i++) {
		assert_false(ends[i].failed);
		assert_int_equal(ends[i].got, FRAMES);
		/* Both ways were used. */
		assert_in_range(ends[i].got_directly, FRAMES / 100,
				FRAMES - FRAMES / 100);
	}
	print_message("%u change-overs, %u and %u of %u directly\n", nb,
		      ends[0].got_directly, ends[1].got_directly, FRAMES);
}

/* ---- whose it is --------------------------------------------------------- */

/* Which way a frame of end 0 goes. */
static bool goes_directly(uint32_t qpn, uint8_t to_mac, uint32_t number)
{
	struct rte_mbuf *mbuf =
		pair_frame(ends[0].channel, 1, to_mac, qpn, 100, number);
	struct roost_shm_entry entry;
	struct rte_mbuf *got;

	assert_int_equal(roost_direct_tx_burst(ends[0].direct, &mbuf, 1), 1);
	if (roost_shm_rx_burst(ends[1].channel, &got, 1) == 1 ||
	    roost_shm_rx_burst(ends[1].channel, &got, 1) == 1) {
		assert_int_equal(roost_in_place_from(got), MARK(0));
		rte_pktmbuf_free(got);
		return true;
	}
	assert_int_equal(roost_shm_in_take(&ends[0].in, &entry, 1), 1);
	roost_shm_in_give(&ends[0].in, 1);
	return false;
}

static void route__by_lease(void **state)
{
	assert_false(goes_directly(ends[1].qpn, 1, 0));
	introduce();
	assert_true(goes_directly(ends[1].qpn, 1, 0));
	/* QP1, groups, nobody's, our own, another MAC. */
	assert_false(goes_directly(1, 1, 0));
	assert_false(goes_directly(0xffffff, 1, 0));
	assert_false(goes_directly(ends[1].qpn ^ 0x555, 1, 0));
	assert_false(goes_directly(ends[0].qpn, 1, 0));
	assert_false(goes_directly(ends[1].qpn, 2, 0));
	assert_true(goes_directly(ends[1].qpn, 1, 0));
	/* The block has another lessee. */
	atomic_store(&page->lessees[1], 0);
	assert_false(goes_directly(ends[1].qpn, 1, 0));
	atomic_store(&page->lessees[1], MARK(1));
	assert_true(goes_directly(ends[1].qpn, 1, 0));
	part(ROOST_SHARE_PART_LEAVE);
	assert_false(goes_directly(ends[1].qpn, 1, 0));
}

static void may_send__only_the_lessee(void **state)
{
	struct roost_direct_view view;
	struct roost_direct *d = ends[0].direct;

	assert_true(roost_direct_may_send(d, MARK(1), ends[1].qpn));
	assert_false(roost_direct_may_send(d, MARK(0), ends[1].qpn));
	assert_false(roost_direct_may_send(d, MARK(1), ends[0].qpn));
	assert_false(roost_direct_may_send(d, MARK(1), 1));
	assert_false(roost_direct_may_send(d, MARK(1), 0xffffff));
	/* The next client in the slot is another one. */
	atomic_store(&page->lessees[1], MARK(1) + 0x10000);
	assert_false(roost_direct_may_send(d, MARK(1), ends[1].qpn));
	roost_direct_view(d, &view);
	assert_int_equal(view.forged_pkts, 5);
}

/* ---- partings ------------------------------------------------------------ */

/* The last frames of a peer that went are received; those for it are lost. */
static void leave__after_the_last_frames(void **state)
{
	struct rte_mbuf *mbuf, *got;

	introduce();
	assert_true(goes_directly(ends[1].qpn, 1, 0));
	for (uint32_t i = 0; i < 3; i++) {
		mbuf = pair_frame(ends[0].channel, 1, 1, ends[1].qpn, 300, i);
		assert_int_equal(roost_direct_tx_burst(ends[0].direct, &mbuf,
						       1),
				 1);
	}
	ends[1].nb_said = 0;
	say(&ends[1], ROOST_SHARE_PART,
	    (struct roost_share_peer){ .how = ROOST_SHARE_PART_LEAVE });
	assert_true(run(&ends[1]) != UINT64_MAX);
	assert_int_equal(ends[1].nb_said, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(roost_shm_rx_burst(ends[1].channel, &got, 1),
				 1);
		assert_true(pair_is_frame(got, 1, 1, ends[1].qpn, 300, i));
		rte_pktmbuf_free(got);
	}
	run(&ends[1]);
	assert_int_equal(ends[1].nb_said, 1);
	assert_int_equal(ends[1].said.type, ROOST_SHARE_PARTED);
	assert_int_equal(run(&ends[1]), UINT64_MAX);
}

/* Words that no peer writes: the daemon is told, and nothing else happens. */
static void broken__peer_is_left(void **state)
{
	struct rte_mbuf *got;

	introduce();
	assert_true(goes_directly(ends[1].qpn, 1, 0));
	ends[1].nb_said = 0;
	atomic_store(roost_shm_ring(roost_shm_channel_memory(ends[0].channel),
				    ends[0].said.peer.seat) +
			     1,
		     UINT64_C(2) << 32 | UINT64_C(999) << 16 | 100);
	for (int i = 0; i < 2; i++)
		assert_int_equal(roost_shm_rx_burst(ends[1].channel, &got, 1),
				 0);
	run(&ends[1]);
	assert_int_equal(ends[1].nb_said, 1);
	assert_int_equal(ends[1].said.type, ROOST_SHARE_PARTED);
	assert_int_equal(ends[1].said.peer.how, ROOST_SHARE_PART_BROKEN);
}

/* Messages that make no sense, as of a daemon that is broken. */
static void messages__out_of_order(void **state)
{
	struct roost_share_peer peer = { .seat = 1, .peer_seat = 1 };

	ends[0].nb_said = 0;
	say(&ends[0], ROOST_SHARE_PART, peer);
	say(&ends[0], ROOST_SHARE_PEER, peer);
	run(&ends[0]);
	assert_int_equal(ends[0].nb_said, 0);
	introduce();
	ends[0].nb_said = 0;
	say(&ends[0], ROOST_SHARE_MEET, peer);
	run(&ends[0]);
	assert_int_equal(ends[0].said.peer.seat, ROOST_SHARE_NO_SEAT);
	assert_true(goes_directly(ends[1].qpn, 1, 0));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(change_over__keeps_the_order),
		TEST(route__by_lease),
		TEST(may_send__only_the_lessee),
		TEST(leave__after_the_last_frames),
		TEST(broken__peer_is_left),
		TEST(messages__out_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
