/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <roost/config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/config/addr.h"
#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "lib/config/source.h"

/* The defaults below all sources. */
static void set_default(struct roost_config *c)
{
	roost_config_init(c);
	c->selective_repeat = true;
	c->nb_ports = 1;
	strcpy(c->ports[0].service, "default");
	c->ports[0].set = ROOST_KEY_BIT(ROOST_KEY_SERVICE);
}

/* Copy the members of the given scope that the source has set. */
static void overlay(void *dst, uint64_t *dst_set, const void *src,
		    uint64_t src_set, enum roost_config_scope scope)
{
	for (int key = 0; key < ROOST_KEYS; key++) {
		const struct roost_config_key_info *info =
			&roost_config_keys[key];

		if (info->scope != scope || !(src_set & ROOST_KEY_BIT(key)))
			continue;
		memcpy((char *)dst + info->offset_bytes,
		       (const char *)src + info->offset_bytes,
		       info->size_bytes);
		*dst_set |= ROOST_KEY_BIT(key);
	}
}

void roost_config_ecn(const struct roost_config *c, struct roost_ecn *ecn)
{
#define TAKE(upper, name, normal, least, most)                                 \
	ecn->name = c->set & ROOST_KEY_BIT(ROOST_KEY_##upper) ? c->ecn.name    \
							      : (normal);
	ROOST_ECN_PARAMS(TAKE)
#undef TAKE
}

void roost_config_qos(const struct roost_config *c, struct roost_qos *qos)
{
	roost_qos_init(qos);
	if (c->set & ROOST_KEY_BIT(ROOST_KEY_TRUST))
		qos->trust = c->qos.trust;
	if (c->set & ROOST_KEY_BIT(ROOST_KEY_DEFAULT_ROCE_TOS))
		qos->default_roce_tos = c->qos.default_roce_tos;
	if (c->set & ROOST_KEY_BIT(ROOST_KEY_DSCP2PRIO))
		memcpy(qos->dscp2prio, c->qos.dscp2prio,
		       sizeof(qos->dscp2prio));
	if (c->set & ROOST_KEY_BIT(ROOST_KEY_PRIO2PCP))
		memcpy(qos->prio2pcp, c->qos.prio2pcp, sizeof(qos->prio2pcp));
}

/* Check that a list of ports has no gaps, and that each port is identified. */
static int check_list(const struct roost_config *src, const char *where,
		      char *err)
{
	for (unsigned int i = 0; i < src->nb_ports; i++) {
		if (src->ports[i].set == 0)
			return roost_config_fail(
				err,
				"%s: port%u is missing: there is a "
				"port%u; number ports from 0 without a gap",
				where, i, src->nb_ports - 1);
		if (!roost_port_config_is_named(&src->ports[i]))
			return roost_config_fail(
				err,
				"%s: port%u has no devargs, no link and no "
				"service; add one of them",
				where, i);
	}
	return 0;
}

/* Lay a source over the sources below it. where: its name in errors. */
static int merge(struct roost_config *c, const struct roost_config *src,
		 const char *where, char *err)
{
	bool lists = false;
	int ret;

	overlay(c, &c->set, src, src->set, ROOST_SCOPE_PROCESS);
	for (unsigned int i = 0; i < src->nb_ports; i++)
		lists |= roost_port_config_is_named(&src->ports[i]);
	if (lists) {
		ret = check_list(src, where, err);
		if (ret)
			return ret;
		c->nb_ports = src->nb_ports;
		memcpy(c->ports, src->ports, sizeof(c->ports));
		return 0;
	}
	for (unsigned int i = 0; i < src->nb_ports; i++) {
		struct roost_port_config *p = &c->ports[i];

		if (src->ports[i].set && i >= c->nb_ports)
			return roost_config_fail(
				err,
				"%s: keys for port%u: the last port is "
				"port%u; unset them, or give ROOST_PORT%u_LINK "
				"or ROOST_PORT%u_DEVARGS",
				where, i, c->nb_ports - 1, i, i);
		overlay(p, &p->set, &src->ports[i], src->ports[i].set,
			ROOST_SCOPE_PORT);
	}
	return 0;
}

unsigned int roost_config_nb_devices(const struct roost_config *c)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < c->nb_ports; i++)
		nb += !c->ports[i].second;
	return nb;
}

