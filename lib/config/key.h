/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_KEY_H
#define ROOST_CONFIG_KEY_H

/*
 * The keys of the configuration: one row each, for the file (name), the
 * environment (ROOST_NAME, ROOST_PORT<n>_NAME) and the launcher (--option)
 * alike. A new setting is a member in roost/config.h and a row
 * here.
 *
 * lib/config reads and writes by these rows; the launcher takes its options
 * and their help from them. Pure, const.
 */

#include <stdbool.h>
#include <stddef.h>

#include <roost/ecn.h>

#define ROOST_ECN_KEY(upper, name, normal, least, most) ROOST_KEY_##upper,

enum roost_config_key {
	ROOST_KEY_PROGRESS,
	ROOST_KEY_WORKERS,
	ROOST_KEY_VERBOSE,
	ROOST_KEY_DEBUG_NO_ICRC,
	ROOST_KEY_LOG,
	ROOST_KEY_FAILURE_DIR,
	ROOST_KEY_SELECTIVE_REPEAT,
	ROOST_KEY_DEVARGS,
	ROOST_KEY_LINK,
	ROOST_KEY_SERVICE,
	ROOST_KEY_IP,
	ROOST_KEY_GW,
	ROOST_KEY_MTU,
	ROOST_KEY_TWIN,
	ROOST_KEY_SECOND,
	ROOST_KEY_VLAN,
	ROOST_KEY_PEER_USERS,
	ROOST_KEY_TRUST,
	ROOST_KEY_DEFAULT_ROCE_TOS,
	ROOST_KEY_DSCP2PRIO,
	ROOST_KEY_PRIO2PCP,
	ROOST_ECN_PARAMS(ROOST_ECN_KEY) ROOST_KEYS,
};

#define ROOST_KEY_BIT(key) (UINT64_C(1) << (key))

enum roost_config_scope {
	ROOST_SCOPE_PROCESS, /* section [roost] */
	ROOST_SCOPE_PORT,    /* sections [port0], [port1], ... */
};

struct roost_config_key_info {
	const char *name;   /* lower case */
	const char *option; /* long option, without the dashes; NULL: none */
	char short_option;  /* 0: none */
	const char *arg;    /* the value's name in help; NULL: a flag */
	const char *help;   /* one line */
	enum roost_config_scope scope;
	bool names_port; /* identifies a port: exactly one such key a port */
	bool list;       /* may be given several times and adds up */
	/* The member it fills, in struct roost_config or roost_port_config. */
	size_t offset_bytes;
	size_t size_bytes;
	/* Parse value into member. Returns 0, or -EINVAL with the cause and the
	 * fix in cause (ROOST_CONFIG_ERR_MAX bytes) and member unchanged.
	 */
	int (*parse)(void *member, const char *value, char *cause);
	/* Write member as a text that parse() reads back as the same value.
	 * Writes nothing for an empty list.
	 */
	void (*format)(const void *member, char *buf, size_t size);
};

extern const struct roost_config_key_info roost_config_keys[ROOST_KEYS];

/* Parse yes or no into a bool, as parse() above. */
int roost_config_parse_bool(void *member, const char *value, char *cause);

#endif
