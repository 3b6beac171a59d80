/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Clients come and go. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/picture.h"
#include "apps/roostd/port.h"
#include "pmd_glue/process/peer_trust.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/message.h"

/* The frames that a client has left are moved within this time. */
#define LEAVE_NS 1000000000u
/* Nothing is read from the socket of a client that asks too much. */
#define PAUSE_NS 2000000u
/* Sessions that have not attached. "roost run" keeps one, and a program has one
 * more while it opens the device.
 */
#define SILENT_OF_PROCESS_MAX 16u
/* Connections that are accepted before others are served. */
#define ACCEPTED_MAX 16u

/* ---- watched descriptors ------------------------------------------------- */

static int watch(int epoll_fd, int fd, void *tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = tag };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* A duplicate in another process would keep them in the set. */
static void unwatch(struct roostd_port *port, const struct roostd_client *c)
{
	epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, c->socket, NULL);
	if (c->doorbell >= 0)
		epoll_ctl(c->lane ? c->lane->epoll_fd : port->epoll_fd,
			  EPOLL_CTL_DEL, c->doorbell, NULL);
	if (c->pidfd >= 0)
		epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, c->pidfd, NULL);
}

/* ---- the end ------------------------------------------------------------- */

/* An address of its own may be no policy's any more: it is shared then.
 * returns: it may come again.
 */
static void remove_lease(struct roostd_port *port, uint16_t slot, bool returns)
{
	const struct roost_client_conf had = port->lease->clients[slot].conf;
	const uint32_t serial = port->lease->state->slots[slot].serial;

	returns &= serial != 0;
	roost_switch_client_remove(port->sw, slot, port->now_ns);
	if (returns &&
	    roost_lease_client_await(port->lease, slot, serial, port->now_ns))
		return;
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN && had.nb_gids; i++)
		if (roost_gid_eq(&port->facts.gids[i], &had.gids[0]))
			roostd_port_add_addr(port, &had.gids[0]);
}

/* The first lane may be in the middle of a round; the others stand still, and
 * may have got frames for it since theirs, when they looked before a sleep.
 */
static void do_not_ring(struct roostd_lane *lane, const struct roostd_client *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lane->nb_to_ring; i++)
		if (lane->to_ring[i] != c)
			lane->to_ring[n++] = lane->to_ring[i];
	lane->nb_to_ring = n;
}

static void leave_lane(struct roostd_client *c)
{
	if (!c->lane)
		return;
	c->lane->nb_clients--;
	if (!c->asleep)
		TAILQ_REMOVE(&c->lane->awake, c, awake);
	c->asleep = true;
}

static void enter_lane(struct roostd_lane *lane, struct roostd_client *c)
{
	c->lane = lane;
	lane->nb_clients++;
	c->asleep = false;
	TAILQ_INSERT_TAIL(&lane->awake, c, awake);
}

/* Lanes know nothing of a session that has not attached. */
static void hold_for(struct roostd_port *port, const struct roostd_client *c)
{
	if (c->slot != ROOST_CLIENT_NONE)
		roostd_port_hold(port);
}

/* The client is gone, and its peers are told. */
void roostd_port_finish(struct roostd_port *port, struct roostd_client *c)
{
	hold_for(port, c);
	leave_lane(c);
	if (c->paused)
		TAILQ_REMOVE(&port->paused, c, pause);
	for (uint32_t i = 0; c->lane && i < port->nb_lanes; i++)
		do_not_ring(&port->lanes[i], c);
	roostd_introduce_end(port, c);
	roostd_picture_keep(port, c);
	if (c->slot != ROOST_CLIENT_NONE) {
		port->nb_attached -= port->by_slot[c->slot] == c;
		port->by_slot[c->slot] = NULL;
		if (!port->leaves_clients || c->leaves_ns != 0)
			remove_lease(port, c->slot, c->returns);
	}
	roostd_neighs_leave(port, c);
	unwatch(port, c);
	c->gone = true;
	port->nb_clients--;
	LIST_REMOVE(c, all);
	LIST_INSERT_HEAD(&port->gone, c, all);
}

static bool has_left_frames(const struct roostd_port *port,
			    const struct roostd_client *c)
{
	return roostd_client_has_frames(c) ||
	       roost_switch_keeps(port->sw, c->slot) ||
	       roostd_introduce_waits(c);
}

/* A program may end right after it has answered: its last frames are moved
 * before it is gone, also where a receiver or the port takes its time. The
 * port's thread does that.
 */
void roostd_port_drop(struct roostd_port *port, struct roostd_client *c,
		      const char *why)
{
	if (c->gone)
		return;
	hold_for(port, c);
	if (why)
		roost_report("%s: client %d (%s) is cut off: %s", port->label,
			     (int)c->pid,
			     c->command[0] ? c->command : "not attached", why);
	if (!why && c->leaves_ns == 0)
		roostd_introduce_leave(port, c);
	if (why || c->leaves_ns != 0 || c->slot == ROOST_CLIENT_NONE ||
	    port->by_slot[c->slot] != c || !has_left_frames(port, c)) {
		roostd_port_finish(port, c);
		return;
	}
	c->leaves_ns = port->now_ns + LEAVE_NS;
	roostd_neighs_leave(port, c);
	unwatch(port, c);
	leave_lane(c);
	enter_lane(&port->lanes[0], c);
	roost_switch_client_move(port->sw, c->slot, port->now_ns);
}

