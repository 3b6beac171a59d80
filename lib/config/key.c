/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/key.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/config/addr.h"
#include <roost/config.h>
#include "lib/config/fail.h"
#include "lib/wire/frame.h"

#define STR_(x) #x
#define STR(x) STR_(x)

_Static_assert(ROOST_PORT_MTU_MIN_BYTES >= 256 + ROOST_IP_OVERHEAD_MAX,
	       "every port carries the smallest path MTU");

/* Separators of the elements of a list. */
static const char separators[] = ", \t";

static const char *const progress_names[] = {
	[ROOST_PROGRESS_ADAPTIVE] = "adaptive",
	[ROOST_PROGRESS_DEDICATED] = "dedicated",
};

static int parse_progress(void *member, const char *value, char *cause)
{
	enum roost_progress_mode *progress = member;

	for (size_t i = 0;
	     i < sizeof(progress_names) / sizeof(progress_names[0]); i++) {
		if (strcmp(value, progress_names[i]) == 0) {
			*progress = (enum roost_progress_mode)i;
			return 0;
		}
	}
	return roost_config_fail(cause,
				 "'%.80s': not a progress mode; use "
				 "adaptive or dedicated",
				 value);
}

static void format_progress(const void *member, char *buf, size_t size)
{
	const enum roost_progress_mode *progress = member;

	snprintf(buf, size, "%s", progress_names[*progress]);
}

/* Parse digits only; a number above `most` stays above it. Returns false if
 * value is no number.
 */
static bool parse_digits(const char *value, uint32_t most, uint32_t *number)
{
	const char *s;

	*number = 0;
	for (s = value; *s >= '0' && *s <= '9'; s++)
		if (*number <= most)
			*number = *number * 10 + (uint32_t)(*s - '0');
	return s != value && !*s;
}

static void format_number(const void *member, char *buf, size_t size)
{
	const uint32_t *number = member;

	snprintf(buf, size, "%u", *number);
}

static int parse_workers(void *member, const char *value, char *cause)
{
	uint32_t n;

	if (!parse_digits(value, ROOST_WORKERS_MAX, &n) || n < 1 ||
	    n > ROOST_WORKERS_MAX)
		return roost_config_fail(
			cause,
			"'%.80s': not a number of workers; use 1 to " STR(
				ROOST_WORKERS_MAX),
			value);
	*(uint32_t *)member = n;
	return 0;
}

static int parse_bool(void *member, const char *value, char *cause)
{
	static const struct {
		const char *name;
		bool value;
	} words[] = {
		{ "1", true },      { "yes", true },  { "true", true },
		{ "on", true },     { "0", false },   { "no", false },
		{ "false", false }, { "off", false },
	};
	bool *flag = member;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value, words[i].name) == 0) {
			*flag = words[i].value;
			return 0;
		}
	}
	return roost_config_fail(cause,
				 "'%.80s': neither yes nor no; use 1 "
				 "or 0",
				 value);
}

static void format_bool(const void *member, char *buf, size_t size)
{
	const bool *flag = member;

	snprintf(buf, size, "%d", *flag);
}

static int parse_devargs(void *member, const char *value, char *cause)
{
	if (strlen(value) >= ROOST_DEVARGS_MAX)
		return roost_config_fail(cause,
					 "'%.80s...': longer than %d "
					 "characters; shorten it",
					 value, ROOST_DEVARGS_MAX - 1);
	if (*value == '\0' || *value == ',')
		return roost_config_fail(cause,
					 "'%.80s': no device name; "
					 "begin with a PCI address or a driver "
					 "such as net_tap0",
					 value);
	for (const char *s = value; *s; s++)
		if (!isgraph((unsigned char)*s))
			return roost_config_fail(
				cause,
				"'%.80s': blank or unprintable "
				"character; DPDK device arguments have none",
				value);
	strcpy(member, value);
	return 0;
}

static bool is_name(const char *value, size_t max)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789._-";
	size_t len = strlen(value);

	return len >= 1 && len <= max && strspn(value, allowed) == len;
}

static int parse_link(void *member, const char *value, char *cause)
{
	if (!is_name(value, ROOST_LINK_NAME_MAX))
		return roost_config_fail(
			cause,
			"'%.80s': not a link name; use 1 to " STR(
				ROOST_LINK_NAME_MAX) " letters, digits, '.', "
						     "'_' "
						     "or '-'",
			value);
	strcpy(member, value);
	return 0;
}

/* True for names that have a meaning in the kernel. */
static bool is_reserved(const char *name)
{
	static const char *const reserved[] = { ".", "..", "all", "default" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(name, reserved[i]) == 0)
			return true;
	return false;
}

