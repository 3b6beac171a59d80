/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_FRAME_H
#define ROOST_APPS_ROOSTD_SWITCH_FRAME_H

/*
 * A frame in the switch, and what is found in it. The payload of a frame may be
 * in memory that its sender still writes: nothing here reads it, except that a
 * management datagram is copied as a whole before it is looked at.
 *
 * Thread: any; memory stays the caller's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/switch/drop.h"
#include "cm/msg.h"
#include "lib/wire/frame.h"

/* The head holds all headers of any frame that passes. */
#define ROOST_SW_HEAD_MAX 128u

struct roost_sw_frame {
	/* The first bytes, in memory that nobody else writes: all of the frame,
	 * or at least ROOST_SW_HEAD_MAX.
	 */
	const uint8_t *head;
	const uint8_t *payload; /* the bytes behind the head */
	uint32_t head_len_bytes;
	uint32_t len_bytes; /* of all */
	void *handle;       /* the caller's */
};

/* The port, as frames show it. */
#define ROOST_SW_PKEYS_MAX 128u
struct roost_sw_port {
	uint8_t mac[6];
	uint16_t vlan_id;         /* 0: none */
	uint32_t max_frame_bytes; /* Ethernet header included, FCS not */
	uint64_t ca_guid; /* of the device, for messages of the daemon */
	/* Frames that wait in all queues to it (fair.h); 0: no bound. */
	uint32_t most_kept;
	uint16_t nb_pkeys;
	uint16_t pkeys[ROOST_SW_PKEYS_MAX];
};

#define ROOST_SW_GSI_QPN 1u
#define ROOST_SW_GSI_QKEY 0x80010000u
#define ROOST_SW_GSI_FRAME_MAX                                                 \
	(ROOST_PATH_HDR_MAX + ROOST_DETH_LEN + ROOST_CM_MAD_LEN +              \
	 ROOST_ICRC_LEN)

/* A management datagram of the CM. */
struct roost_sw_mad {
	struct roost_cm_msg msg;
	/* The whole frame, in private memory: this is what is sent on. */
	uint8_t bytes[ROOST_SW_GSI_FRAME_MAX];
};

struct roost_sw_pkt {
	struct roost_frame frame;
	struct roost_pkt pkt;
	/* To QPN 1, else NULL. */
	const struct roost_sw_mad *mad;
};

/*
 * Take a frame apart; room is for a management datagram, and stays in use as
 * long as *pkt. Of QP1, only messages of the CM are taken, and their ICRC must
 * be right.
 * Returns ROOST_SW_OK; or ROOST_SW_NOT_ROCE, ROOST_SW_MALFORMED,
 * ROOST_SW_DST_QPN, ROOST_SW_MAD_ICRC, ROOST_SW_MAD_CLASS, and *pkt is
 * undefined except frame.vlan_tci and frame.drop, which is ROOST_DROP_QINQ for
 * a frame with two tags.
 */
enum roost_sw_drop roost_sw_parse(const struct roost_sw_frame *frame,
				  struct roost_sw_mad *room,
				  struct roost_sw_pkt *pkt);

static inline bool roost_sw_is_ud(const struct roost_sw_pkt *pkt)
{
	return pkt->pkt.info->hdrs & ROOST_HDR_BIT(DETH);
}

/* The VLAN is the port's; priorities are free. */
static inline bool roost_sw_vlan_ok(const struct roost_sw_port *port,
				    const struct roost_frame *frame)
{
	return roost_vlan_id(frame->vlan_tci) == port->vlan_id;
}

/* The port's P_Key that matches one of a packet (IBTA 10.9.3); 0: none does. */
uint16_t roost_sw_pkey_match(const struct roost_sw_port *port, uint16_t pkey);

/* Between which addresses a message of the daemon goes. */
struct roost_sw_route {
	struct roost_gid local;
	struct roost_gid peer;
	uint8_t peer_mac[6]; /* next hop */
	uint8_t tclass;
	uint8_t hop_limit;
	uint32_t flow_label;
	uint16_t udp_src;
	uint16_t pkey; /* of the packet; sent is the port's that matches */
};

/* The way back to the sender of a frame; head: its first bytes. */
struct roost_sw_route roost_sw_route_back(const struct roost_sw_pkt *pkt);
/* The way that the frame itself went. */
struct roost_sw_route roost_sw_route_on(const struct roost_sw_pkt *pkt,
					const uint8_t *head);

/* Write the frame of a message on QP1. Returns its length in bytes. */
uint32_t roost_sw_compose(const struct roost_sw_port *port,
			  const struct roost_sw_route *route,
			  const struct roost_cm_msg *msg,
			  uint8_t frame[ROOST_SW_GSI_FRAME_MAX]);

#endif
