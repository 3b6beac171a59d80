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
 * A session ends for good when the daemon closes the socket, evicts the client
 * or sends something that no daemon sends. Then requests fail with -ENODEV.
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
#define ROOST_SHARE_ATTACH_NS 2000000000u
#define ROOST_SHARE_ANSWER_NS 5000000000u
#define ROOST_SHARE_ASK_NS 1000000000u

struct roost_share_session_conf {
	const char *service; /* "hub", or the path of a socket */
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
 * has ended). Thread: any, several at a time.
 */
int roost_share_request(struct roost_share_session *session,
			struct roost_share_msg *msg);

/* Send a PUT, which has no answer. Returns 0; -EAGAIN (the daemon does not
 * read: try again); -ENODEV. Thread: any; does not wait for the daemon.
 */
int roost_share_put(struct roost_share_session *session, uint64_t index);

struct roost_share_news {
	bool changed;    /* the page has a new generation */
	bool ended;      /* told once */
	const char *why; /* it has ended: words for a report */
};

/* Read the socket, without waiting, and tell what is new since the last call.
 * Thread: the control thread.
 */
struct roost_share_news
roost_share_session_news(struct roost_share_session *session);

/* The last ticket that the daemon gave. Returns its length; 0: none. Thread:
 * the control thread.
 */
size_t roost_share_session_ticket(const struct roost_share_session *session,
				  uint8_t ticket[ROOST_SHARE_TAIL_MAX]);

#endif
