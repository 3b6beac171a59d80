/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_FAULT_INJECT_H
#define ROOST_TESTS_REAL_FAULT_INJECT_H

/*
 * What a program asks of the preloaded library; it finds the functions by
 * dlsym(). For a program that knows nothing of it the environment says which
 * call fails: FAULT_AT.
 */

/* From here on, the n-th call that can fail does. 0: none, and what was
 * allocated before is forgotten.
 */
void fault_arm(unsigned int n);
/* Returns how many there were. */
unsigned int fault_disarm(void);
/* The function that has failed. */
const char *fault_name(void);
/* Allocations of the time while it was armed that are not freed. */
unsigned int fault_live(void);
/* Where these were made, on stderr. */
void fault_tell(void);

#endif
