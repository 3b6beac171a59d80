/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_METRICS_TEXT_H
#define ROOST_APPS_ROOSTD_METRICS_TEXT_H

/*
 * The text in which metrics are told, in either format that Prometheus reads:
 * OpenMetrics 1.0, or its own older one (version 0.0.4). They differ in the
 * names of families with a suffix, and in the end of the text.
 *
 * Thread: any, one at a time for a text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum roostd_metric_type {
	ROOSTD_METRIC_COUNTER, /* samples end in _total */
	ROOSTD_METRIC_GAUGE,
	ROOSTD_METRIC_INFO, /* 1, with what it tells in labels; _info */
};

struct roostd_metric {
	const char *name; /* without the suffix; ends with the unit */
	enum roostd_metric_type type;
	const char *unit; /* NULL: none */
	const char *help; /* one line; no backslash */
};

struct roostd_metrics_text {
	FILE *out;
	bool is_open_metrics;
	const struct roostd_metric *metric; /* whose samples follow */
};

#define ROOSTD_METRICS_LABELS_MAX 512u

/* Labels of a sample; begins with zeros. */
struct roostd_metrics_labels {
	size_t len;
	char text[ROOSTD_METRICS_LABELS_MAX];
};

/* Add a label. Of a value, bytes that are not UTF-8 and control characters but
 * the newline become "?"; what there is no room for is left out.
 */
void roostd_metrics_label(struct roostd_metrics_labels *labels,
			  const char *name, const char *value);
void roostd_metrics_label_u64(struct roostd_metrics_labels *labels,
			      const char *name, uint64_t value);

/* Begin a family: all of its samples follow. metric stays the caller's, until
 * the next family.
 */
void roostd_metrics_begin(struct roostd_metrics_text *text,
			  const struct roostd_metric *metric);
/* A sample. labels NULL: none. */
void roostd_metrics_put(const struct roostd_metrics_text *text,
			const struct roostd_metrics_labels *labels,
			uint64_t value);
void roostd_metrics_put_ns(const struct roostd_metrics_text *text,
			   const struct roostd_metrics_labels *labels,
			   uint64_t ns); /* as seconds */
void roostd_metrics_end(const struct roostd_metrics_text *text);

#endif
