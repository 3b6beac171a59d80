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
 * Write the line to err (ROOST_CONFIG_ERR_MAX bytes). What users wrote may be
 * quoted as it is: characters that would break the line become '?'.
 * Returns -EINVAL, so that it can stand behind a return. Thread: any.
 */
int roost_config_fail(char *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What to do where the process may not have what it needs: the fix in a line
 * whose cause is strerror(error). Returns a constant string. Thread: any.
 */
const char *roost_limit_fix(int error);

#endif