void roostd_port_go_on_leaving(struct roostd_port *port,
			       struct roostd_client *c)
{
	if (port->now_ns >= c->leaves_ns || !has_left_frames(port, c))
		roostd_port_finish(port, c);
}

/* ---- the beginning ------------------------------------------------------- */

/* Some of those who have not attached. */
struct silent {
	struct roostd_client *oldest; /* NULL: none */
	uint32_t nb;
};

static void count(struct silent *some, struct roostd_client *c)
{
	some->oldest = c;
	some->nb++;
}

/* Too many have not attached: the oldest goes, of the same process or user if
 * that has many itself. A user does not take all places: there is one more for
 * who has less than three times as many as are free. Processes without a number
 * cannot be told apart.
 */
static void drop_silent(struct roostd_port *port,
			const struct roostd_client *new)
{
	struct silent all = { 0 }, of_user = { 0 }, of_process = { 0 };
	struct roostd_client *c;

	LIST_FOREACH(c, &port->clients, all) {
		if (c->slot != ROOST_CLIENT_NONE)
			continue;
		count(&all, c);
		if (c->uid == new->uid)
			count(&of_user, c);
		if (c->pid == new->pid && c->pid != 0)
			count(&of_process, c);
	}
	if (of_process.nb >= SILENT_OF_PROCESS_MAX)
		roostd_port_drop(port, of_process.oldest, NULL);
	else if (of_user.nb > 0 && !port->is_hub &&
		 of_user.nb + 3 * all.nb >= 3 * port->max_silent)
		roostd_port_drop(port, of_user.oldest, NULL);
	else if (all.nb >= port->max_silent ||
		 (all.nb > 0 && port->nb_clients == ROOSTD_SESSIONS_MAX))
		roostd_port_drop(port, all.oldest, NULL);
}

static void take_in(struct roostd_port *port, int fd)
{
	struct roostd_client *c = roostd_client_create(fd);

	if (!c)
		return;
	if (port->is_hub && !roost_uid_is_ours(c->uid)) {
		roostd_client_destroy(c);
		return;
	}
	drop_silent(port, c);
	if (port->nb_clients == ROOSTD_SESSIONS_MAX ||
	    watch(port->epoll_fd, c->socket, c) != 0) {
		roostd_client_destroy(c);
		return;
	}
	c->port = port;
	LIST_INSERT_HEAD(&port->clients, c, all);
	port->nb_clients++;
}

int roostd_port_take(struct roostd_port *port, struct roostd_client *c)
{
	const int before = c->port->epoll_fd;
	int ret = port->epoll_fd == before
			  ? 0
			  : watch(port->epoll_fd, c->socket, c);

	if (ret)
		return ret;
	if (port->epoll_fd != before)
		epoll_ctl(before, EPOLL_CTL_DEL, c->socket, NULL);
	LIST_REMOVE(c, all);
	c->port->nb_clients--;
	c->port = port;
	LIST_INSERT_HEAD(&port->clients, c, all);
	port->nb_clients++;
	return 0;
}

static int accept_one(struct roostd_port *port)
{
	int fd = accept4(port->listener, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	return fd >= 0 ? fd : -errno;
}

/* Any will do. */
static void keep_spare(struct roostd_port *port)
{
	if (port->spare_fd < 0)
		port->spare_fd = fcntl(port->epoll_fd, F_DUPFD_CLOEXEC, 0);
}

/* Say why, to who may have asked to attach. What it has sent is not read: one
 * that sends without end would have all the time.
 */
static void turn_away(int fd)
{
	static const char why[] = ROOSTD_NO_DESCRIPTORS;
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACHED,
		.status = -EAGAIN,
	};

	roost_share_send(fd, &msg, why, strlen(why), NULL);
	close(fd);
}

/* There is no descriptor for who waits at the listener, which would be readable
 * for ever. Returns false: nobody waits, or it stays so.
 */
static bool refuse(struct roostd_port *port, int error)
{
	int fd;

	if (!port->is_short)
		roost_report("%s: clients are refused: %s; let the daemon have "
			     "more descriptors (LimitNOFILE, ulimit -n)",
			     port->label, strerror(error));
	port->is_short = true;
	if (port->spare_fd < 0)
		return false;
	close(port->spare_fd);
	fd = accept_one(port);
	if (fd >= 0)
		turn_away(fd);
	port->spare_fd = -1;
	keep_spare(port);
	return fd >= 0;
}

void roostd_port_accept(struct roostd_port *port)
{
	keep_spare(port);
	for (unsigned int i = 0; i < ACCEPTED_MAX; i++) {
		int fd = accept_one(port);

		if (fd >= 0)
			take_in(port, fd);
		else if ((fd != -EMFILE && fd != -ENFILE) || !refuse(port, -fd))
			return;
	}
}

static struct roostd_lane *emptiest(struct roostd_port *port)
{
	struct roostd_lane *lane = &port->lanes[0];

