/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/idmap.h"
#include "lib/engine/core/turn.h"
#include "lib/wire/frame.h"
#include "pmd_glue/process/clock.h"

#define QPN_BITS 24u
#define MEMO_LEN 256u
#define BURST 64u
#define SEATS ROOST_SHM_SEATS
/* The frame stays where it is: backpressure. */
#define HOLD ROOST_SHM_NO_SEAT

/* What is left of a peer that has gone is received within this time. */
#define LEAVE_NS 20000000u
/* Both ends of a channel come over to another daemon within this time. */
#define LINGER_NS 200000000u
/* Partings, and frames in place of peers that left, are looked at so often. */
#define LOOK_NS 1000000u

enum state {
	NONE,
	SEATED, /* it was met */
	JOINED,
	STOPPING, /* it has not consumed all frames */
	STOPPED,  /* the daemon was told */
	LEAVING,  /* it has frames left */
};

/* Where frames for a peer go. */
enum way {
	VIA_DAEMON,
	BEGINS, /* directly as soon as the order is kept */
	DIRECT,
	ENDS, /* through the daemon as soon as the order is kept */
};

struct peer {
	uint32_t mark;     /* 0: no peer. Writer: with the turn */
	enum way way;      /* the turn's */
	uint64_t hold_ns;  /* BEGINS: frames wait from then on; 0: none did */
	enum state state;  /* the control thread's, as is the next one */
	uint64_t until_ns; /* STOPPING, LEAVING; written with the turn */
	bool is_old;       /* of the daemon before: this one is told nothing */
};

struct roost_direct {
	struct roost_direct_conf conf;
	_Atomic(const struct roost_share_page *) page;
	struct roost_idmap qpns; /* for its permutation */
	uint32_t index_mask;
	unsigned int block_shift;
	struct roost_worker *worker;
	void (*kick)(void *ctx);
	void *ctx;
	/* The turn's. */
	uint32_t changing;        /* bit set of peers with BEGINS or ENDS */
	uint32_t nb_joined;       /* peers of any way but VIA_DAEMON */
	uint32_t last;            /* peer that the last frame went to */
	struct peer peers[SEATS]; /* by seat; that of the daemon is none */
	bool has_left; /* peers left whose frames in place are used */
	_Atomic uint64_t forged_pkts;
	/* At [QPN % MEMO_LEN]: a QPN in the low 32 bits, its block in the high
	 * ones; 0: none. Writers: workers; each value is right.
	 */
	_Atomic uint64_t memo[MEMO_LEN];
};

/* ---- life ---------------------------------------------------------------- */

static bool none_reserved(uint32_t id __attribute__((unused)))
{
	return false;
}

int roost_direct_create(const struct roost_direct_conf *conf,
			struct roost_direct **direct)
{
	const struct roost_share_attached *a = conf->granted;
	struct roost_direct *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	d->conf = *conf;
	atomic_init(&d->page, conf->page);
	d->index_mask = (1u << a->qpn_index_bits) - 1;
	d->block_shift = a->qpn_block_shift;
	ret = roost_idmap_init(&d->qpns, QPN_BITS, a->qpn_index_bits,
			       a->qpn_seed, none_reserved);
	if (ret) {
		free(d);
		return ret;
	}
	*direct = d;
	return 0;
}

void roost_direct_destroy(struct roost_direct *direct)
{
	if (!direct)
		return;
	roost_idmap_fini(&direct->qpns);
	free(direct);
}

void roost_direct_set_worker(struct roost_direct *direct,
			     struct roost_worker *worker,
			     void (*kick)(void *ctx), void *ctx)
{
	direct->worker = worker;
	direct->kick = kick;
	direct->ctx = ctx;
}

static void take_turn(struct roost_direct *d)
{
	if (d->worker)
		roost_worker_turn_take(d->worker);
}

static void leave_turn(struct roost_direct *d)
{
	if (d->worker)
		roost_worker_turn_leave(d->worker);
}

/* ---- whose is it: hot ---------------------------------------------------- */

