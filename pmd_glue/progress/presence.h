/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROGRESS_PRESENCE_H
#define ROOST_PMD_GLUE_PROGRESS_PRESENCE_H

/*
 * Do application threads help so seldom that packets should not wait for them?
 * (Part of a progress engine, and hot.)
 *
 * Help keeps the worker's thread out, and a packet waits for the next help
 * then. That is right for a program that polls in a loop, and wrong for one
 * that polls every 100 us: the thread answers in a tenth of that.
 *
 * An absence is a time between two helps in which nobody turned the worker,
 * longer than ROOST_PRESENCE_GAP_NS and the work of the helper. A few absences
 * without help in a loop between them make help seldom. One absence alone does
 * not, for the helper may have lost its CPU. Where the thread serves, absences
 * cannot be seen: then help is slowly believed again, and may prove the
 * contrary.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ROOST_PRESENCE_GAP_NS 3000u
/* A frame takes about so long. */
#define ROOST_PRESENCE_WORK_NS 1000u
/* No absence counts for more. */
#define ROOST_PRESENCE_ABSENCE_NS 100000u
/* Time with help makes good so many times its length, and a help after time
 * that the thread served this much.
 */
#define ROOST_PRESENCE_SHARE 2u
#define ROOST_PRESENCE_SERVED_NS 5000u
/* Help is seldom from here on; more is not counted. */
#define ROOST_PRESENCE_SELDOM_NS 400000u
#define ROOST_PRESENCE_MAX_NS 1000000u

/* Zero-filled at first. Writers: helpers; if two write at once, one's is lost.
 * Reader: the worker's thread.
 */
struct roost_presence {
	_Atomic uint64_t last_ns;   /* the last help; of the worker's clock */
	_Atomic uint64_t work_ns;   /* of helpers since last_ns */
	_Atomic uint64_t absent_ns; /* not made good yet */
};

static inline uint64_t roost_presence_get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

/* An application thread has sent frames, and did not help. */
static inline void roost_presence_work(struct roost_presence *p,
				       unsigned int frames)
{
	atomic_store_explicit(&p->work_ns,
			      roost_presence_get(&p->work_ns) +
				      (uint64_t)frames * ROOST_PRESENCE_WORK_NS,
			      memory_order_relaxed);
}

/* An application thread has helped at now_ns, and moved so many frames. Before
 * that, the last iteration was at served_ns, whoever ran it.
 */
static inline void roost_presence_help(struct roost_presence *p,
				       uint64_t served_ns, uint64_t now_ns,
				       unsigned int frames)
{
	const uint64_t last_ns = roost_presence_get(&p->last_ns);
	const uint64_t allowed_ns =
		ROOST_PRESENCE_GAP_NS + roost_presence_get(&p->work_ns);
	const uint64_t gap_ns = now_ns > last_ns ? now_ns - last_ns : 0;
	uint64_t absent_ns = roost_presence_get(&p->absent_ns);
	uint64_t good_ns = ROOST_PRESENCE_SERVED_NS;

	if (gap_ns <= allowed_ns)
		good_ns = gap_ns * ROOST_PRESENCE_SHARE;
	else if (now_ns > served_ns + allowed_ns)
		good_ns = 0;
	if (good_ns != 0)
		absent_ns -= good_ns < absent_ns ? good_ns : absent_ns;
	else if (absent_ns < ROOST_PRESENCE_MAX_NS)
		absent_ns += gap_ns < ROOST_PRESENCE_ABSENCE_NS
				     ? gap_ns
				     : ROOST_PRESENCE_ABSENCE_NS;
	atomic_store_explicit(&p->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&p->work_ns,
			      (uint64_t)frames * ROOST_PRESENCE_WORK_NS,
			      memory_order_relaxed);
	atomic_store_explicit(&p->absent_ns, absent_ns, memory_order_relaxed);
}

static inline bool roost_presence_is_seldom(const struct roost_presence *p)
{
	return roost_presence_get(&p->absent_ns) > ROOST_PRESENCE_SELDOM_NS;
}

#endif
