/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_MESSAGE_H
#define ROOST_PMD_GLUE_SHARE_MESSAGE_H

/*
 * The session of a client with the daemon that shares a port: messages over a
 * SOCK_SEQPACKET socket, one message a packet. A message is struct
 * roost_share_msg up to the end of its type's part, then up to
 * ROOST_SHARE_TAIL_MAX bytes of tail where the type has one. Numbers are in
 * host order: both ends run on one machine. Descriptors come with the types
 * whose row in message.c says so, and with no other one.
 *
 * A client sends requests and the daemon answers each with REPLY (ATTACH: with
 * ATTACHED) and the tag of the request. A request that needs the network is
 * answered when the network has answered; others overtake it. CHANGED, EVICTED,
 * MEET, PEER and PART come without a request, tag 0.
 *
 * ATTACHED, and the answer to a request that has changed what the client leases
 * (QPNS, PREFIX, CLAIM, UNCLAIM), bring a new ticket; those before it are void.
 * The answer and its ticket are one packet: a client that has the one has the
 * other, whenever the daemon is killed. A client that comes back to a new
 * daemon presents its ticket with ATTACH, and says BACK when it has all that
 * ATTACHED brings. A session that ends without may be tried again, with the
 * ticket of that ATTACHED: the client had no descriptors left.
 *
 * Two clients of one user that send each other many frames get a channel of
 * their own (direct.h). They are named by their marks (page.h):
 *
 *   daemon  MEET    the mark of the peer
 *   client  SEAT    the seat that it has reserved for the peer, or none
 *   daemon  PEER    the peer's memory and seat, and a doorbell
 *   daemon  PART    STOP: send the peer no more frames directly
 *   client  PARTED  the peer has consumed all of them
 *   daemon  PART    LEAVE: take what the peer has sent, and end with it
 *   client  PARTED  done
 *
 * Each goes to, or comes from, both. LEAVE comes alone when the peer has gone,
 * and PARTED when the client cannot go on with the peer.
 *
 * Neither end trusts the other one. A packet that is no message (length, type,
 * descriptors, version) ends the session. What is in a message is checked by
 * who uses it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>
#include "pmd_glue/channel/memory.h"

#define ROOST_SHARE_VERSION 1u
/* A ticket: of 100,000 QPs and 300 claims. */
#define ROOST_SHARE_TAIL_MAX 16384u
#define ROOST_SHARE_FDS_MAX 3u
#define ROOST_SHARE_COMMAND_MAX 32u
#define ROOST_SHARE_REASON_MAX 128u
#define ROOST_SHARE_PATIENCE_MAX_MS 3600000u

enum roost_share_type {
	/* From the client. */
	ROOST_SHARE_ATTACH,  /* fds: memory; tail: a ticket, or none */
	ROOST_SHARE_PORTS,   /* how many ports there are; before ATTACH, too */
	ROOST_SHARE_QPNS,    /* one more block of QPN indices */
	ROOST_SHARE_PREFIX,  /* one more prefix of communication ids */
	ROOST_SHARE_CLAIM,   /* a service or port number */
	ROOST_SHARE_UNCLAIM, /* give it back */
	ROOST_SHARE_JOIN,    /* a multicast group */
	ROOST_SHARE_LEAVE,
	ROOST_SHARE_RESOLVE, /* a neighbour, with a reference to its entry */
	ROOST_SHARE_PUT,     /* drop that reference; no answer */
	ROOST_SHARE_SOURCE,  /* the source address for a destination */
	ROOST_SHARE_BYE,     /* the client ends; no answer */
	ROOST_SHARE_SEAT,    /* for a peer; no answer */
	ROOST_SHARE_PARTED,  /* from a peer; no answer */
	ROOST_SHARE_BACK,    /* it has come back with a ticket; no answer */
	/* From the daemon. The doorbell is one end of a pair of sockets, for
	 * both directions (pmd_glue/channel/channel.h): of the daemon's making,
	 * so that it never polls a descriptor of a client.
	 */
	/* fds: memory, doorbell, page; tail: a ticket. With a status: no fds;
	 * tail: words for a person, why it is refused, without a zero.
	 */
	ROOST_SHARE_ATTACHED,
	ROOST_SHARE_REPLY,   /* tail: a ticket, or none */
	ROOST_SHARE_CHANGED, /* the page has a new generation (page.h) */
	ROOST_SHARE_EVICTED, /* the session ends */
	ROOST_SHARE_MEET,    /* reserve a seat for a peer */
	ROOST_SHARE_PEER,    /* fds: memory of the peer, doorbell */
	ROOST_SHARE_PART,    /* from a peer */
	ROOST_SHARE_TYPES,
};

/* Sizes and meaning: see pmd_glue/channel and apps/roostd/switch. */
struct roost_share_attach {
	char command[ROOST_SHARE_COMMAND_MAX]; /* for people; ends with 0 */
	uint32_t seat; /* the client's, for the daemon */
	uint32_t port; /* which of the daemon's, from 0 */
};