static uint32_t block_of(struct roost_direct *d, uint32_t qpn)
{
	_Atomic uint64_t *memo = &d->memo[qpn % MEMO_LEN];
	const uint64_t kept = atomic_load_explicit(memo, memory_order_relaxed);
	uint32_t block;

	if (likely((uint32_t)kept == qpn))
		return (uint32_t)(kept >> 32);
	block = (roost_idmap_invert(&d->qpns, qpn) & d->index_mask) >>
		d->block_shift;
	atomic_store_explicit(memo, (uint64_t)block << 32 | qpn,
			      memory_order_relaxed);
	return block;
}

/* The mark of the client that leases the QPN; 0: none does. */
static uint32_t mark_of(struct roost_direct *d, uint32_t qpn)
{
	const struct roost_share_page *page =
		atomic_load_explicit(&d->page, memory_order_relaxed);
	uint32_t block;

	/* No QP of a client can have these. */
	if (qpn < 2 || qpn >= 0xffffff)
		return 0;
	block = block_of(d, qpn);
	return block < ROOST_SHARE_BLOCKS
		       ? atomic_load_explicit(&page->lessees[block],
					      memory_order_acquire)
		       : 0;
}

bool roost_direct_may_send(struct roost_direct *direct, uint32_t mark,
			   uint32_t qpn)
{
	if (likely(mark_of(direct, qpn) == mark))
		return true;
	atomic_fetch_add_explicit(&direct->forged_pkts, 1,
				  memory_order_relaxed);
	return false;
}

/* ---- the change-over: with the turn -------------------------------------- */

static uint32_t bit(uint32_t seat)
{
	return 1u << seat;
}

/* Is a frame that goes the other way from now on behind all before it? */
static bool is_in_order(struct roost_direct *d, uint32_t seat)
{
	struct roost_shm_channel *ch = d->conf.channel;

	if (d->peers[seat].way == ENDS)
		return roost_shm_tx_pending(ch, seat) == 0;
	return roost_shm_peer_listens(ch, seat) &&
	       roost_shm_tx_pending(ch, d->conf.daemon_seat) == 0;
}

static void set_way(struct roost_direct *d, uint32_t seat, enum way way)
{
	struct peer *p = &d->peers[seat];

	d->nb_joined += way != VIA_DAEMON;
	d->nb_joined -= p->way != VIA_DAEMON;
	p->way = way;
	p->hold_ns = 0;
	d->changing &= ~bit(seat);
	if (way == BEGINS || way == ENDS)
		d->changing |= bit(seat);
}

/* Before a burst: all its frames go the way that is set here. */
static __rte_noinline void change_over(struct roost_direct *d)
{
	for (uint32_t left = d->changing; left != 0; left &= left - 1) {
		uint32_t seat = (uint32_t)__builtin_ctz(left);

		if (is_in_order(d, seat))
			set_way(d, seat,
				d->peers[seat].way == ENDS ? VIA_DAEMON
							   : DIRECT);
	}
}

/* The daemon may never have consumed all: then frames wait, for a while. */
static __rte_noinline uint32_t seat_while_changing(struct roost_direct *d,
						   uint32_t seat)
{
	struct peer *p = &d->peers[seat];
	uint64_t now_ns;

	if (p->way == ENDS)
		return roost_now_ns() < p->until_ns ? HOLD
						    : d->conf.daemon_seat;
	if (!roost_shm_peer_listens(d->conf.channel, seat))
		return d->conf.daemon_seat;
	now_ns = roost_now_ns();
	if (p->hold_ns == 0 || now_ns - p->hold_ns >= ROOST_DIRECT_RETRY_NS)
		p->hold_ns = now_ns;
	return now_ns - p->hold_ns < ROOST_DIRECT_HOLD_NS ? HOLD
							  : d->conf.daemon_seat;
}

/* ---- frames: hot --------------------------------------------------------- */

