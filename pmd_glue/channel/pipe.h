/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_PIPE_H
#define ROOST_PMD_GLUE_CHANNEL_PIPE_H

/*
 * Frames from one party to one peer: a ring of descriptors in the sender's
 * memory, and in the receiver's memory the count of the frames that it has
 * consumed. Pure logic over these words. Hot: no allocation, system call, log
 * or lock.
 *
 * A descriptor is one word of 64 bits: sequence number, slot and length. It is
 * stored with release after the frame was written, and the receiver polls the
 * word of the next descriptor with acquire; there is no index to share. The
 * sequence number of the frame at position p (0, 1, 2 ...) is p + 1, so a word
 * of the previous round, p + 1 - ring_len, or zero in the first round, is none.
 *
 * The receiver stores its count with release after it has read the frames. The
 * sender loads it with acquire and then owns the slots of these frames again.
 *
 * Each word is read once into a private variable and checked. A word that no
 * correct peer writes is a fault: the pipe is broken for good, every function
 * fails, and the owner decides what becomes of the peer.
 *
 * Thread: one at a time for each end.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pmd_glue/channel/memory.h"

enum roost_shm_fault {
	ROOST_SHM_OK,
	ROOST_SHM_BAD_SEQUENCE, /* a descriptor neither due nor old */
	ROOST_SHM_BAD_SLOT,     /* a slot that the memory does not have */
	ROOST_SHM_BAD_LENGTH, /* shorter than Ethernet or longer than a slot */
	ROOST_SHM_BAD_COUNT,  /* counts back, or more than was published */
};

/* Words for a report. */
const char *roost_shm_fault_text(enum roost_shm_fault fault);

/* Clear our words for a peer. To be called before the peer is told its seat: it
 * may look at them as soon as it knows.
 */
void roost_shm_pipes_clear(const struct roost_shm_memory *ours, uint32_t seat);

/* ---- the sender's end ------------------------------------------------------
 * Positions are counted modulo 2^32.
 */

struct roost_shm_out {
	_Atomic uint64_t *ring;        /* in our memory; no other writer */
	const _Atomic uint32_t *count; /* in the peer's memory */
	uint32_t ring_len;
	uint32_t published; /* position of the next frame */
	uint32_t freed;     /* position of the oldest frame not consumed yet */
	uint8_t fault;      /* enum roost_shm_fault */
};

/* ours, seat: our memory, and our seat for the peer. theirs, their_seat: the
 * peer's memory, and its seat for us, which it told us. Both seats were
 * checked.
 */
void roost_shm_out_open(struct roost_shm_out *out,
			const struct roost_shm_memory *ours, uint32_t seat,
			const struct roost_shm_memory *theirs,
			uint32_t their_seat);

/* Frames that were published and not consumed, as of the last call of
 * roost_shm_out_collect().
 */
static inline uint32_t roost_shm_out_pending(const struct roost_shm_out *out)
{
	return out->published - out->freed;
}

/* Publish the frame in a slot. The ring has room: fewer than ring_len frames
 * are pending. The slot belongs to the receiver until it was collected.
 */
static inline void roost_shm_out_publish(struct roost_shm_out *out,
					 uint32_t slot, uint32_t len_bytes)
{
	uint32_t at = out->published++ & (out->ring_len - 1);
	uint64_t word = (uint64_t)out->published << 32 | (uint64_t)slot << 16 |
			len_bytes;

	/* Pairs with the acquire in roost_shm_in_take(). */
	atomic_store_explicit(&out->ring[at], word, memory_order_release);
}

/* Look at the peer's count. Returns how many of the oldest frames were
 * consumed: their slots are those of roost_shm_out_slot(out, 0 ...) and are
 * ours again; the caller then calls roost_shm_out_free(). 0 also after a fault.
 */
uint32_t roost_shm_out_collect(struct roost_shm_out *out);

/* Our own word of the i-th oldest pending frame: nobody else can have written
 * it.
 */
static inline uint64_t roost_shm_out_word(const struct roost_shm_out *out,
					  uint32_t i)
{
	return atomic_load_explicit(
		&out->ring[(out->freed + i) & (out->ring_len - 1)],
		memory_order_relaxed);
}

/* Its slot, and its length. */
static inline uint32_t roost_shm_out_slot(const struct roost_shm_out *out,
					  uint32_t i)
{
	return (uint32_t)(roost_shm_out_word(out, i) >> 16) & 0xffff;
}

static inline uint32_t roost_shm_out_len_bytes(const struct roost_shm_out *out,
					       uint32_t i)
{
	return (uint32_t)roost_shm_out_word(out, i) & 0xffff;
}

/* Take the pending frames back from a receiver that may still look: what it has
 * not taken is none any more. Their slots are read as before.
 */
void roost_shm_out_withdraw(struct roost_shm_out *out);

static inline void roost_shm_out_free(struct roost_shm_out *out, uint32_t n)
{
	out->freed += n;
}

/* ---- the receiver's end ---------------------------------------------------
 */

struct roost_shm_in {
	const _Atomic uint64_t *ring; /* in the peer's memory */
	_Atomic uint32_t *count;      /* in our memory; no other writer */
	uint32_t ring_len;
	uint32_t nb_slots;
	uint32_t len_max_bytes;
	uint32_t taken; /* position of the next frame */
	uint32_t given; /* position of the oldest frame not given back */
	uint8_t fault;  /* enum roost_shm_fault */
};

/* A frame that was published, as checked. */
struct roost_shm_entry {
	uint16_t slot;
	uint16_t len_bytes;
};

/* As roost_shm_out_open(). */
void roost_shm_in_open(struct roost_shm_in *in,
		       const struct roost_shm_memory *ours, uint32_t seat,
		       const struct roost_shm_memory *theirs,
		       uint32_t their_seat);

/* Take up to n frames. Returns how many; 0 also after a fault. A fault behind
 * good frames is found by the next call. No more than ring_len frames can be
 * taken and not given back.
 */
uint32_t roost_shm_in_take(struct roost_shm_in *in,
			   struct roost_shm_entry *entries, uint32_t n);

/* Was a frame published that is not taken, or another word? Whether there is
 * room for it or not.
 */
bool roost_shm_in_is_due(const struct roost_shm_in *in);

/* Give the n oldest taken frames back: nobody reads them any more. */
static inline void roost_shm_in_give(struct roost_shm_in *in, uint32_t n)
{
	in->given += n;
	/* Pairs with the acquire in roost_shm_out_collect(). */
	atomic_store_explicit(in->count, in->given, memory_order_release);
}

#endif
