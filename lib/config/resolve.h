/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_RESOLVE_H
#define ROOST_CONFIG_RESOLVE_H

/*
 * The launcher's side of the configuration: it names the sources; and questions
 * about the ports of a device. Errors: as in roost/config.h.
 */

#include <stdbool.h>

#include <roost/config.h>

/*
 * roost_config_load() with all sources as arguments. path NULL: the path in
 * ROOST_CONFIG of envp. options NULL: none; else filled by roost_config_set().
 * Returns as roost_config_load(). Thread: any.
 */
int roost_config_resolve(struct roost_config *c, const char *path,
			 char *const *envp, const struct roost_config *options,
			 char *err);

/*
 * Sections of a file that are not the table's (key.h), for a program that has
 * some of its own. where: path and line, for the start of an error line.
 */
struct roost_config_sections {
	void *ctx;
	/* A section begins. Returns 0; -ENOENT: it is unknown, and err is not
	 * written; -EINVAL: it may not stand here.
	 */
	int (*begin)(void *ctx, const char *where, const char *name, char *err);
	/* A key of the section that began last. Returns 0, -EINVAL. */
	int (*entry)(void *ctx, const char *where, const char *key,
		     const char *value, char *err);
};

/*
 * The configuration of a daemon: the file at path, without the environment and
 * without a port where it names none. others: for the sections that are not
 * the table's. Returns as roost_config_load(). Thread: any.
 */
int roost_config_resolve_file(struct roost_config *c, const char *path,
			      const struct roost_config_sections *others,
			      char *err);

/* Make *c an empty source: nothing given. Thread: any. */
void roost_config_init(struct roost_config *c);

/*
 * Set one key (enum roost_config_key) in a source. A value for a list key is
 * appended, others replace the value before. port: the port, for keys of a
 * port. where: the place of the value in the user's input, for the start of an
 * error line ("--ip").
 */
int roost_config_set(struct roost_config *c, const char *where, int key,
		     unsigned int port, const char *value, char *err);

/*
 * Write a resolved configuration as environment: put() is called once for every
 * variable that can exist, with value NULL if the variable must be unset, so
 * that the result reads back as *c, whatever the environment held before.
 */
int roost_config_export(const struct roost_config *c,
			int (*put)(void *arg, const char *name,
				   const char *value),
			void *arg);

/* The parameters of congestion notification: what is set, and the defaults.
 * Thread: any.
 */
void roost_config_ecn(const struct roost_config *c, struct roost_ecn *ecn);
/* The same of the priorities. */
void roost_config_qos(const struct roost_config *c, struct roost_qos *qos);

#define ROOST_LABEL_MAX (ROOST_DEVARGS_MAX + 48)

/*
 * The ports of a device: ports[*first] and the one behind it.
 * Returns the number of ports, 1 or 2; 0: there is no such device. Thread: any.
 */
unsigned int roost_config_device_ports(const struct roost_config *c,
				       unsigned int device,
				       unsigned int *first);

/*
 * The name of a port in lines for users: `port0 (net_tap0)`, `link "lab"`,
 * `hub`, `service "/run/roost/roostd.sock"`. The VLAN follows if with_vlan is
 * set and the port has one. Thread: any.
 */
void roost_config_label(const struct roost_config *c, unsigned int port,
			bool with_vlan, char label[ROOST_LABEL_MAX]);

/* The number of the daemon's port that a service names: 5 for "PATH,5"; 0 for
 * PATH and hub. *path_bytes: the length without the number. Thread: any.
 */
unsigned int roost_config_service_port(const char *service, size_t *path_bytes);

/*
 * The first port of the list that is on the same DPDK port as this one: with
 * the same devargs, or on the same end of the same link. Two ports with the
 * same link and VLAN are the two ends of the link. Thread: any.
 */
unsigned int roost_config_shared_port(const struct roost_config *c,
				      unsigned int port);

/*
 * The address of a link without `ip` at its end (0 or 1). It follows from the
 * order of the links and their VLANs in this process: 198.18.0.1/24 and .2/24
 * for the first name, 198.18.1.x for the second, ... (RFC 2544's range: on no
 * real network.) Thread: any.
 */
struct roost_prefix roost_config_link_ip(const struct roost_config *c,
					 unsigned int port, unsigned int end);

#endif