/* The peer with that mark; SEATS: none. */
static uint32_t find_peer(const struct roost_direct *d, uint32_t mark)
{
	uint32_t i;

	for (i = 0; i < SEATS; i++)
		if (d->peers[i].mark == mark)
			break;
	return i;
}

static uint32_t seat_of(struct roost_direct *d, const struct rte_mbuf *pkt)
{
	const uint8_t *frame = rte_pktmbuf_mtod(pkt, const uint8_t *);
	const uint8_t *bth = roost_frame_guess_bth(frame, pkt->data_len);
	uint32_t seat = d->last, mark;

	/* To our own MAC, which clients share. */
	if (!bth || memcmp(frame, frame + 6, 6) != 0)
		return d->conf.daemon_seat;
	mark = mark_of(d, roost_bth_dest_qpn(bth));
	if (mark == 0)
		return d->conf.daemon_seat;
	if (unlikely(d->peers[seat].mark != mark)) {
		seat = find_peer(d, mark);
		if (seat == SEATS)
			return d->conf.daemon_seat;
		d->last = seat;
	}
	if (likely(d->peers[seat].way == DIRECT))
		return seat;
	return d->peers[seat].way == VIA_DAEMON ? d->conf.daemon_seat
						: seat_while_changing(d, seat);
}

uint16_t roost_direct_tx_burst(struct roost_direct *direct,
			       struct rte_mbuf **pkts, uint16_t n)
{
	struct roost_direct *d = direct;
	uint32_t seats[BURST];
	uint16_t i;

	if (d->nb_joined == 0)
		return roost_shm_tx_burst(d->conf.channel, NULL, pkts, n);
	if (unlikely(d->changing != 0))
		change_over(d);
	for (i = 0; i < n && i < BURST; i++) {
		seats[i] = seat_of(d, pkts[i]);
		if (unlikely(seats[i] == HOLD))
			break;
	}
	return roost_shm_tx_burst(d->conf.channel, seats, pkts, i);
}

/* ---- what the daemon is told --------------------------------------------- */

/* If the daemon does not read it, it takes us for one that does not answer. */
static void tell(struct roost_direct *d, enum roost_share_type type,
		 uint32_t mark, uint32_t seat, enum roost_share_part how)
{
	struct roost_share_msg msg = {
		.type = (uint16_t)type,
		.peer = { .mark = mark, .seat = seat, .how = how },
	};

	roost_share_tell(d->conf.session, &msg);
}

/* The seat is free, or will be when the frames in it are. */
static void forget(struct roost_direct *d, uint32_t seat)
{
	set_way(d, seat, VIA_DAEMON);
	d->peers[seat] = (struct peer){ .state = NONE };
}

static void end_with(struct roost_direct *d, uint32_t seat,
		     enum roost_share_part how)
{
	const uint32_t mark = d->peers[seat].mark;
	const bool is_old = d->peers[seat].is_old;

	take_turn(d);
	if (d->peers[seat].state == SEATED)
		roost_shm_seat_leave(d->conf.channel, seat);
	else
		roost_shm_peer_leave(d->conf.channel, seat);
	forget(d, seat);
	leave_turn(d);
	d->has_left = true;
	if (!is_old)
		tell(d, ROOST_SHARE_PARTED, mark, 0, how);
}

/* ---- what the daemon says ------------------------------------------------ */

static void meet(struct roost_direct *d, uint32_t mark)
{
	int seat = -ENOSPC;

	if (!d->kick || mark == 0 || find_peer(d, mark) < SEATS) {
		tell(d, ROOST_SHARE_SEAT, mark, ROOST_SHARE_NO_SEAT, 0);
		return;
	}
	take_turn(d);
	seat = roost_shm_seat_take(d->conf.channel);
	if (seat >= 0)
		d->peers[seat] = (struct peer){ .mark = mark, .state = SEATED };
	leave_turn(d);
	tell(d, ROOST_SHARE_SEAT, mark,
	     seat < 0 ? ROOST_SHARE_NO_SEAT : (uint32_t)seat, 0);
}

