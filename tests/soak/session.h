/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SOAK_SESSION_H
#define ROOST_TESTS_SOAK_SESSION_H

/*
 * One session between two ends: a connection of rdma_cm with its RC QP and,
 * beside it, QPs of every other type that the two told each other in the
 * private data. Each session makes all its objects and destroys them.
 *
 * Thread: a session is of the thread that made it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* What carries a message. */
enum kind {
	KIND_RC,      /* into an SRQ */
	KIND_MIGRATE, /* RC that is armed for the other port of its device */
	KIND_UC,
	KIND_UD,
	KIND_XRC, /* one way; the answer comes by RC */
	KIND_COUNT,
};

/* How a session, or the attempt at one, ended. */
enum fate {
	FATE_GOOD,
	FATE_BROKEN,  /* RETRY_EXC or flushed: nobody answered */
	FATE_REFUSED, /* there was no connection, or none that could migrate */
	FATE_BAD,     /* all that must never be; said on stderr */
};

/* In the private data of both ends, in network byte order; qpns 0: none. */
struct card {
	uint64_t addr_be;
	uint32_t rkey_be;
	uint32_t qpns_be[KIND_COUNT]; /* RC: only to tell that it is a card */
	uint32_t srqn_be;
	uint8_t second_ip_be[4]; /* of port 2; zeros: there is none */
};

struct session {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq, *xrc_srq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qps[KIND_COUNT]; /* that of RC is the id's */
	struct ibv_ah *ah, *group_ah;
	uint8_t *buf;
	struct card mine, peer;
	bool is_server;
	unsigned int group_qpn; /* names the multicast group */
	const char *name;       /* for what is said */
	atomic_bool disconnected;

	unsigned int seq;     /* of the round */
	unsigned int todo;    /* completions of the round's requests to come */
	unsigned int answers; /* bits of kinds whose answers came */
	uint64_t silent_since_ms;
	bool is_probing;
	enum fate fate;
	char why[128]; /* FATE_BROKEN: what did not complete */
};

/* What all sessions of a process add up to. */
struct tally {
	atomic_uint sessions, rounds, lost, broken, refused, bytes_kib;
};

uint64_t soak_now_ms(void);

/* All objects of the id's end, RESET to INIT, receives posted. s->id has its
 * device. plain: the connection's QP alone. False: failed, and s->fate says
 * how; to be closed in either case.
 */
bool session_open(struct session *s, bool plain);
/* With the peer's card: everything but the connection's QP to RTS. */
bool session_meet(struct session *s, const void *private_data, size_t len);
void session_close(struct session *s);
/* A round of the client: everything is sent, and every answer looked at.
 * Returns false when the session is over (s->fate).
 */
bool session_round(struct session *s, struct tally *tally);
/* The server's part, until the client leaves or is gone. */
void session_serve(struct session *s, struct tally *tally,
		   const atomic_bool *over);

#endif
