/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_MEMBERSHIP_WORLD_H
#define ROOST_TESTS_UNIT_PMD_GLUE_MEMBERSHIP_WORLD_H

/*
 * One membership under a clock turned by hand, and all that it says. The host
 * is that of group_frames.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/host/membership.h"
#include "tests/unit/pmd_glue/host/group_frames.h"

#define MS 1000000ull
#define S (1000 * MS)

#define SAID_MAX 8192u

/* A message of an older version, or a record, as on the wire. */
enum word {
	V1_REPORT = 0x12,
	V2_REPORT = 0x16,
	V2_LEAVE = 0x17,
	MLD1_REPORT = 131,
	MLD1_DONE = 132,
	IS_IN = 1,
	IS_EX = 2,
	TO_IN = 3,
	TO_EX = 4,
};

struct said {
	enum word word;
	struct roost_gid group;
	unsigned int nb_sources;
	uint64_t at_ns;
};

struct world {
	struct roost_membership *m;
	uint64_t now_ns;
	unsigned int nb_frames;
	size_t longest_bytes;
	unsigned int nb;
	struct said v[SAID_MAX];
};

extern struct world world;

/* For cmocka: a membership with a fixed seed and an MTU of 1500. */
int world_setup(void **state);
int world_teardown(void **state);
/* Another one; the last one has been destroyed. */
int world_create(uint64_t seed, uint32_t mtu_bytes);

int world_join(const char *text);
void world_leave(const char *text);
/* Returns whether anything was said. */
bool world_leave_all(void);
void world_input(const struct golden_frame *f);

/* Go on in time, through every deadline on the way. */
void world_advance(uint64_t ns);
/* Become a member, until all reports of that are out and forgotten. */
void world_settle(const char *text);
void world_forget_said(void);

/* How often it was said. */
unsigned int world_count(enum word word, const char *text);
/* Word number i was this, at from_ns or at most within_ns later. */
void world_assert_said(unsigned int i, enum word word, const char *text,
		       uint64_t from_ns, uint64_t within_ns);

#endif
