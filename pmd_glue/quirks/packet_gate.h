/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_PACKET_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_PACKET_GATE_H

/*
 * The packet gate: between DPDK's net_af_packet and the kernel. It gives two
 * properties that the driver lacks:
 *
 * - A thread can sleep until packets arrive. The driver offers no RX interrupt,
 *   but its sockets are readable when there are packets. The gate records their
 *   descriptors.
 * - CAP_NET_RAW is enough. When a port starts, the driver sets the MAC address
 *   and the flags that the interface already has, which needs CAP_NET_ADMIN.
 *   The gate skips requests that change nothing. Promiscuous mode is set on the
 *   socket, not on the interface: it ends with the process, and does not clear
 *   the mode that an administrator has set.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: the driver offers its sockets as RX interrupts, and joins
 * promiscuous mode by PACKET_ADD_MEMBERSHIP.
 *
 * Thread: the control thread, and the one that opens or starts a port; calls
 * about one port at a time.
 */

#include <sys/queue.h>

#define ROOST_PACKET_QUEUES_MAX 16u

/* One port. */
struct roost_packet {
	unsigned int ifindex; /* of its sockets; 0: there are none */
	unsigned int nb_sockets;
	/* By queue. Readable: there are packets. The driver owns them. */
	int socket_fds[ROOST_PACKET_QUEUES_MAX];
	LIST_ENTRY(roost_packet) link; /* from open to close */
};

#endif
