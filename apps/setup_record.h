/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SETUP_RECORD_H
#define ROOST_APPS_SETUP_RECORD_H

/*
 * What `roost setup` found before it changed it, one file for each NIC, in a
 * folder of root's. The file has names of steps and states, and no paths: who
 * reads it writes nowhere but where the steps write.
 */

#include "apps/setup_steps.h"

struct json_object;

struct roost_setup_record {
	char path[PATH_MAX];
	int lock_fd; /* of the folder: one setup at a time; -1: not held */
	/* "pages": of --hugepages; "before": state by name of the step. */
	struct json_object *content;
};

/* Read the NIC's record; an empty one if there is none. write: make the folder
 * and hold its lock. 0; -errno; -EPROTO: the file is none of ours.
 */
int roost_setup_record_open(struct roost_setup_record *r,
			    const struct roost_setup *s, bool write);
void roost_setup_record_close(struct roost_setup_record *r);
/* 0: nothing was set up. */
unsigned int roost_setup_record_pages(const struct roost_setup_record *r);
/* The state before the step; NULL: the step was not done. */
const char *roost_setup_record_get(const struct roost_setup_record *r,
				   const char *step);
/* Keep the state before a step, unless one is known, and write the file. Once
 * it has returned 0, a crash loses nothing. 0 or -errno.
 */
int roost_setup_record_add(struct roost_setup_record *r,
			   const struct roost_setup *s, const char *step,
			   const char *before);
/* Forget a step, and the file with the last one. 0 or -errno. */
int roost_setup_record_drop(struct roost_setup_record *r, const char *step);

#endif
