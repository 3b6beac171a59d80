/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roostd: shares a port between the processes of a machine. It is the
 * hub, a port without a NIC (port.h), which "roost run --hub" starts.
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/exit_code.h"
#include "apps/roostd/port.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/hub.h"

#define BACKLOG 256
#define EVENTS 64
/* Sockets are looked at so often while frames move. */
#define ROUNDS_BUSY 64u
/* Rounds without a frame before we let others have the processor. */
#define ROUNDS_STILL 8u
/* A hub that nobody is connected to ends. */
#define ALONE_NS 1000000000u
#define TICK_MS 200
#define PAUSED_MS 2

enum special {
	LISTENER,
	SIGNALS,
	SPECIALS
};

static char specials[SPECIALS]; /* tags of epoll */

static struct roostd_port port;

static const char help[] =
	"usage: roostd --hub\n"
	"\n"
	"Shares a port between the processes of this machine, as one RDMA "
	"device.\n"
	"\n"
	"--hub   a port without a NIC, for the processes of this user; ends "
	"when nobody\n"
	"        has been connected for a second. \"roost run --hub\" "
	"starts it\n";

/* ---- the socket ---------------------------------------------------------- */

static int listen_as_hub(void)
{
	struct sockaddr_un addr;
	socklen_t addr_len = roost_share_hub_address(&addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int ret;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, addr_len) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int watch_signals(int epoll_fd)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.ptr = &specials[SIGNALS],
	};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	return 0;
}

/* ---- the loop ------------------------------------------------------------ */

/* A tag is one of specials, a client, or a doorbell. Clients are aligned. */
static void handle(void *tag, bool *stop)
{
	if (tag == &specials[LISTENER])
		roostd_port_accept(&port);
	else if (tag == &specials[SIGNALS])
		*stop = true;
	else if ((uintptr_t)tag & 1)
		roostd_port_rung(&port, (void *)((char *)tag - 1));
	else
		roostd_port_session(&port, tag);
}

static void look(int epoll_fd, int timeout_ms, bool *stop)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(epoll_fd, events, EVENTS, timeout_ms);

	port.now_ns = roost_now_ns();
	for (int i = 0; i < n; i++)
		handle(events[i].data.ptr, stop);
	roostd_port_reap(&port);
}

static int wait_ms(void)
{
	if (!TAILQ_EMPTY(&port.awake))
		return 0;
	return TAILQ_EMPTY(&port.paused) ? TICK_MS : PAUSED_MS;
}

static void run(int epoll_fd)
{
	uint64_t alone_ns = roost_now_ns();
	unsigned int rounds = 0, still = 0;
	bool stop = false;

	while (!stop) {
		const uint64_t now_ns = roost_now_ns();

		if (roostd_port_poll(&port, now_ns) > 0) {
			still = 0;
			if (++rounds % ROUNDS_BUSY == 0)
				look(epoll_fd, 0, &stop);
			continue;
		}
		if (port.nb_clients > 0)
			alone_ns = now_ns;
		else if (now_ns - alone_ns >= ALONE_NS)
			return;
		if (++still % ROUNDS_STILL == 0)
			sched_yield();
		look(epoll_fd, wait_ms(), &stop);
	}
}

/* A client takes three descriptors. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve_hub(void)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.ptr = &specials[LISTENER],
	};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int listener = listen_as_hub();
	int ret = epoll_fd < 0 ? -errno : 0;

	/* Another one was faster, and serves. */
	if (listener == -EADDRINUSE)
		return ROOST_EXIT_OK;
	if (listener < 0)
		ret = listener;
	if (!ret && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) < 0)
		ret = -errno;
	if (!ret)
		ret = watch_signals(epoll_fd);
	if (ret) {
		roost_report("hub: cannot start: %s; see the limits of the "
			     "process",
			     strerror(-ret));
		return ROOST_EXIT_FAILED;
	}
	if (roostd_hub_open(&port, listener, epoll_fd))
		return ROOST_EXIT_FAILED;
	run(epoll_fd);
	/* No new client finds us while we end. */
	close(listener);
	roostd_port_close(&port);
	return ROOST_EXIT_OK;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--hub") == 0) {
		raise_limit();
		return serve_hub();
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return ROOST_EXIT_OK;
	}
	fprintf(stderr, "roost: roostd: say --hub; see roostd --help\n");
	return ROOST_EXIT_USAGE;
}
