/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* The descriptor of a handle (experimental in 22.11, stable since). */
#define ALLOW_EXPERIMENTAL_API

#include "pmd_glue/quirks/intr_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_interrupts.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/quirks/import.h"
#include "pmd_glue/process/peer_trust.h"

/* More bursts than a full ring of a memif port needs. */
#define DRAIN_ROUNDS 64u

/* Enough to empty the longest ring. */
#define SETTLE_ROUNDS 64u

/* More alarms than a driver sets in one call. */
#define ALARMS_MAX 8u
/* Limit of a virtio_user server's wait for its first peer. */
#define ACCEPT_MS 10000
/* Limit of a client's wait for a server whose accept queue is full. */
#define CONNECT_US 100000
/* Untrusted peers that one accept refuses; more wait for the next call. */
#define STRANGERS_MAX 64u

/* After the connection was shut down, the peer gets this long to close its end,
 * and then to read the rings, which are unmapped after that.
 */
#define PEER_CLOSES_MS 300
#define PEER_LOOKS_US 20000

struct entry {
	int fd;
	ino_t inode; /* of the socket: detects that fd was reused */
	rte_intr_callback_fn call;
	void *arg;
	struct roost_intr_owner *owner;
	bool active;    /* its callback runs */
	bool forgotten; /* unregistered while active */
	/* To be called after the callback if forgotten; NULL: none. */
	rte_intr_unregister_callback_fn last_call;
	const struct rte_intr_handle *last_handle;
	TAILQ_ENTRY(entry) link;
};

/* Alarms that the driver set during a call; they run right after the call. */
static _Thread_local struct {
	struct roost_intr_owner *owner;
	rte_eal_alarm_callback call;
	void *arg;
} alarms[ALARMS_MAX];
static _Thread_local unsigned int nb_alarms;

/* Around the lists; never held during a call into a driver. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, entry) entries = TAILQ_HEAD_INITIALIZER(entries);
static TAILQ_HEAD(, roost_intr_owner) owners = TAILQ_HEAD_INITIALIZER(owners);
/* Static, so that no allocation can fail: if net_memif cannot register its
 * socket, it leaves a half-made port that cannot be removed. An entry without
 * an owner is free.
 */
static struct entry pool[ROOST_INTR_GATE_FDS_MAX];

/* The port whose gated driver this thread is inside; NULL: none. Other threads
 * have their own value.
 */
static _Thread_local struct roost_intr_owner *current;
/* This thread is inside a callback of a ready descriptor. */
static _Thread_local bool is_dispatching;

/* ---- the list ---------------------------------------------------------- */

static int socket_inode(int fd, ino_t *inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*inode = st.st_ino;
	return 0;
}

/* Under the lock. */
static void drop(struct entry *e)
{
	roost_fork_guard_remove(e->fd);
	TAILQ_REMOVE(&entries, e, link);
	e->owner = NULL;
}

/* Under the lock. */
static int keep(int fd, rte_intr_callback_fn call, void *arg)
{
	struct entry *e = pool;
	ino_t inode;
	int ret;

	while (e < pool + ROOST_INTR_GATE_FDS_MAX && e->owner)
		e++;
	if (e == pool + ROOST_INTR_GATE_FDS_MAX)
		return -ENOSPC;
	ret = socket_inode(fd, &inode);
	if (!ret)
		ret = roost_fork_guard_add(fd);
	if (ret)
		return ret;
	/* The driver does not set it: a program that this process starts would
	 * keep the socket of a closed port open.
	 */
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	*e = (struct entry){
		.fd = fd,
		.inode = inode,
		.call = call,
		.arg = arg,
		.owner = current,
	};
	TAILQ_INSERT_TAIL(&entries, e, link);
	return 0;
}

/* Under the lock. */
static struct entry *find(int fd, rte_intr_callback_fn call, const void *arg)
{
	struct entry *e;

	TAILQ_FOREACH(e, &entries, link)
		if (e->fd == fd && e->call == call &&
		    (arg == (void *)-1 || e->arg == arg))
			return e;
	return NULL;
}

