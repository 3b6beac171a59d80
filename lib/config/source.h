/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_SOURCE_H
#define ROOST_CONFIG_SOURCE_H

/*
 * The two sources that are read, each into a struct roost_config that holds
 * what it gives and nothing else. Private to lib/config.
 */

#include <stdbool.h>

#include <roost/config.h>

/*
 * Read the file at path into *source. Sections may stand in any order; every
 * one of a port says what the port is. Errors begin with path and line.
 * Returns 0; -EINVAL (content, or no regular file), -ENOMEM, or what open(2)
 * and read(2) give. Thread: any.
 */
int roost_config_read_file(struct roost_config *source, const char *path,
			   char *err);

/*
 * Read the ROOST_* variables among envp into *source; see
 * roost_config_environ_path() for the one it leaves out. Unknown ones give
 * lines in source->unknown.
 * Returns 0, -EINVAL. Thread: any.
 */
int roost_config_read_environ(struct roost_config *source, char *const *envp,
			      char *err);

/* The file that ROOST_CONFIG in envp names, or NULL. Thread: any. */
const char *roost_config_environ_path(char *const *envp);

/* Does the source say what this port is, by devargs or link? */
bool roost_port_config_is_named(const struct roost_port_config *p);

#endif
