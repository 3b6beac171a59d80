/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Hot, see pipe.h. */

#include "pmd_glue/channel/pipe.h"

#include "lib/wire/frame.h"

const char *roost_shm_fault_text(enum roost_shm_fault fault)
{
	static const char *const texts[] = {
		[ROOST_SHM_OK] = "no fault",
		[ROOST_SHM_BAD_SEQUENCE] = "a descriptor out of sequence",
		[ROOST_SHM_BAD_SLOT] = "a descriptor of no slot",
		[ROOST_SHM_BAD_LENGTH] = "a descriptor of an invalid length",
		[ROOST_SHM_BAD_COUNT] = "an invalid count of frames consumed",
	};

	return texts[fault];
}

void roost_shm_pipes_clear(const struct roost_shm_memory *ours, uint32_t seat)
{
	_Atomic uint64_t *ring = roost_shm_ring(ours, seat);

	for (uint32_t i = 0; i < ours->shape.ring_len; i++)
		atomic_store_explicit(&ring[i], 0, memory_order_relaxed);
	atomic_store_explicit(roost_shm_count(ours, seat), 0,
			      memory_order_relaxed);
	atomic_store_explicit(roost_shm_listens(ours, seat), 0,
			      memory_order_relaxed);
}

/* ---- the sender's end ------------------------------------------------------
 */

void roost_shm_out_open(struct roost_shm_out *out,
			const struct roost_shm_memory *ours, uint32_t seat,
			const struct roost_shm_memory *theirs,
			uint32_t their_seat)
{
	*out = (struct roost_shm_out){
		.ring = roost_shm_ring(ours, seat),
		.count = roost_shm_count(theirs, their_seat),
		.ring_len = ours->shape.ring_len,
	};
}

uint32_t roost_shm_out_collect(struct roost_shm_out *out)
{
	/* Pairs with the release in roost_shm_in_give(). */
	uint32_t count = atomic_load_explicit(out->count, memory_order_acquire);
	uint32_t n = count - out->freed;

	if (n == 0 || out->fault != ROOST_SHM_OK)
		return 0;
	if (n > roost_shm_out_pending(out)) {
		out->fault = ROOST_SHM_BAD_COUNT;
		return 0;
	}
	return n;
}

/* The slot stays in the word, which is otherwise that of the round before. */
void roost_shm_out_withdraw(struct roost_shm_out *out)
{
	for (uint32_t at = out->freed; at != out->published; at++) {
		_Atomic uint64_t *word = &out->ring[at & (out->ring_len - 1)];
		const uint64_t now =
			atomic_load_explicit(word, memory_order_relaxed);

		atomic_store_explicit(word,
				      (uint64_t)(at + 1 - out->ring_len) << 32 |
					      (uint32_t)now,
				      memory_order_release);
	}
}

/* ---- the receiver's end ----------------------------------------------------
 */

void roost_shm_in_open(struct roost_shm_in *in,
		       const struct roost_shm_memory *ours, uint32_t seat,
		       const struct roost_shm_memory *theirs,
		       uint32_t their_seat)
{
	*in = (struct roost_shm_in){
		.ring = roost_shm_ring(theirs, their_seat),
		.count = roost_shm_count(ours, seat),
		.ring_len = theirs->shape.ring_len,
		.nb_slots = theirs->shape.nb_slots,
		.len_max_bytes = roost_shm_frame_max_bytes(&theirs->shape),
	};
}

/* Is this the word of the previous round, at the position that is due? */
static bool is_old(const struct roost_shm_in *in, uint64_t word)
{
	if (in->taken < in->ring_len && word == 0)
		return true;
	return (uint32_t)(word >> 32) == in->taken + 1 - in->ring_len;
}

bool roost_shm_in_is_due(const struct roost_shm_in *in)
{
	/* Pairs with the release in roost_shm_out_publish(). */
	return !is_old(in, atomic_load_explicit(
				   &in->ring[in->taken & (in->ring_len - 1)],
				   memory_order_acquire));
}

static enum roost_shm_fault check(const struct roost_shm_in *in, uint64_t word)
{
	uint32_t slot = (uint32_t)(word >> 16) & 0xffff;
	uint32_t len_bytes = (uint32_t)word & 0xffff;

	if (slot >= in->nb_slots)
		return ROOST_SHM_BAD_SLOT;
	if (len_bytes < ROOST_ETH_LEN || len_bytes > in->len_max_bytes)
		return ROOST_SHM_BAD_LENGTH;
	return ROOST_SHM_OK;
}

uint32_t roost_shm_in_take(struct roost_shm_in *in,
			   struct roost_shm_entry *entries, uint32_t n)
{
	uint32_t room = in->ring_len - (in->taken - in->given);
	uint32_t i;

	if (in->fault != ROOST_SHM_OK)
		return 0;
	if (n > room)
		n = room;
	for (i = 0; i < n; i++) {
		/* Pairs with the release in roost_shm_out_publish(). */
		uint64_t word = atomic_load_explicit(
			&in->ring[in->taken & (in->ring_len - 1)],
			memory_order_acquire);
		enum roost_shm_fault fault;

		if ((uint32_t)(word >> 32) != in->taken + 1) {
			if (!is_old(in, word) && i == 0)
				in->fault = ROOST_SHM_BAD_SEQUENCE;
			break;
		}
		fault = check(in, word);
		if (fault != ROOST_SHM_OK) {
			if (i == 0)
				in->fault = (uint8_t)fault;
			break;
		}
		entries[i].slot = (uint16_t)(word >> 16);
		entries[i].len_bytes = (uint16_t)word;
		in->taken++;
	}
	return i;
}
