/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_PACKET_SOCKET_H
#define ROOST_PMD_GLUE_KERNEL_PACKET_SOCKET_H

/*
 * A packet socket on an interface of the kernel, for a port that gets only
 * RoCEv2 from it (net_af_xdp): a packet socket that hears what a host must hear
 * besides, which is ARP, ICMP, ICMPv6, IGMP. The kernel gets these frames too,
 * so the host behaves as on a port where both see everything.
 *
 * Thread: the control thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/process/control.h"

struct roost_packet_socket {
	int fd; /* -1: closed */
	/* A frame, whose bytes may be changed. */
	void (*hear)(void *ctx, uint8_t *frame, size_t len_bytes);
	void *ctx;
	struct roost_control_client client;
};

/*
 * Hear from now on; the control thread calls hear(). Returns 0; -EPERM,
 * -ENODEV, or what socket(2) gives.
 */
int roost_packet_socket_open(
	struct roost_packet_socket *packet_socket, unsigned int ifindex,
	void (*hear)(void *ctx, uint8_t *frame, size_t len_bytes), void *ctx);
/* Does nothing the second time. */
void roost_packet_socket_close(struct roost_packet_socket *packet_socket);

#endif
