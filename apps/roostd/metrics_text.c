/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/metrics_text.h"

#include <inttypes.h>
#include <string.h>

#include "pmd_glue/ctl/json.h"

#define SECOND_NS 1000000000u
/* Of a label, besides its name and its value: a comma and ="". */
#define FRAME_LEN 4u

/* One character of a value. Returns its length in bytes; *out gets what stands
 * for it, *out_len bytes.
 */
static size_t escape(const unsigned char *s, char out[4], size_t *out_len)
{
	const size_t len = roost_json_sequence(s);

	out[0] = '\\';
	*out_len = 2;
	if (*s == '\n') {
		out[1] = 'n';
	} else if (*s == '"' || *s == '\\') {
		out[1] = (char)*s;
	} else if (len == 0 || *s < 0x20 || *s == 0x7f) {
		out[0] = '?';
		*out_len = 1;
	} else {
		memcpy(out, s, len);
		*out_len = len;
	}
	return len ? len : 1;
}

void roostd_metrics_label(struct roostd_metrics_labels *labels,
			  const char *name, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	char out[4];
	size_t out_len, len;

	if (labels->len + strlen(name) + FRAME_LEN + 1 > sizeof(labels->text))
		return;
	labels->len += (size_t)sprintf(labels->text + labels->len, "%s%s=\"",
				       labels->len ? "," : "", name);
	for (; *s; s += len) {
		len = escape(s, out, &out_len);
		/* With the quote and the NUL. */
		if (labels->len + out_len + 2 > sizeof(labels->text))
			break;
		memcpy(labels->text + labels->len, out, out_len);
		labels->len += out_len;
	}
	strcpy(labels->text + labels->len, "\"");
	labels->len++;
}

void roostd_metrics_label_u64(struct roostd_metrics_labels *labels,
			      const char *name, uint64_t value)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, value);
	roostd_metrics_label(labels, name, number);
}

static const char *suffix_of(enum roostd_metric_type type)
{
	static const char *const suffixes[] = {
		[ROOSTD_METRIC_COUNTER] = "_total",
		[ROOSTD_METRIC_GAUGE] = "",
		[ROOSTD_METRIC_INFO] = "_info",
	};

	return suffixes[type];
}

static const char *word_of(enum roostd_metric_type type, bool is_open_metrics)
{
	if (type == ROOSTD_METRIC_COUNTER)
		return "counter";
	return type == ROOSTD_METRIC_INFO && is_open_metrics ? "info" : "gauge";
}

void roostd_metrics_begin(struct roostd_metrics_text *text,
			  const struct roostd_metric *metric)
{
	const char *suffix =
		text->is_open_metrics ? "" : suffix_of(metric->type);

	text->metric = metric;
	fprintf(text->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", metric->name,
		suffix, metric->help, metric->name, suffix,
		word_of(metric->type, text->is_open_metrics));
	if (metric->unit && text->is_open_metrics)
		fprintf(text->out, "# UNIT %s %s\n", metric->name,
			metric->unit);
}

static void put_name(const struct roostd_metrics_text *text,
		     const struct roostd_metrics_labels *labels)
{
	fprintf(text->out, "%s%s", text->metric->name,
		suffix_of(text->metric->type));
	if (labels && labels->len > 0)
		fprintf(text->out, "{%s}", labels->text);
}

void roostd_metrics_put(const struct roostd_metrics_text *text,
			const struct roostd_metrics_labels *labels,
			uint64_t value)
{
	put_name(text, labels);
	fprintf(text->out, " %" PRIu64 "\n", value);
}

void roostd_metrics_put_ns(const struct roostd_metrics_text *text,
			   const struct roostd_metrics_labels *labels,
			   uint64_t ns)
{
	put_name(text, labels);
	fprintf(text->out, " %" PRIu64 ".%09" PRIu64 "\n", ns / SECOND_NS,
		ns % SECOND_NS);
}

void roostd_metrics_end(const struct roostd_metrics_text *text)
{
	if (text->is_open_metrics)
		fputs("# EOF\n", text->out);
}
