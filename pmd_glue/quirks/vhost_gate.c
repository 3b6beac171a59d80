/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/vhost_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_vhost.h>

#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/quirks/import.h"
#include "pmd_glue/quirks/quirk.h"
#include "pmd_glue/process/peer_trust.h"

#define LIBRARY "librte_vhost.so"

/* More bursts than a full ring needs. */
#define DRAIN_ROUNDS 64u
/* Tries to take the turn, for about a third of a second. Bounded: the holder
 * may be off its CPU, or may wait for this thread.
 */
#define TURN_TRIES 2000u
#define TURN_PAUSE_US 100u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, roost_vhost) ports; /* with their workers; lock */

/* The driver has one set of callbacks for all its ports. */
static struct {
	void (*destroy_device)(int vid);
	struct rte_vhost_device_ops all;
	int (*get_ifname)(int vid, char *name, size_t size);
	int (*callback_register)(const char *path,
				 const struct rte_vhost_device_ops *ops);
} theirs;

static bool take_turn(struct roost_worker *worker)
{
	for (unsigned int i = 0; i < TURN_TRIES; i++) {
		if (roost_worker_turn_try(worker))
			return true;
		usleep(TURN_PAUSE_US);
	}
	return false;
}

static void drain(struct roost_worker *worker)
{
	unsigned int rounds = 0;

	if (!take_turn(worker))
		return;
	while (rounds++ < DRAIN_ROUNDS &&
	       roost_worker_iterate(worker, roost_now_ns()) != 0)
		;
	roost_worker_turn_release(worker);
}

/* Thread: librte_vhost's, or the one that closes the port. */
static void destroy_device(int vid)
{
	struct roost_vhost *v;
	char path[108];

	if (theirs.get_ifname(vid, path, sizeof(path)) == 0) {
		pthread_mutex_lock(&lock);
		LIST_FOREACH(v, &ports, link)
			if (v->worker && strcmp(v->path, path) == 0)
				drain(v->worker);
		pthread_mutex_unlock(&lock);
	}
	theirs.destroy_device(vid);
}

/* Is the peer of fd trusted by our port at path? True if path is not ours. */
static bool admit(int fd, const char *path)
{
	struct roost_vhost *v;
	bool ok = true;

	pthread_mutex_lock(&lock);
	LIST_FOREACH(v, &ports, link) {
		if (strcmp(v->path, path) != 0 ||
		    roost_peer_is_trusted(v->trust, fd))
			continue;
		roost_peer_report(v->trust, fd);
		ok = false;
	}
	pthread_mutex_unlock(&lock);
	return ok;
}

/* Thread: librte_vhost's. */
static int gate_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_un name = { .sun_family = AF_UNSPEC };
	socklen_t name_len = sizeof(name) - 1;
	int peer = accept(fd, addr, len);

	if (peer < 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &name_len) < 0 ||
	    name.sun_family != AF_UNIX || admit(peer, name.sun_path))
		return peer;
	close(peer);
	errno = EPERM;
	return -1;
}

/* Thread: librte_vhost's, and the control thread. librte_vhost uses the same
 * descriptor for its next try: after a refusal it becomes a new socket.
 */
static int gate_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_un *name = (const void *)addr;
	int ret = connect(fd, addr, len);
	int fresh;

	if ((ret < 0 && errno != EISCONN) || name->sun_family != AF_UNIX ||
	    admit(fd, name->sun_path))
		return ret;
	shutdown(fd, SHUT_RDWR);
	fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fresh >= 0) {
		dup3(fresh, fd, O_CLOEXEC);
		close(fresh);
	}
	errno = EPERM;
	return -1;
}

static int callback_register(const char *path,
			     const struct rte_vhost_device_ops *const ops)
{
	theirs.destroy_device = ops->destroy_device;
	theirs.all = *ops;
	theirs.all.destroy_device = destroy_device;
	return theirs.callback_register(path, &theirs.all);
}

static int gate_put(const char *library)
{
	static const char name[] = "rte_vhost_driver_callback_register";
	const struct roost_import import = { name, callback_register };
	static const struct roost_import sockets[] = {
		{ "accept", gate_accept },
		{ "connect", gate_connect },
	};
	int ret;

	/* Looked up, so that programs without vhost do not load the library. */
	*(void **)&theirs.callback_register = roost_import_find(library, name);
	*(void **)&theirs.get_ifname =
		roost_import_find(library, "rte_vhost_get_ifname");
	if (!theirs.callback_register || !theirs.get_ifname)
		return -ENOENT;
	ret = roost_imports_replace(library, &import, 1);
	if (ret > 0)
		ret = roost_imports_replace(LIBRARY, sockets, 2);
	return ret > 0 ? 0 : ret == 0 ? -ENOENT : ret;
}

static int vhost_open(struct roost_quirk_port *port,
		      const struct roost_quirk_conf *conf,
		      char *why __attribute__((unused)),
		      size_t size __attribute__((unused)))
{
	struct roost_vhost *vhost = &port->vhost;

	*vhost = (struct roost_vhost){ .trust = conf->trust };
	snprintf(vhost->path, sizeof(vhost->path), "%s", conf->socket);
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&ports, vhost, link);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Waits while the old worker empties the rings. */
static void set_worker(struct roost_quirk_port *port,
		       struct roost_worker *worker)
{
	pthread_mutex_lock(&lock);
	port->vhost.worker = worker;
	pthread_mutex_unlock(&lock);
}

static void vhost_close(struct roost_quirk_port *port)
{
	pthread_mutex_lock(&lock);
	LIST_REMOVE(&port->vhost, link);
	pthread_mutex_unlock(&lock);
}

const struct roost_quirk roost_quirk_vhost = {
	.library = "librte_net_vhost.so",
	.missing = "not loaded",
	.put = gate_put,
	.open = vhost_open,
	.close = vhost_close,
	.set_first_worker = set_worker,
};
