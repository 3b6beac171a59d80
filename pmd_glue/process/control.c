/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <roost/config.h>
#include "lib/event/high_fd.h"
#include "lib/event/wakes.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/thread.h"
#include "pmd_glue/process/wake_fd.h"

struct job {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	bool done;
	bool is_posted; /* on the heap; nobody waits */
	TAILQ_ENTRY(job) link;
};

static struct {
	pthread_t thread;
	unsigned int holders; /* writers: get and put, one at a time */
	int wake_fd;          /* eventfd; constant while the thread lives */
	atomic_bool asleep;
	atomic_bool stop;
	pthread_mutex_t lock;
	TAILQ_HEAD(, job) jobs; /* under lock */
	pthread_cond_t job_done;
	TAILQ_HEAD(, roost_control_client) clients; /* control thread only */
	const struct roost_control_watch *watch;    /* the same; NULL: none */
} control = {
	.wake_fd = -1,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.jobs = TAILQ_HEAD_INITIALIZER(control.jobs),
	.job_done = PTHREAD_COND_INITIALIZER,
	.clients = TAILQ_HEAD_INITIALIZER(control.clients),
};

/* Clients that wait for a descriptor, two of each port at most, and captures;
 * the others run after every wake, too.
 */
#define CLIENT_FDS_MAX (2u * ROOST_PORTS_MAX + 4u)

static void run_jobs(void)
{
	struct job *job;

	pthread_mutex_lock(&control.lock);
	while ((job = TAILQ_FIRST(&control.jobs))) {
		TAILQ_REMOVE(&control.jobs, job, link);
		pthread_mutex_unlock(&control.lock);
		job->ret = job->fn(job->arg);
		pthread_mutex_lock(&control.lock);
		job->done = true;
		if (job->is_posted)
			free(job);
		else
			pthread_cond_broadcast(&control.job_done);
	}
	pthread_mutex_unlock(&control.lock);
}

static uint64_t run_clients(void)
{
	struct roost_control_client *c;
	uint64_t next_ns = UINT64_MAX;

	TAILQ_FOREACH(c, &control.clients, link) {
		uint64_t due_ns = c->run(c->ctx, roost_now_ns());

		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	return next_ns;
}

static unsigned int client_pollfds(struct pollfd *fds)
{
	const struct roost_control_client *c;
	unsigned int nb = 0;

	TAILQ_FOREACH(c, &control.clients, link)
		if (c->events && nb < CLIENT_FDS_MAX)
			fds[nb++] = (struct pollfd){ .fd = c->fd,
						     .events = c->events };
	return nb;
}

/* Tell the clients what poll(2) saw, in the order of client_pollfds(). */
static void tell_clients(const struct pollfd *fds, unsigned int nb)
{
	struct roost_control_client *c;
	unsigned int i = 0;

	TAILQ_FOREACH(c, &control.clients, link)
		c->seen = c->events && i < nb ? fds[i++].revents : 0;
}

static void wait_until(uint64_t until_ns)
{
	struct pollfd fds[ROOST_CONTROL_WATCHED_MAX + CLIENT_FDS_MAX + 1];
	struct timespec timeout;
	uint64_t now_ns, wait_ns;
	unsigned int nb, nb_clients;
	int nb_ready;

	fds[0] = (struct pollfd){ .fd = control.wake_fd, .events = POLLIN };
	nb = control.watch ? control.watch->fill(fds + 1) : 0;
	nb_clients = client_pollfds(fds + 1 + nb);
	now_ns = roost_now_ns();
	wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	timeout.tv_sec = (time_t)(wait_ns / 1000000000u);
	timeout.tv_nsec = (long)(wait_ns % 1000000000u);
	nb_ready = ppoll(fds, nb + nb_clients + 1,
			 until_ns == UINT64_MAX ? NULL : &timeout, NULL);
	tell_clients(fds + 1 + nb, nb_ready > 0 ? nb_clients : 0);
	if (nb_ready <= 0)
		return;
	if (fds[0].revents)
		roost_wake_take(control.wake_fd);
	if (nb)
		control.watch->ready(fds + 1, nb);
}

static _Thread_local bool is_self;

bool roost_control_is_self(void)
{
	return is_self;
}

static void *control_main(void *arg __attribute__((unused)))
{
	uint64_t next_ns;

	is_self = true;
	while (!atomic_load(&control.stop)) {
		/* Set asleep before the last look for work: a thread that adds
		 * work later sees asleep, and writes to wake_fd.
		 */
		atomic_store(&control.asleep, true);
		run_jobs();
		next_ns = run_clients();
		wait_until(next_ns);
	}
	run_jobs();
	return NULL;
}

void roost_control_wake(void)
{
	const uint64_t one = 1;
	ssize_t written;

	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&control.asleep, memory_order_relaxed) ||
	    !atomic_exchange(&control.asleep, false))
		return;
	written = write(control.wake_fd, &one, sizeof(one));
	(void)written; /* fails only on overflow: then fd is readable */
	roost_event_woke();
}

