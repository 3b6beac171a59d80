/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_RANDOM_H
#define ROOST_CM_RDMACM_RANDOM_H

/*
 * Random numbers for connections: starting PSNs and port numbers. The kernel
 * gives them in stocks, because one connection after another would cost system
 * calls.
 */

#include <stdint.h>

/* A number that no peer can guess; 0 on a kernel that has none yet. Thread:
 * any.
 */
uint32_t roost_rdmacm_random(void);

/* In a child of a fork: what is left belongs to the parent. */
void roost_rdmacm_random_forget(void);

#endif
