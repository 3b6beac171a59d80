/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_QUEUES_H
#define ROOST_PMD_GLUE_PORT_QUEUES_H

/*
 * How many queues a port is to have, and who sees to it that frames are spread
 * over them. Pure but for what ops do.
 *
 * Whoever it is, frames of one flow stay in one queue and in order. Which one
 * is as good as chance: the workers sort what the wrong one of them received
 * (lib/engine/sched/steer.h), so that nothing but speed depends on it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

enum roost_steering {
	ROOST_STEERING_NONE,     /* there is one worker */
	ROOST_STEERING_SOFTWARE, /* one queue: workers hand over */
	ROOST_STEERING_DRIVER,   /* the driver, or what is behind it */
	ROOST_STEERING_RSS,      /* the NIC, by a hash over IP and UDP */
	ROOST_STEERING_FLOW,     /* the NIC, so for RoCEv2 alone */
};

/* "none", "software", "driver", "rss", "flow". */
extern const char *const roost_steering_names[];

/* What a port can do. */
struct roost_queues_offer {
	uint16_t max_rx, max_tx;
	uint64_t rss_hf; /* of struct rte_eth_dev_info; 0: no RSS */
	bool spreads;    /* as in struct roost_driver */
	/* Frames come in by all queues that it has, whether wanted or not. */
	bool fixed;
};

struct roost_queues {
	uint16_t nb;     /* each way */
	uint64_t rss_hf; /* to be configured; 0: no RSS */
	enum roost_steering steering;
};

/* As many as are wanted and offered, by the best way to fill them; one, where
 * there is none.
 */
struct roost_queues roost_queues_choose(const struct roost_queues_offer *offer,
					unsigned int wanted,
					unsigned int nb_workers);

/* Calls of ethdev; tests have their own. */
struct roost_queues_ops {
	int (*reta_update)(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
			   uint16_t size);
	int (*validate)(uint16_t port, const struct rte_flow_attr *attr,
			const struct rte_flow_item *pattern,
			const struct rte_flow_action *actions,
			struct rte_flow_error *error);
	struct rte_flow *(*create)(uint16_t port,
				   const struct rte_flow_attr *attr,
				   const struct rte_flow_item *pattern,
				   const struct rte_flow_action *actions,
				   struct rte_flow_error *error);
	int (*destroy)(uint16_t port, struct rte_flow *flow,
		       struct rte_flow_error *error);
};

extern const struct roost_queues_ops roost_queues_ops;

/*
 * Where RSS is on, and the NIC has rules for flows: RoCEv2 over all queues,
 * and everything else into the first one. A NIC that takes only some of that
 * keeps its RSS as it was. The port is started, and nobody receives.
 * Writes q->steering.
 */
void roost_queues_steer(struct roost_queues *q, uint16_t port,
			uint16_t reta_size, const struct roost_queues_ops *ops);

#endif
