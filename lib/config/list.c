/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/list.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/addr.h"
#include <roost/config.h>
#include "lib/config/fail.h"

#define STR_(x) #x
#define STR(x) STR_(x)

/*
 * Call take() for every element of a list; members see all of them or none,
 * because take() fills a copy.
 */
static int parse_list(void *copy, const char *value, const char *what,
		      int (*take)(void *copy, const char *element, char *cause),
		      char *cause)
{
	char element[128];
	size_t len, nb = 0;
	int ret;

	for (;; value += len, nb++) {
		value += strspn(value, ROOST_LIST_SEPARATORS);
		len = strcspn(value, ROOST_LIST_SEPARATORS);
		if (len == 0)
			break;
		snprintf(element, sizeof(element), "%.*s", (int)len, value);
		ret = take(copy, element, cause);
		if (ret)
			return ret;
	}
	if (nb == 0)
		return roost_config_fail(cause,
					 "no %s; give one or leave it out",
					 what);
	return 0;
}

static int take_ip(void *copy, const char *element, char *cause)
{
	struct roost_prefixes *ips = copy;
	struct roost_prefix prefix;
	char text[ROOST_PREFIX_STRLEN];
	int ret;

	ret = roost_prefix_parse(element, &prefix, cause);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < ips->nb; i++)
		if (roost_gid_eq(&ips->v[i].gid, &prefix.gid))
			return roost_config_fail(
				cause,
				"'%s': address given twice; leave one "
				"of them out",
				roost_prefix_format(&prefix, text));
	if (ips->nb == ROOST_PORT_IPS_MAX)
		return roost_config_fail(
			cause,
			"'%.80s': more than " STR(
				ROOST_PORT_IPS_MAX) " addresses "
						    "on one port; leave some "
						    "out",
			element);
	ips->v[ips->nb++] = prefix;
	return 0;
}

int roost_config_parse_ips(void *member, const char *value, char *cause)
{
	struct roost_prefixes *ips = member;
	struct roost_prefixes copy = *ips;
	int ret;

	ret = parse_list(&copy, value, "address", take_ip, cause);
	if (ret == 0)
		*ips = copy;
	return ret;
}

static void append(char *buf, size_t size, const char *element)
{
	size_t len = strlen(buf);

	snprintf(buf + len, size - len, "%s%s", len ? "," : "", element);
}

void roost_config_format_ips(const void *member, char *buf, size_t size)
{
	const struct roost_prefixes *ips = member;
	char text[ROOST_PREFIX_STRLEN];

	*buf = '\0';
	for (unsigned int i = 0; i < ips->nb; i++)
		append(buf, size, roost_prefix_format(&ips->v[i], text));
}

static int take_gateway(void *copy, const char *element, char *cause)
{
	struct roost_gateways *gw = copy;
	struct roost_gid gid, *mine;
	bool v4;
	int ret;

	if (strchr(element, '/'))
		return roost_config_fail(cause,
					 "'%.80s': a gateway is one "
					 "address; leave out the /",
					 element);
	ret = roost_addr_parse(element, &gid, cause);
	if (ret)
		return ret;
	v4 = roost_gid_is_v4(&gid);
	mine = v4 ? &gw->v4 : &gw->v6;
	if (!roost_gid_is_zero(mine))
		return roost_config_fail(
			cause,
			"'%.80s': second %s gateway of the port; keep "
			"one",
			element, v4 ? "IPv4" : "IPv6");
	*mine = gid;
	return 0;
}

int roost_config_parse_gateways(void *member, const char *value, char *cause)
{
	struct roost_gateways *gw = member;
	struct roost_gateways copy = *gw;
	int ret;

	ret = parse_list(&copy, value, "address", take_gateway, cause);
	if (ret == 0)
		*gw = copy;
	return ret;
}

void roost_config_format_gateways(const void *member, char *buf, size_t size)
{
	const struct roost_gateways *gw = member;
	char text[ROOST_PREFIX_STRLEN];

	*buf = '\0';
	if (!roost_gid_is_zero(&gw->v4))
		append(buf, size, roost_addr_format(&gw->v4, text));
	if (!roost_gid_is_zero(&gw->v6))
		append(buf, size, roost_addr_format(&gw->v6, text));
}

/* Returns 0; -ENOENT: there is no such user. */
static int find_user(const char *name, uint32_t *uid)
{
	struct passwd entry, *found = NULL;
	char buf[4096];

	if (getpwnam_r(name, &entry, buf, sizeof(buf), &found) != 0 || !found)
		return -ENOENT;
	*uid = found->pw_uid;
	return 0;
}

static int find_group(const char *name, uint32_t *gid)
{
	struct group entry, *found = NULL;
	char buf[16384]; /* with its members */

	if (getgrnam_r(name, &entry, buf, sizeof(buf), &found) != 0 || !found)
		return -ENOENT;
	*gid = found->gr_gid;
	return 0;
}

/* what: for errors, "user" or "group". */
static int take_id(struct roost_users *ids, const char *element,
		   const char *what, int (*find)(const char *, uint32_t *),
		   char *cause)
{
	uint32_t id;
	int ret = 0;

	if (strspn(element, "0123456789") == strlen(element)) {
		const unsigned long long number = strtoull(element, NULL, 10);

		id = (uint32_t)number;
		/* The last one stands for "none" in system calls. */
		ret = number < UINT32_MAX ? 0 : -ENOENT;
	} else {
		ret = find(element, &id);
	}
	if (ret)
		return roost_config_fail(cause,
					 "'%.80s': no such %s; give the name "
					 "or the number of one",
					 element, what);
	if (ids->nb == ROOST_PEER_USERS_MAX)
		return roost_config_fail(
			cause,
			"'%.80s': more than " STR(
				ROOST_PEER_USERS_MAX) " %ss; leave some out",
			element, what);
	ids->v[ids->nb++] = id;
	return 0;
}

static int take_user(void *copy, const char *element, char *cause)
{
	return take_id(copy, element, "user", find_user, cause);
}

static int take_group(void *copy, const char *element, char *cause)
{
	return take_id(copy, element, "group", find_group, cause);
}

static int parse_ids(struct roost_users *ids, const char *value,
		     const char *what,
		     int (*take)(void *copy, const char *element, char *cause),
		     char *cause)
{
	struct roost_users copy = *ids;
	int ret = parse_list(&copy, value, what, take, cause);

	if (ret == 0)
		*ids = copy;
	return ret;
}

int roost_config_parse_users(void *member, const char *value, char *cause)
{
	return parse_ids(member, value, "user", take_user, cause);
}

int roost_config_parse_groups(void *member, const char *value, char *cause)
{
	return parse_ids(member, value, "group", take_group, cause);
}

void roost_config_format_users(const void *member, char *buf, size_t size)
{
	const struct roost_users *users = member;
	char text[16];

	*buf = '\0';
	for (unsigned int i = 0; i < users->nb; i++) {
		snprintf(text, sizeof(text), "%u", users->v[i]);
		append(buf, size, text);
	}
}
