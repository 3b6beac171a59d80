/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The sessions of clients: what they ask, and what they are told. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/roostd/port.h"
#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"

/* Requests of one client before others are served. */
#define REQUESTS_MAX 8u
/* A client may ask so often, and has so many to spare after a rest. The next
 * one waits in its socket, which is left alone for a while.
 */
#define REQUEST_NS 50000u
#define REQUESTS_SPARE 1024u

static const struct roost_client_conf policy = {
	.max_qps = 100000,
	.max_prefixes = 64,
	.max_services = 4096,
	.max_groups = 1024,
	.max_conns = 65536,
	.max_half_open = 1024,
	.weight = 1,
};

/* ---- answers ------------------------------------------------------------- */

/* A client that does not read its socket is cut off. */
static void tell(struct roostd_port *port, struct roostd_client *c,
		 struct roost_share_msg *msg, const void *tail,
		 size_t tail_bytes, const int *fds)
{
	int ret = roost_share_send(c->socket, msg, tail, tail_bytes, fds);

	if (ret)
		roostd_port_drop(port, c,
				 ret == -EAGAIN ? "it does not read its session"
						: NULL);
}

static void reply(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked, int status,
		  struct roost_share_reply value)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_REPLY,
		.tag = asked->tag,
		.status = status,
		.reply = value,
	};

	tell(port, c, &msg, NULL, 0, NULL);
}

/* Write the ticket of what the client leases now. Returns its length, or 0. */
static size_t issue(struct roostd_port *port, struct roostd_client *c,
		    uint8_t ticket[ROOST_SHARE_TAIL_MAX])
{
	ptrdiff_t len = roost_lease_issue(port->lease, c->slot, ticket,
					  ROOST_SHARE_TAIL_MAX);

	return len > 0 ? (size_t)len : 0;
}

/* What it leases has changed: the tickets before are void. A ticket that is too
 * long for a message is not sent; the client cannot come back then.
 */
static void renew(struct roostd_port *port, struct roostd_client *c)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_TICKET };
	uint8_t ticket[ROOST_SHARE_TAIL_MAX];
	size_t len;

	if (c->gone)
		return;
	len = issue(port, c, ticket);
	if (len == 0)
		return;
	tell(port, c, &msg, ticket, len, NULL);
	if (!c->gone)
		roost_lease_commit(port->lease, c->slot);
}

/* ---- attach -------------------------------------------------------------- */

static int lease(struct roostd_port *port, struct roostd_client *c,
		 struct roost_share_attached *granted)
{
	struct roost_client_conf conf = policy;
	int ret;

	conf.uid = c->uid;
	ret = roost_lease_client_add(port->lease, &conf, port->now_ns,
				     &c->slot);
	if (ret) {
		c->slot = ROOST_CLIENT_NONE;
		return ret;
	}
	ret = roost_lease_block(port->lease, c->slot, port->now_ns,
				&granted->qpn_block);
	if (!ret)
		ret = roost_lease_prefix(port->lease, c->slot, port->now_ns,
					 &granted->comm_prefix);
	return ret;
}

static void describe(const struct roostd_port *port,
		     const struct roostd_client *c,
		     struct roost_share_attached *granted)
{
	const struct roost_lease_state *state = port->lease->state;

	granted->client = c->slot;
	granted->seat = ROOSTD_SEAT;
	granted->node_guid = port->shape.ca_guid;
	memcpy(granted->qpn_seed, state->qpn_seed, sizeof(state->qpn_seed));
	memcpy(granted->comm_seed, state->comm_seed, sizeof(state->comm_seed));
	granted->qpn_index_bits = ROOST_LEASE_QPN_INDEX_BITS;
	granted->qpn_block_shift = ROOST_LEASE_BLOCK_SHIFT;
	granted->comm_prefix_bits = ROOST_LEASE_PREFIX_BITS;
	granted->max_qps = policy.max_qps;
	granted->max_half_open = policy.max_half_open;
	granted->vlan_id = port->shape.vlan_id;
	memcpy(granted->mac, port->shape.mac, sizeof(granted->mac));
	snprintf(granted->label, sizeof(granted->label), "%s", port->label);
}

static void attach(struct roostd_port *port, struct roostd_client *c,
		   struct roost_share_packet *asked)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACHED,
		.tag = asked->msg.tag,
	};
	uint8_t ticket[ROOST_SHARE_TAIL_MAX];
	int doorbell = -1, ret;
	size_t len = 0;

	memcpy(c->command, asked->msg.attach.command, sizeof(c->command) - 1);
	for (char *p = c->command; *p; p++)
		*p = *p >= ' ' && *p <= '~' ? *p : '?';
	ret = roostd_client_attach(c, asked->fds[0], asked->msg.attach.seat,
				   &doorbell);
	if (!ret)
		ret = lease(port, c, &msg.attached);
	if (!ret)
		ret = roostd_port_enter(port, c);
	if (!ret) {
		describe(port, c, &msg.attached);
		len = issue(port, c, ticket);
	}
	msg.status = ret;
	tell(port, c, &msg, ticket, len,
	     (const int[]){ c->ours.fd, doorbell, port->page_fd });
	if (doorbell >= 0)
		close(doorbell);
	if (ret)
		roostd_port_drop(port, c, NULL);
	else if (!c->gone)
		roost_lease_commit(port->lease, c->slot);
}

/* ---- requests ------------------------------------------------------------ */

