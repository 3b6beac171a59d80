/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_NIC_RULES_H
#define ROOST_PMD_GLUE_PORT_NIC_RULES_H

/*
 * The flow rules of programs in a NIC (rte_flow): their frames arrive in the
 * first queue, which is that of the first worker, or nowhere. The engine judges
 * whatever arrives (lib/engine/core/flow_place.c); so a rule that the NIC
 * refuses is only counted, and all rules have one priority, the only one that
 * many NICs have.
 *
 * A stop of the port ends its rules in the NIC; start makes them again.
 *
 * Thread: any; start and stop: the control thread.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/engine/core/flow.h"
#include "pmd_glue/port/queues.h"

struct roost_nic_rule {
	LIST_ENTRY(roost_nic_rule) link;
	struct roost_flow_key value, mask;
	bool drops;
	bool refused;
	struct rte_flow *flow; /* NULL: not in the NIC */
};

/* All zero: no rules, not started. */
struct roost_nic_rules {
	pthread_mutex_t lock;
	/* Under lock. */
	LIST_HEAD(, roost_nic_rule) list;
	const struct roost_queues_ops *ops; /* NULL: not started */
	uint16_t port;
	bool spreads;
	/* For people. */
	_Atomic uint32_t nb_placed, nb_refused;
};

/* The port is started. spreads: frames other than RoCE arrive in several
 * queues; if not, only rules that drop are of use to the NIC.
 */
void roost_nic_rules_start(struct roost_nic_rules *rules, uint16_t port,
			   bool spreads, const struct roost_queues_ops *ops);
/* Before the port is stopped. */
void roost_nic_rules_stop(struct roost_nic_rules *rules);

/* Returns NULL if there is no memory. */
struct roost_nic_rule *
roost_nic_rules_add(struct roost_nic_rules *rules,
		    const struct roost_flow_rule_init *init);
void roost_nic_rules_del(struct roost_nic_rules *rules,
			 struct roost_nic_rule *rule);

#endif
