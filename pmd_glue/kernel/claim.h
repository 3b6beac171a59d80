/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_CLAIM_H
#define ROOST_PMD_GLUE_KERNEL_CLAIM_H

/*
 * Whose an interface of the kernel is: a port on one VLAN of it has the MAC
 * address and the IP addresses there, and two that had them would answer each
 * other's traffic. So a port claims the VLANs that it is on, and who finds a
 * claim is told whose it is.
 *
 * A claim is a socket that listens under the abstract name
 * "roost/port/IFINDEX/VLAN/RANDOM". The other end of a tap, which is the
 * kernel's peer, is another thing than the interface, and has no VLANs that
 * could be parted: "roost/tap/IFINDEX/0/RANDOM". The kernel takes it back when
 * its process dies, whatever killed it; it is seen by all users in the
 * interface's network namespace and by nobody else; and it stays with an
 * interface that is renamed. An interface that is a VLAN of another one
 * (eth1.100) counts as that VLAN of the other.
 *
 * All claims of one VLAN have different names, and are found by listing them
 * (/proc/net/unix): a name that one has to have, any user could take first. Who
 * is behind a claim is asked of the kernel (SO_PEERCRED), and one counts whose
 * process could have such a port at all: of this user, of root, or with
 * CAP_NET_RAW or CAP_NET_ADMIN. What others claim is ignored.
 *
 * Two that come at the same moment may both find the other; they try again
 * after a time by chance. Thread: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A port on one VLAN, and the members of a bond, each an interface. */
#define ROOST_CLAIM_MAX 9u

enum roost_claim_kind {
	ROOST_CLAIM_PORT,
	ROOST_CLAIM_TAP,
};

/* Zero: nothing is claimed. */
struct roost_claim {
	unsigned int nb;
	int fds[ROOST_CLAIM_MAX];
};

/*
 * Claim a VLAN (0: none) of an interface, besides what claim holds already.
 * Waits for up to a tenth of a second for one that is about to be given up.
 * Returns 0; -EBUSY with its holder's pid (0: of another process namespace; our
 * own: another port of this process); -ENOSPC, or what socket(2) and bind(2)
 * give.
 */
int roost_claim_take(struct roost_claim *claim, enum roost_claim_kind kind,
		     unsigned int ifindex, uint16_t vlan_id, pid_t *holder);
/*
 * Call take() for each claim on the interface that counts, with its VLAN and
 * its holder's pid (0: of another process namespace). Thread: any.
 */
void roost_claim_each(enum roost_claim_kind kind, unsigned int ifindex,
		      void (*take)(void *arg, uint16_t vlan_id, pid_t holder),
		      void *arg);
/* All that it holds. */
void roost_claim_release(struct roost_claim *claim);
/* Take and forget those who came to ask for our pid; now and then. */
void roost_claim_serve(const struct roost_claim *claim);

#endif