/* Was the socket closed? Drivers do that on some error paths without
 * unregistering it.
 */
static bool is_dead(const struct entry *e)
{
	ino_t inode = 0;

	return socket_inode(e->fd, &inode) != 0 || inode != e->inode;
}

/* Drop the closed sockets of the owner. Under the lock. */
static void drop_dead(const struct roost_intr_owner *owner)
{
	struct entry *e, *next;

	for (e = TAILQ_FIRST(&entries); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->owner == owner && is_dead(e))
			drop(e);
	}
}

/* ---- what the driver calls ---------------------------------------------- */

static int gate_register(const struct rte_intr_handle *intr_handle,
			 rte_intr_callback_fn cb, void *cb_arg)
{
	int fd, ret;

	if (!current)
		return rte_intr_callback_register(intr_handle, cb, cb_arg);
	fd = rte_intr_fd_get(intr_handle);
	if (fd < 0 || !cb)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	ret = keep(fd, cb, cb_arg);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Find a registration of the current port; NULL: there is none. */
static struct entry *find_current(const struct rte_intr_handle *intr_handle,
				  rte_intr_callback_fn cb, const void *cb_arg)
{
	struct entry *e = NULL;

	if (!current)
		return NULL;
	pthread_mutex_lock(&lock);
	e = find(rte_intr_fd_get(intr_handle), cb, cb_arg);
	pthread_mutex_unlock(&lock);
	return e;
}

static int gate_unregister(const struct rte_intr_handle *intr_handle,
			   rte_intr_callback_fn cb, void *cb_arg)
{
	struct entry *e = find_current(intr_handle, cb, cb_arg);

	if (!e)
		return rte_intr_callback_unregister(intr_handle, cb, cb_arg);
	if (e->active)
		return -EAGAIN;
	pthread_mutex_lock(&lock);
	drop(e);
	pthread_mutex_unlock(&lock);
	return 1;
}

static int gate_unregister_pending(const struct rte_intr_handle *intr_handle,
				   rte_intr_callback_fn cb_fn, void *cb_arg,
				   rte_intr_unregister_callback_fn ucb_fn)
{
	struct entry *e = find_current(intr_handle, cb_fn, cb_arg);

	if (!e)
		return rte_intr_callback_unregister_pending(intr_handle, cb_fn,
							    cb_arg, ucb_fn);
	if (!e->active)
		return -EAGAIN;
	e->forgotten = true;
	e->last_call = ucb_fn;
	e->last_handle = intr_handle;
	return 1;
}

/* The driver's alarms unregister callbacks, which are in this list. All of them
 * are to run at once.
 */
static int gate_alarm_set(uint64_t us, rte_eal_alarm_callback call, void *arg)
{
	if (!current)
		return rte_eal_alarm_set(us, call, arg);
	if (nb_alarms == ALARMS_MAX)
		return -ENOSPC;
	alarms[nb_alarms].owner = current;
	alarms[nb_alarms].call = call;
	alarms[nb_alarms++].arg = arg;
	return 0;
}

/* Is the peer of fd trusted, by all ports that share the socket? */
static bool admit(int fd)
{
	struct roost_intr_owner *o;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(o, &owners, link) {
		if (!o->trust || strcmp(o->key, current->key) != 0 ||
		    roost_peer_is_trusted(o->trust, fd))
			continue;
		roost_peer_report(o->trust, fd);
		break;
	}
	pthread_mutex_unlock(&lock);
	return !o;
}

/* Wait for a peer until until_ns: without a limit, the control thread would
 * wait, too.
 */
static bool is_coming(int fd, uint64_t until_ns)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = roost_now_ns();
	int wait_ms = 0;

	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return true; /* accept(2) does not block */
	if (!is_dispatching && now_ns < until_ns)
		wait_ms = (int)((until_ns - now_ns) / 1000000u) + 1;
	if (poll(&pollfd, 1, wait_ms) > 0)
		return true;
	errno = ETIMEDOUT;
	return false;
}

