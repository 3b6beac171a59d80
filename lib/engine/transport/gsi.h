/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_GSI_H
#define ROOST_ENGINE_TRANSPORT_GSI_H

/*
 * The general services interface: QP1, on which management datagrams (MADs)
 * travel (IBTA 13.5). It is no QP of anybody's: the worker puts what comes for
 * QPN 1, after all checks of a datagram, into a bounded ring, and the services
 * of the device (lib/engine/core/service.h) take it out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_dev;

#define ROOST_GSI_QPN 1u
#define ROOST_GSI_QKEY 0x80010000u
#define ROOST_MAD_LEN 256u

/* Between which addresses a MAD travels. */
struct roost_gsi_addr {
	uint8_t port_num;
	struct roost_gid local; /* one of the port's */
	struct roost_gid peer;
	uint8_t peer_mac[6]; /* next hop; not looked at to ourselves */
	uint16_t pkey;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
};

struct roost_gsi_msg {
	struct roost_gsi_addr addr;
	uint32_t src_qpn;
	size_t len_bytes; /* as it came; at most ROOST_MAD_LEN stand in mad */
	uint8_t mad[ROOST_MAD_LEN];
};

/*
 * From open to close MADs are taken; else QPN 1 is nobody's. One at a time.
 * Returns 0, -ENOMEM, -EBUSY. Thread: any that holds no turn; blocks for it.
 */
int roost_gsi_open(struct roost_dev *dev);
void roost_gsi_close(struct roost_dev *dev);

/* Take the next MAD. Returns false: there is none.
 * Thread: one at a time, between open and close.
 */
bool roost_gsi_receive(struct roost_dev *dev, struct roost_gsi_msg *msg);

/*
 * Send a MAD from QPN 1 to QPN 1. Returns 0; -EINVAL (no such port),
 * -ENOBUFS (out of mbufs or room; it is lost like a packet on its way).
 * Thread: any.
 */
int roost_gsi_send(struct roost_dev *dev, const struct roost_gsi_addr *addr,
		   const uint8_t mad[ROOST_MAD_LEN]);

#endif
