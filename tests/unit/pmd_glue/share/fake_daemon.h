/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_PMD_GLUE_SHARE_FAKE_DAEMON_H
#define TESTS_UNIT_PMD_GLUE_SHARE_FAKE_DAEMON_H

/* A daemon for one client, on a thread of the test. It grants and answers
 * correctly, unless the test has it do otherwise.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "pmd_glue/channel/memory.h"
#include "pmd_glue/share/message.h"
#include "pmd_glue/share/page.h"

/* What it does with an ATTACH. */
enum fake_attach {
	FAKE_GRANTS,
	FAKE_REFUSES, /* with attached.status */
	FAKE_IS_SILENT,
	FAKE_HANGS_UP,
	FAKE_SENDS_RAW, /* 3 bytes */
	FAKE_REPLIES,   /* another type */
	FAKE_IS_NEWER,  /* a message of version 2 */
};

struct fake_daemon {
	char path[96];
	enum fake_attach attach;
	struct roost_share_msg attached; /* what it grants */
	int fds[3];                      /* memory, doorbell, page */
	struct roost_shm_memory memory;
	struct roost_share_page *page;
	struct roost_share_facts facts; /* of the page at the begin */
	bool no_ticket;                 /* with ATTACHED */
	const char *grants_ticket;      /* NULL: "ticket" */
	int doorbell;                   /* our end */
	/* Called for each request on the thread; returns false: it was not
	 * answered, do it. NULL: answer all.
	 */
	bool (*serve)(struct fake_daemon *d, struct roost_share_packet *packet);

	int listener;
	pthread_t thread;
	atomic_int fd; /* of the session; -1: none yet */
	struct roost_share_packet heard;
	struct roost_share_msg attach_msg; /* what the client sent */
	uint8_t ticket[16];                /* that it presented */
	size_t ticket_bytes;
	struct roost_shm_memory client_memory; /* mapped at ATTACH */
	atomic_uint nb[ROOST_SHARE_TYPES];     /* messages, by type */
	atomic_bool gone;                      /* the client has closed */
};

/* Make what a daemon has. */
void fake_prepare(struct fake_daemon *d);
/* Begin to listen and to serve. */
void fake_start(struct fake_daemon *d);
/* Send a REPLY to a request. */
void fake_reply(struct fake_daemon *d, uint32_t tag, int status,
		uint64_t value);
/* Wait, for 5 s at the most, until nb messages of the type have come. */
void fake_await(struct fake_daemon *d, enum roost_share_type type,
		unsigned int nb);
/* Hang up. */
void fake_hang_up(struct fake_daemon *d);
/* Stop, and be another daemon, which is not started yet. */
void fake_replace(struct fake_daemon *d);
void fake_stop(struct fake_daemon *d);

#endif
