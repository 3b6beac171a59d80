/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PORTS_H
#define ROOST_APPS_PORTS_H

/*
 * `roost ports`: what could be a port here, what each would need, whether a
 * process has it, and the word for --port. Looks, opens nothing, changes
 * nothing.
 */

/* argv: the words behind the command, NULL at the end. Returns the exit code.
 */
int roost_ports(char **argv);
int roost_ports_help(void);

#endif
