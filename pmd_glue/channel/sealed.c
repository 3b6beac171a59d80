/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/channel/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/event/high_fd.h"

/* In headers since glibc 2.38 and Linux 5.1. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* FUTURE_WRITE prevents holes, too: shmem refuses to punch them with it. */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

#define STAT_BLOCK_BYTES 512

static int map(int fd, int prot, size_t size, uint8_t **base)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	/* A child has none of the parent's channels. */
	madvise(at, size, MADV_DONTFORK);
	*base = at;
	return 0;
}

static int make_fd(const char *name)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Linux before 6.3 has no MFD_NOEXEC_SEAL. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : roost_high_fd(fd);
}

int roost_sealed_make(const char *name, size_t size_bytes, uint8_t **base)
{
	int fd = make_fd(name);
	int ret;

	if (fd < 0)
		return fd;
	/* Allocates every page, so that no later access can fail. */
	do
		ret = -posix_fallocate(fd, 0, (off_t)size_bytes);
	while (ret == -EINTR);
	if (!ret)
		ret = map(fd, PROT_READ | PROT_WRITE, size_bytes, base);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int roost_sealed_seal(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return 0;
	return errno == EINVAL ? -ENOSYS : -errno;
}

int roost_sealed_check(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS) == SEALS ? 0 : -EPERM;
}

/* Once sealed, the size and the pages stay as they are. */
int roost_sealed_map(int fd, size_t size_bytes, uint8_t **base)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if ((uint64_t)st.st_size != size_bytes ||
	    (uint64_t)st.st_blocks * STAT_BLOCK_BYTES < size_bytes)
		return -EMSGSIZE;
	return map(fd, PROT_READ, size_bytes, base);
}
