/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The worker's thread. Hot: no allocation, lock or log. */

#include "pmd_glue/progress/progress_priv.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "lib/engine/sched/worker.h"
#include "lib/event/high_fd.h"
#include "lib/event/wakes.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/backoff.h"
#include "pmd_glue/process/thread.h"

#define US 1000u
#define MS (1000u * US)

/* The thread polls for this long after the last work. */
#define POLL_NS (50u * US)
/* Naps of a port without interrupts: idle time / NAP_SHARE. So the next packet
 * waits for that share of the idle time at most, and an idle process costs
 * little.
 */
#define NAP_SHARE 16u
#define NAP_MIN_NS (50u * US)
#define NAP_MAX_NS (1u * MS)
/* The longest sleep if an interrupt wakes, and if no packet can arrive: nothing
 * tells that one can again.
 */
#define INTERRUPT_SLEEP_NS (1000u * MS)
#define CUT_OFF_SLEEP_NS (100u * MS)
/* How long one help keeps the thread out, and how long expect keeps it in. */
#define KEPT_OUT_NS (1u * MS)
#define EXPECT_NS (2u * MS)

/* Idle turns of a dedicated thread before it yields to another worker's thread
 * that is pinned to the same CPU. Alone on its CPU, it loses nothing.
 */
#define YIELD_EVERY 256u
/* Turns, busy ones too, after which a real-time thread yields: until then
 * others of its priority have no processor, such as those that it works for.
 */
#define TURNS_MAX 256u
/* Yields while the worker's clock stands still; after them a real-time thread
 * sleeps.
 */
#define THREAD_YIELDS 64u

static uint32_t wakes(void)
{
	return atomic_load_explicit(&roost_event_wakes, memory_order_relaxed);
}

static void end_sleep(struct roost_progress *p)
{
	atomic_store_explicit(&p->sleeps_until_ns, 0, memory_order_relaxed);
	roost_progress_sleep_end(p);
}

/*
 * Sleep until until_ns, or until wake(), or until rx_fd is readable. rx_fd -1:
 * none; then packets do not wake the thread (blind_until_ns).
 */
static void sleep_until(struct roost_progress *p, uint64_t now_ns,
			uint64_t until_ns, int rx_fd)
{
	struct pollfd fds[2] = {
		{ .fd = p->wake_fd, .events = POLLIN },
		{ .fd = rx_fd, .events = POLLIN }, /* poll passes over -1 */
	};
	uint64_t ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec timeout = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	atomic_store_explicit(&p->blind_until_ns, rx_fd < 0 ? until_ns : AWAKE,
			      memory_order_relaxed);
	p->own.seen_wakes = wakes();
	if (rx_fd >= 0)
		atomic_store_explicit(&p->sleeps_until_ns, until_ns,
				      memory_order_relaxed);
	if (roost_progress_sleep_begin(p) &&
	    !atomic_load_explicit(&p->in.expected, memory_order_relaxed) &&
	    !atomic_load_explicit(&p->in.stop, memory_order_relaxed))
		ppoll(fds, 2, &timeout, NULL);
	atomic_store_explicit(&p->blind_until_ns, AWAKE, memory_order_relaxed);
	end_sleep(p);
}

/* Sleep while application threads help. Packets that other subports handed over
 * are left to these threads, and to this thread when help ends.
 */
static void stay_out(struct roost_progress *p, uint64_t now_ns)
{
	uint64_t ns = roost_batch_watch(&p->batch, now_ns);

	if (ns == 0)
		ns = KEPT_OUT_NS;
	atomic_store_explicit(&p->kept_out, true, memory_order_relaxed);
	sleep_until(p, now_ns, now_ns + ns, -1);
	atomic_store_explicit(&p->kept_out, false, memory_order_relaxed);
}