static int parse_twin(void *member, const char *value, char *cause)
{
	if (!is_name(value, ROOST_TWIN_NAME_MAX) || is_reserved(value))
		return roost_config_fail(
			cause,
			"'%.80s': not a name for an interface; use 1 to " STR(
				ROOST_TWIN_NAME_MAX) " letters, digits, '.', "
						     "'_' "
						     "or '-'",
			value);
	strcpy(member, value);
	return 0;
}

static void format_string(const void *member, char *buf, size_t size)
{
	const char *s = member;

	snprintf(buf, size, "%s", s);
}

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
		value += strspn(value, separators);
		len = strcspn(value, separators);
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

static int parse_ips(void *member, const char *value, char *cause)
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

static void format_ips(const void *member, char *buf, size_t size)
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

static int parse_gateways(void *member, const char *value, char *cause)
{
	struct roost_gateways *gw = member;
	struct roost_gateways copy = *gw;
	int ret;

	ret = parse_list(&copy, value, "address", take_gateway, cause);
	if (ret == 0)
		*gw = copy;
	return ret;
}

static void format_gateways(const void *member, char *buf, size_t size)
{
	const struct roost_gateways *gw = member;
	char text[ROOST_PREFIX_STRLEN];

	*buf = '\0';
	if (!roost_gid_is_zero(&gw->v4))
		append(buf, size, roost_addr_format(&gw->v4, text));
	if (!roost_gid_is_zero(&gw->v6))
		append(buf, size, roost_addr_format(&gw->v6, text));
}

static int parse_mtu(void *member, const char *value, char *cause)
{
	uint32_t bytes;

	if (!parse_digits(value, ROOST_PORT_MTU_MAX_BYTES, &bytes))
		return roost_config_fail(cause,
					 "'%.80s': not a number; give "
					 "the IP MTU in bytes",
					 value);
	if (bytes != 0 && (bytes < ROOST_PORT_MTU_MIN_BYTES ||
			   bytes > ROOST_PORT_MTU_MAX_BYTES))
		return roost_config_fail(
			cause,
			/* clang-format off */
			"'%.80s': MTU out of range; use "
			STR(ROOST_PORT_MTU_MIN_BYTES) " to "
			STR(ROOST_PORT_MTU_MAX_BYTES)
			", or 0 for the port's own",
			/* clang-format on */
			value);
	*(uint32_t *)member = bytes;
	return 0;
}

static int parse_vlan(void *member, const char *value, char *cause)
{
	uint32_t id;

	if (strpbrk(value, separators))
		return roost_config_fail(cause,
					 "'%.80s': a port is on one VLAN; give "
					 "each a port of its own, with the "
					 "same devargs or link",
					 value);
	if (!parse_digits(value, ROOST_VLAN_ID_MAX, &id))
		return roost_config_fail(cause,
					 "'%.80s': not a number; give a VLAN "
					 "from 1 to 4094, or 0 for none",
					 value);
	if (id > ROOST_VLAN_ID_MAX)
		return roost_config_fail(cause,
					 "'%.80s': no VLAN has this number; "
					 "use 1 to 4094, or 0 for none",
					 value);
	*(uint16_t *)member = (uint16_t)id;
	return 0;
}

static void format_vlan(const void *member, char *buf, size_t size)
{
	const uint16_t *vlan_id = member;

	snprintf(buf, size, "%u", *vlan_id);
}

/* Returns 0; -ENOENT: there is no such user. */
static int find_user(const char *name, uint32_t *uid)
{
	struct passwd entry, *found = NULL;
	unsigned long long number;
	char buf[4096];

	if (strspn(name, "0123456789") == strlen(name)) {
		number = strtoull(name, NULL, 10);
		*uid = (uint32_t)number;
		/* The last one stands for "none" in system calls. */
		return number < UINT32_MAX ? 0 : -ENOENT;
	}
	if (getpwnam_r(name, &entry, buf, sizeof(buf), &found) != 0 || !found)
		return -ENOENT;
	*uid = found->pw_uid;
	return 0;
}

static int take_user(void *copy, const char *element, char *cause)
{
	struct roost_users *users = copy;
	uint32_t uid;

	if (find_user(element, &uid))
		return roost_config_fail(cause,
					 "'%.80s': no such user; give the name "
					 "or the number of one",
					 element);
	if (users->nb == ROOST_PEER_USERS_MAX)
		return roost_config_fail(
			cause,
			"'%.80s': more than " STR(
				ROOST_PEER_USERS_MAX) " users; leave some out",
			element);
	users->v[users->nb++] = uid;
	return 0;
}

static int parse_users(void *member, const char *value, char *cause)
{
	struct roost_users *users = member;
	struct roost_users copy = *users;
	int ret;

	ret = parse_list(&copy, value, "user", take_user, cause);
	if (ret == 0)
		*users = copy;
	return ret;
}