unsigned int roost_config_device_ports(const struct roost_config *c,
				       unsigned int device, unsigned int *first)
{
	for (unsigned int i = 0; i < c->nb_ports; i++) {
		if (c->ports[i].second || device-- != 0)
			continue;
		*first = i;
		return i + 1 < c->nb_ports && c->ports[i + 1].second ? 2 : 1;
	}
	return 0;
}

static bool same_link(const struct roost_config *c, unsigned int i,
		      unsigned int j)
{
	return c->ports[i].link[0] != '\0' &&
	       strcmp(c->ports[i].link, c->ports[j].link) == 0;
}

static bool same_vlan(const struct roost_config *c, unsigned int i,
		      unsigned int j)
{
	return c->ports[i].vlan_id == c->ports[j].vlan_id;
}

/* The end of its link that a port is, among the ports of this process. */
static unsigned int link_end(const struct roost_config *c, unsigned int port)
{
	unsigned int end = 0;

	for (unsigned int i = 0; i < port; i++)
		end += same_link(c, i, port) && same_vlan(c, i, port);
	return end;
}

static bool same_devargs(const struct roost_config *c, unsigned int i,
			 unsigned int j)
{
	return c->ports[i].devargs[0] != '\0' &&
	       strcmp(c->ports[i].devargs, c->ports[j].devargs) == 0;
}

unsigned int roost_config_shared_port(const struct roost_config *c,
				      unsigned int port)
{
	unsigned int end = link_end(c, port);

	for (unsigned int i = 0; i < port; i++)
		if (same_devargs(c, i, port) ||
		    (same_link(c, i, port) && link_end(c, i) == end))
			return i;
	return port;
}

void roost_config_label(const struct roost_config *c, unsigned int port,
			bool with_vlan, char label[ROOST_LABEL_MAX])
{
	const struct roost_port_config *p = &c->ports[port];
	size_t len;

	if (p->link[0] != '\0')
		snprintf(label, ROOST_LABEL_MAX, "link \"%s\"", p->link);
	else if (strcmp(p->service, "default") == 0)
		snprintf(label, ROOST_LABEL_MAX, "default service");
	else if (p->service[0] == '/')
		snprintf(label, ROOST_LABEL_MAX, "service \"%s\"", p->service);
	else if (p->service[0] != '\0')
		snprintf(label, ROOST_LABEL_MAX, "%s", p->service);
	else
		snprintf(label, ROOST_LABEL_MAX, "port%u (%s)", port,
			 p->devargs);
	len = strlen(label);
	if (with_vlan && p->vlan_id != 0)
		snprintf(label + len, ROOST_LABEL_MAX - len, " VLAN %u",
			 p->vlan_id);
}

/* The first port that is an end of the same link, in the same VLAN. */
static unsigned int link_first(const struct roost_config *c, unsigned int port)
{
	unsigned int i = 0;

	while (!same_link(c, i, port) || !same_vlan(c, i, port))
		i++;
	return i;
}

/* How many other links stand before this one. */
static uint8_t link_order(const struct roost_config *c, unsigned int port)
{
	uint8_t order = 0;

	for (unsigned int i = 0; i < link_first(c, port); i++)
		if (c->ports[i].link[0] != '\0' && link_first(c, i) == i)
			order++;
	return order;
}

struct roost_prefix roost_config_link_ip(const struct roost_config *c,
					 unsigned int port, unsigned int end)
{
	const uint8_t addr[4] = { 198, 18, link_order(c, port),
				  (uint8_t)(end + 1) };

	return (struct roost_prefix){ .gid = roost_gid_from_v4(addr),
				      .len_bits = 24 };
}

static bool has_link_ips(const struct roost_port_config *p)
{
	return p->link[0] != '\0' && p->ips.nb == 0;
}

/* The addresses of port i; for a link without `ip`, those that the link may
 * get.
 */
static struct roost_prefixes port_ips(const struct roost_config *c,
				      unsigned int i)
{
	struct roost_prefixes ips = c->ports[i].ips;

	if (has_link_ips(&c->ports[i])) {
		ips.v[ips.nb++] = roost_config_link_ip(c, i, 0);
		ips.v[ips.nb++] = roost_config_link_ip(c, i, 1);
	}
	return ips;
}

static int same_device(const struct roost_config *c, unsigned int i,
		       unsigned int j, char *err)
{
	const struct roost_port_config *p = &c->ports[j];

	if (p->vlan_id != 0)
		return roost_config_fail(err,
					 "port%u: VLAN %u of '%.80s' is port%u "
					 "already; name another VLAN",
					 j, p->vlan_id, p->devargs, i);
	return roost_config_fail(err,
				 "port%u: '%.80s' is port%u already; name "
				 "another device",
				 j, p->devargs, i);
}

