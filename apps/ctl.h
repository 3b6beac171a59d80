/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_H
#define ROOST_APPS_CTL_H

/*
 * `roost ctl`: show and change the devices of processes that use Roost. Each
 * process defines its own values; pmd_glue/ctl/ctl.h has the protocol.
 */

/*
 * argv: the words after `ctl`, NULL at the end. Returns enum roost_exit_code;
 * if it is not 0, one line on stderr tells why.
 */
int roost_ctl(char **argv);

/* The help text on stdout. Returns enum roost_exit_code. */
int roost_ctl_help(void);

#endif
