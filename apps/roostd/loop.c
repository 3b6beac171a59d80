/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/loop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/ctl.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/nic.h"
#include "apps/roostd/notify.h"
#include "apps/roostd/picture.h"
#include "apps/roostd/port.h"
#include "apps/roostd/reload.h"
#include "pmd_glue/process/clock.h"

#define EVENTS 64
/* Sockets are looked at so often while frames move; a round of many clients is
 * long.
 */
#define ROUNDS_BUSY 64u
#define BUSY_NS 1000000u
/* Rounds without a frame before we let others have the processor. */
#define ROUNDS_STILL 8u
/* A hub that nobody is connected to ends, if nobody has its picture. */
#define ALONE_NS 1000000000u
#define TICK_NS 200000000u

enum special {
	LISTENER,
	SIGNALS,
	HANDOVER,
	KICK,
	SPECIALS
};

static char specials[SPECIALS]; /* tags of epoll */

static struct {
	struct roostd_port *ports;
	const char *file;
	struct roostd_service *service;
	int signal_fd;
	atomic_bool stop;
	/* All ports of that thread are gone. Writer: the thread. */
	atomic_bool are_gone[ROOSTD_THREADS_MAX];
	struct roostd_lane *lanes[ROOSTD_THREADS_MAX]; /* by thread */
} loop = { .signal_fd = -1 };

#define FOR_LANES(lane, thread)                                                \
	for (struct roostd_lane *lane = loop.lanes[thread]; lane;              \
	     lane = lane->next)

/* ---- descriptors --------------------------------------------------------- */

static int watch(int fd, enum special tag)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.ptr = &specials[tag],
	};

	return fd < 0 || epoll_ctl(roostd_crew_epoll_fd(0), EPOLL_CTL_ADD, fd,
				   &event) < 0
		       ? -errno
		       : 0;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	loop.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch(loop.signal_fd, SIGNALS);
}

int roostd_loop_make(uint32_t nb_threads)
{
	int ret = roostd_crew_make(nb_threads, &specials[KICK]);

	atomic_store(&loop.stop, false);
	return ret ? ret : watch_signals();
}

void roostd_loop_free(void)
{
	if (loop.signal_fd >= 0)
		close(loop.signal_fd);
	loop.signal_fd = -1;
	roostd_crew_free();
}

int roostd_loop_epoll_fd(uint32_t port)
{
	return roostd_crew_epoll_fd(roostd_crew_of(port));
}

int roostd_loop_watch_listener(int fd)
{
	return watch(fd, LISTENER);
}

int roostd_loop_watch_handover(int fd)
{
	return watch(fd, HANDOVER);
}

/* ---- events -------------------------------------------------------------- */

void roostd_loop_tell_ready(uint32_t nb_ports)
{
	roostd_notify("READY=1\nSTATUS=shares %u port%s", nb_ports,
		      nb_ports == 1 ? "" : "s");
}

void roostd_loop_stop(void)
{
	atomic_store(&loop.stop, true);
}

/* All ports are the first thread's. */
static void hold(void)
{
	const uint64_t now_ns = roost_now_ns();

	roostd_crew_hold();
	for (uint32_t i = 0; i < loop.ports->nb_ports; i++)
		if (loop.ports[i].now_ns < now_ns)
			loop.ports[i].now_ns = now_ns;
}

static void reload(void)
{
	roostd_notify_reloading();
	hold();
	roostd_reload(loop.file, loop.service, loop.ports);
	roostd_crew_let_go();
	roostd_loop_tell_ready(loop.ports->nb_ports);
}

/* SIGHUP reads the file of a daemon that has one. */
static void take_signals(void)
{
	struct signalfd_siginfo info;

	while (read(loop.signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			roostd_loop_stop();
		else if (loop.file)
			reload();
	}
}

static void serve_handover(void)
{
	hold();
	roostd_handover_serve();
	roostd_crew_let_go();
}

static bool is_port(const void *tag)
{
	return (uintptr_t)tag >= (uintptr_t)loop.ports &&
	       (uintptr_t)tag < (uintptr_t)(loop.ports + loop.ports->nb_ports);
}

/* A tag is one of specials, a port, or of a client; NULL: a lane's queue has
 * frames, for the next round.
 */
static void handle(uint32_t thread, void *tag)
{
	if (tag == &specials[LISTENER])
		roostd_port_accept(loop.ports);
	else if (tag == &specials[SIGNALS])
		take_signals();
	else if (tag == &specials[HANDOVER])
		serve_handover();
	else if (tag == &specials[KICK])
		roostd_crew_kicked(thread);
	else if (is_port(tag))
		roostd_nic_ready(tag);
	else if (tag)
		roostd_port_tagged(tag);
}

static void wait_for_events(uint32_t thread, uint64_t until_ns)
{
	struct pollfd fd = {
		.fd = roostd_crew_epoll_fd(thread),
		.events = POLLIN,
	};
	const uint64_t now_ns = roost_now_ns();
	const uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(wait_ns / 1000000000u),
		.tv_nsec = (long)(wait_ns % 1000000000u),
	};

	if (wait_ns == 0)
		return;
	roostd_crew_sleep(thread);
	ppoll(&fd, 1, &timeout, NULL);
	roostd_crew_awake(thread);
}

