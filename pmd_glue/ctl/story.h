/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_STORY_H
#define ROOST_PMD_GLUE_CTL_STORY_H

/*
 * The story of an object in sentences: for roost explain, for the line that
 * ROOST_LOG=warn prints, and for the file about a QP that failed.
 *
 * Thread: the control thread; roost_story_qp() any.
 */

#include <stdint.h>

#include "lib/engine/core/view.h"

struct roost_conn_view;
struct roost_ctl_device;
struct roost_json;
struct roost_listener_view;

#define ROOST_STORY_LINES 40u
#define ROOST_STORY_LINE_MAX 320u
#define ROOST_STORY_CAUSE_MAX 480u

struct roost_story {
	/* What is wrong, and what to do; empty: nothing that is known. */
	char cause[ROOST_STORY_CAUSE_MAX];
	unsigned int nb;
	char lines[ROOST_STORY_LINES][ROOST_STORY_LINE_MAX];
};

/* The story of a QP. device: its name. port_up: the state of its port now.
 * now_ns: of roost_now_ns(). Pure.
 */
void roost_story_qp(struct roost_story *s, const char *device,
		    const struct roost_qp_view *qp, bool port_up,
		    uint64_t now_ns);
/* The cause alone, as above. Empty: there is none. */
void roost_story_qp_cause(struct roost_story *s, const char *device,
			  const struct roost_qp_view *qp, bool port_up,
			  uint64_t now_ns);
/* The story of a device. */
void roost_story_device(struct roost_story *s, struct roost_ctl_device *device,
			uint64_t now_ns);

/* The stories of a connection and of a listener (conn_view.h). Pure. */
void roost_story_conn(struct roost_story *s, const char *device,
		      const struct roost_conn_view *conn, uint64_t now_ns);
void roost_story_listener(struct roost_story *s, const char *device,
			  const struct roost_listener_view *listener,
			  uint64_t now_ns);

/* Is the port of the QP ACTIVE? */
bool roost_story_port_up(struct roost_dev *dev, const struct roost_qp_view *qp);

/* For files of this room: add a line, or to the cause. */
void roost_story_say(struct roost_story *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void roost_story_blame(struct roost_story *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "1.234 s ago" of a time. Returns text. */
#define ROOST_STORY_AGO_MAX 32u
const char *roost_story_ago(uint64_t now_ns, uint64_t at_ns,
			    char text[ROOST_STORY_AGO_MAX]);
/* "NAK, remote access error"; "RNR NAK, wait 0.64 ms". Returns text. */
#define ROOST_STORY_NAK_MAX 48u
const char *roost_story_nak(uint8_t syndrome, char text[ROOST_STORY_NAK_MAX]);
/* What a drop means for whom it was sent to; NULL: nothing that a user can
 * mend.
 */
const char *roost_story_drop(enum roost_drop reason);

/* The answer to the request "explain WORD": an array of the objects that the
 * word names. Returns their number.
 */
unsigned int roost_story_answer(struct roost_json *j, const char *word);

#endif