/* Does help by application threads keep the thread out? */
static bool is_kept_out(struct roost_progress *p, uint64_t now_ns)
{
	uint32_t helps =
		atomic_load_explicit(&p->in.helps, memory_order_relaxed);

	if (atomic_load_explicit(&p->in.expected, memory_order_relaxed)) {
		atomic_store_explicit(&p->in.expected, false,
				      memory_order_relaxed);
		p->own.expect_until_ns = now_ns + EXPECT_NS;
		p->own.kept_out_until_ns = 0;
		p->own.last_work_ns = now_ns;
	}
	if (roost_presence_is_seldom(&p->in.presence))
		return false;
	if (helps != p->own.seen_helps) {
		p->own.seen_helps = helps;
		p->own.kept_out_until_ns = now_ns + KEPT_OUT_NS;
		p->own.last_work_ns = now_ns; /* a helper's work counts */
	}
	return now_ns < p->own.kept_out_until_ns &&
	       now_ns >= p->own.expect_until_ns;
}

/* Holder of the turn: one iteration, then release. Returns true if there was
 * work, or is more. *deadline_ns: the next timer.
 */
static bool turn(struct roost_progress *p, uint64_t *deadline_ns)
{
	unsigned int work;
	bool more;

	work = roost_progress_iterate(p);
	*deadline_ns = roost_worker_next_deadline_ns(p->worker);
	more = roost_worker_has_left(p->worker);
	more |= roost_worker_turn_release(p->worker);
	return work != 0 || more;
}

/* Sleep until an RX interrupt. False: the port has none; or no turn. */
static bool sleep_on_interrupt(struct roost_progress *p, uint64_t now_ns)
{
	const uint64_t most_ns = now_ns + INTERRUPT_SLEEP_NS;
	uint64_t deadline_ns;
	int fd;

	if (!p->conf.rx.arm || !roost_worker_turn_try(p->worker))
		return false;
	fd = p->conf.rx.arm(p->conf.rx.ctx);
	if (fd < 0) {
		roost_worker_turn_release(p->worker);
		return false;
	}
	/* In the turn: who sets a timer in a later one sees it. */
	atomic_store_explicit(&p->sleeps_until_ns, most_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&p->asleep, true, memory_order_relaxed);
	/* A packet from before the interrupt was armed raises none. */
	if (!turn(p, &deadline_ns))
		sleep_until(p, now_ns, RTE_MIN(deadline_ns, most_ns), fd);
	else
		end_sleep(p);
	roost_worker_turn_take(p->worker);
	p->conf.rx.disarm(p->conf.rx.ctx);
	roost_worker_turn_release(p->worker);
	return true;
}

static void doze(struct roost_progress *p, uint64_t now_ns,
		 uint64_t deadline_ns)
{
	uint64_t nap_ns = (now_ns - p->own.last_work_ns) / NAP_SHARE;
	uint64_t most_ns = NAP_MAX_NS;

	if (sleep_on_interrupt(p, now_ns))
		return;
	if (p->conf.rx.is_cut_off && p->conf.rx.is_cut_off(p->conf.rx.ctx))
		most_ns = CUT_OFF_SLEEP_NS;
	nap_ns = RTE_MIN(RTE_MAX(nap_ns, (uint64_t)NAP_MIN_NS), most_ns);
	sleep_until(p, now_ns, RTE_MIN(deadline_ns, now_ns + nap_ns), -1);
}

/* A thread that was woken, by this thread or by one that helped and sleeps now,
 * may be on this CPU, where polling on would keep it out for as long as a time
 * slice: it goes first, once.
 */
static void let_woken_run(struct roost_progress *p, uint64_t now_ns)
{
	const uint32_t now = wakes();

	if (p->own.seen_wakes != now && now_ns != p->own.last_work_ns) {
		p->own.seen_wakes = now;
		sched_yield();
	} else {
		rte_pause();
	}
}

/* After a turn. */
static void let_equals_run(unsigned int *turns)
{
	if (++*turns % TURNS_MAX == 0 && roost_backoff_is_realtime())
		sched_yield();
}

/* After a turn with work: leave the CPU to others that need it, too. */
static void leave_crowd(struct roost_progress *p, uint64_t now_ns)
{
	if (roost_crowded_is_due(&p->own.crowded, now_ns) &&
	    roost_crowded_look(&p->own.crowded, now_ns,
			       roost_place_waited_ns(&p->own.place)))
		roost_place_leave(&p->own.place);
}