static void format_users(const void *member, char *buf, size_t size)
{
	const struct roost_users *users = member;
	char text[16];

	*buf = '\0';
	for (unsigned int i = 0; i < users->nb; i++) {
		format_number(&users->v[i], text, sizeof(text));
		append(buf, size, text);
	}
}

#define MEMBER(object, member)                                                 \
	.offset_bytes = offsetof(struct object, member),                       \
	.size_bytes = sizeof(((struct object *)NULL)->member)

const struct roost_config_key_info roost_config_keys[ROOST_KEYS] = {
	[ROOST_KEY_PROGRESS] = {
		.name = "progress",
		.option = "progress",
		.arg = "dedicated|adaptive",
		.help = "how packets are polled (default: adaptive)",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, progress),
		.parse = parse_progress,
		.format = format_progress,
	},
	[ROOST_KEY_WORKERS] = {
		.name = "workers",
		.option = "workers",
		.arg = "N",
		.help = "workers of each device (default: 1)",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, nb_workers),
		.parse = parse_workers,
		.format = format_number,
	},
	[ROOST_KEY_VERBOSE] = {
		.name = "verbose",
		.option = "verbose",
		.short_option = 'v',
		.help = "tell on stderr what is being done",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, verbose),
		.parse = parse_bool,
		.format = format_bool,
	},
	[ROOST_KEY_DEBUG_NO_ICRC] = {
		.name = "debug_no_icrc",
		.option = "debug-no-icrc",
		.help = "not for use: frames without an ICRC",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, debug_no_icrc),
		.parse = parse_bool,
		.format = format_bool,
	},
	[ROOST_KEY_DEVARGS] = {
		.name = "devargs",
		.option = "port",
		.arg = "DEVARGS",
		.help = "interface, PCI address or DPDK device",
		.scope = ROOST_SCOPE_PORT,
		.names_port = true,
		MEMBER(roost_port_config, devargs),
		.parse = parse_devargs,
		.format = format_string,
	},
	[ROOST_KEY_LINK] = {
		.name = "link",
		.option = "link",
		.arg = "NAME",
		.help = "one end of a cable between two processes",
		.scope = ROOST_SCOPE_PORT,
		.names_port = true,
		MEMBER(roost_port_config, link),
		.parse = parse_link,
		.format = format_string,
	},
	[ROOST_KEY_IP] = {
		.name = "ip",
		.option = "ip",
		.arg = "ADDR/LEN",
		.help = "an address of the port",
		.scope = ROOST_SCOPE_PORT,
		.list = true,
		MEMBER(roost_port_config, ips),
		.parse = parse_ips,
		.format = format_ips,
	},
	[ROOST_KEY_GW] = {
		.name = "gw",
		.option = "gw",
		.arg = "ADDR",
		.help = "its gateway, one of each IP version",
		.scope = ROOST_SCOPE_PORT,
		.list = true,
		MEMBER(roost_port_config, gw),
		.parse = parse_gateways,
		.format = format_gateways,
	},
	[ROOST_KEY_MTU] = {
		.name = "mtu",
		.option = "mtu",
		.arg = "N",
		.help = "its IP MTU in bytes (default: as it is)",
		.scope = ROOST_SCOPE_PORT,
		MEMBER(roost_port_config, mtu_bytes),
		.parse = parse_mtu,
		.format = format_number,
	},
	[ROOST_KEY_TWIN] = {
		.name = "twin",
		.option = "twin",
		.arg = "NAME",
		.help = "a kernel interface for all but its RoCE",
		.scope = ROOST_SCOPE_PORT,
		MEMBER(roost_port_config, twin),
		.parse = parse_twin,
		.format = format_string,
	},
	[ROOST_KEY_SECOND] = {
		.name = "second",
		.option = "second",
		.help = "it is port 2 of the device before it",
		.scope = ROOST_SCOPE_PORT,
		MEMBER(roost_port_config, second),
		.parse = parse_bool,
		.format = format_bool,
	},
	[ROOST_KEY_VLAN] = {
		.name = "vlan",
		.option = "vlan",
		.arg = "N[,N]...",
		.help = "its VLAN; another one is another device",
		.scope = ROOST_SCOPE_PORT,
		MEMBER(roost_port_config, vlan_id),
		.parse = parse_vlan,
		.format = format_vlan,
	},
	[ROOST_KEY_PEER_USERS] = {
		.name = "peer_users",
		.option = "peer-users",
		.arg = "USER[,USER]...",
		.help = "whom else to trust at its socket",
		.scope = ROOST_SCOPE_PORT,
		.list = true,
		MEMBER(roost_port_config, peer_users),
		.parse = parse_users,
		.format = format_users,
	},
};
