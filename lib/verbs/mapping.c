/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "lib/verbs/mapping.h"

#ifndef DMA_BUF_MAGIC
#define DMA_BUF_MAGIC 0x444d4142 /* "DMAB" */
#endif

struct file {
	int fd;
	bool dmabuf;
	uint64_t page_bytes; /* offsets of mappings are multiples of it */
	uint64_t len_bytes;
};

static int look_at(int fd, struct file *file)
{
	struct statfs fs;
	struct stat st;
	off_t end;

	*file = (struct file){ .fd = fd };
	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return -errno;
	file->dmabuf = fs.f_type == DMA_BUF_MAGIC;
	file->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	file->len_bytes = (uint64_t)st.st_size;
	if (fs.f_type == HUGETLBFS_MAGIC)
		file->page_bytes = (uint64_t)fs.f_bsize;
	else if (!file->dmabuf && fs.f_type != TMPFS_MAGIC)
		return -EINVAL;
	if (!file->dmabuf)
		return S_ISREG(st.st_mode) ? 0 : -EINVAL;
	/* A dma-buf tells its size in this way only, and has no position that
	 * this could change.
	 */
	end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return -errno;
	file->len_bytes = (uint64_t)end;
	return 0;
}

static int sync_access(int fd, uint64_t when, bool writable)
{
	struct dma_buf_sync sync = {
		.flags = when | DMA_BUF_SYNC_READ |
			 (writable ? DMA_BUF_SYNC_WRITE : 0),
	};

	while (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

/* A driver refuses to map in many ways. */
static int why_not_mapped(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case EBADF:
	case ENOMEM:
	case EAGAIN:
		return -error;
	default:
		return -EOPNOTSUPP;
	}
}

static int begin_access(const struct file *file, struct roost_verbs_mapping *m)
{
	int ret;

	m->dmabuf_fd = -1;
	if (!file->dmabuf)
		return 0;
	m->dmabuf_fd = roost_high_fd(fcntl(file->fd, F_DUPFD_CLOEXEC, 0));
	if (m->dmabuf_fd < 0)
		return -errno;
	ret = sync_access(m->dmabuf_fd, DMA_BUF_SYNC_START, m->writable);
	if (ret)
		close(m->dmabuf_fd);
	return ret ? -EOPNOTSUPP : 0;
}

int roost_verbs_map(int fd, uint64_t offset, size_t length, bool writable,
		    struct roost_verbs_mapping *mapping, void **host)
{
	struct roost_verbs_mapping m = { .writable = writable };
	struct file file;
	uint64_t first, end;
	int ret;

	ret = look_at(fd, &file);
	if (ret)
		return ret;
	if (__builtin_add_overflow(offset, length, &end) ||
	    end > file.len_bytes)
		return -EINVAL;
	/* Drivers of graphics cards give the first page for any offset. */
	first = file.dmabuf ? 0 : offset & ~(file.page_bytes - 1);
	m.len_bytes =
		(end - first + file.page_bytes - 1) & ~(file.page_bytes - 1);
	m.at = mmap(NULL, m.len_bytes, PROT_READ | (writable ? PROT_WRITE : 0),
		    MAP_SHARED, fd, (off_t)first);
	if (m.at == MAP_FAILED)
		return why_not_mapped(errno);
	ret = begin_access(&file, &m);
	if (ret) {
		munmap(m.at, m.len_bytes);
		return ret;
	}
	*host = (uint8_t *)m.at + (offset - first);
	*mapping = m;
	return 0;
}

void roost_verbs_unmap(struct roost_verbs_mapping *mapping)
{
	if (!mapping->at)
		return;
	if (mapping->dmabuf_fd >= 0) {
		sync_access(mapping->dmabuf_fd, DMA_BUF_SYNC_END,
			    mapping->writable);
		close(mapping->dmabuf_fd);
	}
	munmap(mapping->at, mapping->len_bytes);
	mapping->at = NULL;
}
