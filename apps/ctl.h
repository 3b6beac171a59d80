/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CTL_H
#define ROOST_APPS_CTL_H

/*
 * `roost ctl`: see and change the devices of processes that run over Roost.
 * What there is to see and to set is theirs; pmd_glue/ctl/ctl.h has the
 * protocol.
 */

/*
 * argv: the words behind `ctl`, NULL at the end. Returns enum roost_exit_code;
 * where that is not 0, one line on stderr has said why.
 */
int roost_ctl(char **argv);

/* The help text on stdout. Returns enum roost_exit_code. */
int roost_ctl_help(void);

#endif
