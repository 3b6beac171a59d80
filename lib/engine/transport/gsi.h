/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_GSI_H
#define ROOST_ENGINE_TRANSPORT_GSI_H

/*
 * The general services interface: QP1, which carries management datagrams
 * (MADs, IBTA 13.5). No program owns QP1. The worker puts datagrams for QPN 1,
 * after all checks, into a bounded ring, and the services of the device
 * (lib/engine/core/service.h) take them out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_dev;

#define ROOST_GSI_QPN 1u
#define ROOST_GSI_QKEY 0x80010000u
#define ROOST_MAD_LEN 256u

/* The addresses of a MAD. */
struct roost_gsi_addr {
	uint8_t port_num;
	struct roost_gid local; /* one of the port's */
	struct roost_gid peer;
	uint8_t peer_mac[6]; /* next hop; unused for loopback */
	uint16_t pkey;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t hop_limit;
	uint32_t flow_label;
};

struct roost_gsi_msg {
	struct roost_gsi_addr addr;
	uint32_t src_qpn;
	size_t len_bytes; /* as received; mad has the first ROOST_MAD_LEN of
			   * them */
	uint8_t mad[ROOST_MAD_LEN];
};

/*
 * Between open and close, MADs are received; otherwise no QP has QPN 1. One
 * opening at a time. Returns 0, -ENOMEM, -EBUSY. Thread: any that holds no
 * turn; blocks for the turn.
 */
int roost_gsi_open(struct roost_dev *dev);
void roost_gsi_close(struct roost_dev *dev);

/* Take the next MAD. Returns false: there is none.
 * Thread: one at a time, between open and close.
 */
bool roost_gsi_receive(struct roost_dev *dev, struct roost_gsi_msg *msg);

/*
 * Send a MAD from QPN 1 to QPN 1. Returns 0; -EINVAL (no such port), -ENOBUFS
 * (no mbuf or no room: the MAD is lost like a packet on the wire).
 * Thread: any.
 */
int roost_gsi_send(struct roost_dev *dev, const struct roost_gsi_addr *addr,
		   const uint8_t mad[ROOST_MAD_LEN]);

#endif