static int join(struct roost_direct *d, uint32_t seat,
		struct roost_share_packet *packet)
{
	struct roost_shm_peer peer = {
		.seat = packet->msg.peer.peer_seat,
		.doorbell = packet->fds[1],
		.from = packet->msg.peer.mark,
		.patience_ns = d->conf.patience_ns,
	};
	int ret = roost_shm_memory_map(packet->fds[0], &peer.memory);

	if (ret)
		return ret;
	packet->fds[1] = -1;
	take_turn(d);
	ret = roost_shm_peer_join(d->conf.channel, seat, &peer);
	if (ret)
		forget(d, seat);
	else
		set_way(d, seat, BEGINS);
	leave_turn(d);
	return ret;
}

/* The peer may have sent frames while we were asleep, before we listened. */
static void hear_peer(struct roost_direct *d, struct roost_share_packet *packet)
{
	const uint32_t mark = packet->msg.peer.mark;
	const uint32_t seat = find_peer(d, mark);

	if (mark == 0 || seat == SEATS || d->peers[seat].state != SEATED ||
	    seat != packet->msg.peer.seat)
		return;
	if (join(d, seat, packet) == 0) {
		d->peers[seat].state = JOINED;
		d->kick(d->ctx);
	} else if (d->peers[seat].state == SEATED) {
		end_with(d, seat, ROOST_SHARE_PART_BROKEN);
	} else {
		tell(d, ROOST_SHARE_PARTED, mark, 0, ROOST_SHARE_PART_BROKEN);
	}
}

static void part(struct roost_direct *d, const struct roost_share_peer *msg,
		 uint64_t now_ns)
{
	const bool stop = msg->how == ROOST_SHARE_PART_STOP;
	const uint32_t seat = find_peer(d, msg->mark);
	struct peer *p = &d->peers[seat];

	if (msg->mark == 0 || seat == SEATS)
		return;
	if (p->state == SEATED) {
		end_with(d, seat, ROOST_SHARE_PART_LEAVE);
		return;
	}
	if (stop && p->state != JOINED)
		return;
	take_turn(d);
	p->until_ns = now_ns + (stop ? d->conf.patience_ns : LEAVE_NS);
	set_way(d, seat, stop ? ENDS : VIA_DAEMON);
	leave_turn(d);
	p->state = stop ? STOPPING : LEAVING;
}

static void hear(struct roost_direct *d, struct roost_share_packet *packet,
		 uint64_t now_ns)
{
	const struct roost_share_msg *msg = &packet->msg;

	if (msg->type == ROOST_SHARE_MEET)
		meet(d, msg->peer.mark);
	else if (msg->type == ROOST_SHARE_PEER)
		hear_peer(d, packet);
	else
		part(d, &msg->peer, now_ns);
	roost_share_packet_close(packet);
}

/* ---- partings ------------------------------------------------------------ */

/* A peer that does not read loses what it was sent. */
static void go_on_stopping(struct roost_direct *d, uint32_t seat,
			   uint64_t now_ns)
{
	struct peer *p = &d->peers[seat];
	bool done;

	take_turn(d);
	done = p->way == VIA_DAEMON || is_in_order(d, seat) ||
	       now_ns >= p->until_ns;
	if (done)
		set_way(d, seat, VIA_DAEMON);
	leave_turn(d);
	if (!done)
		return;
	if (p->is_old) {
		p->state = LEAVING;
		p->until_ns = now_ns + LINGER_NS;
		return;
	}
	p->state = STOPPED;
	tell(d, ROOST_SHARE_PARTED, p->mark, 0, ROOST_SHARE_PART_STOP);
}

static void go_on_leaving(struct roost_direct *d, uint32_t seat,
			  uint64_t now_ns)
{
	const struct peer *p = &d->peers[seat];
	bool is_due;

	take_turn(d);
	is_due = roost_shm_rx_is_due(d->conf.channel, seat);
	leave_turn(d);
	if (p->is_old && now_ns < p->until_ns)
		return;
	if (is_due && now_ns < p->until_ns)
		d->kick(d->ctx);
	else
		end_with(d, seat, ROOST_SHARE_PART_LEAVE);
}

