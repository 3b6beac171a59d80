/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_MEET_H
#define ROOST_PMD_GLUE_CHANNEL_MEET_H

/*
 * How two parties meet without a daemon, as the two ends of a cable: over a
 * SOCK_SEQPACKET socket, which one of them listens on. Each checks the user of
 * the other one (SO_PEERCRED) and sends HELLO; then each has what
 * roost_shm_peer_join() needs. The socket stays open: its end of file is the
 * peer's death, and the kernel tells it at once.
 *
 *   type    from          bytes  descriptors
 *   HELLO   both          32     memory; of who accepted also a doorbell
 *   BYE     both          32     none; the session ends
 *
 * Numbers are in host order. Whatever is no such message ends the session, and
 * so does a HELLO that is late or comes twice. A descriptor that should be a
 * doorbell is used only if it is a stream socket of AF_UNIX; descriptors that a
 * packet has too many are closed.
 *
 * No function blocks. Thread: the control thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "pmd_glue/channel/channel.h"
#include "pmd_glue/process/peer_trust.h"

#define ROOST_SHM_MEET_VERSION 1u
/* For the peer's HELLO. */
#define ROOST_SHM_MEET_NS 1000000000u

/* Listen under a name: "@name" is an abstract one, all else a path, which the
 * caller removes. Returns a descriptor; -errno of socket(2), bind(2).
 */
int roost_shm_listen(const char *name);

/* Accept a connection. Returns its descriptor; -EAGAIN (there is none), -EPERM
 * (the peer's user is not trusted; it was reported), -errno of accept(2).
 */
int roost_shm_accept(int fd, struct roost_peer_trust *trust);

/* Connect to who listens under a name. trust NULL: whoever that is. Returns as
 * roost_shm_accept(), and -ECONNREFUSED and -ENOENT: nobody listens.
 */
int roost_shm_connect(const char *name, struct roost_peer_trust *trust);

/* What a party tells of itself. */
struct roost_shm_self {
	struct rte_ether_addr mac;
	uint16_t mtu_bytes; /* of IP */
};

struct roost_shm_meeting {
	int fd;        /* -1: ended */
	bool accepted; /* or connected */
	bool met;      /* the peer's HELLO came */
	int doorbell;  /* our end, until it is in peer; -1: none */
	uint32_t seat; /* ours for the peer */
	uint64_t until_ns;
	/* The peer as it said, once met: the caller's, to join with it. */
	struct roost_shm_peer peer;
	struct rte_ether_addr peer_mac;
	uint16_t peer_mtu_bytes;
};

/* Reserve a seat and send HELLO over fd, a new connection. Owns: fd, also on
 * error. Returns 0; -ENOSPC (no seat), -errno of sendmsg(2) or socketpair(2).
 */
int roost_shm_meet_begin(struct roost_shm_meeting *m,
			 struct roost_shm_channel *ch, int fd, bool accepted,
			 const struct roost_shm_self *self, uint64_t now_ns);

/* Look what came: when fd is readable, and when until_ns has passed.
 * Returns 1: the peer's HELLO; m->peer and its memory are the caller's. 0:
 * nothing. -ECONNRESET: the peer has ended or died. -EPROTO, -EPROTONOSUPPORT,
 * -ETIMEDOUT, or an error of roost_shm_memory_map(): the session is to be
 * ended.
 */
int roost_shm_meet_look(struct roost_shm_meeting *m, uint64_t now_ns);

/* Send BYE, if the peer is there, and close. The seat is freed, unless a peer
 * was handed to the caller, who ends with it. Does nothing when ended.
 */
void roost_shm_meet_end(struct roost_shm_meeting *m,
			struct roost_shm_channel *ch);

#endif
