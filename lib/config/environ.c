/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/nearest.h"
#include "lib/config/resolve.h"
#include "lib/config/source.h"

#define PREFIX "ROOST_"
#define PORT_PREFIX "ROOST_PORT"
#define PATH_VARIABLE "ROOST_CONFIG"
/* The service of port 0, unless the environment names a port. */
#define SERVICE_VARIABLE "ROOST_SERVICE"
/* Names of unknown variables whose line was printed, separated by commas. */
#define TOLD_VARIABLE "ROOST_TOLD"
#define VARIABLE_MAX_BYTES 64
/* The longest value: a full list of addresses. */
#define VALUE_MAX_BYTES (ROOST_PORT_IPS_MAX * 64)

/* ROOST_ names, alone or followed by _MORE, that are no settings: people, build
 * systems, the launcher and Roost's own scripts use them, for example for the
 * place of Roost's files.
 */
static const char *const reserved[] = {
	"ROOST_BENCH",  "ROOST_BUILD",   "ROOST_CI",      "ROOST_DEMO",
	"ROOST_DIR",    "ROOST_HOME",    "ROOST_METRICS", "ROOST_PICTURE",
	"ROOST_PREFIX", "ROOST_ROOT",    "ROOST_SRC",     "ROOST_SYSFS",
	"ROOST_TEST",   "ROOST_VERSION",
};

static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		size_t len = strlen(reserved[i]);

		if (strncmp(name, reserved[i], len) == 0 &&
		    (name[len] == '\0' || name[len] == '_'))
			return true;
	}
	return false;
}

/* buf: VARIABLE_MAX_BYTES. */
static void variable_name(int key, unsigned int port, char *buf)
{
	const struct roost_config_key_info *info = &roost_config_keys[key];
	int n;

	if (info->scope == ROOST_SCOPE_PORT)
		n = snprintf(buf, VARIABLE_MAX_BYTES, PORT_PREFIX "%u_", port);
	else
		n = snprintf(buf, VARIABLE_MAX_BYTES, PREFIX);
	snprintf(buf + n, VARIABLE_MAX_BYTES - (size_t)n, "%s", info->name);
	for (char *s = buf; *s; s++)
		*s = (char)toupper((unsigned char)*s);
}

/* The number in ROOST_PORT<n>_..., or ROOST_PORTS_MAX where there is none. */
static unsigned int variable_port(const char *name)
{
	unsigned int port = 0;
	int end = 0;

	if (sscanf(name, PORT_PREFIX "%2u_%n", &port, &end) != 1 || end == 0 ||
	    port > ROOST_PORTS_MAX)
		return ROOST_PORTS_MAX;
	return port;
}

/*
 * The variable that the user may have meant; NULL: no name is near. A port's
 * key without its port (ROOST_LINK) means that of port 0. names: ROOST_KEYS of
 * them.
 */
static const char *guess(const char *name, char (*names)[VARIABLE_MAX_BYTES])
{
	const char *own = name + strlen(PREFIX), *nearest;
	/* Names to compare: without ROOST_, and without the port. */
	const char *known[2 * ROOST_KEYS + 1];
	const char *shown[2 * ROOST_KEYS + 1];
	unsigned int port = 0;
	size_t nb = 0;

	if (sscanf(name, PORT_PREFIX "%2u", &port) == 1)
		port = MIN(port, ROOST_PORTS_MAX - 1u);
	for (int key = 0; key < ROOST_KEYS; key++) {
		variable_name(key, port, names[key]);
		shown[nb] = names[key];
		known[nb++] = names[key] + strlen(PREFIX);
		if (roost_config_keys[key].scope != ROOST_SCOPE_PORT)
			continue;
		shown[nb] = names[key];
		known[nb++] = strchr(names[key] + strlen(PREFIX), '_') + 1;
	}
	shown[nb] = PATH_VARIABLE;
	known[nb++] = &PATH_VARIABLE[strlen(PREFIX)];
	nearest = roost_name_nearest(own, known, nb);
	for (size_t i = 0; nearest && i < nb; i++)
		if (known[i] == nearest)
			return shown[i];
	return NULL;
}

