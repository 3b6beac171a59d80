/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/uplink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/addr.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

struct change {
	struct roost_uplink *uplink;
	struct roost_gid group;
	bool joins;
};

static int change_on_control(void *arg)
{
	struct change *c = arg;
	const struct roost_addr_io *addrs = roost_uplink_addrs(c->uplink);
	char text[ROOST_PREFIX_STRLEN];
	int ret = 0;

	if (!c->joins)
		addrs->mcast_leave(addrs->ctx, &c->group);
	else
		ret = addrs->mcast_join(addrs->ctx, &c->group);
	if (ret)
		roost_report("%s: the port cannot join %s: %s; its clients "
			     "receive nothing of that group from outside; "
			     "leave other groups",
			     roost_uplink_label(c->uplink),
			     roost_addr_format(&c->group, text),
			     strerror(-ret));
	free(c);
	return 0;
}

static int change_group(struct roost_uplink *u, const struct roost_gid *group,
			bool joins)
{
	struct change *c;
	int ret;

	if (!roost_uplink_addrs(u)->mcast_join)
		return 0;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct change){ .uplink = u, .group = *group, .joins = joins };
	ret = roost_control_post(change_on_control, c);
	if (ret)
		free(c);
	return ret;
}

int roost_uplink_join(struct roost_uplink *uplink,
		      const struct roost_gid *group)
{
	return change_group(uplink, group, true);
}

void roost_uplink_leave(struct roost_uplink *uplink,
			const struct roost_gid *group)
{
	change_group(uplink, group, false);
}
