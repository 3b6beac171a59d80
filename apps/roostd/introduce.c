/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/introduce.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/roostd/port.h"
#include "pmd_glue/process/report.h"

/* Pairs are looked at so often: where one changes, and else. */
#define LOOK_NS 10000000u
#define LOOK_STILL_NS 500000000u

/* ---- frames: hot --------------------------------------------------------- */

/* A lane writes one that nobody has. */
static void found(struct roostd_pairs *pairs, uint16_t from, uint16_t to)
{
	const uint32_t word = (uint32_t)from << 16 | to;

	for (unsigned int i = 0; i < ROOSTD_FOUND_MAX; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&pairs->found[i], &none,
						   word))
			break;
	}
	atomic_store(&pairs->has_found, true);
}

void roostd_introduce_count(struct roostd_port *port,
			    struct roostd_client *from,
			    const struct roostd_client *to, uint64_t now_ns)
{
	struct roostd_busy *b = &from->peers.busy[to->slot % ROOSTD_BUSY_LEN];

	if (b->to != to->slot || b->frames == 0)
		*b = (struct roostd_busy){ now_ns, 0, to->slot };
	if (++b->frames < ROOSTD_BUSY_FRAMES)
		return;
	b->frames = 0;
	if (now_ns - b->since_ns <= ROOSTD_BUSY_NS)
		found(&port->pairs, from->slot, to->slot);
}

/* ---- pairs --------------------------------------------------------------- */

static struct roostd_pair *find(const struct roostd_client *c,
				const struct roostd_client *other)
{
	for (unsigned int i = 0; i < ROOSTD_PAIRS_MAX; i++) {
		struct roostd_pair *p = c->peers.pairs[i];

		if (p && (p->ends[0] == other || p->ends[1] == other))
			return p;
	}
	return NULL;
}

static unsigned int end_of(const struct roostd_pair *p,
			   const struct roostd_client *c)
{
	return p->ends[1] == c;
}

/* The pair of a client with the one of that mark. */
static struct roostd_pair *find_by_mark(const struct roostd_port *port,
					const struct roostd_client *c,
					uint32_t mark)
{
	const uint32_t slot = (mark & 0xffff) - 1;
	const struct roostd_client *other;

	if (slot >= ROOST_CLIENTS_MAX ||
	    roost_lease_mark(port->lease, (uint16_t)slot) != mark)
		return NULL;
	other = port->by_slot[slot];
	return other && other != c ? find(c, other) : NULL;
}

static bool is_peer(const struct roostd_pair *p)
{
	return p->state != ROOSTD_PAIR_APART;
}

static unsigned int nb_pairs(const struct roostd_client *c, bool peers)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < ROOSTD_PAIRS_MAX; i++)
		nb += c->peers.pairs[i] && is_peer(c->peers.pairs[i]) == peers;
	return nb;
}

static void enter(struct roostd_client *c, struct roostd_pair *p)
{
	unsigned int i = 0;

	while (c->peers.pairs[i])
		i++;
	c->peers.pairs[i] = p;
}

static void take_out(struct roostd_client *c, const struct roostd_pair *p)
{
	for (unsigned int i = 0; i < ROOSTD_PAIRS_MAX; i++)
		if (c->peers.pairs[i] == p)
			c->peers.pairs[i] = NULL;
}

static void free_pair(struct roostd_pair *p)
{
	take_out(p->ends[0], p);
	take_out(p->ends[1], p);
	LIST_REMOVE(p, all);
	free(p);
}

static void set_state(struct roostd_port *port, struct roostd_pair *p,
		      enum roostd_pair_state state, uint64_t until_ns)
{
	p->state = state;
	p->until_ns = until_ns;
	p->answered[0] = p->answered[1] = false;
	port->pairs.look_ns = port->now_ns;
}

/* ---- messages ------------------------------------------------------------ */

/* The daemon is in the middle of something: the end of the session is seen as
 * that of any other one.
 */
