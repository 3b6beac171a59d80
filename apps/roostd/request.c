/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The sessions of clients: what they ask, and what they are told. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/roostd/admit.h"
#include "apps/roostd/crew.h"
#include "apps/roostd/port.h"
#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"

/* Requests of one client before others are served. */
#define REQUESTS_MAX 8u
/* Clients that attach before frames move again: for each, memory is made, and
 * all threads stand still.
 */
#define ATTACHES_MAX 8u
/* A client may ask so often, and has so many to spare after a rest. The next
 * one waits in its socket, which is left alone for a while.
 */
#define REQUEST_NS 50000u
#define REQUESTS_SPARE 1024u

/* ---- answers ------------------------------------------------------------- */

/* A client that does not read its socket is cut off. One whose session has
 * ended is told nothing.
 */
static void tell(struct roostd_port *port, struct roostd_client *c,
		 struct roost_share_msg *msg, const void *tail,
		 size_t tail_bytes, const int *fds)
{
	int ret = c->leaves_ns != 0 ? 0
				    : roost_share_send(c->socket, msg, tail,
						       tail_bytes, fds);

	if (ret)
		roostd_port_drop(port, c,
				 ret == -EAGAIN ? "it does not read its session"
						: NULL);
}

/* What a request is refused for with -EDQUOT. */
static const enum roostd_limit limits[ROOST_SHARE_TYPES] = {
	[ROOST_SHARE_QPNS] = ROOSTD_LIMIT_QPS,
	[ROOST_SHARE_PREFIX] = ROOSTD_LIMIT_PREFIXES,
	[ROOST_SHARE_CLAIM] = ROOSTD_LIMIT_SERVICES,
	[ROOST_SHARE_JOIN] = ROOSTD_LIMIT_MEMBERSHIPS,
};

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

	if (status == -EDQUOT)
		roostd_admit_refuse(port, c, limits[asked->type],
				    msg.reply.reason);
	tell(port, c, &msg, NULL, 0, NULL);
}

/* Write the ticket of what the client leases now. Returns its length, or 0: the
 * next daemon knows nothing of this one, or the ticket is too long.
 */
static size_t issue(struct roostd_port *port, struct roostd_client *c,
		    uint8_t ticket[ROOST_SHARE_TAIL_MAX])
{
	ptrdiff_t len;

	if (port->state.fd < 0)
		return 0;
	len = roost_lease_issue(port->lease, c->slot, ticket,
				ROOST_SHARE_TAIL_MAX);
	return len > 0 ? (size_t)len : 0;
}

/* Answer a request that has changed what the client leases: the tickets before
 * this answer's are void. A ticket that is too long for a message is not sent;
 * the client cannot come back then.
 */
static void reply_renewed(struct roostd_port *port, struct roostd_client *c,
			  const struct roost_share_msg *asked, uint64_t value)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_REPLY,
		.tag = asked->tag,
		.reply.value = value,
	};
	uint8_t ticket[ROOST_SHARE_TAIL_MAX] = { 0 };
	size_t len = issue(port, c, ticket);

	tell(port, c, &msg, ticket, len, NULL);
	if (len > 0 && !c->gone)
		roost_lease_commit(port->lease, c->slot);
}

/* ---- attach -------------------------------------------------------------- */

/* What a client leased from the daemon before. */
static int lease_again(struct roostd_port *port, struct roostd_client *c,
		       const struct roost_client_conf *conf,
		       const struct roost_share_packet *asked,
		       struct roost_share_attached *granted)
{
	const struct roost_client *leased;
	int ret = roost_lease_present(port->lease, asked->tail,
				      asked->msg.tail_bytes, conf, port->now_ns,
				      &c->slot);

	if (ret) {
		c->slot = ROOST_CLIENT_NONE;
		return ret;
	}
	c->returns = true;
	leased = &port->lease->clients[c->slot];
	granted->qpn_block = leased->blocks.first;
	granted->comm_prefix = leased->prefixes.first;
	return 0;
}

static int lease(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_client_conf *conf,
		 const struct roost_share_packet *asked,
		 struct roost_share_attached *granted)
{
	int ret;

	if (asked->msg.tail_bytes > 0)
		return lease_again(port, c, conf, asked, granted);
	ret = roost_lease_client_add(port->lease, conf, port->now_ns, &c->slot);
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
	const struct roost_client_conf *conf =
		&port->lease->clients[c->slot].conf;

