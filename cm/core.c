/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The instance: its users, and its work on the control thread.
 */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cm/priv.h"
#include "cm/serve.h"
#include "lib/engine/core/lease.h"
#include "lib/event/process.h"

/* MADs in one run: a flood must not keep the control thread from its other
 * work.
 */
#define MADS_PER_RUN 256u
#define SWEEP_NS 1000000000ull
#define ID_INDEX_BITS 20u
#define FLUSH_TRIES 100 /* milliseconds */

static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, roost_cm) cms;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the service -------------------------------------------------------- */

/* Returns true if there were any. */
static bool begin_timers(struct roost_cm *cm)
{
	const bool any = !TAILQ_EMPTY(&cm->fresh);
	struct roost_cm_conn *conn;

	while ((conn = TAILQ_FIRST(&cm->fresh)) != NULL) {
		TAILQ_REMOVE(&cm->fresh, conn, fresh_link);
		conn->in_fresh = false;
		/* First, because the callback may free conn. */
		if (conn->wait_ns != 0) {
			roost_timer_set(&cm->timers, &conn->timer,
					(cm->now_ns + conn->wait_ns) >>
						ROOST_CM_TIMER_SHIFT);
			conn->wait_ns = 0;
		}
		if (conn->comm_est) {
			struct roost_cm_event event = {
				.type = ROOST_CM_ESTABLISHED,
			};

			conn->comm_est = false;
			roost_cm_tell(conn, &event);
		}
	}
	return any;
}

static void run_timers(struct roost_cm *cm)
{
	unsigned int left = UINT_MAX;
	struct roost_timer *timer;

	while ((timer = roost_timer_wheel_expired(&cm->timers,
						  cm->now_ns >>
							  ROOST_CM_TIMER_SHIFT,
						  &left)) != NULL)
		roost_cm_timer(
			(struct roost_cm_conn *)((char *)timer -
						 offsetof(struct roost_cm_conn,
							  timer)));
}

/* The next message, in the order of their coming. */
static bool next_message(struct roost_cm *cm, struct roost_gsi_msg *in)
{
	if (!cm->has_left)
		return roost_gsi_receive(cm->dev, in);
	*in = cm->left;
	cm->has_left = false;
	return true;
}

/* Returns true if there may be more. */
static bool receive(struct roost_cm *cm)
{
	struct roost_gsi_msg in;

	for (unsigned int i = 0; i < MADS_PER_RUN; i++) {
		if (cm->serving && cm->has_left)
			break;
		if (!next_message(cm, &in))
			return false;
		roost_cm_input(cm, &in);
	}
	return true;
}

/*
 * The time of the CM: it does not pass while the device stands still, because
 * peers have no way to answer then. Nor does it go back, where the control
 * thread read its clock before a thread that has served meanwhile. Returns how
 * far it is behind.
 */
static uint64_t set_time(struct roost_cm *cm, uint64_t now_ns)
{
	const uint64_t still_ns = roost_dev_still_ns(cm->dev, now_ns);

	if (cm->now_ns < now_ns - still_ns)
		cm->now_ns = now_ns - still_ns;
	if (!cm->ran) {
		cm->ran = true;
		cm->young_until_ns = cm->now_ns + ROOST_CM_YOUNG_NS;
		roost_timer_wheel_init(&cm->timers,
				       cm->now_ns >> ROOST_CM_TIMER_SHIFT);
	}
	/* What was sent last may be lost. */
	if (cm->stood_still && !roost_dev_is_still(cm->dev))
		roost_cm_repeat_all(cm);
	cm->stood_still = roost_dev_is_still(cm->dev);
	return still_ns;
}