static int check_pair(const struct roost_config *c, unsigned int i,
		      unsigned int j, char *err)
{
	struct roost_prefixes a = port_ips(c, i);
	struct roost_prefixes b = port_ips(c, j);
	char text[ROOST_PREFIX_STRLEN];

	if (same_devargs(c, i, j) && same_vlan(c, i, j))
		return same_device(c, i, j, err);
	if (c->ports[i].service[0] &&
	    strcmp(c->ports[i].service, c->ports[j].service) == 0)
		return roost_config_fail(err,
					 "port%u: service '%.80s' is port%u "
					 "already; leave one of them out",
					 j, c->ports[j].service, i);
	if (c->ports[i].twin[0] &&
	    strcmp(c->ports[i].twin, c->ports[j].twin) == 0)
		return roost_config_fail(
			err,
			"port%u: twin '%s' is port%u's already; name another",
			j, c->ports[j].twin, i);
	/* Two ends of one link, or two links: the order keeps them apart. */
	if (has_link_ips(&c->ports[i]) && has_link_ips(&c->ports[j]))
		return 0;
	for (unsigned int k = 0; k < a.nb; k++)
		for (unsigned int l = 0; l < b.nb; l++)
			if (roost_gid_eq(&a.v[k].gid, &b.v[l].gid))
				return roost_config_fail(
					err,
					"port%u: address %s is on port%u "
					"too; give each port its own",
					j, roost_addr_format(&b.v[l].gid, text),
					i);
	return 0;
}

static int check_gateway(const struct roost_config *c, unsigned int port,
			 const struct roost_gid *gw, char *err)
{
	const struct roost_prefixes *own = &c->ports[port].ips;
	struct roost_prefixes ips = port_ips(c, port);
	char text[ROOST_PREFIX_STRLEN];

	/* Without addresses here the port's subnets are not known yet. */
	if (roost_gid_is_zero(gw) || roost_gid_is_link_local(gw) || ips.nb == 0)
		return 0;
	for (unsigned int i = 0; i < own->nb; i++)
		if (roost_gid_eq(&own->v[i].gid, gw))
			return roost_config_fail(
				err,
				"port%u: gateway %s is the port's own "
				"address; name another host",
				port, roost_addr_format(gw, text));
	for (unsigned int i = 0; i < ips.nb; i++)
		if (roost_prefix_contains(&ips.v[i], gw))
			return 0;
	return roost_config_fail(
		err,
		"port%u: gateway %s is on none of the port's subnets; "
		"give an address or prefix length that reaches it",
		port, roost_addr_format(gw, text));
}

static int check_second(const struct roost_config *c, unsigned int i, char *err)
{
	if (!c->ports[i].second)
		return 0;
	if (i == 0)
		return roost_config_fail(err, "port0: second: there is no port "
					      "before it; leave it out there");
	if (c->ports[i - 1].second)
		return roost_config_fail(err,
					 "port%u: second: port%u is the second "
					 "of its device already, and a device "
					 "has two ports at most; leave it out "
					 "there",
					 i, i - 1);
	return 0;
}

/* The kernel behind a twin takes whatever the engine does not, of any VLAN. */
static int check_twin(const struct roost_config *c, unsigned int i, char *err)
{
	bool alone = c->ports[i].vlan_id == 0;

	if (c->ports[i].twin[0] == '\0')
		return 0;
	for (unsigned int j = 0; j < c->nb_ports; j++)
		if (j != i && roost_config_shared_port(c, j) ==
				      roost_config_shared_port(c, i))
			alone = false;
	return alone ? 0
		     : roost_config_fail(
			       err,
			       "port%u: twin '%s': a twin stands for a port "
			       "that has no VLANs; leave out the twin, or the "
			       "VLANs",
			       i, c->ports[i].twin);
}

/* The name of a link has the user in it. */
static int check_users(const struct roost_config *c, unsigned int i, char *err)
{
	if (c->ports[i].peer_users.nb == 0 || c->ports[i].link[0] == '\0')
		return 0;
	return roost_config_fail(err,
				 "port%u: peer_users: both ends of a link are "
				 "of one user; leave it out, or use net_memif "
				 "with a socket",
				 i);
}

