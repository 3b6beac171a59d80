/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_REPORT_H
#define ROOST_PMD_GLUE_PROCESS_REPORT_H

/*
 * What pmd_glue has to say to the user: one line on stderr for each thing that
 * went wrong, with its cause and its fix. Whoever finds the cause reports it,
 * and nobody above reports it again. Nothing ever goes to stdout.
 */

/* Write "roost: " and the text and a newline, in one write. Thread: any. */
void roost_report(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
