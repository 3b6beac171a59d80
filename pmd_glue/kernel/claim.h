/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_CLAIM_H
#define ROOST_PMD_GLUE_KERNEL_CLAIM_H

/*
 * Claims: which process owns an interface of the kernel. A port on one VLAN of
 * an interface uses its MAC address and IP addresses on that VLAN; two such
 * ports would answer each other's traffic. So a port claims the VLANs that it
 * is on, and a port that finds another claim reports the pid of its holder.
 *
 * A claim is a listening socket with the abstract name
 * "roost/port/IFINDEX/VLAN/RANDOM". The other end of a tap, where the kernel is
 * the peer, is claimed apart from the interface and without a VLAN:
 * "roost/tap/IFINDEX/0/RANDOM". The kernel closes the socket when its process
 * dies. All users in the network namespace of the interface see the claim, and
 * no others. The claim stays valid if the interface is renamed. An interface
 * that is a VLAN of another one (eth1.100) counts as that VLAN of the other
 * interface.
 *
 * Each claim of one VLAN has another name; claims are found in /proc/net/unix.
 * If the name were fixed, any user could take it first. The holder's pid and
 * user come from the kernel (SO_PEERCRED). A claim counts if its process could
 * have such a port: a process of this user, of root, or with CAP_NET_RAW or
 * CAP_NET_ADMIN. Other claims are ignored.
 *
 * Two processes that claim at the same time may both find the other's claim;
 * each tries again after a random time. Thread: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The port's interface, and those of the members of a bond. */
#define ROOST_CLAIM_MAX 9u

enum roost_claim_kind {
	ROOST_CLAIM_PORT,
	ROOST_CLAIM_TAP,
};

/* The claims of one port. Zero-filled: none. */
struct roost_claim {
	unsigned int nb;
	int fds[ROOST_CLAIM_MAX];
};

/*
 * Claim a VLAN (0: none) of an interface, and add the claim to *claim. If
 * another process has claimed the VLAN, tries again for up to a tenth of a
 * second. Returns 0; -EBUSY with the holder's pid (0: of another pid namespace;
 * our own pid: another port of this process); -ENOSPC (claim is full); or the
 * error of socket(2) or bind(2).
 */
int roost_claim_take(struct roost_claim *claim, enum roost_claim_kind kind,
		     unsigned int ifindex, uint16_t vlan_id, pid_t *holder);
/*
 * Call take() for each valid claim on the interface, with its VLAN and its
 * holder's pid (0: of another pid namespace). Thread: any.
 */
void roost_claim_each(enum roost_claim_kind kind, unsigned int ifindex,
		      void (*take)(void *arg, uint16_t vlan_id, pid_t holder),
		      void *arg);
/* Give up all claims in *claim. */
void roost_claim_release(struct roost_claim *claim);
/* Accept and close the connections of processes that asked for our pid. To be
 * called now and then.
 */
void roost_claim_serve(const struct roost_claim *claim);

#endif
