/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <limits.h>
#include <string.h>

#include "apps/doctor_patient.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/temp_dir.h"

#define NIC "0000:03:00.0"
#define TWIN "0000:03:00.1"

/* ---- a machine of our own ------------------------------------------------ */

/* A file with text, or a symbolic link to target. */
struct entry {
	const char *path, *text, *target;
};

struct situation {
	const char *step;
	enum roost_verdict verdict;
	const char *what;  /* part of what is seen */
	const char *cause; /* part of it */
	const char *fix;   /* part of it */
	struct entry entries[8];
};

/* The NIC in this driver. */
#define DRIVER(name)                                                           \
	{                                                                      \
		"devices/" NIC "/driver", NULL, name                           \
	}
/* The NIC in group 14, and the group's file. */
#define GROUP                                                                  \
	{ "devices/" NIC "/iommu_group", NULL, "groups/14" },                  \
	{                                                                      \
		"groups/14/devices/" NIC, "", NULL                             \
	}
#define PAGES(size, nb)                                                        \
	{                                                                      \
		"hugepages/hugepages-" size "kB/free_hugepages", nb, NULL      \
	}

static const struct situation situations[] = {
	{ "driver",
	  ROOST_VERDICT_FAILURE,
	  NIC ": not there",
	  "no such",
	  "lspci",
	  { { .path = NULL } } },
	{ "driver",
	  ROOST_VERDICT_FAILURE,
	  "driver none",
	  "no driver",
	  "vfio-pci " NIC,
	  { { "devices/" NIC "/class", "", NULL } } },
	{ "driver",
	  ROOST_VERDICT_FAILURE,
	  "driver ice",
	  "driver ice has it",
	  "vfio-pci " NIC,
	  { DRIVER("ice") } },
	{ "driver",
	  ROOST_VERDICT_FAILURE,
	  "driver ice",
	  "interface ens1",
	  "ip link set ens1 down",
	  { DRIVER("ice"), { "devices/" NIC "/net/ens1/mtu", "", NULL } } },
	{ "driver",
	  ROOST_VERDICT_FAILURE,
	  "driver uio_pci_generic",
	  "without an IOMMU",
	  "huge pages",
	  { DRIVER("uio_pci_generic") } },
	{ "driver",
	  ROOST_VERDICT_OK,
	  "driver vfio-pci",
	  "",
	  "",
	  { DRIVER("vfio-pci"), GROUP, { "vfio/14", "", NULL } } },
	{ "vfio group",
	  ROOST_VERDICT_OK,
	  "/vfio/14 can be opened",
	  "",
	  "",
	  { DRIVER("vfio-pci"), GROUP, { "vfio/14", "", NULL } } },
	{ "vfio group",
	  ROOST_VERDICT_FAILURE,
	  "group 14",
	  "No such file",
	  "run as root",
	  { DRIVER("vfio-pci"), GROUP } },
	{ "vfio group",
	  ROOST_VERDICT_FAILURE,
	  "group 14",
	  TWIN " of the same IOMMU group",
	  "vfio-pci " TWIN,
	  { DRIVER("vfio-pci"),
	    GROUP,
	    { "vfio/14", "", NULL },
	    { "groups/14/devices/" TWIN, "", NULL },
	    { "devices/" TWIN "/driver", NULL, "ice" } } },
	{ "vfio group",
	  ROOST_VERDICT_NOT_APPLICABLE,
	  "vfio-pci does not",
	  "",
	  "",
	  { DRIVER("ice"), GROUP } },
	{ "huge pages",
	  ROOST_VERDICT_WARNING,
	  "0 MB free",
	  "too few",
	  "nr_hugepages",
	  { DRIVER("vfio-pci"), GROUP } },
	{ "huge pages",
	  ROOST_VERDICT_WARNING,
	  "126 MB free",
	  "too few",
	  "nr_hugepages",
	  { PAGES("2048", "63\n") } },
	{ "huge pages",
	  ROOST_VERDICT_OK,
	  "128 MB free",
	  "",
	  "",
	  { PAGES("2048", "64\n") } },
	{ "huge pages",
	  ROOST_VERDICT_OK,
	  "1026 MB free",
	  "",
	  "",
	  { PAGES("2048", "1\n"), PAGES("1048576", "1\n") } },
	{ "huge pages",
	  ROOST_VERDICT_FAILURE,
	  "0 MB free",
	  "physical",
	  "nr_hugepages",
	  { DRIVER("uio_pci_generic") } },
	{ "IOMMU",
	  ROOST_VERDICT_WARNING,
	  "0 groups",
	  "uses none",
	  "intel_iommu=on",
	  { { .path = NULL } } },
	{ "IOMMU",
	  ROOST_VERDICT_OK,
	  "2 groups",
	  "",
	  "",
	  { { "groups/14/type", "", NULL }, { "groups/15/type", "", NULL } } },
	{ "processors",
	  ROOST_VERDICT_WARNING,
	  "time of 0.5 of them",
	  "share one processor",
	  "taskset",
	  { { "cpu.max", "50000 100000\n", NULL } } },
};

