/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_ENGINE_EAL_H
#define ROOST_TESTS_UNIT_ENGINE_EAL_H

/*
 * EAL for tests that need mbufs: no huge pages, no devices, no files, and the
 * CPUs that the process had before.
 */

struct rte_mempool;

/* Start it, once per process. Prints why and exits when it does not. */
void eal_start(void);

/* A pool whose mbufs hold any frame of the engine. Exits when there is none. */
struct rte_mempool *eal_pool(const char *name, unsigned int nb_mbufs);

#endif
