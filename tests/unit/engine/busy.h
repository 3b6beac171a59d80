/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_ENGINE_BUSY_H
#define ROOST_TESTS_UNIT_ENGINE_BUSY_H

/*
 * Has a worker something to do still, or to wait for? For tests that run until
 * nothing is left. Thread: nobody else has the turn.
 */

#include <stdbool.h>

struct roost_worker;

/* True if QPs of the worker have requests in flight, or it has frames that the
 * port has not taken.
 */
bool worker_is_busy(struct roost_worker *w);

#endif
