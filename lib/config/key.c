/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/key.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <roost/config.h>
#include "lib/config/fail.h"
#include "lib/config/list.h"
#include "lib/config/qos.h"
#include "lib/config/resolve.h"
#include "lib/wire/frame.h"

#define STR_(x) #x
#define STR(x) STR_(x)

_Static_assert(ROOST_PORT_MTU_MIN_BYTES >= 256 + ROOST_IP_OVERHEAD_MAX,
	       "every port carries the smallest path MTU");

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

int roost_config_parse_bool(void *member, const char *value, char *cause)
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

static int parse_log(void *member, const char *value, char *cause)
{
	bool *warn = member;

	if (strcmp(value, "error") != 0 && strcmp(value, "warn") != 0)
		return roost_config_fail(cause,
					 "'%.80s': not a level; use error or "
					 "warn",
					 value);
	*warn = strcmp(value, "warn") == 0;
	return 0;
}

static void format_log(const void *member, char *buf, size_t size)
{
	const bool *warn = member;

	snprintf(buf, size, "%s", *warn ? "warn" : "error");
}

/* Absolute: programs change their working directory. */
static int parse_failure_dir(void *member, const char *value, char *cause)
{
	if (value[0] != '/')
		return roost_config_fail(cause,
					 "'%.80s': not an absolute path; begin "
					 "it with /",
					 value);
	if (strlen(value) >= ROOST_FAILURE_DIR_MAX)
		return roost_config_fail(cause,
					 "'%.80s...': longer than %d bytes; "
					 "name a shorter one",
					 value, ROOST_FAILURE_DIR_MAX - 1);
	strcpy(member, value);
	return 0;
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

unsigned int roost_config_service_port(const char *service, size_t *path_bytes)
{
	const char *comma = strrchr(service, ',');
	size_t nb = comma ? strspn(comma + 1, "0123456789") : 0;

	*path_bytes = strlen(service);
	if (nb == 0 || comma[1 + nb] != '\0')
		return 0;
	*path_bytes = (size_t)(comma - service);
	return nb > 2 ? UINT_MAX : (unsigned int)atoi(comma + 1);
}

static int parse_service(void *member, const char *value, char *cause)
{
	unsigned int port;
	size_t len;

	if (strcmp(value, "hub") != 0 && strcmp(value, "default") != 0 &&
	    value[0] != '/')
		return roost_config_fail(cause,
					 "'%.80s': not a service; use hub, "
					 "default, or the absolute path of a "
					 "daemon's socket",
					 value);
	if (strlen(value) >= ROOST_SERVICE_MAX)
		return roost_config_fail(cause,
					 "'%.80s...': longer than the %d bytes "
					 "that the path of a socket can have; "
					 "name a shorter one",
					 value, ROOST_SERVICE_MAX - 1);
	port = roost_config_service_port(value, &len);
	if (port >= ROOST_PORTS_MAX)
		return roost_config_fail(
			cause,
			"'%.80s': a daemon has the ports 0 to %d; name one of "
			"them behind the comma",
			value, ROOST_PORTS_MAX - 1);
	/* One spelling of each: port 0 is the path alone. */
	strcpy(member, value);
	if (port == 0)
		((char *)member)[len] = '\0';
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

	if (strpbrk(value, ROOST_LIST_SEPARATORS))
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

/* ---- congestion notification ----------------------------------------- */

static int parse_ecn(uint32_t *member, const char *value, uint32_t least,
		     uint32_t most, char *cause)
{
	uint32_t number;

	if (!parse_digits(value, most, &number) || number < least ||
	    number > most)
		return roost_config_fail(
			cause,
			"'%.80s': out of range; use a number from %u to %u",
			value, least, most);
	*member = number;
	return 0;
}

#define PARSE(upper, name, normal, least, most)                                \
	static int parse_##name(void *member, const char *value, char *cause)  \
	{                                                                      \
		return parse_ecn(member, value, least, most, cause);           \
	}
ROOST_ECN_PARAMS(PARSE)

#define MEMBER(object, member)                                                 \
	.offset_bytes = offsetof(struct object, member),                       \
	.size_bytes = sizeof(((struct object *)NULL)->member)

#define ECN_ROW(upper, key, normal, least, most)                               \
	[ROOST_KEY_##upper] = {                                                \
		.name = #key,                                                  \
		.arg = "N",                                                    \
		.help = "congestion notification (default: " #normal ")",      \
		.scope = ROOST_SCOPE_PROCESS,                                  \
		MEMBER(roost_config, ecn.key),                                 \
		.parse = parse_##key,                                          \
		.format = format_number,                                       \
	},

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
		.parse = roost_config_parse_bool,
		.format = format_bool,
	},
	[ROOST_KEY_DEBUG_NO_ICRC] = {
		.name = "debug_no_icrc",
		.option = "debug-no-icrc",
		.help = "not for use: frames without an ICRC",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, debug_no_icrc),
		.parse = roost_config_parse_bool,
		.format = format_bool,
	},
	[ROOST_KEY_LOG] = {
		.name = "log",
		.option = "log",
		.arg = "error|warn",
		.help = "warn: a line when a QP fails by itself",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, log_warn),
		.parse = parse_log,
		.format = format_log,
	},
	[ROOST_KEY_FAILURE_DIR] = {
		.name = "failure_dir",
		.option = "failure-dir",
		.arg = "PATH",
		.help = "a file there about each QP that fails",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, failure_dir),
		.parse = parse_failure_dir,
		.format = format_string,
	},
	[ROOST_KEY_SELECTIVE_REPEAT] = {
		.name = "selective_repeat",
		.option = "selective-repeat",
		.arg = "yes|no",
		.help = "resend what is lost alone (default: yes)",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, selective_repeat),
		.parse = roost_config_parse_bool,
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
	[ROOST_KEY_SERVICE] = {
		.name = "service",
		.option = "service",
		.arg = "hub|PATH[,N]",
		.help = "a port that a daemon shares",
		.scope = ROOST_SCOPE_PORT,
		.names_port = true,
		MEMBER(roost_port_config, service),
		.parse = parse_service,
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
		.parse = roost_config_parse_ips,
		.format = roost_config_format_ips,
	},
	[ROOST_KEY_GW] = {
		.name = "gw",
		.option = "gw",
		.arg = "ADDR",
		.help = "its gateway, one of each IP version",
		.scope = ROOST_SCOPE_PORT,
		.list = true,
		MEMBER(roost_port_config, gw),
		.parse = roost_config_parse_gateways,
		.format = roost_config_format_gateways,
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
		.parse = roost_config_parse_bool,
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
		.parse = roost_config_parse_users,
		.format = roost_config_format_users,
	},
	[ROOST_KEY_TRUST] = {
		.name = "trust",
		.arg = "dscp|pcp",
		.help = "where priorities come from (default: dscp)",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, qos.trust),
		.parse = roost_config_parse_trust,
		.format = roost_config_format_trust,
	},
	[ROOST_KEY_DEFAULT_ROCE_TOS] = {
		.name = "default_roce_tos",
		.arg = "N",
		.help = "of what the CM connects (default: 0)",
		.scope = ROOST_SCOPE_PROCESS,
		MEMBER(roost_config, qos.default_roce_tos),
		.parse = roost_config_parse_tos,
		.format = format_number,
	},
	[ROOST_KEY_DSCP2PRIO] = {
		.name = "dscp2prio",
		.arg = "N:P[,N-M:P]...",
		.help = "priorities of DSCPs (default: DSCP / 8)",
		.scope = ROOST_SCOPE_PROCESS,
		.list = true,
		MEMBER(roost_config, qos.dscp2prio),
		.parse = roost_config_parse_dscp2prio,
		.format = roost_config_format_dscp2prio,
	},
	[ROOST_KEY_PRIO2PCP] = {
		.name = "prio2pcp",
		.arg = "N:P[,N-M:P]...",
		.help = "VLAN priorities (default: the same)",
		.scope = ROOST_SCOPE_PROCESS,
		.list = true,
		MEMBER(roost_config, qos.prio2pcp),
		.parse = roost_config_parse_prio2pcp,
		.format = roost_config_format_prio2pcp,
	},
	ROOST_ECN_PARAMS(ECN_ROW)
};
