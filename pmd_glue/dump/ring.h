/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DUMP_RING_H
#define ROOST_PMD_GLUE_DUMP_RING_H

/*
 * The memory between a process whose frames are captured and `roost dump`: a
 * page, then slots of equal size, each with one frame or with its beginning.
 *
 * The traced process makes, writes and seals it (pmd_glue/channel/sealed.h).
 * The reader maps it read-only, and says by its socket what it has consumed: so
 * neither writes memory that the other one trusts. Any number of threads write.
 * A writer takes the position `head`, if the reader has left room, fills the
 * slot, and publishes it: slot.at becomes the position plus 1. It never waits:
 * without room the frame is not recorded, and counted in `lost`.
 *
 * The reader may be root, and the traced process anybody's: what is in the
 * memory may be anything, and may change at any time. roost_dump_view_*() read
 * it so.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOST_DUMP_MAGIC 0x504d5544u /* "DUMP" */
#define ROOST_DUMP_VERSION 1u
#define ROOST_DUMP_SOURCES_MAX 48u
#define ROOST_DUMP_NAME_MAX 64u /* with the zero */
#define ROOST_DUMP_COMMENT_MAX 64u
#define ROOST_DUMP_HEAD_BYTES 4096u
/* Bytes of a frame that are recorded. The longest frame of RoCEv2 has less than
 * 4400, others up to 9 KiB and more.
 */
#define ROOST_DUMP_SNAPLEN_MIN 64u
#define ROOST_DUMP_SNAPLEN_MAX 16384u
#define ROOST_DUMP_BUFFER_MIN_KIB 64u
#define ROOST_DUMP_BUFFER_MAX_KIB (256u * 1024)

/* The first page. */
struct roost_dump_head {
	uint32_t magic;
	uint32_t version;
	uint32_t slot_bytes;
	uint32_t nb_slots; /* a power of two */
	uint32_t snaplen;
	/* Names of the places where frames are seen: devices with their ports.
	 * Once there, a name stays.
	 */
	char sources[ROOST_DUMP_SOURCES_MAX][ROOST_DUMP_NAME_MAX];
	_Atomic uint64_t head __attribute__((aligned(64)));
	_Atomic uint64_t lost __attribute__((aligned(64)));
};
_Static_assert(sizeof(struct roost_dump_head) <= ROOST_DUMP_HEAD_BYTES,
	       "one page");

enum roost_dump_way {
	ROOST_DUMP_RECEIVED,
	ROOST_DUMP_SENT,
	ROOST_DUMP_INSIDE, /* on no wire */
	ROOST_DUMP_VOID,   /* no frame after all */
};

struct roost_dump_slot {
	_Atomic uint64_t at;  /* position + 1; other values: not written yet */
	uint64_t time_ns;     /* since 1970 */
	uint64_t lost;        /* frames before it that were not recorded */
	uint32_t frame_bytes; /* its length without FCS */
	uint32_t copied_bytes;
	uint16_t source;
	uint8_t way; /* enum roost_dump_way */
	char comment[ROOST_DUMP_COMMENT_MAX];
	uint8_t bytes[] __attribute__((aligned(8)));
};

/* The size of a slot. */
static inline size_t roost_dump_slot_bytes(uint32_t snaplen)
{
	return (sizeof(struct roost_dump_slot) + snaplen + 63) / 64 * 64;
}

/* ---- the reader ---------------------------------------------------------- */

struct roost_dump_view {
	const uint8_t *base;
	size_t size_bytes;
	/* As they were checked: the memory is read once. */
	uint32_t slot_bytes, nb_slots, snaplen;
	uint64_t next; /* position */
	/* The slot that was read: a private copy. */
	struct roost_dump_slot *slot;
};

/* Look at memory of that size, which was mapped from fd. Returns 0; -EPROTO: it
 * is no ring, or of another version; -ENOMEM.
 */
int roost_dump_view_init(struct roost_dump_view *view, const uint8_t *base,
			 size_t size_bytes);
/* Map the memory of fd, which may be anything. Returns as above, -EPERM (not
 * sealed), -EMSGSIZE (too large, or pages are missing), -errno of fstat(2).
 */
int roost_dump_view_open(struct roost_dump_view *view, int fd);
void roost_dump_view_close(struct roost_dump_view *view);
/*
 * Read the next slot into view->slot: all its numbers are in their ranges, and
 * its comment is printable text. ended: nobody writes any more, and slots that
 * were begun and never published are passed over. Returns false: there is none
 * yet.
 */
bool roost_dump_view_next(struct roost_dump_view *view, bool ended);
/* The name of a source as printable text. */
void roost_dump_view_name(const struct roost_dump_view *view, uint16_t source,
			  char name[ROOST_DUMP_NAME_MAX]);
/* Frames that were not recorded. */
uint64_t roost_dump_view_lost(const struct roost_dump_view *view);

#endif
