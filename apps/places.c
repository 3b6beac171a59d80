/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/places.h"

#include "pmd_glue/port/hugepages.h"

const struct roost_places roost_places = {
	.pci = { .devices = ROOST_PCI_DEVICES, .vfio = ROOST_PCI_VFIO },
	.hugepages = ROOST_HUGEPAGES,
	.iommu_groups = "/sys/kernel/iommu_groups",
	.cpu_quota = "/sys/fs/cgroup/cpu.max",
};