/* Under the lock. Returns the time of the next call. */
static uint64_t work(struct roost_cm *cm, uint64_t now_ns, uint64_t still_ns)
{
	uint64_t next_ns, ask_ns, room_ns, held_ns, early_ns;
	bool more, begun;

	cm->must_run = false;
	cm->running = true;
	roost_cm_stamp(cm, now_ns);
	begun = begin_timers(cm);
	ask_ns = roost_cm_run_asking(cm);
	room_ns = roost_cm_run_unsent(cm);
	more = receive(cm);
	early_ns = roost_cm_run_early(cm);
	held_ns = roost_cm_run_held(cm);
	run_timers(cm);
	if (cm->now_ns >= cm->sweep_at_ns) {
		roost_cm_sweep(cm);
		cm->sweep_at_ns = cm->now_ns + SWEEP_NS;
	}
	begun |= begin_timers(cm);
	next_ns = roost_timer_wheel_next_ns(&cm->timers);
	if (next_ns != UINT64_MAX)
		next_ns <<= ROOST_CM_TIMER_SHIFT;
	if (!LIST_EMPTY(&cm->hops) && cm->sweep_at_ns < next_ns)
		next_ns = cm->sweep_at_ns;
	if (ask_ns < next_ns)
		next_ns = ask_ns;
	if (held_ns < next_ns)
		next_ns = held_ns;
	if (early_ns < next_ns)
		next_ns = early_ns;
	if (!TAILQ_EMPTY(&cm->unsent) && cm->now_ns + room_ns < next_ns)
		next_ns = cm->now_ns + room_ns;
	/* Where there was one call there are more: for their timers. */
	if (begun)
		cm->begin_at_ns = cm->now_ns + ROOST_CM_BEGIN_NS;
	cm->soon = cm->now_ns < cm->begin_at_ns && !cm->stood_still;
	if (cm->soon && cm->begin_at_ns < next_ns)
		next_ns = cm->begin_at_ns;
	if (next_ns != UINT64_MAX)
		next_ns += still_ns;
	/* The services run when it goes on. */
	if (cm->stood_still)
		next_ns = UINT64_MAX;
	if (more || cm->must_run)
		next_ns = now_ns;
	cm->running = false;
	return next_ns;
}

static uint64_t run(void *arg, uint64_t now_ns)
{
	struct roost_cm *cm = arg;
	uint64_t next_ns = UINT64_MAX, still_ns;

	roost_cm_lock(cm);
	if (cm->running) {
		/* A thread that serves wakes this one when it is done. */
		cm->must_run = true;
	} else {
		cm->must_run = false;
		still_ns = set_time(cm, now_ns);
		if (roost_cm_run_news(cm))
			next_ns = work(cm, now_ns, still_ns);
	}
	cm->due_ns = next_ns;
	roost_cm_unlock(cm);
	return next_ns;
}

void roost_cm_serve(struct roost_cm *cm, uint64_t now_ns)
{
	bool wake = true;
	uint64_t still_ns;

	roost_cm_lock(cm);
	/* The control thread is at it, or has to be first. */
	if (!cm->running && cm->ran) {
		cm->serving = true;
		still_ns = set_time(cm, now_ns);
		wake = roost_cm_run_news(cm) &&
		       work(cm, now_ns, still_ns) < cm->due_ns;
		cm->serving = false;
	}
	cm->must_run |= wake;
	roost_cm_unlock(cm);
}

/* ---- life --------------------------------------------------------------- */

static void flush(void *arg);

static bool id_reserved(uint32_t id)
{
	return id == 0;
}

/* Communication IDs of the lease have its prefix. At least two bits are left
 * for generations.
 */
static int make_ids(struct roost_cm *cm, const uint64_t secret[2])
{
	const struct roost_leases *leases = roost_dev_leases(cm->dev);
	unsigned int index_bits = ID_INDEX_BITS;
	int ret;

	if (!leases)
		return roost_idmap_init(&cm->ids, 32, index_bits, secret,
					id_reserved);
	if (leases->cm_prefix_bits > 30 - index_bits)
		index_bits = 30 - leases->cm_prefix_bits;
	ret = roost_idmap_init(&cm->ids, 32, index_bits, leases->cm_key,
			       id_reserved);
	if (!ret)
		roost_idmap_set_prefix(&cm->ids, leases->cm_prefix_bits,
				       leases->cm_prefix);
	return ret;
}

static int make_tables(struct roost_cm *cm)
{
	uint64_t secret[5];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	/* The buckets are empty as calloc() made them: no page of them is
	 * touched before it is used.
	 */
	cm->peer_ids.secret = secret[0];
	cm->peer_qpns.secret = secret[1];
	cm->sidrs.secret = secret[2];
	return make_ids(cm, &secret[3]);
}

static int create(struct roost_dev *dev, struct roost_cm **out)
{
	struct roost_cm *cm = calloc(1, sizeof(*cm));
	int ret;

	if (!cm)
		return -ENOMEM;
	cm->dev = dev;
	LIST_INIT(&cm->listeners);
	LIST_INIT(&cm->conns);
	LIST_INIT(&cm->hops);
	LIST_INIT(&cm->watches);
	cm->gid_gen = roost_dev_gid_gen(dev);
	cm->up_gen = roost_dev_up_gen(dev);
	TAILQ_INIT(&cm->fresh);
	LIST_INIT(&cm->noted);
	TAILQ_INIT(&cm->asking);
	TAILQ_INIT(&cm->held);
	TAILQ_INIT(&cm->early);
	TAILQ_INIT(&cm->unsent);
	roost_cm_peers_init(cm);
	ret = make_tables(cm);
	if (ret)
		goto free_cm;
	ret = roost_gsi_open(dev);
	if (ret)
		goto fini_tables;
	pthread_mutex_init(&cm->lock, NULL);
	pthread_cond_init(&cm->told, NULL);
	cm->service = (struct roost_dev_service){
		.run = run,
		.flush = flush,
		.view = roost_cm_view,
		.arg = cm,
	};
	roost_dev_service_add(dev, &cm->service);
	*out = cm;
	return 0;
fini_tables:
	roost_idmap_fini(&cm->ids);
free_cm:
	free(cm);
	return ret;
}

