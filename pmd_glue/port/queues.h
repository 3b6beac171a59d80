/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_QUEUES_H
#define ROOST_PMD_GLUE_PORT_QUEUES_H

/*
 * The number of queues of a port, and what spreads the frames over them. Pure,
 * except for the calls of ops.
 *
 * In all cases the frames of one flow stay in one queue and in order. The queue
 * need not be that of the right worker: a worker hands frames of other workers'
 * QPs over (lib/engine/sched/steer.h). Only the speed depends on the spreading.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

enum roost_steering {
	ROOST_STEERING_NONE,     /* there is one worker */
	ROOST_STEERING_SOFTWARE, /* one queue: workers hand frames over */
	ROOST_STEERING_DRIVER,   /* the driver, or its peer */
	ROOST_STEERING_RSS,      /* the NIC, by a hash over IP and UDP */
	ROOST_STEERING_FLOW,     /* the NIC, by such a hash of RoCEv2 alone */
};

/* "none", "software", "driver", "rss", "flow". */
extern const char *const roost_steering_names[];

/* What a port can do. */
struct roost_queues_offer {
	uint16_t max_rx, max_tx;
	uint64_t rss_hf; /* of struct rte_eth_dev_info; 0: no RSS */
	bool spreads;    /* as in struct roost_driver */
	/* The number of queues is fixed: frames arrive in all of them. */
	bool fixed;
};

struct roost_queues {
	uint16_t nb;     /* each way */
	uint64_t rss_hf; /* to be configured; 0: no RSS */
	enum roost_steering steering;
};

/* Choose the number of queues, as wanted and offered, and the best steering.
 * One queue if there is no way to spread frames.
 */
struct roost_queues roost_queues_choose(const struct roost_queues_offer *offer,
					unsigned int wanted,
					unsigned int nb_workers);

/* Calls of ethdev; tests use others. */
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
 * If RSS is on and the NIC has flow rules: spread RoCEv2 over all queues, and
 * steer all other frames to the first queue. If the NIC refuses one of the
 * rules, its RSS stays as it was. The port is started, and no thread receives.
 * Writes q->steering.
 */
void roost_queues_steer(struct roost_queues *q, uint16_t port,
			uint16_t reta_size, const struct roost_queues_ops *ops);

#endif
