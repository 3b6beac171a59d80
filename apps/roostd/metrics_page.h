/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_METRICS_PAGE_H
#define ROOST_APPS_ROOSTD_METRICS_PAGE_H

/*
 * The page of metrics: a table says which families there are, what they are
 * called and which values of a copy they have. doc/metrics.md explains them.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stdio.h>

#include "apps/roostd/metrics_copy.h"

void roostd_metrics_page(FILE *out, bool is_open_metrics,
			 const struct roostd_metrics_copy *copy);

#endif
