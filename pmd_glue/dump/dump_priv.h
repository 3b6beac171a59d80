/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DUMP_DUMP_PRIV_H
#define ROOST_PMD_GLUE_DUMP_DUMP_PRIV_H

/* Captures of this process; for this room only. */

#include <stdatomic.h>

#include "pmd_glue/dump/dump.h"
#include "pmd_glue/dump/filter.h"
#include "pmd_glue/process/control.h"

/* Constant while it is in roost_dumps, but tail; mapped until no thread records
 * into it.
 */
struct roost_dump {
	uint8_t *base;                /* NULL: there is no capture */
	struct roost_dump_head *head; /* at base */
	size_t size_bytes;
	uint32_t slot_bytes, nb_slots, snaplen;
	bool all; /* devices */
	char device[ROOST_DUMP_NAME_MAX];
	struct roost_dump_filter filter;
	/* What the reader has consumed; writer: the control thread. */
	_Atomic uint64_t tail;
	/* The control thread's. */
	int socket; /* -1: the capture has ended, and waits for its sources */
	/* Once there was a capture, until the last source is removed. */
	bool listed;
	struct roost_control_client client;
	uint8_t word[sizeof(uint64_t)]; /* from the reader */
	size_t word_bytes;
};

/* The captures by number, and those among them that record. */
extern struct roost_dump roost_dump_rings[ROOST_DUMPS_MAX];
extern _Atomic(struct roost_dump *) roost_dumps[ROOST_DUMPS_MAX];

#endif