static bool go_on(struct roost_direct *d, uint32_t seat, uint64_t now_ns)
{
	const struct peer *p = &d->peers[seat];

	if (p->state == STOPPING)
		go_on_stopping(d, seat, now_ns);
	else if (p->state == LEAVING)
		go_on_leaving(d, seat, now_ns);
	return p->state == STOPPING || p->state == LEAVING;
}

static void find_broken(struct roost_direct *d, enum roost_shm_fault *fault)
{
	enum roost_shm_fault what = ROOST_SHM_OK;
	uint32_t seat;

	while (roost_shm_has_broken(d->conf.channel)) {
		take_turn(d);
		seat = roost_shm_next_broken(d->conf.channel, &what);
		leave_turn(d);
		if (seat == d->conf.daemon_seat)
			*fault = what;
		else if (seat < SEATS && d->peers[seat].mark != 0)
			end_with(d, seat, ROOST_SHARE_PART_BROKEN);
	}
}

static void reap(struct roost_direct *d)
{
	take_turn(d);
	d->has_left = roost_shm_channel_reap(d->conf.channel) > 0;
	leave_turn(d);
}

uint64_t roost_direct_run(struct roost_direct *direct, uint64_t now_ns,
			  enum roost_shm_fault *fault)
{
	struct roost_direct *d = direct;
	struct roost_share_packet packet;
	bool again = false;

	*fault = ROOST_SHM_OK;
	while (roost_share_session_peer(d->conf.session, &packet))
		hear(d, &packet, now_ns);
	find_broken(d, fault);
	for (uint32_t i = 0; i < SEATS; i++)
		again |= go_on(d, i, now_ns);
	if (d->has_left)
		reap(d);
	return again || d->has_left ? now_ns + LOOK_NS : UINT64_MAX;
}

/* Both ends send what is new by the daemon as soon as the order is kept, and
 * receive what the other one has sent, without a word from a daemon.
 */
static void stop_using(struct roost_direct *d, uint32_t seat, uint64_t now_ns)
{
	struct peer *p = &d->peers[seat];

	p->is_old = true;
	if (p->state == SEATED) {
		end_with(d, seat, ROOST_SHARE_PART_LEAVE);
		return;
	}
	take_turn(d);
	p->until_ns = now_ns + d->conf.patience_ns;
	if (p->way != VIA_DAEMON)
		set_way(d, seat, p->way == BEGINS ? VIA_DAEMON : ENDS);
	leave_turn(d);
	p->state = STOPPING;
}

void roost_direct_restart(struct roost_direct *direct,
			  const struct roost_share_page *page, uint64_t now_ns)
{
	for (uint32_t i = 0; i < SEATS; i++)
		if (direct->peers[i].mark != 0)
			stop_using(direct, i, now_ns);
	atomic_store_explicit(&direct->page, page, memory_order_relaxed);
	direct->has_left = true; /* the daemon before */
}

void roost_direct_set_seat(struct roost_direct *direct, uint32_t daemon_seat)
{
	direct->conf.daemon_seat = daemon_seat;
}

bool roost_direct_has_peers(const struct roost_direct *direct)
{
	for (uint32_t i = 0; i < SEATS; i++)
		if (direct->peers[i].state != NONE)
			return true;
	return false;
}

/* ---- for people ---------------------------------------------------------- */

void roost_direct_view(const struct roost_direct *direct,
		       struct roost_direct_view *view)
{
	*view = (struct roost_direct_view){
		.forged_pkts = atomic_load_explicit(&direct->forged_pkts,
						    memory_order_relaxed),
	};
	for (uint32_t i = 0; i < SEATS; i++) {
		const struct roost_shm_counters *c =
			roost_shm_counters(direct->conf.channel, i);

		view->peers += direct->peers[i].way == DIRECT;
		view->missed_pkts += c->rx_no_mbuf_pkts + c->tx_unread_pkts;
	}
}
