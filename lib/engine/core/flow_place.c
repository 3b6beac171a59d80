/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Which rules the port's NIC has, too.
 *
 * The engine compares each frame that it receives, whatever the NIC did. A rule
 * in the NIC may thus change where a frame arrives, but not who gets it:
 * - a rule that RoCE packets fit would bring all of them to one worker;
 * - a frame that the NIC drops is seen by nobody, so only the rule may want it.
 * No such rule is placed, and the order of those that are does not matter.
 */

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/flow.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/wire/frame.h"

#define BE16(number)                                                           \
	{                                                                      \
		(number) >> 8 & 0xff, (number)&0xff                            \
	}
#define UDP_TO_ROCE(type, version)                                             \
	{                                                                      \
		.ether_type = BE16(type), .ip_proto = IPPROTO_UDP,             \
		.dst_port = BE16(ROOST_UDP_PORT), .ip_version = (version),     \
		.l4 = IPPROTO_UDP,                                             \
	}

static const struct roost_flow_key all = {
	.ether_type = { 0xff, 0xff },
	.ip_proto = 0xff,
	.dst_port = { 0xff, 0xff },
	.ip_version = 0xff,
	.l4 = 0xff,
};

static const struct roost_flow_key roce[] = {
	UDP_TO_ROCE(0x0800, 4),
	UDP_TO_ROCE(0x86dd, 6),
};

/* ARP, and ICMPv6 with Neighbour Discovery. */
static const struct roost_flow_key host[] = {
	{ .ether_type = BE16(0x0806) },
	{ .ether_type = BE16(0x86dd),
	  .ip_proto = IPPROTO_ICMPV6,
	  .ip_version = 6 },
};

/* May one frame fit both? */
static bool overlap(const struct roost_flow_rule *flow,
		    const struct roost_flow_key *value,
		    const struct roost_flow_key *mask)
{
	const uint8_t *v = (const uint8_t *)value;
	const uint8_t *m = (const uint8_t *)mask;
	const uint8_t *fv = (const uint8_t *)&flow->init.value;
	const uint8_t *fm = (const uint8_t *)&flow->init.mask;

	for (size_t i = 0; i < sizeof(*value); i++)
		if (((v[i] ^ fv[i]) & m[i] & fm[i]) != 0)
			return false;
	return true;
}

static bool overlap_any(const struct roost_flow_rule *flow,
			const struct roost_flow_key *values, size_t nb)
{
	for (size_t i = 0; i < nb; i++)
		if (overlap(flow, &values[i], &all))
			return true;
	return false;
}

static bool hides(const struct roost_flow_rule *flow)
{
	return flow->init.drops && !flow->init.counters;
}

/* Does nobody want the frames that the rule drops? A NIC looks for ports behind
 * extension headers of IPv6, too, and would drop more than the rule says.
 */
static bool may_hide(const struct roost_port *port,
		     const struct roost_flow_rule *flow)
{
	const struct roost_flow_rule *other;

	if (!hides(flow) || flow->init.dont_trap || port->has_sniffers ||
	    flow->qp->dev->is_shown || overlap_any(flow, host, 2) ||
	    (flow->init.value.ip_version == 6 && flow->init.mask.l4 != 0))
		return false;
	for (other = roost_turn_list_next(&port->flows.rules);
	     other && other->rank <= flow->rank;
	     other = roost_turn_list_next(&other->link))
		if (!hides(other) &&
		    overlap(flow, &other->init.value, &other->init.mask))
			return false;
	return true;
}

static void place(const struct roost_port *port, struct roost_flow_rule *flow)
{
	const struct roost_frame_io *io = &port->frame_io;
	bool wanted = flow->init.type == ROOST_FLOW_NORMAL &&
		      !overlap_any(flow, roce, 2) &&
		      (!flow->init.drops || may_hide(port, flow));

	if (wanted && !flow->placed)
		flow->placed = io->place_rule(io->ctx, &flow->init);
	else if (!wanted)
		roost_flow_displace(port, flow);
}

void roost_flow_displace(const struct roost_port *port,
			 struct roost_flow_rule *flow)
{
	if (flow->placed)
		port->frame_io.displace_rule(port->frame_io.ctx, flow->placed);
	flow->placed = NULL;
}

void roost_flow_place(const struct roost_port *port,
		      const struct roost_flow_rule *changed)
{
	struct roost_flow_rule *flow;

	if (!port->frame_io.place_rule)
		return;
	for (flow = roost_turn_list_next(&port->flows.rules); flow;
	     flow = roost_turn_list_next(&flow->link))
		if (flow == changed ||
		    (flow->init.drops &&
		     (!changed || overlap(flow, &changed->init.value,
					  &changed->init.mask))))
			place(port, flow);
}

void roost_flow_set_shown(struct roost_dev *dev, bool shown)
{
	pthread_mutex_lock(&dev->flow_lock);
	dev->is_shown = shown;
	for (unsigned int i = 0; i < dev->nb_ports; i++)
		roost_flow_place(&dev->ports[i], NULL);
	pthread_mutex_unlock(&dev->flow_lock);
}
