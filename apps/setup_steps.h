/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SETUP_STEPS_H
#define ROOST_APPS_SETUP_STEPS_H

/*
 * What `roost setup` changes for one NIC: a table of steps, each of which tells
 * the state now and the wanted one, and can go from either to the other.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "pmd_glue/kernel/pci.h"

#define ROOST_SETUP_TEXT_MAX 512

struct roost_setup {
	const char *root; /* before each path; empty, but in tests */
	/* Write text into an existing file of the kernel's; 0 or -errno. */
	int (*put)(const char *path, const char *text);
	char nic[ROOST_PCI_NAME_MAX]; /* PCI address in full */
	unsigned int nb_pages;        /* wanted huge pages of 2 MB */
	bool force; /* also if the NIC is in use by the kernel */
};

struct roost_setup_step {
	const char *name;
	/* The state now. Empty: none, such as no file. */
	void (*now)(const struct roost_setup *s, char *text);
	/* The wanted state. Empty: the step does not apply, or all is well. */
	void (*wanted)(const struct roost_setup *s, char *text);
	/* Why it may not be done: "<cause>; <fix>". Empty: it may. NULL: never.
	 */
	void (*refuse)(const struct roost_setup *s, char *why);
	/* Go to a state that now() or wanted() has told. 0, or -errno; -EEXIST:
	 * somebody else's file is there, and it was left as it is.
	 */
	int (*change)(const struct roost_setup *s, const char *to);
	/* What change() writes, for the reader of the plan; %s: the NIC. */
	const char *place;
	/* Why the step does not apply here; NULL: it does. NULL: always. */
	const char *(*absent)(const struct roost_setup *s);
};

extern const struct roost_setup_step roost_setup_steps[];
extern const size_t roost_setup_nb_steps;

/* Find the NIC by PCI address or interface's name. 0; -ENODEV: why is written,
 * "<cause>; <fix>".
 */
int roost_setup_find(struct roost_setup *s, const char *name, char *why);

#endif
