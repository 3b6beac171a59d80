/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The list of devices that the control socket and telemetry show. */
#include <string.h>

#include <roost/dev.h>

#include "pmd_glue/ctl/ctl.h"

static LIST_HEAD(, roost_ctl_device) devices;

void roost_ctl_list(struct roost_ctl_device *device)
{
	LIST_INSERT_HEAD(&devices, device, link);
}

void roost_ctl_unlist(struct roost_ctl_device *device)
{
	LIST_REMOVE(device, link);
}

struct roost_ctl_device *roost_ctl_next(struct roost_ctl_device *device)
{
	return device ? LIST_NEXT(device, link) : LIST_FIRST(&devices);
}

struct roost_ctl_device *roost_ctl_find(const char *name)
{
	struct roost_ctl_device *first = LIST_FIRST(&devices), *d;

	if (strcmp(name, "-") == 0)
		return first && !LIST_NEXT(first, link) ? first : NULL;
	LIST_FOREACH(d, &devices, link)
		if (strcmp(name, roost_dev_name(d->dev)) == 0)
			return d;
	return NULL;
}

static const struct roost_ctl_more *served;

void roost_ctl_list_more(const struct roost_ctl_more *more)
{
	served = more;
}

const struct roost_ctl_more *roost_ctl_more(void)
{
	return served;
}
