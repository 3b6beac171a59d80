/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Steps of roost doctor: the machine. */

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apps/doctor_patient.h"
#include "pmd_glue/port/cpu.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/process/rights.h"

/* What a process with one port takes of huge pages. */
#define HUGE_PORT_MB 128
/* The least "ulimit -l" of a port whose memory a device or the kernel locks. */
#define LOCKED_MB 128

static void look_at_cpu(const struct roost_patient *p, struct roost_finding *f)
{
	struct roost_cpu cpu;

	(void)p;
	roost_cpu_read(&cpu);
	if (cpu.is_known)
		roost_finding_see(f, ROOST_VERDICT_OK, "x86-64 with %s",
				  cpu.has[0] ? cpu.has
					     : "no feature that was looked "
					       "for");
	else
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "not an x86-64; no feature was looked for");
	if (!cpu.runs_dpdk)
		roost_finding_blame(
			f, ROOST_VERDICT_FAILURE,
			"DPDK was built for a newer processor; use another "
			"machine, or give a virtual machine the host's "
			"processor model (-cpu host)");
	else if (!cpu.has_carryless_multiply)
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"the processor lacks %s, and checksums of packets cost "
			"more; give a virtual machine the host's processor "
			"model (-cpu host)",
			cpu.lacks);
}

/* The quota of the control group, in thousandths of a processor; 0: none. */
static unsigned long read_quota(const char *path)
{
	unsigned long quota_us, period_us, quota = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &quota_us, &period_us) == 2 && period_us)
		quota = quota_us * 1000 / period_us;
	fclose(file);
	return quota;
}

static void look_at_processors(const struct roost_patient *p,
			       struct roost_finding *f)
{
	const unsigned long quota = read_quota(p->places->cpu_quota);
	cpu_set_t set;
	int nb = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		nb = CPU_COUNT(&set);
	roost_finding_see(f, ROOST_VERDICT_OK, "%d for this process", nb);
	if (quota)
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "%d for this process, and time of %lu.%lu of "
				  "them",
				  nb, quota / 1000, quota % 1000 / 100);
	if (nb == 1 || (quota && quota < 1000))
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"the program and Roost's worker share one processor, "
			"and each packet waits for the other; give the "
			"process two (taskset, --cpus of a container)");
}

static bool is_dpdks(const struct roost_patient *p)
{
	return p->kind == ROOST_PATIENT_PCI || p->kind == ROOST_PATIENT_IFACE ||
	       p->kind == ROOST_PATIENT_DRIVER;
}

static bool is_without_iommu(const struct roost_patient *p)
{
	return p->kind == ROOST_PATIENT_PCI && p->pci.is_bare;
}

static void look_at_huge_pages(const struct roost_patient *p,
			       struct roost_finding *f)
{
	const unsigned long free_mb =
		roost_hugepages_free_mb(p->places->hugepages);

	if (!is_dpdks(p)) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "this port needs none");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%lu MB free%s", free_mb,
			  free_mb < HUGE_PORT_MB && !is_without_iommu(p)
				  ? "; ordinary memory is used, which works"
				  : "");
	if (free_mb >= HUGE_PORT_MB)
		return;
	roost_finding_blame(
		f,
		is_without_iommu(p)            ? ROOST_VERDICT_FAILURE
		: p->kind == ROOST_PATIENT_PCI ? ROOST_VERDICT_WARNING
					       : ROOST_VERDICT_OK,
		"%s; \"echo 256 >/proc/sys/vm/nr_hugepages\" as root",
		is_without_iommu(p)
			? "without an IOMMU the device needs physical "
			  "addresses, which huge pages have"
			: "too few free huge pages for a port");
	/* It is said, and it is no fault. */
	if (f->verdict == ROOST_VERDICT_OK)
		f->cause[0] = f->fix[0] = '\0';
}

static void look_at_locked(const struct roost_patient *p,
			   struct roost_finding *f)
{
	char lacks[ROOST_RIGHTS_MAX];
	struct rlimit limit;

	if ((p->kind != ROOST_PATIENT_PCI && !p->driver->is_xdp) ||
	    getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "this port locks no memory");
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY ||
	    !roost_rights_lack("CAP_IPC_LOCK", lacks)) {
		roost_finding_see(f, ROOST_VERDICT_OK, "no limit");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%lu MB (ulimit -l)",
			  (unsigned long)(limit.rlim_cur >> 20));
	if (limit.rlim_cur >> 20 < LOCKED_MB)
		roost_finding_blame(
			f,
			p->kind == ROOST_PATIENT_PCI ? ROOST_VERDICT_FAILURE
						     : ROOST_VERDICT_WARNING,
			"this user may not lock the memory that the port "
			"needs; \"ulimit -l unlimited\" as root, or a line "
			"for the user in /etc/security/limits.conf");
}

/* Entries of a folder. */
static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nb = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		nb += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return nb;
}

static void look_at_iommu(const struct roost_patient *p,
			  struct roost_finding *f)
{
	const unsigned int nb = count_entries(p->places->iommu_groups);

	if (p->kind != ROOST_PATIENT_PCI) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "this port is no PCI device");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%u groups", nb);
	if (nb == 0)
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"the kernel uses none, so the device can reach any "
			"memory, and driving it needs root and huge pages; "
			"switch it on in the firmware, and add "
			"\"intel_iommu=on\" or \"amd_iommu=on\" to the "
			"kernel's command line");
}

const struct roost_doctor_step roost_doctor_machine[] = {
	{ "processor", look_at_cpu },
	{ "processors", look_at_processors },
	{ "huge pages", look_at_huge_pages },
	{ "locked memory", look_at_locked },
	{ "IOMMU", look_at_iommu },
};
const size_t roost_doctor_nb_machine =
	sizeof(roost_doctor_machine) / sizeof(roost_doctor_machine[0]);
