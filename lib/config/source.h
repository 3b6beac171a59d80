/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_SOURCE_H
#define ROOST_CONFIG_SOURCE_H

/*
 * The two sources that are read. Each is read into a struct roost_config that
 * holds the values of that source only. Private to lib/config.
 */

#include <stdbool.h>

#include <roost/config.h>

struct roost_config_sections;

/*
 * Read the file at path into *source. Sections may be in any order; every
 * section of a port identifies the port. Errors begin with path and line.
 * others: for sections that are not of the table; NULL: there may be none.
 * Returns 0; -EINVAL (content, or no regular file), -ENOMEM, or the error of
 * open(2) or read(2). Thread: any.
 */
int roost_config_read_file(struct roost_config *source, const char *path,
			   const struct roost_config_sections *others,
			   char *err);

/*
 * Read the ROOST_* variables among envp into *source, except the one of
 * roost_config_environ_path(). Unknown variables give lines in source->unknown.
 */
int roost_config_read_environ(struct roost_config *source, char *const *envp,
			      char *err);

/* The file that ROOST_CONFIG in envp names, or NULL. Thread: any. */
const char *roost_config_environ_path(char *const *envp);

/* True if the source identifies this port, by devargs, link or service. */
bool roost_port_config_is_named(const struct roost_port_config *p);

#endif
