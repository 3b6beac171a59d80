/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Roost's devices are not in the kernel's sysfs, and a program may run without
 * a picture of them (lib/sysfs), but programs read other files through these
 * two functions (librdmacm the ABI of rdma_cm), and ibv_devinfo looks for a
 * board id there: it gets the user's name for the port.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/resolve.h"
#include "lib/verbs/private.h"
#include "lib/verbs/shim.h"

const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* Does dir, with file in it, ask for the board id of a device of ours? */
static bool is_board_id(const char *dir, const char *file, unsigned int *index)
{
	int end = 0;

	return strcmp(file, "board_id") == 0 &&
	       sscanf(dir, "/sys/class/infiniband/roost%u%n", index, &end) ==
		       1 &&
	       dir[end] == '\0' &&
	       *index < roost_config_nb_devices(roost_verbs_config());
}

static int board_id(unsigned int index, char *buf, size_t size)
{
	const struct roost_config *config = roost_verbs_config();
	char label[ROOST_LABEL_MAX];
	unsigned int first = 0;
	size_t len;

	roost_config_device_ports(config, index, &first);
	roost_config_label(config, first, true, label);
	len = strlen(label);
	if (len >= size)
		return -1;
	memcpy(buf, label, len + 1);
	return (int)len;
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
			size_t size)
{
	char path[PATH_MAX];
	unsigned int index;
	ssize_t len;
	int fd;

	if (is_board_id(dir, file, &index))
		return board_id(index, buf, size);
	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	close(fd);
	if (len <= 0)
		return (int)len;

	if (buf[len - 1] == '\n')
		len--;
	else if ((size_t)len == size)
		return -1;
	buf[len] = '\0';
	return (int)len;
}
