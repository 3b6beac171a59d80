/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot: help runs inside ibv_poll_cq and ibv_post_send. No allocation, lock or
 * log; one clock reading per iteration; a system call only to wake a thread.
 */

#include "pmd_glue/progress/turner.h"

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

#include <roost/qp.h>
#include "lib/engine/sched/worker.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/progress/fast_clock.h"
#include "pmd_glue/progress/gather.h"
#include "pmd_glue/progress/patience.h"
#include "pmd_glue/process/thread.h"

#define US 1000u
#define MS (1000u * US)

/* Polling goes on for so long after the last work. */
#define POLL_NS (50u * US)
/* Naps where no interrupt wakes: a share of the time that nothing has come, so
 * that what comes then waits for no more than that share of it, and an idle
 * process costs little.
 */
#define NAP_SHARE 16u
#define NAP_MIN_NS (50u * US)
#define NAP_MAX_NS (1u * MS)
/* The longest sleep where an interrupt does, or nothing can come. */
#define INTERRUPT_SLEEP_NS (100u * MS)
/* How long help keeps the thread out, and an expectation keeps it in. */
#define KEPT_OUT_NS (1u * MS)
#define EXPECT_NS (2u * MS)
/* Not worth a wake: it looks by itself before a wake would get there. */
#define SOON_NS (50u * US)

/* Iterations of one help, while others ring doorbells. */
#define HELP_ROUNDS 4u
/* Retries of a help that has to be, until the thread is woken instead. */
#define HELP_RETRIES 64u
/* Helps of a thread that found nothing to do, before it yields its CPU. */
#define HELP_PATIENCE 500u
/* Idle turns of a dedicated thread before another one that was pinned to the
 * same CPU gets its chance; alone there, it loses nothing by it.
 */
#define YIELD_EVERY 256u
/* Looks at a waiter for the turn before going on. */
#define WANTED_PATIENCE 10000u
/* The CPU is given away so often to a holder of the turn that does not move,
 * by who helps and by the thread; then they sleep.
 */
#define HELP_YIELDS 4u
#define STUCK_PATIENCE 16u
#define THREAD_YIELDS 64u
#define PATIENCES 16u /* turners that a thread tells apart */

/* At exit: tries to get the turn, and iterations until nothing is owed. */
#define SETTLE_TRIES 1000u
#define SETTLE_ROUNDS 256u

#define AWAKE 0u

struct roost_turner {
	/* Constant while it runs. */
	struct roost_turner_conf conf;
	struct roost_worker *worker; /* conf's */
	unsigned int lcore_id;       /* LCORE_ID_ANY: runs without caches */
	unsigned int patience;       /* index of threads' patience with it */
	int wake_fd;
	pthread_t thread;
	pthread_barrier_t registered; /* lcore_id is set */

	/* Of iterations; the holder of the turn. */
	struct roost_fast_clock clock __rte_cache_aligned;

	/* Written by helpers, read by the thread. */
	struct {
		_Atomic uint32_t helps; /* changes with every help */
		atomic_bool expected;   /* somebody is about to sleep */
		atomic_bool stop;
	} __rte_cache_aligned in;

	struct roost_gather gather __rte_cache_aligned;

	/* Written by the thread (and cleared by who wakes it), read by
	 * helpers: when it will look at the port again. AWAKE: it does.
	 */
	_Atomic uint64_t blind_until_ns __rte_cache_aligned;
	atomic_bool asleep;
	atomic_bool kept_out; /* asleep because somebody helps */

	/* The thread's own. */
	struct {
		uint32_t seen_helps;
		uint64_t kept_out_until_ns;
		uint64_t expect_until_ns; /* help does not keep it out */
		uint64_t last_work_ns;
		struct roost_fast_clock clock;
	} own __rte_cache_aligned;
};

/* ---- turns ------------------------------------------------------------- */

/* One iteration, as the worker's lcore. Holder of the turn: the clock is read
 * under it, so that time never runs backwards for the worker.
 */
