/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PEER_H
#define ROOST_PMD_GLUE_PEER_H

/*
 * What a diagnosis asks of an open device (roost/roost.h): how a port is, and
 * whether it reaches a peer. port_num counts from 1, and the device has it.
 *
 * Thread: any but the control thread, unless a call says otherwise.
 */

#include <stdint.h>

#include <roost/gid.h>

struct roost_backend_view;
struct roost_device;
struct roost_ping;
struct roost_ping_log;

void roost_peer_view_port(struct roost_device *device, uint8_t port_num,
			  struct roost_backend_view *view);

/* As source and resolve of struct roost_addr_io. */
int roost_peer_source(struct roost_device *device, uint8_t port_num,
		      const struct roost_gid *dgid, struct roost_gid *sgid);
int roost_peer_resolve(struct roost_device *device, uint8_t port_num,
		       const struct roost_gid *sgid,
		       const struct roost_gid *dgid, uint8_t mac[6]);

/* As roost_host_ping() and roost_host_hear() (pmd_glue/host/host.h).
 * -EOPNOTSUPP: another process owns the port and its addresses.
 */
int roost_peer_ping(struct roost_device *device, uint8_t port_num,
		    const struct roost_ping *ping);
int roost_peer_hear(struct roost_device *device, uint8_t port_num,
		    struct roost_ping_log *log);

#endif