static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += strspn(list, ",")) {
		if (strcspn(list, ",") == len && strncmp(list, name, len) == 0)
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

/* The variable may belong to another program: keep a line, do not fail. */
static void unknown_variable(struct roost_config *source, const char *name)
{
	char names[ROOST_KEYS][VARIABLE_MAX_BYTES];
	size_t len = strlen(source->told);
	const char *nearest;

	if (list_has(source->told, name))
		return;
	if (len + 1 + strlen(name) < sizeof(source->told))
		snprintf(source->told + len, sizeof(source->told) - len, "%s%s",
			 len ? "," : "", name);
	if (source->nb_unknown == ROOST_CONFIG_UNKNOWN_MAX) {
		source->nb_unknown_more++;
		return;
	}
	nearest = guess(name, names);
	roost_config_fail(source->unknown[source->nb_unknown++],
			  "%.80s: unknown variable, without effect; %s%s", name,
			  nearest ? "the nearest known one is "
				  : "see roost.conf(5) for those there are",
			  nearest ? nearest : "");
}

static int read_variable(struct roost_config *source, const char *name,
			 const char *value, char *err)
{
	unsigned int port = variable_port(name);
	char known[VARIABLE_MAX_BYTES];

	for (int key = 0; key < ROOST_KEYS; key++) {
		if (roost_config_keys[key].scope == ROOST_SCOPE_PORT &&
		    port == ROOST_PORTS_MAX)
			continue;
		variable_name(key, port, known);
		if (strcmp(name, known) == 0)
			return roost_config_set(source, name, key, port, value,
						err);
	}
	if (strcmp(name, PATH_VARIABLE) != 0 &&
	    strcmp(name, SERVICE_VARIABLE) != 0 &&
	    strcmp(name, TOLD_VARIABLE) != 0 && !is_reserved(name))
		unknown_variable(source, name);
	return 0;
}

/* The value of a variable; NULL: it is not there, or empty. */
static const char *find_value(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=' &&
		    (*envp)[len + 1])
			return *envp + len + 1;
	return NULL;
}

static bool names_ports(const struct roost_config *source)
{
	for (unsigned int i = 0; i < source->nb_ports; i++)
		if (roost_port_config_is_named(&source->ports[i]))
			return true;
	return false;
}

int roost_config_read_environ(struct roost_config *source, char *const *envp,
			      char *err)
{
	const char *service = find_value(envp, SERVICE_VARIABLE);
	const char *told = find_value(envp, TOLD_VARIABLE);

	roost_config_init(source);
	if (told && strlen(told) < sizeof(source->told))
		strcpy(source->told, told);
	for (; *envp; envp++) {
		const char *equals = strchr(*envp, '=');
		char name[128];
		int ret;

		if (strncmp(*envp, PREFIX, strlen(PREFIX)) != 0 || !equals ||
		    equals[1] == '\0')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *envp),
			 *envp);
		ret = read_variable(source, name, equals + 1, err);
		if (ret)
			return ret;
	}
	if (!service || names_ports(source))
		return 0;
	return roost_config_set(source, SERVICE_VARIABLE, ROOST_KEY_SERVICE, 0,
				service, err);
}

const char *roost_config_environ_path(char *const *envp)
{
	return find_value(envp, PATH_VARIABLE);
}

static int export_key(const struct roost_config *c, int key, unsigned int port,
		      int (*put)(void *arg, const char *name,
				 const char *value),
		      void *arg)
{
	const struct roost_config_key_info *info = &roost_config_keys[key];
	bool process = info->scope == ROOST_SCOPE_PROCESS;
	const void *object = process ? (const void *)c : &c->ports[port];
	uint64_t set = process ? c->set : c->ports[port].set;
	char name[VARIABLE_MAX_BYTES], value[VALUE_MAX_BYTES];

	variable_name(key, port, name);
	if ((!process && port >= c->nb_ports) || !(set & ROOST_KEY_BIT(key)))
		return put(arg, name, NULL);
	info->format((const char *)object + info->offset_bytes, value,
		     sizeof(value));
	return put(arg, name, value);
}

int roost_config_export(const struct roost_config *c,
			int (*put)(void *arg, const char *name,
				   const char *value),
			void *arg)
{
	int ret;

	/* *c has the values of the file. */
	ret = put(arg, PATH_VARIABLE, NULL);
	if (ret == 0)
		ret = put(arg, SERVICE_VARIABLE, NULL);
	if (ret == 0)
		ret = put(arg, TOLD_VARIABLE, c->told[0] ? c->told : NULL);
	for (int key = 0; ret == 0 && key < ROOST_KEYS; key++)
		if (roost_config_keys[key].scope == ROOST_SCOPE_PROCESS)
			ret = export_key(c, key, 0, put, arg);
	for (unsigned int port = 0; port < ROOST_PORTS_MAX; port++)
		for (int key = 0; ret == 0 && key < ROOST_KEYS; key++)
			if (roost_config_keys[key].scope == ROOST_SCOPE_PORT)
				ret = export_key(c, key, port, put, arg);
	return ret;
}
