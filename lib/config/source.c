/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/source.h"

#include <string.h>

#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/resolve.h"

#define NAMES_PORT                                                             \
	(ROOST_KEY_BIT(ROOST_KEY_DEVARGS) | ROOST_KEY_BIT(ROOST_KEY_LINK) |    \
	 ROOST_KEY_BIT(ROOST_KEY_SERVICE))

void roost_config_init(struct roost_config *c)
{
	memset(c, 0, sizeof(*c));
	roost_qos_init(&c->qos);
}

bool roost_port_config_is_named(const struct roost_port_config *p)
{
	return (p->set & NAMES_PORT) != 0;
}

int roost_config_set(struct roost_config *c, const char *where, int key,
		     unsigned int port, const char *value, char *err)
{
	static const char *const words[ROOST_KEYS] = {
		[ROOST_KEY_DEVARGS] = "devargs",
		[ROOST_KEY_LINK] = "a link",
		[ROOST_KEY_SERVICE] = "a service",
	};
	const struct roost_config_key_info *info = &roost_config_keys[key];
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_port_config *p;
	uint64_t other;

	if (info->scope == ROOST_SCOPE_PROCESS) {
		if (info->parse((char *)c + info->offset_bytes, value, cause))
			return roost_config_fail(err, "%s: %s", where, cause);
		c->set |= ROOST_KEY_BIT(key);
		return 0;
	}
	if (port >= ROOST_PORTS_MAX)
		return roost_config_fail(err,
					 "%s: more than %d ports; leave "
					 "some out",
					 where, ROOST_PORTS_MAX);
	p = &c->ports[port];
	other = p->set & NAMES_PORT & ~ROOST_KEY_BIT(key);
	if (info->names_port && other)
		return roost_config_fail(
			err, "%s: port%u has %s already; keep one of the two",
			where, port, words[__builtin_ctzll(other)]);
	if (info->parse((char *)p + info->offset_bytes, value, cause))
		return roost_config_fail(err, "%s: %s", where, cause);
	p->set |= ROOST_KEY_BIT(key);
	if (c->nb_ports <= port)
		c->nb_ports = port + 1;
	return 0;
}