static void block(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked)
{
	uint32_t value = 0;
	int ret = asked->type == ROOST_SHARE_QPNS
			  ? roost_lease_block(port->lease, c->slot,
					      port->now_ns, &value)
			  : roost_lease_prefix(port->lease, c->slot,
					       port->now_ns, &value);

	reply(port, c, asked, ret,
	      (struct roost_share_reply){ value, { { 0 } } });
	if (!ret)
		renew(port, c);
}

static void claim(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked)
{
	struct roost_claim wanted = {
		.service_id = asked->claim.service_id,
		.addr = asked->claim.addr,
		.family = asked->claim.family,
		.listens = asked->claim.listens != 0,
		.reuseaddr = asked->claim.reuseaddr != 0,
		.afonly = asked->claim.afonly != 0,
	};
	int ret = asked->type == ROOST_SHARE_CLAIM
			  ? roost_lease_claim(port->lease, c->slot, &wanted,
					      port->now_ns)
			  : roost_lease_unclaim(port->lease, c->slot, &wanted);

	reply(port, c, asked, ret,
	      (struct roost_share_reply){ wanted.service_id, { { 0 } } });
	if (!ret)
		renew(port, c);
}

static void group(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked)
{
	bool edge; /* a hub joins no group */
	int ret = asked->type == ROOST_SHARE_JOIN
			  ? roost_group_join(port->lease, c->slot,
					     &asked->addr.dgid, &edge)
			  : roost_group_leave(port->lease, c->slot,
					      &asked->addr.dgid, &edge);

	reply(port, c, asked, ret, (struct roost_share_reply){ 0 });
	if (!ret)
		renew(port, c);
}

/* In a hub, the own addresses are all that there is. */
static int way(const struct roostd_port *port, const struct roostd_client *c,
	       const struct roost_gid *dgid)
{
	const struct roost_lease_addr *addr =
		roost_lease_addr_find(port->lease, dgid);

	return addr && roost_lease_addr_is_of(port->lease, addr, c->slot)
		       ? 0
		       : -EHOSTUNREACH;
}

static void resolve(struct roostd_port *port, struct roostd_client *c,
		    const struct roost_share_msg *asked)
{
	reply(port, c, asked, way(port, c, &asked->addr.dgid),
	      (struct roost_share_reply){ 0 });
}

static void source(struct roostd_port *port, struct roostd_client *c,
		   const struct roost_share_msg *asked)
{
	/* To ourselves from the address itself. */
	reply(port, c, asked, way(port, c, &asked->addr.dgid),
	      (struct roost_share_reply){ .gid = asked->addr.dgid });
}

static void bye(struct roostd_port *port, struct roostd_client *c,
		const struct roost_share_msg *asked)
{
	(void)asked;
	roostd_port_drop(port, c, NULL);
}

static void nothing(struct roostd_port *port, struct roostd_client *c,
		    const struct roost_share_msg *asked)
{
	(void)port;
	(void)c;
	(void)asked;
}

static void (*const handlers[ROOST_SHARE_TYPES])(
	struct roostd_port *port, struct roostd_client *c,
	const struct roost_share_msg *asked) = {
	[ROOST_SHARE_QPNS] = block,      [ROOST_SHARE_PREFIX] = block,
	[ROOST_SHARE_CLAIM] = claim,     [ROOST_SHARE_UNCLAIM] = claim,
	[ROOST_SHARE_JOIN] = group,      [ROOST_SHARE_LEAVE] = group,
	[ROOST_SHARE_RESOLVE] = resolve, [ROOST_SHARE_PUT] = nothing,
	[ROOST_SHARE_SOURCE] = source,   [ROOST_SHARE_BYE] = bye,
};

static void serve(struct roostd_port *port, struct roostd_client *c,
		  struct roost_share_packet *packet)
{
	const enum roost_share_type type = packet->msg.type;
	const bool attached = c->slot != ROOST_CLIENT_NONE;

	if (type == ROOST_SHARE_ATTACH && !attached)
		attach(port, c, packet);
	else if (type != ROOST_SHARE_ATTACH && attached)
		handlers[type](port, c, &packet->msg);
	else if (type != ROOST_SHARE_BYE)
		roostd_port_drop(port, c, "a message out of order");
	else
		roostd_port_drop(port, c, NULL);
}

static bool may_ask(const struct roostd_port *port,
		    const struct roostd_client *c)
{
	return c->due_ns < port->now_ns + (uint64_t)REQUESTS_SPARE * REQUEST_NS;
}

static void has_asked(const struct roostd_port *port, struct roostd_client *c)
{
	if (c->due_ns < port->now_ns)
		c->due_ns = port->now_ns;
	c->due_ns += REQUEST_NS;
}

/* A client that ends while it is paused is seen when it is read from again. */
void roostd_port_session(struct roostd_port *port, struct roostd_client *c)
{
	struct roost_share_packet packet;

	for (unsigned int i = 0;
	     i < REQUESTS_MAX && !c->gone && c->leaves_ns == 0 && !c->paused;
	     i++) {
		int ret;

		if (!may_ask(port, c)) {
			roostd_port_pause(port, c);
			return;
		}
		ret = roost_share_receive(c->socket, false, &packet);

		if (ret == -EAGAIN || ret == -EINTR)
			return;
		if (ret == -EPROTO || ret == -EPROTONOSUPPORT ||
		    ret == -EMFILE) {
			roostd_port_drop(port, c, strerror(-ret));
			return;
		}
		if (ret) {
			roostd_port_drop(port, c, NULL);
			return;
		}
		has_asked(port, c);
		serve(port, c, &packet);
		roost_share_packet_close(&packet);
	}
}
