/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_UDP_SINK_H
#define ROOST_PMD_GLUE_KERNEL_UDP_SINK_H

/*
 * RoCEv2's UDP port, held in the kernel of an interface whose frames both it
 * and Roost see (net_af_packet): the kernel drops there what is Roost's, and
 * does not look for a route to tell the sender of each packet that nobody
 * listens.
 *
 * Thread: any.
 */

/*
 * Hold the port on this interface, for IPv4, and IPv6 where there is one. The
 * socket never has anything to read. Returns a descriptor to close; or -errno:
 * -EADDRINUSE, somebody else holds it (a kernel's own RoCE), -EPERM, -ENODEV.
 * Without it all works, and costs more.
 */
int roost_udp_sink_open(const char *iface);

#endif
