/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <roost/config.h>
#include "pmd_glue/process/thread.h"
#include "pmd_glue/uplink.h"

/* Who wants a thread aside. */
#define BY_FIRST 1u
#define BY_OWNER 2u

struct member {
	_Alignas(64) atomic_uint wanted; /* by whom */
	uint32_t port;                   /* of a helper */
	bool is_started;
	bool is_aside; /* under the lock */
	int epoll_fd;
	int kick_fd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
};

static struct {
	uint32_t nb;
	uint32_t nb_ports; /* threads of ports; the others are helpers */
	void (*run)(uint32_t thread);
	bool holds_all; /* the first thread does */
	void *kick_tag;
	struct member members[ROOSTD_THREADS_MAX];
} crew;

static struct member *crew_end(void)
{
	return crew.members + crew.nb;
}

uint32_t roostd_crew_size(uint32_t nb_ports, uint32_t most)
{
	uint32_t nb = nb_ports;
	cpu_set_t cpus;
	uint32_t nb_cpus = sched_getaffinity(0, sizeof(cpus), &cpus) == 0
				   ? (uint32_t)CPU_COUNT(&cpus)
				   : 1;

	if (nb > nb_cpus)
		nb = nb_cpus;
	if (most > 0 && nb > most)
		nb = most;
	return nb > 0 ? nb : 1;
}

/* ---- the sets ------------------------------------------------------------ */

static int make_member(struct member *m, uint32_t port)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.ptr = crew.kick_tag,
	};

	*m = (struct member){ .port = port };
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->epoll_fd < 0 || m->kick_fd < 0 ||
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->kick_fd, &event) < 0)
		return -errno;
	return 0;
}

int roostd_crew_make(uint32_t nb, void *kick_tag)
{
	int ret = 0;

	crew.nb = 0;
	crew.nb_ports = nb;
	crew.kick_tag = kick_tag;
	while (!ret && crew.nb < nb) {
		ret = make_member(&crew.members[crew.nb], crew.nb);
		crew.nb++;
	}
	return ret;
}

int roostd_crew_add(uint32_t port)
{
	const uint32_t thread = crew.nb;
	int ret;

	if (thread == ROOSTD_THREADS_MAX)
		return -EMFILE;
	ret = make_member(&crew.members[thread], port);
	crew.nb++;
	return ret ? ret : (int)thread;
}

void roostd_crew_free(void)
{
	for (struct member *m = crew.members; m < crew_end(); m++) {
		if (m->epoll_fd >= 0)
			close(m->epoll_fd);
		if (m->kick_fd >= 0)
			close(m->kick_fd);
		pthread_cond_destroy(&m->changed);
		pthread_mutex_destroy(&m->lock);
	}
	crew.nb = 0;
}

uint32_t roostd_crew_nb(void)
{
	return crew.nb;
}

int roostd_crew_epoll_fd(uint32_t thread)
{
	return crew.members[thread].epoll_fd;
}

uint32_t roostd_crew_of(uint32_t port)
{
	return port % crew.nb_ports;
}

static void kick(const struct member *m)
{
	eventfd_write(m->kick_fd, 1);
}

void roostd_crew_kick(uint32_t thread)
{
	kick(&crew.members[thread]);
}

void roostd_crew_kicked(uint32_t thread)
{
	eventfd_t tokens;

	eventfd_read(crew.members[thread].kick_fd, &tokens);
}

/* ---- aside --------------------------------------------------------------- */

void roostd_crew_sleep(uint32_t thread)
{
	struct member *m = &crew.members[thread];

	if (thread == 0)
		return;
	pthread_mutex_lock(&m->lock);
	m->is_aside = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void roostd_crew_awake(uint32_t thread)
{
	struct member *m = &crew.members[thread];

	if (thread == 0)
		return;
	pthread_mutex_lock(&m->lock);
	while (atomic_load_explicit(&m->wanted, memory_order_relaxed) != 0)
		pthread_cond_wait(&m->changed, &m->lock);
	m->is_aside = false;
	pthread_mutex_unlock(&m->lock);
}

void roostd_crew_step_aside(uint32_t thread)
{
	if (atomic_load_explicit(&crew.members[thread].wanted,
				 memory_order_relaxed) == 0)
		return;
	roostd_crew_sleep(thread);
	roostd_crew_awake(thread);
}

static void want(struct member *m, unsigned int who)
{
	pthread_mutex_lock(&m->lock);
	atomic_fetch_or_explicit(&m->wanted, who, memory_order_relaxed);
	pthread_mutex_unlock(&m->lock);
}

static void await(struct member *m)
{
	pthread_mutex_lock(&m->lock);
	while (m->is_started && !m->is_aside)
		pthread_cond_wait(&m->changed, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

/* Both the member and who waits for it use the condition. */
static void let_go(struct member *m, unsigned int who)
{
	pthread_mutex_lock(&m->lock);
	atomic_fetch_and_explicit(&m->wanted, ~who, memory_order_relaxed);
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	kick(m);
}

#define FOR_OTHERS(m)                                                          \
	for (struct member *m = crew.members + 1; m < crew_end(); m++)
#define FOR_HELPERS(m, number)                                                 \
	for (struct member *m = crew.members + crew.nb_ports; m < crew_end();  \
	     m++)                                                              \
		if (m->port == (number))

/* All are asked before one is waited for. */
void roostd_crew_hold(void)
{
	FOR_OTHERS(m)
	want(m, BY_FIRST);
	FOR_OTHERS(m)
	await(m);
	crew.holds_all = true;
}

void roostd_crew_let_go(void)
{
	crew.holds_all = false;
	FOR_OTHERS(m)
	let_go(m, BY_FIRST);
}

bool roostd_crew_holds_all(void)
{
	return crew.holds_all;
}

void roostd_crew_hold_helpers(uint32_t port)
{
	FOR_HELPERS(m, port)
	want(m, BY_OWNER);
	FOR_HELPERS(m, port)
	await(m);
}

void roostd_crew_let_helpers_go(uint32_t port)
{
	FOR_HELPERS(m, port)
	let_go(m, BY_OWNER);
}

/* ---- threads ------------------------------------------------------------- */

static void *run(void *arg)
{
	struct member *m = arg;
	const uint32_t thread = (uint32_t)(m - crew.members);
	const bool registered = roost_uplink_thread_begin();

	crew.run(thread);
	if (registered)
		roost_uplink_thread_end();
	/* It needs no port any more. */
	roostd_crew_sleep(thread);
	return NULL;
}

int roostd_crew_start(void (*fn)(uint32_t thread))
{
	char name[16];
	int ret = 0;

	crew.run = fn;
	for (struct member *m = crew.members + 1; !ret && m < crew_end(); m++) {
		snprintf(name, sizeof(name), "roostd-%u",
			 (unsigned int)(m - crew.members));
		ret = roost_thread_create(&m->thread, name, run, m);
		m->is_started = !ret;
	}
	return ret;
}

void roostd_crew_join(void)
{
	for (struct member *m = crew.members + 1; m < crew_end(); m++) {
		kick(m);
		if (m->is_started)
			pthread_join(m->thread, NULL);
		m->is_started = false;
	}
}
