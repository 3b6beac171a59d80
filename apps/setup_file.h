/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SETUP_FILE_H
#define ROOST_APPS_SETUP_FILE_H

/*
 * The small files that the steps of `roost setup` read and write. A file that
 * another one than roost setup has written is never changed. And the folder of
 * the NIC.
 */

#include "apps/setup_steps.h"

/* A path below the root of s, of PATH_MAX bytes. */
void roost_setup_path(const struct roost_setup *s, char *path,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The begin of a file, of up to ROOST_SETUP_TEXT_MAX bytes with the zero;
 * empty: there is none, or a symbolic link.
 */
void roost_setup_slurp(const char *path, char *text);

/* Make the folder of a file, and those above it. 0 or -errno. */
int roost_setup_make_folder(const char *path);

/* Make the file, with its folder, or remove the one that is ours (text empty).
 * ours: what we would have written. 0; -EEXIST: another one is there; -errno.
 */
int roost_setup_change_file(const char *path, const char *ours,
			    const char *text);

/* The kernel's folders of PCI devices, below the root of s. They are written to
 * devices and vfio, of PATH_MAX bytes.
 */
struct roost_pci_places roost_setup_places(const struct roost_setup *s,
					   char *devices, char *vfio);

/* What the kernel has of the NIC. */
void roost_setup_read_device(const struct roost_setup *s,
			     struct roost_pci_device *d);

#endif
