/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/channel/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/wire/frame.h"

/* In headers since glibc 2.38 and Linux 5.1. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* FUTURE_WRITE prevents holes, too: shmem refuses to punch them with it. */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

#define MAGIC 0x6d68732d74736f52u /* "Rost-shm" */
#define PART_BYTES 4096u
#define SLOT_ALIGN 64u
#define RING_LEN_MIN 8u
#define STAT_BLOCK_BYTES 512

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

static size_t size_of(const struct roost_shm_shape *shape)
{
	return offset_of_slots(shape) +
	       part_bytes((size_t)shape->nb_slots * shape->slot_bytes);
}

static int map(int fd, int prot, const struct roost_shm_shape *shape,
	       struct roost_shm_memory *mem)
{
	size_t size = size_of(shape);
	uint8_t *base = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	/* A child has none of the parent's channels. */
	madvise(base, size, MADV_DONTFORK);
	*mem = (struct roost_shm_memory){
		.shape = *shape,
		.base = base,
		.size_bytes = size,
		.sleeps = base + ROOST_SHM_WORD_STRIDE,
		.counts = base + offset_of_counts(),
		.rings = base + offset_of_rings(shape),
		.slots = base + offset_of_slots(shape),
		.fd = -1,
	};
	return 0;
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

static int make_fd(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("roost-frames", flags | MFD_NOEXEC_SEAL);

	/* Linux before 6.3 has no MFD_NOEXEC_SEAL. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("roost-frames", flags);
	return fd < 0 ? -errno : fd;
}

static int fill_fd(int fd, const struct roost_shm_shape *shape,
		   struct roost_shm_memory *mem)
{
	const struct header header = {
		.magic = MAGIC,
		.version = ROOST_SHM_VERSION,
		.shape = *shape,
	};
	int ret;

	/* Allocates every page, so that no later access can fail. */
	do
		ret = -posix_fallocate(fd, 0, (off_t)size_of(shape));
	while (ret == -EINTR);
	if (ret)
		return ret;
	ret = map(fd, PROT_READ | PROT_WRITE, shape, mem);
	if (ret)
		return ret;
	memcpy(mem->base, &header, sizeof(header));
	if (fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return 0;
	ret = errno == EINVAL ? -ENOSYS : -errno;
	roost_shm_memory_close(mem);
	return ret;
}

int roost_shm_memory_make(const struct roost_shm_shape *shape,
			  struct roost_shm_memory *mem)
{
	int fd, ret;

	*mem = (struct roost_shm_memory){ .fd = -1 };
	if (!is_shape(shape))
		return -EINVAL;
	fd = make_fd();
	if (fd < 0)
		return fd;
	ret = fill_fd(fd, shape, mem);
	if (ret) {
		close(fd);
		return ret;
	}
	mem->fd = fd;
	return 0;
}

/* ---- a peer's -------------------------------------------------------------
 */

static int check_seals(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS ? 0 : -EPERM;
}

/* Check the size and that all pages are there. Once sealed, both stay so. */
static int check_size(int fd, size_t size)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if ((uint64_t)st.st_size != size ||
	    (uint64_t)st.st_blocks * STAT_BLOCK_BYTES < size)
		return -EMSGSIZE;
	return 0;
}

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
	int ret;

	*mem = (struct roost_shm_memory){ .fd = -1 };
	ret = check_seals(fd);
	if (ret == 0)
		ret = read_shape(fd, &shape);
	if (ret == 0)
		ret = check_size(fd, size_of(&shape));
	if (ret == 0)
		ret = map(fd, PROT_READ, &shape, mem);
	return ret;
}