static bool is_first(const struct roostd_lane *lane)
{
	return lane->number == 0;
}

static void set_time(struct roostd_lane *lane, uint64_t now_ns)
{
	lane->now_ns = now_ns;
	if (is_first(lane))
		lane->port->now_ns = now_ns;
}

/* Handle what there is. until_ns: wait so long for it; 0: do not wait. */
static void look(uint32_t thread, uint64_t until_ns)
{
	struct epoll_event events[EVENTS];
	uint64_t now_ns;
	int n;

	wait_for_events(thread, until_ns);
	n = epoll_wait(roostd_crew_epoll_fd(thread), events, EVENTS, 0);
	now_ns = roost_now_ns();
	FOR_LANES(lane, thread)
	set_time(lane, now_ns);
	for (int i = 0; i < n; i++)
		handle(thread, events[i].data.ptr);
	FOR_LANES(lane, thread)
	if (is_first(lane)) {
		roostd_port_reap(lane->port);
		roostd_ctl_sample(lane->port);
		roostd_port_let_go(lane->port);
	}
}

/* ---- rounds -------------------------------------------------------------- */

static bool may_sleep(struct roostd_lane *lane, uint64_t now_ns,
		      uint64_t *until_ns)
{
	return is_first(lane) ? roostd_port_sleep(lane->port, now_ns, until_ns)
			      : roostd_lane_sleep(lane, now_ns, until_ns);
}

/* Nothing moves: sleep until something does, if all ports may. */
static void rest(uint32_t thread, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + TICK_NS;
	bool may = true;

	FOR_LANES(lane, thread)
	may = may && roostd_lane_is_still(lane, now_ns);
	FOR_LANES(lane, thread)
	may = may && may_sleep(lane, now_ns, &until_ns);
	look(thread, may ? until_ns : 0);
	FOR_LANES(lane, thread)
	roostd_lane_awake(lane);
}

static unsigned int poll_lanes(uint32_t thread, uint64_t now_ns)
{
	unsigned int moved = 0;

	FOR_LANES(lane, thread)
	moved += is_first(lane) ? roostd_port_poll(lane->port, now_ns)
				: roostd_lane_poll(lane, now_ns);
	return moved;
}

/* Ports that were removed do not come back to this process. */
static bool are_gone(uint32_t thread)
{
	bool gone = true;

	FOR_LANES(lane, thread)
	gone = gone && lane->port->facts.is_gone;
	atomic_store_explicit(&loop.are_gone[thread], gone,
			      memory_order_relaxed);
	for (uint32_t i = 0; i < roostd_crew_nb(); i++)
		gone = gone && atomic_load_explicit(&loop.are_gone[i],
						    memory_order_relaxed);
	return gone;
}

/* Until the loop is stopped, or there is nothing to serve. */
static void run(uint32_t thread)
{
	const struct roostd_port *first = loop.ports;
	uint64_t alone_ns = roost_now_ns();
	uint64_t looked_ns = alone_ns;
	unsigned int rounds = 0, still = 0;

	while (!atomic_load_explicit(&loop.stop, memory_order_relaxed)) {
		uint64_t now_ns;

		roostd_crew_step_aside(thread);
		now_ns = roost_now_ns();
		if (poll_lanes(thread, now_ns) > 0) {
			still = 0;
			if (++rounds < ROUNDS_BUSY &&
			    now_ns - looked_ns < BUSY_NS)
				continue;
			look(thread, 0);
			looked_ns = now_ns;
			rounds = 0;
			continue;
		}
		if (!first->is_hub || first->nb_clients > 0 ||
		    (now_ns - alone_ns >= ALONE_NS && roostd_picture_is_used()))
			alone_ns = now_ns;
		if (are_gone(thread) || now_ns - alone_ns >= ALONE_NS)
			return;
		if (++still % ROUNDS_STILL == 0)
			sched_yield();
		rest(thread, now_ns);
	}
}

/* Each thread has the lanes of its ports, or one as a helper. */
static void give_lanes(void)
{
	memset(loop.lanes, 0, sizeof(loop.lanes));
	for (uint32_t i = loop.ports->nb_ports; i-- > 0;) {
		struct roostd_port *port = &loop.ports[i];

		port->lanes[0].thread = roostd_crew_of(i);
		for (uint32_t k = 0; k < port->nb_lanes; k++) {
			struct roostd_lane *lane = &port->lanes[k];

			lane->next = loop.lanes[lane->thread];
			loop.lanes[lane->thread] = lane;
		}
	}
}

int roostd_loop_run(struct roostd_port *ports, const char *file,
		    struct roostd_service *service)
{
	int ret;

	loop.ports = ports;
	loop.file = file;
	loop.service = service;
	for (uint32_t i = 0; i < ROOSTD_THREADS_MAX; i++)
		atomic_store(&loop.are_gone[i], false);
	give_lanes();
	ret = roostd_crew_start(run);
	if (!ret)
		run(0);
	roostd_loop_stop();
	roostd_crew_join();
	return ret;
}
