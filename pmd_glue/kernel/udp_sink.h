/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_UDP_SINK_H
#define ROOST_PMD_GLUE_KERNEL_UDP_SINK_H

/*
 * A sink for RoCEv2 packets in the kernel, for an interface whose frames both
 * the kernel and Roost receive (net_af_packet). A UDP socket holds RoCEv2's
 * port 4791 on the interface, and its filter drops all packets. Without it, the
 * kernel would look up a route and send ICMP port unreachable for each packet.
 *
 * Thread: any.
 */

/*
 * Open the sink on this interface, for IPv4, and for IPv6 if the kernel has it.
 * The socket is never readable. Returns a descriptor, which the caller closes;
 * or -errno: -EADDRINUSE (another program holds the UDP port, such as the
 * kernel's own RoCE), -EPERM, -ENODEV. Without the sink all works, at a higher
 * cost.
 */
int roost_udp_sink_open(const char *iface);

#endif
