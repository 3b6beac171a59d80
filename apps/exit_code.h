/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_EXIT_CODE_H
#define ROOST_APPS_EXIT_CODE_H

/*
 * The exit codes of roost when it executes no other program: those of env(1),
 * and 2 for usage errors.
 */
enum roost_exit_code {
	ROOST_EXIT_OK = 0,
	ROOST_EXIT_REFUSED =
		1,            /* ctl: the process refused, or none was found */
	ROOST_EXIT_USAGE = 2, /* options or configuration */
	ROOST_EXIT_FAILED = 125, /* roost itself */
	ROOST_EXIT_CANNOT_RUN = 126,
	ROOST_EXIT_NOT_FOUND = 127,
};

#endif
