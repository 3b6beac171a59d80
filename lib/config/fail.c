/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/fail.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <roost/config.h>

int roost_config_fail(char *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, ROOST_CONFIG_ERR_MAX, format, args);
	va_end(args);
	for (char *s = err; *s; s++)
		if (iscntrl((unsigned char)*s))
			*s = '?';
	return -EINVAL;
}

const char *roost_limit_fix(int error)
{
	if (error == EMFILE)
		return "let the process have more (ulimit -n)";
	if (error == EAGAIN) /* a thread */
		return "let the user have more processes (ulimit -u)";
	return "see the limits of the process";
}
