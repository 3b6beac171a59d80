/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DUMP_DUMP_H
#define ROOST_PMD_GLUE_DUMP_DUMP_H

/*
 * Captures: the frames of this process, copied for `roost dump`.
 *
 * Whoever sees frames is a source: each device, and each port of a daemon. Up
 * to ROOST_DUMPS_MAX readers have a capture each, with a filter of its own: a
 * ring of memory (ring.h) that the reader gets by the control socket. The
 * connection stays open: on it the reader says what it has consumed, and a
 * capture ends with it, however the reader ends.
 *
 * Sources without a capture do nothing: they look at one pointer per burst.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/engine/core/tap.h"
#include "pmd_glue/dump/ring.h"

struct roost_dev;

#define ROOST_DUMPS_MAX ROOST_TAP_COPIES
#define ROOST_DUMP_PLACES_MAX 2u
#define ROOST_DUMP_ERROR_MAX 512

struct roost_dump_source {
	const char *device; /* to choose it by; not its own */
	/* Places where it sees frames. */
	char names[ROOST_DUMP_PLACES_MAX][ROOST_DUMP_NAME_MAX];
	uint32_t nb_names;
	uint16_t places[ROOST_DUMP_PLACES_MAX]; /* their numbers in rings */
	/* Show the frames, or no more. When it returns 0, no thread is between
	 * begin and end of a frame that was shown before. Returns -EBUSY: not
	 * done; it will be called again.
	 */
	int (*set)(struct roost_dump_source *source, bool on);
	LIST_ENTRY(roost_dump_source) link;
	bool on;
};

/* A device's frames. */
struct roost_dump_dev {
	struct roost_tap tap; /* first: the one is found by the other */
	struct roost_dump_source source;
	struct roost_dev *dev;
};

/* A source with device, names and set. Thread: the control thread. */
void roost_dump_add(struct roost_dump_source *source);
/* Captures end with the last source. Thread: as above. */
void roost_dump_remove(struct roost_dump_source *source);
/* A device as a source; to be removed before it is destroyed. label: its name,
 * and that of its one port, which outlives it; NULL: as it is. Thread: as
 * above.
 */
void roost_dump_add_dev(struct roost_dump_dev *d, struct roost_dev *dev,
			unsigned int nb_ports, const char *label);

/*
 * Begin a capture for the client at the connected socket. words, NULL at the
 * end: DEVICE ("-": all), SNAPLEN, KIB of memory, then pairs of a word and a
 * value as roost_dump_filter_add() takes them. The client gets "ok", a newline
 * and the descriptor of the memory (SCM_RIGHTS).
 * Takes: the socket, unless it returns an error, with a line in error.
 * Thread: the control thread.
 */
int roost_dump_start(int socket, char **words,
		     char error[ROOST_DUMP_ERROR_MAX]);

/* ---- frames: hot while there are captures -------------------------------- */

struct roost_dump_frame {
	const struct roost_dump_source *source;
	uint32_t place; /* index in the source's */
	enum roost_dump_way way;
	/* Its bytes: the head has all headers, in memory that nobody else
	 * writes.
	 */
	const void *head, *rest;
	uint32_t head_bytes, rest_bytes;
	uint32_t frame_bytes; /* head_bytes + rest_bytes, or more */
	/* See filter.h; NULL: not known. */
	bool (*is_from)(void *ctx, uint32_t qpn, uint32_t dest_qpn,
			const struct roost_gid *dgid);
	void *ctx;
};

/* Copy a frame into the captures that want it. Thread: any, between the calls
 * of the source's set(); never blocks.
 */
void roost_dump_begin(const struct roost_dump_frame *frame,
		      struct roost_tap_mark *mark);
/* Publish the copies. comment: NULL, or what is to be said of the frame. */
void roost_dump_end(const struct roost_tap_mark *mark, const char *comment);
/* Withdraw them. */
void roost_dump_cancel(const struct roost_tap_mark *mark);

#endif
