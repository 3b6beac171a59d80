/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_LEASE_H
#define ROOST_ENGINE_CORE_LEASE_H

/*
 * What the opener of a device leases for it, where several processes share the
 * numbers and services of one port: ranges of QPNs and of communication IDs,
 * and claims on services. A device without leases draws its numbers from the
 * whole range, and its claims are granted.
 *
 * A leased number is what roost_idmap_permute() makes of a value under a key
 * that the lessor knows: the lessor inverts it and finds the value's range, and
 * so the lessee. Key and number of index bits are the lessor's choice; they are
 * constant for the life of the device.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_dev;

/* What is claimed: a service at an address. */
struct roost_service_claim {
	uint64_t id;
	struct roost_gid addr; /* zeros: any address of the family */
	uint8_t family;        /* enum roost_cm_family */
	bool listens;          /* else: an id is bound to its port number */
	bool reuseaddr;        /* a bound port number: beside others with it */
	bool afonly;           /* does not claim the other family's wildcard */
};

struct roost_leases {
	void *ctx; /* passed to every function */
	/* QPNs: the value is generation << qpn_index_bits | index, and the
	 * generation is the lessee's. 10 < qpn_index_bits < 24.
	 */
	uint64_t qpn_key[2];
	unsigned int qpn_index_bits;
	/* Lease one more range of QPN indices, *first to *first + *nb - 1, for
	 * the life of the device; *nb > 0. Called early, so that numbers are
	 * not reused soon. When it fails, indices that are free serve, and
	 * without one a QP cannot be created (-ENOMEM). Returns 0, or -errno.
	 * May block. Thread: application threads, several at a time; they hold
	 * no turn.
	 */
	int (*lease_qpns)(void *ctx, uint32_t *first, uint32_t *nb);
	/* Communication IDs: the upper cm_prefix_bits bits of the value are
	 * cm_prefix, the others are the lessee's. cm_prefix_bits <= 14.
	 */
	uint64_t cm_key[2];
	uint32_t cm_prefix;
	unsigned int cm_prefix_bits;
	/* Claim a service until it is released; NULL: claims are granted. A
	 * claim that this process has already is counted. Returns 0;
	 * -EADDRINUSE, -EADDRNOTAVAIL (another process has it at an overlapping
	 * address), or another -errno. May block. Thread: application threads,
	 * several at a time.
	 */
	int (*claim)(void *ctx, const struct roost_service_claim *service);
	void (*release)(void *ctx, const struct roost_service_claim *service);
};

/* Of this device; NULL: none. Thread: any. */
const struct roost_leases *roost_dev_leases(const struct roost_dev *dev);

/* Claim and release as in struct roost_leases; a device without leases grants
 * every claim. Thread: application threads.
 */
int roost_dev_claim(const struct roost_dev *dev,
		    const struct roost_service_claim *service);
void roost_dev_release(const struct roost_dev *dev,
		       const struct roost_service_claim *service);

#endif
