/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_MEMORY_H
#define ROOST_PMD_GLUE_CHANNEL_MEMORY_H

/*
 * The shared memory of one party. A channel joins two processes of one machine;
 * frames lie in shared memory, and each memory has one writer:
 *
 *   header     constant: magic, version, sizes
 *   sleeps     one word: does the owner sleep (sleep.h)
 *   tallies    what the owner tells others of itself, for people
 *   counts     per seat one word: frames consumed from the peer in that seat;
 *              and one that says whether the owner receives there
 *   rings      one per seat: descriptors of the frames for that peer (pipe.h)
 *   slots      the frames
 *
 * A seat is the number that the owner has given to one of its peers. Offsets
 * follow from the sizes, so that no offset is read from the memory.
 *
 * It is sealed (sealed.h): the owner alone can write, and a reader that has
 * checked it cannot get SIGBUS. The others get the descriptor and map it
 * read-only. So a party can write nothing that another one relies on but its
 * own words, which pipe.h reads once and checks; and each process pays for its
 * own memory, also in its cgroup. Memory that one party made for both would
 * give less: each could write into what the other one has published.
 *
 * Everybody who has the descriptor can read everything in the memory. Peers
 * that must not see each other's frames need a memory each.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A frame begins at this offset of its slot: mbufs have it as headroom. */
#define ROOST_SHM_HEADROOM 128u
/* Holds a frame of path MTU 4096 with its headers. */
#define ROOST_SHM_SLOT_BYTES 4352u
#define ROOST_SHM_SLOTS 512u
/* Sixteen peers, the daemon, and the one that replaces it. */
#define ROOST_SHM_SEATS 18u

#define ROOST_SHM_SLOT_BYTES_MAX 16384u
#define ROOST_SHM_SLOTS_MAX 4096u
#define ROOST_SHM_SEATS_MAX 64u
#define ROOST_SHM_VERSION 1u

struct roost_shm_shape {
	uint32_t nb_slots;   /* power of two, at most ROOST_SHM_SLOTS_MAX */
	uint32_t slot_bytes; /* multiple of 64, more than the headroom */
	uint32_t nb_seats;   /* 1 to ROOST_SHM_SEATS_MAX */
	uint32_t ring_len;   /* entries of a ring: a power of two, 8 to
			      * nb_slots */
};

/* A mapped memory. All fields are private and constant. */
struct roost_shm_memory {
	struct roost_shm_shape shape;
	uint8_t *base; /* NULL: none. A peer's is mapped read-only */
	size_t size_bytes;
	uint8_t *sleeps; /* parts of it */
	uint8_t *tallies;
	uint8_t *counts;
	uint8_t *rings;
	uint8_t *slots;
	int fd; /* the owner's; -1: a peer's memory */
};

/* One word of the memory stands alone in two cache lines, as processors fetch
 * lines in pairs.
 */
#define ROOST_SHM_WORD_STRIDE 128u

/* Words of tallies; what they count is not known here. */
#define ROOST_SHM_TALLIES 32u

/* How much memory a shape takes. Thread: any. */
size_t roost_shm_shape_bytes(const struct roost_shm_shape *shape);

/*
 * Make a memory of that shape, filled with zeros but for its header. The
 * descriptor in mem->fd is for sending to peers; the memory is not mapped in
 * forked children.
 * Returns 0; -EINVAL (shape), -ENOMEM or -ENOSPC (no memory for all pages),
 * -EMFILE, -ENFILE, -ENOSYS (Linux before 5.1).
 * Thread: any.
 */
int roost_shm_memory_make(const struct roost_shm_shape *shape,
			  struct roost_shm_memory *mem);

/*
 * Check the memory of a peer and map it read-only. fd stays the caller's, and
 * may be closed. Nothing about it is believed: its maker may be hostile.
 * Returns 0; -EPERM (not sealed as above, or no memfd), -EMSGSIZE (its size is
 * not that of its shape, or pages are missing), -EPROTONOSUPPORT (another
 * version), -EPROTO (no memory of Roost, or a shape that is none), -ENOMEM.
 * Thread: any.
 */
int roost_shm_memory_map(int fd, struct roost_shm_memory *mem);

/* Unmap a memory and close the owner's descriptor. Thread: any, when no other
 * one uses it.
 */
void roost_shm_memory_close(struct roost_shm_memory *mem);

/* ---- parts ---------------------------------------------------------------
 * In a peer's memory they may be read only. The caller checks seat and slot.
 */

static inline _Atomic uint64_t *
roost_shm_sleeps(const struct roost_shm_memory *mem)
{
	return (_Atomic uint64_t *)(void *)mem->sleeps;
}

static inline _Atomic uint64_t *
roost_shm_tallies(const struct roost_shm_memory *mem)
{
	return (_Atomic uint64_t *)(void *)mem->tallies;
}

static inline _Atomic uint32_t *
roost_shm_count(const struct roost_shm_memory *mem, uint32_t seat)
{
	return (_Atomic uint32_t *)(void *)(mem->counts +
					    ROOST_SHM_WORD_STRIDE *
						    (size_t)seat);
}

/* 1: the owner receives from the peer in that seat. */
static inline _Atomic uint32_t *
roost_shm_listens(const struct roost_shm_memory *mem, uint32_t seat)
{
	return roost_shm_count(mem, seat) + 1;
}

static inline _Atomic uint64_t *
roost_shm_ring(const struct roost_shm_memory *mem, uint32_t seat)
{
	return (_Atomic uint64_t *)(void *)mem->rings +
	       (size_t)seat * mem->shape.ring_len;
}

static inline uint8_t *roost_shm_slot(const struct roost_shm_memory *mem,
				      uint32_t slot)
{
	return mem->slots + (size_t)slot * mem->shape.slot_bytes;
}

/* The longest frame that a slot holds. */
static inline uint32_t
roost_shm_frame_max_bytes(const struct roost_shm_shape *shape)
{
	return shape->slot_bytes - ROOST_SHM_HEADROOM;
}

#endif
