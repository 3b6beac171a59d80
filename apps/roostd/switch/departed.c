/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/departed.h"

#include <stdlib.h>

#include "lib/wire/bytes.h"

static uint32_t bucket_of(const struct roost_departed *departed, uint32_t id)
{
	static const struct roost_gid none;

	return roost_lease_hash(departed->hash_key, &none, id) %
	       ROOST_DEPARTED_BUCKETS;
}

void roost_departed_init(struct roost_departed *departed, uint64_t hash_key)
{
	departed->hash_key = hash_key;
	departed->nb = 0;
	for (unsigned int i = 0; i < ROOST_DEPARTED_TRIES; i++)
		TAILQ_INIT(&departed->due[i]);
	for (unsigned int i = 0; i < ROOST_DEPARTED_BUCKETS; i++)
		LIST_INIT(&departed->by_local[i]);
}

/* It is in no list of tries. */
static void forget(struct roost_departed *departed, struct roost_seen *seen)
{
	if (seen->local_id != 0)
		LIST_REMOVE(seen, by_local);
	departed->nb--;
	free(seen);
}

void roost_departed_fini(struct roost_departed *departed)
{
	struct roost_seen *seen;

	for (unsigned int i = 0; i < ROOST_DEPARTED_TRIES; i++)
		while ((seen = TAILQ_FIRST(&departed->due[i])) != NULL) {
			TAILQ_REMOVE(&departed->due[i], seen, of_client);
			forget(departed, seen);
		}
}

/* ---- taking over --------------------------------------------------------- */

static void take_over(struct roost_departed *departed,
		      struct roost_seen_table *table, struct roost_seen *seen,
		      uint64_t now_ns)
{
	roost_seen_take(table, seen);
	if (departed->nb >= ROOST_DEPARTED_MAX) {
		free(seen);
		return;
	}
	departed->nb++;
	seen->tries = 0;
	seen->at_ns = now_ns;
	TAILQ_INSERT_TAIL(&departed->due[0], seen, of_client);
	if (seen->local_id != 0)
		LIST_INSERT_HEAD(&departed->by_local[bucket_of(departed,
							       seen->local_id)],
				 seen, by_local);
}

void roost_departed_add(struct roost_departed *departed,
			struct roost_seen_table *table, uint16_t client,
			uint64_t now_ns)
{
	struct roost_seen_client *c = &table->clients[client];
	struct roost_seen *seen;

	while ((seen = TAILQ_FIRST(&c->established)) != NULL ||
	       (seen = TAILQ_FIRST(&c->ending)) != NULL ||
	       (seen = TAILQ_FIRST(&c->half_open)) != NULL)
		take_over(departed, table, seen, now_ns);
}

/* ---- telling ------------------------------------------------------------- */

static void fill(const struct roost_seen *seen, uint64_t ca_guid,
		 struct roost_cm_msg *msg)
{
	*msg = (struct roost_cm_msg){
		.type = ROOST_CM_REJ,
		.tid = seen->tid,
		.local_id = seen->local_id,
		.remote_id = seen->remote_id,
		.about = ROOST_CM_ABOUT_REQ,
		.reason = ROOST_CM_REJ_CONSUMER_DEFINED,
	};
	switch (seen->state) {
	case ROOST_SEEN_REQ_OUT:
		/* The peer finds the request by the sender's number. */
		msg->about = ROOST_CM_ABOUT_OTHER;
		msg->reason = ROOST_CM_REJ_TIMEOUT;
		msg->info_len_bytes = sizeof(ca_guid);
		roost_be64_put(msg->info, ca_guid);
		break;
	case ROOST_SEEN_REP_IN:
		msg->about = ROOST_CM_ABOUT_REP;
		break;
	case ROOST_SEEN_REQ_IN:
		break;
	case ROOST_SEEN_SIDR_IN:
		msg->type = ROOST_CM_SIDR_REP;
		msg->local_id = seen->remote_id;
		msg->status = ROOST_CM_SIDR_REJECT;
		break;
	case ROOST_SEEN_REP_OUT:
	case ROOST_SEEN_ESTABLISHED:
	case ROOST_SEEN_ENDING:
	default:
		msg->type = ROOST_CM_DREQ;
		msg->qpn = seen->remote_qpn;
		break;
	}
}

static uint64_t wait_ns(unsigned int tries)
{
	return ROOST_DEPARTED_FIRST_NS << (tries - 1);
}

static struct roost_seen *first_due(const struct roost_departed *departed)
{
	struct roost_seen *best = NULL, *seen;

	for (unsigned int i = 0; i < ROOST_DEPARTED_TRIES; i++) {
		seen = TAILQ_FIRST(&departed->due[i]);
		if (seen && (!best || seen->at_ns < best->at_ns))
			best = seen;
	}
	return best;
}

uint64_t roost_departed_next_ns(const struct roost_departed *departed)
{
	const struct roost_seen *seen = first_due(departed);

	return seen ? seen->at_ns : UINT64_MAX;
}

uint32_t roost_departed_next(struct roost_departed *departed,
			     const struct roost_sw_port *port, uint64_t now_ns,
			     uint8_t frame[ROOST_SW_GSI_FRAME_MAX])
{
	struct roost_seen *seen = first_due(departed);
	struct roost_cm_msg msg;
	uint32_t len;

	if (!seen || seen->at_ns > now_ns)
		return 0;
	fill(seen, port->ca_guid, &msg);
	len = roost_sw_compose(port, &seen->route, &msg, frame);
	TAILQ_REMOVE(&departed->due[seen->tries], seen, of_client);
	seen->tries++;
	/* A REJ has no answer. */
	if (msg.type != ROOST_CM_DREQ || seen->tries == ROOST_DEPARTED_TRIES) {
		forget(departed, seen);
		return len;
	}
	seen->at_ns = now_ns + wait_ns(seen->tries);
	TAILQ_INSERT_TAIL(&departed->due[seen->tries], seen, of_client);
	return len;
}

void roost_departed_in(struct roost_departed *departed,
		       const struct roost_sw_pkt *pkt)
{
	const struct roost_cm_msg *msg = &pkt->mad->msg;
	struct roost_seen *seen;

	if (msg->type != ROOST_CM_DREP && msg->type != ROOST_CM_REJ &&
	    msg->type != ROOST_CM_DREQ)
		return;
	LIST_FOREACH(seen,
		     &departed->by_local[bucket_of(departed, msg->remote_id)],
		     by_local) {
		if (seen->local_id != msg->remote_id ||
		    seen->remote_id != msg->local_id ||
		    !roost_gid_eq(&seen->route.peer, &pkt->frame.sgid))
			continue;
		TAILQ_REMOVE(&departed->due[seen->tries], seen, of_client);
		forget(departed, seen);
		return;
	}
}