	granted->client = c->slot;
	granted->seat = ROOSTD_SEAT;
	granted->node_guid = port->shape.ca_guid;
	memcpy(granted->qpn_seed, state->qpn_seed, sizeof(state->qpn_seed));
	memcpy(granted->comm_seed, state->comm_seed, sizeof(state->comm_seed));
	granted->qpn_index_bits = ROOST_LEASE_QPN_INDEX_BITS;
	granted->qpn_block_shift = ROOST_LEASE_BLOCK_SHIFT;
	granted->comm_prefix_bits = ROOST_LEASE_PREFIX_BITS;
	granted->max_qps = conf->max_qps;
	granted->max_half_open = conf->max_half_open;
	if (conf->nb_gids > 0)
		granted->own_gid = conf->gids[0];
	granted->patience_ms = (uint32_t)(port->service->patience_ns / 1000000);
	granted->vlan_id = port->shape.vlan_id;
	memcpy(granted->mac, port->shape.mac, sizeof(granted->mac));
	snprintf(granted->label, sizeof(granted->label), "%s", port->label);
}

/* May it attach? As roostd_admit(); -EBADMSG: it has no good ticket. */
static int admit(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_share_packet *asked,
		 struct roostd_admission *admission,
		 char refusal[ROOSTD_REFUSAL_MAX])
{
	struct roost_gid had;
	int ret;

	refusal[0] = '\0';
	if (asked->msg.tail_bytes == 0)
		return roostd_admit(port, c, NULL, admission, refusal);
	ret = roost_lease_ticket_addr(port->lease, asked->tail,
				      asked->msg.tail_bytes, &had);
	return ret ? ret : roostd_admit(port, c, &had, admission, refusal);
}

static void name(struct roostd_client *c,
		 const struct roost_share_packet *asked)
{
	memcpy(c->command, asked->msg.attach.command, sizeof(c->command) - 1);
	for (char *p = c->command; *p; p++)
		*p = *p >= ' ' && *p <= '~' ? *p : '?';
}

/* why: words for the user, or none. */
static void refuse(struct roostd_client *c, struct roost_share_msg *msg,
		   const char *why)
{
	if (!*why && (msg->status == -EMFILE || msg->status == -ENFILE))
		why = ROOSTD_NO_DESCRIPTORS;
	tell(c->port, c, msg, why, strlen(why), NULL);
	roostd_port_drop(c->port, c, NULL);
}

/* The client has its memories, and gets a place among the port's. */
static void enter(struct roostd_port *port, struct roostd_client *c,
		  struct roost_share_packet *asked, struct roost_share_msg *msg,
		  int doorbell)
{
	uint8_t tail[ROOST_SHARE_TAIL_MAX] = "";
	struct roostd_admission admission;
	size_t len;

	msg->status = roostd_port_take(port, c);
	if (msg->status == 0)
		msg->status = admit(port, c, asked, &admission, (char *)tail);
	if (msg->status == 0)
		msg->status =
			lease(port, c, &admission.conf, asked, &msg->attached);
	if (msg->status == 0)
		msg->status = roostd_port_enter(port, c);
	if (msg->status != 0) {
		refuse(c, msg, (char *)tail);
		return;
	}
	describe(port, c, &msg->attached);
	len = issue(port, c, tail);
	tell(port, c, msg, tail, len,
	     (const int[]){ c->ours.fd, doorbell, port->page_fd });
	if (len > 0 && !c->gone)
		roost_lease_commit(port->lease, c->slot);
}

/* The user's clients of all ports are counted, and the port may be another
 * thread's.
 */
static void hold(struct roostd_port *port, const struct roostd_client *c)
{
	roostd_crew_hold();
	if (port->now_ns < c->port->now_ns)
		port->now_ns = c->port->now_ns;
}

/* Memory takes time to make: the other threads go on meanwhile, so whether the
 * client may attach is asked before, and once more after that.
 */
