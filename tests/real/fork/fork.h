/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_FORK_H
#define ROOST_TESTS_REAL_FORK_H

/*
 * What a child of fork(2) may do with what it inherited: every call of both
 * libraries, by name. Both ends of what is connected are in the parent
 * (tests/real/tour).
 */

#include "tests/real/tour/tour.h"

#define CHILD_S 10

/* Runs in a child; true: it answered as it should. */
typedef bool fork_check(void);

/* One exported name. check NULL: the call has no object, and is made by
 * fork_calls() with pointers to nothing in particular.
 */
struct fork_row {
	const char *name;
	fork_check *check;
};

/* Fork, run check there within CHILD_S, and return how it went: 0; 1 for false;
 * a signal's number.
 */
int fork_child(fork_check *check);
/* The version map has these names, and no others; each row holds. */
void fork_calls(const char *map_path, const struct fork_row *rows,
		void *library);

void fork__verbs_answer(void **state);
void fork__rdmacm_answers(void **state);
void fork__operations_are_exchanged(void **state);

/* Of main(): the version maps. */
extern const char *fork_verbs_map, *fork_rdmacm_map;

/* The call gives this, and errno is EIO. */
#define GIVES(call, value) (errno = 0, (call) == (value) && errno == EIO)

#endif