static void destroy(struct roost_cm *cm)
{
	struct roost_cm_conn *conn;

	roost_dev_service_remove(cm->dev, &cm->service);
	roost_cm_lock(cm);
	while ((conn = LIST_FIRST(&cm->conns)) != NULL)
		roost_cm_conn_free(conn);
	roost_cm_unlock(cm);
	roost_cm_forget_early(cm);
	roost_gsi_close(cm->dev);
	roost_idmap_fini(&cm->ids);
	pthread_cond_destroy(&cm->told);
	pthread_mutex_destroy(&cm->lock);
	free(cm);
}

/* Under the lock of all, as the next two. */
static struct roost_cm *find(const struct roost_dev *dev)
{
	struct roost_cm *cm;

	LIST_FOREACH(cm, &all.cms, link)
		if (cm->dev == dev)
			break;
	return cm;
}

static int find_or_create(struct roost_dev *dev, struct roost_cm **cm)
{
	int ret;

	*cm = find(dev);
	if (*cm)
		return 0;
	ret = create(dev, cm);
	if (ret == 0)
		LIST_INSERT_HEAD(&all.cms, *cm, link);
	return ret;
}

static void destroy_unused(struct roost_cm *cm)
{
	if (cm->refs != 0 || cm->is_resident)
		return;
	LIST_REMOVE(cm, link);
	destroy(cm);
}

int roost_cm_get(struct roost_dev *dev, struct roost_cm **cm)
{
	int ret;

	pthread_mutex_lock(&all.lock);
	ret = find_or_create(dev, cm);
	if (ret == 0)
		(*cm)->refs++;
	pthread_mutex_unlock(&all.lock);
	return ret;
}

/*
 * The process or the CM ends: send one DREQ for every established connection,
 * and one REJ for every connection that is being set up, without waiting for
 * answers. Thread: any.
 */
static void flush(void *arg)
{
	struct roost_cm *cm = arg;
	struct roost_cm_conn *conn;

	/* At exit, a thread that has been terminated may hold the lock for
	 * ever.
	 */
	for (int i = 0; pthread_mutex_trylock(&cm->lock) != 0; i++) {
		if (i == FLUSH_TRIES)
			return;
		usleep(1000);
	}
	LIST_FOREACH(conn, &cm->conns, all_link)
		if (conn->owned)
			roost_cm_conn_abandon(conn);
	roost_cm_unlock(cm);
}

void roost_cm_put(struct roost_cm *cm)
{
	pthread_mutex_lock(&all.lock);
	if (--cm->refs == 0) {
		flush(cm);
		destroy_unused(cm);
	}
	pthread_mutex_unlock(&all.lock);
}

/* ---- of each device ------------------------------------------------------ */

static int move_in(struct roost_dev *dev)
{
	struct roost_cm *cm;
	int ret;

	pthread_mutex_lock(&all.lock);
	ret = find_or_create(dev, &cm);
	if (ret == 0)
		cm->is_resident = true;
	pthread_mutex_unlock(&all.lock);
	return ret;
}

static void move_out(struct roost_dev *dev)
{
	struct roost_cm *cm;

	pthread_mutex_lock(&all.lock);
	cm = find(dev);
	if (cm) {
		cm->is_resident = false;
		destroy_unused(cm);
	}
	pthread_mutex_unlock(&all.lock);
}

/* In a forked child: its parent's are dead. */
static void forget(void)
{
	pthread_mutex_init(&all.lock, NULL);
	LIST_INIT(&all.cms);
}

__attribute__((constructor)) static void introduce(void)
{
	static const struct roost_dev_resident resident = {
		.begin = move_in,
		.end = move_out,
	};
	static struct roost_process_child child = { .run = forget };

	roost_dev_resident_set(&resident);
	roost_process_at_child(&child);
}

/* ---- counters ----------------------------------------------------------- */

void roost_cm_counters(struct roost_cm *cm, struct roost_cm_counters *counters)
{
	roost_cm_lock(cm);
	*counters = cm->counters;
	counters->nb_conns = cm->nb_conns;
	counters->nb_half_open = cm->nb_half_open;
	counters->nb_timewait = cm->nb_timewait;
	roost_cm_unlock(cm);
}
