/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/groups.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/host/membership.h"
#include "pmd_glue/host/nd.h"

/* ---- the filter -------------------------------------------------------- */

static void set_filter(const struct roost_groups *groups)
{
	const struct roost_groups_conf *conf = &groups->conf;
	uint8_t macs[ROOST_GROUPS_MACS_MAX][6];
	unsigned int nb;

	nb = roost_membership_macs(groups->membership, macs,
				   ROOST_GROUPS_MACS_MAX);
	conf->set_filter(conf->ctx, macs, nb);
}

/* ---- the host's own groups --------------------------------------------- */

static bool is_own(const struct roost_groups *groups,
		   const struct roost_gid *group)
{
	for (unsigned int i = 0; i < groups->nb_own; i++)
		if (roost_gid_eq(&groups->own[i], group))
			return true;
	return false;
}

static void add_own(struct roost_groups *groups, const struct roost_gid *addr)
{
	const struct roost_groups_conf *conf = &groups->conf;
	struct roost_gid group = roost_nd_solicited_node(addr);

	if (roost_gid_is_v4(addr) || is_own(groups, &group) ||
	    (conf->kernel_owns && conf->kernel_owns(conf->ctx, addr)))
		return;
	groups->own[groups->nb_own++] = group;
}

static void find_own(struct roost_groups *groups)
{
	const struct roost_groups_conf *conf = &groups->conf;
	static const uint8_t all_systems[4] = { 224, 0, 0, 1 };
	static const struct roost_gid all_nodes = {
		.b = { [0] = 0xff, [1] = 0x02, [15] = 0x01 },
	};
	struct roost_gid link_local = roost_nd_link_local(conf->mac);

	groups->nb_own = 0;
	groups->own[groups->nb_own++] = roost_gid_from_v4(all_systems);
	groups->own[groups->nb_own++] = all_nodes;
	add_own(groups, &link_local);
	for (unsigned int i = 0; i < conf->addrs->nb; i++)
		add_own(groups, &conf->addrs->v[i].gid);
}

/* ---- life -------------------------------------------------------------- */

static struct roost_gid first_v4(const struct roost_prefixes *addrs)
{
	static const uint8_t none[4];

	for (unsigned int i = 0; i < addrs->nb; i++)
		if (roost_gid_is_v4(&addrs->v[i].gid))
			return addrs->v[i].gid;
	return roost_gid_from_v4(none);
}

static struct roost_membership_conf
membership_conf(const struct roost_groups_conf *conf)
{
	struct roost_membership_conf mconf = {
		.ipv4 = first_v4(conf->addrs),
		.ipv6 = roost_nd_link_local(conf->mac),
		.ip_mtu_bytes = *conf->ip_mtu_bytes,
		.send = conf->send,
		.ctx = conf->ctx,
	};

	memcpy(mconf.mac, conf->mac, sizeof(mconf.mac));
	return mconf;
}

int roost_groups_create(struct roost_groups *groups,
			const struct roost_groups_conf *conf)
{
	struct roost_membership_conf mconf = membership_conf(conf);

	*groups = (struct roost_groups){ .conf = *conf };
	find_own(groups);
	/* The seed need not be secret, only different from other hosts'. */
	if (getrandom(&mconf.seed, sizeof(mconf.seed), GRND_NONBLOCK) < 0)
		mconf.seed = roost_now_ns();
	return roost_membership_create(&mconf, &groups->membership);
}

void roost_groups_destroy(struct roost_groups *groups)
{
	roost_membership_destroy(groups->membership);
}

void roost_groups_start(struct roost_groups *groups, uint64_t now_ns)
{
	/* No -ENOSPC: these are the first groups. On -ENOMEM the port receives
	 * fewer groups.
	 */
	for (unsigned int i = 0; i < groups->nb_own; i++)
		roost_membership_join(groups->membership, &groups->own[i],
				      now_ns);
	set_filter(groups);
}

void roost_groups_readdress(struct roost_groups *groups, uint64_t now_ns)
{
	struct roost_membership_conf mconf = membership_conf(&groups->conf);
	struct roost_gid before[ROOST_GROUPS_OWN_MAX];
	unsigned int nb_before = groups->nb_own;

	memcpy(before, groups->own, sizeof(before));
	find_own(groups);
	for (unsigned int i = 0; i < nb_before; i++)
		if (!is_own(groups, &before[i]))
			roost_membership_leave(groups->membership, &before[i],
					       now_ns);
	for (unsigned int i = 0; i < groups->nb_own; i++)
		roost_membership_join(groups->membership, &groups->own[i],
				      now_ns);
	roost_membership_set_port(groups->membership, &mconf);
	set_filter(groups);
}

/* ---- on the control thread, for others ---------------------------------- */

struct job {
	struct roost_groups *groups;
	const struct roost_gid *group;
};

static int join(void *arg)
{
	const struct job *job = arg;
	int ret;

	ret = roost_membership_join(job->groups->membership, job->group,
				    roost_now_ns());
	if (ret)
		return ret;
	set_filter(job->groups);
	return 0;
}

static int leave(void *arg)
{
	const struct job *job = arg;

	roost_membership_leave(job->groups->membership, job->group,
			       roost_now_ns());
	set_filter(job->groups);
	return 0;
}

int roost_groups_join(struct roost_groups *groups,
		      const struct roost_gid *group)
{
	struct job job = { groups, group };

	return is_own(groups, group) ? 0 : roost_control_call(join, &job);
}

void roost_groups_leave(struct roost_groups *groups,
			const struct roost_gid *group)
{
	struct job job = { groups, group };

	if (!is_own(groups, group))
		roost_control_call(leave, &job);
}