static unsigned int iterate(struct roost_turner *t)
{
	unsigned int saved = RTE_PER_LCORE(_lcore_id);
	unsigned int work;

	roost_gather_send(&t->gather);
	RTE_PER_LCORE(_lcore_id) = t->lcore_id;
	work = roost_worker_iterate(t->worker, roost_fast_clock_ns(&t->clock));
	RTE_PER_LCORE(_lcore_id) = saved;
	return work;
}

/* The same for the half that sends. */
static unsigned int send_out(struct roost_turner *t)
{
	unsigned int saved = RTE_PER_LCORE(_lcore_id);
	unsigned int work;

	roost_gather_send(&t->gather);
	RTE_PER_LCORE(_lcore_id) = t->lcore_id;
	work = roost_worker_send(t->worker, roost_fast_clock_ns(&t->clock));
	RTE_PER_LCORE(_lcore_id) = saved;
	return work;
}

/* Let threads that wait for the turn have it: a mutex that is taken again at
 * once after each release would never reach them.
 */
static void stand_back(struct roost_turner *t)
{
	for (unsigned int i = 0; i < WANTED_PATIENCE; i++) {
		if (!roost_worker_turn_wanted(t->worker))
			return;
		if (i % 64 == 63)
			sched_yield();
		else
			rte_pause();
	}
	roost_patience_nap(); /* it may wait for this CPU, too */
}

/* ---- waking ------------------------------------------------------------ */

static void wake(struct roost_turner *t)
{
	const uint64_t one = 1;
	ssize_t written;

	if (!atomic_exchange(&t->asleep, false))
		return;
	written = write(t->wake_fd, &one, sizeof(one));
	(void)written; /* cannot fail but by overflow: then it is awake */
}

void roost_turner_kick(struct roost_turner *t)
{
	/* Pairs with the fence in sleep_until(): either the thread sees the
	 * work, or we see that it is asleep.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&t->asleep, memory_order_relaxed))
		wake(t);
}

void roost_turner_nudge(struct roost_turner *t)
{
	atomic_thread_fence(memory_order_seq_cst); /* as in kick */
	if (atomic_load_explicit(&t->asleep, memory_order_relaxed) &&
	    !atomic_load_explicit(&t->kept_out, memory_order_relaxed))
		wake(t);
}