static void run_adaptive(struct roost_progress *p)
{
	struct roost_backoff held = { 0 };
	unsigned int turns = 0;
	uint64_t now_ns, deadline_ns;
	bool kept_out;

	while (!atomic_load_explicit(&p->in.stop, memory_order_relaxed)) {
		now_ns = roost_fast_clock_ns(&p->own.clock);
		kept_out = is_kept_out(p, now_ns);
		if (kept_out && !roost_progress_has_work(p)) {
			stay_out(p, now_ns);
			continue;
		}
		if (!kept_out)
			roost_batch_watch_end(&p->batch);
		if (!roost_worker_turn_try(p->worker)) {
			roost_backoff_wait(&held, &p->clock, THREAD_YIELDS);
			continue;
		}
		if (turn(p, &deadline_ns)) {
			p->own.last_work_ns = now_ns;
			leave_crowd(p, now_ns);
		}
		roost_progress_stand_back(p);
		let_equals_run(&turns);
		if (kept_out || now_ns - p->own.last_work_ns < POLL_NS)
			let_woken_run(p, now_ns);
		else
			doze(p, now_ns, deadline_ns);
	}
}

static void run_dedicated(struct roost_progress *p)
{
	struct roost_backoff held = { 0 };
	unsigned int idle = 0, turns = 0;
	uint64_t deadline_ns;

	while (!atomic_load_explicit(&p->in.stop, memory_order_relaxed)) {
		if (roost_worker_turn_try(p->worker) && turn(p, &deadline_ns))
			idle = 0;
		roost_progress_stand_back(p);
		let_equals_run(&turns);
		if (++idle % YIELD_EVERY == 0)
			roost_backoff_wait(&held, &p->clock, THREAD_YIELDS);
	}
}

static void *progress_main(void *arg)
{
	struct roost_progress *p = arg;
	const bool is_dedicated = p->conf.mode == ROOST_PROGRESS_DEDICATED;

	if (p->conf.take_lcore && rte_thread_register() == 0)
		p->lcore_id = rte_lcore_id();
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	if (!is_dedicated)
		roost_place_open(&p->own.place);
	pthread_barrier_wait(&p->registered);
	if (is_dedicated) {
		roost_thread_pin(p->conf.index);
		run_dedicated(p);
	} else {
		run_adaptive(p);
		roost_place_close(&p->own.place);
	}
	if (p->lcore_id != LCORE_ID_ANY)
		rte_thread_unregister();
	return NULL;
}

int roost_progress_start(const struct roost_progress_conf *conf,
			 struct roost_progress **progress)
{
	static atomic_uint nb_started;
	struct roost_progress *p;
	int ret;

	p = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct roost_progress){
		.conf = *conf,
		.worker = conf->worker,
		.lcore_id = LCORE_ID_ANY,
		.backoff = atomic_fetch_add(&nb_started, 1) %
			   ROOST_PROGRESS_BACKOFFS,
	};
	p->wake_fd = roost_high_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (p->wake_fd < 0) {
		ret = -errno;
		goto free_progress;
	}
	*progress = p;
	if (conf->has_caller)
		return 0;
	pthread_barrier_init(&p->registered, NULL, 2);
	ret = roost_thread_create(&p->thread, "roost-worker", progress_main, p);
	if (ret)
		goto destroy_barrier;
	pthread_barrier_wait(&p->registered);
	return 0;
destroy_barrier:
	pthread_barrier_destroy(&p->registered);
	close(p->wake_fd);
free_progress:
	free(p);
	return ret;
}

void roost_progress_stop(struct roost_progress *p)
{
	if (!p->conf.has_caller) {
		atomic_store(&p->in.stop, true);
		roost_progress_kick(p);
		pthread_join(p->thread, NULL);
		pthread_barrier_destroy(&p->registered);
	}
	close(p->wake_fd);
	free(p);
}
