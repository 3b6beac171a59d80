/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/picture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/picture_dir.h"
#include "apps/picture_keeper.h"
#include "apps/picture_static.h"
#include "apps/roostd/port.h"
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "lib/sysfs/picture.h"
#include "lib/sysfs/variable.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

#define WORDS (sizeof(struct roost_picture_counters) / sizeof(uint64_t))

_Static_assert(WORDS <= ROOST_SHM_TALLIES, "clients tell all counters");
_Static_assert(ROOST_PICTURE_GIDS_MAX >= ROOST_GID_TABLE_LEN, "all GIDs");
_Static_assert(ROOST_PICTURE_PKEYS_MAX >= ROOST_PKEY_TABLE_LEN, "all P_Keys");

/* What a port shows. */
struct shown {
	struct roost_picture_port port;
	struct roost_picture_counters counters;
};

static struct {
	char path[ROOST_PICTURE_PATH_MAX]; /* empty: there is none */
	int lock_fd;                       /* as long as the picture is ours */
	int user_fd; /* a process that has it in its environment; -1: none */
	uint32_t nb_ports;
	bool is_running;
	struct roost_control_client control;
	/* Of each port: its thread's. */
	struct roost_picture_counters gone[ROOST_PORTS_MAX];
	/* Written by the port's thread, read by the control thread. */
	pthread_mutex_t lock;
	bool is_new;
	struct shown now[ROOST_PORTS_MAX];
	/* The control thread's. */
	struct shown put[ROOST_PORTS_MAX];
} picture = { .lock_fd = -1, .user_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t index_of(const struct roostd_port *port)
{
	return (uint32_t)(port - port->first);
}

static void name_of(uint32_t index, char name[16])
{
	snprintf(name, 16, "roost%u", index);
}

/* ---- what is shown -------------------------------------------------------
 */

/* The interface stays as it is. */
static void set_port(const struct roostd_port *port,
		     struct roost_picture_port *to)
{
	to->is_active = port->facts.is_active != 0;
	to->speed_mbps = port->facts.speed_mbps;
	to->cap_mask = ROOST_PICTURE_CAP_MASK;
	memcpy(to->gids, port->facts.gids, sizeof(port->facts.gids));
	memcpy(to->pkeys, port->facts.pkeys, sizeof(port->facts.pkeys));
}

/* Show it soon. Under the lock. */
static void tell(void)
{
	if (!picture.is_new && picture.is_running)
		roost_control_wake();
	picture.is_new = true;
}

void roostd_picture_follow(const struct roostd_port *port)
{
	if (picture.path[0] == '\0')
		return;
	pthread_mutex_lock(&picture.lock);
	set_port(port, &picture.now[index_of(port)].port);
	tell();
	pthread_mutex_unlock(&picture.lock);
}

static void add(struct roost_picture_counters *sum,
		const struct roostd_client *c)
{
	uint64_t *to = (uint64_t *)sum;

	if (!c->theirs.base)
		return;
	for (unsigned int i = 0; i < WORDS; i++)
		to[i] += atomic_load_explicit(&roost_shm_tallies(&c->theirs)[i],
					      memory_order_relaxed);
}

void roostd_picture_keep(const struct roostd_port *port,
			 const struct roostd_client *c)
{
	if (picture.path[0])
		add(&picture.gone[index_of(port)], c);
}

void roostd_picture_count(const struct roostd_port *port)
{
	struct roost_picture_counters sum, *now;
	const struct roostd_client *c;

	if (picture.path[0] == '\0')
		return;
	sum = picture.gone[index_of(port)];
	LIST_FOREACH(c, &port->clients, all)
		add(&sum, c);
	now = &picture.now[index_of(port)].counters;
	pthread_mutex_lock(&picture.lock);
	if (memcmp(&sum, now, sizeof(sum)) != 0) {
		*now = sum;
		tell();
	}
	pthread_mutex_unlock(&picture.lock);
}

bool roostd_picture_counters(const struct roostd_port *port,
			     struct roost_picture_counters *sum)
{
	if (picture.path[0] == '\0')
		return false;
	*sum = picture.now[index_of(port)].counters;
	return true;
}

/* ---- writing: the control thread -----------------------------------------
 */

static void put(uint32_t index, const struct shown *now,
		const struct shown *before)
{
	char name[16];

	name_of(index, name);
	roost_picture_put_port(picture.path, name, 1, &now->port,
			       before ? &before->port : NULL);
	roost_picture_put_counters(picture.path, name, 1, &now->counters,
				   before ? &before->counters : NULL);
}

static uint64_t run(void *ctx, uint64_t now_ns)
{
	struct shown now;
	bool is_new;

	(void)ctx;
	(void)now_ns;
	pthread_mutex_lock(&picture.lock);
	is_new = picture.is_new;
	picture.is_new = false;
	pthread_mutex_unlock(&picture.lock);
	for (uint32_t i = 0; is_new && i < picture.nb_ports; i++) {
		pthread_mutex_lock(&picture.lock);
		now = picture.now[i];
		pthread_mutex_unlock(&picture.lock);
		put(i, &now, &picture.put[i]);
		picture.put[i] = now;
	}
	return UINT64_MAX;
}

static int begin(void *arg)
{
	(void)arg;
	picture.control = (struct roost_control_client){ .run = run };
	roost_control_add(&picture.control);
	return 0;
}

static int cease(void *arg)
{
	(void)arg;
	roost_control_remove(&picture.control);
	return 0;
}

void roostd_picture_start(void)
{
	if (picture.path[0] == '\0' || roost_control_get() != 0)
		return;
	roost_control_call(begin, NULL);
	picture.is_running = true;
}

void roostd_picture_stop(void)
{
	if (!picture.is_running)
		return;
	picture.is_running = false;
	roost_control_call(cease, NULL);
	roost_control_put();
}

/* ---- who has it in the environment ---------------------------------------
 */

bool roostd_picture_is_used(void)
{
	struct pollfd user = { .fd = picture.user_fd, .events = POLLIN };
	pid_t pid;

	if (user.fd >= 0 && poll(&user, 1, 0) == 0)
		return true;
	if (user.fd >= 0)
		close(user.fd);
	picture.user_fd = -1;
	pid = picture.path[0] ? roost_picture_user(picture.path) : 0;
	if (pid != 0)
		picture.user_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return picture.user_fd >= 0;
}

/* ---- making --------------------------------------------------------------
 */

/* The ports as clients name them (apps/service.c). */
static void name_ports(struct roost_config *clients, const char *socket)
{
	roost_config_init(clients);
	clients->nb_ports = picture.nb_ports;
	for (uint32_t i = 0; i < picture.nb_ports; i++) {
		struct roost_port_config *port = &clients->ports[i];

		port->set = ROOST_KEY_BIT(ROOST_KEY_SERVICE);
		snprintf(port->service, sizeof(port->service),
			 i == 0 ? "%s" : "%s,%u", socket ? socket : "hub", i);
	}
}

static int fill(const struct roostd_port *ports,
		const struct roost_config *config, const char *socket)
{
	static struct roost_config clients;
	char name[16];
	int ret = 0;

	name_ports(&clients, socket);
	for (uint32_t i = 0; ret == 0 && i < picture.nb_ports; i++) {
		struct shown *now = &picture.now[i];

		ret = roost_picture_put_device(picture.path, &clients, i,
					       config ? &config->ports[i]
						      : &clients.ports[i],
					       &now->port);
		set_port(&ports[i], &now->port);
		put(i, now, NULL);
		picture.put[i] = *now;
	}
	/* Ports that the daemon before had. */
	for (uint32_t i = picture.nb_ports; i < ROOST_PORTS_MAX; i++) {
		name_of(i, name);
		if (roost_picture_has_dev(picture.path, name))
			roost_picture_drop_dev(picture.path, name);
	}
	return ret;
}

/* At picture.path. */
static int make_there(const struct roostd_port *ports,
		      const struct roost_config *config, const char *socket)
{
	int ret = roost_picture_take(picture.path);

	if (ret < 0)
		return ret;
	picture.lock_fd = ret;
	ret = socket ? 0 : roost_picture_keep_for_daemon(picture.path);
	if (ret == 0)
		ret = fill(ports, config, socket);
	if (ret)
		roostd_picture_end(false);
	return ret;
}

/* A hub, and the keeper that it starts, are no users of a picture, even if
 * somebody started it by hand among the programs of another hub. The place is
 * the one that /proc shows.
 */
static void leave_environment(void)
{
	char *value = getenv(ROOST_PICTURE_VARIABLE);

	if (value)
		memset(value, 0, strlen(value));
}

static int make_hubs(const struct roostd_port *ports)
{
	int ret = -ENOENT;

	leave_environment();
	for (unsigned int i = 0; ret && i < ROOST_PICTURE_PLACES; i++) {
		const char *place = roost_picture_place(i);

		if (place && roost_picture_hub_path(place, picture.path) == 0)
			ret = make_there(ports, NULL, NULL);
	}
	return ret;
}

void roostd_picture_make(const struct roostd_port *ports,
			 const struct roost_config *config, const char *socket)
{
	const mode_t mask = umask(022);
	int ret = socket ? roost_picture_service_path(socket, picture.path) : 0;

	picture.nb_ports = ports->nb_ports;
	if (ret == 0)
		ret = socket ? make_there(ports, config, socket)
			     : make_hubs(ports);
	umask(mask);
	if (ret)
		roost_report("%s: cannot show its devices in %s: %s; make room "
			     "there, or remove it",
			     socket ? socket : "hub", picture.path,
			     strerror(-ret));
	if (ret)
		picture.path[0] = '\0';
}

void roostd_picture_end(bool stays)
{
	if (picture.lock_fd < 0)
		return;
	if (!stays)
		roost_picture_remove(picture.path);
	close(picture.lock_fd);
	picture.lock_fd = -1;
}
