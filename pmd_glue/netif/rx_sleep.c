/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/rx_sleep.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pmd_glue/netif/station.h"

static bool has_queue(const struct roost_rx_sleep *s, unsigned int i)
{
	return s->worker < s->stations[i].port->nb_worker_queues;
}

static void disarm_port(struct roost_rx_sleep *s, unsigned int i)
{
	if (has_queue(s, i))
		roost_subport_disarm(&s->stations[i].subport,
				     (uint16_t)s->worker);
}

static void disarm(void *ctx)
{
	struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_stations; i++)
		disarm_port(s, i);
}

/* Arm one port. Returns the descriptor to sleep on, or -errno. */
static int arm_port(struct roost_rx_sleep *s, unsigned int i)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd =
		roost_subport_arm(&s->stations[i].subport, (uint16_t)s->worker);

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

	for (unsigned int i = 0; i < s->nb_stations; i++) {
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

/* Did the subport of another device hand frames over to this device? */
static bool is_waiting(void *ctx)
{
	struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_stations; i++)
		if (roost_subport_is_waiting(&s->stations[i].subport))
			return true;
	return false;
}

/* Are all ports links whose other end is free? Then no packet can arrive.
 * Frames that were handed over may still wait (is_waiting).
 */
static bool is_cut_off(void *ctx)
{
	const struct roost_rx_sleep *s = ctx;

	for (unsigned int i = 0; i < s->nb_stations; i++) {
		const struct roost_ethport *port = s->stations[i].port;

		if (!port->driver->is_memif ||
		    atomic_load_explicit(&port->carrier, memory_order_relaxed))
			return false;
	}
	return true;
}

int roost_rx_sleep_open(struct roost_rx_sleep *sleep,
			struct roost_station *stations,
			unsigned int nb_stations, unsigned int worker)
{
	*sleep = (struct roost_rx_sleep){
		.stations = stations,
		.nb_stations = nb_stations,
		.worker = worker,
		.epoll_fd = -1,
	};
	if (nb_stations == 1)
		return 0;
	sleep->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return sleep->epoll_fd < 0 ? -errno : 0;
}

struct roost_progress_rx roost_rx_sleep_io(struct roost_rx_sleep *sleep)
{
	struct roost_progress_rx rx = { .ctx = sleep };

	for (unsigned int i = 0; i < sleep->nb_stations; i++) {
		if (!has_queue(sleep, i))
			continue;
		rx.arm = arm;
		rx.disarm = disarm;
		rx.is_cut_off = is_cut_off;
		/* Handed-over frames go to the device's first worker. */
		rx.is_waiting = sleep->worker == 0 ? is_waiting : NULL;
	}
	return rx;
}

void roost_rx_sleep_close(struct roost_rx_sleep *sleep)
{
	if (sleep->epoll_fd >= 0)
		close(sleep->epoll_fd);
}