void roost_turner_expect(struct roost_turner *t)
{
	uint64_t blind_until_ns;

	if (t->conf.mode == ROOST_PROGRESS_DEDICATED)
		return;
	roost_turner_send_gathered(t);
	atomic_store_explicit(&t->in.expected, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* as in kick */
	blind_until_ns =
		atomic_load_explicit(&t->blind_until_ns, memory_order_relaxed);
	if (blind_until_ns != AWAKE &&
	    blind_until_ns > roost_now_ns() + SOON_NS)
		wake(t);
}

/* ---- help -------------------------------------------------------------- */

/* This thread's, for each turner: one may stand still while others move. */
static _Thread_local struct roost_patience patience[PATIENCES];

/* It polls, and there is nothing that it can do: whoever can, here or in the
 * peer, may wait for this very core.
 */
static void lose_patience(struct roost_turner *t)
{
	struct roost_patience *p = &patience[t->patience];

	/* Once it sleeps it looks less in between, and leaves half of the CPU.
	 */
	if (++p->misses <
	    (p->yields > HELP_YIELDS ? STUCK_PATIENCE : HELP_PATIENCE))
		return;
	p->misses = 0;
	roost_patience_lose(p, &t->clock, HELP_YIELDS);
}

/* The turn is somebody else's. True: it is ours after all. */
static bool insist(struct roost_turner *t)
{
	lose_patience(t);
	if (!roost_worker_has_work(t->worker))
		return false;
	for (unsigned int i = 0; i < HELP_RETRIES; i++) {
		rte_pause();
		if (!roost_worker_has_work(t->worker))
			return false;
		if (roost_worker_turn_try(t->worker))
			return true;
	}
	/* Whoever has the turn may not look again; the thread will. */
	roost_turner_kick(t);
	return false;
}

/* Keep the thread out. No read-modify-write: helpers that overwrite each
 * other's number still make it change.
 */
static void announce(struct roost_turner *t)
{
	uint32_t helps =
		atomic_load_explicit(&t->in.helps, memory_order_relaxed);

	atomic_store_explicit(&t->in.helps, helps + 1, memory_order_relaxed);
}

/* This helper goes: what the iteration left is for the next one, or for the
 * thread.
 */
static void leave(struct roost_turner *t)
{
	if (roost_worker_has_left(t->worker))
		roost_turner_nudge(t);
}

/* Help, as the holder of the turn, and release it. */
static bool run(struct roost_turner *t)
{
	unsigned int rounds = 0;
	unsigned int work = 0;

	for (;;) {
		work += iterate(t);
		if (!roost_worker_turn_release(t->worker))
			break;
		if (++rounds == HELP_ROUNDS) {
			roost_turner_kick(t);
			break;
		}
		if (!roost_worker_turn_try(t->worker))
			break;
	}
	if (work == 0)
		lose_patience(t);
	else
		patience[t->patience].misses = 0;
	leave(t);
	return work != 0;
}

bool roost_turner_help(struct roost_turner *t)
{
	if (t->conf.mode == ROOST_PROGRESS_DEDICATED) {
		lose_patience(t);
		return false;
	}
	announce(t);
	if (roost_worker_turn_wanted(t->worker)) {
		stand_back(t);
		return false;
	}
	if (!roost_worker_turn_try(t->worker) && !insist(t))
		return false;
	return run(t);
}

void roost_turner_send_gathered(struct roost_turner *t)
{
	if (roost_gather_waiting(&t->gather) != 0)
		roost_turner_help(t);
}

void roost_turner_send_end(struct roost_turner *t, struct roost_qp *qp)
{
	if (t->conf.mode == ROOST_PROGRESS_ADAPTIVE &&
	    roost_gather_may_wait(&t->gather, qp)) {
		roost_qp_send_end(qp);
		if (!roost_gather_is_watched(&t->gather))
			roost_turner_help(t);
		return;
	}
	if (t->conf.mode == ROOST_PROGRESS_DEDICATED ||
	    roost_worker_turn_wanted(t->worker) ||
	    !roost_worker_turn_try(t->worker)) {
		roost_qp_send_end(qp);
		roost_turner_help(t);
		return;
	}
	roost_qp_send_end_in_turn(qp);
	/* Not announced: who only posts does not look for what comes. */
	if (send_out(t) == 0) {
		run(t);
		return;
	}
	patience[t->patience].misses = 0;
	if (roost_worker_turn_release(t->worker))
		roost_turner_help(t);
	else
		leave(t);
}

void roost_turner_settle(struct roost_turner *t)
{
	for (unsigned int i = 0; i < SETTLE_TRIES; i++) {
		if (!roost_worker_turn_try(t->worker)) {
			sched_yield();
			continue;
		}
		for (unsigned int n = 0; n < SETTLE_ROUNDS && iterate(t); n++)
			;
		roost_worker_turn_release(t->worker);
		return;
	}
}

/* ---- the thread -------------------------------------------------------- */

/* For the thread, which is about to sleep. */
static bool has_work(const struct roost_turner *t)
{
	return roost_worker_has_work(t->worker) ||
	       (t->conf.rx.is_waiting && t->conf.rx.is_waiting(t->conf.rx.ctx));
}

/*
 * Sleep until then, or until woken, or until rx_fd (-1: none) is readable.
 * blind: packets do not wake it.
 */
static void sleep_until(struct roost_turner *t, uint64_t now_ns,
			uint64_t until_ns, int rx_fd)
{
	struct pollfd fds[2] = {
		{ .fd = t->wake_fd, .events = POLLIN },
		{ .fd = rx_fd, .events = POLLIN }, /* poll passes over -1 */
	};
	uint64_t ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec timeout = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};
	uint64_t tokens;
	ssize_t got;

	atomic_store_explicit(&t->asleep, true, memory_order_relaxed);
	atomic_store_explicit(&t->blind_until_ns, rx_fd < 0 ? until_ns : AWAKE,
			      memory_order_relaxed);
	/* Pairs with kick and expect. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!has_work(t) &&
	    !atomic_load_explicit(&t->in.expected, memory_order_relaxed) &&
	    !atomic_load_explicit(&t->in.stop, memory_order_relaxed))
		ppoll(fds, 2, &timeout, NULL);
	atomic_store_explicit(&t->blind_until_ns, AWAKE, memory_order_relaxed);
	if (!atomic_exchange(&t->asleep, false)) {
		got = read(t->wake_fd, &tokens, sizeof(tokens));
		(void)got; /* the writer may be a moment behind: then the next
			    * sleep is short */
	}
}

