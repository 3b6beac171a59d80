/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_CREW_H
#define ROOST_APPS_ROOSTD_CREW_H

/*
 * The daemon's threads. Port i is thread (i % number of threads)'s: that thread
 * moves its frames, serves its sessions and touches no other port. The first
 * one, 0, is the caller of roostd_crew_make(), and has also what is no port's:
 * the listener, sessions that have not attached, signals, handovers.
 *
 * What concerns several ports, or a port of another thread, the first thread
 * does while it holds the others: between hold and let go each of them is
 * asleep, or waits between two rounds, and whatever it owns is the first
 * thread's. No thread holds the first one, so nobody waits in a circle. With
 * one thread there is nothing to hold, and hold and let go do nothing.
 *
 * Helpers. A port with several lanes (port.h) has a helper for each beside the
 * first one. The port's thread holds its helpers, as the first thread holds
 * all, for what it changes of the port. Helpers hold nobody.
 *
 * Each thread has a set of epoll of its own, and a descriptor in it that wakes
 * the thread when it was held: the time until which it sleeps may have changed.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

#define ROOSTD_THREADS_MAX (ROOST_PORTS_MAX * ROOST_WORKERS_MAX)

/* How many threads so many ports get: one each, as far as there are
 * processors for them, and most at the most; 0: no such bound.
 */
uint32_t roostd_crew_size(uint32_t nb_ports, uint32_t most);

/*
 * Make the sets of nb threads. kick_tag: what epoll says of the descriptor that
 * wakes. Returns 0, -errno; roostd_crew_free() frees, also after an error.
 */
int roostd_crew_make(uint32_t nb, void *kick_tag);
/* One more thread, a helper of that port's. Returns its number, -errno. Before
 * the start.
 */
int roostd_crew_add(uint32_t port);
void roostd_crew_free(void);
uint32_t roostd_crew_nb(void);
/* The set of a thread. */
int roostd_crew_epoll_fd(uint32_t thread);
/* The thread of a port. */
uint32_t roostd_crew_of(uint32_t port);

/* Start the others, each with run(thread), which returns when it is told to
 * end. Returns 0, -errno: not all run. Thread: the first one.
 */
int roostd_crew_start(void (*run)(uint32_t thread));
/* Wait for their ends, after they were told. Thread: the first one. */
void roostd_crew_join(void);

/* Thread: the first one. Not one in the other. */
void roostd_crew_hold(void);
void roostd_crew_let_go(void);
/* Is all the first thread's now? Thread: one that is not held. */
bool roostd_crew_holds_all(void);
/* The same for the helpers of a port. Thread: the port's; not one in the other.
 */
void roostd_crew_hold_helpers(uint32_t port);
void roostd_crew_let_helpers_go(uint32_t port);
/* Wake a thread. Thread: any. */
void roostd_crew_kick(uint32_t thread);

/* Between two rounds: wait, if the first thread wants so. Costs a load. Thread:
 * that one.
 */
void roostd_crew_step_aside(uint32_t thread);
/* Around a sleep, in which the first thread may hold it. Thread: that one. */
void roostd_crew_sleep(uint32_t thread);
void roostd_crew_awake(uint32_t thread);
/* Epoll says that it was woken. Thread: that one. */
void roostd_crew_kicked(uint32_t thread);

#endif
