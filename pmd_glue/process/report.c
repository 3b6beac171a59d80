/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void roost_report(const char *format, ...)
{
	char line[1024] = "roost: ";
	size_t len = strlen(line);
	ssize_t written;
	va_list args;

	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - 1 - len, format, args);
	va_end(args);
	/* Quoted input of users must not break the line. */
	for (; line[len]; len++)
		if ((unsigned char)line[len] < ' ')
			line[len] = '?';
	line[len++] = '\n';
	written = write(STDERR_FILENO, line, len);
	(void)written; /* an error cannot be reported */
}