/* Packets that others put aside are left to whoever helps, and found by the
 * thread when help ends.
 */
static void stay_out(struct roost_turner *t, uint64_t now_ns)
{
	uint64_t ns = roost_gather_watch(&t->gather, now_ns);

	if (ns == 0)
		ns = KEPT_OUT_NS;
	atomic_store_explicit(&t->kept_out, true, memory_order_relaxed);
	sleep_until(t, now_ns, now_ns + ns, -1);
	atomic_store_explicit(&t->kept_out, false, memory_order_relaxed);
}

/* Does help by others keep the thread from the turn? */
static bool is_kept_out(struct roost_turner *t, uint64_t now_ns)
{
	uint32_t helps =
		atomic_load_explicit(&t->in.helps, memory_order_relaxed);

	if (atomic_load_explicit(&t->in.expected, memory_order_relaxed)) {
		atomic_store_explicit(&t->in.expected, false,
				      memory_order_relaxed);
		t->own.expect_until_ns = now_ns + EXPECT_NS;
		t->own.kept_out_until_ns = 0;
		t->own.last_work_ns = now_ns;
	}
	if (helps != t->own.seen_helps) {
		t->own.seen_helps = helps;
		t->own.kept_out_until_ns = now_ns + KEPT_OUT_NS;
		t->own.last_work_ns = now_ns; /* by whom ever */
	}
	return now_ns < t->own.kept_out_until_ns &&
	       now_ns >= t->own.expect_until_ns;
}

/* Holder of the turn: one iteration, then release. Returns true if there was
 * work, or is; *deadline_ns: when to be back at the latest.
 */
static bool turn(struct roost_turner *t, uint64_t *deadline_ns)
{
	unsigned int work;
	bool more;

	work = iterate(t);
	*deadline_ns = roost_worker_next_deadline_ns(t->worker);
	more = roost_worker_has_left(t->worker);
	more |= roost_worker_turn_release(t->worker);
	return work != 0 || more;
}

/* Let an interrupt wake us. Returns true if it was possible. */
static bool sleep_on_interrupt(struct roost_turner *t, uint64_t now_ns)
{
	uint64_t deadline_ns;
	int fd;

	if (!t->conf.rx.arm || !roost_worker_turn_try(t->worker))
		return false;
	fd = t->conf.rx.arm(t->conf.rx.ctx);
	if (fd < 0) {
		roost_worker_turn_release(t->worker);
		return false;
	}
	/* What came before the interrupt was armed raises none. */
	if (!turn(t, &deadline_ns))
		sleep_until(t, now_ns,
			    RTE_MIN(deadline_ns, now_ns + INTERRUPT_SLEEP_NS),
			    fd);
	roost_worker_turn_take(t->worker);
	t->conf.rx.disarm(t->conf.rx.ctx);
	roost_worker_turn_release(t->worker);
	return true;
}

