/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_EXIT_CODE_H
#define ROOST_APPS_EXIT_CODE_H

/*
 * What roost exits with when no program took its place: as env(1), with the
 * 2 of a usage error apart from what went wrong later.
 */
enum roost_exit_code {
	ROOST_EXIT_OK = 0,
	ROOST_EXIT_REFUSED = 1,  /* ctl: the process, or there is none */
	ROOST_EXIT_USAGE = 2,    /* options or configuration */
	ROOST_EXIT_FAILED = 125, /* roost itself */
	ROOST_EXIT_CANNOT_RUN = 126,
	ROOST_EXIT_NOT_FOUND = 127,
};

#endif