static int gate_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	uint64_t until_ns;
	int peer;

	if (!current)
		return accept(fd, addr, len);
	until_ns = roost_now_ns() + ACCEPT_MS * 1000000ull;
	for (unsigned int i = 0; i < STRANGERS_MAX; i++) {
		if (!is_coming(fd, until_ns))
			return -1;
		peer = accept(fd, addr, len);
		if (peer < 0 || admit(peer))
			return peer;
		close(peer);
	}
	errno = EAGAIN;
	return -1;
}

static int gate_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct timeval bound = { .tv_usec = CONNECT_US };
	const struct timeval none = { 0 };
	int ret;

	if (!current)
		return connect(fd, addr, len);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
	ret = connect(fd, addr, len);
	if (ret < 0)
		return ret;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	if (admit(fd))
		return 0;
	shutdown(fd, SHUT_RDWR);
	errno = EPERM;
	return -1;
}

/* ---- the control thread's interface ------------------------------------ */

int roost_intr_gate_put(const char *library)
{
	const struct roost_import imports[] = {
		{ "rte_intr_callback_register", gate_register },
		{ "rte_intr_callback_unregister", gate_unregister },
		{ "rte_intr_callback_unregister_pending",
		  gate_unregister_pending },
		{ "rte_eal_alarm_set", gate_alarm_set },
		{ "accept", gate_accept },
		{ "connect", gate_connect },
	};
	static const struct roost_control_watch watch = {
		.fill = roost_intr_gate_pollfds,
		.ready = roost_intr_gate_dispatch,
	};
	int ret = roost_imports_replace(library, imports,
					sizeof(imports) / sizeof(imports[0]));

	if (ret > 0)
		roost_control_set_watch(&watch);
	return ret > 0 ? 0 : ret == 0 ? -ENOENT : ret;
}

void roost_intr_owner_open(struct roost_intr_owner *owner, const char *key,
			   struct roost_peer_trust *trust)
{
	snprintf(owner->key, sizeof(owner->key), "%s", key);
	owner->trust = trust;
	owner->worker = NULL;
	owner->is_inside = false;
	pthread_mutex_lock(&lock);
	TAILQ_INSERT_TAIL(&owners, owner, link);
	pthread_mutex_unlock(&lock);
}

/* Another port with the same key, which shares the registrations; NULL: none.
 */
static struct roost_intr_owner *heir_of(const struct roost_intr_owner *owner)
{
	struct roost_intr_owner *o;

	TAILQ_FOREACH(o, &owners, link)
		if (o != owner && strcmp(o->key, owner->key) == 0)
			return o;
	return NULL;
}

void roost_intr_owner_close(struct roost_intr_owner *owner)
{
	struct roost_intr_owner *heir = heir_of(owner);
	struct entry *e, *next;

	pthread_mutex_lock(&lock);
	drop_dead(owner);
	for (e = TAILQ_FIRST(&entries); e; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->owner != owner)
			continue;
		e->owner = heir;
		if (!heir) {
			int fd = e->fd;

			drop(e);
			close(fd);
		}
	}
	TAILQ_REMOVE(&owners, owner, link);
	pthread_mutex_unlock(&lock);
}

bool roost_intr_owner_is_busy(const struct roost_intr_owner *owner)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(e, &entries, link)
		if (e->owner == owner)
			break;
	pthread_mutex_unlock(&lock);
	return e != NULL;
}

void roost_intr_owner_hang_up(const struct roost_intr_owner *owner)
{
	struct pollfd fd = { .events = POLLIN };
	struct entry *e;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(e, &entries, link) {
		if (e->owner != owner || shutdown(e->fd, SHUT_WR) < 0)
			continue;
		fd.fd = e->fd;
		/* The peer closes its end, and then reads the rings. */
		if (poll(&fd, 1, PEER_CLOSES_MS) > 0)
			usleep(PEER_LOOKS_US);
	}
	pthread_mutex_unlock(&lock);
}

