/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_DOCTOR_H
#define ROOST_APPS_DOCTOR_H

/*
 * `roost doctor`: the whole way of a program's packets, step by step, from the
 * processor to a peer, with cause and fix of what is wrong. Takes the options
 * of `roost run` for ports, and changes nothing.
 */

/* argv: the words after the command, NULL at the end. Returns the exit code. */
int roost_doctor(char **argv);
int roost_doctor_help(void);

#endif