	for (uint32_t i = 1; i < port->nb_lanes; i++)
		if (port->lanes[i].nb_clients < lane->nb_clients)
			lane = &port->lanes[i];
	return lane;
}

int roostd_port_enter(struct roostd_port *port, struct roostd_client *c)
{
	struct roostd_lane *lane = emptiest(port);
	int ret = roost_switch_client_enter(lane->sw, c->slot, port->now_ns);

	if (!ret)
		ret = watch(lane->epoll_fd, c->doorbell,
			    roostd_doorbell_tag(c));
	if (!ret && c->pidfd >= 0)
		ret = watch(port->epoll_fd, c->pidfd, roostd_process_tag(c));
	if (ret)
		return ret;
	port->by_slot[c->slot] = c;
	port->nb_attached++;
	c->active_ns = port->now_ns;
	enter_lane(lane, c);
	return 0;
}

/* ---- lanes that send much ------------------------------------------------ */

/* A client that waits for the port would not send more by another lane. */
static bool may_move(const struct roostd_client *c)
{
	return c->lane && c->leaves_ns == 0 && !c->hung_up &&
	       !roost_switch_keeps(c->lane->sw, c->slot);
}

static void move(struct roostd_client *c, struct roostd_lane *to)
{
	const int from_fd = c->lane->epoll_fd;

	if (watch(to->epoll_fd, c->doorbell, roostd_doorbell_tag(c)) < 0)
		return;
	epoll_ctl(from_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
	leave_lane(c);
	enter_lane(to, c);
	roost_switch_client_move(to->sw, c->slot, to->port->now_ns);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The client of a lane whose rate is nearest to half of the difference. */
static struct roostd_client *find_half(struct roostd_port *port,
				       const struct roostd_lane *lane,
				       uint64_t gap_bps)
{
	struct roostd_client *c, *best = NULL;

	LIST_FOREACH(c, &port->clients, all)
		if (may_move(c) && c->lane == lane &&
		    (!best || apart(2 * c->tx_bps, gap_bps) <
				      apart(2 * best->tx_bps, gap_bps)))
			best = c;
	return best;
}

void roostd_port_balance(struct roostd_port *port)
{
	uint64_t bps[ROOST_WORKERS_MAX] = { 0 };
	struct roostd_client *c;
	uint32_t most = 0, least = 0;
	uint64_t gap_bps;

	if (port->nb_lanes == 1)
		return;
	LIST_FOREACH(c, &port->clients, all)
		if (may_move(c))
			bps[c->lane->number] += c->tx_bps;
	for (uint32_t i = 1; i < port->nb_lanes; i++) {
		most = bps[i] > bps[most] ? i : most;
		least = bps[i] < bps[least] ? i : least;
	}
	gap_bps = bps[most] - bps[least];
	if (gap_bps <= bps[most] / 4)
		return;
	c = find_half(port, &port->lanes[most], gap_bps);
	if (c && apart(2 * c->tx_bps, gap_bps) <= gap_bps / 2)
		move(c, &port->lanes[least]);
}

void roostd_port_reap(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = LIST_FIRST(&port->gone))) {
		LIST_REMOVE(c, all);
		roostd_client_destroy(c);
	}
}

static void hang_up(struct roostd_port *port, struct roostd_client *c)
{
	if (c->lane->number == 0) {
		roostd_port_drop(port, c, NULL);
		return;
	}
	epoll_ctl(c->lane->epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
	c->hung_up = true;
	atomic_store(&c->lane->has_trouble, true);
	roostd_crew_kick(port->lanes[0].thread);
}

void roostd_port_rung(struct roostd_port *port, struct roostd_client *c)
{
	if (c->gone || c->leaves_ns != 0)
		return;
	/* A process that ends may close its doorbell before its session. */
	if (!roostd_client_awake(c)) {
		hang_up(port, c);
		return;
	}
	if (!c->asleep)
		return;
	c->asleep = false;
	c->active_ns = c->lane->number == 0 ? port->now_ns : c->lane->now_ns;
	TAILQ_INSERT_TAIL(&c->lane->awake, c, awake);
}

/* ---- clients that ask too much ------------------------------------------- */

static void listen_to(struct roostd_port *port, struct roostd_client *c,
		      bool on)
{
	struct epoll_event event = {
		.events = on ? EPOLLIN : 0,
		.data.ptr = c,
	};

	epoll_ctl(port->epoll_fd, EPOLL_CTL_MOD, c->socket, &event);
}

void roostd_port_pause(struct roostd_port *port, struct roostd_client *c)
{
	c->paused = true;
	c->resume_ns = port->now_ns + PAUSE_NS;
	TAILQ_INSERT_TAIL(&port->paused, c, pause);
	listen_to(port, c, false);
}

void roostd_port_resume(struct roostd_port *port)
{
	struct roostd_client *c;

	while ((c = TAILQ_FIRST(&port->paused)) &&
	       c->resume_ns <= port->now_ns) {
		TAILQ_REMOVE(&port->paused, c, pause);
		c->paused = false;
		listen_to(port, c, true);
	}
}
