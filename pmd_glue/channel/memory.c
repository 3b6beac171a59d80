/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/channel/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/wire/frame.h"
#include "pmd_glue/channel/sealed.h"

#define MAGIC 0x6d68732d74736f52u /* "Rost-shm" */
#define PART_BYTES 4096u
#define SLOT_ALIGN 64u
#define RING_LEN_MIN 8u

struct header {
	uint64_t magic;
	uint32_t version;
	struct roost_shm_shape shape;
};

_Static_assert(ROOST_SHM_SLOT_BYTES >=
		       ROOST_SHM_HEADROOM + ROOST_FRAME_OVERHEAD_MAX + 4096,
	       "a slot holds the longest frame");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	       "read-only memory can be read by atomic loads");
_Static_assert(sizeof(struct header) <= ROOST_SHM_WORD_STRIDE,
	       "the word behind the header has its own lines");

_Static_assert(2 * ROOST_SHM_WORD_STRIDE +
			       ROOST_SHM_TALLIES * sizeof(uint64_t) <=
		       PART_BYTES,
	       "the tallies are in the header's part");

static bool is_power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static bool is_shape(const struct roost_shm_shape *shape)
{
	return is_power_of_two(shape->nb_slots) &&
	       shape->nb_slots <= ROOST_SHM_SLOTS_MAX &&
	       is_power_of_two(shape->ring_len) &&
	       shape->ring_len >= RING_LEN_MIN &&
	       shape->ring_len <= shape->nb_slots &&
	       shape->slot_bytes % SLOT_ALIGN == 0 &&
	       shape->slot_bytes > ROOST_SHM_HEADROOM &&
	       shape->slot_bytes <= ROOST_SHM_SLOT_BYTES_MAX &&
	       shape->nb_seats > 0 && shape->nb_seats <= ROOST_SHM_SEATS_MAX;
}

static size_t part_bytes(size_t bytes)
{
	return (bytes + PART_BYTES - 1) / PART_BYTES * PART_BYTES;
}

/* Of a shape that is one, nothing overflows. */
static size_t offset_of_counts(void)
{
	return PART_BYTES;
}

static size_t offset_of_rings(const struct roost_shm_shape *shape)
{
	return offset_of_counts() +
	       part_bytes((size_t)shape->nb_seats * ROOST_SHM_WORD_STRIDE);
}

static size_t offset_of_slots(const struct roost_shm_shape *shape)
{
	return offset_of_rings(shape) +
	       part_bytes((size_t)shape->nb_seats * shape->ring_len *
			  sizeof(uint64_t));
}

size_t roost_shm_shape_bytes(const struct roost_shm_shape *shape)
{
	return offset_of_slots(shape) +
	       part_bytes((size_t)shape->nb_slots * shape->slot_bytes);
}

static void lay_out(uint8_t *base, const struct roost_shm_shape *shape,
		    struct roost_shm_memory *mem)
{
	*mem = (struct roost_shm_memory){
		.shape = *shape,
		.base = base,
		.size_bytes = roost_shm_shape_bytes(shape),
		.sleeps = base + ROOST_SHM_WORD_STRIDE,
		.tallies = base + (size_t)2 * ROOST_SHM_WORD_STRIDE,
		.counts = base + offset_of_counts(),
		.rings = base + offset_of_rings(shape),
		.slots = base + offset_of_slots(shape),
		.fd = -1,
	};
}

void roost_shm_memory_close(struct roost_shm_memory *mem)
{
	if (!mem->base)
		return;
	munmap(mem->base, mem->size_bytes);
	if (mem->fd >= 0)
		close(mem->fd);
	*mem = (struct roost_shm_memory){ .fd = -1 };
}

/* ---- one's own ------------------------------------------------------------
 */

int roost_shm_memory_make(const struct roost_shm_shape *shape,
			  struct roost_shm_memory *mem)
{
	const struct header header = {
		.magic = MAGIC,
		.version = ROOST_SHM_VERSION,
		.shape = *shape,
	};
	uint8_t *base;
	int fd, ret;

	*mem = (struct roost_shm_memory){ .fd = -1 };
	if (!is_shape(shape))
		return -EINVAL;
	fd = roost_sealed_make("roost-frames", roost_shm_shape_bytes(shape),
			       &base);
	if (fd < 0)
		return fd;
	lay_out(base, shape, mem);
	mem->fd = fd;
	memcpy(base, &header, sizeof(header));
	ret = roost_sealed_seal(fd);
	if (ret)
		roost_shm_memory_close(mem);
	return ret;
}

/* ---- a peer's -------------------------------------------------------------
 */

/* Read the header once; the writer may change it meanwhile. */
static int read_shape(int fd, struct roost_shm_shape *shape)
{
	struct header header;
	ssize_t len = pread(fd, &header, sizeof(header), 0);

	if (len != (ssize_t)sizeof(header) || header.magic != MAGIC)
		return -EPROTO;
	if (header.version != ROOST_SHM_VERSION)
		return -EPROTONOSUPPORT;
	if (!is_shape(&header.shape))
		return -EPROTO;
	*shape = header.shape;
	return 0;
}

int roost_shm_memory_map(int fd, struct roost_shm_memory *mem)
{
	struct roost_shm_shape shape;
	uint8_t *base;
	int ret;

	*mem = (struct roost_shm_memory){ .fd = -1 };
	ret = roost_sealed_check(fd);
	if (!ret)
		ret = read_shape(fd, &shape);
	if (!ret)
		ret = roost_sealed_map(fd, roost_shm_shape_bytes(&shape),
				       &base);
	if (!ret)
		lay_out(base, &shape, mem);
	return ret;
}
