/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A card is reset before it is probed: the probe lets it be the bus's master,
 * and what a killed program left in it would go to memory that is others' now.
 * The kernel's files are ours here, and so is the probe.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>

#include "pmd_glue/port/ethport.h"
#include "tests/cmocka.h"

#define NIC "0000:03:00.0"
#define CARD "/sys/bus/pci/devices/" NIC
#define SKIPPED 77 /* for meson */

static unsigned int nb_probes;
/* When the first came: what was written to the card's reset files. */
static char written[64];

/* In place of DPDK's. */
int rte_dev_probe(const char *devargs)
{
	FILE *f = fopen(CARD "/reset", "r");

	assert_non_null(strstr(devargs, NIC));
	assert_non_null(f);
	if (nb_probes++ == 0)
		written[fread(written, 1, sizeof(written) - 1, f)] = '\0';
	fclose(f);
	return -ENODEV;
}

/* Else nothing is probed that no IOMMU is before. */
enum rte_iova_mode rte_eal_iova_mode(void)
{
	return RTE_IOVA_PA;
}

/* A card of uio's, that can be reset by two methods. Both files of the kernel's
 * are one: what was written, in order.
 */
static int lay_out(void)
{
	FILE *f;

	if (mkdir("/sys/bus", 0700) || mkdir("/sys/bus/pci", 0700) ||
	    mkdir("/sys/bus/pci/devices", 0700) || mkdir(CARD, 0700) ||
	    symlink("/sys/uio_pci_generic", CARD "/driver") ||
	    symlink("reset_method", CARD "/reset"))
		return -1;
	f = fopen(CARD "/reset_method", "w");
	if (!f)
		return -1;
	fputs("pm bus\n", f);
	return fclose(f);
}

static int set_up(void **state)
{
	nb_probes = 0;
	written[0] = '\0';
	if (mount("none", "/sys", "tmpfs", 0, NULL))
		return -1;
	return lay_out();
}

static int tear_down(void **state)
{
	return umount("/sys");
}

static void open_with(const char *devargs)
{
	const struct roost_ethport_conf conf = { .label = "card",
						 .devargs = devargs };
	struct roost_ethport *port = calloc(1, sizeof(*port));

	assert_non_null(port);
	assert_int_equal(roost_ethport_open(port, &conf), -ENODEV);
	free(port);
	assert_true(nb_probes > 0);
	assert_string_equal(written, "pm bus\nbus1pm bus");
}

static void open__resets_a_card_before_its_probe(void **state)
{
	open_with(NIC);
}

static void open__resets_a_member_before_its_probe(void **state)
{
	open_with("net_bonding0,mode=1,slave=" NIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			open__resets_a_card_before_its_probe, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			open__resets_a_member_before_its_probe, set_up,
			tear_down),
	};

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		fprintf(stderr, "no mounts of our own: %s\n", strerror(errno));
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
