/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_WORLD_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_SWITCH_WORLD_H

/*
 * A port with three clients, and frames from and to them. Clients 0 and 1 share
 * the port's addresses, client 2 has one of its own. Each has a block and a
 * prefix.
 */

#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/seen.h"

#define NB_CLIENTS 3u
#define FRAME_ROOM 4500u

extern const struct roost_gid gid_peer_v4;
extern const struct roost_gid gid_peer_v6;
extern const struct roost_gid gid_group;

struct world {
	struct roost_lease *lease;
	struct roost_sw_port port;
	struct roost_seen_table *seen;
	uint16_t client[NB_CLIENTS];
	uint32_t qpn[NB_CLIENTS];  /* a QPN of each */
	uint32_t comm[NB_CLIENTS]; /* a communication id of each */
};

void world_init(struct world *w);
void world_fini(struct world *w);

/* What a frame is made of. */
struct maker {
	struct roost_flow flow;
	uint8_t opcode;
	uint16_t pkey;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	uint32_t qkey;
	uint32_t payload_bytes;
	bool has_msg; /* the payload is this message */
	struct roost_cm_msg msg;
};

/* A datagram of 64 bytes of a client's QP, over IPv4, to QPN 77 of the peer. */
struct maker ud_of(const struct world *w, unsigned int i);
/* The same as an RC SEND. */
struct maker rc_of(const struct world *w, unsigned int i);
/* A message of a client, with everything in it that must be its own. */
struct maker mad_of(const struct world *w, unsigned int i,
		    enum roost_cm_msg_type type);
/* The same from the peer, to a client. */
struct maker mad_to(const struct world *w, unsigned int i,
		    enum roost_cm_msg_type type);
/* A frame from the peer to this QPN. */
struct maker rc_to(const struct world *w, unsigned int i);

/* The frame; its bytes are in memory that ends with it. */
struct roost_sw_frame make(const struct maker *m);
/* Make the ICRC and the checksum of the IPv4 header right again. */
void mend(struct roost_sw_frame *frame);
uint8_t *bytes_of(struct roost_sw_frame *frame);

#endif
