/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/backend/rx_sleep.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/backend/backend.h"

static bool has_queue(const struct roost_rx_sleep *s, unsigned int i)
{
	return s->worker < s->ports[i]->frame_io.nb_queues;
}

static void disarm_port(struct roost_rx_sleep *s, unsigned int i)
{
	if (has_queue(s, i))
		s->ports[i]->backend->disarm(s->ports[i], (uint16_t)s->worker);
}

static void disarm(void *ctx)
{
	struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_ports; i++)
		disarm_port(s, i);
}

/* Arm one port. Returns the descriptor to sleep on, or -errno. */
static int arm_port(struct roost_rx_sleep *s, unsigned int i)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = s->ports[i]->backend->arm(s->ports[i], (uint16_t)s->worker);

	if (fd < 0 || s->epoll_fd < 0)
		return fd;
	if (!s->watched[i] &&
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 &&
	    errno != EEXIST) {
		fd = -errno;
		disarm_port(s, i);
		return fd;
	}
	s->watched[i] = true;
	return s->epoll_fd;
}

/* Arm all ports or none: during a sleep nothing polls a port without an
 * interrupt.
 */
static int arm(void *ctx)
{
	struct roost_rx_sleep *s = ctx;
	int fd = -ENOTSUP;

	for (unsigned int i = 0; i < s->nb_ports; i++) {
		if (!has_queue(s, i))
			continue;
		fd = arm_port(s, i);
		if (fd >= 0)
			continue;
		while (i-- > 0)
			disarm_port(s, i);
		break;
	}
	return fd;
}

static bool is_waiting(void *ctx)
{
	const struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_ports; i++) {
		const struct roost_backend *b = s->ports[i]->backend;

		if (b->is_waiting && b->is_waiting(s->ports[i]))
			return true;
	}
	return false;
}

/* Can no frame arrive at any port? Frames may still wait (is_waiting). */
static bool is_cut_off(void *ctx)
{
	const struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_ports; i++) {
		const struct roost_backend *b = s->ports[i]->backend;

		if (!b->is_cut_off || !b->is_cut_off(s->ports[i]))
			return false;
	}
	return true;
}

int roost_rx_sleep_open(struct roost_rx_sleep *sleep,
			struct roost_backend_port *const *ports,
			unsigned int nb_ports, unsigned int worker)
{
	*sleep = (struct roost_rx_sleep){
		.ports = ports,
		.nb_ports = nb_ports,
		.worker = worker,
		.epoll_fd = -1,
	};
	if (nb_ports == 1)
		return 0;
	sleep->epoll_fd = roost_high_fd(epoll_create1(EPOLL_CLOEXEC));
	return sleep->epoll_fd < 0 ? -errno : 0;
}

struct roost_progress_rx roost_rx_sleep_io(struct roost_rx_sleep *sleep)
{
	struct roost_progress_rx rx = { .ctx = sleep };

	for (unsigned int i = 0; i < sleep->nb_ports; i++) {
		if (!has_queue(sleep, i))
			continue;
		rx.arm = arm;
		rx.disarm = disarm;
		rx.is_cut_off = is_cut_off;
		/* Frames that raise no interrupt go to the first worker. */
		rx.is_waiting = sleep->worker == 0 ? is_waiting : NULL;
	}
	return rx;
}

void roost_rx_sleep_close(struct roost_rx_sleep *sleep)
{
	if (sleep->epoll_fd >= 0)
		close(sleep->epoll_fd);
}
