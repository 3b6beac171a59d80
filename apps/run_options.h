/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_RUN_OPTIONS_H
#define ROOST_APPS_RUN_OPTIONS_H

/*
 * The command line of `roost run`. Most options are rows of the table of
 * configuration keys; their values are one source for roost_config_resolve().
 * Pure: reads no environment, and prints only to the given stream.
 */

#include <stdbool.h>
#include <stdio.h>

#include <roost/config.h>

/* How programs see the devices in /sys and /dev. */
enum roost_run_sysfs {
	ROOST_RUN_SYSFS_DEFAULT, /* not given */
	ROOST_RUN_SYSFS_PRELOAD,
	ROOST_RUN_SYSFS_MOUNT,
	ROOST_RUN_SYSFS_NONE,
};

struct roost_run_options {
	const char *file; /* the configuration file; NULL: ROOST_CONFIG's */
	enum roost_run_sysfs sysfs;
	bool print_env;
	bool help;
	char **command; /* program and arguments; *command NULL: none */
	struct roost_config config;
};

/*
 * Parse argv (NULL at the end) up to `--` or the first word that is no option,
 * or up to --help. The strings in *options point into argv. Returns 0; -EINVAL
 * with one line in err (ROOST_CONFIG_ERR_MAX bytes).
 */
int roost_run_options_parse(struct roost_run_options *options, char **argv,
			    char *err);

/* Parse a value of --sysfs, or of the variable ROOST_SYSFS. where: for the
 * start of an error line. Returns 0; -EINVAL with one line in err.
 */
int roost_run_sysfs_parse(enum roost_run_sysfs *sysfs, const char *where,
			  const char *value, char *err);

/* Print all options as a synopsis: the first lines of the help text. */
void roost_run_options_synopsis(FILE *out);

/* Print one line for each option, for the help text. */
void roost_run_options_describe(FILE *out);

#endif
