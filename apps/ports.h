/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PORTS_H
#define ROOST_APPS_PORTS_H

/*
 * `roost ports`: list the possible ports of this host, with what each needs,
 * the process that has it, and its word for --port. Opens and changes nothing.
 */

/* argv: the words after the command, NULL at the end. Returns the exit code. */
int roost_ports(char **argv);
int roost_ports_help(void);

#endif
