/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_TOP_ROWS_H
#define ROOST_APPS_TOP_ROWS_H

/*
 * What processes do per second: the difference of what they showed twice.
 */

struct json_object;

/*
 * before, now: arrays of the answers to `show` (pmd_glue/ctl/ctl.h), each with
 * "pid" and, by the caller, "threads": an array of name and cpu_ns. seconds:
 * the time between them, more than 0. What was not there before has rates of 0.
 *
 * Returns a new object with the arrays devices, workers, drops, qps and clients
 * of flat rows; rates end with "_per_s". The busiest QPs and clients come
 * first. Drops are the reasons that were ever counted.
 */
struct json_object *roost_top_rows(struct json_object *before,
				   struct json_object *now, double seconds);

#endif
