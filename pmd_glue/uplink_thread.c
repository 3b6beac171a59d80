/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/uplink.h"

#include <rte_lcore.h>

#include "pmd_glue/port/eal.h"

/* mempools have caches for threads with an lcore id. */
bool roost_uplink_thread_begin(void)
{
	return roost_eal_is_ours() && rte_lcore_id() == LCORE_ID_ANY &&
	       rte_thread_register() == 0;
}

void roost_uplink_thread_end(void)
{
	rte_thread_unregister();
}
