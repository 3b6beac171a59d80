/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/cpu.h"

#include <stdio.h>
#include <string.h>

#include <rte_cpuflags.h>

#ifdef RTE_ARCH_X86
static void read_features(struct roost_cpu *cpu)
{
	static const struct {
		enum rte_cpu_flag_t flag;
		const char *name;
	} wanted[] = {
		{ RTE_CPUFLAG_SSE4_2, "SSE4.2" },
		{ RTE_CPUFLAG_PCLMULQDQ, "PCLMULQDQ" },
		{ RTE_CPUFLAG_AVX2, "AVX2" },
		{ RTE_CPUFLAG_INVTSC, "invariant TSC" },
	};

	cpu->is_known = true;
	cpu->has_carryless_multiply =
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_PCLMULQDQ) > 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *list = rte_cpu_get_flag_enabled(wanted[i].flag) > 0
				     ? cpu->has
				     : cpu->lacks;
		const size_t len = strlen(list);

		snprintf(list + len, ROOST_CPU_NAMES_MAX - len, "%s%s",
			 len ? ", " : "", wanted[i].name);
	}
}
#else
static void read_features(struct roost_cpu *cpu)
{
	cpu->has_carryless_multiply = true;
}
#endif

void roost_cpu_read(struct roost_cpu *cpu)
{
	*cpu = (struct roost_cpu){ .runs_dpdk = rte_cpu_is_supported() != 0 };
	read_features(cpu);
}
