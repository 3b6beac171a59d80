/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The file behind memory of this process. The kernel opens mappings by
 * /proc/self/map_files for root only, so the file is looked for among what is
 * open, and else by its name.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/verbs/handover.h"

struct place {
	dev_t dev;
	uint64_t inode;
	uint64_t offset; /* of the memory's begin */
	char path[4096]; /* may have been deleted or replaced */
};

/* The memory is one run of one file. */
static bool find_place(uintptr_t at, uintptr_t end, struct place *place)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t next = at;
	char line[4352];

	if (!maps)
		return false;
	while (next < end && fgets(line, sizeof(line), maps)) {
		uintptr_t from, to;
		uint64_t offset, inode;
		unsigned int major, minor;
		char access[5], path[4096] = "";
		dev_t dev;

		if (sscanf(line,
			   "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64
			   " %x:%x %" SCNu64 " %4095[^\n]",
			   &from, &to, access, &offset, &major, &minor, &inode,
			   path) < 7)
			break;
		if (to <= next)
			continue;
		dev = makedev(major, minor);
		offset += next - from;
		if (from > next || access[3] != 's' || inode == 0)
			break;
		if (next == at) {
			*place = (struct place){ dev, inode, offset, "" };
			memcpy(place->path, path, sizeof(path));
		} else if (dev != place->dev || inode != place->inode ||
			   offset != place->offset + (next - at)) {
			break;
		}
		next = to;
	}
	fclose(maps);
	return next >= end;
}

static bool is_file(int fd, const struct place *place, bool writable)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && !(flags & O_PATH) &&
	       (flags & O_ACCMODE) != O_WRONLY &&
	       (!writable || (flags & O_ACCMODE) == O_RDWR) &&
	       fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == place->dev && st.st_ino == place->inode;
}

static int find_open(const struct place *place, bool writable)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	if (!dir)
		return -1;
	while (found < 0 && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_file(fd, place, writable))
			found = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	closedir(dir);
	/* The program may have closed it meanwhile, and opened another. */
	if (found < 0 || is_file(found, place, writable))
		return found;
	close(found);
	return -1;
}

/* A name may lead to another file by now. O_NONBLOCK: or to a FIFO. */
static int find_named(const struct place *place, bool writable)
{
	int fd = open(place->path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC |
					   O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || is_file(fd, place, writable))
		return fd;
	close(fd);
	return -1;
}

int roost_handover_file(const void *at, uint64_t len_bytes, bool writable,
			uint64_t *offset)
{
	const uintptr_t begin = (uintptr_t)at;
	struct place place;
	int fd;

	if (len_bytes == 0 || begin + len_bytes < begin ||
	    !find_place(begin, begin + len_bytes, &place))
		return -EOPNOTSUPP;
	fd = find_open(&place, writable);
	if (fd < 0)
		fd = find_named(&place, writable);
	*offset = place.offset;
	return fd < 0 ? -EOPNOTSUPP : fd;
}
