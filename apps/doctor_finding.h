/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_DOCTOR_FINDING_H
#define ROOST_APPS_DOCTOR_FINDING_H

/* What a step of `roost doctor` has found, and how that is shown. */

#include <stdbool.h>
#include <stdio.h>

struct json_object;

enum roost_verdict {
	ROOST_VERDICT_NOT_APPLICABLE,
	ROOST_VERDICT_OK,
	ROOST_VERDICT_WARNING,
	ROOST_VERDICT_FAILURE,
};

#define ROOST_FINDING_MAX 512

struct roost_finding {
	enum roost_verdict verdict;
	char what[ROOST_FINDING_MAX];  /* what was seen */
	char cause[ROOST_FINDING_MAX]; /* WARNING, FAILURE: what is wrong */
	char fix[ROOST_FINDING_MAX];   /* and what to do */
};

/* Write what was seen. */
void roost_finding_see(struct roost_finding *f, enum roost_verdict verdict,
		       const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Write "CAUSE; FIX", which is cut at the first semicolon, and raise the
 * verdict. A second call for a verdict that is not worse changes nothing.
 */
void roost_finding_blame(struct roost_finding *f, enum roost_verdict verdict,
			 const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The worst line of Roost's own among some ("roost: WHAT: CAUSE; FIX\n..."):
 * the last one, which is nearest to the end. line: ROOST_FINDING_MAX bytes,
 * without "roost: ". Returns false: there is none.
 */
bool roost_finding_line(const char *lines, char *line);

/* ---- all findings -------------------------------------------------------- */

/* Add a step to the list (an array). place: "machine", "port0 (...)". */
void roost_findings_add(struct json_object *list, const char *place,
			const char *step, const struct roost_finding *f);
/* The worst verdict of the list. */
enum roost_verdict roost_findings_worst(struct json_object *list);
/* As text, with a line of its own for each place. Control characters of others
 * are made safe for a terminal.
 */
void roost_findings_print(FILE *out, struct json_object *list);

#endif
