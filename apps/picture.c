/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/picture_dir.h"
#include "apps/picture_keeper.h"
#include "apps/picture_static.h"
#include "lib/sysfs/picture.h"

/* Returns 0, or -errno: then there is none. */
static int start_in(const char *place, const struct roost_config *config,
		    char *path)
{
	int ret;

	roost_picture_sweep(place);
	ret = roost_picture_make(place, path);
	if (ret)
		return ret;
	/* First, so that nothing is left if we are killed. */
	ret = roost_picture_keep(path);
	if (ret == 0)
		ret = roost_picture_put_config(path, config);
	if (ret)
		roost_picture_remove(path);
	return ret;
}

/* Returns 0, or the error of the first place. */
static int start_anywhere(const struct roost_config *config, char *path)
{
	int first = 0;

	for (unsigned int i = 0; i < ROOST_PICTURE_PLACES; i++) {
		const char *place = roost_picture_place(i);
		int ret = place ? start_in(place, config, path) : -ENOENT;

		if (ret == 0)
			return 0;
		if (first == 0)
			first = ret;
	}
	return first;
}

int roost_picture_start(const struct roost_config *config, char *path,
			char err[ROOST_PICTURE_ERR_MAX])
{
	mode_t mask;
	int ret;

	if (roost_picture_of_daemon(config, path))
		return 0;
	mask = umask(022);
	ret = start_anywhere(config, path);
	umask(mask);
	if (ret)
		snprintf(err, ROOST_PICTURE_ERR_MAX,
			 "--sysfs: cannot show the devices in /sys: %s; make "
			 "room in /dev/shm, or --sysfs=none does without",
			 strerror(-ret));
	return ret;
}
