/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_PACKET_SOCKET_H
#define ROOST_PMD_GLUE_KERNEL_PACKET_SOCKET_H

/*
 * A packet socket (packet(7)) on an interface of the kernel, for a port that
 * receives only RoCEv2 from this interface (net_af_xdp). The socket receives
 * the other frames that Roost's host needs: ARP, ICMP, ICMPv6, IGMP. The kernel
 * receives them, too, so the host behaves as on a port that shares all frames
 * with the kernel.
 *
 * Thread: the control thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/process/control.h"

struct roost_packet_socket {
	int fd; /* -1: closed */
	/* Takes a received frame; may change its bytes. */
	void (*receive)(void *ctx, uint8_t *frame, size_t len_bytes);
	void *ctx;
	struct roost_control_client client;
};

/*
 * Open the socket. From now on the control thread calls receive(ctx, ...) for
 * each frame. Returns 0; -EPERM, -ENODEV, or the error of socket(2).
 */
int roost_packet_socket_open(struct roost_packet_socket *packet_socket,
			     unsigned int ifindex,
			     void (*receive)(void *ctx, uint8_t *frame,
					     size_t len_bytes),
			     void *ctx);
/* Close the socket. A second call does nothing. */
void roost_packet_socket_close(struct roost_packet_socket *packet_socket);

#endif
