/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_PLACE_H
#define ROOST_PMD_GLUE_PROCESS_PLACE_H

/*
 * The CPU on which a thread runs: how long it had to wait for it, and how to
 * leave it. Linux. Nothing here allocates memory.
 *
 * Thread: all calls, that of the place.
 */

#include <sched.h>
#include <stdint.h>

struct roost_place {
	int waits_fd;   /* schedstat of the thread; -1: nothing is known */
	int ready_fd;   /* loadavg */
	int nb_cpus;    /* of the machine */
	cpu_set_t near; /* those that share a cache, where it was last seen */
};

/* Of the calling thread. Without proc(5), it is a place that is never left. */
void roost_place_open(struct roost_place *place);
void roost_place_close(struct roost_place *place);

/* How long the thread was ready to run and had no CPU, since it began. Returns
 * 0 if the kernel does not tell.
 */
uint64_t roost_place_waited_ns(const struct roost_place *place);

/*
 * Another thread wants the CPU of this one, too: move to another CPU that
 * shares the last level cache, if one of the machine is idle (loadavg).
 * Afterwards the thread may use the same CPUs as before; a mask that others set
 * for it meanwhile is lost. Returns 0; -EBUSY: none is idle, or the thread may
 * not use all CPUs, and nothing tells about these alone; -ENODEV: no other CPU
 * shares the cache; -errno.
 */
int roost_place_leave(struct roost_place *place);

#endif
