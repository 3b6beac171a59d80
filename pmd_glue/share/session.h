/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_SESSION_H
#define ROOST_PMD_GLUE_SHARE_SESSION_H

/*
 * The session of a client with the daemon that shares a port: requests and
 * their answers, and what the daemon tells without being asked.
 *
 * Any thread may request. While threads wait for answers, one of them reads the
 * socket for all; otherwise the control thread reads it, when it becomes
 * readable. So a request also works on the control thread, and while the
 * control thread does something else. Whoever reads an answer hands it to the
 * thread that waits for it, and leaves other news to the control thread
 * (roost_share_session_news()).
 *
 * A session is lost when the daemon closes the socket: it may be started again.
 * Then requests wait, and the control thread tries to come back
 * (roost_share_session_again()) until it gives up. The next daemon answers the
 * requests that have no answer yet.
 *
 * A session ends for good when the daemon evicts the client, sends something
 * that no daemon sends, or is lost and has given no ticket. Then requests fail
 * with -ENODEV.
 *
 * A forked child has no session: its copy of the socket is closed, and it
 * touches nothing here. It may open a session of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/share/attach.h"

struct roost_share_session;

/* ATTACHED has to come within this time, and an answer within the other one;
 * an answer to a RESOLVE that does not wait for the network, within the third.
 */
#define ROOST_SHARE_ATTACH_NS 10000000000u
#define ROOST_SHARE_ANSWER_NS 5000000000u
#define ROOST_SHARE_ASK_NS 1000000000u
struct roost_share_session_conf {
	const char *service; /* as in struct roost_port_config */
	const char *label;   /* of the port, in reports; outlives the session */
	int memory_fd;       /* our memory; stays the caller's */
	uint32_t seat;       /* ours, for the daemon */
};

/*
 * Attach to the daemon. *grant: what it gave; to be taken or dropped by the
 * caller. An error is reported on stderr, once. Returns 0; as
 * roost_share_connect(); the daemon's refusal; -ETIMEDOUT; -EPROTO and others
 * of roost_share_grant_take(). Thread: the control thread.
 */
int roost_share_session_open(const struct roost_share_session_conf *conf,
			     struct roost_share_grant *grant,
			     struct roost_share_session **session);

/* Say BYE and free the session. No thread requests any more. NULL: nothing.
 * Thread: the control thread.
 */
void roost_share_session_close(struct roost_share_session *session);

/* The socket, for poll(2): when it is readable, call roost_share_session_news()
 * on the control thread.
 */
int roost_share_session_fd(const struct roost_share_session *session);

/*
 * Request, and wait for the answer. msg: the type and its part; on success, the
 * answer, a REPLY with status 0.
 * Returns 0; the daemon's status, negative; -ETIMEDOUT; -ENODEV (the session
 * has ended); -ENOTCONN (the session is lost, and this is the control thread or
 * a RESOLVE that does not wait for the network, or it took too long). Thread:
 * any, several at a time.
 */
int roost_share_request(struct roost_share_session *session,
			struct roost_share_msg *msg);

/* Send a message that has no answer: PUT, SEAT, PARTED. Returns 0; -EAGAIN (the
 * daemon does not read: try again); -ENODEV. Thread: any; does not wait for the
 * daemon.
 */
int roost_share_tell(struct roost_share_session *session,
		     struct roost_share_msg *msg);

struct roost_share_news {
	bool changed;    /* the page has a new generation */
	bool lost;       /* the daemon has gone; told once for each */
	bool ended;      /* told once */
	const char *why; /* it has ended: words for a report */
};

/* Read the socket, without waiting, and tell what is new since the last call.
 * Thread: the control thread.
 */
struct roost_share_news
roost_share_session_news(struct roost_share_session *session);

/* Take the next MEET, PEER or PART that came. Returns false: there is none. The
 * packet has no tail, and its descriptors are the caller's; -1: they found no
 * room. Thread: the control thread.
 */
bool roost_share_session_peer(struct roost_share_session *session,
			      struct roost_share_packet *packet);

/* ---- another daemon ------------------------------------------------------ */

/* A number that changes with each daemon: what one has said counts as long as
 * it is the same. Thread: any.
 */
uint32_t roost_share_session_epoch(struct roost_share_session *session);

/*
 * The session is lost: connect to the service and present the last ticket, or
 * look whether there is an answer. Never waits. seat: ours for the new daemon,
 * the same until it has answered.
 * Returns 0: *grant is what it gave, and the session is to be resumed; -EAGAIN:
 * call again in a while, or when the socket is readable; else it refuses for
 * good, and why[] says it. Thread: the control thread.
 */
int roost_share_session_again(struct roost_share_session *session,
			      uint32_t seat, struct roost_share_grant *grant,
			      char why[ROOST_SHARE_REASON_MAX]);
/* Go on with the new daemon. */
void roost_share_session_resume(struct roost_share_session *session);
/* Come back no more: requests fail. */
void roost_share_session_give_up(struct roost_share_session *session);

#endif
