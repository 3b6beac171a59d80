/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_FAIL_H
#define ROOST_CONFIG_FAIL_H

/*
 * Errors made for the user: one line of text. For lib/config and the launcher,
 * which reports its own errors in the same form.
 */

/*
 * Write the line to err (ROOST_CONFIG_ERR_MAX bytes). Text from users may be
 * quoted as it is: characters that would break the line become '?'. Returns
 * -EINVAL, for use in a return statement. Thread: any.
 */
int roost_config_fail(char *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The fix for a line whose cause is strerror(error), when a limit or a
 * permission of the process is the cause. Returns a constant string. Thread:
 * any.
 */
const char *roost_limit_fix(int error);

#endif
