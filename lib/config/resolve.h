/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_RESOLVE_H
#define ROOST_CONFIG_RESOLVE_H

/*
 * The configuration as the launcher makes it, of sources that it names, and
 * what the ports of a device need of it. Errors: as in roost/config.h.
 */

#include <roost/config.h>

/*
 * roost_config_load() with all sources as arguments. path NULL: what
 * ROOST_CONFIG in envp says. options NULL: none; else filled by
 * roost_config_set(). Returns as roost_config_load(). Thread: any.
 */
int roost_config_resolve(struct roost_config *c, const char *path,
			 char *const *envp, const struct roost_config *options,
			 char *err);

/* Make *c an empty source: nothing given. Thread: any. */
void roost_config_init(struct roost_config *c);

/*
 * Give one key (enum roost_config_key) its value in a source. Keys that are
 * lists append, others are replaced. port: which port, for keys of a port.
 * where: what the user wrote it at, to begin an error with ("--ip").
 * Returns 0; -EINVAL with err filled and *c unchanged. Thread: any.
 */
int roost_config_set(struct roost_config *c, const char *where, int key,
		     unsigned int port, const char *value, char *err);

/*
 * Write a resolved configuration as environment: put() is called once for
 * every variable that there can be, value NULL where it must be unset, so that
 * whatever the environment held before, the result reads back as *c.
 * Returns 0, or the first value of put() that is not 0. Thread: any.
 */
int roost_config_export(const struct roost_config *c,
			int (*put)(void *arg, const char *name,
				   const char *value),
			void *arg);

/*
 * The first port of the list that is on the same DPDK port as this one: with
 * the same devargs, or on the same end of the same link. Two ports of one link
 * and VLAN are its two ends. Thread: any.
 */
unsigned int roost_config_shared_port(const struct roost_config *c,
				      unsigned int port);

/*
 * The address that a link without `ip` has at its end (0 or 1), by the order
 * of the links and their VLANs in this process: 198.18.0.1/24 and .2/24 for the
 * first name, 198.18.1.x for the second, ... (RFC 2544's range: on no real
 * network.) Thread: any.
 */
struct roost_prefix roost_config_link_ip(const struct roost_config *c,
					 unsigned int port, unsigned int end);

#endif
