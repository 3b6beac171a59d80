/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The twin of an interface: made with the port's MAC and MTU, given the port's
 * carrier, and followed when an administrator changes it.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lib/config/addr.h"
#include "lib/config/fail.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/netif/interface.h"
#include "pmd_glue/kernel/twin.h"

/* ---- made, and given back ------------------------------------------------ */

static void report_open(const struct roost_interface *s, const char *name,
			int error)
{
	switch (error) {
	case EALREADY:
		roost_report("%s: twin \"%s\": the kernel has this port "
			     "already, as \"%s\"; leave the twin out",
			     s->base.label, name, s->port->iface);
		break;
	case EBUSY:
		roost_report("%s: twin \"%s\": there is an interface of this "
			     "name, maybe the twin of another process; choose "
			     "another name",
			     s->base.label, name);
		break;
	case EPERM:
	case EACCES:
		roost_report("%s: twin \"%s\": no permission to make an "
			     "interface; run as root or with CAP_NET_ADMIN",
			     s->base.label, name);
		break;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		roost_report("%s: twin \"%s\": there is no /dev/net/tun here; "
			     "load the kernel's module tun, or leave the twin "
			     "out",
			     s->base.label, name);
		break;
	default:
		roost_report("%s: twin \"%s\": the kernel cannot make it: %s; "
			     "leave the twin out",
			     s->base.label, name, strerror(error));
	}
}

static int give_addrs(struct roost_interface *s, const char *name,
		      const struct roost_prefixes *addrs)
{
	char text[ROOST_PREFIX_STRLEN];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < addrs->nb; i++) {
		ret = roost_nl_link_add_addr(&s->twin_nl_link, &addrs->v[i]);
		if (ret)
			roost_report("%s: twin \"%s\" cannot have the address "
				     "%s: %s; give another, or none",
				     s->base.label, name,
				     roost_prefix_format(&addrs->v[i], text),
				     strerror(-ret));
	}
	return ret;
}

static int make(struct roost_interface *s, const char *name)
{
	struct roost_twin_conf conf = {
		.name = name,
		.ip_mtu_bytes = s->port->ip_mtu_bytes,
	};
	int ret;

	/* An end of a link has no memory of EAL. */
	if (s->port->cable)
		conf.pool = s->port->pool;
	else
		conf.socket_id = rte_eth_dev_socket_id(s->port->id);

	memcpy(conf.mac, s->port->mac, sizeof(conf.mac));
	ret = roost_twin_open(&conf, &s->twin);
	if (ret == 0)
		ret = roost_nl_link_open(&s->twin_nl_link, name);
	if (ret == 0)
		ret = roost_nl_link_set_mtu(&s->twin_nl_link,
					    conf.ip_mtu_bytes);
	if (ret == 0)
		ret = roost_nl_link_up(&s->twin_nl_link);
	return ret;
}

int roost_interface_twin_open(struct roost_interface *s,
			      const struct roost_port_config *pc,
			      const struct roost_prefixes *addrs,
			      const struct roost_nl_link **at)
{
	int ret;

	if (!pc->twin[0])
		return 0;
	ret = *at ? -EALREADY : make(s, pc->twin);
	if (ret)
		report_open(s, pc->twin, -ret);
	else
		ret = give_addrs(s, pc->twin, addrs);
	if (ret)
		roost_interface_twin_close(s);
	else
		*at = &s->twin_nl_link;
	return ret;
}

int roost_interface_twin_start(struct roost_interface *s)
{
	int ret = 0;

	if (s->twin)
		ret = roost_twin_start(s->twin, s->worker, s->base.port_num,
				       s->progress[0]);
	if (ret)
		roost_report("%s: cannot start its twin's thread: %s; %s",
			     s->base.label, strerror(-ret),
			     roost_limit_fix(-ret));
	return ret;
}

void roost_interface_twin_close(struct roost_interface *s)
{
	if (!s->twin)
		return;
	roost_nl_link_close(&s->twin_nl_link);
	roost_twin_stop(s->twin);
	roost_twin_free(s->twin);
	s->twin = NULL;
}

/* ---- followed ------------------------------------------------------------ */

/* Follow the twin's MTU: the port can use a smaller MTU than at open, but no
 * larger one.
 */
static void follow_mtu(struct roost_interface *s)
{
	uint32_t most_bytes = s->port->ip_mtu_own_bytes;
	uint32_t mtu_bytes = s->twin_nl_link.state.mtu_bytes;

	if (mtu_bytes > most_bytes) {
		roost_report("%s: its twin cannot have an MTU of %u: the port "
			     "was opened with %u; start the program with "
			     "--mtu %u",
			     s->base.label, mtu_bytes, most_bytes, mtu_bytes);
		roost_nl_link_set_mtu(&s->twin_nl_link, most_bytes);
		mtu_bytes = most_bytes;
	}
	s->port->twin_mtu_bytes = mtu_bytes;
}

void roost_interface_twin_follow(struct roost_interface *s)
{
	const struct roost_nl_link_state *state = &s->twin_nl_link.state;

	if (!state->there && !s->reported_twin) {
		s->reported_twin = true;
		roost_report("%s: its twin was deleted, or moved to another "
			     "network namespace: the port is down and has no "
			     "addresses; start the program again",
			     s->base.label);
	}
	s->twin_down = !state->there || !state->up;
	roost_interface_apply_admin(s);
	if (state->there)
		follow_mtu(s);
}