static void cut_off(const struct roostd_port *port, struct roostd_client *c)
{
	roost_report("%s: client %d (%s) is cut off: it does not read its "
		     "session",
		     port->label, (int)c->pid, c->command);
	shutdown(c->socket, SHUT_RDWR);
}

/* Tell one end of the other one. */
static void tell(const struct roostd_port *port, const struct roostd_pair *p,
		 unsigned int end, struct roost_share_msg msg, const int *fds)
{
	struct roostd_client *c = p->ends[end];

	/* Its session has ended, or it goes on without us. */
	if (c->leaves_ns != 0 || port->leaves_clients)
		return;
	msg.peer.mark = roost_lease_mark(port->lease, p->ends[!end]->slot);
	if (roost_share_send(c->socket, &msg, NULL, 0, fds) == -EAGAIN)
		cut_off(port, c);
}

static void tell_part(const struct roostd_port *port,
		      const struct roostd_pair *p, unsigned int end,
		      enum roost_share_part how)
{
	const struct roost_share_msg msg = { .type = ROOST_SHARE_PART,
					     .peer.how = how };

	tell(port, p, end, msg, NULL);
}

/* ---- the end of a pair --------------------------------------------------- */

static void end(struct roostd_port *port, struct roostd_pair *p)
{
	if (p->apart_ns == 0 ||
	    nb_pairs(p->ends[0], false) == ROOSTD_PAIRS_MAX / 2 ||
	    nb_pairs(p->ends[1], false) == ROOSTD_PAIRS_MAX / 2)
		free_pair(p);
	else
		set_state(port, p, ROOSTD_PAIR_APART,
			  port->now_ns + p->apart_ns);
}

/* Both leave; an end that did so already is not told. */
static void part(struct roostd_port *port, struct roostd_pair *p,
		 const bool has_left[2], uint64_t patience_ns)
{
	set_state(port, p, ROOSTD_PAIR_LEAVES, port->now_ns + patience_ns);
	for (unsigned int i = 0; i < 2; i++) {
		p->answered[i] = has_left[i];
		if (!has_left[i])
			tell_part(port, p, i, ROOST_SHARE_PART_LEAVE);
	}
	if (p->answered[0] && p->answered[1])
		end(port, p);
}

static void part_both(struct roostd_port *port, struct roostd_pair *p)
{
	part(port, p, (const bool[2]){ false, false }, ROOSTD_ANSWER_NS);
}

/* First neither sends any more, then both leave: no frame is lost. */
static void stop(struct roostd_port *port, struct roostd_pair *p)
{
	set_state(port, p, ROOSTD_PAIR_STOPS, port->now_ns + ROOSTD_ANSWER_NS);
	for (unsigned int i = 0; i < 2; i++)
		tell_part(port, p, i, ROOST_SHARE_PART_STOP);
}

/* ---- the beginning ------------------------------------------------------- */

/* A client with an address of its own is separated from others. */
static bool may_meet(const struct roostd_port *port,
		     const struct roostd_client *a,
		     const struct roostd_client *b)
{
	return a->direct && b->direct && a->uid == b->uid && !a->gone &&
	       !b->gone && a->leaves_ns == 0 && b->leaves_ns == 0 &&
	       port->lease->clients[a->slot].conf.nb_gids == 0 &&
	       port->lease->clients[b->slot].conf.nb_gids == 0;
}

/* Has it read all that it was told? Descriptors that nobody has received count
 * for the daemon's user, and when there are too many, no client gets any.
 */
static bool has_read_all(const struct roostd_client *c)
{
	int unread;

	return ioctl(c->socket, SIOCOUTQ, &unread) == 0 && unread == 0;
}

/* Part the peer that was idle for longest, if one was. Returns true: there is
 * room for one more.
 */
static bool make_room(struct roostd_port *port, struct roostd_client *c)
{
	struct roostd_pair *idle = NULL;

	if (nb_pairs(c, true) < ROOSTD_PEERS_MAX)
		return true;
	for (unsigned int i = 0; i < ROOSTD_PAIRS_MAX; i++) {
		struct roostd_pair *p = c->peers.pairs[i];

		if (p && p->state == ROOSTD_PAIR_JOINED &&
		    (!idle || p->active_ns < idle->active_ns))
			idle = p;
	}
	if (idle && port->now_ns - idle->active_ns >= ROOSTD_IDLE_SHORT_NS)
		stop(port, idle);
	return false;
}

