/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_SESSION_PRIV_H
#define ROOST_PMD_GLUE_SHARE_SESSION_PRIV_H

/* A session, inside: requests are in session.c, its begin and end in
 * session_open.c.
 */

#include <pthread.h>
#include <sys/queue.h>

#include <roost/config.h>
#include "pmd_glue/share/session.h"

struct roost_share_waiter;

/* A message about a peer, for the control thread. */
struct roost_share_peer_news {
	struct roost_share_msg msg;
	unsigned int nb_fds;
	int fds[ROOST_SHARE_FDS_MAX];
	STAILQ_ENTRY(roost_share_peer_news) link;
};

struct roost_share_session {
	/* What it was opened with. */
	char service[ROOST_SERVICE_MAX];
	const char *label;
	int memory_fd;
	uint32_t process; /* the process that opened it */
	/* The socket. While the session is lost: of the daemon that was asked
	 * to have us back; -1: none. Writer: the control thread, with the lock.
	 */
	int fd;
	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t read;  /* a reader is done, or an answer came */
	bool reading;         /* some thread has packet, and may poll */
	uint32_t last_tag;
	LIST_HEAD(, roost_share_waiter) waiters;
	struct roost_share_packet packet; /* the reader's, without the lock */
	bool changed;
	STAILQ_HEAD(, roost_share_peer_news) peers;
	unsigned int nb_peers; /* in that list */
	/* The daemon has gone, and may come back: nobody reads or sends. */
	bool lost;
	bool loss_told;
	bool asking;    /* ATTACH was sent to the next one */
	uint32_t epoch; /* counts the daemons */
	bool ended;
	bool end_told;
	char why[ROOST_SHARE_REASON_MAX + 32]; /* once ended */
	/* The rule that refused a request last: told once. */
	char refusal[ROOST_SHARE_REASON_MAX];
	uint64_t patience_ns; /* as the daemon granted last */
	size_t ticket_bytes;
	uint8_t ticket[ROOST_SHARE_TAIL_MAX];
};

/* ---- session.c, for session_open.c --------------------------------------- */

/* Keep the ticket that came with a message. */
void roost_share_take_ticket(struct roost_share_session *s,
			     const struct roost_share_packet *packet);
/* It has ended for good. With the lock. */
void roost_share_session_end(struct roost_share_session *s, const char *why);
/* A text of the daemon for a line, but for what would upset a terminal. */
void roost_share_words(char to[ROOST_SHARE_REASON_MAX], const char *text,
		       size_t len);

#endif