static void set_inside(struct roost_intr_owner *owner, bool is_inside)
{
	pthread_mutex_lock(&lock);
	if (!is_inside)
		drop_dead(owner);
	owner->is_inside = is_inside;
	pthread_mutex_unlock(&lock);
}

void roost_intr_gate_enter(struct roost_intr_owner *owner)
{
	current = owner;
	set_inside(owner, true);
}

void roost_intr_gate_leave(void)
{
	struct roost_intr_owner *owner = current;

	for (unsigned int i = 0; i < nb_alarms; i++) {
		current = alarms[i].owner;
		alarms[i].call(alarms[i].arg);
	}
	nb_alarms = 0;
	current = NULL;
	set_inside(owner, false);
}

unsigned int roost_intr_gate_pollfds(struct pollfd *fds)
{
	unsigned int nb = 0;
	struct entry *e;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(e, &entries, link)
		if (!e->owner->is_inside)
			fds[nb++] = (struct pollfd){ .fd = e->fd,
						     .events = POLLIN };
	pthread_mutex_unlock(&lock);
	return nb;
}

/* Iterate until there is no work. Frames that a peer sent before it left are
 * still in the rings, which will be unmapped; one of them may be the last
 * acknowledgement that a QP waits for.
 */
static void settle(struct roost_worker *worker)
{
	for (unsigned int i = 0; i < SETTLE_ROUNDS; i++)
		if (roost_worker_iterate(worker, roost_now_ns()) == 0)
			return;
}

/* The owner's worker; NULL if an earlier owner has the same worker (a device
 * with two ports).
 */
static struct roost_worker *worker_once(const struct roost_intr_owner *owner)
{
	const struct roost_intr_owner *o;

	TAILQ_FOREACH(o, &owners, link) {
		if (o == owner)
			return o->worker;
		if (o->worker == owner->worker)
			return NULL;
	}
	return NULL;
}

static void take_turns(void)
{
	struct roost_intr_owner *o;

	TAILQ_FOREACH(o, &owners, link) {
		if (!worker_once(o))
			continue;
		roost_worker_turn_take(o->worker);
		settle(o->worker);
	}
}

static void release_turns(void)
{
	struct roost_intr_owner *o;

	TAILQ_FOREACH(o, &owners, link)
		if (worker_once(o))
			roost_worker_turn_release(o->worker);
}

/* Receive the frames that a peer sent before it left, with its last
 * acknowledgements, before the driver unmaps the rings. Holding the turns.
 */
static void drain(void)
{
	struct roost_intr_owner *o;

	TAILQ_FOREACH(o, &owners, link) {
		unsigned int rounds = 0;

		while (o->worker && rounds++ < DRAIN_ROUNDS &&
		       roost_worker_iterate(o->worker, roost_now_ns()) != 0)
			;
	}
}

static void call(struct entry *e)
{
	roost_intr_gate_enter(e->owner);
	e->active = true;
	is_dispatching = true;
	take_turns();
	drain();
	e->call(e->arg);
	is_dispatching = false;
	release_turns();
	e->active = false;
	if (e->forgotten) {
		int fd = e->fd;

		/* Before the last call, which closes fd. */
		roost_fork_guard_remove(fd);
		if (e->last_call)
			e->last_call((struct rte_intr_handle *)(uintptr_t)
					     e->last_handle,
				     e->arg);
		pthread_mutex_lock(&lock);
		drop(e);
		pthread_mutex_unlock(&lock);
	}
	roost_intr_gate_leave();
}

/* Find the entry again for each descriptor: a callback may drop entries. */
static struct entry *find_ready(const struct pollfd *fd)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	TAILQ_FOREACH(e, &entries, link)
		if (e->fd == fd->fd && !e->owner->is_inside)
			break;
	pthread_mutex_unlock(&lock);
	return e;
}

void roost_intr_gate_dispatch(const struct pollfd *fds, unsigned int nb)
{
	struct entry *e;

	for (unsigned int i = 0; i < nb; i++) {
		e = fds[i].revents ? find_ready(&fds[i]) : NULL;
		if (e)
			call(e);
	}
}