static void introduce(struct roostd_port *port, struct roostd_client *a,
		      struct roostd_client *b)
{
	const struct roost_share_msg msg = { .type = ROOST_SHARE_MEET };
	struct roostd_pair *p;

	if (!may_meet(port, a, b) || find(a, b) || !make_room(port, a) ||
	    !make_room(port, b) || !has_read_all(a) || !has_read_all(b))
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->ends[0] = a;
	p->ends[1] = b;
	set_state(port, p, ROOSTD_PAIR_MEETS, port->now_ns + ROOSTD_ANSWER_NS);
	enter(a, p);
	enter(b, p);
	LIST_INSERT_HEAD(&port->pairs.all, p, all);
	tell(port, p, 0, msg, NULL);
	tell(port, p, 1, msg, NULL);
}

/* Both have a seat: each gets the memory of the other one. */
static void join(struct roostd_port *port, struct roostd_pair *p)
{
	int bells[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       bells) < 0) {
		p->apart_ns = ROOSTD_REFUSED_NS;
		part_both(port, p);
		return;
	}
	set_state(port, p, ROOSTD_PAIR_JOINED, 0);
	p->active_ns = port->now_ns;
	for (unsigned int i = 0; i < 2; i++) {
		const struct roost_share_msg msg = {
			.type = ROOST_SHARE_PEER,
			.peer = { .seat = p->seats[i],
				  .peer_seat = p->seats[!i] },
		};

		tell(port, p, i, msg,
		     (const int[]){ p->ends[!i]->memory_fd, bells[i] });
	}
	close(bells[0]);
	close(bells[1]);
}

void roostd_introduce_seat(struct roostd_port *port, struct roostd_client *c,
			   const struct roost_share_msg *msg)
{
	struct roostd_pair *p = find_by_mark(port, c, msg->peer.mark);
	unsigned int i;

	if (!p || p->state != ROOSTD_PAIR_MEETS)
		return;
	i = end_of(p, c);
	if (p->answered[i])
		return;
	if (msg->peer.seat >= c->theirs.shape.nb_seats) {
		p->apart_ns = ROOSTD_REFUSED_NS;
		part(port, p, (const bool[2]){ i == 0, i == 1 },
		     ROOSTD_ANSWER_NS);
		return;
	}
	p->answered[i] = true;
	p->seats[i] = msg->peer.seat;
	if (p->answered[0] && p->answered[1])
		join(port, p);
}

void roostd_introduce_parted(struct roostd_port *port, struct roostd_client *c,
			     const struct roost_share_msg *msg)
{
	struct roostd_pair *p = find_by_mark(port, c, msg->peer.mark);
	unsigned int i;

	if (!p || p->state == ROOSTD_PAIR_APART)
		return;
	i = end_of(p, c);
	if (msg->peer.how == ROOST_SHARE_PART_BROKEN)
		p->apart_ns = ROOSTD_BROKEN_NS;
	if (p->state == ROOSTD_PAIR_LEAVES) {
		p->answered[i] = true;
		if (p->answered[!i])
			end(port, p);
	} else if (p->state == ROOSTD_PAIR_STOPS &&
		   msg->peer.how == ROOST_SHARE_PART_STOP) {
		p->answered[i] = true;
		if (p->answered[!i])
			part_both(port, p);
	} else {
		part(port, p, (const bool[2]){ i == 0, i == 1 },
		     ROOSTD_ANSWER_NS);
	}
}

/* ---- who goes ------------------------------------------------------------ */