static char devices[PATH_MAX], vfio[PATH_MAX], hugepages[PATH_MAX];
static char iommu_groups[PATH_MAX], cpu_quota[PATH_MAX];
static const struct roost_places places = {
	.pci = { .devices = devices, .vfio = vfio },
	.hugepages = hugepages,
	.iommu_groups = iommu_groups,
	.cpu_quota = cpu_quota,
};

static void make(const struct entry *e)
{
	char path[PATH_MAX], target[PATH_MAX];
	FILE *file;

	temp_dir_touch(e->path, 0644, path);
	if (e->target) {
		snprintf(target, sizeof(target), "%s/%s", temp_dir, e->target);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(symlink(target, path), 0);
		return;
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(e->text, file);
	fclose(file);
}

static void make_machine(const struct situation *s)
{
	assert_int_equal(temp_dir_make(NULL), 0);
	snprintf(devices, sizeof(devices), "%s/devices", temp_dir);
	snprintf(vfio, sizeof(vfio), "%s/vfio", temp_dir);
	snprintf(hugepages, sizeof(hugepages), "%s/hugepages", temp_dir);
	snprintf(iommu_groups, sizeof(iommu_groups), "%s/groups", temp_dir);
	snprintf(cpu_quota, sizeof(cpu_quota), "%s/cpu.max", temp_dir);
	for (const struct entry *e = s->entries; e->path; e++)
		make(e);
}

/* ---- what the doctor says of it ------------------------------------------ */

static const struct roost_doctor_step *
find_in(const struct roost_doctor_step *steps, size_t nb, const char *name)
{
	for (size_t i = 0; i < nb; i++)
		if (strcmp(steps[i].name, name) == 0)
			return &steps[i];
	return NULL;
}

static const struct roost_doctor_step *find(const char *name)
{
	const struct roost_doctor_step *step =
		find_in(roost_doctor_machine, roost_doctor_nb_machine, name);

	if (!step)
		step = find_in(roost_doctor_port, roost_doctor_nb_port, name);
	assert_non_null(step);
	return step;
}

static void check(size_t at)
{
	const struct situation *s = &situations[at];
	static struct roost_config config = {
		.nb_ports = 1,
		.ports = { { .devargs = NIC } },
	};
	static struct roost_patient p;
	struct roost_finding f = { .verdict = 0 };

	roost_patient_init(&p, &places, &config, 0);
	find(s->step)->look(&p, &f);
	if (f.verdict != s->verdict || !strstr(f.what, s->what) ||
	    !strstr(f.cause, s->cause) || !strstr(f.fix, s->fix))
		fail_msg("row %zu, %s: verdict %d, \"%s\", \"%s\", \"%s\"", at,
			 s->step, f.verdict, f.what, f.cause, f.fix);
}

static void doctor__tells_the_state_of_a_nic(void **state)
{
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]);
	     i++) {
		make_machine(&situations[i]);
		check(i);
		assert_int_equal(temp_dir_remove(NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doctor__tells_the_state_of_a_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
