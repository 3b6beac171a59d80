/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/admit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pmd_glue/process/report.h"

/* ---- who asks ------------------------------------------------------------ */

/* user->groups is the caller's to free. */
static int look_up(const struct roostd_client *c, struct roostd_user *user,
		   gid_t **groups)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int ret;

	*groups = NULL;
	if (getsockopt(c->socket, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	len = 0;
	ret = getsockopt(c->socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &len);
	if (ret < 0 && errno != ERANGE)
		return -errno;
	*groups = malloc(len ? len : 1);
	if (!*groups)
		return -ENOMEM;
	if (len > 0 &&
	    getsockopt(c->socket, SOL_SOCKET, SO_PEERGROUPS, *groups, &len) < 0)
		return -errno;
	*user = (struct roostd_user){
		.uid = cred.uid,
		.gid = cred.gid,
		.groups = *groups,
		.nb_groups = len / sizeof(gid_t),
	};
	return 0;
}

static const struct roostd_policy *find(const struct roostd_port *port,
					const struct roostd_client *c,
					char refusal[ROOSTD_REFUSAL_MAX],
					int *error)
{
	const struct roostd_policy *policy = NULL;
	struct roostd_user user;
	gid_t *groups;

	refusal[0] = '\0';
	*error = look_up(c, &user, &groups);
	if (!*error) {
		policy = roostd_policy_find(port->service, &user, refusal);
		*error = policy ? 0 : -EACCES;
	}
	free(groups);
	return policy;
}

/* ---- may it? ------------------------------------------------------------- */

/* Of all ports of the daemon, as all that is counted of clients. */
static uint32_t count_of_user(const struct roostd_port *port, uid_t uid)
{
	const struct roostd_client *c;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < port->nb_ports; i++)
		LIST_FOREACH(c, &port->first[i].clients, all)
			nb += c->uid == uid && c->slot != ROOST_CLIENT_NONE &&
			      c->leaves_ns == 0;
	return nb;
}

/* Where the policy has no number, a user does not take all places: there is one
 * more for who has less than three times as many as are free.
 */
static bool is_for_others(const struct roostd_port *port,
			  const struct roostd_policy *policy, uint32_t nb)
{
	uint32_t nb_free = port->first->max_attached;

	if (port->is_hub || policy->max_clients != UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < port->nb_ports; i++)
		nb_free -= port->first[i].nb_attached < nb_free
				   ? port->first[i].nb_attached
				   : nb_free;
	return nb >= 3 * nb_free;
}

/* May the user have one more client? */
static bool has_place(const struct roostd_port *port, uint32_t uid,
		      const struct roostd_policy *policy,
		      char refusal[ROOSTD_REFUSAL_MAX])
{
	const uint32_t nb = count_of_user(port, uid);

	if (nb >= policy->max_clients) {
		roostd_policy_refuse(refusal, policy->name,
				     ROOSTD_LIMIT_CLIENTS, policy->max_clients,
				     uid);
		return false;
	}
	if (!is_for_others(port, policy, nb))
		return true;
	snprintf(refusal, ROOSTD_REFUSAL_MAX,
		 "user %u has %u of %u places, and others get the rest; end "
		 "one, or let a policy say how many clients",
		 uid, nb, port->first->max_attached);
	return false;
}

static bool has_port(const struct roostd_port *port,
		     const struct roost_gid *gid)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++)
		if (roost_gid_eq(&port->facts.gids[i], gid))
			return true;
	return false;
}

/* The first address of the policy that this port has and nobody uses, or the
 * one that the client had.
 */
static bool take_addr(const struct roostd_port *port,
		      const struct roostd_policy *policy,
		      const struct roost_gid *had,
		      struct roost_client_conf *conf)
{
	for (unsigned int i = 0; i < policy->addrs.nb; i++) {
		const struct roost_gid *gid = &policy->addrs.v[i].gid;

		if (!has_port(port, gid) ||
		    roost_lease_addr_find(port->lease, gid))
			continue;
		if (conf->nb_gids == 0 || (had && roost_gid_eq(gid, had)))
			conf->gids[0] = *gid;
		conf->nb_gids = 1;
	}
	return policy->addrs.nb == 0 || conf->nb_gids > 0;
}

static void remember(struct roostd_client *c,
		     const struct roostd_policy *policy, bool direct)
{
	snprintf(c->policy, sizeof(c->policy), "%s", policy->name);
	c->direct = direct && policy->direct;
}

int roostd_admit(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_gid *had,
		 struct roostd_admission *admission,
		 char refusal[ROOSTD_REFUSAL_MAX])
{
	int error;
	const struct roostd_policy *policy = find(port, c, refusal, &error);

	if (!policy)
		return error;
	remember(c, policy, port->service->direct);
	if (!had && !has_place(port, c->uid, policy, refusal))
		return -EDQUOT;
	admission->conf = roostd_policy_conf(policy, c->uid);
	admission->shape = roostd_policy_shape(policy);
	if (take_addr(port, policy, had, &admission->conf))
		return 0;
	roostd_policy_refuse(refusal, policy->name, ROOSTD_LIMIT_ADDRS,
			     policy->addrs.nb, c->uid);
	return -EDQUOT;
}

void roostd_admit_refuse(const struct roostd_port *port,
			 const struct roostd_client *c, enum roostd_limit limit,
			 char refusal[ROOSTD_REFUSAL_MAX])
{
	const struct roost_client_conf *conf =
		&port->lease->clients[c->slot].conf;
	const uint32_t most[] = {
		[ROOSTD_LIMIT_QPS] = conf->max_qps,
		[ROOSTD_LIMIT_PREFIXES] = conf->max_prefixes,
		[ROOSTD_LIMIT_SERVICES] = conf->max_services,
		[ROOSTD_LIMIT_MEMBERSHIPS] = conf->max_groups,
	};

	roostd_policy_refuse(refusal, c->policy, limit, most[limit], c->uid);
}

int roostd_port_add_addr(struct roostd_port *port, const struct roost_gid *gid)
{
	int ret;

	if (roost_gid_is_zero(gid))
		return 0;
	ret = roost_lease_addr_regain(port->lease, gid);
	if (ret == -ENOENT && !roostd_service_has_addr(port->service, gid))
		ret = roost_lease_addr_add(port->lease, gid);
	else if (ret == -ENOENT)
		ret = 0;
	return ret == -EEXIST ? 0 : ret;
}

/* ---- a new file ---------------------------------------------------------- */

void roostd_admit_again(struct roostd_port *port)
{
	char refusal[ROOSTD_REFUSAL_MAX];
	struct roostd_client *c;
	int error;

	LIST_FOREACH(c, &port->clients, all) {
		const struct roostd_policy *policy;
		struct roost_client_conf conf;

		if (c->slot == ROOST_CLIENT_NONE || c->leaves_ns != 0)
			continue;
		policy = find(port, c, refusal, &error);
		if (!policy) {
			c->direct &= port->service->direct;
			roost_report("%s: no policy is for process %d of user "
				     "%u any more; it keeps the limits that it "
				     "has until it ends",
				     port->label, c->pid, c->uid);
			continue;
		}
		remember(c, policy, port->service->direct);
		conf = roostd_policy_conf(policy, c->uid);
		roost_switch_client_limit(port->sw, c->slot, &conf,
					  port->now_ns);
	}
}