static void attach(struct roostd_port *first, struct roostd_client *c,
		   struct roost_share_packet *asked)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACHED,
		.tag = asked->msg.tag,
		.status = -ENODEV,
	};
	char why[ROOSTD_REFUSAL_MAX] = "";
	struct roostd_admission admission;
	struct roostd_port *port;
	int doorbell = -1;

	if (asked->msg.attach.port >= first->nb_ports) {
		refuse(c, &msg, "");
		return;
	}
	port = &first[asked->msg.attach.port];
	name(c, asked);
	hold(port, c);
	msg.status = admit(port, c, asked, &admission, why);
	roostd_crew_let_go();
	if (msg.status == 0)
		msg.status =
			roostd_client_attach(c, &admission.shape, asked->fds[0],
					     asked->msg.attach.seat, &doorbell);
	if (msg.status == 0) {
		hold(port, c);
		enter(port, c, asked, &msg, doorbell);
		roostd_crew_let_go();
	} else {
		refuse(c, &msg, why);
	}
	if (doorbell >= 0)
		close(doorbell);
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

	if (ret)
		reply(port, c, asked, ret,
		      (struct roost_share_reply){ .value = 0 });
	else
		reply_renewed(port, c, asked, value);
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

	if (ret)
		reply(port, c, asked, ret,
		      (struct roost_share_reply){ .value = 0 });
	else
		reply_renewed(port, c, asked, wanted.service_id);
}

static int join(struct roostd_port *port, struct roostd_client *c,
		const struct roost_gid *gid)
{
	bool first;
	int ret = roost_group_join(port->lease, c->slot, gid, &first);

	if (ret || !first)
		return ret;
	ret = roostd_port_join(port, gid);
	if (ret)
		roost_group_leave(port->lease, c->slot, gid, &first);
	return ret;
}

static int leave(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_gid *gid)
{
	bool last;
	int ret = roost_group_leave(port->lease, c->slot, gid, &last);

	if (!ret && last)
		roostd_port_leave(port, gid);
	return ret;
}

static void group(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked)
{
	int ret = asked->type == ROOST_SHARE_JOIN
			  ? join(port, c, &asked->addr.dgid)
			  : leave(port, c, &asked->addr.dgid);

	reply(port, c, asked, ret, (struct roost_share_reply){ .value = 0 });
}

static void resolve(struct roostd_port *port, struct roostd_client *c,
		    const struct roost_share_msg *asked)
{
	uint32_t place = 0;
	int ret = roostd_neighs_resolve(port, c, asked, &place);

	if (ret != -EINPROGRESS)
		reply(port, c, asked, ret,
		      (struct roost_share_reply){ .value = place });
}

static void put(struct roostd_port *port, struct roostd_client *c,
		const struct roost_share_msg *asked)
{
	roostd_neighs_put(port, c, asked->index);
}

void roostd_port_answer(struct roostd_port *port)
{
	struct roostd_asked answer;
	struct roost_share_msg asked = { .type = ROOST_SHARE_RESOLVE };

	roostd_neighs_run(port);
	while (roostd_neighs_next(port, &answer)) {
		asked.tag = answer.tag;
		reply(port, answer.client, &asked, answer.status,
		      (struct roost_share_reply){ .value = answer.place });
	}
}

static void source(struct roostd_port *port, struct roostd_client *c,
		   const struct roost_share_msg *asked)
{
	struct roost_share_reply value = { .value = 0 };
	int ret = roostd_neighs_source(port, c, &asked->addr.dgid, &value.gid);

	reply(port, c, asked, ret, value);
}

void roostd_port_tell_changed(struct roostd_port *port)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_CHANGED };
	struct roostd_client *c, *next;

	for (c = LIST_FIRST(&port->clients); c; c = next) {
		next = LIST_NEXT(c, all);
		if (c->slot != ROOST_CLIENT_NONE)
			tell(port, c, &msg, NULL, 0, NULL);
	}
}

void roostd_port_recover(struct roostd_port *port)
{
	if (port->lease->nb_away > 0 && port->now_ns < port->lease->grace_at_ns)
		return;
	roostd_port_hold(port);
	roost_lease_recovering(port->lease, port->now_ns);
	port->facts.is_recovering = 0;
	roost_share_page_write(port->page, &port->facts);
	roostd_port_tell_changed(port);
}

static void ports(struct roostd_port *port, struct roostd_client *c,
		  const struct roost_share_msg *asked)
{
	reply(port, c, asked, 0,
	      (struct roost_share_reply){ .value = port->nb_ports });
}

static void back(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_share_msg *asked)
{
	(void)port;
	(void)asked;
	c->returns = false;
}

static void bye(struct roostd_port *port, struct roostd_client *c,
		const struct roost_share_msg *asked)
{
	(void)asked;
	roostd_port_drop(port, c, NULL);
}

