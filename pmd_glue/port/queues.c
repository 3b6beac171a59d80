/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/queues.h"

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include <roost/config.h>
#include "lib/wire/frame.h"

#define HASHED_V4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP)
#define HASHED_V6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
/* No NIC that DPDK supports has a larger table. */
#define RETA_MAX RTE_ETH_RSS_RETA_SIZE_512

const char *const roost_steering_names[] = {
	[ROOST_STEERING_NONE] = "none",
	[ROOST_STEERING_SOFTWARE] = "software",
	[ROOST_STEERING_DRIVER] = "driver",
	[ROOST_STEERING_RSS] = "rss",
	[ROOST_STEERING_FLOW] = "flow",
};

const struct roost_queues_ops roost_queues_ops = {
	.reta_update = rte_eth_dev_rss_reta_update,
	.validate = rte_flow_validate,
	.create = rte_flow_create,
	.destroy = rte_flow_destroy,
};

/* ---- how many ------------------------------------------------------------ */

struct roost_queues roost_queues_choose(const struct roost_queues_offer *offer,
					unsigned int wanted,
					unsigned int nb_workers)
{
	uint64_t rss_hf = offer->rss_hf & (HASHED_V4 | HASHED_V6);
	unsigned int most = offer->max_rx;
	struct roost_queues q = { .nb = 1 };

	most = RTE_MIN(most, (unsigned int)offer->max_tx);
	most = RTE_MIN(most, (unsigned int)ROOST_WORKERS_MAX);
	if (offer->fixed)
		wanted = most;
	/* Without a way to spread frames, one queue is enough. */
	if (rss_hf != 0 || offer->spreads)
		q.nb = (uint16_t)RTE_MAX(RTE_MIN(wanted, most), 1u);
	if (q.nb > 1 && rss_hf != 0) {
		q.rss_hf = rss_hf;
		q.steering = ROOST_STEERING_RSS;
	} else if (q.nb > 1) {
		q.steering = ROOST_STEERING_DRIVER;
	} else {
		q.steering = ROOST_STEERING_SOFTWARE;
	}
	if (nb_workers <= 1)
		q.steering = ROOST_STEERING_NONE;
	return q;
}

/* ---- rules for flows ----------------------------------------------------- */

/* Spread the RSS redirection table over the first nb queues. */
static int set_reta(const struct roost_queues_ops *ops, uint16_t port,
		    uint16_t size, uint16_t nb)
{
	struct rte_eth_rss_reta_entry64
		reta[RETA_MAX / RTE_ETH_RETA_GROUP_SIZE] = { 0 };

	if (size == 0 || size > RETA_MAX)
		return -ENOTSUP;
	for (unsigned int i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *group =
			&reta[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask |= UINT64_C(1) << i % RTE_ETH_RETA_GROUP_SIZE;
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)(i % nb);
	}
	return ops->reta_update(port, reta, size);
}

/* The flow rule of one address family. */
struct rule {
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_item pattern[4];
	struct rte_flow_action_rss rss;
	struct rte_flow_action actions[2];
	uint16_t queues[ROOST_WORKERS_MAX];
};

static const struct rte_flow_attr attr = { .ingress = 1 };

static void make_rule(struct rule *r, const struct roost_queues *q,
		      enum rte_flow_item_type ip, uint64_t hashed)
{
	memset(r, 0, sizeof(*r));
	for (uint16_t i = 0; i < q->nb; i++)
		r->queues[i] = i;
	r->udp.hdr.dst_port = rte_cpu_to_be_16(ROOST_UDP_PORT);
	r->udp_mask.hdr.dst_port = UINT16_MAX;
	r->pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
	r->pattern[1].type = ip;
	r->pattern[2].type = RTE_FLOW_ITEM_TYPE_UDP;
	r->pattern[2].spec = &r->udp;
	r->pattern[2].mask = &r->udp_mask;
	r->pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
	r->rss.types = q->rss_hf & hashed;
	r->rss.queue_num = q->nb;
	r->rss.queue = r->queues;
	r->actions[0].type = RTE_FLOW_ACTION_TYPE_RSS;
	r->actions[0].conf = &r->rss;
	r->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
}

static bool is_valid(const struct roost_queues_ops *ops, uint16_t port,
		     const struct rule *r)
{
	struct rte_flow_error error;

	return r->rss.types != 0 &&
	       ops->validate(port, &attr, r->pattern, r->actions, &error) == 0;
}

/* Create both rules, or none. */
static bool create(const struct roost_queues_ops *ops, uint16_t port,
		   const struct rule rules[2])
{
	struct rte_flow_error error;
	struct rte_flow *first;

	first = ops->create(port, &attr, rules[0].pattern, rules[0].actions,
			    &error);
	if (!first)
		return false;
	if (ops->create(port, &attr, rules[1].pattern, rules[1].actions,
			&error))
		return true;
	ops->destroy(port, first, &error);
	return false;
}

/* The redirection table comes first: some NICs keep the queues of a flow rule
 * in the table, too.
 */
void roost_queues_steer(struct roost_queues *q, uint16_t port,
			uint16_t reta_size, const struct roost_queues_ops *ops)
{
	struct rule rules[2];

	if (q->steering != ROOST_STEERING_RSS)
		return;
	make_rule(&rules[0], q, RTE_FLOW_ITEM_TYPE_IPV4, HASHED_V4);
	make_rule(&rules[1], q, RTE_FLOW_ITEM_TYPE_IPV6, HASHED_V6);
	if (!is_valid(ops, port, &rules[0]) ||
	    !is_valid(ops, port, &rules[1]) ||
	    set_reta(ops, port, reta_size, 1) != 0)
		return;
	if (create(ops, port, rules))
		q->steering = ROOST_STEERING_FLOW;
	else
		set_reta(ops, port, reta_size, q->nb);
}