static void doze(struct roost_turner *t, uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t nap_ns = (now_ns - t->own.last_work_ns) / NAP_SHARE;
	uint64_t most_ns = NAP_MAX_NS;

	if (sleep_on_interrupt(t, now_ns))
		return;
	if (t->conf.rx.is_cut_off && t->conf.rx.is_cut_off(t->conf.rx.ctx))
		most_ns = INTERRUPT_SLEEP_NS;
	nap_ns = RTE_MIN(RTE_MAX(nap_ns, (uint64_t)NAP_MIN_NS), most_ns);
	sleep_until(t, now_ns, RTE_MIN(deadline_ns, now_ns + nap_ns), -1);
}

static void run_adaptive(struct roost_turner *t)
{
	struct roost_patience held = { 0 };
	uint64_t now_ns, deadline_ns;
	bool kept_out;

	while (!atomic_load_explicit(&t->in.stop, memory_order_relaxed)) {
		now_ns = roost_fast_clock_ns(&t->own.clock);
		kept_out = is_kept_out(t, now_ns);
		if (kept_out && !has_work(t)) {
			stay_out(t, now_ns);
			continue;
		}
		if (!kept_out)
			roost_gather_watch_end(&t->gather);
		if (!roost_worker_turn_try(t->worker)) {
			roost_patience_lose(&held, &t->clock, THREAD_YIELDS);
			continue;
		}
		if (turn(t, &deadline_ns))
			t->own.last_work_ns = now_ns;
		stand_back(t);
		if (kept_out || now_ns - t->own.last_work_ns < POLL_NS)
			rte_pause();
		else
			doze(t, now_ns, deadline_ns);
	}
}

static void run_dedicated(struct roost_turner *t)
{
	struct roost_patience held = { 0 };
	unsigned int idle = 0;
	uint64_t deadline_ns;

	while (!atomic_load_explicit(&t->in.stop, memory_order_relaxed)) {
		if (roost_worker_turn_try(t->worker) && turn(t, &deadline_ns))
			idle = 0;
		stand_back(t);
		if (++idle % YIELD_EVERY == 0)
			roost_patience_lose(&held, &t->clock, THREAD_YIELDS);
	}
}

static void *turner_main(void *arg)
{
	struct roost_turner *t = arg;

	if (t->conf.take_lcore && rte_thread_register() == 0)
		t->lcore_id = rte_lcore_id();
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	pthread_barrier_wait(&t->registered);
	if (t->conf.mode == ROOST_PROGRESS_DEDICATED) {
		roost_thread_pin(t->conf.index);
		run_dedicated(t);
	} else {
		run_adaptive(t);
	}
	if (t->lcore_id != LCORE_ID_ANY)
		rte_thread_unregister();
	return NULL;
}

int roost_turner_start(const struct roost_turner_conf *conf,
		       struct roost_turner **turner)
{
	static atomic_uint nb_started;
	struct roost_turner *t;
	int ret;

	t = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct roost_turner){
		.conf = *conf,
		.worker = conf->worker,
		.lcore_id = LCORE_ID_ANY,
		.patience = atomic_fetch_add(&nb_started, 1) % PATIENCES,
	};
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake_fd < 0) {
		ret = -errno;
		goto free_turner;
	}
	pthread_barrier_init(&t->registered, NULL, 2);
	ret = roost_thread_create(&t->thread, "roost-worker", turner_main, t);
	if (ret)
		goto destroy_barrier;
	pthread_barrier_wait(&t->registered);
	*turner = t;
	return 0;
destroy_barrier:
	pthread_barrier_destroy(&t->registered);
	close(t->wake_fd);
free_turner:
	free(t);
	return ret;
}

void roost_turner_stop(struct roost_turner *t)
{
	atomic_store(&t->in.stop, true);
	roost_turner_kick(t);
	pthread_join(t->thread, NULL);
	pthread_barrier_destroy(&t->registered);
	close(t->wake_fd);
	free(t);
}
