/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/preload/lost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096ul
#define ENTRIES 512u

/* Of an entry of /proc/self/pagemap. */
#define ENTRY_IS_FILE (1ull << 61) /* or shared memory */
#define ENTRY_IS_SWAPPED (1ull << 62)
#define ENTRY_IS_PRESENT (1ull << 63)

/* None of these is a wrapper of this library's. */
static int open_proc(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC,
			    0);
}

static void close_proc(int fd)
{
	syscall(SYS_close, fd);
}

static bool is_private(uint64_t entry)
{
	return entry & (ENTRY_IS_SWAPPED | ENTRY_IS_PRESENT) &&
	       !(entry & ENTRY_IS_FILE);
}

void roost_preload_private(uintptr_t begin, size_t len_bytes,
			   void (*found)(const void *addr, size_t len_bytes))
{
	int error = errno, fd = open_proc("/proc/self/pagemap");
	uintptr_t at = begin, end = begin + len_bytes, run = begin;
	uint64_t entries[ENTRIES];
	bool in_run = false;

	while (at < end) {
		size_t want = (end - at + PAGE_BYTES - 1) / PAGE_BYTES;
		long got;

		if (want > ENTRIES)
			want = ENTRIES;
		got = syscall(SYS_pread64, fd, entries, want * sizeof(*entries),
			      at / PAGE_BYTES * sizeof(*entries));
		if (got < (long)sizeof(*entries)) {
			/* The rest is unknown. */
			if (!in_run)
				run = at;
			in_run = true;
			break;
		}
		for (size_t i = 0; i < (size_t)got / sizeof(*entries);
		     i++, at += PAGE_BYTES) {
			if (is_private(entries[i]) == in_run)
				continue;
			if (in_run)
				found((void *)run, at - run);
			run = at;
			in_run = !in_run;
		}
	}
	if (in_run)
		found((void *)run, end - run);
	if (fd >= 0)
		close_proc(fd);
	errno = error;
}

/* ---- segments ------------------------------------------------------------
 */

/* Reads /proc/self/maps byte by byte. */
struct reader {
	int fd;
	size_t at, len;
	char buf[1024];
};

static int next_byte(struct reader *r)
{
	long got;

	if (r->at == r->len) {
		got = syscall(SYS_read, r->fd, r->buf, sizeof(r->buf));
		if (got <= 0)
			return -1;
		r->at = 0;
		r->len = (size_t)got;
	}
	return (unsigned char)r->buf[r->at++];
}

/* A number of this base, and the byte behind it. */
static uint64_t number(struct reader *r, unsigned int base, int *behind)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;
	const char *digit;
	int c;

	while ((c = next_byte(r)) > 0 && (digit = strchr(digits, c)) &&
	       (size_t)(digit - digits) < base)
		v = v * base + (uint64_t)(digit - digits);
	*behind = c;
	return v;
}

struct mapping {
	uintptr_t begin, end;
	uint64_t offset, inode;
};

/* "begin-end rwxp offset major:minor inode path". Returns false at the end. */
static bool next_mapping(struct reader *r, struct mapping *m)
{
	int c;

	m->begin = number(r, 16, &c);
	if (c != '-')
		return false;
	m->end = number(r, 16, &c);
	for (int i = 0; i < 5; i++)
		c = next_byte(r);
	m->offset = number(r, 16, &c);
	number(r, 16, &c);
	number(r, 16, &c);
	m->inode = number(r, 10, &c);
	while (c != '\n' && c >= 0)
		c = next_byte(r);
	return c >= 0;
}

size_t roost_preload_segment(uintptr_t begin)
{
	int error = errno;
	struct reader r = { .fd = open_proc("/proc/self/maps") };
	bool is_found = false;
	uint64_t inode = 0;
	struct mapping m;
	uintptr_t end = begin;

	while (r.fd >= 0 && next_mapping(&r, &m)) {
		if (m.begin == begin && m.offset == 0) {
			is_found = true;
			inode = m.inode;
		}
		/* Its parts, if protections differ. */
		if (is_found && m.inode == inode && m.offset == m.begin - begin)
			end = m.end;
	}
	if (r.fd >= 0)
		close_proc(r.fd);
	errno = error;
	return end - begin;
}
