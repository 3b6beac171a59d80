/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_REPORT_H
#define ROOST_PMD_GLUE_PROCESS_REPORT_H

/*
 * Errors for the user: one line on stderr for each error, with cause and fix.
 * The function that finds the cause reports it, and its callers do not report
 * it again. Nothing goes to stdout.
 */

/* Write "roost: " and the text and a newline, in one write. Thread: any. */
void roost_report(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