/* The daemon has configured the port. */
static int check_service(const struct roost_config *c, unsigned int i,
			 char *err)
{
	const struct roost_port_config *p = &c->ports[i];

	if (p->service[0] == '\0')
		return 0;
	for (int key = 0; key < ROOST_KEYS; key++)
		if (!roost_config_keys[key].names_port &&
		    (p->set & ROOST_KEY_BIT(key)))
			return roost_config_fail(
				err,
				"port%u: %s: the daemon of a service "
				"configures its port; leave it out",
				i, roost_config_keys[key].name);
	return 0;
}

/* Checks that need all sources. */
static int check(const struct roost_config *c, char *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < c->nb_ports; i++) {
		ret = check_second(c, i, err);
		if (ret == 0)
			ret = check_service(c, i, err);
		if (ret == 0)
			ret = check_twin(c, i, err);
		if (ret == 0)
			ret = check_users(c, i, err);
		if (ret == 0)
			ret = check_gateway(c, i, &c->ports[i].gw.v4, err);
		if (ret == 0)
			ret = check_gateway(c, i, &c->ports[i].gw.v6, err);
		for (unsigned int j = i + 1; ret == 0 && j < c->nb_ports; j++)
			ret = check_pair(c, i, j, err);
		if (ret)
			return ret;
	}
	return 0;
}

int roost_config_resolve(struct roost_config *c, const char *path,
			 char *const *envp, const struct roost_config *options,
			 char *err)
{
	struct roost_config *source;
	int ret;

	/* Too big for the stack of a small application thread. */
	source = malloc(sizeof(*source));
	if (!source) {
		roost_config_fail(err, "configuration: out of memory; free "
				       "some");
		return -ENOMEM;
	}
	set_default(c);

	if (!path)
		path = roost_config_environ_path(envp);
	if (path) {
		ret = roost_config_read_file(source, path, NULL, err);
		if (ret == 0)
			ret = merge(c, source, path, err);
		if (ret)
			goto out;
	}
	ret = roost_config_read_environ(source, envp, err);
	if (ret == 0)
		ret = merge(c, source, "environment", err);
	if (ret)
		goto out;
	c->nb_unknown = source->nb_unknown;
	c->nb_unknown_more = source->nb_unknown_more;
	memcpy(c->unknown, source->unknown, sizeof(c->unknown));
	memcpy(c->told, source->told, sizeof(c->told));
	if (options) {
		ret = merge(c, options, "options", err);
		if (ret)
			goto out;
	}
	ret = check(c, err);
out:
	free(source);
	return ret;
}

/* Which daemon would a daemon's port be of? */
static int check_owned(const struct roost_config *c, const char *path,
		       char *err)
{
	if (c->nb_ports == 0)
		return roost_config_fail(err,
					 "%s: no port; add a section [port0]",
					 path);
	for (unsigned int i = 0; i < c->nb_ports; i++)
		if (c->ports[i].service[0])
			return roost_config_fail(
				err,
				"%s: port%u: service: a daemon shares ports of "
				"its own; name devargs or a link",
				path, i);
	return 0;
}

int roost_config_resolve_file(struct roost_config *c, const char *path,
			      const struct roost_config_sections *others,
			      char *err)
{
	struct roost_config *source = malloc(sizeof(*source));
	int ret;

	if (!source) {
		roost_config_fail(err, "configuration: out of memory; free "
				       "some");
		return -ENOMEM;
	}
	roost_config_init(c);
	ret = roost_config_read_file(source, path, others, err);
	if (ret == 0)
		ret = merge(c, source, path, err);
	if (ret == 0)
		ret = check_owned(c, path, err);
	if (ret == 0)
		ret = check(c, err);
	free(source);
	return ret;
}

void roost_config_tell_unknown(const struct roost_config *c)
{
	for (unsigned int i = 0; i < c->nb_unknown; i++)
		fprintf(stderr, "roost: %s\n", c->unknown[i]);
	if (c->nb_unknown_more != 0)
		fprintf(stderr,
			"roost: %u more ROOST_ variables are unknown and have "
			"no effect; see roost.conf(5)\n",
			c->nb_unknown_more);
}

int roost_config_load(struct roost_config *c, char *err)
{
	static char *const nothing[] = { NULL };
	bool ours = getauxval(AT_SECURE) == 0;

	return roost_config_resolve(c, NULL, ours ? environ : nothing, NULL,
				    err);
}
