/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_STEP_H
#define ROOST_APPS_ROOSTD_SWITCH_STEP_H

/*
 * The rounds of several lanes, in step. Each lane has queues of its own
 * (fair.h), and sends by a queue of the port of its own. A client has its share
 * of the port, whatever its lane, because lanes count rounds together: none is
 * ahead by more than ROOST_STEP_AHEAD rounds of one that the port refuses
 * frames of. Who would be, waits, and holds up nobody itself: where the port is
 * not full, no lane waits for another one. A lane whose frames all leave saves
 * nothing: it goes on in the round of the others. Nor does a lane that has
 * stood still for lack of a processor, but for ROOST_STEP_BEHIND rounds, and
 * after ROOST_STEP_PATIENCE_NS nobody waits for it.
 *
 * Hot: no allocation, system call, log or lock.
 *
 * Thread: the lane's; roost_step_join(): before there are several.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ROOST_STEP_LANES_MAX 16u
/* A round gives each client of weight 1 some kilobytes, and waiting costs two
 * trips between cores.
 */
#define ROOST_STEP_AHEAD 8u
#define ROOST_STEP_BEHIND 64u
#define ROOST_STEP_PATIENCE_NS 1000000u

/* What each lane says to all: its round, whether the port refuses, and that it
 * lives, by the number of its passes in which the port did.
 */
struct roost_steps {
	uint32_t nb;
	struct {
		_Alignas(64) _Atomic uint64_t word; /* writer: the lane */
	} lanes[ROOST_STEP_LANES_MAX];
};

struct roost_step {
	struct roost_steps *all; /* NULL: there is one lane */
	uint32_t number;
	uint32_t pass;
	uint64_t round; /* 1 or more */
	/* At the end of the last pass: by the port; it had frames left. */
	bool is_refused;
	bool has_more;
	bool is_held; /* by another lane, in this pass */
	/* What a lane that is behind said last, and since when. */
	struct {
		uint64_t word, since_ns;
	} seen[ROOST_STEP_LANES_MAX];
};

/* One more lane. */
void roost_step_join(struct roost_steps *all, struct roost_step *step);

/* A pass over the lane's queues begins, and ends. is_refused: the port took no
 * more of its frames. has_more: there are some that may be sent. Returns true:
 * another lane has held it.
 */
void roost_step_begin(struct roost_step *step);
bool roost_step_end(struct roost_step *step, bool is_refused, bool has_more);
/* The lane has been through its round, and wants the next one. Returns false:
 * it is to wait for another lane; is_held is set.
 */
bool roost_step_next(struct roost_step *step, uint64_t now_ns);

#endif
