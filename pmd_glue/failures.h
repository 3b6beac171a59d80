/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_FAILURES_H
#define ROOST_PMD_GLUE_FAILURES_H

/*
 * What a user is told about a QP that failed by itself, if the user asks: a
 * line on stderr (key log), and a file (key failure_dir).
 */

struct roost_config;
struct roost_dev;

/* Do so for all QPs of the device, as the configuration says. If there is no
 * memory for it, one line reports that. roost_dev_unwatch_failures() ends it.
 * Thread: the control thread, before the device has QPs.
 */
void roost_failures_watch(const struct roost_config *config,
			  struct roost_dev *dev);

#endif
