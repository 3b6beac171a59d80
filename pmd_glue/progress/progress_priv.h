/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_PROGRESS_PRIV_H
#define ROOST_PMD_GLUE_PROGRESS_PROGRESS_PRIV_H

/* The state of a progress engine. For this room only. */

#include <pthread.h>

#include <rte_common.h>

#include "pmd_glue/process/place.h"
#include "pmd_glue/progress/batch.h"
#include "pmd_glue/progress/crowded.h"
#include "pmd_glue/progress/fast_clock.h"
#include "pmd_glue/progress/presence.h"
#include "pmd_glue/progress/progress.h"

#define AWAKE 0u
/* Entries of backoff[]; engines share them by index. */
#define ROOST_PROGRESS_BACKOFFS 16u

struct roost_progress {
	/* Constant while it runs. */
	struct roost_progress_conf conf;
	struct roost_worker *worker; /* conf.worker */
	unsigned int lcore_id;       /* LCORE_ID_ANY: no mempool caches */
	unsigned int backoff;        /* index in backoff[] of each thread */
	int wake_fd;
	pthread_t thread;
	pthread_barrier_t registered; /* lcore_id is set */

	/* The time of iterations. Writer: the holder of the turn. */
	struct roost_fast_clock clock __rte_cache_aligned;

	/* Writers: application threads. Reader: the worker's thread. */
	struct {
		_Atomic uint32_t helps; /* changes with every help */
		struct roost_presence presence;
		atomic_bool expected; /* a thread is about to block */
		atomic_bool stop;
	} __rte_cache_aligned in;

	struct roost_batch batch __rte_cache_aligned;

	/* When the thread will look at the port again. AWAKE: it looks now, or
	 * an interrupt wakes it. Writer: the thread. Readers: helpers.
	 */
	_Atomic uint64_t blind_until_ns __rte_cache_aligned;
	/* When the thread wakes by itself, at the latest, if it sleeps on an
	 * interrupt; 0: it does not. A helper that sets an earlier timer wakes
	 * it. Writer: the thread, from its last turn before the sleep on.
	 */
	_Atomic uint64_t sleeps_until_ns;
	atomic_bool asleep;   /* wake() clears it, too */
	atomic_bool kept_out; /* asleep because application threads help */

	/* Only the worker's thread reads and writes these. */
	struct {
		uint32_t seen_helps;
		uint64_t kept_out_until_ns;
		uint64_t expect_until_ns; /* help does not keep it out */
		uint64_t last_work_ns;
		uint32_t seen_wakes; /* of roost_event_wakes */
		struct roost_fast_clock clock;
		struct roost_crowded crowded;
		struct roost_place place;
	} own __rte_cache_aligned;
};

/* help.c: one iteration with the worker's lcore id; returns how much work there
 * was. Thread: holder of the turn.
 */
unsigned int roost_progress_iterate(struct roost_progress *p);
/* wake.c: the worker's thread looks at once, if it sleeps. Thread: any. */
void roost_progress_wake(struct roost_progress *p);

#endif
