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

struct member {
	_Alignas(64) atomic_bool is_wanted; /* writer: the first thread */
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
	void (*run)(uint32_t thread);
	struct member members[ROOST_PORTS_MAX];
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

static int make_member(struct member *m, void *kick_tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = kick_tag };

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

	crew.nb = nb;
	for (struct member *m = crew.members; m < crew_end(); m++) {
		*m = (struct member){ .epoll_fd = -1, .kick_fd = -1 };
		pthread_mutex_init(&m->lock, NULL);
		pthread_cond_init(&m->changed, NULL);
		if (!ret)
			ret = make_member(m, kick_tag);
	}
	return ret;
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
	return port % crew.nb;
}

static void kick(const struct member *m)
{
	eventfd_write(m->kick_fd, 1);
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
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void roostd_crew_awake(uint32_t thread)
{
	struct member *m = &crew.members[thread];

	if (thread == 0)
		return;
	pthread_mutex_lock(&m->lock);
	while (atomic_load_explicit(&m->is_wanted, memory_order_relaxed))
		pthread_cond_wait(&m->changed, &m->lock);
	m->is_aside = false;
	pthread_mutex_unlock(&m->lock);
}

void roostd_crew_step_aside(uint32_t thread)
{
	if (!atomic_load_explicit(&crew.members[thread].is_wanted,
				  memory_order_relaxed))
		return;
	roostd_crew_sleep(thread);
	roostd_crew_awake(thread);
}

static void want(struct member *m)
{
	pthread_mutex_lock(&m->lock);
	atomic_store_explicit(&m->is_wanted, true, memory_order_relaxed);
	pthread_mutex_unlock(&m->lock);
}

/* All are asked before one is waited for. */
void roostd_crew_hold(void)
{
	for (struct member *m = crew.members + 1; m < crew_end(); m++)
		want(m);
	for (struct member *m = crew.members + 1; m < crew_end(); m++) {
		pthread_mutex_lock(&m->lock);
		while (m->is_started && !m->is_aside)
			pthread_cond_wait(&m->changed, &m->lock);
		pthread_mutex_unlock(&m->lock);
	}
}

void roostd_crew_let_go(void)
{
	for (struct member *m = crew.members + 1; m < crew_end(); m++) {
		pthread_mutex_lock(&m->lock);
		atomic_store_explicit(&m->is_wanted, false,
				      memory_order_relaxed);
		pthread_cond_signal(&m->changed);
		pthread_mutex_unlock(&m->lock);
		kick(m);
	}
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
