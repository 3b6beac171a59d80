/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_PORTS_H
#define ROOST_CM_RDMACM_PORTS_H

/*
 * Claims on port numbers, in each port space: in the table of this process, and
 * beyond it where the claimant says so, for devices that several processes
 * share. The rules are those of the Linux kernel's rdma_cm, except that port
 * numbers below 1024 need no privilege, because no other user can be on the
 * port.
 *
 * Thread: any; one lock around the table, which is not held during beyond's
 * functions.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/gid.h>

enum roost_rdmacm_port_space {
	ROOST_RDMACM_PS_TCP,
	ROOST_RDMACM_PS_UDP,
	ROOST_RDMACM_PS_IB,
	ROOST_RDMACM_PORT_SPACES,
};

struct roost_rdmacm_claim;
struct roost_rdmacm_device;

/* Claims beyond this process; claim->port is the number. */
struct roost_rdmacm_beyond {
	/* Returns 0; -EADDRINUSE, -EADDRNOTAVAIL, or another -errno. */
	int (*take)(const struct roost_rdmacm_claim *claim);
	void (*drop)(const struct roost_rdmacm_claim *claim);
};

/* One id's claim. All fields but link and port are the caller's to fill. */
struct roost_rdmacm_claim {
	const struct roost_rdmacm_beyond *beyond; /* NULL: no such claims */
	struct roost_rdmacm_device *device;       /* of addr; NULL: any */
	uint64_t service_base; /* service ID of port number 0 */
	enum roost_rdmacm_port_space space;
	int family;
	bool any;              /* bound to the wildcard */
	struct roost_gid addr; /* valid if not any */
	bool reuseaddr;
	bool afonly;   /* does not claim the other family's wildcard */
	uint16_t port; /* 0: none is held */
	LIST_ENTRY(roost_rdmacm_claim) link; /* while port is held */
};

/*
 * Claim port; 0: a free one of 32768..60999, beginning at a random one.
 * Returns 0 and claim->port is set; -EADDRINUSE (the address and port are
 * claimed), -EADDRNOTAVAIL (one of the two is the wildcard; or no port is
 * free), or an error of beyond.
 */
int roost_rdmacm_port_take(struct roost_rdmacm_claim *claim, uint16_t port);

/* Check that a claim made with reuseaddr may listen. Returns as
 * roost_rdmacm_port_take() would if no claim had reuseaddr.
 */
int roost_rdmacm_port_alone(const struct roost_rdmacm_claim *claim);

/* In a child of a fork: forget all claims, which are the parent's. */
void roost_rdmacm_ports_forget(void);

/* Give the port back; does nothing if the claim holds none. */
void roost_rdmacm_port_drop(struct roost_rdmacm_claim *claim);

#endif
