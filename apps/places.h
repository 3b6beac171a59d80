/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PLACES_H
#define ROOST_APPS_PLACES_H

/*
 * Where the kernel tells about the machine: the files and folders that roost
 * doctor reads. Tests use made-up ones.
 */

#include "pmd_glue/kernel/pci.h"

struct roost_places {
	struct roost_pci_places pci;
	const char *hugepages;    /* folder with one folder for each size */
	const char *iommu_groups; /* folder with one folder for each group */
	const char *cpu_quota;    /* "cpu.max" of the control group */
};

/* The kernel's own. */
extern const struct roost_places roost_places;

#endif
