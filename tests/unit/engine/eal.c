/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "lib/wire/frame.h"
#include "tests/unit/engine/eal.h"

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, rte_strerror(rte_errno));
	exit(EXIT_FAILURE);
}

static int first_cpu(const cpu_set_t *cpus)
{
	int cpu = 0;

	while (!CPU_ISSET((size_t)cpu, cpus))
		cpu++;
	return cpu;
}

void eal_start(void)
{
	char prefix[64], lcores[64];
	char *args[] = {
		"test",           "--no-huge", "--no-shconf", "--no-pci",
		"--no-telemetry", "-m",        "192",         "--log-level=4",
		prefix,           lcores,
	};
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		die("sched_getaffinity");
	snprintf(prefix, sizeof(prefix), "--file-prefix=roost-test-%d",
		 (int)getpid());
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", first_cpu(&cpus));
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		die("EAL");
	/* EAL binds this thread, and threads inherit that. */
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		die("sched_setaffinity");
	/* Made although there is nothing to put into it. */
	rmdir(rte_eal_get_runtime_dir());
}

struct rte_mempool *eal_pool(const char *name, unsigned int nb_mbufs)
{
	struct rte_mempool *pool;

	pool = rte_pktmbuf_pool_create(name, nb_mbufs, 0, 0,
				       RTE_PKTMBUF_HEADROOM +
					       ROOST_FRAME_OVERHEAD_MAX + 4096,
				       0);
	if (pool == NULL)
		die(name);
	return pool;
}
