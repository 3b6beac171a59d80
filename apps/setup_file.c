/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/setup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void roost_setup_path(const struct roost_setup *s, char *path,
		      const char *format, ...)
{
	va_list args;
	int len = snprintf(path, PATH_MAX, "%s", s->root);

	va_start(args, format);
	vsnprintf(path + len, (size_t)(PATH_MAX - len), format, args);
	va_end(args);
}

void roost_setup_slurp(const char *path, char *text)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t len = fd < 0 ? 0 : read(fd, text, ROOST_SETUP_TEXT_MAX - 1);

	text[len < 0 ? 0 : len] = '\0';
	if (fd >= 0)
		close(fd);
}

int roost_setup_make_folder(const char *path)
{
	char folder[PATH_MAX];

	for (const char *end = strchr(path + 1, '/'); end;
	     end = strchr(end + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path),
			 path);
		if (mkdir(folder, 0755) != 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int roost_setup_change_file(const char *path, const char *ours,
			    const char *text)
{
	char found[ROOST_SETUP_TEXT_MAX];
	ssize_t len;
	int fd, ret;

	roost_setup_slurp(path, found);
	if (strcmp(found, text) == 0)
		return 0;
	if (found[0] && strcmp(found, ours) != 0)
		return -EEXIST;
	if (!text[0])
		return unlink(path) == 0 ? 0 : -errno;
	ret = roost_setup_make_folder(path);
	if (ret)
		return ret;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	len = write(fd, text, strlen(text));
	if (fsync(fd) != 0 || len != (ssize_t)strlen(text)) {
		close(fd);
		unlink(path);
		return -EIO;
	}
	close(fd);
	return 0;
}

struct roost_pci_places roost_setup_places(const struct roost_setup *s,
					   char *devices, char *vfio)
{
	roost_setup_path(s, devices, ROOST_PCI_DEVICES);
	roost_setup_path(s, vfio, ROOST_PCI_VFIO);
	return (struct roost_pci_places){ devices, vfio };
}

void roost_setup_read_device(const struct roost_setup *s,
			     struct roost_pci_device *d)
{
	char devices[PATH_MAX], vfio[PATH_MAX];
	const struct roost_pci_places places =
		roost_setup_places(s, devices, vfio);

	roost_pci_read(&places, s->nic, d);
}
