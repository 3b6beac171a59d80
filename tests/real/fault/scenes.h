/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_FAULT_SCENES_H
#define ROOST_TESTS_REAL_FAULT_SCENES_H

/*
 * Short programs, in one function each: open, connect, send a message to
 * oneself, close. Any call in them may fail, and then they give back what they
 * have and return false. They wait for nothing for longer than some seconds.
 */

#include <stdbool.h>

/* The first device, which has the address. */
bool scene_verbs(const char *address);
bool scene_cm(const char *address);
bool scene_rsocket(const char *address);

#endif
