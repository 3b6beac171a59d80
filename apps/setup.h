/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SETUP_H
#define ROOST_APPS_SETUP_H

/*
 * `roost setup`: prepares the machine for a port on one NIC, and undoes that.
 * Asks nothing, and changes nothing without --yes.
 */

#include <stdio.h>

#include "apps/setup_record.h"

/* argv: the words after the command, NULL at the end. Returns the exit code. */
int roost_setup(char **argv);
int roost_setup_help(void);

/* Print what apply() or undo() would do. Returns the number of steps that may
 * not be done.
 */
unsigned int roost_setup_plan(const struct roost_setup *s,
			      const struct roost_setup_record *r, bool undo,
			      FILE *out);
/* Do all steps, or undo those of the record, the last one first. Stops at the
 * first error, and then err is "<cause>; <fix>". 0 or -errno.
 */
int roost_setup_apply(const struct roost_setup *s, struct roost_setup_record *r,
		      char *err);
int roost_setup_undo(const struct roost_setup *s, struct roost_setup_record *r,
		     char *err);

#endif