int roost_control_get(void)
{
	int ret;

	if (control.holders++)
		return 0;
	control.wake_fd = roost_high_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (control.wake_fd < 0) {
		ret = -errno;
		goto no_fd;
	}
	atomic_store(&control.stop, false);
	ret = roost_thread_create(&control.thread, "roost-control",
				  control_main, NULL);
	if (ret)
		goto no_thread;
	return 0;
no_thread:
	close(control.wake_fd);
no_fd:
	control.holders--;
	return ret;
}

void roost_control_put(void)
{
	if (--control.holders)
		return;
	atomic_store(&control.stop, true);
	roost_control_wake();
	pthread_join(control.thread, NULL);
	close(control.wake_fd);
	control.wake_fd = -1;
}

static void enqueue(struct job *job)
{
	pthread_mutex_lock(&control.lock);
	TAILQ_INSERT_TAIL(&control.jobs, job, link);
	pthread_mutex_unlock(&control.lock);
	roost_control_wake();
}

int roost_control_post(int (*fn)(void *arg), void *arg)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct job){ .fn = fn, .arg = arg, .is_posted = true };
	enqueue(job);
	return 0;
}

int roost_control_call(int (*fn)(void *arg), void *arg)
{
	struct job job = { .fn = fn, .arg = arg };

	if (is_self)
		return fn(arg);
	enqueue(&job);
	pthread_mutex_lock(&control.lock);
	while (!job.done)
		pthread_cond_wait(&control.job_done, &control.lock);
	pthread_mutex_unlock(&control.lock);
	return job.ret;
}

void roost_control_forget(void)
{
	pthread_mutex_init(&control.lock, NULL);
	pthread_cond_init(&control.job_done, NULL);
	TAILQ_INIT(&control.jobs);
	TAILQ_INIT(&control.clients);
	control.holders = 0;
	control.wake_fd = -1;
}

struct errand {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	atomic_bool done;
};

static void *errand_main(void *arg)
{
	struct errand *errand = arg;

	errand->ret = errand->fn(errand->arg);
	atomic_store(&errand->done, true);
	roost_control_wake();
	return NULL;
}

int roost_control_aside(int (*fn)(void *arg), void *arg)
{
	struct errand errand = { .fn = fn, .arg = arg };
	pthread_t thread;
	uint64_t next_ns;

	/* Without the control thread's loop, or if there is no new thread, run
	 * fn here.
	 */
	if (control.wake_fd < 0 ||
	    roost_thread_create(&thread, "roost-aside", errand_main, &errand))
		return fn(arg);
	for (;;) {
		/* As in control_main(). */
		atomic_store(&control.asleep, true);
		if (atomic_load(&errand.done))
			break;
		next_ns = run_clients();
		wait_until(next_ns);
	}
	pthread_join(thread, NULL);
	return errand.ret;
}

void roost_control_set_watch(const struct roost_control_watch *watch)
{
	control.watch = watch;
}

void roost_control_add(struct roost_control_client *client)
{
	TAILQ_INSERT_TAIL(&control.clients, client, link);
}

void roost_control_remove(struct roost_control_client *client)
{
	TAILQ_REMOVE(&control.clients, client, link);
}
