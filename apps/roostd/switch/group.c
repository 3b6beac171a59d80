/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/switch/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 4u

static uint32_t bucket_of(const struct roost_lease *lease,
			  const struct roost_gid *gid)
{
	return roost_lease_hash(lease->hash_key, gid, 1) %
	       ROOST_LEASE_GROUP_BUCKETS;
}

static struct roost_group *find(const struct roost_lease *lease,
				const struct roost_gid *gid)
{
	struct roost_group *group;

	LIST_FOREACH(group, &lease->groups[bucket_of(lease, gid)], link)
		if (roost_gid_eq(&group->gid, gid))
			return group;
	return NULL;
}

const struct roost_group *roost_lease_group(const struct roost_lease *lease,
					    const struct roost_gid *gid)
{
	return find(lease, gid);
}

/* The first place whose member is not below client. */
static uint32_t place_of(const struct roost_group *group, uint16_t client)
{
	uint32_t low = 0, high = group->nb_members;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (group->members[middle] < client)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_member(const struct roost_group *group, uint16_t client)
{
	const uint32_t at = place_of(group, client);

	return at < group->nb_members && group->members[at] == client;
}

static int insert(struct roost_group *group, uint16_t client)
{
	const uint32_t at = place_of(group, client);

	if (group->nb_members == group->room) {
		const uint32_t room = group->room ? 2 * group->room : ROOM_MIN;
		uint16_t *members =
			realloc(group->members, room * sizeof(members[0]));

		if (!members)
			return -ENOMEM;
		group->members = members;
		group->room = room;
	}
	memmove(&group->members[at + 1], &group->members[at],
		(group->nb_members - at) * sizeof(group->members[0]));
	group->members[at] = client;
	group->nb_members++;
	return 0;
}

static void free_empty(struct roost_lease *lease, struct roost_group *group)
{
	LIST_REMOVE(group, link);
	free(group->members);
	free(group);
	lease->nb_groups--;
}

static int find_or_new(struct roost_lease *lease, const struct roost_gid *gid,
		       struct roost_group **out)
{
	struct roost_group *group = find(lease, gid);

	if (!group) {
		if (lease->nb_groups >= ROOST_GROUPS_MAX)
			return -ENOSPC;
		group = calloc(1, sizeof(*group));
		if (!group)
			return -ENOMEM;
		group->gid = *gid;
		LIST_INSERT_HEAD(&lease->groups[bucket_of(lease, gid)], group,
				 link);
		lease->nb_groups++;
	}
	*out = group;
	return 0;
}

int roost_group_join(struct roost_lease *lease, uint16_t client,
		     const struct roost_gid *gid, bool *first)
{
	struct roost_client *c = &lease->clients[client];
	struct roost_group *group = find(lease, gid);
	int ret;

	*first = false;
	if (!roost_gid_is_multicast(gid))
		return -EINVAL;
	if (group && is_member(group, client))
		return 0;
	if (c->nb_groups >= c->conf.max_groups)
		return -EDQUOT;
	ret = find_or_new(lease, gid, &group);
	if (ret)
		return ret;
	ret = insert(group, client);
	if (ret) {
		if (group->nb_members == 0)
			free_empty(lease, group);
		return ret;
	}
	c->nb_groups++;
	*first = group->nb_members == 1;
	return 0;
}

static void remove_member(struct roost_lease *lease, struct roost_group *group,
			  uint16_t client, bool *last)
{
	const uint32_t at = place_of(group, client);

	group->nb_members--;
	memmove(&group->members[at], &group->members[at + 1],
		(group->nb_members - at) * sizeof(group->members[0]));
	lease->clients[client].nb_groups--;
	*last = group->nb_members == 0;
	if (*last)
		free_empty(lease, group);
}

int roost_group_leave(struct roost_lease *lease, uint16_t client,
		      const struct roost_gid *gid, bool *last)
{
	struct roost_group *group = find(lease, gid);

	*last = false;
	if (!group || !is_member(group, client))
		return -ENOENT;
	remove_member(lease, group, client, last);
	return 0;
}

void roost_group_leave_all(struct roost_lease *lease, uint16_t client,
			   void (*left)(void *arg, const struct roost_gid *gid),
			   void *arg)
{
	struct roost_group *group, *next;

	for (uint32_t i = 0; i < ROOST_LEASE_GROUP_BUCKETS &&
			     lease->clients[client].nb_groups > 0;
	     i++)
		for (group = LIST_FIRST(&lease->groups[i]); group;
		     group = next) {
			struct roost_gid gid = group->gid;
			bool last;

			next = LIST_NEXT(group, link);
			if (!is_member(group, client))
				continue;
			remove_member(lease, group, client, &last);
			if (last && left)
				left(arg, &gid);
		}
}