void roostd_introduce_leave(struct roostd_port *port, struct roostd_client *c)
{
	for (unsigned int k = 0; k < ROOSTD_PAIRS_MAX; k++) {
		struct roostd_pair *p = c->peers.pairs[k];
		const unsigned int i = p ? end_of(p, c) : 0;

		if (!p || !is_peer(p))
			continue;
		p->apart_ns = 0;
		part(port, p, (const bool[2]){ i == 0, i == 1 },
		     ROOSTD_LAST_NS);
	}
}

bool roostd_introduce_waits(const struct roostd_client *c)
{
	return nb_pairs(c, true) > 0;
}

unsigned int roostd_introduce_nb(const struct roostd_client *c)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < ROOSTD_PAIRS_MAX; i++)
		nb += c->peers.pairs[i] &&
		      c->peers.pairs[i]->state == ROOSTD_PAIR_JOINED;
	return nb;
}

void roostd_introduce_end(struct roostd_port *port, struct roostd_client *c)
{
	for (unsigned int k = 0; k < ROOSTD_PAIRS_MAX; k++) {
		struct roostd_pair *p = c->peers.pairs[k];

		if (!p)
			continue;
		if (is_peer(p) && p->state != ROOSTD_PAIR_LEAVES)
			tell_part(port, p, !end_of(p, c),
				  ROOST_SHARE_PART_LEAVE);
		free_pair(p);
	}
}

/* ---- time ---------------------------------------------------------------- */

/* The counts are the clients' words: they say how idle the pair is, to its own
 * disadvantage if they lie.
 */
static void look_at_joined(struct roostd_port *port, struct roostd_pair *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		const uint32_t count = atomic_load_explicit(
			roost_shm_count(&p->ends[i]->theirs, p->seats[i]),
			memory_order_relaxed);

		if (count != p->counts[i])
			p->active_ns = port->now_ns;
		p->counts[i] = count;
	}
	if (port->now_ns - p->active_ns >= ROOSTD_IDLE_NS ||
	    !may_meet(port, p->ends[0], p->ends[1]))
		stop(port, p);
}

static void look_at(struct roostd_port *port, struct roostd_pair *p)
{
	if (p->state == ROOSTD_PAIR_JOINED) {
		look_at_joined(port, p);
		return;
	}
	if (port->now_ns < p->until_ns)
		return;
	switch (p->state) {
	case ROOSTD_PAIR_MEETS:
		p->apart_ns = ROOSTD_REFUSED_NS;
		part_both(port, p);
		break;
	case ROOSTD_PAIR_STOPS:
		part_both(port, p);
		break;
	case ROOSTD_PAIR_LEAVES:
		end(port, p);
		break;
	case ROOSTD_PAIR_JOINED:
	case ROOSTD_PAIR_APART:
	default:
		free_pair(p);
	}
}

static void look(struct roostd_port *port)
{
	struct roostd_pair *p, *next;
	bool changing = false;

	for (p = LIST_FIRST(&port->pairs.all); p; p = next) {
		next = LIST_NEXT(p, all);
		look_at(port, p);
	}
	LIST_FOREACH(p, &port->pairs.all, all)
		changing |= p->state != ROOSTD_PAIR_JOINED &&
			    p->state != ROOSTD_PAIR_APART;
	port->pairs.look_ns =
		port->now_ns + (changing ? LOOK_NS : LOOK_STILL_NS);
}

static void look_at_found(struct roostd_port *port)
{
	for (unsigned int i = 0; i < ROOSTD_FOUND_MAX; i++) {
		const uint32_t word = atomic_exchange(&port->pairs.found[i], 0);
		struct roostd_client *a = port->by_slot[word >> 16];
		struct roostd_client *b = port->by_slot[word & 0xffff];

		if (word != 0 && a && b && a != b)
			introduce(port, a, b);
	}
}

void roostd_introduce_run(struct roostd_port *port)
{
	struct roostd_pairs *pairs = &port->pairs;

	if (atomic_load_explicit(&pairs->has_found, memory_order_relaxed) &&
	    atomic_exchange(&pairs->has_found, false))
		look_at_found(port);
	if (!LIST_EMPTY(&pairs->all) && port->now_ns >= pairs->look_ns)
		look(port);
}