/* weight: what it counts for; more where it changes the port on another thread,
 * or looks through the neighbours of all. changes: what the lanes read.
 */
static const struct {
	void (*handle)(struct roostd_port *port, struct roostd_client *c,
		       const struct roost_share_msg *asked);
	uint8_t weight;
	bool changes;
} requests[ROOST_SHARE_TYPES] = {
	[ROOST_SHARE_ATTACH] = { NULL, 8, false },
	[ROOST_SHARE_PORTS] = { ports, 1, false },
	[ROOST_SHARE_QPNS] = { block, 1, true },
	[ROOST_SHARE_PREFIX] = { block, 1, true },
	[ROOST_SHARE_CLAIM] = { claim, 1, true },
	[ROOST_SHARE_UNCLAIM] = { claim, 1, true },
	[ROOST_SHARE_JOIN] = { group, 8, true },
	[ROOST_SHARE_LEAVE] = { group, 8, true },
	[ROOST_SHARE_RESOLVE] = { resolve, 4, false },
	[ROOST_SHARE_PUT] = { put, 1, false },
	[ROOST_SHARE_SOURCE] = { source, 1, false },
	[ROOST_SHARE_BYE] = { bye, 1, false },
	[ROOST_SHARE_BACK] = { back, 1, false },
	[ROOST_SHARE_SEAT] = { roostd_introduce_seat, 1, false },
	[ROOST_SHARE_PARTED] = { roostd_introduce_parted, 1, false },
};

static void serve(struct roostd_port *port, struct roostd_client *c,
		  struct roost_share_packet *packet)
{
	const enum roost_share_type type = packet->msg.type;
	const bool attached = c->slot != ROOST_CLIENT_NONE;

	if (attached && requests[type].changes)
		roostd_port_hold(port);
	if (type == ROOST_SHARE_ATTACH && !attached)
		attach(port->first, c, packet);
	else if (type == ROOST_SHARE_PORTS)
		ports(port, c, &packet->msg);
	else if (type != ROOST_SHARE_ATTACH && attached)
		requests[type].handle(port, c, &packet->msg);
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

static void has_asked(const struct roostd_port *port, struct roostd_client *c,
		      enum roost_share_type type)
{
	if (c->due_ns < port->now_ns)
		c->due_ns = port->now_ns;
	c->due_ns += (uint64_t)REQUEST_NS * requests[type].weight;
}

/* What it asked could not be read. */
static void refuse_unread(struct roostd_port *port, struct roostd_client *c,
			  int status)
{
	/* Its version cannot read these words, but sees another one, too. */
	const char *why = status == -EMFILE
				  ? ROOSTD_NO_DESCRIPTORS
				  : "its program has another version of the "
				    "session; update the older one of the two";
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACHED,
		.status = status,
	};

	tell(port, c, &msg, why, strlen(why), NULL);
	roostd_port_drop(port, c, why);
}

/* A client that ends while it is paused is seen when it is read from again. */
static void serve_session(struct roostd_port *port, struct roostd_client *c)
{
	struct roost_share_packet packet;

	/* Its turn is in the next round. */
	if (c->slot == ROOST_CLIENT_NONE && port->nb_attaches >= ATTACHES_MAX)
		return;
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
		if (ret == -EPROTONOSUPPORT || ret == -EMFILE) {
			refuse_unread(port, c, ret);
			return;
		}
		if (ret == -EPROTO) {
			roostd_port_drop(port, c, strerror(-ret));
			return;
		}
		if (ret) {
			roostd_port_drop(port, c, NULL);
			return;
		}
		has_asked(port, c, packet.msg.type);
		serve(port, c, &packet);
		roost_share_packet_close(&packet);
		/* The rest is for the thread that has it now. */
		if (packet.msg.type == ROOST_SHARE_ATTACH) {
			port->nb_attaches++;
			return;
		}
	}
}

/* What it said last is heard first. */
static void process_ended(struct roostd_client *c)
{
	serve_session(c->port, c);
	if (!c->gone && c->leaves_ns == 0)
		roostd_port_drop(c->port, c, NULL);
}

void roostd_port_tagged(void *tag)
{
	const uintptr_t kind = (uintptr_t)tag & 3;
	struct roostd_client *c = (void *)((char *)tag - kind);

	if (kind == 0)
		serve_session(c->port, c);
	else if (kind == 1)
		roostd_port_rung(c->port, c);
	else
		process_ended(c);
}
