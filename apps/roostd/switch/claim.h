/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_CLAIM_H
#define ROOST_APPS_ROOSTD_SWITCH_CLAIM_H

/*
 * Claims on services and port numbers: one name space for all clients that
 * share the port's addresses, and one for each client with addresses of its
 * own. The rules between clients are those of the Linux kernel's rdma_cm, as
 * in cm/rdmacm/ports.h. Claims of one client never conflict here: its own
 * tables decide.
 *
 * A port number is claimed when an id is bound; a service when somebody listens
 * for it. Requests go to listeners only.
 *
 * Thread: the port's (crew.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/cm.h>
#include "apps/roostd/switch/lease.h"

struct roost_claim {
	/* Of a port number: the port space << 16 | the number. */
	uint64_t service_id;
	struct roost_gid addr; /* zeros: any address of the family */
	uint8_t family;        /* enum roost_cm_family */
	bool listens;          /* else: bound to a port number */
	bool reuseaddr;        /* a bound port: beside others with it */
	bool afonly;           /* does not claim the other family's wildcard */
};

/* A number is claimed where it is bound, and where it listens, and by several
 * with reuseaddr: so many claims of a client for each service that it may have.
 */
#define ROOST_CLAIMS_OF_SERVICE 4u

struct roost_claim_entry {
	LIST_ENTRY(roost_claim_entry) link;      /* of those with its hash */
	LIST_ENTRY(roost_claim_entry) of_client; /* newest first */
	struct roost_claim claim;
	uint16_t client;
	uint32_t nb; /* so many times */
};

/*
 * Claim *claim. A port number 0 that does not listen: a free one of
 * 32768..60999, written to claim->service_id; it looks at some of them, which
 * are enough unless nearly all are taken. What the client has claimed already
 * is claimed once more. Returns 0; -EADDRINUSE: the address and number are
 * claimed; -EADDRNOTAVAIL: one of the two is the wildcard, or no free port
 * number was found; -EACCES: the address is not the client's; -EDQUOT: the
 * client's limit; -EAGAIN: old clients may come back; -EINVAL; -ENOMEM.
 */
int roost_lease_claim(struct roost_lease *lease, uint16_t client,
		      struct roost_claim *claim, uint64_t now_ns);

/* Give one back. Returns 0, -ENOENT. */
int roost_lease_unclaim(struct roost_lease *lease, uint16_t client,
			const struct roost_claim *claim);
void roost_lease_unclaim_all(struct roost_lease *lease, uint16_t client);

/*
 * The client whose listener fits a request best: one for the address, for all
 * of its family, for all. to: the destination of the packet. has_ip: the
 * request has an IP addressing header with the packet's addresses; without
 * one, only listeners of ROOST_CM_FAMILY_ANY get it.
 * Returns it, or ROOST_CLIENT_NONE.
 */
uint16_t roost_lease_listener(const struct roost_lease *lease,
			      uint64_t service_id,
			      const struct roost_lease_addr *to, bool has_ip);

/* For ticket.c: without a limit, a grace or a free port number. Returns as
 * roost_lease_claim().
 */
int roost_lease_claim_enter(struct roost_lease *lease, uint16_t client,
			    const struct roost_claim *claim);

#endif