struct roost_share_attached {
	uint32_t client;    /* the daemon's number of the client, for people */
	uint32_t seat;      /* the daemon's, for the client */
	uint64_t node_guid; /* host order */
	uint64_t qpn_seed[2]; /* key of the permutation of QPNs */
	uint64_t comm_seed[2];
	uint32_t qpn_index_bits;  /* low bits of a QPN that are its index */
	uint32_t qpn_block_shift; /* indices in a block: 1 << this */
	uint32_t qpn_block;       /* the first one */
	uint32_t comm_prefix_bits;
	uint32_t comm_prefix; /* the first one */
	uint32_t max_qps;
	uint32_t max_half_open;
	uint16_t vlan_id; /* 0: none */
	uint8_t mac[6];
	char label[64]; /* the daemon's name of the port; ends with 0 */
	/* The client's own address, and it has no other one of the page's;
	 * zeros: it shares those.
	 */
	struct roost_gid own_gid;
	/* How long it is worth waiting for the next daemon, in ms; at most
	 * ROOST_SHARE_PATIENCE_MAX_MS.
	 */
	uint32_t patience_ms;
	uint32_t zero;
};

struct roost_share_claim {
	struct roost_gid addr; /* zeros: any address of the family */
	uint64_t service_id;
	uint8_t family; /* enum roost_cm_family */
	uint8_t listens;
	uint8_t reuseaddr;
	uint8_t afonly;
	uint8_t zero[4];
};

struct roost_share_addr {
	struct roost_gid sgid; /* SOURCE: zeros. JOIN, LEAVE: zeros */
	struct roost_gid dgid; /* JOIN, LEAVE: the group */
	uint8_t from_mac[6];   /* as ask in the engine's port; zeros: none */
	/* RESOLVE: 1: do not wait for the network. The answer comes at once,
	 * and the entry is 0 as long as the neighbour is asked.
	 */
	uint8_t asks;
	uint8_t zero;
};

#define ROOST_SHARE_NO_SEAT UINT32_MAX

/* How to part. */
enum roost_share_part {
	ROOST_SHARE_PART_STOP,   /* frames go through the daemon again */
	ROOST_SHARE_PART_LEAVE,  /* at once */
	ROOST_SHARE_PART_BROKEN, /* PARTED: the peer broke the rules */
};

/* MEET, SEAT, PEER, PART, PARTED; fields that a type has no use for are 0. */
struct roost_share_peer {
	uint32_t mark;      /* the peer's */
	uint32_t seat;      /* SEAT, PEER: the client's, for the peer */
	uint32_t peer_seat; /* PEER: the peer's, for the client */
	uint32_t how;       /* PART, PARTED: enum roost_share_part */
};

struct roost_share_reply {
	uint64_t value;       /* QPNS: block; PREFIX: prefix; CLAIM: service id;
			       * RESOLVE: index of the entry; PORTS: their
			       * number; else 0 */
	struct roost_gid gid; /* SOURCE */
	/* -EDQUOT: the rule that refuses it; ends with 0; empty: none. */
	char reason[ROOST_SHARE_REASON_MAX];
};

struct roost_share_msg {
	uint16_t version; /* ROOST_SHARE_VERSION */
	uint16_t type;    /* enum roost_share_type */
	uint32_t tag;
	int32_t status; /* answers: 0 or -errno; else 0 */
	uint32_t tail_bytes;
	union {
		struct roost_share_attach attach;
		struct roost_share_attached attached;
		struct roost_share_claim claim;
		struct roost_share_addr addr;
		struct roost_share_reply reply;
		struct roost_share_peer peer;
		uint64_t index;                      /* PUT */
		char reason[ROOST_SHARE_REASON_MAX]; /* EVICTED; ends with 0 */
	};
};

/* A packet as it is received, with the descriptors that came along. */
struct roost_share_packet {
	struct roost_share_msg msg;
	uint8_t tail[ROOST_SHARE_TAIL_MAX];
	unsigned int nb_fds;
	int fds[ROOST_SHARE_FDS_MAX];
};

/*
 * Send a message; msg->version and msg->tail_bytes are set here. fds: as many
 * as the type has; they stay the caller's. Never blocks.
 * Returns 0; -EAGAIN (the peer does not read), -EPIPE, -ECONNRESET, -ENOMEM,
 * -ETOOMANYREFS. Thread: any, one at a time for a socket.
 */
int roost_share_send(int fd, struct roost_share_msg *msg, const void *tail,
		     size_t tail_bytes, const int *fds);

/*
 * Receive a message; never blocks. The descriptors in packet are the caller's
 * (CLOEXEC); after an error there are none.
 * Returns 0; -EAGAIN (none), -ECONNRESET (the peer has closed), -EPROTO (no
 * message, or one that the other end does not send), -EPROTONOSUPPORT (of
 * another version), -EMFILE (its descriptors were lost; packet->msg is what
 * came). from_daemon: which end we hear. Thread: any, one at a time for a
 * socket.
 */
int roost_share_receive(int fd, bool from_daemon,
			struct roost_share_packet *packet);

/* Close the descriptors of a packet that nobody has taken: those not -1. */
void roost_share_packet_close(struct roost_share_packet *packet);

#endif
