/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SOAK_OBJECTS_H
#define ROOST_TESTS_SOAK_OBJECTS_H

/*
 * The objects of a session, and how its buffer is divided. Thread: the
 * session's.
 */

#include "tests/soak/session.h"

#define SOAK_QKEY 0x50a4u
#define SOAK_GRH_BYTES 40u
#define SOAK_UD_BYTES 512u
/* Of what WRITE and READ move, and the longest message. */
#define SOAK_MEM_BYTES 20000u
#define SOAK_SLOT_BYTES 20480u
/* For each kind, which has receives of its own; MIGRATE's are in the SRQ. */
#define SOAK_SLOTS 4u

#define SOAK_COUNTER 0u /* of the peer's atomics */
#define SOAK_FETCHED 8u
#define SOAK_REMOTE 4096u /* of the peer's WRITE and READ */
#define SOAK_OUT (SOAK_REMOTE + SOAK_SLOT_BYTES)
#define SOAK_BACK (SOAK_OUT + SOAK_SLOT_BYTES)
#define SOAK_MESSAGES (SOAK_BACK + SOAK_SLOT_BYTES)
#define SOAK_RECEIVES (SOAK_MESSAGES + KIND_COUNT * SOAK_SLOT_BYTES)
#define SOAK_BYTES (SOAK_RECEIVES + KIND_COUNT * SOAK_SLOTS * SOAK_SLOT_BYTES)

static inline enum kind slot_kind(unsigned int slot)
{
	return (enum kind)(slot / SOAK_SLOTS);
}

uint8_t *slot_at(struct session *s, unsigned int slot);
/* Returns whether it is posted. */
bool slot_post(struct session *s, unsigned int slot);

/* Arm the CQ and wait for its event, for at most ms. Returns whether there may
 * be completions.
 */
bool objects_sleep(struct session *s, int ms);

#endif
